"""What all corpus steps share: the records of their keys by partition, and the writing of verdicts.

Documents are numbered: first those of earlier runs that a step compares with (`KeyStage.earlier`), then those of this
run, in the order of units and rows. The smaller number is the earlier document. Verdicts and cuts are written with the
row of a document in its unit, so that they are the same whatever precedes the unit.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from corpusmill.keys import ADDRESS, APPLIES, DUPLICATES, NEAR_DUPLICATES, EarlierKeys, KeyStage, were_kept
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Files, Planned, Planner, Stage

RECORDS = 1 << 20  # keys that a unit groups, about, where one partition has fewer
ROWS = 1 << 14  # verdicts that are made ready at a time
EMPTIED, EMPTIED_LEAST = 0.9, 10  # a source or domain that loses more than this share, and so many at least, is named


# ------------------------------------------------------------- inputs of units


@dataclass(frozen=True)
class PartitionRange:
    """Partitions [first, stop) of all key files."""

    first: int
    stop: int


@dataclass(frozen=True)
class DocumentFile:
    """One file of documents, by its place among those of earlier runs and of this one."""

    number: int


@dataclass(frozen=True)
class Everything:
    """The only unit of its stage."""


# ------------------------------------------------------------- key files


class KeyFiles(NamedTuple):
    """All key files of a step.

    keys, docs   paths, in order
    starts       (files + 1,) the number of the first document of each, and in the end of how many there are
    earlier      how many of the files are of earlier runs
    excluded     verdicts of steps before this one: the path of the table, and of its slices
    unkept       paths of arrays of documents that earlier runs did not keep
    partitions   partitions per band
    """

    keys: Sequence[str]
    docs: Sequence[str]
    starts: NDArray[np.int64]
    earlier: int
    excluded: Sequence[tuple[str, str]]
    unkept: Sequence[str]
    partitions: int

    @property
    def documents(self) -> int:
        return int(self.starts[-1])

    @property
    def own(self) -> int:
        """The number of the first document of this run."""
        return int(self.starts[self.earlier])

    @property
    def own_starts(self) -> NDArray[np.int64]:
        """(units + 1,) the rows at which the units of this run's pass begin."""
        return self.starts[self.earlier :] - self.own


class Partition(NamedTuple):
    """Records in document order; `payload` by name, (records,)."""

    keys: NDArray[np.uint64]
    documents: NDArray[np.int64]
    payload: dict[str, NDArray[Any]]


def key_files(keys: KeyStage, upstream: Upstream) -> KeyFiles:
    """The key files of a step, once the pass before it is complete."""
    results = upstream.results(keys.stage)
    own = results[keys.output]
    earlier = keys.earlier.files
    excluded = [upstream.results(stage) for stage in keys.excluded]
    unkept = upstream.results(against_stage(keys))["unkept"].paths.to_pylist() if keys.earlier.filtered else []
    return KeyFiles(
        [*(file.keys for file in earlier), *own.paths.to_pylist()],
        [*(file.docs for file in earlier), *results["docs"].paths.to_pylist()],
        np.concatenate([np.zeros(1, np.int64), np.cumsum([*(file.rows for file in earlier), *own.rows.tolist()])]),
        len(earlier),
        [(verdicts["verdicts"].path(0), verdicts["slices"].path(0)) for verdicts in excluded],
        unkept,
        keys.partitions_per_band,
    )


def keys_content(keys: KeyStage, upstream: Upstream) -> tuple[str, ...]:
    """What units that look at all keys depend on."""
    excluded = [upstream.results(stage) for stage in keys.excluded]
    return (
        digest(upstream.results(keys.stage)[keys.output]),
        keys.earlier.content,
        *(digest(verdicts[name]) for verdicts in excluded for name in ("verdicts", "slices")),
    )


def documents_content(keys: KeyStage, upstream: Upstream, number: int) -> str:
    """What units that look at one file of documents depend on: of this run, or of an earlier one."""
    own = number - len(keys.earlier.files)
    if own < 0:
        return f"{keys.earlier.content}:{number}"
    return upstream.results(keys.stage)["docs"].checksum(own)


def digest(files: Files) -> str:
    """The content of the files of one output, in their order."""
    text = ",".join(value or "" for value in files.checksums.to_pylist())
    return hashlib.sha256(text.encode()).hexdigest()


def against_stage(keys: KeyStage) -> str:
    return f"{keys.label}-against"


def against_stages(keys: KeyStage) -> list[Stage]:
    """Which documents of earlier runs were not kept to the end there; no stage if that need not be asked."""
    if not keys.earlier.filtered:
        return []
    planned = [Planned(DocumentFile(i), (keys.earlier.content, str(i))) for i in range(len(keys.earlier.files))]
    return [Stage(against_stage(keys), Unkept(keys.earlier), (), lambda upstream: planned)]


def after(keys: KeyStage, *more: str) -> tuple[str, ...]:
    """The stages whose results `key_files` looks at, and more."""
    against = (against_stage(keys),) if keys.earlier.filtered else ()
    return (keys.stage, *keys.excluded, *against, *more)


@dataclass(frozen=True)
class Unkept:
    """The numbers of the documents in a file of an earlier run that it did not keep to the end."""

    earlier: EarlierKeys

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        file = self.earlier.files[inputs.number]
        before = sum(other.rows for other in self.earlier.files[: inputs.number])
        columns = list(ADDRESS)
        dropped = np.empty(0, np.int64)
        if file.kept:
            dropped = np.flatnonzero(~were_kept(io.table(file.docs, columns), io.table(file.kept, columns))) + before
        io.write_arrays("unkept", len(dropped), documents=dropped)


def partition_ranges(keys: KeyStage, bands: int) -> Planner:
    """As many partitions to a unit as RECORDS allow: a small corpus is one unit, and not one per band."""

    def units(upstream: Upstream) -> list[Planned]:
        documents = keys.earlier.rows + int(upstream.results(keys.stage)[keys.output].rows.sum())
        each = documents // keys.partitions_per_band + 1
        return ranges(keys, upstream, bands * keys.partitions_per_band, RECORDS // each)

    return units


def ranges(keys: KeyStage, upstream: Upstream, partitions: int, together: int) -> list[Planned]:
    """Units of `together` partitions each."""
    together = max(1, min(together, partitions))
    content = keys_content(keys, upstream)
    starts = range(0, partitions, together)
    planned = [PartitionRange(start, min(start + together, partitions)) for start in starts]
    return [Planned(inputs, (*content, f"{inputs.first}:{inputs.stop}")) for inputs in planned]


def partitions(
    inputs: PartitionRange,
    files: KeyFiles,
    io: UnitIO,
    payload: tuple[str, ...] = (),
    columns: tuple[str, ...] = (),
) -> Iterator[Partition]:
    """Each of the unit's partitions from all files, without the documents that are dropped already. Those that the step
    is not for have no keys.

    payload   arrays beside the keys
    columns   arrays by document, given by record as the payload is; 0 where a file has none
    """
    dropped = _dropped(files, io)
    for partition in range(inputs.first, inputs.stop):
        io.heart.at(partition - inputs.first, inputs.stop - inputs.first)
        yield _partition(partition, files, dropped, io, payload, columns)


def dropped_documents(files: KeyFiles, io: UnitIO) -> NDArray[np.int64]:
    """Documents that a step must not look at, sorted: those that were dropped before it, and those of sources that it
    is not for."""
    others = [np.empty(0, np.int64)]
    for path, start in zip(files.keys, files.starts.tolist()):
        arrays = io.arrays(path)
        if APPLIES in arrays:
            others.append(np.flatnonzero(~np.asarray(arrays[APPLIES])) + start)
    return np.union1d(_dropped(files, io), np.concatenate(others))


def _dropped(files: KeyFiles, io: UnitIO) -> NDArray[np.int64]:
    dropped = [np.empty(0, np.int64), *(io.arrays(path)["documents"] for path in files.unkept)]
    starts = files.own_starts
    for table, slices in files.excluded:
        # Of the table, ROWS at a time: a worker holds 8 bytes of each dropped document.
        offsets = io.arrays(slices)["offsets"]
        row = 0
        for batch in io.parquet(table).iter_batches(ROWS, columns=["document", "reason"], use_threads=False):
            rows = np.flatnonzero(batch["reason"].is_valid().to_numpy(zero_copy_only=False))
            unit = np.searchsorted(offsets, rows + row, "right") - 1
            dropped.append(batch["document"].to_numpy()[rows] + starts[unit] + files.own)
            row += len(batch)
    numbers: NDArray[np.int64] = np.concatenate(dropped)
    numbers.sort()
    new = np.ones(len(numbers), bool)
    new[1:] = numbers[1:] != numbers[:-1]
    return numbers[new]


def _partition(
    partition: int,
    files: KeyFiles,
    dropped: NDArray[np.int64],
    io: UnitIO,
    payload: tuple[str, ...],
    columns: tuple[str, ...],
) -> Partition:
    keys, documents = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    carried: dict[str, list[NDArray[Any]]] = {name: [] for name in (*payload, *columns)}
    for piece in pieces(partition, files, dropped, io, payload, columns):
        keys.append(piece.keys)
        documents.append(piece.documents)
        for name, values in piece.payload.items():
            carried[name].append(values)
    joined = {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in carried.items()}
    return Partition(np.concatenate(keys), np.concatenate(documents), joined)


def pieces(
    partition: int,
    files: KeyFiles,
    dropped: NDArray[np.int64],
    io: UnitIO,
    payload: tuple[str, ...],
    columns: tuple[str, ...] = (),
) -> Iterator[Partition]:
    """A partition file by file, for work that need not hold all of it. `dropped` is of `dropped_documents`."""
    for path, start, end in zip(files.keys, files.starts.tolist(), files.starts[1:].tolist()):
        arrays = io.arrays(path)
        first, records = _records(partition, files.partitions, arrays)
        row = arrays["row"][first + records].astype(np.int64)
        here = dropped[np.searchsorted(dropped, start) : np.searchsorted(dropped, end)] - start
        if len(here):
            kept = ~np.isin(row, here)
            records, row = records[kept], row[kept]
        carried = {name: arrays[name][first + records] for name in payload}
        carried |= {name: arrays[name][row] if name in arrays else np.zeros(len(row)) for name in columns}
        yield Partition(arrays["keys"][first + records], row + start, carried)


def _records(partition: int, partitions: int, arrays: Mapping[str, NDArray[Any]]) -> tuple[int, NDArray[np.int64]]:
    """Where the records of a partition are in a file, in document order: a start, and places from there.

    A file may have its bands cut into more or fewer partitions than are asked for.
    """
    band, part = divmod(partition, partitions)
    held = int(arrays["partitions"][0])
    offsets = arrays["offsets"]
    if held >= partitions:
        ratio = held // partitions
        first = band * held + part * ratio
        start, stop = int(offsets[first]), int(offsets[first + ratio])
        records = np.arange(stop - start)
        return start, records if ratio == 1 else np.argsort(arrays["row"][start:stop], kind="stable")
    first = band * held + part // (partitions // held)
    start, stop = int(offsets[first]), int(offsets[first + 1])
    top = arrays["keys"][start:stop] >> np.uint64(64 - (partitions.bit_length() - 1))
    return start, np.flatnonzero(top == np.uint64(part))


def by_document(io: UnitIO, files: KeyFiles, documents: NDArray[np.int64], name: str) -> NDArray[Any]:
    """Rows of an array by document, for sorted document numbers."""
    sample = io.arrays(files.keys[-1])[name]
    rows = np.empty((len(documents), *sample.shape[1:]), sample.dtype)
    for path, start, end in zip(files.keys, files.starts, files.starts[1:]):
        first, stop = np.searchsorted(documents, [start, end])
        if first < stop:
            rows[first:stop] = io.arrays(path)[name][documents[first:stop] - start]
    return rows


# ------------------------------------------------------------- which duplicate is preferred


def is_ranked(io: UnitIO, files: KeyFiles) -> bool:
    """Whether another document than the earlier one may be preferred."""
    return "rank" in io.arrays(files.keys[-1])


def preference(io: UnitIO, files: KeyFiles, documents: NDArray[np.int64]) -> NDArray[np.int64]:
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


# ------------------------------------------------------------- verdicts


class VerdictWriter:
    """The verdicts of a stage that has one unit, in the order of documents.

    Writes the table `verdicts`, in which documents are numbered within the units of the pass, and `slices`: which rows
    are about which unit, (units + 1,), and what they hold, (units, 16) bytes of XXH3-128. So a unit of the next pass
    can tell that nothing has changed for it.
    """

    def __init__(self, io: UnitIO, starts: NDArray[np.int64], schema: pa.Schema) -> None:
        self._io, self._starts, self._schema = io, starts, schema
        units = len(starts) - 1
        self._sizes = np.zeros(units, np.int64)
        self._digests = np.tile(_digest([], schema), (units, 1))
        self._waiting: list[pa.RecordBatch] = []
        self._unit = -1
        io.write("verdicts", pa.RecordBatch.from_pylist([], schema=schema))

    def write(self, documents: NDArray[np.int64], columns: Sequence[pa.Array]) -> None:
        """Add verdicts.

        documents   (verdicts,) their numbers among the documents of this run, rising
        columns     the other columns of the schema
        """
        unit = np.searchsorted(self._starts, documents, "right") - 1
        numbers = pa.array(documents - self._starts[unit])
        batch = pa.record_batch([numbers, *columns], schema=self._schema)
        self._io.write("verdicts", batch)
        edges = np.flatnonzero(np.append(True, unit[1:] != unit[:-1])) if len(unit) else np.empty(0, np.int64)
        for first, stop in pairwise([*edges.tolist(), len(unit)]):
            if unit[first] != self._unit:
                self._finish_unit()
                self._unit = int(unit[first])
            self._waiting.append(batch.slice(first, stop - first))

    def _finish_unit(self) -> None:
        if self._waiting:
            self._sizes[self._unit] = sum(map(len, self._waiting))
            self._digests[self._unit] = _digest(self._waiting, self._schema)
        self._waiting = []

    def close(self) -> None:
        self._finish_unit()
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._sizes)])
        self._io.write_arrays("slices", len(self._sizes), offsets=offsets, digests=self._digests)


def _digest(batches: list[pa.RecordBatch], schema: pa.Schema) -> NDArray[np.uint8]:
    """(16,) XXH3-128 of what the rows hold, however they are cut into batches."""
    table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
    state = xxhash.xxh3_128()
    for name in schema.names:
        column = pa.concat_arrays(table[name].chunks) if len(table) else pa.array([], schema.field(name).type)
        state.update(column.is_valid().to_numpy(zero_copy_only=False).tobytes())
        if pa.types.is_string(column.type):
            column = pc.fill_null(column, "")
            state.update(pc.binary_length(column).to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
            state.update("".join(column.to_pylist()).encode("utf-8", "surrogatepass"))
        else:
            state.update(pc.fill_null(column, 0).to_numpy(zero_copy_only=False).tobytes())
    return np.frombuffer(state.digest(), np.uint8)


def write_duplicates(
    io: UnitIO,
    files: KeyFiles,
    documents: NDArray[np.int64],
    duplicate_of: NDArray[np.int64],
    similarity: NDArray[np.float64],
    reason: str,
    mark: bool,
    lost: NDArray[np.float64] | None = None,
) -> None:
    """The verdicts on documents that are duplicates of one that is kept, and the sizes of clusters.

    documents      (documents,) the duplicates, rising
    duplicate_of   (documents,) the one that is kept; similarity (documents,), how alike they are
    reason         why they are dropped; duplicates of a document of an earlier run are dropped because of `against`
    mark           none is dropped: what they are duplicates of is noted alone
    lost           (documents,) the share of each that is lost with it; None: the step does not say
    """
    heads, sizes = np.unique(duplicate_of, return_counts=True)
    ids = ids_of(io, files, heads)
    none = pa.scalar(None, pa.string())
    verdicts = VerdictWriter(io, files.own_starts, DUPLICATES if lost is None else NEAR_DUPLICATES)
    # At most ROWS of each at a time.
    ends = np.unique(np.concatenate([documents[::ROWS], heads[::ROWS]])).tolist()
    for low, high in pairwise([files.own, *(end for end in ends if end > files.own), files.documents]):
        mine = slice(*np.searchsorted(documents, [low, high]))
        own = slice(*np.searchsorted(heads, [low, high]))
        rows = np.concatenate([documents[mine], heads[own]])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        to = np.concatenate([duplicate_of[mine], np.full(len(heads[own]), -1)])[order]
        alike = np.concatenate([similarity[mine], np.full(len(heads[own]), np.nan)])[order]
        kept = to < 0
        at = np.searchsorted(heads, np.where(kept, rows, to))
        digits = ids[at].tobytes().hex()
        cluster = pa.array([digits[i : i + 32] for i in range(0, len(digits), 32)], pa.string())
        reasons = pa.array(np.where(to >= files.own, reason, "against").tolist(), pa.string())
        columns = [
            pa.nulls(len(rows), pa.string()) if mark else pc.if_else(pa.array(kept), none, reasons),
            pc.if_else(pa.array(kept), none, cluster),
            pa.array(alike, pa.float64(), mask=kept),
            cluster,
            pa.array(sizes[at] + 1),
        ]
        if lost is not None:
            shares = np.concatenate([lost[mine], np.full(len(heads[own]), np.nan)])[order]
            columns.append(pa.array(shares, pa.float64(), mask=kept))
        verdicts.write(rows - files.own, columns)
    verdicts.close()


def ids_of(io: UnitIO, files: KeyFiles, documents: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(documents, 16) the ids of sorted documents, which are 32 hexadecimal digits, as bytes."""
    ids = np.empty((len(documents), 16), np.uint8)
    for path, start, end in zip(files.docs, files.starts.tolist(), files.starts[1:].tolist()):
        first, stop = np.searchsorted(documents, [start, end])
        if first < stop:
            row = start
            for batch in io.parquet(path).iter_batches(ROWS, columns=["id"], use_threads=False):
                upto = first + int(np.searchsorted(documents[first:stop], row + len(batch)))
                texts = batch["id"].take(pa.array(documents[first:upto] - row)).to_pylist()
                ids[first:upto].reshape(-1)[:] = np.frombuffer(bytes.fromhex("".join(texts)), np.uint8)
                first, row = upto, row + len(batch)
    return ids
