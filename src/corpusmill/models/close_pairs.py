"""A second look at two close languages, by words and the short n-grams in them.

The n-grams of naive Bayes were chosen without the second language of a pair, and miss what distinguishes the two. Here
every n-gram of 1 to 5 bytes within a word, and every whole word, has a weight: the logarithm of how much more often
the first language has it, counted in the same kinds of text of both.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bools, Bytes, Int8s, Int64s, UInt64s
from corpusmill.text.buffers import view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, Bits, U, load8
from corpusmill.text.sets import find, never_zero, table_of

LONGEST_NGRAM = 5  # bytes of an n-gram; words count whole as well
BASIS, PRIME = U(0xCBF29CE484222325), U(0x100000001B3)  # FNV-1a
BLANK = np.uint8(32)  # stands before and after a word
SCALE = 32  # a weight is an int8 in these parts


class LanguagePair(NamedTuple):
    """keys (slots,) uint64 with 0 for an empty slot, weights (slots,) int8: above 0 tells for the first language."""

    keys: UInt64s
    weights: Int8s


def make_pair(hashes: UInt64s, weights: Int8s) -> LanguagePair:
    return LanguagePair(*table_of(hashes, weights))


@kernel
def compare(data: Bytes, offsets: Int64s, rows: Int64s, pair: LanguagePair) -> Bools:
    """Whether the first language of the pair fits data[offsets[row]:offsets[row + 1]] at least as well, for each row:
    the sum over the distinct n-grams of the text that have a weight is not below 0."""
    first = np.empty(len(rows), np.bool_)
    marked = np.zeros(len(pair.keys), np.int64)
    for i in range(len(rows)):
        at, end = offsets[rows[i]], offsets[rows[i] + 1]
        total = 0
        while at < end:
            if not in_word(load8(data, at)):
                at += 1
                continue
            begin = at
            while at < end and in_word(load8(data, at)):
                at += 1
            total += weigh(data, begin, at, pair, marked, i + 1)
        first[i] = total >= 0
    return first


@inlined
def weigh(data: Bytes, begin: int, end: int, pair: LanguagePair, marked: Int64s, text: int) -> int:
    """The weights of the n-grams of a word that were not seen before in this text."""
    total = 0
    for start in range(begin - 1, end + 1):
        h = BASIS
        for at in range(start, end + 1):
            h = (h ^ U(letter(data, begin, at, end))) * PRIME
            if at - start < LONGEST_NGRAM or (start == begin - 1 and at == end):
                slot = find(pair.keys, len(pair.keys) - 1, never_zero(h))
                if pair.keys[slot] != NO_BITS and marked[slot] != text:
                    marked[slot] = text
                    total += pair.weights[slot]
            elif start >= begin:
                break
    return total


@inlined
def letter(data: Bytes, begin: int, at: int, end: int) -> Bits:
    if at < begin or at == end:
        return BLANK
    byte = load8(data, at)
    return np.uint8(byte + 32) if 65 <= byte <= 90 else byte


@inlined
def in_word(byte: Bits) -> Bits:
    """Letters of ASCII, the apostrophe, and everything beyond ASCII."""
    return (65 <= byte <= 90) | (97 <= byte <= 122) | (byte == 39) | (byte >= 128)


def warm_up() -> None:
    """Compile all of this file."""
    pair = make_pair(np.ones(1, np.uint64), np.ones(1, np.int8))
    text = view(pa.array(["a"], pa.large_string()))
    compare(text.data, np.array([0, 1]), np.zeros(1, np.int64), pair)
