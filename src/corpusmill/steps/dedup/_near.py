"""The stages of deduplication: group the keys, verify what met, decide, look up the twins.

    group     a unit a partition: who shares a key, compared by sketch with the leaders of the bucket -> candidates
    shingle   a unit a unit of documents: the n-gram hashes of its candidates, and of no other document
    decide    one unit: exact similarity of the candidates, survivors in document order -> verdicts

Only keys, sketches and the hashes of candidates are read; the text of candidates alone is read once, by `shingle`.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.keys import VERDICT, Signed, bases
from corpusmill.text.buckets import candidates, distinct, jaccard, shared, survivors
from corpusmill.text.fold import fold
from corpusmill.text.shingles import shingle_hashes
from corpusmill.units import Commit, Committed, Stage, Unit, UnitIO

Planner = Callable[[Committed, Path], list[Unit]]
RECORDS = 1 << 20  # keys that a unit groups, about, where one partition has fewer
CERTAIN = 3.5  # standard deviations of the sketch's estimate around the threshold that are checked exactly


def exact_stages(signed: Signed) -> list[Stage]:
    group, decide = f"{signed.label}-group", f"{signed.label}-verdicts"
    return [
        Stage(group, _print(signed, "group"), ExactGroup(), _after(signed), _partition_units(signed, 1)),
        Stage(
            decide, _print(signed, "decide"), ExactDecide(), (signed.stage, group), _decide_units(signed, group, None)
        ),
    ]


def near_stages(signed: Signed, ngram: int, bands: int, rows: int, threshold: float) -> list[Stage]:
    group, shingle, decide = f"{signed.label}-group", f"{signed.label}-shingles", f"{signed.label}-verdicts"
    spread = CERTAIN * float(np.sqrt(threshold * (1 - threshold) / (bands * rows)))
    grouping = NearGroup(low=max(threshold - spread, 0.0), high=min(threshold + spread, 1.0))

    def by_documents(done: Committed, _: Path) -> list[Unit]:
        base = bases(done[signed.stage], signed.output)
        edges = tuple(commit.outputs["edges"].path for commit in done[group])
        return [
            Unit(i, (commit.outputs["docs"].path, int(base[i]), int(base[i + 1]), edges))
            for i, commit in enumerate(done[signed.stage])
        ]

    return [
        Stage(group, _print(signed, "group"), grouping, _after(signed), _partition_units(signed, bands)),
        Stage(shingle, _print(signed, "shingle"), Shingle(ngram), (signed.stage, group), by_documents),
        Stage(
            decide,
            _print(signed, "decide"),
            NearDecide(threshold),
            (signed.stage, group, shingle),
            _decide_units(signed, group, shingle),
        ),
    ]


@dataclass(frozen=True)
class ExactGroup:
    """Unit inputs: partitions, key files with the number of their first document, verdict files to leave out."""

    def run(self, unit: Unit, io: UnitIO) -> None:
        edges = [self.edges(part) for part in _read_partitions(unit, io, "low")]
        earlier, later = (np.concatenate(side) for side in zip(*edges))
        io.write_arrays("edges", len(later), earlier=earlier, later=later)

    def edges(self, part: "_Partition") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first document of each set of copies, and each of the others."""
        bucket, buckets = shared(part.keys ^ part.rider * np.uint64(0x9E3779B97F4A7C15))
        rows = np.flatnonzero(bucket >= 0)
        first = np.full(buckets, -1, np.int64)
        twins = np.full(len(part.keys), -1, np.int64)
        for_bucket = bucket[rows]
        # Records stand in document order, so the first of each bucket is the earliest document.
        heads = rows[np.unique(for_bucket, return_index=True)[1]]
        first[bucket[heads]] = heads
        twins[rows] = first[for_bucket]
        same = (part.keys[rows] == part.keys[twins[rows]]) & (part.rider[rows] == part.rider[twins[rows]])
        copies = rows[same & (twins[rows] != rows)]
        return part.documents[twins[copies]], part.documents[copies]


@dataclass(frozen=True)
class ExactDecide:
    """Unit inputs: edge files, then for every unit of documents its file and the number of its first document."""

    def run(self, unit: Unit, io: UnitIO) -> None:
        edges, documents, _ = unit.inputs
        parts = [io.arrays(path) for path in edges]
        later = np.concatenate([part["later"] for part in parts])
        earlier = np.concatenate([part["earlier"] for part in parts])
        order = np.argsort(later, kind="stable")
        _write_verdicts(io, documents, later[order], earlier[order], np.ones(len(later)), "exact_copy")


@dataclass(frozen=True)
class NearGroup:
    """Unit inputs as for ExactGroup. `low` and `high` are shares of equal lanes, see `buckets.candidates`."""

    low: float
    high: float

    def run(self, unit: Unit, io: UnitIO) -> None:
        edges = [self.edges(part, unit, io) for part in _read_partitions(unit, io, None)]
        pairs = np.unique(np.concatenate(edges), axis=0)
        io.write_arrays("edges", len(pairs), earlier=pairs[:, 0], later=pairs[:, 1])

    def edges(self, part: "_Partition", unit: Unit, io: UnitIO) -> NDArray[np.int64]:
        """(pairs, 2) the candidates among the documents of a partition, the earlier one first."""
        bucket, buckets = shared(part.keys)
        met = np.flatnonzero(bucket >= 0)
        documents, at = np.unique(part.documents[met], return_inverse=True)
        sketches = _gather(io, unit, documents, "sketch")
        left, right, _ = candidates(bucket[met], buckets, at.astype(np.int64), sketches, self.low, self.high)
        return np.stack([part.documents[met[left]], part.documents[met[right]]], axis=1)


@dataclass(frozen=True)
class Shingle:
    """Unit inputs: a file of documents, the numbers of its first and last + 1 document, edge files."""

    ngram: int

    def run(self, unit: Unit, io: UnitIO) -> None:
        path, start, stop, edges = unit.inputs
        wanted = np.unique(
            np.concatenate([_within(io.arrays(e)[side], start, stop) for e in edges for side in ("earlier", "later")])
        )
        hashes: list[NDArray[np.uint64]] = []
        sizes: list[NDArray[np.int64]] = []
        row = start
        if len(wanted):
            for batch in io.parquet(path).iter_batches(1024, columns=["text"], use_threads=False):
                here = _within(wanted, row, row + len(batch)) - row
                if len(here):
                    texts = batch["text"].take(pa.array(here))
                    found, ends = distinct(*shingle_hashes(fold(texts), self.ngram))
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
class NearDecide:
    """Unit inputs: edge files, the documents (as for ExactDecide), shingle files."""

    threshold: float

    def run(self, unit: Unit, io: UnitIO) -> None:
        edges, documents, shingles = unit.inputs
        parts = [io.arrays(path) for path in edges]
        pairs = np.unique(
            np.stack(
                [np.concatenate([p["earlier"] for p in parts]), np.concatenate([p["later"] for p in parts])], axis=1
            ),
            axis=0,
        ).reshape(-1, 2)
        sets = [io.arrays(path) for path in shingles]
        known = np.concatenate([s["documents"] for s in sets])
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *[np.diff(s["offsets"]) for s in sets]]))
        hashes = np.concatenate([s["hashes"] for s in sets])
        earlier, later = np.searchsorted(known, pairs[:, 0]), np.searchsorted(known, pairs[:, 1])
        similarity = jaccard(earlier, later, hashes, ends)
        io.facts["candidates"] = len(pairs)
        twins = similarity >= self.threshold
        io.facts["verified"] = int(twins.sum())
        earlier, later, similarity = earlier[twins], later[twins], similarity[twins]
        twin = survivors(len(known), earlier, later, similarity)
        gone = np.flatnonzero(twin >= 0)
        # The similarity of a document with the twin that it goes for: the pair is among the verified ones.
        order = np.lexsort((earlier, later))
        keyed = later[order] * len(known) + earlier[order]
        found = order[np.searchsorted(keyed, gone * len(known) + twin[gone])]
        _write_verdicts(io, documents, known[gone], known[twin[gone]], similarity[found], "near_copy")


@dataclass(frozen=True)
class _Partition:
    keys: NDArray[np.uint64]
    documents: NDArray[np.int64]
    rider: NDArray[np.uint64]


def _read_partitions(unit: Unit, io: UnitIO, rider: str | None) -> Iterator[_Partition]:
    """The records of each partition from every key file, in document order, without what earlier verdicts drop."""
    partitions, files, verdicts = unit.inputs
    gone = [io.table(path, ["document"])["document"].to_numpy() for path in verdicts]
    for partition in range(*partitions):
        yield _read_partition(partition, files, gone, io, rider)


def _read_partition(
    partition: int, files: tuple[tuple[str, int], ...], gone: list[NDArray[np.int64]], io: UnitIO, rider: str | None
) -> _Partition:
    keys, documents, riders = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for path, base in files:
        arrays = io.arrays(path)
        start, stop = arrays["offsets"][partition : partition + 2]
        rows = arrays["row"][start:stop].astype(np.int64)
        keys.append(np.asarray(arrays["keys"][start:stop]))
        documents.append(rows + base)
        if rider:
            riders.append(np.asarray(arrays[rider])[rows])
    all_keys, all_documents = np.concatenate(keys), np.concatenate(documents)
    all_riders = np.concatenate(riders) if rider else np.empty(0, np.uint64)
    keep = np.ones(len(all_keys), bool)
    for dropped in gone:
        keep &= ~np.isin(all_documents, dropped)
    return _Partition(all_keys[keep], all_documents[keep], all_riders[keep] if rider else all_riders)


def _gather(io: UnitIO, unit: Unit, documents: NDArray[np.int64], name: str) -> NDArray[np.uint16]:
    """Rows of a per-document array from the key files, for sorted document numbers."""
    _, files, _ = unit.inputs
    rows = []
    for i, (path, base) in enumerate(files):
        stop = files[i + 1][1] if i + 1 < len(files) else None
        here = documents[np.searchsorted(documents, base) : None if stop is None else np.searchsorted(documents, stop)]
        rows.append(np.asarray(io.arrays(path)[name])[here - base])
    return np.concatenate(rows)


def _write_verdicts(
    io: UnitIO,
    units: tuple[tuple[str, int], ...],
    documents: NDArray[np.int64],
    twins: NDArray[np.int64],
    similarity: NDArray[np.float64],
    reason: str,
) -> None:
    """The verdicts, sorted by document, each with the id of its twin."""
    ids = np.empty(len(twins), object)
    for i, (path, base) in enumerate(units):
        here = (twins >= base) & (twins < (units[i + 1][1] if i + 1 < len(units) else np.iinfo(np.int64).max))
        if here.any():
            column = io.table(path, ["id"])["id"]
            ids[here] = column.take(pa.array(twins[here] - base)).to_pylist()
    io.write(
        "verdicts",
        pa.record_batch(
            [
                pa.array(documents),
                pa.array([reason] * len(documents), pa.string()),
                pa.array(twins),
                pa.array(ids.tolist(), pa.string()),
                pa.array(similarity, pa.float64()),
            ],
            schema=VERDICT,
        ),
    )


def _within(numbers: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    return numbers[(numbers >= start) & (numbers < stop)]


def _print(signed: Signed, name: str) -> str:
    return hashlib.sha256(f"{signed.fingerprint}\0{name}".encode()).hexdigest()


def _after(signed: Signed) -> tuple[str, ...]:
    return (signed.stage, *signed.excluded)


def _key_files(signed: Signed, commits: list[Commit]) -> tuple[tuple[str, int], ...]:
    base = bases(commits, signed.output)
    return tuple((commit.outputs[signed.output].path, int(base[i])) for i, commit in enumerate(commits))


def _partition_units(signed: Signed, bands: int) -> Planner:
    def units(done: Committed, _: Path) -> list[Unit]:
        files = _key_files(signed, done[signed.stage])
        verdicts = tuple(done[stage][0].outputs["verdicts"].path for stage in signed.excluded)
        # As many partitions to a unit as RECORDS allow: a small corpus is one unit, and not one a band.
        records = bases(done[signed.stage], signed.output)[-1] // signed.slices + 1
        together = max(1, min(RECORDS // int(records), bands * signed.slices))
        starts = range(0, bands * signed.slices, together)
        return [
            Unit(i, ((start, min(start + together, bands * signed.slices)), files, verdicts))
            for i, start in enumerate(starts)
        ]

    return units


def _decide_units(signed: Signed, group: str, shingle: str | None) -> Planner:
    def units(done: Committed, _: Path) -> list[Unit]:
        base = bases(done[signed.stage], signed.output)
        documents = tuple((c.outputs["docs"].path, int(base[i])) for i, c in enumerate(done[signed.stage]))
        edges = tuple(c.outputs["edges"].path for c in done[group])
        sets = tuple(c.outputs["shingles"].path for c in done[shingle]) if shingle else ()
        return [Unit(0, (edges, documents, sets))]

    return units
