"""The number of words in a text, at the speed of memory, for rates per word.

A word is a run of characters that are not white space (str.isspace); in scripts without spaces between words
(`plain_tokens.ALONE`), each character is one.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, U, count_bits
from corpusmill.text.plain_tokens import in_script_without_spaces
from corpusmill.text.spans import below
from corpusmill.text.unicode import SPACE, Classes, class_of, classes, decode

_masks = simd.masks(simd.ascii_space, simd.not_ascii)


def word_counts(texts: pa.LargeStringArray) -> Int64s:
    """(documents,) words of each text; a null has none."""
    text = view(texts)
    counts = np.zeros(len(text.offsets) - 1, np.int64)
    _count(text, classes(), counts)
    return counts


@kernel
def _count(text: TextBuffer, classes: Classes, counts: Int64s) -> None:
    for d in range(len(counts)):
        at: Any = text.offsets[d]
        hi = text.offsets[d + 1]
        inside = False  # the previous character is part of a word that may continue
        words: Any = 0
        while at < hi:
            space, wide = _masks(text.data, at)
            valid = below(min(64, hi - at))
            if wide & valid == NO_BITS:
                letters = ~space & valid
                # A word begins where the previous byte is a space.
                words += count_bits(letters & ~((letters << ONE) | U(inside)))
                inside = (letters >> U(63)) != NO_BITS
                at += 64
            else:
                begun, at, inside = _count_wide(text.data, at, hi, inside, classes)
                words += begun
        counts[d] = words


@inlined
def _count_wide(data: Bytes, at: Any, hi: Any, inside: bool, classes: Classes) -> Any:
    """(words that begin in the next 64 bytes or a few more, where the next block begins, whether a word continues)."""
    words = 0
    stop = min(hi, at + 64)
    while at < stop:
        code_point, size = decode(data, at)
        if class_of(classes, code_point) & SPACE != 0:
            inside = False
        elif in_script_without_spaces(code_point):
            words += 1
            inside = False
        else:
            words += not inside
            inside = True
        at += size
    return words, at, inside


def warm_up() -> None:
    """Compile the kernel."""
    word_counts(pa.array(["a é"], pa.large_string()))
