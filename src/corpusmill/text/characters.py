"""Characters that text is better without, or that may not be in Unicode's normal form: which documents have any."""

import unicodedata
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s, UInt16s, UInt64s
from corpusmill.text.buffers import PAD, TextBuffer, keep_nulls, to_arrow, view
from corpusmill.text.compile import kernel
from corpusmill.text.entities import entity_end
from corpusmill.text.lowlevel import NO_BITS, ONE, U, copy_bytes, load8, lowest_bit
from corpusmill.text.sets import find, table_of
from corpusmill.text.spans import below
from corpusmill.text.unicode import decode

# Kinds of characters, as bits.
LINE_END = 1 << 0  # ends a line, and is not "\n"
INVISIBLE = 1 << 1  # controls but tab and "\n", and characters without width but the joiners
SPACE = 1 << 2  # a space other than U+0020
UNSURE = 1 << 3  # changes in NFC, or may do so next to its neighbours
BEYOND_ASCII = 1 << 4
MARK = 1 << 5  # has a combining class, or may compose with the character before it: UNSURE where `_may_change`
ENTITY = 1 << 6  # not a kind of character: something is written as an entity of HTML

LF, CR = b"\n\r"
LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
INVISIBLES = (
    (0x00, 0x08), (0x0E, 0x1F), (0x7F, 0x84), (0x86, 0x9F),  # controls, without \t, \n and the line ends above
    (0xAD, 0xAD), (0x200B, 0x200B), (0x2060, 0x2064), (0xFEFF, 0xFEFF),  # soft hyphen, no width, byte order mark
    (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x206F),  # marks of direction, deprecated format characters
    (0xFFF9, 0xFFFB), (0xFDD0, 0xFDEF), (0xFFFE, 0xFFFF),  # interlinear annotation, noncharacters
)  # fmt: skip
SPACES = (*map(chr, range(0x2000, 0x200B)), *"\xa0\u1680\u202f\u205f\u3000")

# Of a code point as a mark: the canonical combining class in the lower 8 bits, and
MAY_COMPOSE = 1 << 8  # with the character before it, in NFC
DECOMPOSES = 1 << 9
CLASS = 0xFF
# All that may be marks or decompose: ideographs, syllables of Hangul (by rule) and private characters are left out.
MARK_RANGES = (
    range(0xC0, 0x3400), range(0xA000, 0xAC00), range(0xD7B0, 0xD800), range(0xF900, 0x17000), range(0x18D00, 0x20000),
    range(0x2F800, 0x2FA20), range(0xE0000, 0xE0200),
)  # fmt: skip
HANGUL_ENDS = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # vowels and finals that make syllables, by rule


class Characters(NamedTuple):
    """What the code points are, by the Unicode version of this Python, whose normalizer decides.

    kinds   (2**21,) uint8: malformed UTF-8 decodes to no more
    marks   (2**21,) uint16: see above
    pairs   uint64: a hash set of code points that compose, first << 21 | second
    """

    kinds: Bytes
    marks: UInt16s
    pairs: UInt64s


_masks = simd.masks(
    simd.equal("&"),
    simd.either(simd.between(0x00, 0x08), simd.between(0x0B, 0x1F), simd.between(0x7F, 0x7F)),
    simd.not_ascii,
    simd.continuation,
)


@cache
def characters() -> Characters:
    kinds = np.full(1 << 21, BEYOND_ASCII, np.uint8)
    kinds[:128] = 0
    kinds[[ord(character) for character in LINE_ENDS]] |= LINE_END
    kinds[[ord(character) for character in SPACES]] |= SPACE
    for first, last in INVISIBLES:
        kinds[first : last + 1] |= INVISIBLE
    marks = np.zeros(1 << 21, np.uint16)
    composed = []
    for code_points in MARK_RANGES:
        marks[code_points.start : code_points.stop] |= np.fromiter(
            map(unicodedata.combining, map(chr, code_points)), np.uint16
        )
        for code_point, decomposition in zip(code_points, map(unicodedata.decomposition, map(chr, code_points))):
            if decomposition and decomposition[0] != "<":
                marks[code_point] |= DECOMPOSES
                if unicodedata.normalize("NFC", chr(code_point)) != chr(code_point):
                    kinds[code_point] |= UNSURE
                else:
                    first, second = (int(code, 16) for code in decomposition.split())
                    composed.append(first << 21 | second)
                    marks[second] |= MAY_COMPOSE
    kinds[list(HANGUL_ENDS)] |= UNSURE
    kinds[(marks & (CLASS | MAY_COMPOSE)) != 0] |= MARK
    pairs, _ = table_of(np.array(composed, np.uint64), np.zeros(len(composed), np.int32))
    for table in (kinds, marks, pairs):
        table.setflags(write=False)
    return Characters(kinds, marks, pairs)


def kinds_in(texts: pa.LargeStringArray, kinds: int) -> Bytes:
    """(documents,) which of the `kinds` are in each document; none are in a null.

    A document without UNSURE is in NFC: this is the quick check of UAX 15, which here also sees which characters that
    may compose, as most vowel signs of Tamil, have none before them to compose with.
    """
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, np.uint8)
    _find(text, characters(), kinds, out)
    return out


@kernel
def _find(text: TextBuffer, tables: Characters, kinds: int, out: Bytes) -> None:
    data = text.data
    for d in range(len(out)):
        at: Any = text.offsets[d]
        lo, hi = text.offsets[d], text.offsets[d + 1]
        present = np.intp(0)
        while at < hi:
            ampersands, controls, wide, continued = _masks(data, at)
            within = below(min(64, hi - at))
            places = (controls | (wide & ~continued)) & within
            ampersands &= within
            if (present | ENTITY) & kinds != kinds:
                while places != NO_BITS:
                    start = at + lowest_bit(places)
                    places &= places - ONE
                    code_point, _ = decode(data, start)
                    kind = np.intp(tables.kinds[code_point])
                    present |= kind
                    if kind & MARK and not present & UNSURE and kinds & UNSURE:
                        present |= UNSURE if _may_change(data, lo, start, code_point, tables) else 0
            if ampersands != NO_BITS and kinds & ENTITY and not present & ENTITY:
                while ampersands != NO_BITS:
                    start = at + lowest_bit(ampersands)
                    present |= ENTITY if entity_end(data, start, hi) > start else 0
                    ampersands &= ampersands - ONE
            at += 64
        out[d] = present & kinds


@kernel
def _may_change(data: Bytes, lo: int, at: int, code_point: Any, tables: Characters) -> bool:
    """Whether the MARK at `at`, or one before it, may change in the NFC of data[lo:]."""
    if at == lo:
        return False
    before = at - 1
    while before > lo and (load8(data, before) & 0xC0) == 0x80:
        before -= 1
    previous, _ = decode(data, before)
    mark, mark_before = tables.marks[code_point], tables.marks[previous]
    order, order_before = mark & CLASS, mark_before & CLASS
    if order != 0 and order_before > order:
        return True  # they are to be swapped
    if mark & MAY_COMPOSE == 0:
        return False
    if order == 0 and order_before != 0:
        return False  # a mark between the two keeps them apart
    if order != 0 and (order_before != 0 or mark_before & DECOMPOSES != 0):
        return True  # it may compose with one further before, or with a part of the one before
    pair = U(previous) << U(21) | U(code_point)
    return bool(tables.pairs[find(tables.pairs, len(tables.pairs) - 1, pair)] == pair)


def replace_kinds(texts: pa.LargeStringArray, kinds: int) -> pa.LargeStringArray:
    r"""Each document with these kinds replaced: LINE_END by "\n", and "\r\n" by one; SPACE by a space; INVISIBLE
    by nothing. Nulls stay null."""
    text = view(texts)
    offsets = np.zeros(len(text.offsets), np.int64)
    out = np.empty(int(text.offsets[-1] - text.offsets[0]) + PAD, np.uint8)
    _replace(text, characters().kinds, kinds & (LINE_END | INVISIBLE | SPACE), out, offsets)
    return keep_nulls(to_arrow(out[: offsets[-1] + PAD], offsets), texts)


@kernel
def _replace(text: TextBuffer, kinds: Bytes, selected: int, out: Bytes, offsets: Int64s) -> None:
    data = text.data
    p = np.intp(0)
    for d in range(len(offsets) - 1):
        copied: Any = text.offsets[d]
        hi = text.offsets[d + 1]
        base = copied
        while base < hi:
            _, controls, wide, continued = _masks(data, base)
            characters = (controls | (wide & ~continued)) & below(min(64, hi - base))
            while characters != NO_BITS:
                at = base + lowest_bit(characters)
                characters &= characters - ONE
                code_point, size = decode(data, at)
                kind = kinds[code_point] & selected
                if kind == 0 or at < copied:  # within the character before, if that is malformed
                    continue
                copy_bytes(data, copied, at - copied, out, p)
                p += at - copied
                copied = min(at + size, hi)
                if kind & LINE_END:
                    out[p] = LF
                    p += 1
                    if load8(data, at) == CR and copied < hi and load8(data, copied) == LF:
                        copied += 1
                elif kind & SPACE:
                    out[p] = 32
                    p += 1
            base += 64
        copy_bytes(data, copied, hi - copied, out, p)
        p += hi - copied
        offsets[d + 1] = p


def warm_up() -> None:
    texts = pa.array(["a\x00\u00a0"], pa.large_string())
    kinds_in(texts, LINE_END | INVISIBLE | SPACE | UNSURE)
    replace_kinds(texts, LINE_END | INVISIBLE | SPACE)
