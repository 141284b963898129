"""Size, characters, class and hash of the words of a document."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import quick_hash
from corpusmill.text.lowlevel import NO_BITS
from corpusmill.text.spans import SpanScratch, chars_between, take
from corpusmill.text.unicode import ALPHA, CONTENT, DIGIT, LOWER, MARK, SPECIAL, UPPER, Classes, class_of, decode

# Flags of a word.
HAS_ALPHA = 1  # any(map(str.isalpha, word))
HAS_CONTENT = 2  # at least one character is not punctuation: the word is more than a symbol
ALL_UPPER = 4  # word.isupper()

# The classes beyond ASCII that `measure_words` counts, in the order of its result.
COUNTED = np.array([UPPER, DIGIT, MARK, SPECIAL], np.uint16)


@kernel
def measure_words(data: Bytes, lo: int, words: int, classes: Classes, s: SpanScratch) -> Any:
    """Fill size, chars, flags and hash of every word; returns (capitals, digits, marks, special) beyond ASCII."""
    counts = np.zeros(4, np.int64)
    for w in range(words):
        start = s.start[w]
        size = s.end[w] - start
        s.size[w] = size
        s.hash[w] = quick_hash(data, lo + start, size)
        if size <= 64 and take(s.wide, start, size) == NO_BITS:
            letters, capitals = take(s.letter, start, size), take(s.upper, start, size)
            s.chars[w] = size
            s.flags[w] = (
                HAS_ALPHA * (letters != NO_BITS)
                | HAS_CONTENT * ((letters | take(s.digit, start, size)) != NO_BITS)
                | ALL_UPPER * (letters != NO_BITS and letters == capitals)
            )
        else:
            s.chars[w] = chars_between(s, start, start + size)
            s.flags[w] = _flags_of_wide(data, lo + start, lo + start + size, classes, counts)
    return counts[0], counts[1], counts[2], counts[3]


@kernel
def _flags_of_wide(data: Bytes, start: int, end: int, classes: Classes, counts: Int64s) -> Any:
    kinds: Any = 0
    at = start
    while at < end:
        code_point, size = decode(data, at)
        kind = np.int64(class_of(classes, code_point))
        kinds |= kind
        if size > 1:
            for k in range(len(COUNTED)):
                counts[k] += (kind & np.int64(COUNTED[k])) != 0
        at += size
    return flags_of(kinds)


@inlined
def flags_of(kinds: int) -> int:
    """The flags of a word by the classes of all its characters."""
    return (
        HAS_ALPHA * ((kinds & ALPHA) != 0)
        | HAS_CONTENT * ((kinds & CONTENT) != 0)
        | ALL_UPPER * ((kinds & UPPER) != 0 and (kinds & LOWER) == 0)
    )
