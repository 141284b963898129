"""Where the words of folded text are in the original text."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.buffers import Text, view
from corpusmill.text.compile import kernel
from corpusmill.text.fold import CAPITAL_SIGMA, number_end
from corpusmill.text.lowlevel import load8
from corpusmill.text.unicode import GAP, MAPPED, NUMBER, Folding, decode, folding, place


def folded_words(texts: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The span of the original text of every word of `fold(texts)`.

    returns   (words, 2) first byte and end, from the beginning of the text; and (documents + 1,) the first word of each
              document

    `fold` of a span alone gives its word, except for a sigma, whose form depends on its context. The text between two
    words folds to a single space.
    """
    text = view(texts)
    offsets = np.zeros(len(text.offsets), np.int64)
    spans = np.empty((int(text.offsets[-1] - text.offsets[0]) // 2 + len(text.offsets), 2), np.int64)
    _folded_words(text, folding(), offsets, spans)
    return spans[: offsets[-1]], offsets


@kernel
def _folded_words(text: Text, folding: Folding, offsets: NDArray[np.int64], spans: NDArray[np.int64]) -> None:
    words = 0
    for d in range(len(offsets) - 1):
        words = _words_of(text.data, text.offsets[d], text.offsets[d + 1], folding, spans, words)
        offsets[d + 1] = words


@kernel
def _words_of(data: NDArray[np.uint8], lo: int, hi: int, f: Folding, spans: NDArray[np.int64], words: int) -> int:
    """Append the words of data[lo:hi]; returns the new number of words."""
    start: Any = lo
    written: Any = 0  # bytes that the word folds to: a combining mark alone is not a word
    at = lo
    while at < hi:
        byte = load8(data, at)
        if byte < 0x80 and f.ascii[np.intp(byte)] > 1:
            written += 1
            at += 1
            continue
        code_point, size = decode(data, at)
        where = place(f.block_of, code_point)
        kind = f.kinds[where]
        if kind & NUMBER:
            written += 1
            at = number_end(data, at, hi, f)
            continue
        if kind & GAP:
            if written > 0:
                spans[words, 0], spans[words, 1] = start - lo, at - lo
                words += 1
            written = 0
            at += size
            start = at
            continue
        mapped = kind & MAPPED and code_point != CAPITAL_SIGMA
        written += f.places[where] & 0xFF if mapped else size
        at += size
    if written > 0:
        spans[words, 0], spans[words, 1] = start - lo, hi - lo
        words += 1
    return words


def warm_up() -> None:
    folded_words(pa.array(["É 1.5"], pa.large_string()))
