"""The stages of exact deduplication.

group     a unit a few partitions: the copies of each key, and the one of them that stays
verdicts  one unit: all of them by document
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpusmill.keys import Signed
from corpusmill.steps.dedup._records import (
    Files,
    Partition,
    after,
    against_stages,
    files_of,
    fingerprint,
    partition_units,
    partitions,
    places,
    write_twins,
)
from corpusmill.text.buckets import shared
from corpusmill.units import Committed, Stage, Unit, UnitIO


def exact_stages(signed: Signed, reason: str, ranked: bool, mark: bool) -> list[Stage]:
    """Stages for keys of one band, with the rider `low`: the other half of a 128-bit hash.

    reason   why copies go
    ranked   the keys have a `rank`
    mark     copies are noted and stay
    """
    group, decide = f"{signed.label}-group", f"{signed.label}-verdicts"

    def one_unit(done: Committed, root: Path) -> list[Unit]:
        return [Unit(0, (tuple(commit.outputs["twins"].path for commit in done[group]), files_of(signed, done)))]

    return [
        *against_stages(signed),
        Stage(group, fingerprint(signed, "group"), Group(ranked), after(signed), partition_units(signed, 1)),
        Stage(decide, fingerprint(signed, "decide"), Decide(reason, mark), after(signed, group), one_unit),
    ]


@dataclass(frozen=True)
class Group:
    """Unit inputs: first and last + 1 partition, files."""

    ranked: bool

    def run(self, unit: Unit, io: UnitIO) -> None:
        files = Files(*unit.inputs[2])
        columns = ("rank",) if self.ranked else ()
        found = [self.twins(part, files.own) for part in partitions(unit, io, ("low",), columns)]
        twins, documents = (np.concatenate(side) for side in zip(*found))
        io.write_arrays("twins", len(documents), twins=twins, documents=documents)

    def twins(self, part: Partition, own: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of every copy the document that stays instead, and the copy."""
        low = part.riders["low"].astype(np.uint64)
        bucket, _ = shared(part.keys ^ low * np.uint64(0x9E3779B97F4A7C15))
        rows = np.flatnonzero(bucket >= 0)
        documents, bucket = part.documents[rows], bucket[rows]
        rank = part.riders["rank"][rows] if self.ranked else np.zeros(len(rows))
        order = np.lexsort((places(documents, rank, own), bucket))
        heads = order[np.unique(bucket[order], return_index=True)[1]]
        head = heads[bucket] if len(heads) else heads
        same = (part.keys[rows] == part.keys[rows][head]) & (low[rows] == low[rows][head])
        goes = same & (documents != documents[head]) & (documents >= own)
        return documents[head][goes], documents[goes]


@dataclass(frozen=True)
class Decide:
    """Unit inputs: files of twins, files."""

    reason: str
    mark: bool

    def run(self, unit: Unit, io: UnitIO) -> None:
        parts = [io.arrays(path) for path in unit.inputs[0]]
        documents = np.concatenate([part["documents"] for part in parts])
        twins = np.concatenate([part["twins"] for part in parts])
        order = np.argsort(documents, kind="stable")
        alike = np.ones(len(documents))
        write_twins(io, Files(*unit.inputs[1]), documents[order], twins[order], alike, self.reason, self.mark)
