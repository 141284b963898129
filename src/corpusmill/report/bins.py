"""Histograms, whose edges are chosen so that a threshold is one of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.report.rules import Bound

BINS = 24  # about
LOG_FROM = 10  # counts with a threshold of this or more get a logarithmic axis


@dataclass(frozen=True)
class Histogram:
    """counts[name][i] values are between edges[i] and edges[i + 1]. The first bin also holds smaller values, the last
    larger ones; `most` is the largest. `log`: the bins are made for a logarithmic axis."""

    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    log: bool
    most: float

    @property
    def total(self) -> int:
        return sum(map(sum, self.counts.values()))

    def trimmed(self) -> "Histogram":
        """Without the empty bins at both ends.

        >>> Histogram((0, 1, 2, 3), {"kept": (0, 5, 0)}, False, 2).trimmed().edges
        (1, 2)
        """
        filled = np.flatnonzero(np.sum([np.array(c) for c in self.counts.values()], axis=0))
        if not len(filled):
            return self
        low, high = int(filled[0]), int(filled[-1]) + 1
        counts = {name: count[low:high] for name, count in self.counts.items()}
        return Histogram(self.edges[low : high + 1], counts, self.log, self.most)


def octaves(most: float = 2.0**50) -> tuple[float, ...]:
    """0, 1 and then two bins per octave, in whole numbers: 0, 1, 2, 3, 4, 6, 8, 11, 16, … past `most`."""
    edges = [0.0, 1.0]
    while edges[-1] <= most:
        edges.append(float(max(edges[-1] + 1, round(2 ** ((_half_octave(edges[-1]) + 1) / 2)))))
    return tuple(edges)


def _half_octave(value: float) -> int:
    return round(2 * math.log2(value))


def around(bound: Bound, low: float, high: float, whole: bool) -> tuple[tuple[float, ...], bool]:
    """Edges for values from `low` to `high`, one of them the bound's threshold; and whether they are logarithmic.

    whole   the values are whole numbers

    The axis ends at three times the threshold, if values go far beyond it.
    """
    at = bound.threshold
    low, high = min(low, at), max(high, at)
    if whole and at >= LOG_FROM:
        down = min(14, max(1, math.ceil(2 * math.log2(at / max(low, 1.0)))))
        up = min(14, max(1, math.ceil(2 * math.log2(max(high, at) / at))))
        edges = [at * 2 ** (k / 2) for k in range(-down, up + 1)]
        return tuple([0.0] * (low < edges[0]) + edges), True
    high += whole
    if at > 0 and not (whole and high - low <= BINS):
        high = max(at, min(high, 3 * at))
    span = high - low
    least = 1e-9 * max(abs(at), 1.0)  # edges must differ
    width = 1.0 if whole and span <= 2 * BINS else max(span / BINS, least)
    if at - low > width / 2:  # so that the threshold is an edge: a whole number of bins below it
        width = (at - low) / max(1, round((at - low) / width))
    below = max(1, round((at - low) / width))
    above = max(1, math.ceil((high - at) / width - 1e-9))
    return tuple(at + k * width for k in range(-below, above + 1)), False


def count(values: NDArray[Any], edges: Sequence[float], closed: str) -> NDArray[np.int64]:
    """(bins,) how many values each bin holds; NaN is in none.

    closed   "left": [a, b), or "right": (a, b]. A value equal to a threshold must be on the side that passes.
    """
    values = values[~np.isnan(values)]
    inner = np.asarray(edges[1:-1], np.float64)
    place = np.searchsorted(inner, values, side="right" if closed == "left" else "left")
    return np.bincount(place, minlength=len(edges) - 1).astype(np.int64)


def closed_side(bound: Bound) -> str:
    """Which edge belongs to a bin, so that no bin holds values on both sides of the bound."""
    return "left" if bound.drops in ("<", ">=") else "right"
