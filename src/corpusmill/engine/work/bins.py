"""Bins for the values of signals, decided before any value is seen: so units can count by themselves, and the counts of
all units can be added up. A threshold is an edge."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.verdict import Bound

BINS = 12  # between 0 and a threshold that is no whole number
UNITS = 24  # bins of one for whole numbers whose threshold is small
LOG_FROM = 10  # whole numbers with a threshold of this or more get a logarithmic axis
OCTAVES = 7  # of such an axis, on either side of the threshold
SIMILARITIES = tuple(i / 50 for i in range(51))


def edges_around(bound: Bound, is_integer: bool) -> tuple[tuple[float, ...], bool]:
    """Edges, one of them the bound's threshold; and whether they are logarithmic.

    is_integer   the values are whole numbers

    The axis ends at three times the threshold: the last bin also holds larger values, and the first smaller ones.
    """
    at = bound.threshold
    if is_integer and at >= LOG_FROM:
        return (0.0, *(at * 2 ** (k / 2) for k in range(-2 * OCTAVES, 2 * OCTAVES + 1))), True
    if is_integer:
        below, above, width = max(1, math.ceil(at)), max(UNITS, math.ceil(2 * at)), 1.0
    elif at > 0:
        below, above, width = BINS, 2 * BINS, at / BINS
    else:
        below, above, width = 2 * BINS, 2 * BINS, max(-at, 1.0) / BINS
    return tuple(at + k * width for k in range(-below, above + 1)), False


def count(values: NDArray[Any], edges: Sequence[float], closed: str) -> NDArray[np.int64]:
    """(bins,) how many values each bin holds; NaN is in none.

    closed   "left": [a, b), or "right": (a, b]. A value equal to a threshold must be on the side that passes.
    """
    values = values[~np.isnan(values)]
    inner = np.asarray(edges[1:-1], np.float64)
    bins = np.searchsorted(inner, values, side="right" if closed == "left" else "left")
    return np.bincount(bins, minlength=len(edges) - 1).astype(np.int64)


def closed_side(bound: Bound) -> str:
    """Which edge belongs to a bin, so that no bin holds values on both sides of the bound."""
    return "left" if bound.drops in ("<", ">=") else "right"
