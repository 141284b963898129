"""Loops over token ids: how often each occurs, and documents with BOS and EOS."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.array_types import Int64s, UInt32s
from corpusmill.text.compile import kernel


@kernel
def count_ids(ids: NDArray[Any], counts: Int64s) -> None:
    """Add to `counts`, (vocabulary,), the occurrences of each of `ids`, (tokens,); every id is below the vocabulary.

    np.bincount would convert every id to 64 bits first, and takes ten times as long for ids of 16 bits.
    """
    for i in ids:
        counts[i] += 1


@kernel
def lay_out(ids: UInt32s, offsets: Int64s, bos: int, eos: int, out: NDArray[Any]) -> None:
    """Write the ids of each document, ids[offsets[d]:offsets[d + 1]], to `out`, with `bos` before (unless it is
    negative) and `eos` after them. The size of `out` is exactly what that takes."""
    at = 0
    for d in range(len(offsets) - 1):
        if bos >= 0:
            out[at] = bos
            at += 1
        for i in range(offsets[d], offsets[d + 1]):
            out[at] = ids[i]
            at += 1
        out[at] = eos
        at += 1


def warm_up() -> None:
    """Compile for both types of ids."""
    for dtype in (np.uint16, np.uint32):
        count_ids(np.zeros(1, dtype), np.zeros(1, np.int64))
        lay_out(np.zeros(1, np.uint32), np.array([0, 1]), -1, 0, np.zeros(2, dtype))
