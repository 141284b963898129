"""How long documents are, from what units have counted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corpusmill.engine.work.pass_facts import NOTE, SIDES, UNITS
from corpusmill.engine.work.text_facts import LENGTHS, PER_OCTAVE
from corpusmill.report.tables import RunTables
from corpusmill.store.facts import Facts, total

# For charts: half octaves. Each is an edge of LENGTHS too, so that no bin is split.
BIN_STARTS = np.unique(np.concatenate([LENGTHS[LENGTHS < 4], LENGTHS[LENGTHS >= 4][:: PER_OCTAVE // 2]]))
LENGTH_EDGES: tuple[float, ...] = (*BIN_STARTS.astype(float).tolist(), 2.0 * float(BIN_STARTS[-1]))


@dataclass(frozen=True)
class Length:
    """How long documents are in one unit.

    median      interpolated in bins of an eighth of an octave, so at most 9 % off and mostly below 1 %
    least       and `most`: 0 of no documents
    histogram   bin -> documents, by EDGES
    """

    documents: int
    total: int
    median: float
    least: int
    most: int
    histogram: tuple[int, ...]

    @property
    def mean(self) -> float:
        return self.total / max(self.documents, 1)


def length(documents: int, total: int, by: Mapping[int, int], minimum: int, maximum: int) -> Length:
    """by   bin of LENGTHS -> documents"""
    counts = np.zeros(len(BIN_STARTS), np.int64)
    np.add.at(counts, np.searchsorted(BIN_STARTS, LENGTHS[list(by)], "right") - 1, list(by.values()))
    return Length(documents, total, _median(by, minimum, maximum), minimum, maximum, tuple(counts.tolist()))


def lengths_of(tables: RunTables, unit: str) -> dict[str, Length]:
    """ "kept", "dropped" and "all" documents. Empty if nothing was measured, or by a version that did not count.

    unit   "tokens" or "bytes", of the text as it left the last pass that the document reached
    """
    facts: dict[str, list[Facts]] = {side: [] for side in SIDES}
    ends: dict[str, list[int]] = {side: [] for side in SIDES}
    for number, (stage, _) in enumerate(tables.passes):
        counted = tables.files.facts(stage).get("lengths", {}).get(unit)
        if counted is None:
            return {}
        notes = np.array([note.split(",") for note in tables.files.stages[stage].notes[NOTE]], np.int64)
        own = notes.reshape(-1, len(UNITS), len(SIDES), 2)[:, UNITS.index(unit)]
        for i, side in enumerate(SIDES):
            if side == "dropped" or number == len(tables.passes) - 1:  # else they are counted in a later pass
                facts[side].append(counted[side])
                ends[side] += own[:, i].ravel().tolist()
    facts["all"], ends["all"] = [part for side in SIDES for part in facts[side]], ends["kept"] + ends["dropped"]
    lengths = {}
    for side, parts in facts.items():
        combined, recorded = total(parts), [end for end in ends[side] if end >= 0]
        by = {at: times for at, times in enumerate(combined["bins"]) if times}
        lengths[side] = length(
            combined["documents"], combined["total"], by, min(recorded, default=0), max(recorded, default=0)
        )
    return lengths if lengths["all"].documents else {}


def _median(by: Mapping[int, int], minimum: int, maximum: int) -> float:
    """The median of values of which the bins are known: within its bin they are taken to be spread evenly."""
    middle = sum(by.values()) / 2
    below = 0
    for at in sorted(by):
        if below + by[at] >= middle:
            low = max(int(LENGTHS[at]), minimum)
            high = min(int(LENGTHS[at + 1]) - 1, maximum) if at + 1 < len(LENGTHS) else maximum
            return low + (high - low) * (middle - below) / by[at]
        below += by[at]
    return 0.0
