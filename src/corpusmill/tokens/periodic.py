"""Sequences of token ids that repeat a short one: "a b a b a b"."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.array_types import Int64s
from corpusmill.text.compile import kernel


@kernel
def most_repeats(ids: NDArray[Any], offsets: Int64s, low: int, high: int, out: Int64s) -> None:
    """Of each document the period of `low` to `high` tokens that is repeated in sequence most often.

    ids       (tokens,) of all documents
    offsets   (documents + 1,) the first token of each
    out       (documents, 2) how often the period occurs, as a whole, and how many tokens it has, the smallest on a tie;
              both 0 where nothing occurs twice in sequence
    """
    for d in range(len(offsets) - 1):
        first, end = offsets[d], offsets[d + 1]
        repeats, period = 0, 0
        for p in range(low, high + 1):
            equal = longest = 0  # tokens in sequence that are equal to the one a period before
            for i in range(first + p, end):
                equal = equal + 1 if ids[i] == ids[i - p] else 0
                longest = max(longest, equal)
            if longest >= p and longest // p + 1 > repeats:
                repeats, period = longest // p + 1, p
        out[d, 0], out[d, 1] = repeats, period


@kernel
def periodic_spans(ids: NDArray[Any], low: int, high: int, at_least: int, out: Int64s) -> int:
    """Where a period of `low` to `high` tokens occurs at least `at_least` times in sequence; returns how many places.

    ids   (tokens,) of one document
    out   (places, 4) first token, end, tokens in the period, how often it occurs as a whole; by period, then by place.
          What lies within a place of a smaller period is left out. Places behind the end of `out` are counted only
    """
    count = 0
    for p in range(low, high + 1):
        equal = 0
        for i in range(p, len(ids) + 1):
            if i < len(ids) and ids[i] == ids[i - p]:
                equal += 1
                continue
            start, times = i - equal - p, equal // p + 1
            inside = False
            for k in range(min(count, len(out))):
                inside |= out[k, 2] < p and out[k, 0] <= start and i <= out[k, 1]
            if equal > 0 and times >= at_least and not inside:
                if count < len(out):
                    out[count, 0], out[count, 1], out[count, 2], out[count, 3] = start, i, p, times
                count += 1
            equal = 0
    return count


def warm_up() -> None:
    """Compile for the type of ids that tokenizers give."""
    ids = np.zeros(4, np.uint32)
    most_repeats(ids, np.array([0, 4]), 1, 2, np.zeros((1, 2), np.int64))
    periodic_spans(ids, 1, 2, 2, np.zeros((1, 4), np.int64))
