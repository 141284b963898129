"""Histograms of a run: the lengths of its documents, the signals that rules judge, the similarities of duplicates.

All are sums of what the units of the passes have counted (`engine.pass_facts`): no document is read.
"""

import math
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.engine.work.bins import SIMILARITIES, edges_around
from corpusmill.engine.work.pass_facts import SIDES
from corpusmill.report.bins import Histogram
from corpusmill.report.figures.lengths import LENGTH_EDGES, lengths_of
from corpusmill.report.tables import RunTables
from corpusmill.steps.verdict import Bound


def lengths(tables: RunTables, unit: str) -> Histogram | None:
    """Documents by length, `kept` and `dropped`. None if nothing was measured, as tokens without a tokenizer, and of a
    run by a version that did not count them.

    unit   "tokens" or "bytes", of the text as it left the last pass that the document reached; tokens of a dropped one
           of the text that was dropped. One whose tokens were not counted is left out
    """
    counted = lengths_of(tables, unit)
    if not counted:
        return None
    counts = {side: counted[side].histogram for side in SIDES}
    histogram = Histogram(LENGTH_EDGES, counts, True, max(counted[side].most for side in SIDES))
    return histogram.trimmed() if histogram.total else None


def signals(tables: RunTables, reasons: Iterable[str] | None = None) -> dict[str, Histogram]:
    """reason -> the values of its signal among the documents that reached its step: those that `pass` the bound, and
    those that `fail` it. Nothing of a pass that has saved no signals of those that it dropped.

    reasons   those that have a bound; all of them if not given
    """
    histograms: dict[str, Histogram] = {}
    for reason in tables.bounds if reasons is None else reasons:
        for number, (stage, labels) in enumerate(tables.passes):
            counted = tables.files.facts(stage).get("signals", {})
            saved = tables.files.measure_dropped(number) != "none"
            if saved and reason.partition(".")[0] in labels and reason in counted:
                bound = tables.bounds[reason]
                edges, log = edges_around(bound, pa.types.is_integer(tables.columns(number)[bound.signal]))
                histograms[reason] = _split(bound, edges, log, _filled(counted[reason], len(edges) - 1))
    return histograms


def similarities(tables: RunTables, step: str) -> Histogram | None:
    """The documents that a corpus step drops or marks, by their similarity with the duplicate that is kept, 0 to 1.
    None if the step has no similarities, or found no duplicates."""
    for stage, _ in tables.passes:
        if counts := tables.files.facts(stage).get("similarities", {}).get(step):
            filled = _filled(counts, len(SIMILARITIES) - 1)
            return Histogram(SIMILARITIES, {"dropped": tuple(filled.tolist())}, False, 1.0).trimmed()
    return None


def _filled(counts: list[int], bins: int) -> NDArray[np.int64]:
    return np.array(counts + [0] * (bins - len(counts)), np.int64)


def _split(bound: Bound, edges: tuple[float, ...], log: bool, counts: NDArray[np.int64]) -> Histogram:
    """The counts on either side of a bound as two series; without empty bins at both ends, but for those beside it."""
    at = edges.index(bound.threshold)
    filled = np.flatnonzero(counts)
    first, last = (int(filled[0]), int(filled[-1])) if len(filled) else (at, at)
    low, high = max(min(first, at - 1), 0), min(max(last, at), len(counts) - 1)
    below, above = counts.copy(), counts.copy()
    below[at:], above[:at] = 0, 0
    failing, passing = (below, above) if bound.drops in ("<", "<=") else (above, below)
    series = {"pass": tuple(passing[low : high + 1].tolist()), "fail": tuple(failing[low : high + 1].tolist())}
    return Histogram(edges[low : high + 2], series, log, math.inf if counts[-1] else edges[-1])
