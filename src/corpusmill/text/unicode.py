"""Properties of code points, from tables pinned to one Unicode version, so that results do not depend on Python's.

The tables are the asset "unicode" (made by scripts/make_unicode_tables.py from Unicode 14.0). A table has two stages:
`blocks[(block_of[cp >> 7] << 7) | (cp & 127)]`; block 0 is ASCII, so `blocks[byte]` works for an ASCII byte.
"""

from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from corpusmill import assets
from corpusmill.text.array_types import Bytes, Int32s, UInt16s
from corpusmill.text.compile import inlined
from corpusmill.text.lowlevel import borrowed, load8

# Classes of a character c, as bits.
SPACE = 1 << 0  # c.isspace()
BREAK = 1 << 1  # str.splitlines() breaks at c
ALPHA = 1 << 2  # c.isalpha()
ALNUM = 1 << 3  # c.isalnum()
DIGIT = 1 << 4  # c.isdecimal(): category Nd
UPPER = 1 << 5  # c.isupper()
LOWER = 1 << 6  # c.islower(), or a title-case letter
CONTENT = 1 << 7  # neither in PUNCTUATION nor in TERMINAL: a word with one is more than a symbol
TERMINAL = 1 << 8  # in TERMINAL: ends a sentence
MARK = 1 << 9  # punctuation: category P*, or an ASCII symbol ($+<=>^`|~)
SPECIAL = 1 << 10  # neither letter, number, combining mark (categories L*, N*, M*) nor space

# How folding treats a character, as bits.
GAP = 1 << 0  # white space, or in PUNCTUATION
NUMBER = 1 << 1  # category Nd
POINT = 1 << 2  # allowed between the digits of one number
CASED = 1 << 3  # has case, and is not skipped by the rule for final sigma
IGNORED = 1 << 4  # skipped by the rule for final sigma ("case-ignorable")
MAPPED = 1 << 5  # does not fold to itself


class Classes(NamedTuple):
    """block_of (16384,) uint16, blocks (n * 128,) uint16 of class bits."""

    block_of: UInt16s
    blocks: UInt16s


class Folding(NamedTuple):
    """The folding of each code point.

    block_of (16384,) uint16
    kinds    (n * 128,) uint8 of folding bits
    places   (n * 128,) int32: position in `pool` << 8 | bytes
    pool     (bytes,) uint8, UTF-8
    ascii    (128,) uint8: the folded ASCII character, 0 for a gap, 1 for a digit of a number that is folded
    """

    block_of: UInt16s
    kinds: Bytes
    places: Int32s
    pool: Bytes
    ascii: Bytes


@cache
def classes() -> Classes:
    tables = _tables()
    return Classes(tables["class_index"], tables["class_blocks"])


Gaps = Literal["punctuation", "symbols", "space"]


@cache
def folding(numbers: bool = True, case: bool = True, gaps: Gaps = "punctuation") -> Folding:
    """The folding of each code point, or that part of it which is asked for, see `fold.fold`."""
    tables = _tables()
    index, kinds, places = tables["fold_index"], tables["fold_kinds"], tables["fold_places"]
    if gaps != "punctuation":  # blocks may have other gaps that are equal otherwise, so there is one for each
        blocks = index[: 0x110000 >> 7].astype(np.int64)
        kinds, places = (table.reshape(-1, 128)[blocks].ravel() for table in (kinds, places))
        index = np.pad(np.arange(len(blocks), dtype=np.uint16), (0, len(index) - len(blocks)))
        class_block_of, classes_ = classes()
        class_bits = classes_.reshape(-1, 128)[class_block_of[: len(blocks)].astype(np.int64)].ravel()
        gap = class_bits & (SPACE if gaps == "space" else SPACE | SPECIAL) != 0
        gap[ord("_")] = False
        kinds = np.where(gap, kinds | GAP, kinds & ~np.uint8(GAP))
    if not numbers:  # U+FF11 is punctuation, too, and here a digit like others
        kinds = np.where(kinds & NUMBER != 0, kinds & ~np.uint8(NUMBER | GAP), kinds)
    if not case:
        kinds = kinds & ~np.uint8(MAPPED)
    ascii_ = np.arange(128, dtype=np.uint8)
    if case:
        ascii_[65:91] += 32
    ascii_[(kinds[:128] & GAP) != 0] = 0
    if numbers:
        ascii_[(kinds[:128] & NUMBER) != 0] = 1
    for table in (index, kinds, places, ascii_):
        table.setflags(write=False)
    return Folding(index, kinds, places, tables["fold_pool"], ascii_)


@cache
def punctuation() -> frozenset[str]:
    """Characters of symbols: a word of only these and `terminal` ones is a symbol.

    All 32 of ASCII, all control characters but tab and line feed, and 34 more: dashes, quotation marks, brackets and
    marks of Chinese and Japanese in their full-width forms, and U+FF11 FULLWIDTH DIGIT ONE. Exactly datatrove's
    PUNCTUATION, so that word counts agree.
    """
    return frozenset(map(chr, _tables()["punctuation"]))


@cache
def terminal() -> frozenset[str]:
    """The 159 characters that end a sentence: Unicode's Sentence_Terminal as in datatrove.

    Sentence_Terminal of Unicode 15 without U+2024, U+2CF9-2CFB, U+FE12 and U+FE15-FE16, with the Khmer signs U+17D6,
    U+17D9 and U+17DA.
    """
    return frozenset(map(chr, _tables()["terminal"]))


def unicode_version() -> str:
    return str(_tables()["version"])


def _tables() -> dict[str, Any]:
    return assets.load("unicode", _read)


def _read(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        tables = dict(file)
    # Malformed UTF-8 decodes to at most 0x1FFFFF; a lookup of that must stay inside the table.
    for name in ("class_index", "fold_index"):
        tables[name] = np.pad(tables[name], (0, (0x200000 >> 7) - len(tables[name])))
    for table in tables.values():
        table.setflags(write=False)
    return tables


@inlined
def borrowed_classes(classes: Classes) -> Classes:
    """The same tables, references to which are not counted (`lowlevel.borrowed`): for kernels that hand them on for
    every word."""
    return Classes(borrowed(classes.block_of), borrowed(classes.blocks))


@inlined
def decode(data: Bytes, at: int) -> Any:
    """(code point, bytes) of the UTF-8 character at `at`. Reads up to 4 bytes, unchecked."""
    lead = np.uint32(load8(data, at))
    if lead < 0x80:
        return lead, 1
    second = np.uint32(load8(data, at + 1)) & np.uint32(0x3F)
    if lead < 0xE0:
        return (lead & np.uint32(0x1F)) << np.uint32(6) | second, 2
    third = np.uint32(load8(data, at + 2)) & np.uint32(0x3F)
    if lead < 0xF0:
        return (lead & np.uint32(0x0F)) << np.uint32(12) | second << np.uint32(6) | third, 3
    fourth = np.uint32(load8(data, at + 3)) & np.uint32(0x3F)
    return (lead & np.uint32(0x07)) << np.uint32(18) | second << np.uint32(12) | third << np.uint32(6) | fourth, 4


@inlined
def index_of(block_of: UInt16s, code_point: Any) -> Any:
    """The index of a code point in the second stage of a table."""
    return (np.intp(block_of[code_point >> np.uint32(7)]) << 7) | np.intp(code_point & np.uint32(127))


@inlined
def class_of(classes: Classes, code_point: Any) -> Any:
    return classes.blocks[index_of(classes.block_of, code_point)]


@inlined
def last_class(data: Bytes, start: int, end: int, classes: Classes) -> Any:
    """Class of the last character of data[start:end], which must not be empty."""
    at = end - 1
    if load8(data, at) < 0x80:
        return classes.blocks[np.intp(load8(data, at))]
    while at > start and (load8(data, at) & 0xC0) == 0x80:
        at -= 1
    return class_of(classes, decode(data, at)[0])


@inlined
def encode(code_point: int, out: Bytes, p: int) -> Any:
    """Write a code point as UTF-8 at out[p:]; returns its end."""
    if code_point < 0x80:
        out[p] = code_point
        return p + 1
    if code_point < 0x800:
        out[p] = 0xC0 | code_point >> 6
        out[p + 1] = 0x80 | code_point & 0x3F
        return p + 2
    if code_point < 0x10000:
        out[p] = 0xE0 | code_point >> 12
        out[p + 1] = 0x80 | code_point >> 6 & 0x3F
        out[p + 2] = 0x80 | code_point & 0x3F
        return p + 3
    out[p] = 0xF0 | code_point >> 18
    out[p + 1] = 0x80 | code_point >> 12 & 0x3F
    out[p + 2] = 0x80 | code_point >> 6 & 0x3F
    out[p + 3] = 0x80 | code_point & 0x3F
    return p + 4
