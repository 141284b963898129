"""HTML's character references, decoded: `&eacute;`, `&#233;`, `&#xE9;`."""

import html
from functools import cache
from html.entities import html5
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int32s, Int64s
from corpusmill.text.buffers import PAD, TextBuffer, keep_nulls, to_arrow, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, U, copy_bytes, is_digit, load8, lowest_bit
from corpusmill.text.sets import room_for
from corpusmill.text.spans import below
from corpusmill.text.unicode import encode

HASH, SEMICOLON, X, ZERO, NINE, A, F, Z = b"#;x09afz"
CASE = np.uint8(0x20)
SHORTEST, LONGEST_NAME = 4, 32  # bytes of "&lt;"; letters and digits of a name
MAX_DECIMALS, MAX_HEXADECIMALS = 7, 6
TABLED = 160  # HTML5 gives many numbers below this another meaning: &#128; is "€", as in Windows-1252
REPLACEMENT, LAST_CODE_POINT = 0xFFFD, 0x10FFFF
FNV = 0x100000001B3  # the prime of FNV-1a

_ampersands = simd.masks(simd.equal("&"))


class Entities(NamedTuple):
    """What entities mean.

    names     (n,) the names, without "&" and ";"
    values    (n,) the characters, one or two, of each
    slots     (a power of two,) int32: a hash table of names, 0 or 1 + the name's position
    numbers   (TABLED,) int32: the code point of a number; -1 of one without a character
    """

    names: TextBuffer
    values: TextBuffer
    slots: Int32s
    numbers: Int32s


def decode_entities(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Each document with its entities decoded, once: "&amp;lt;" becomes "&lt;".

    An entity ends with ";" and has a name that HTML5 defines, or a number of at most 7 decimal or 6 hexadecimal digits.
    Numbers mean what HTML5 says: U+FFFD for surrogates and beyond Unicode, nothing for most controls and for
    noncharacters.

    returns   (documents,) large_string; nulls stay null
    """
    text, tables = view(texts), entities()
    size = int(text.offsets[-1] - text.offsets[0])
    offsets = np.zeros(len(text.offsets), np.int64)
    out = np.empty(size + _growth() * (size // SHORTEST) + PAD, np.uint8)
    _decode(text, tables, out, offsets)
    return keep_nulls(to_arrow(out[: offsets[-1] + PAD], offsets), texts)


@cache
def entities() -> Entities:
    names = sorted(name[:-1] for name in html5 if name.endswith(";"))
    name_buffer = view(pa.array(names, pa.large_string()))
    slots = _hash_table(name_buffer)
    numbers = np.full(TABLED, -1, np.int32)
    for number in range(TABLED):
        if character := html.unescape(f"&#{number};"):
            numbers[number] = ord(character)
    for table in (slots, numbers):
        table.setflags(write=False)
    return Entities(
        name_buffer, view(pa.array([html5[f"{name};"] for name in names], pa.large_string())), slots, numbers
    )


@cache
def _growth() -> int:
    """How many bytes an entity can grow by: "&nGt;" by one."""
    tables = entities()
    return max(0, int((np.diff(tables.values.offsets) - np.diff(tables.names.offsets) - 2).max()))


@inlined
def _hash(data: Bytes, start: int, end: int) -> Any:
    value = U(end - start)
    for at in range(start, end):
        value = (value * U(FNV)) ^ U(load8(data, at))
    return np.intp((value ^ (value >> U(32))) & U(0x7FFFFFFF))


@inlined
def _slot(data: Bytes, start: int, end: int, names: TextBuffer, slots: Int32s) -> Any:
    """The slot of the name data[start:end], or the empty one where it belongs."""
    slot = _hash(data, start, end) & (len(slots) - 1)
    while slots[slot] != 0:
        name = slots[slot] - 1
        first = names.offsets[name]
        same = names.offsets[name + 1] - first == end - start
        for i in range(end - start if same else 0):
            same = same and load8(data, start + i) == load8(names.data, first + i)
        if same:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _hash_table(names: TextBuffer) -> Int32s:
    count = len(names.offsets) - 1
    slots = np.zeros(room_for(count), np.int32)
    for name in range(count):
        slots[_slot(names.data, names.offsets[name], names.offsets[name + 1], names, slots)] = name + 1
    return slots


@inlined
def _is_letter(byte: Any, last: int) -> bool:
    """Whether it is a letter from "a" to `last`, of any case."""
    return bool(A <= (byte | CASE) <= last)


@inlined
def entity_end(data: Bytes, at: int, hi: int) -> int:
    """The end of what is written as an entity is at `at`, which has "&"; `at` if nothing is."""
    i = at + 1
    first = load8(data, i) if i < hi else np.uint8(0)
    if first == HASH:
        i += 1
        hexadecimal = i < hi and load8(data, i) | CASE == X
        i += hexadecimal
        digits = i
        limit = min(hi, digits + (MAX_HEXADECIMALS if hexadecimal else MAX_DECIMALS))
        while i < limit and (is_digit(load8(data, i)) or (hexadecimal and _is_letter(load8(data, i), F))):
            i += 1
        enough = i > digits
    elif _is_letter(first, Z):
        limit = min(hi, i + LONGEST_NAME)
        while i < limit and (_is_letter(load8(data, i), Z) or is_digit(load8(data, i))):
            i += 1
        enough = i > at + 2
    else:
        enough = False
    return i + 1 if enough and i < hi and load8(data, i) == SEMICOLON else at


@inlined
def _code_point(data: Bytes, at: int, end: int, numbers: Int32s) -> Any:
    """What the number at `at`, "#…;", stands for; -1 for nothing."""
    hexadecimal = load8(data, at + 1) | CASE == X
    number: Any = np.intp(0)
    for i in range(at + 1 + hexadecimal, end - 1):
        byte = np.intp(load8(data, i))
        digit = byte - ZERO if byte <= NINE else (byte | np.intp(CASE)) - A + 10
        number = number * (16 if hexadecimal else 10) + digit
    if number < TABLED:
        return np.intp(numbers[number])
    if 0xD800 <= number <= 0xDFFF or number > LAST_CODE_POINT:
        return REPLACEMENT
    nothing = 0xFDD0 <= number <= 0xFDEF or number & 0xFFFE == 0xFFFE
    return -1 if nothing else number


@kernel
def _decode(text: TextBuffer, tables: Entities, out: Bytes, offsets: Int64s) -> None:
    data = text.data
    p = np.intp(0)
    for d in range(len(offsets) - 1):
        copied: Any = text.offsets[d]
        hi = text.offsets[d + 1]
        base = copied
        while base < hi:
            bits = _ampersands(data, base)[0] & below(min(64, hi - base))
            while bits != NO_BITS:
                at = base + lowest_bit(bits)
                bits &= bits - ONE
                end = entity_end(data, at, hi)
                if end == at:
                    continue
                if load8(data, at + 1) == HASH:
                    copy_bytes(data, copied, at - copied, out, p)
                    p += at - copied
                    code_point = _code_point(data, at + 1, end, tables.numbers)
                    if code_point >= 0:
                        p = encode(code_point, out, p)
                    copied = end
                else:
                    name = tables.slots[_slot(data, at + 1, end - 1, tables.names, tables.slots)] - 1
                    if name >= 0:
                        copy_bytes(data, copied, at - copied, out, p)
                        p += at - copied
                        for i in range(tables.values.offsets[name], tables.values.offsets[name + 1]):
                            out[p] = load8(tables.values.data, i)
                            p += 1
                        copied = end
            base += 64
        copy_bytes(data, copied, hi - copied, out, p)
        p += hi - copied
        offsets[d + 1] = p


def warm_up() -> None:
    decode_entities(pa.array(["&amp;&#233;"], pa.large_string()))
