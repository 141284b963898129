"""Where the words of folded text are in the original text."""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.fold import CAPITAL_SIGMA, number_end
from corpusmill.text.lowlevel import borrowed, load8, lowest_bit
from corpusmill.text.unicode import GAP, MAPPED, NUMBER, Folding, decode, folding, index_of

_letters = simd.masks(simd.ascii_letter)


def folded_words(texts: pa.LargeStringArray, max_words: Int64s | None = None) -> tuple[Int64s, Int64s]:
    """The span of the original text of every word of `fold(texts)`.

    max_words   (documents,) how many words of each, the first ones; None for all
    returns   (words, 2) first byte and end, from the beginning of the text; and (documents + 1,) the first word of each
              document

    `fold` of a span alone gives its word, except for a sigma, whose form depends on its context. The text between two
    words folds to a single space.
    """
    text = view(texts)
    offsets = np.zeros(len(text.offsets), np.int64)
    sizes = np.diff(text.offsets)
    limits = sizes if max_words is None else np.minimum(max_words, sizes)
    spans = np.empty((int(np.minimum(limits, sizes // 2 + 1).sum()) + 1, 2), np.int64)
    _folded_words(text, limits, folding(), offsets, spans)
    return spans[: offsets[-1]], offsets


@kernel
def _folded_words(text: TextBuffer, limits: Int64s, folding: Folding, offsets: Int64s, spans: Int64s) -> None:
    words = 0
    for d in range(len(offsets) - 1):
        words = words_of(text.data, text.offsets[d], text.offsets[d + 1], limits[d], folding, spans, words)
        offsets[d + 1] = words


@kernel
def words_of(data: Bytes, lo: int, hi: int, limit: int, f: Folding, spans: Int64s, words: int) -> int:
    """Append the first words of data[lo:hi], up to `limit`; returns the new number of words."""
    data = borrowed(data)
    start: Any = lo
    folded_bytes: Any = 0  # bytes that the word folds to: a combining mark alone is not a word
    at = lo
    limit += words
    while at < hi and words < limit:
        byte = load8(data, at)
        if byte < 0x80:
            if f.ascii[np.intp(byte)] > 1:
                (letters,) = _letters(data, at)
                run = min(max(lowest_bit(~letters), 1), hi - at)
                folded_bytes += run
                at += run
                continue
            if f.ascii[np.intp(byte)] == 0:
                if folded_bytes > 0:
                    spans[words, 0], spans[words, 1] = start - lo, at - lo
                    words += 1
                folded_bytes = 0
                at += 1
                start = at
                continue
        code_point, size = decode(data, at)
        where = index_of(f.block_of, code_point)
        kind = f.kinds[where]
        if kind & NUMBER:
            folded_bytes += 1
            at = number_end(data, at, hi, f)
            continue
        if kind & GAP:
            if folded_bytes > 0:
                spans[words, 0], spans[words, 1] = start - lo, at - lo
                words += 1
            folded_bytes = 0
            at += size
            start = at
            continue
        mapped = kind & MAPPED and code_point != CAPITAL_SIGMA
        folded_bytes += f.places[where] & 0xFF if mapped else size
        at += size
    if folded_bytes > 0 and words < limit:
        spans[words, 0], spans[words, 1] = start - lo, hi - lo
        words += 1
    return words


def warm_up() -> None:
    folded_words(pa.array(["É 1.5"], pa.large_string()))
