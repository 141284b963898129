"""The stages of near deduplication: group the keys, verify what met, decide.

    group     a unit a few partitions: who shares a key, compared by sketch with the leaders of the bucket -> candidates
    shingles  a unit a unit of documents: the n-gram hashes of its candidates, and of no other document
    verdicts  one unit: exact similarity of the candidates, survivors in order of preference

Only keys, sketches and the hashes of candidates are read; the text of candidates alone is read once, by `shingles`.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.keys import Signed
from corpusmill.memory import frugal
from corpusmill.steps.dedup._records import (
    Files,
    Partition,
    after,
    against_stages,
    by_document,
    files_of,
    fingerprint,
    is_ranked,
    partition_units,
    partitions,
    preference,
    write_twins,
)
from corpusmill.text.buckets import candidates, distinct, jaccard, shared, survivors, take_sets
from corpusmill.text.shingles import Shingling
from corpusmill.units import Committed, Stage, Unit, UnitIO

CERTAIN = 3.5  # standard deviations of the sketch's estimate around the threshold that are checked exactly
HASHES = 1 << 20  # n-gram hashes of candidates that are in memory at a time, about
PAIRS = 1 << 20  # pairs that are read before doubles among them go


def near_stages(
    signed: Signed, shingling: Shingling, bands: int, rows: int, threshold: float, mark: bool
) -> list[Stage]:
    group, shingle, decide = f"{signed.label}-group", f"{signed.label}-shingles", f"{signed.label}-verdicts"
    spread = CERTAIN * float(np.sqrt(threshold * (1 - threshold) / (bands * rows)))
    grouping = Group(low=max(threshold - spread, 0.0), high=min(threshold + spread, 1.0))

    def by_documents(done: Committed, root: Path) -> list[Unit]:
        files = files_of(signed, done)
        pairs = tuple(commit.outputs["pairs"].path for commit in done[group])
        return [Unit(i, (docs, *files.bases[i : i + 2], pairs)) for i, docs in enumerate(files.docs)]

    def one_unit(done: Committed, root: Path) -> list[Unit]:
        pairs = tuple(commit.outputs["pairs"].path for commit in done[group])
        sets = tuple(commit.outputs["shingles"].path for commit in done[shingle])
        return [Unit(0, (pairs, sets, files_of(signed, done)))]

    return [
        *against_stages(signed),
        Stage(group, fingerprint(signed, "group"), grouping, after(signed), partition_units(signed, bands)),
        Stage(shingle, fingerprint(signed, "shingle"), Shingle(shingling), after(signed, group), by_documents),
        Stage(decide, fingerprint(signed, "decide"), Decide(threshold, mark), after(signed, group, shingle), one_unit),
    ]


@dataclass(frozen=True)
class Group:
    """Unit inputs: first and last + 1 partition, files. `low` and `high` are shares of equal lanes, see
    `buckets.candidates`."""

    low: float
    high: float

    def run(self, unit: Unit, io: UnitIO) -> None:
        files = Files(*unit.inputs[2])
        pairs = _distinct_rows(np.concatenate([self.pairs(part, files, io) for part in partitions(unit, io)]))
        io.write_arrays(
            "pairs", len(pairs), one=pairs[:, 0], other=pairs[:, 1], documents=_without_doubles(pairs.ravel())
        )

    def pairs(self, part: Partition, files: Files, io: UnitIO) -> NDArray[np.int64]:
        """(pairs, 2) the candidates among the documents of a partition, the one with the smaller number first."""
        bucket, buckets = shared(part.keys)
        met = np.flatnonzero(bucket >= 0)
        documents, at = np.unique(part.documents[met], return_inverse=True)
        preferred = preference(io, files, documents)
        order = np.argsort(preferred[at], kind="stable")
        met, at = met[order], at[order]
        sketches = by_document(io, files, documents, "sketch")
        left, right, _ = candidates(bucket[met], buckets, at.astype(np.int64), sketches, self.low, self.high)
        pairs = np.stack([documents[at[left]], documents[at[right]]], axis=1)
        pairs.sort(axis=1)
        return pairs[pairs[:, 1] >= files.own]  # what earlier runs kept is settled


@dataclass(frozen=True)
class Shingle:
    """Unit inputs: a file of documents, the numbers of its first and last + 1 document, files of pairs."""

    shingling: Shingling

    def run(self, unit: Unit, io: UnitIO) -> None:
        path, start, stop, pairs = unit.inputs
        wanted = _without_doubles(
            np.concatenate([_within(io.arrays(file)["documents"], start, stop) for file in pairs])
        )
        hashes: list[NDArray[np.uint64]] = []
        sizes: list[NDArray[np.int64]] = []
        row = start
        if len(wanted):
            for batch in io.parquet(path).iter_batches(1024, columns=["text"], use_threads=False):
                here = _within(wanted, row, row + len(batch)) - row
                if len(here):
                    found, ends = distinct(*self.shingling.hashes(batch["text"].take(pa.array(here))))
                    hashes.append(found)
                    sizes.append(np.diff(ends))
                row += len(batch)
        io.write_arrays(
            "shingles",
            len(wanted),
            documents=wanted,
            offsets=np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])),
            hashes=np.concatenate([np.empty(0, np.uint64), *hashes]),
        )


@dataclass(frozen=True)
class Decide:
    """Unit inputs: files of pairs, files of shingles, files."""

    threshold: float
    mark: bool

    def run(self, unit: Unit, io: UnitIO) -> None:
        files = Files(*unit.inputs[2])
        with frugal():
            write_twins(io, files, *self.twins(unit, io, files), "near_copy", self.mark)

    def twins(
        self, unit: Unit, io: UnitIO, files: Files
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The documents that go, those that they go for, and how alike they are."""
        sets = Sets.open(io, unit.inputs[1])
        documents = sets.documents
        pairs = _met(io, unit.inputs[0], documents)
        similarity = sets.jaccard(pairs)
        place = preference(io, files, documents).astype(np.int32) if is_ranked(io, files) else None
        io.facts["candidates"], io.facts["verified"] = len(pairs), int((similarity >= self.threshold).sum())
        while True:
            twin, alike = self.decide(len(documents), pairs, similarity, place)
            # One whose twin goes may be like the document that its twin goes for, which it was not compared with.
            goes = twin >= 0
            one, other = (goes[pairs[:, side]] & (similarity >= self.threshold) for side in (0, 1))
            through = np.flatnonzero(one & ~other), np.flatnonzero(other & ~one)
            more = np.concatenate(
                [
                    np.stack([pairs[which, 1 - side], twin[pairs[which, side]]], axis=1)
                    for side, which in enumerate(through)
                ]
            )
            more.sort(axis=1)
            more = _without(_distinct_rows(more[more[:, 0] != more[:, 1]]), pairs)
            more = more[documents[more[:, 1]] >= files.own]
            if not len(more):
                break
            io.facts["through_twins"] = io.facts.get("through_twins", 0) + len(more)
            pairs, similarity = np.concatenate([pairs, more]), np.concatenate([similarity, sets.jaccard(more)])
        gone = np.flatnonzero(twin >= 0)
        return documents[gone], documents[twin[gone]], alike[gone]

    def decide(
        self, documents: int, pairs: NDArray[np.int32], similarity: NDArray[np.float64], place: NDArray[np.int32] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """(documents,) the twin that each goes for, -1 where it stays, and how alike they are.

        place   (documents,) of each in the order in which they are preferred; None: the earlier is
        """
        alike = np.flatnonzero(similarity >= self.threshold)
        if place is None:
            return survivors(documents, pairs[alike, 0], pairs[alike, 1], similarity[alike])
        one, other = place[pairs[alike, 0]], place[pairs[alike, 1]]
        twin, how = survivors(documents, np.minimum(one, other), np.maximum(one, other), similarity[alike])
        gone = np.flatnonzero(twin[place] >= 0)
        back = np.empty(len(place), np.int32)
        back[place] = np.arange(len(place), dtype=np.int32)  # place -> document
        twins = np.full(len(place), -1, np.int32)
        twins[gone] = back[twin[place[gone]]]
        return twins, how[place]


class Sets(NamedTuple):
    """The distinct n-gram hashes of all candidates, in files: what is read of them is given back at once.

    documents   (candidates,) their numbers, rising
    sizes       (candidates,) int32: of their sets
    first       (files + 1,) index of each file's first candidate
    """

    io: UnitIO
    files: tuple[str, ...]
    documents: NDArray[np.int64]
    sizes: NDArray[np.int32]
    first: NDArray[np.int64]

    @staticmethod
    def open(io: UnitIO, files: tuple[str, ...]) -> "Sets":
        first = np.cumsum([0, *(len(io.arrays(path)["documents"]) for path in files)])
        documents, sizes = np.empty(first[-1], np.int64), np.empty(first[-1], np.int32)
        for path, start, end in zip(files, first, first[1:]):
            arrays = io.arrays(path)
            documents[start:end], sizes[start:end] = arrays["documents"], np.diff(arrays["offsets"])
        return Sets(io, files, documents, sizes, first)

    def jaccard(self, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
        """(pairs,) the exact similarity of pairs of candidates, which are given by index and rise, with HASHES in memory.

        A document without n-grams is like none: it can only have met itself, read again in a later run.
        """
        similarity = np.zeros(len(pairs))
        # A block's sets are at most those of both sides of its pairs.
        ends = np.cumsum(self.sizes[pairs[:, 0]], dtype=np.int64)
        ends += np.cumsum(self.sizes[pairs[:, 1]], dtype=np.int64)
        cuts = np.searchsorted(ends, np.arange(HASHES, ends[-1] if len(pairs) else 0, HASHES))
        del ends
        for first, stop in pairwise(np.unique([0, *cuts.tolist(), len(pairs)]).tolist()):
            block = pairs[first:stop]
            wanted = _without_doubles(block.ravel())
            hashes, offsets = self.gather(wanted)
            one, other = (np.searchsorted(wanted, block[:, side]) for side in (0, 1))
            found = jaccard(one, other, hashes, offsets)
            found[(self.sizes[block] == 0).any(axis=1)] = 0
            similarity[first:stop] = found
        return similarity

    def gather(self, wanted: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The sets of some candidates, by rising index."""
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), self.sizes[wanted]]))
        hashes = np.empty(offsets[-1], np.uint64)
        for path, base, end in zip(self.files, self.first, self.first[1:]):
            first, stop = np.searchsorted(wanted, [base, end])
            if first < stop:
                file = self.io.arrays(path)
                take_sets(file["hashes"], file["offsets"], wanted[first:stop] - base, offsets[first : stop + 1], hashes)
        return hashes, offsets


def _met(io: UnitIO, files: tuple[str, ...], documents: NDArray[np.int64]) -> NDArray[np.int32]:
    """(pairs, 2) all pairs of some files, as indices into the sorted documents, rising and distinct.

    A pair may be in as many files as there are bands, so doubles go before all files are read.
    """
    found = np.empty(0, np.uint64)
    waiting: list[NDArray[np.uint64]] = []
    for path in files:
        arrays = io.arrays(path)
        one, other = (np.searchsorted(documents, arrays[side]).astype(np.uint64) for side in ("one", "other"))
        waiting.append(one << np.uint64(32) | other)
        if sum(map(len, waiting)) > max(PAIRS, len(found) // 2):
            found = _without_doubles(np.concatenate([found, *waiting]))
            waiting = []
    found = _without_doubles(np.concatenate([found, *waiting]))
    del waiting
    pairs = np.empty((len(found), 2), np.int32)
    pairs[:, 0] = found >> np.uint64(32)
    pairs[:, 1] = found & np.uint64(0xFFFFFFFF)
    return pairs


def _without(pairs: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int32]:
    """The pairs that are not among the others. (np.isin hashes, see below.)"""
    one, known = (np.ascontiguousarray(both).view(np.int64).ravel() for both in (pairs, others))
    known = np.append(np.sort(known), -1)  # which is no pair
    new: NDArray[np.bool_] = known[np.searchsorted(known[:-1], one)] != one
    return pairs[new]


def _without_doubles(numbers: NDArray[Any]) -> NDArray[Any]:
    """Sorted and without doubles, as by np.unique, which hashes (numpy 2.3 and later): 10 times slower on millions."""
    numbers = np.sort(numbers)
    new = np.ones(len(numbers), bool)
    new[1:] = numbers[1:] != numbers[:-1]
    return numbers[new]


def _distinct_rows(pairs: NDArray[Any]) -> NDArray[Any]:
    """The same of (pairs, 2), as by np.unique along an axis, which compares rows as bytes."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[new]


def _within(numbers: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Those of some sorted numbers."""
    first, last = np.searchsorted(numbers, [start, stop])
    return numbers[first:last]
