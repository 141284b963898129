"""Histograms. Those of signals have the edges of `engine.bins`, of which a threshold is one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corpusmill.report.numbers import short


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

    @property
    def is_open(self) -> bool:
        """Whether the last bin also holds values above its edge."""
        return self.most > self.edges[-1]

    def words(self, i: int) -> str:
        """A bin: `64 to 91`, or `23,170 or more` for a last one that also holds larger values."""
        low, high = self.edges[i], self.edges[i + 1]
        if i == len(self.edges) - 2 and self.is_open:
            return f"{short(low)} or more"
        return f"{short(low)} to {short(high)}"

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


def octaves(limit: float = 2.0**50) -> tuple[float, ...]:
    """0, 1 and then two bins per octave, in whole numbers: 0, 1, 2, 3, 4, 6, 8, 11, 16, … past `limit`."""
    edges = [0.0, 1.0]
    while edges[-1] <= limit:
        edges.append(float(max(edges[-1] + 1, round(2 ** ((_half_octave(edges[-1]) + 1) / 2)))))
    return tuple(edges)


def _half_octave(value: float) -> int:
    return round(2 * math.log2(value))
