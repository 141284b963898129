"""Whether a text holds HTML: tags that were not removed, or never recognised as such."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bools, Bytes, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, Bits, U, load8, lowest_bit
from corpusmill.text.sets import find
from corpusmill.text.spans import below

# The elements of HTML (https://html.spec.whatwg.org/, index), and those of older pages. Names that are as frequent in
# other notations are left out: "data", "map", "object", "output", "param", "select", "template", "time", "var".
_ELEMENTS = """
    a abbr address article aside audio b blockquote body br button canvas caption center cite code col dd del dfn div dl
    dt em fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img
    input ins kbd label legend li link main meta nav noscript ol optgroup option p picture pre q s samp script section
    small span strike strong style sub sup table tbody td textarea tfoot th thead title tr tt u ul video
"""
ELEMENTS = tuple(_ELEMENTS.split())
LONGEST_TAG = max(map(len, ELEMENTS))
LT, GT, SLASH, BANG, DASH = b"<>/!-"
CASE = U(0x20)
FNV = 0x100000001B3  # the prime of FNV-1a
DOCTYPE = np.frombuffer(b"doctype", np.uint8)

_tags = simd.masks(simd.equal("<"))


def has_markup(texts: pa.LargeStringArray) -> Bools:
    r"""(documents,) whether a text holds a tag of HTML, a comment "<!--" or "<!doctype"; a null holds none.

    A tag is "<" or "</", a name of ELEMENTS in any case, and ">", "/" or ASCII white space. So "a <b and c>" counts,
    and "List<String>", "i<n", "<foo>" and "&lt;p&gt;" do not.
    """
    return holds(texts, elements())


def holds(texts: pa.LargeStringArray, names: UInt64s) -> Bools:
    """(documents,) the same for tags of other names: a `name_table`."""
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, np.bool_)
    _mark(text, names, out)
    return out


@cache
def elements() -> UInt64s:
    """ELEMENTS as `begins_markup` looks them up."""
    return name_table(ELEMENTS)


def name_table(names: Sequence[str]) -> UInt64s:
    """Names of LONGEST_TAG ASCII letters and digits at most, in lower case, as `is_name` looks them up."""
    keys = np.array([_packed(name.encode()) for name in names], np.uint64)
    table = np.zeros(4 << len(names).bit_length(), np.uint64)
    _fill(table, keys)  # a kernel, as helpers of kernels would be compiled anew in each process that calls them
    table.setflags(write=False)
    return table


@kernel
def _fill(table: UInt64s, keys: UInt64s) -> None:
    for i in range(len(keys)):
        table[find(table, len(table) - 1, keys[i])] = keys[i]


def _packed(name: bytes) -> int:
    """A 64-bit key of a name in lower case: FNV-1a that begins with the length. `begins_markup` makes the same."""
    value = len(name)
    for byte in name:
        value = (value * FNV & 0xFFFFFFFFFFFFFFFF) ^ byte
    return value


@kernel
def _mark(text: TextBuffer, names: UInt64s, out: Bools) -> None:
    for d in range(len(out)):
        at: Any = text.offsets[d]
        hi = text.offsets[d + 1]
        present = False
        while at < hi and not present:
            bits = _tags(text.data, at)[0] & below(min(64, hi - at))
            if bits != NO_BITS:
                present = any_markup(text.data, at, hi, bits, names)
            at += 64
        out[d] = present


@kernel
def any_markup(data: Bytes, base: int, hi: int, bits: Bits, names: UInt64s) -> bool:
    """Whether markup begins at one of the bits, the places of "<" from `base` on."""
    present = False
    while bits != NO_BITS and not present:
        present = begins_markup(data, base + lowest_bit(bits), hi, names)
        bits &= bits - ONE
    return present


@inlined
def begins_markup(data: Bytes, at: int, hi: int, names: UInt64s) -> bool:
    """Whether the "<" at `at` begins a tag, a comment or a document type; see `has_markup`."""
    at += 1
    if at < hi and load8(data, at) == BANG:
        comment = at + 2 < hi and load8(data, at + 1) == DASH and load8(data, at + 2) == DASH
        return comment or _is_doctype(data, at + 1, hi)
    if at < hi and load8(data, at) == SLASH:
        at += 1
    size = name_size(data, at, hi)
    if size == 0 or size > LONGEST_TAG or at + size >= hi:
        return False
    end = load8(data, at + size)
    if not (end in (GT, SLASH, 32) or 9 <= end <= 13):
        return False
    return is_name(data, at, size, names)


@inlined
def name_size(data: Bytes, at: int, hi: int) -> Any:
    """How many ASCII letters, and digits after the first, stand at `at`: LONGEST_TAG + 1 at most."""
    size: Any = 0
    while at + size < hi and size <= LONGEST_TAG:
        byte = U(load8(data, at + size))
        letter = byte | CASE
        if not (U(97) <= letter <= U(122)) and not (U(48) <= byte <= U(57) and size > 0):
            break
        size += 1
    return size


@inlined
def is_name(data: Bytes, at: int, size: int, names: UInt64s) -> bool:
    """Whether so many letters and digits, in any case, are one of the names of a `name_table`."""
    key = U(size)
    for i in range(size):
        byte = U(load8(data, at + i))
        key = (key * U(FNV)) ^ (byte | CASE if byte > U(57) else byte)
    return bool(names[find(names, len(names) - 1, key)] == key)


@inlined
def _is_doctype(data: Bytes, at: int, hi: int) -> bool:
    same = at + 7 <= hi
    for i in range(7):
        same = same and load8(data, at + i) | np.uint8(0x20) == DOCTYPE[i]
    return same


def warm_up() -> None:
    has_markup(pa.array(["a <p> b", ""], pa.large_string()))
