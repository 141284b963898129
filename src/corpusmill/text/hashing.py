"""Hashes of text: XXH64, bit for bit, and a faster 64-bit hash of words, for tables and for keys.

Hashes in what a run publishes, and of whole documents, are XXH64 (Collet's xxHash, with the given seed), so that anyone
can recompute them.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, NO_BITS, Bits, U, high_product, load8, load32, load64
from corpusmill.text.unicode import SPACE, Classes, class_of, decode

# The five primes of XXH64's specification.
P1, P2, P3 = U(0x9E3779B185EBCA87), U(0xC2B2AE3D27D4EB4F), U(0x165667B19E3779F9)
P4, P5 = U(0x85EBCA77C2B2AE63), U(0x27D4EB2F165667C5)

# Odd constants with as many zeros as ones, from wyhash's specification.
K0, K1 = U(0xA0761D6478BD642F), U(0xE7037ED1A0B428DB)
K2, K3 = U(0x8EBC6AF09C88C6E3), U(0x589965CC75374CC3)

SECOND_SEED = 0x9E3779B97F4A7C15  # of the second half of a 128-bit hash


def hash128(texts: pa.LargeStringArray) -> UInt64s:
    """A 128-bit key of each document's bytes: XXH64 with seed 0, and with seed SECOND_SEED.

    returns   (documents, 2) uint64; a null hashes as ""
    """
    text = view(texts)
    out = np.empty((len(text.offsets) - 1, 2), np.uint64)
    _hash_documents(text, U(0), out[:, 0])
    _hash_documents(text, U(SECOND_SEED), out[:, 1])
    return out


def hash64(texts: pa.LargeStringArray, seed: int = 0) -> UInt64s:
    """XXH64 of each document's bytes, (documents,) uint64; a null hashes as ""."""
    text = view(texts)
    out = np.empty((len(text.offsets) - 1, 1), np.uint64)
    _hash_documents(text, U(seed), out[:, 0])
    return out[:, 0]


def quick_hashes(texts: pa.LargeStringArray) -> UInt64s:
    """`quick_hash` of each text, (texts,)."""
    text = view(texts)
    out = np.empty(len(texts), np.uint64)
    _quick_hashes(text, out)
    return out


@kernel
def _quick_hashes(text: TextBuffer, out: UInt64s) -> None:
    for i in range(len(out)):
        out[i] = quick_hash(text.data, text.offsets[i], text.offsets[i + 1] - text.offsets[i])


def hash_spans(texts: pa.LargeStringArray, spans: Int64s, seed: int = 0) -> UInt64s:
    """XXH64 of spans of documents, (spans,) uint64.

    spans   (spans, 3 or more) int64: document, …, first byte, end (the last two columns), in bytes from the beginning
            of the document; in any order, may overlap

    Raises ValueError for a span that is not within its document.
    """
    text = view(texts)
    document, start, end = spans[:, 0], spans[:, -2], spans[:, -1]
    sizes = np.diff(text.offsets)
    if len(spans) and not (
        0 <= document.min() <= document.max() < len(sizes)
        and (start >= 0).all()
        and (start <= end).all()
        and (end <= sizes[document]).all()
    ):
        raise ValueError("a span must be within its document")
    out = np.empty(len(spans), np.uint64)
    _hash_spans(text.data, text.offsets[document] + start, text.offsets[document] + end, U(seed), out)
    return out


@kernel
def _hash_documents(text: TextBuffer, seed: Bits, out: UInt64s) -> None:
    for d in range(len(out)):
        out[d] = xxh64(text.data, text.offsets[d], text.offsets[d + 1], seed)


@kernel
def _hash_spans(data: Bytes, start: Int64s, end: Int64s, seed: Bits, out: UInt64s) -> None:
    for i in range(len(out)):
        out[i] = xxh64(data, start[i], end[i], seed)


@kernel
def strip(data: Bytes, start: int, end: int, classes: Classes) -> Any:
    """(start, end) of `data[start:end].strip()`; start == end if nothing is left."""
    while start < end:
        code_point, size = decode(data, start)
        if class_of(classes, code_point) & SPACE == 0:
            break
        start += size
    while start < end:
        at = end - 1
        while at > start and (load8(data, at) & 0xC0) == 0x80:
            at -= 1
        if class_of(classes, decode(data, at)[0]) & SPACE == 0:
            break
        end = at
    return min(start, end), end


@inlined
def rotate(x: Bits, by: Bits) -> Bits:
    return (x << by) | (x >> (U(64) - by))


@inlined
def _round(lane: Bits, word: Bits) -> Bits:
    return rotate(lane + word * P2, U(31)) * P1


@inlined
def _merge(h: Bits, lane: Bits) -> Bits:
    return (h ^ _round(NO_BITS, lane)) * P1 + P4


@kernel
def xxh64(data: Bytes, start: int, end: int, seed: Bits) -> Bits:
    """XXH64 of data[start:end]; does not read beyond."""
    at = start
    if end - start >= 32:
        a, b, c, d = seed + P1 + P2, seed + P2, seed, seed - P1
        while at + 32 <= end:
            a = _round(a, load64(data, at))
            b = _round(b, load64(data, at + 8))
            c = _round(c, load64(data, at + 16))
            d = _round(d, load64(data, at + 24))
            at += 32
        h = rotate(a, U(1)) + rotate(b, U(7)) + rotate(c, U(12)) + rotate(d, U(18))
        h = _merge(_merge(_merge(_merge(h, a), b), c), d)
    else:
        h = seed + P5
    h += U(end - start)
    while at + 8 <= end:
        h = rotate(h ^ _round(NO_BITS, load64(data, at)), U(27)) * P1 + P4
        at += 8
    if at + 4 <= end:
        h = rotate(h ^ (U(load32(data, at)) * P1), U(23)) * P2 + P3
        at += 4
    while at < end:
        h = rotate(h ^ (U(load8(data, at)) * P5), U(11)) * P1
        at += 1
    h = (h ^ (h >> U(33))) * P2
    h = (h ^ (h >> U(29))) * P3
    return h ^ (h >> U(32))


@inlined
def mix(a: Bits, b: Bits) -> Bits:
    """Both halves of the 128-bit product, folded: every bit of the result depends on every bit of a and b."""
    return (a * b) ^ high_product(a, b)


@inlined
def quick_hash(data: Bytes, start: int, size: int) -> Bits:
    """A hash of a word, for tables, and for keys, whose format changes with it; reads up to 7 bytes past the end.

    Most words take one load.
    """
    if size <= 8:
        word = load64(data, start) & (ALL_BITS >> U(64 - 8 * size)) if size > 0 else NO_BITS
        return mix(word ^ K1, U(size) ^ K0)
    if size <= 16:
        return mix(load64(data, start) ^ K1 ^ U(size), load64(data, start + size - 8) ^ K2)
    return _quick_hash_long(data, start, size)


@kernel
def _quick_hash_long(data: Bytes, start: int, size: int) -> Bits:
    h = K0
    at = start
    end = start + size
    while at + 16 <= end:
        h = mix(load64(data, at) ^ K1, load64(data, at + 8) ^ h)
        at += 16
    return mix(load64(data, end - 16) ^ K3 ^ U(size), load64(data, end - 8) ^ h)


def warm_up() -> None:
    texts = pa.array(["a text that is longer than its spans"] * 2, pa.large_string())
    for sample in (texts[:1], texts):  # a column of one row is contiguous
        quick_hashes(sample), hash128(sample), hash_spans(sample, np.array([[0, 0, 4]] * len(sample)))
