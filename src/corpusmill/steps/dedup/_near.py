"""The stages of near deduplication: group the keys, verify the candidate pairs, decide.

    group     a unit is a few partitions: who shares a key, compared by sketch with the leaders of the bucket
    shingles  a unit is a file of documents: the n-gram hashes of its candidates, and of no other document
    verdicts  one unit: exact similarity of the candidate pairs, survivors in order of preference

Only keys, sketches and the hashes of candidates are read; the text of candidates alone is read once, by `shingles`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.keys import KeyStage
from corpusmill.steps.corpus import (
    DocumentFile,
    Everything,
    KeyFiles,
    Partition,
    PartitionRange,
    after,
    against_stages,
    by_document,
    digest,
    documents_content,
    is_ranked,
    key_files,
    keys_content,
    partition_ranges,
    partitions,
    preference,
    write_duplicates,
)
from corpusmill.text.buckets import candidates, distinct, jaccard, shared, survivors, take_sets
from corpusmill.text.shingles import Shingling
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned, Resources, Stage

CERTAIN = 3.5  # standard deviations of the sketch's estimate around the threshold that are checked exactly
HASHES = 1 << 20  # n-gram hashes of candidates that are in memory at a time, about
PAIRS = 1 << 20  # pairs that are read before duplicates among them are removed


def near_stages(
    keys: KeyStage, shingling: Shingling, bands: int, rows: int, threshold: float, mark: bool
) -> list[Stage]:
    group, shingles = f"{keys.label}-group", f"{keys.label}-shingles"
    spread = CERTAIN * float(np.sqrt(threshold * (1 - threshold) / (bands * rows)))
    groups = MinhashGroups(keys, low=max(threshold - spread, 0.0), high=min(threshold + spread, 1.0))

    def by_documents(upstream: Upstream) -> list[Planned]:
        pairs = digest(upstream.results(group)["pairs"])
        starts = key_files(keys, upstream).starts.tolist()  # the hashes are written with the numbers of documents
        numbers = range(len(starts) - 1)
        content = (documents_content(keys, upstream, i) for i in numbers)
        return [Planned(DocumentFile(i), (text, pairs, f"{i}:{starts[i]}")) for i, text in zip(numbers, content)]

    def one_unit(upstream: Upstream) -> list[Planned]:
        documents = digest(upstream.results(keys.stage)["docs"])
        compared = (digest(upstream.results(group)["pairs"]), digest(upstream.results(shingles)["shingles"]))
        return [Planned(Everything(), (*keys_content(keys, upstream), documents, *compared))]

    verdicts = MinhashVerdicts(keys, threshold, mark)
    return [
        *against_stages(keys),
        Stage(group, groups, after(keys), partition_ranges(keys, bands)),
        Stage(shingles, MinhashShingles(keys, shingling), after(keys, group), by_documents),
        Stage(f"{keys.label}-verdicts", verdicts, after(keys, group, shingles), one_unit, Resources(grows=True)),
    ]


@dataclass(frozen=True)
class MinhashGroups:
    """`low` and `high` are shares of equal lanes, see `buckets.candidates`."""

    keys: KeyStage
    low: float
    high: float

    def run(self, inputs: PartitionRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        parts = partitions(inputs, files, io)
        pairs = _distinct_rows(np.concatenate([self.pairs(part, files, io) for part in parts]))
        io.write_arrays(
            "pairs", len(pairs), one=pairs[:, 0], other=pairs[:, 1], documents=_sorted_distinct(pairs.ravel())
        )

    def pairs(self, part: Partition, files: KeyFiles, io: UnitIO) -> NDArray[np.int64]:
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
class MinhashShingles:
    keys: KeyStage
    shingling: Shingling

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        start, stop = files.starts[inputs.number : inputs.number + 2].tolist()
        pairs = io.results(f"{self.keys.label}-group")["pairs"].paths.to_pylist()
        wanted = _sorted_distinct(
            np.concatenate([_within(io.arrays(file)["documents"], start, stop) for file in pairs])
        )
        hashes: list[NDArray[np.uint64]] = []
        sizes: list[NDArray[np.int64]] = []
        row = start
        if len(wanted):
            path = files.docs[inputs.number]
            for batch in io.parquet(path).iter_batches(1024, columns=["text"], use_threads=False):
                here = _within(wanted, row, row + len(batch)) - row
                if len(here):
                    grams, ends = distinct(*self.shingling.hashes(batch["text"].take(pa.array(here))))
                    hashes.append(grams)
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
class MinhashVerdicts:
    keys: KeyStage
    threshold: float
    mark: bool

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        write_duplicates(io, files, *self.duplicates(io, files), "near_copy", self.mark)

    def duplicates(
        self, io: UnitIO, files: KeyFiles
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The duplicates, the documents that are kept instead, and how alike they are."""
        label = self.keys.label
        sets = Sets.open(io, io.results(f"{label}-shingles")["shingles"].paths.to_pylist())
        documents = sets.documents
        pairs = _candidate_pairs(io, io.results(f"{label}-group")["pairs"].paths.to_pylist(), documents)
        similarity = sets.jaccard(pairs)
        place = preference(io, files, documents).astype(np.int32) if is_ranked(io, files) else None
        io.facts["candidates"], io.facts["verified"] = len(pairs), int((similarity >= self.threshold).sum())
        while True:
            kept_for, alike = self.decide(len(documents), pairs, similarity, place)
            # One that resembles a duplicate may resemble what that is a duplicate of, which it was not compared with.
            dropped = kept_for >= 0
            one, other = (dropped[pairs[:, side]] & (similarity >= self.threshold) for side in (0, 1))
            through = np.flatnonzero(one & ~other), np.flatnonzero(other & ~one)
            more = np.concatenate(
                [
                    np.stack([pairs[which, 1 - side], kept_for[pairs[which, side]]], axis=1)
                    for side, which in enumerate(through)
                ]
            )
            more.sort(axis=1)
            more = _distinct_rows(more[more[:, 0] != more[:, 1]])
            more = more[documents[more[:, 1]] >= files.own]
            more = _without(more, pairs) if len(more) else more  # which sorts all that are known
            if not len(more):
                break
            io.facts["through_duplicates"] = io.facts.get("through_duplicates", 0) + len(more)
            pairs, similarity = np.concatenate([pairs, more]), np.concatenate([similarity, sets.jaccard(more)])
        duplicates = np.flatnonzero(kept_for >= 0)
        return documents[duplicates], documents[kept_for[duplicates]], alike[duplicates]

    def decide(
        self, documents: int, pairs: NDArray[np.int32], similarity: NDArray[np.float64], place: NDArray[np.int32] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """(documents,) what each is a duplicate of, -1 where it is kept, and how alike they are.

        place   (documents,) of each in the order in which they are preferred; None: the earlier is
        """
        alike = similarity >= self.threshold  # a byte per pair, where their numbers would be eight
        if place is None:
            return survivors(documents, pairs[alike, 0], pairs[alike, 1], similarity[alike])
        one, other = place[pairs[alike, 0]], place[pairs[alike, 1]]
        kept_for, how = survivors(documents, np.minimum(one, other), np.maximum(one, other), similarity[alike])
        dropped = np.flatnonzero(kept_for[place] >= 0)
        back = np.empty(len(place), np.int32)
        back[place] = np.arange(len(place), dtype=np.int32)  # place -> document
        duplicate_of = np.full(len(place), -1, np.int32)
        duplicate_of[dropped] = back[kept_for[place[dropped]]]
        return duplicate_of, how[place]


class Sets(NamedTuple):
    """The distinct n-gram hashes of all candidates, in files: what is read of them is given back at once.

    documents   (candidates,) their numbers, rising
    sizes       (candidates,) int32: of their sets
    first       (files + 1,) index of each file's first candidate
    """

    io: UnitIO
    files: Sequence[str]
    documents: NDArray[np.int64]
    sizes: NDArray[np.int32]
    first: NDArray[np.int64]

    @staticmethod
    def open(io: UnitIO, files: Sequence[str]) -> "Sets":
        first = np.cumsum([0, *(len(io.arrays(path)["documents"]) for path in files)])
        documents, sizes = np.empty(first[-1], np.int64), np.empty(first[-1], np.int32)
        for path, start, end in zip(files, first, first[1:]):
            arrays = io.arrays(path)
            documents[start:end], sizes[start:end] = arrays["documents"], np.diff(arrays["offsets"])
        return Sets(io, files, documents, sizes, first)

    def jaccard(self, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
        """(pairs,) the exact similarity of pairs of candidates, which are given by index and rise, with HASHES in
        memory.

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
            wanted = _sorted_distinct(block.ravel())
            hashes, offsets = self.gather(wanted)
            one, other = (np.searchsorted(wanted, block[:, side]) for side in (0, 1))
            exact = jaccard(one, other, hashes, offsets)
            exact[(self.sizes[block] == 0).any(axis=1)] = 0
            similarity[first:stop] = exact
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


def _candidate_pairs(io: UnitIO, files: Sequence[str], documents: NDArray[np.int64]) -> NDArray[np.int32]:
    """(pairs, 2) all pairs of some files, as indices into the sorted documents, rising and distinct.

    A pair may be in as many files as there are bands, so repeats are removed before all files are read.
    """
    packed = np.empty(0, np.uint64)
    waiting: list[NDArray[np.uint64]] = []
    for path in files:
        arrays = io.arrays(path)
        one, other = (np.searchsorted(documents, arrays[side]).astype(np.uint64) for side in ("one", "other"))
        waiting.append(one << np.uint64(32) | other)
        if sum(map(len, waiting)) > max(PAIRS, len(packed) // 2):
            packed = _sorted_distinct(np.concatenate([packed, *waiting]))
            waiting = []
    packed = _sorted_distinct(np.concatenate([packed, *waiting]))
    del waiting
    pairs = np.empty((len(packed), 2), np.int32)
    pairs[:, 0] = packed >> np.uint64(32)
    pairs[:, 1] = packed & np.uint64(0xFFFFFFFF)
    return pairs


def _without(pairs: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int32]:
    """The pairs that are not among the others. (np.isin hashes, see below.)"""
    one, known = (np.ascontiguousarray(both).view(np.int64).ravel() for both in (pairs, others))
    known = np.append(np.sort(known), -1)  # which is no pair
    new: NDArray[np.bool_] = known[np.searchsorted(known[:-1], one)] != one
    return pairs[new]


def _sorted_distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Sorted and distinct, as by np.unique, which hashes (numpy 2.3 and later): 10 times slower on millions."""
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
