"""Hashes of n-grams of folded text, of words or of characters: "shingles".

The hash of an n-gram is a polynomial in the hashes of its words (Karp and Rabin 1987), modulo 2**64: a word is hashed
once, whatever n is, and an n-gram takes two products more. N-grams with the same hash are taken for equal: among the
n-grams of a million documents of 1,000 words 0.03 such pairs are expected, and each would change the similarity of two
documents by a thousandth.

Keys are kept for later runs: a change of these hashes, or of `quick_hash`, needs another `steps.keys.FORMAT`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.fold import fold
from corpusmill.text.hashing import K1, K2, P1, mix, quick_hash
from corpusmill.text.lowlevel import NO_BITS, ONE, Bits, U, lowest_bit
from corpusmill.text.spans import below, longest
from corpusmill.text.unicode import Gaps, decode

_space_mask = simd.masks(simd.equal(" "))


@dataclass(frozen=True)
class Shingling:
    """How a document becomes a set: it is folded, by the parts of `fold.fold`, and cut into n-grams of words or
    characters."""

    n: int
    of: Literal["words", "characters"]
    numbers: bool = True
    case: bool = True
    gaps: Gaps = "punctuation"

    def hashes(self, texts: pa.LargeStringArray) -> tuple[UInt64s, Int64s]:
        """(shingles,) in order and with repetitions, and (documents + 1,) the first shingle of each document."""
        folded = fold(texts, self.numbers, self.case, self.gaps)
        return shingle_hashes(folded, self.n) if self.of == "words" else character_hashes(folded, self.n)


def shingle_hashes(folded: pa.LargeStringArray, n: int) -> tuple[UInt64s, Int64s]:
    """A hash of every n words of each document, in order and with repetitions.

    folded    words separated by spaces, as `fold.fold` returns them (other white space is part of a word here)
    n         5 for near-duplicates
    returns   (shingles,) uint64 and (documents + 1,) int64: document d has the shingles offsets[d]:offsets[d + 1]

    A document of fewer than n words has one shingle, all its words; a document without words has none. (datatrove has
    no shingles for short documents, and so never finds duplicates of them.)
    """
    if n < 1:
        raise ValueError(f"a shingle needs at least one word, got n={n}")
    text = view(folded)
    offsets = np.zeros(len(text.offsets), np.int64)
    # A word has two bytes with its space. Memory that is not written to is not taken.
    hashes = np.empty(int((np.diff(text.offsets) + 1 >> 1).sum()), np.uint64)
    _hash_words(text, n, offsets, hashes)
    return hashes[: offsets[-1]], offsets


def character_hashes(folded: pa.LargeStringArray, n: int) -> tuple[UInt64s, Int64s]:
    """A hash of every n characters of each document, spaces included, otherwise as `shingle_hashes`.

    A document of fewer than n characters has one shingle, all of them; an empty one has none.
    """
    if n < 1:
        raise ValueError(f"a shingle needs at least one character, got n={n}")
    text = view(folded)
    offsets = np.zeros(len(text.offsets), np.int64)
    hashes = np.empty(int(text.offsets[-1] - text.offsets[0]), np.uint64)
    _hash_characters(text, n, offsets, hashes)
    return hashes[: offsets[-1]], offsets


@kernel
def _hash_words(text: TextBuffer, n: int, offsets: Int64s, hashes: UInt64s) -> None:
    before = np.empty(longest(text.offsets) // 2 + 2, np.uint64)
    power = _power(n)
    for d in range(len(offsets) - 1):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        words = 0
        start = lo
        before[0] = NO_BITS
        for block in range(lo, hi, 64):
            (space,) = _space_mask(text.data, block)
            space &= below(min(hi - block, 64))
            while space != NO_BITS:
                end = block + lowest_bit(space)
                space &= space - ONE
                if end > start:
                    before[words + 1] = before[words] * P1 + quick_hash(text.data, start, end - start)
                    words += 1
                start = end + 1
        if hi > start:
            before[words + 1] = before[words] * P1 + quick_hash(text.data, start, hi - start)
            words += 1
        offsets[d + 1] = _grams(before, words, n, power, hashes, offsets[d])


@kernel
def _hash_characters(text: TextBuffer, n: int, offsets: Int64s, hashes: UInt64s) -> None:
    before = np.empty(longest(text.offsets) + 1, np.uint64)
    power = _power(n)
    for d in range(len(offsets) - 1):
        at, hi = text.offsets[d], text.offsets[d + 1]
        characters = 0
        before[0] = NO_BITS
        while at < hi:
            code_point, size = decode(text.data, at)
            before[characters + 1] = before[characters] * P1 + mix(U(code_point) ^ K1, K2)
            characters += 1
            at += size
        offsets[d + 1] = _grams(before, characters, n, power, hashes, offsets[d])


@inlined
def _power(n: int) -> Bits:
    power = ONE
    for _ in range(n):
        power *= P1
    return power


@inlined
def _grams(before: UInt64s, pieces: int, n: int, power: Bits, hashes: UInt64s, out: int) -> int:
    """Write the hash of every n of some pieces to hashes[out:], and return where they end.

    before   (pieces + 1,) the polynomial of the first i of them
    """
    if pieces < n:
        hashes[out : out + (pieces > 0)] = before[pieces]
        return out + (pieces > 0)
    for i in range(pieces - n + 1):
        hashes[out + i] = before[i + n] - before[i] * power
    return out + pieces - n + 1


@kernel
def word_places(data: Bytes, lo: int, hi: int, start: Int64s, end: Int64s) -> int:
    """Write where the words of data[lo:hi] begin and end; returns how many there are."""
    words = ends = 0
    inside = NO_BITS
    for block in range(lo, hi, 64):
        (space,) = _space_mask(data, block)
        space |= ~below(min(hi - block, 64))
        shifted = (~space << ONE) | inside
        inside = ~space >> np.uint64(63)
        opens, closes = ~space & ~shifted, space & shifted
        while opens != NO_BITS:
            start[words] = block + lowest_bit(opens)
            words += 1
            opens &= opens - ONE
        while closes != NO_BITS:
            end[ends] = block + lowest_bit(closes)
            ends += 1
            closes &= closes - ONE
    if ends < words:
        end[ends] = hi
    return words


@kernel
def count_words(text: TextBuffer, words: Int32s) -> None:
    """Write how many words each folded document has."""
    size = longest(text.offsets)
    start, end = np.empty(size // 2 + 2, np.int64), np.empty(size // 2 + 2, np.int64)
    for d in range(len(words)):
        words[d] = word_places(text.data, text.offsets[d], text.offsets[d + 1], start, end)


def warm_up() -> None:
    """Compile the kernels."""
    texts = pa.array(["a b c", "b  c d"], pa.large_string())
    shingle_hashes(texts, 2)
    character_hashes(texts, 2)
