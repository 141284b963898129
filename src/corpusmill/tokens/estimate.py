"""About how many tokens a text has: those of its middle, in proportion to its bytes."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from corpusmill.text.array_types import Int64s
from corpusmill.text.buffers import PAD, TextBuffer, to_arrow, view

MIDDLE = 256  # bytes that are counted; texts of up to twice as many are counted whole
SEARCHED = 32  # bytes in which a space is looked for at either end


def estimate(texts: pa.LargeStringArray, count: Callable[[pa.LargeStringArray], Int64s]) -> Int64s:
    """(documents,) tokens of each text: exact up to 2 * MIDDLE bytes, above that an estimate. A null has none.

    count   (documents,) tokens of each text
    """
    text = view(texts)
    sizes = np.diff(text.offsets)
    first, last = middles(text)
    cut = last - first
    counted = np.asarray(count(_pieces(text, first, last)), np.int64)
    tokens: Int64s = np.where(cut == sizes, counted, (2 * counted * sizes + cut) // np.maximum(2 * cut, 1))
    return tokens


def is_estimated(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(documents,) whether `estimate` looks at a part of a text only."""
    return np.asarray(np.diff(view(texts).offsets) > 2 * MIDDLE)


def middles(text: TextBuffer) -> tuple[Int64s, Int64s]:
    """(documents,) first byte and end of what is counted of each text: from a space to a space if there are any within
    SEARCHED bytes, between two characters in any case."""
    first, last = text.offsets[:-1].copy(), text.offsets[1:].copy()
    rows = np.flatnonzero(last - first > 2 * MIDDLE)
    begin = first[rows] + (last[rows] - first[rows] - MIDDLE) // 2
    first[rows], last[rows] = _moved(text.data, begin), _moved(text.data, begin + MIDDLE)
    return first, last


def _moved(data: NDArray[np.uint8], at: Int64s) -> Int64s:
    """Each place, moved on to a space, or else to the next character."""
    ahead = sliding_window_view(data, SEARCHED)[at]
    is_space = (ahead == 32) | (ahead == 10)
    is_first = (ahead & 0xC0) != 0x80  # byte of a character
    steps = np.where(is_space.any(axis=1), is_space.argmax(axis=1), is_first.argmax(axis=1))
    moved: Int64s = at + steps
    return moved


def _pieces(text: TextBuffer, first: Int64s, last: Int64s) -> pa.LargeStringArray:
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(last - first)])
    pieces = [text.data[begin:end] for begin, end in zip(first.tolist(), last.tolist())]
    return to_arrow(np.concatenate([*pieces, np.zeros(PAD, np.uint8)]), offsets)
