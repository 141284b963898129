"""Precision and recall of a pass by the marks of a review.

A round draws as many documents that a pass dropped as it kept, where there are enough, so shares among marks are not
those of the pass. Each side is a sample of its own here, and represents all documents of its side.
"""

import math
from dataclasses import dataclass
from typing import Any

from corpusmill.report.figures.sampled import Share

Interval = tuple[float, float]


@dataclass(frozen=True)
class Side:
    """What a pass kept, or what it dropped.

    documents   of this side, in the whole run
    marked      of these, those with a mark that is not "unsure"
    good        of these, those marked "keep"
    """

    documents: int
    marked: int
    good: int

    @property
    def share(self) -> Share:
        """Good documents of those marked; no sample where all have a mark."""
        return Share(self.good, self.marked, sampled=self.marked < self.documents)


@dataclass(frozen=True)
class Accuracy:
    """How right a pass was, if the marks are right.

    precision   the share of good documents in what it kept
    recall      the share of the good documents that it kept

    Both with their intervals at 95 %; None where a side that they need has no mark, or no good document was found.
    """

    stage: str
    kept: Side
    dropped: Side

    @property
    def precision(self) -> tuple[float, Interval] | None:
        return (self.kept.share.value, self.kept.share.interval) if self.kept.marked else None

    @property
    def recall(self) -> tuple[float, Interval] | None:
        """Good documents of either side are its good share times its documents. The interval follows from that of the
        ratio of both shares: Wilson's of each, combined as Newcombe's MOVER-R (2016, doi:10.1177/0962280213502144)."""
        if not self.dropped.documents and self.kept.good:
            return 1.0, (1.0, 1.0)
        if not self.kept.marked or not self.dropped.marked or not self.kept.good + self.dropped.good:
            return None
        kept, dropped = self.kept.share, self.dropped.share
        ratio = dropped.value / kept.value if kept.value else math.inf
        low, high = ratio_interval(dropped, kept)
        return self._recall(ratio), (self._recall(high), self._recall(low))

    def _recall(self, ratio: float) -> float:
        """By the ratio of the good share of what was dropped to that of what was kept."""
        return 1 / (1 + ratio * self.dropped.documents / self.kept.documents)

    def to_json(self) -> dict[str, Any]:
        sides = {"kept": self.kept, "dropped": self.dropped}
        counts = {name: {"documents": s.documents, "marked": s.marked, "good": s.good} for name, s in sides.items()}
        measured = {"precision": self.precision, "recall": self.recall}
        values = {name: value and {"value": value[0], "interval": list(value[1])} for name, value in measured.items()}
        return {"stage": self.stage, **counts, **values}


def ratio_interval(above: Share, below: Share) -> Interval:
    """The interval at 95 % of the ratio of two shares that are measured on samples of their own, by MOVER-R.

    >>> low, high = ratio_interval(Share(10, 100), Share(80, 100))
    >>> round(low, 3), round(high, 3)
    (0.069, 0.221)
    """
    (low, high), (low_below, high_below) = above.interval, below.interval
    product = above.value * below.value
    # The lower bound as its source has it, times (product + root) above and below: nothing is divided by zero.
    start = low * (2 * above.value - low)
    root = _root(product**2 - start * high_below * (2 * below.value - high_below))
    least = start / (product + root) if start else 0.0
    end = low_below * (2 * below.value - low_below)
    root = _root(product**2 - high * (2 * above.value - high) * end)
    return least, (product + root) / end if end else math.inf


def _root(value: float) -> float:
    return math.sqrt(max(value, 0.0))  # of what is no sample it is 0, but for rounding
