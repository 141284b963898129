"""Hashes of n-grams of folded text, of words or of characters: "shingles"."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.buffers import PAD, Text, view
from corpusmill.text.compile import kernel
from corpusmill.text.fold import fold
from corpusmill.text.hashing import xxh64
from corpusmill.text.lowlevel import NO_BITS, ONE, count_bits, load8, lowest_bit
from corpusmill.text.spans import below, longest

SPACE = 32

_space_mask = simd.masks(simd.equal(" "))


@dataclass(frozen=True)
class Shingling:
    """How a document becomes a set: it is folded and cut into n-grams of words or characters."""

    n: int
    of: Literal["words", "characters"]

    def hashes(self, texts: pa.LargeStringArray) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """(shingles,) XXH64, in order and with repetitions, and (documents + 1,) the first shingle of each document."""
        folded = fold(texts)
        return shingle_hashes(folded, self.n) if self.of == "words" else character_hashes(folded, self.n)


def shingle_hashes(folded: pa.LargeStringArray, n: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """XXH64 of every n words of each document, joined by a space, in order and with repetitions.

    folded    words separated by spaces, as `fold.fold` returns them (other white space is part of a word here)
    n         5 for near-duplicates, 13 for contamination
    returns   (shingles,) uint64 and (documents + 1,) int64: document d has the shingles offsets[d]:offsets[d + 1]

    A document of fewer than n words has one shingle, all its words; a document without words has none. (datatrove has
    no shingles for short documents, and so never finds duplicates of them.)
    """
    if n < 1:
        raise ValueError(f"a shingle needs at least one word, got n={n}")
    text = view(folded)
    offsets = np.zeros(len(text.offsets), np.int64)
    _count(text, n, offsets)
    hashes = np.empty(offsets[-1], np.uint64)
    _fill(text, n, offsets, hashes)
    return hashes, offsets


def character_hashes(folded: pa.LargeStringArray, n: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """XXH64 of every n characters of each document, spaces included, otherwise as `shingle_hashes`.

    A document of fewer than n characters has one shingle, all of them; an empty one has none.
    """
    if n < 1:
        raise ValueError(f"a shingle needs at least one character, got n={n}")
    text = view(folded)
    offsets = np.zeros(len(text.offsets), np.int64)
    _count_characters(text, n, offsets)
    hashes = np.empty(offsets[-1], np.uint64)
    _fill_characters(text, n, offsets, hashes)
    return hashes, offsets


@kernel
def _count_characters(text: Text, n: int, offsets: NDArray[np.int64]) -> None:
    for d in range(len(offsets) - 1):
        characters = 0
        for at in range(text.offsets[d], text.offsets[d + 1]):
            characters += (load8(text.data, at) & 0xC0) != 0x80
        offsets[d + 1] = offsets[d] + (characters - n + 1 if characters >= n else characters > 0)


@kernel
def _fill_characters(text: Text, n: int, offsets: NDArray[np.int64], hashes: NDArray[np.uint64]) -> None:
    starts = np.empty(n, np.int64)  # of the last n characters, a ring
    for d in range(len(offsets) - 1):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        seen, out = 0, offsets[d]
        for at in range(lo, hi):
            if (load8(text.data, at) & 0xC0) == 0x80:
                continue
            if seen >= n:
                hashes[out] = xxh64(text.data, starts[seen % n], at, NO_BITS)
                out += 1
            starts[seen % n] = at
            seen += 1
        if seen:
            hashes[out] = xxh64(text.data, starts[seen % n] if seen >= n else lo, hi, NO_BITS)


@kernel
def _count(text: Text, n: int, offsets: NDArray[np.int64]) -> None:
    for d in range(len(offsets) - 1):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        words = 0
        inside = NO_BITS
        for here in range(lo, hi, 64):
            (space,) = _space_mask(text.data, here)
            word = ~space & below(min(hi - here, 64))
            words += count_bits(word & ~((word << ONE) | inside))
            inside = word >> np.uint64(63)
        offsets[d + 1] = offsets[d] + (words - n + 1 if words >= n else words > 0)


@kernel
def _fill(text: Text, n: int, offsets: NDArray[np.int64], hashes: NDArray[np.uint64]) -> None:
    most = longest(text.offsets)
    start, end = np.empty(most // 2 + 2, np.int64), np.empty(most // 2 + 2, np.int64)
    spare = np.empty(0, np.uint8)
    for d in range(len(offsets) - 1):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        words = word_places(text.data, lo, hi, start, end)
        if words == 0:
            continue
        run = min(n, words)
        if end[words - 1] - start[0] == _joined_size(words, start, end):
            for i in range(words - run + 1):
                hashes[offsets[d] + i] = xxh64(text.data, start[i], end[i + run - 1], NO_BITS)
        else:  # two spaces somewhere: a combining mark without a base was folded away
            if len(spare) == 0:
                spare = np.empty(most + PAD, np.uint8)
            _join(text.data, words, start, end, spare)
            for i in range(words - run + 1):
                hashes[offsets[d] + i] = xxh64(spare, start[i], end[i + run - 1], NO_BITS)


@kernel
def word_places(data: NDArray[np.uint8], lo: int, hi: int, start: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    """Write where the words of data[lo:hi] begin and end; returns how many there are."""
    words = ends = 0
    inside = NO_BITS
    for here in range(lo, hi, 64):
        (space,) = _space_mask(data, here)
        space |= ~below(min(hi - here, 64))
        shifted = (~space << ONE) | inside
        inside = ~space >> np.uint64(63)
        opens, closes = ~space & ~shifted, space & shifted
        while opens != NO_BITS:
            start[words] = here + lowest_bit(opens)
            words += 1
            opens &= opens - ONE
        while closes != NO_BITS:
            end[ends] = here + lowest_bit(closes)
            ends += 1
            closes &= closes - ONE
    if ends < words:
        end[ends] = hi
    return words


@kernel
def _joined_size(words: int, start: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    size = words - 1
    for i in range(words):
        size += end[i] - start[i]
    return size


@kernel
def _join(
    data: NDArray[np.uint8], words: int, start: NDArray[np.int64], end: NDArray[np.int64], out: NDArray[np.uint8]
) -> None:
    """Write the words to `out` with one space between them, and set start and end to their positions there."""
    p = 0
    for i in range(words):
        begin = p
        for at in range(start[i], end[i]):
            out[p] = load8(data, at)
            p += 1
        start[i], end[i] = begin, p
        out[p] = SPACE
        p += 1


def warm_up() -> None:
    """Compile the kernels."""
    texts = pa.array(["a b c", "b  c d"], pa.large_string())
    shingle_hashes(texts, 2)
    character_hashes(texts, 2)
