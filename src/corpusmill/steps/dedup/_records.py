"""The records that keys make of documents: read by partition, with the documents that they belong to; and verdicts.

Documents are numbered: first those of earlier runs that a step compares with (`Signed.earlier`), then those of this run,
in the order of units and rows. The smaller number is the earlier document.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.keys import ADDRESS, TWINS, Signed, stayed
from corpusmill.units import Committed, Stage, Unit, UnitIO

Planner = Callable[[Committed, Path], list[Unit]]
RECORDS = 1 << 20  # keys that a unit groups, about, where one partition has fewer
ROWS = 1 << 14  # verdicts that are made ready at a time


class Files(NamedTuple):
    """All key files of a step, as a unit is given them.

    keys, docs  paths, in order
    bases       the number of the first document of each, and in the end of how many there are
    own         the number of the first document of this run
    gone        tables of documents that are not there: verdicts of steps before this one (numbered from the first
                document of this run), and arrays of documents that earlier runs did not keep
    slices      partitions a band
    """

    keys: tuple[str, ...]
    docs: tuple[str, ...]
    bases: tuple[int, ...]
    own: int
    verdicts: tuple[str, ...]
    unkept: tuple[str, ...]
    slices: int


class Partition(NamedTuple):
    """Records in document order; `riders` by name, (records,)."""

    keys: NDArray[np.uint64]
    documents: NDArray[np.int64]
    riders: dict[str, NDArray[Any]]


def files_of(signed: Signed, done: Committed) -> Files:
    commits = done[signed.stage]
    rows = [file.rows for file in signed.earlier] + [commit.outputs[signed.output].rows for commit in commits]
    unkept = done.get(against_stage(signed), [])
    return Files(
        (*(file.keys for file in signed.earlier), *(commit.outputs[signed.output].path for commit in commits)),
        (*(file.docs for file in signed.earlier), *(commit.outputs["docs"].path for commit in commits)),
        tuple(np.cumsum([0, *rows]).tolist()),
        sum(file.rows for file in signed.earlier),
        tuple(done[stage][0].outputs["verdicts"].path for stage in signed.excluded),
        tuple(commit.outputs["unkept"].path for commit in unkept),
        signed.slices,
    )


def against_stage(signed: Signed) -> str:
    return f"{signed.label}-against"


def against_stages(signed: Signed) -> list[Stage]:
    """Which documents of earlier runs did not stay to the end there; no stage if that need not be asked."""
    if not any(file.kept for file in signed.earlier):
        return []
    first = np.cumsum([0, *(file.rows for file in signed.earlier)]).tolist()
    units = [Unit(i, (f.docs, f.kept, base)) for i, (f, base) in enumerate(zip(signed.earlier, first))]
    return [Stage(against_stage(signed), fingerprint(signed, "against"), Unkept(), (), lambda done, root: units)]


def after(signed: Signed, *more: str) -> tuple[str, ...]:
    """The stages whose commits `files_of` looks at, and more."""
    against = (against_stage(signed),) if any(file.kept for file in signed.earlier) else ()
    return (signed.stage, *signed.excluded, *against, *more)


def fingerprint(signed: Signed, name: str) -> str:
    return hashlib.sha256(f"{signed.fingerprint}\0{name}".encode()).hexdigest()


@dataclass(frozen=True)
class Unkept:
    """Unit inputs: documents of an earlier run, those of them that it kept to the end (None: all), the first's number."""

    def run(self, unit: Unit, io: UnitIO) -> None:
        docs, kept, base = unit.inputs
        columns = list(ADDRESS)
        gone = np.empty(0, np.int64)
        if kept:
            gone = np.flatnonzero(~stayed(io.table(docs, columns), io.table(kept, columns))) + base
        io.write_arrays("unkept", len(gone), documents=gone)


def partition_units(signed: Signed, bands: int) -> Planner:
    """As many partitions to a unit as RECORDS allow: a small corpus is one unit, and not one a band."""

    def units(done: Committed, root: Path) -> list[Unit]:
        files = files_of(signed, done)
        each = files.bases[-1] // signed.slices + 1
        together = max(1, min(RECORDS // each, bands * signed.slices))
        starts = range(0, bands * signed.slices, together)
        return [Unit(i, (start, min(start + together, bands * signed.slices), files)) for i, start in enumerate(starts)]

    return units


def partitions(
    unit: Unit, io: UnitIO, riders: tuple[str, ...] = (), columns: tuple[str, ...] = ()
) -> Iterator[Partition]:
    """Each of the unit's partitions from all files, without the documents that are gone.

    riders    arrays that stand beside the keys
    columns   arrays by document, given by record as the riders are; 0 where a file has none
    """
    first, stop, packed = unit.inputs
    files = Files(*packed)
    gone = gone_documents(files, io)
    for partition in range(first, stop):
        yield _partition(partition, files, gone, io, riders, columns)


def gone_documents(files: Files, io: UnitIO) -> NDArray[np.int64]:
    """Documents that are not there any more, sorted."""
    gone = [np.empty(0, np.int64), *(io.arrays(path)["documents"] for path in files.unkept)]
    for path in files.verdicts:
        verdicts = io.table(path, ["document", "reason"])
        gone.append(verdicts["document"].filter(pc.is_valid(verdicts["reason"])).to_numpy() + files.own)
    return np.unique(np.concatenate(gone))


def _partition(
    partition: int,
    files: Files,
    gone: NDArray[np.int64],
    io: UnitIO,
    riders: tuple[str, ...],
    columns: tuple[str, ...],
) -> Partition:
    keys, documents = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    carried: dict[str, list[NDArray[Any]]] = {name: [] for name in (*riders, *columns)}
    for piece in pieces(partition, files, gone, io, riders, columns):
        keys.append(piece.keys)
        documents.append(piece.documents)
        for name, rider in piece.riders.items():
            carried[name].append(rider)
    found = {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in carried.items()}
    return Partition(np.concatenate(keys), np.concatenate(documents), found)


def pieces(
    partition: int,
    files: Files,
    gone: NDArray[np.int64],
    io: UnitIO,
    riders: tuple[str, ...],
    columns: tuple[str, ...] = (),
) -> Iterator[Partition]:
    """A partition file by file, for work that need not hold all of it. `gone` is of `gone_documents`."""
    for path, base, end in zip(files.keys, files.bases, files.bases[1:]):
        arrays = io.arrays(path)
        start, records = _records(partition, files.slices, arrays)
        row = arrays["row"][start + records].astype(np.int64)
        here = gone[np.searchsorted(gone, base) : np.searchsorted(gone, end)] - base
        if len(here):
            stays = ~np.isin(row, here)
            records, row = records[stays], row[stays]
        carried = {name: arrays[name][start + records] for name in riders}
        carried |= {name: arrays[name][row] if name in arrays else np.zeros(len(row)) for name in columns}
        yield Partition(arrays["keys"][start + records], row + base, carried)


def _records(partition: int, slices: int, arrays: Mapping[str, NDArray[Any]]) -> tuple[int, NDArray[np.int64]]:
    """Where the records of a partition are in a file, in document order: a start, and places from there.

    An earlier run may have cut its bands into more or fewer slices.
    """
    band, part = divmod(partition, slices)
    there = int(arrays["slices"][0])
    offsets = arrays["offsets"]
    if there >= slices:
        ratio = there // slices
        first = band * there + part * ratio
        start, stop = int(offsets[first]), int(offsets[first + ratio])
        records = np.arange(stop - start)
        return start, records if ratio == 1 else np.argsort(arrays["row"][start:stop], kind="stable")
    first = band * there + part // (slices // there)
    start, stop = int(offsets[first]), int(offsets[first + 1])
    top = arrays["keys"][start:stop] >> np.uint64(64 - (slices.bit_length() - 1))
    return start, np.flatnonzero(top == np.uint64(part))


def by_document(io: UnitIO, files: Files, documents: NDArray[np.int64], name: str) -> NDArray[Any]:
    """Rows of an array by document, for sorted document numbers."""
    rows = []
    for path, base, end in zip(files.keys, files.bases, files.bases[1:]):
        first, stop = np.searchsorted(documents, [base, end])
        if first < stop:
            rows.append(np.asarray(io.arrays(path)[name])[documents[first:stop] - base])
    return np.concatenate(rows) if rows else np.asarray(io.arrays(files.keys[-1])[name])[:0]


def is_ranked(io: UnitIO, files: Files) -> bool:
    """Whether another document than the earlier one may be preferred."""
    return "rank" in io.arrays(files.keys[-1])


def preference(io: UnitIO, files: Files, documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """(documents,) the place of each of some sorted documents in the order in which they are preferred.

    Documents of earlier runs come first, then those with the lower `rank`, then the earlier.
    """
    if not is_ranked(io, files):
        return np.arange(len(documents))
    own = int(np.searchsorted(documents, files.own))
    rank = np.concatenate([np.zeros(own), by_document(io, files, documents[own:], "rank")])
    return places(documents, rank, files.own)


def places(documents: NDArray[np.int64], rank: NDArray[Any], own: int) -> NDArray[np.int64]:
    order = np.lexsort((documents, np.where(documents < own, -np.inf, rank)))
    place = np.empty(len(documents), np.int64)
    place[order] = np.arange(len(documents))
    return place


def write_twins(
    io: UnitIO,
    files: Files,
    documents: NDArray[np.int64],
    twins: NDArray[np.int64],
    similarity: NDArray[np.float64],
    reason: str,
    mark: bool,
) -> None:
    """The verdicts on documents that have a twin that stays, and the sizes of their clusters.

    documents   (documents,) those that have one, rising
    twins       (documents,) the one that stays; similarity (documents,), how alike they are
    reason      why they go; those that go for a document of an earlier run go because of `against`
    mark        none goes: their twins are noted alone
    """
    heads, sizes = np.unique(twins, return_counts=True)
    ids = ids_of(io, files, heads)
    none = pa.scalar(None, pa.string())
    # At most ROWS of each at a time.
    ends = np.unique(np.concatenate([documents[::ROWS], heads[::ROWS]])).tolist()
    for low, high in pairwise([files.own, *(end for end in ends if end > files.own), files.bases[-1]]):
        mine = slice(*np.searchsorted(documents, [low, high]))
        own = slice(*np.searchsorted(heads, [low, high]))
        rows = np.concatenate([documents[mine], heads[own]])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        to = np.concatenate([twins[mine], np.full(len(heads[own]), -1)])[order]
        alike = np.concatenate([similarity[mine], np.full(len(heads[own]), np.nan)])[order]
        stays = to < 0
        at = np.searchsorted(heads, np.where(stays, rows, to))
        digits = ids[at].tobytes().hex()
        cluster = pa.array([digits[i : i + 32] for i in range(0, len(digits), 32)], pa.string())
        reasons = pa.array(np.where(to >= files.own, reason, "against").tolist(), pa.string())
        columns = [
            pa.array(rows - files.own),
            pa.nulls(len(rows), pa.string()) if mark else pc.if_else(pa.array(stays), none, reasons),
            pc.if_else(pa.array(stays), none, cluster),
            pa.array(alike, pa.float64(), mask=stays),
            cluster,
            pa.array(sizes[at] + 1),
        ]
        io.write("verdicts", pa.record_batch(columns, schema=TWINS))


def ids_of(io: UnitIO, files: Files, documents: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(documents, 16) the ids of sorted documents, which are 32 hexadecimal digits, as bytes."""
    found = np.empty((len(documents), 16), np.uint8)
    for path, base, end in zip(files.docs, files.bases, files.bases[1:]):
        first, stop = np.searchsorted(documents, [base, end])
        if first < stop:
            row = base
            for batch in io.parquet(path).iter_batches(ROWS, columns=["id"], use_threads=False):
                upto = first + int(np.searchsorted(documents[first:stop], row + len(batch)))
                ids = batch["id"].take(pa.array(documents[first:upto] - row)).to_pylist()
                found[first:upto].reshape(-1)[:] = np.frombuffer(bytes.fromhex("".join(ids)), np.uint8)
                first, row = upto, row + len(batch)
    return found
