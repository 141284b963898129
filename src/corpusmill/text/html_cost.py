"""What a page of HTML would cost a parser beyond its length.

Two things in the standard (https://html.spec.whatwg.org/, parsing) are not linear in the length of a page: each
attribute of a tag is compared with those before it, and formatting elements that are left open are made again after
every end of a block. So a megabyte of attributes, or 50 KB of `<font>` and `<p>`, can take minutes.

Tags are found as the tokenizer of the standard does: a comment and the text of elements like `script` hold none, and
quotation marks count after "=" only. It does not know about the tree, so what it says of pages is an estimate where SVG
and MathML hold such elements.
"""

from typing import Any, NamedTuple

import numpy as np

from corpusmill.text.array_types import Bytes, UInt64s
from corpusmill.text.buffers import PAD
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import U, is_letter, load8

MIN_COUNTED_ATTRIBUTES = 50  # attributes of a tag: the pairs of fewer are not counted
LONGEST_LIST = 2000  # formatting elements that are open; those beyond are not counted
LT, GT, SLASH, BANG, QUESTION, EQUALS, QUOTE, APOSTROPHE, DASH = b"<>/!?=\"'-"
SPACE, TAB, LF, FF, CR = b" \t\n\f\r"
PRIME = 0x100000001B3  # of FNV-1a


def _key(name: str) -> int:
    """A name of up to 8 letters as the kernel packs it."""
    return int.from_bytes(name.encode(), "big")


RAW = np.array([_key(n) for n in "script style textarea title xmp iframe noembed noframes".split()], np.uint64)
FORMATTING = np.array([_key(n) for n in "a b big code em font i nobr s small strike strong tt u".split()], np.uint64)
FOREIGN = np.array([_key("svg"), _key("math")], np.uint64)
ONCE = np.array([_key("html"), _key("body")], np.uint64)  # all tags of these are one element
for _table in (RAW, FORMATTING, FOREIGN, ONCE):
    _table.setflags(write=False)


class Cost(NamedTuple):
    """What a parser does beyond reading.

    attributes   of the tag that has most
    pairs        of attributes that are compared, in tags of more than MIN_COUNTED_ATTRIBUTES
    again        formatting elements that are made again
    """

    attributes: int
    pairs: int
    again: int


def html_cost(page: bytes) -> Cost:
    """The cost of a page in UTF-8. Takes 2 ns a byte."""
    data = np.frombuffer(page + bytes(PAD), np.uint8)
    return Cost(*_cost(data, len(page), RAW, FORMATTING, FOREIGN, ONCE))


@inlined
def _is_space(byte: Any) -> bool:
    return bool(byte in (SPACE, LF, TAB, CR, FF))


@inlined
def _is_among(key: Any, keys: UInt64s) -> bool:
    present = False
    for i in range(len(keys)):
        present = present or keys[i] == key
    return present


@inlined
def _name(data: Bytes, at: int, hi: int) -> Any:
    """(key of the name at `at`, where it ends). Of names of more than 8 bytes the key means nothing."""
    key = U(0)
    begin = at
    while at < hi and not _is_space(load8(data, at)) and load8(data, at) != SLASH and load8(data, at) != GT:
        byte = U(load8(data, at))
        key = (key << U(8)) | (byte | U(32) if is_letter(byte) else byte)
        at += 1
    return (key if at - begin <= 8 else U(0)), at


@inlined
def _attributes(data: Bytes, at: int, hi: int) -> Any:
    """(how many attributes a tag has from `at` on, a hash of them, where the tag ends)."""
    count: Any = 0
    begin = at
    while at < hi:
        while at < hi and (_is_space(load8(data, at)) or load8(data, at) == SLASH):
            at += 1
        if at >= hi or load8(data, at) == GT:
            break
        count += 1
        at += 1
        while at < hi and not _is_space(load8(data, at)) and load8(data, at) not in (SLASH, GT, EQUALS):
            at += 1
        value = at
        while value < hi and _is_space(load8(data, value)):
            value += 1
        if value >= hi or load8(data, value) != EQUALS:
            continue
        at = value + 1
        while at < hi and _is_space(load8(data, at)):
            at += 1
        if at < hi and (load8(data, at) == QUOTE or load8(data, at) == APOSTROPHE):
            quote = load8(data, at)
            at += 1
            while at < hi and load8(data, at) != quote:
                at += 1
            at += 1
        else:
            while at < hi and not _is_space(load8(data, at)) and load8(data, at) != GT:
                at += 1
    at = min(at, hi)
    value_hash = U(at - begin)
    if count:
        for i in range(begin, at):
            value_hash = (value_hash ^ U(load8(data, i))) * U(PRIME)
    return count, value_hash, min(at + 1, hi)


@inlined
def _after_raw(data: Bytes, at: int, hi: int, key: Any) -> int:
    """Where the end tag of an element begins whose text is not markup."""
    end = hi
    while at < hi and end == hi:
        if load8(data, at) == LT and load8(data, at + 1) == SLASH and _name(data, at + 2, min(hi, at + 11))[0] == key:
            end = at
        at += 1
    return end


@inlined
def _after(data: Bytes, at: int, hi: int, is_comment: bool) -> int:
    """Where a comment, or what is taken for one, ends."""
    while at < hi:
        dashes = not is_comment or (load8(data, at - 1) == DASH and load8(data, at - 2) == DASH)
        if load8(data, at) == GT and dashes:
            break
        at += 1
    return min(at + 1, hi)


@kernel
def _cost(
    data: Bytes, hi: int, raw: UInt64s, formatting: UInt64s, foreign: UInt64s, once: UInt64s
) -> tuple[int, int, int]:
    max_attributes: Any = 0
    pairs: Any = 0
    reopened: Any = 0
    depth: Any = 0  # of SVG and MathML, where text of `script` and the like is markup
    of_once = np.zeros(len(once), np.int64)
    open_names = np.zeros(LONGEST_LIST, np.uint64)  # the formatting elements that are open, and their attributes
    open_hashes = np.zeros(LONGEST_LIST, np.uint64)
    length: Any = 0
    at: Any = 0
    while at < hi:
        if load8(data, at) != LT:
            at += 1
            continue
        at += 1
        byte = load8(data, at)
        if at < hi and byte in (BANG, QUESTION):
            is_comment = byte == BANG and load8(data, at + 1) == DASH and load8(data, at + 2) == DASH
            at = _after(data, at + 3 if is_comment else at + 1, hi, is_comment)
            continue
        is_end = at < hi and byte == SLASH
        at += is_end
        if at >= hi or not is_letter(load8(data, at)):
            continue
        key, at = _name(data, at, hi)
        count, value_hash, at = _attributes(data, at, hi)
        max_attributes = max(max_attributes, count)
        if count > MIN_COUNTED_ATTRIBUTES:
            pairs += count * count
        if _is_among(key, foreign):
            depth = max(0, depth + (-1 if is_end else 1))
        elif not _is_among(key, formatting):
            reopened += length
            for i in range(len(once)):
                if once[i] == key and not is_end:
                    pairs += count * of_once[i]
                    of_once[i] += count
                    max_attributes = max(max_attributes, of_once[i])
            if not is_end and depth == 0 and _is_among(key, raw):
                at = _after_raw(data, at, hi, key)
        elif is_end:
            last = length - 1
            while last >= 0 and open_names[last] != key:
                last -= 1
            if last >= 0:
                for i in range(last, length - 1):
                    open_names[i], open_hashes[i] = open_names[i + 1], open_hashes[i + 1]
                length -= 1
        elif length < LONGEST_LIST:
            same = 0  # no more than three of the same are made again
            for i in range(length):
                same += open_names[i] == key and open_hashes[i] == value_hash
            if same < 3:
                open_names[length], open_hashes[length] = key, value_hash
                length += 1
    return max_attributes, pairs, reopened


def warm_up() -> None:
    """Compile the kernel."""
    html_cost(b"<p a=1>x</p>")
