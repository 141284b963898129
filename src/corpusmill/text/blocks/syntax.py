"""The tokens of HTML: tags with attributes, comments, raw text, entities. All positions are of bytes."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.blocks.names import (
    ATTRIBUTE_KEYS,
    ATTRIBUTE_VALUES,
    ATTRIBUTES,
    ENTITY_KEYS,
    ENTITY_VALUES,
    FNV,
    LONGEST_ENTITY,
    LONGEST_OLD,
    OLD_KEYS,
    OLD_VALUES,
    WINDOWS,
    find,
    hashed,
)
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import is_letter

LT, GT, SLASH, BANG, QUESTION, EQUALS, QUOTE, APOSTROPHE, DASH, HASH, SEMICOLON = b"<>/!?=\"'-#;"
SPACE, ZERO, NINE, A, F, X, Z = b" 09afxz"
NUMBERS = len(ATTRIBUTES)
TEXT, START, END, COMMENT, DECLARATION = range(5)  # what a "<" begins
LAST_POINT, REPLACEMENT = 0x10FFFF, 0xFFFD


@inlined
def lower(byte: Any) -> Any:
    """An ASCII letter in lower case."""
    return np.uint8(byte | 32) if byte >= 65 and byte <= 90 else byte


@kernel
def begins(data: Bytes, at: int) -> int:
    """What the "<" at a position begins."""
    size = data.size
    if at + 1 >= size:
        return TEXT
    byte = data[at + 1]
    if is_letter(byte):
        return START
    if byte == SLASH:
        return END if at + 2 < size and is_letter(data[at + 2]) else TEXT
    if byte == BANG:
        return COMMENT if at + 3 < size and data[at + 2] == DASH and data[at + 3] == DASH else DECLARATION
    return DECLARATION if byte == QUESTION else TEXT


@inlined
def after(data: Bytes, at: int, byte: int) -> Any:
    """The position after the next such byte, the size of the page if there is none."""
    while at < data.size and data[at] != byte:
        at += 1
    return min(at + 1, data.size)


@kernel
def comment_end(data: Bytes, at: int) -> int:
    """The position after the "-->" of a comment whose "<!--" ends at a position; -1 if it is never closed."""
    if at < data.size and data[at] == GT:  # <!-->
        return at + 1
    while at + 2 < data.size:
        if data[at + 2] != DASH and data[at + 2] != GT:
            at += 3
        elif data[at] == DASH and data[at + 1] == DASH and data[at + 2] == GT:
            return at + 3
        else:
            at += 1
    return -1


@kernel
def name_end(data: Bytes, at: int) -> tuple[int, Any]:
    """(where the name of a tag ends that begins at a position, its hash)."""
    key = np.uint32(FNV)
    while at < data.size and data[at] > SPACE and data[at] != GT and data[at] != SLASH:
        key = hashed(key, lower(data[at]))
        at += 1
    return at, key


@kernel
def raw_end(data: Bytes, at: int, name: Any) -> int:
    """Where the end tag begins that closes an element without tags inside; -1 if there is none."""
    while at + 2 < data.size:
        if data[at] == LT and data[at + 1] == SLASH:
            key = np.uint32(FNV)
            stop = at + 2
            while stop < data.size and is_letter(data[stop]):
                key = hashed(key, lower(data[stop]))
                stop += 1
            if key == name:
                return at
            at = stop
        else:
            at += 1
    return -1


@kernel
def attributes(data: Bytes, at: int, values: Int64s) -> int:
    """The position after a tag whose name ends at a position.

    values   (2 * NUMBERS + 1,) is set: where the value of each attribute begins and ends, both 0 if the tag lacks it,
             and the same place if it has no value; the first of equal names counts. The last is 1 if the tag ends with
             "/".
    """
    size = data.size
    values[:] = 0
    closed = False
    while at < size and data[at] != GT:
        byte = data[at]
        if byte <= SPACE or byte == SLASH:
            closed = byte == SLASH
            at += 1
            continue
        closed = False
        key = np.uint32(FNV)
        first = at
        while (
            at < size
            and data[at] > SPACE
            and data[at] != GT
            and data[at] != SLASH
            and (data[at] != EQUALS or at == first)
        ):
            key = hashed(key, lower(data[at]))
            at += 1
        position = at
        while position < size and data[position] <= SPACE:
            position += 1
        number = find(ATTRIBUTE_KEYS, ATTRIBUTE_VALUES, key)
        if position >= size or data[position] != EQUALS:
            if number > 0 and values[2 * number - 1] == 0:
                values[2 * number - 2] = values[2 * number - 1] = min(at, size)
            continue
        position += 1
        while position < size and data[position] <= SPACE:
            position += 1
        if position < size and (data[position] == QUOTE or data[position] == APOSTROPHE):
            begin = position + 1
            at = after(data, begin, data[position])
            end = max(begin, at - 1) if at < size or data[size - 1] == data[position] else size
        else:
            begin = position
            while position < size and data[position] > SPACE and data[position] != GT:
                position += 1
            at = end = position
        if number > 0 and values[2 * number - 1] == 0:
            values[2 * number - 2] = begin
            values[2 * number - 1] = min(end, size)
    values[2 * NUMBERS] = closed
    return min(at + 1, size)


@inlined
def _digit(byte: Any, hexadecimal: Any) -> Any:
    """The value of a digit, -1 of another byte."""
    value = np.intp(-1)
    if byte >= ZERO and byte <= NINE:
        value = np.intp(byte) - ZERO
    elif hexadecimal and (byte | 32) >= A and (byte | 32) <= F:
        value = np.intp(byte | 32) - A + 10
    return value


@kernel
def entity(data: Bytes, at: int, end: int) -> tuple[Any, int]:
    """(the code point of the entity that the "&" at a position begins, its bytes); 0 if it begins none.

    As HTML's standard has it (13.2.5.72 to 80), but for the names of two characters in one, which are none here, and
    the numbers of control characters, which are a space.
    """
    at += 1
    begin = at - 1
    if at < end and data[at] == HASH:
        at += 1
        hexadecimal = at < end and (data[at] | 32) == X
        at += hexadecimal
        first = at
        point = np.intp(0)
        while at < end:
            digit = _digit(data[at], hexadecimal)
            if digit < 0:
                break
            if point <= LAST_POINT:
                point = point * (16 if hexadecimal else 10) + digit
            at += 1
        if at == first:
            return 0, 1
        at += at < end and data[at] == SEMICOLON
        if point > LAST_POINT or (point >= 0xD800 and point < 0xE000):
            point = np.intp(REPLACEMENT)
        return (np.intp(WINDOWS[point]) if point < 160 else point), at - begin
    key = np.uint32(FNV)
    first = at
    old, old_end = np.intp(0), at
    while at < end and at - first < LONGEST_ENTITY and (is_letter(data[at]) or (data[at] >= ZERO and data[at] <= NINE)):
        key = hashed(key, data[at])
        at += 1
        if at - first <= LONGEST_OLD:
            found = np.intp(find(OLD_KEYS, OLD_VALUES, key))
            if found != 0:
                old, old_end = found, at
    if at < end and data[at] == SEMICOLON:
        found = np.intp(find(ENTITY_KEYS, ENTITY_VALUES, key))
        if found != 0:
            return found, at + 1 - begin
    # The longest beginning that is one without its end, as &ampx is &x.
    return old, old_end - begin
