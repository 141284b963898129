"""What all corpus steps share: the records of their keys by partition. Their verdicts are in verdict_tables.py.

Documents are numbered: first those of earlier runs that a step compares with (`KeyStage.earlier`), then those of this
run, in the order of units and rows. The smaller number is the earlier document. Verdicts and cuts are written with the
row of a document in its unit, so that they are the same whatever precedes the unit.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.keys import ADDRESS, APPLIES, EarlierKeys, KeyStage, keyed, keys_and_rows, were_kept
from corpusmill.steps.sorted_numbers import absent, sort_distinct
from corpusmill.steps.verdict_tables import ROWS, UNITS, UnitRange, VerdictWriter, unit_ranges
from corpusmill.store.arrays import Arrays
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import OutputFiles, Results
from corpusmill.store.work import PlannedUnit, Planner, Stage

T = TypeVar("T")
AHEAD = 16  # files that are opened, and whose rows are asked for, before they are read
RECORDS, MOST_RECORDS = 1 << 20, 1 << 24  # keys that a unit groups, about, where one partition has fewer
SLICE = 1 << 14  # keys of a file that are worth opening it
SKETCHED = 1 << 20  # documents whose sketches a unit reads that collects those that are asked for
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
    excluded     of each step before this one the `slices` of its verdicts: the path, and the place in it, of each unit
    unkept       paths of arrays of documents that earlier runs did not keep: none, or one for each file of theirs
    partitions   partitions per band
    scattered    whether the key files are larger than this machine keeps: rows are asked for before they are read
    """

    keys: Sequence[str]
    docs: Sequence[str]
    starts: NDArray[np.int64]
    earlier: int
    excluded: Sequence[Sequence[tuple[str, int]]]
    unkept: Sequence[str]
    partitions: int
    scattered: bool

    @property
    def documents(self) -> int:
        return int(self.starts[-1])

    @property
    def own(self) -> int:
        """The number of the first document of this run."""
        return int(self.starts[self.earlier])

    def own_files(self, inputs: UnitRange) -> range:
        """The numbers of the files of some units of this run's pass."""
        return range(self.earlier + inputs.first, self.earlier + inputs.stop)

    def verdict_writer(self, inputs: UnitRange, io: UnitIO, schema: pa.Schema) -> VerdictWriter:
        """What writes the verdicts on some units of this run's pass."""
        numbers = self.own_files(inputs)
        return VerdictWriter(io, self.starts[numbers.start : numbers.stop + 1], schema)

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
        [_slices(verdicts) for verdicts in excluded],
        unkept,
        keys.partitions_per_band,
        upstream.are_scattered(own),
    )


def _slices(verdicts: Results) -> list[tuple[str, int]]:
    paths = verdicts["slices"].paths.to_pylist()
    return [(path, unit) for path, units in zip(paths, verdicts.numbers(UNITS).tolist()) for unit in range(units)]


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


def digest(files: OutputFiles) -> str:
    """The content of the files of one output, in their order."""
    text = ",".join(value or "" for value in files.checksums.to_pylist())
    return hashlib.sha256(text.encode()).hexdigest()


def against_stage(keys: KeyStage) -> str:
    return f"{keys.label}-against"


def against_stages(keys: KeyStage) -> list[Stage]:
    """Which documents of earlier runs were not kept to the end there; no stage if that need not be asked."""
    if not keys.earlier.filtered:
        return []
    planned = [PlannedUnit(DocumentFile(i), (keys.earlier.content, str(i))) for i in range(len(keys.earlier.files))]
    return [Stage(against_stage(keys), Unkept(keys.earlier), (), lambda upstream: planned)]


def after(keys: KeyStage, *more: str) -> tuple[str, ...]:
    """The stages whose results `key_files` looks at, and more."""
    against = (against_stage(keys),) if keys.earlier.filtered else ()
    return (keys.stage, *keys.excluded, *against, *more)


def keys_alone(keys: KeyStage, *arrays: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """`Stage.reads` of those that read no texts of the pass: its keys, and of their files these arrays, or all."""
    return {keys.stage: {keys.output: arrays}}


@dataclass(frozen=True)
class Unkept:
    """The numbers of the documents in a file of an earlier run that it did not keep to the end."""

    earlier: EarlierKeys

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        file = self.earlier.files[inputs.number]
        before = sum(earlier.rows for earlier in self.earlier.files[: inputs.number])
        columns = list(ADDRESS)
        dropped = np.empty(0, np.int64)
        if file.kept:
            dropped = np.flatnonzero(~were_kept(io.table(file.docs, columns), io.table(file.kept, columns))) + before
        io.write_arrays("unkept", len(dropped), documents=dropped)


def partition_ranges(keys: KeyStage, bands: int) -> Planner:
    """As many partitions to a unit as `grouped` allows: a small corpus is one unit, and not one per band."""

    def units(upstream: Upstream) -> list[PlannedUnit]:
        rows = upstream.results(keys.stage)[keys.output].rows
        per_partition = (keys.earlier.rows + int(rows.sum())) // keys.partitions_per_band + 1
        together = grouped(len(keys.earlier.files) + len(rows)) // per_partition
        return ranges(keys, upstream, bands * keys.partitions_per_band, together)

    return units


def pass_units(keys: KeyStage, *outputs: tuple[str, str]) -> Planner:
    """A unit for some neighbouring units of the pass each: it depends on all keys, and on these outputs of stages."""

    def units(upstream: Upstream) -> list[PlannedUnit]:
        content, digests = keys_content(keys, upstream), output_digests(upstream, outputs)
        return [PlannedUnit(part, (*content, repr(part), *digests)) for part in unit_ranges(keys, upstream)]

    return units


def single_unit(*outputs: tuple[str, str]) -> Planner:
    """The only unit of a stage, which depends on these outputs of stages."""
    return lambda upstream: [PlannedUnit(Everything(), output_digests(upstream, outputs))]


def output_digests(upstream: Upstream, outputs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(digest(upstream.results(stage)[output]) for stage, output in outputs)


def grouped(files: int) -> int:
    """Keys that a unit groups, about: the more files of keys there are, of each of which a unit reads a slice."""
    return max(RECORDS, min(files * SLICE, MOST_RECORDS))


def ranges(keys: KeyStage, upstream: Upstream, partitions: int, together: int) -> list[PlannedUnit]:
    """Units of `together` partitions each."""
    together = max(1, min(together, partitions))
    content = keys_content(keys, upstream)
    starts = range(0, partitions, together)
    planned = [PartitionRange(start, min(start + together, partitions)) for start in starts]
    return [PlannedUnit(inputs, (*content, f"{inputs.first}:{inputs.stop}")) for inputs in planned]


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
    # All partitions of a unit from a file at once: there are few records in each, and thousands of files.
    opened = (partial(_with_slices, inputs, files, io, path, payload, columns) for path in files.keys)
    read: list[RecordPiece] = []
    for number, slices in enumerate(ahead(opened, io, files)):
        io.heart.at(number, len(files.keys))
        read.append(_piece(inputs, files, slices, _dropped_rows(files, number, io), payload, columns))
    ends = [piece.ends.tolist() for piece in read]
    for part in range(inputs.stop - inputs.first):
        slices_of_part = [slice(*ends_of_file[part : part + 2]) for ends_of_file in ends]
        keys = _joined([piece.keys[rows] for piece, rows in zip(read, slices_of_part)], np.uint64)
        documents = _joined([piece.rows[rows] for piece, rows in zip(read, slices_of_part)], np.int64)
        documents += np.repeat(
            files.starts[:-1], [ends_of_file[part + 1] - ends_of_file[part] for ends_of_file in ends]
        )
        carried = {
            name: _joined([piece.carried[name][rows] for piece, rows in zip(read, slices_of_part)])
            for name in (*payload, *columns)
        }
        yield Partition(keys, documents, carried)


def _joined(arrays: list[NDArray[Any]], dtype: Any = None) -> NDArray[Any]:
    return np.concatenate(arrays, dtype=dtype) if arrays else np.empty(0, dtype)


class Slices(NamedTuple):
    """A file, of which the records of some partitions are being read, and whole columns.

    held      partitions of a band in it
    offsets   where the records of these partitions begin, and where those of the last end
    """

    arrays: Arrays
    held: int
    offsets: NDArray[np.int64]


class RecordPiece(NamedTuple):
    """The records of some partitions in one file, one partition after the other.

    rows      (records,) uint32: the row of each record's document
    carried   payload and columns by name
    ends      (partitions + 1,) where the records of each begin
    """

    keys: NDArray[np.uint64]
    rows: NDArray[np.uint32]
    carried: dict[str, NDArray[Any]]
    ends: NDArray[np.int64]


def _with_slices(
    inputs: PartitionRange,
    files: KeyFiles,
    io: UnitIO,
    path: str,
    payload: tuple[str, ...],
    columns: tuple[str, ...],
) -> "Slices":
    arrays = io.arrays(path, files.scattered)
    stored = int(arrays.part("partitions", 0, 1)[0])
    first, stop = inputs.first * stored // files.partitions, -(-inputs.stop * stored // files.partitions)
    offsets = arrays.part("offsets", first, stop + 1).astype(np.int64)
    begin, end = offsets[[0, -1]].tolist()
    for name in (*keyed(arrays), *payload):
        arrays.will_read(name, begin, end)
    for name in columns:
        if name in arrays:
            arrays.will_read(name, 0, arrays.rows(name))
    return Slices(arrays, stored, offsets)


def ahead(opened: Iterator[Callable[[], T]], io: UnitIO, files: KeyFiles) -> Iterator[T]:
    """What these return, of which the next AHEAD have begun already: on this machine by what they ask its system for,
    in an object store by a thread for each."""
    if io.run.is_local or not files.scattered:
        waiting = deque(open_() for open_ in islice(opened, AHEAD))
        while waiting:
            yield waiting.popleft()
            waiting.extend(open_() for open_ in islice(opened, 1))
        return
    with ThreadPoolExecutor(AHEAD) as pool:
        begun = deque(map(pool.submit, islice(opened, AHEAD)))
        while begun:
            yield begun.popleft().result()
            begun.extend(map(pool.submit, islice(opened, 1)))


def dropped_documents(files: KeyFiles, io: UnitIO, number: int) -> NDArray[np.int64]:
    """The rows of a file that a step must not look at, sorted: documents that were dropped before it, and those of
    sources that it is not for."""
    rows = _dropped_rows(files, number, io)
    arrays = io.arrays(files.keys[number], files.scattered)
    return np.union1d(rows, np.flatnonzero(~np.asarray(arrays[APPLIES]))) if APPLIES in arrays else rows


def is_present(files: KeyFiles, io: UnitIO, number: int) -> NDArray[np.bool_]:
    """(documents,) of a file: whether a step looks at each, see `dropped_documents`."""
    present = np.ones(int(files.starts[number + 1] - files.starts[number]), bool)
    present[dropped_documents(files, io, number)] = False
    return present


def _dropped_rows(files: KeyFiles, number: int, io: UnitIO) -> NDArray[np.int64]:
    """(documents,) the rows of a file that were dropped before a step, sorted."""
    if number < files.earlier:
        if not files.unkept:
            return np.empty(0, np.int64)
        return np.asarray(io.arrays(files.unkept[number])["documents"] - files.starts[number])
    rows = [np.empty(0, np.int64)]
    for slices in files.excluded:
        path, unit = slices[number - files.earlier]
        arrays = io.arrays(path)
        first, stop = arrays["dropped_offsets"][unit : unit + 2].tolist()
        rows.append(arrays["dropped"][first:stop].astype(np.int64))
    return sort_distinct(np.concatenate(rows)) if len(rows) > 2 else rows[-1]


def pieces(
    partition: int, files: KeyFiles, io: UnitIO, payload: tuple[str, ...], all_documents: bool = False
) -> Iterator[Partition]:
    """A partition file by file, for work that need not hold all of it.

    all_documents   those that `dropped_documents` names as well
    """
    for number, path in enumerate(files.keys):
        dropped = np.empty(0, np.int64) if all_documents else dropped_documents(files, io, number)
        inputs = PartitionRange(partition, partition + 1)
        slices = _with_slices(inputs, files, io, path, payload, ())
        piece = _piece(inputs, files, slices, dropped, payload, ())
        yield Partition(piece.keys, piece.rows + files.starts[number], piece.carried)


def _piece(
    inputs: PartitionRange,
    files: KeyFiles,
    slices: Slices,
    dropped: NDArray[np.int64],
    payload: tuple[str, ...],
    columns: tuple[str, ...],
) -> RecordPiece:
    """Without the records of dropped rows."""
    arrays, stored, offsets = slices
    if stored == files.partitions:
        start, stop = offsets[[0, -1]].tolist()
        ends = offsets - start
        read: Callable[[str], NDArray[Any]] = partial(arrays.copied, start=start, stop=stop)
    else:
        records = [
            begin + rows
            for begin, rows in (_records(p, files.partitions, arrays) for p in range(inputs.first, inputs.stop))
        ]
        read = partial(arrays.take, rows=np.concatenate(records))
        ends = np.cumsum([0, *map(len, records)])
    keys, row = keys_and_rows(arrays, read)
    carried = {name: read(name) for name in payload}
    if stored == files.partitions:
        for name in (*keyed(arrays), *payload):
            arrays.has_read(name, start, stop)
    if len(dropped):
        remaining = absent(row, dropped)
        keys, row, carried = (
            keys[remaining],
            row[remaining],
            {name: values[remaining] for name, values in carried.items()},
        )
        ends = np.append(0, np.cumsum(remaining))[ends]
    carried |= {name: arrays.take(name, row) if name in arrays else np.zeros(len(row)) for name in columns}
    return RecordPiece(keys, row, carried, ends)


def _records(partition: int, partitions: int, arrays: Arrays) -> tuple[int, NDArray[np.int64]]:
    """Where the records of a partition are in a file, in document order: a start, and places from there.

    A file may have its bands cut into more or fewer partitions than are asked for.
    """
    band, part = divmod(partition, partitions)
    stored = int(arrays.part("partitions", 0, 1)[0])
    offsets = arrays["offsets"]
    if stored >= partitions:
        ratio = stored // partitions
        first = band * stored + part * ratio
        start, stop = int(offsets[first]), int(offsets[first + ratio])
        if ratio == 1:
            return start, np.arange(stop - start)
        _, row = keys_and_rows(arrays, partial(arrays.part, start=start, stop=stop))
        return start, np.argsort(row, kind="stable")
    first = band * stored + part // (partitions // stored)
    start, stop = int(offsets[first]), int(offsets[first + 1])
    keys, _ = keys_and_rows(arrays, partial(arrays.part, start=start, stop=stop))
    top = keys >> np.uint64(64 - (partitions.bit_length() - 1))
    return start, np.flatnonzero(top == np.uint64(part))


def by_document(io: UnitIO, files: KeyFiles, documents: NDArray[np.int64], name: str) -> NDArray[Any]:
    """Rows of an array by document, for sorted document numbers."""
    sample = io.arrays(files.keys[-1], files.scattered).part(name, 0, 0)
    rows = np.empty((len(documents), *sample.shape[1:]), sample.dtype)
    requests = [
        (path, first, stop, start)
        for path, start, first, stop in zip(
            files.keys,
            files.starts.tolist(),
            *np.searchsorted(documents, [files.starts[:-1], files.starts[1:]]).tolist(),
        )
        if first < stop
    ]

    def begun(path: str, first: int, stop: int, start: int) -> tuple[Arrays, NDArray[np.int64], int, int]:
        arrays, own = io.arrays(path, files.scattered), documents[first:stop] - start
        arrays.will_need(name, own)
        return arrays, own, first, stop

    for arrays, own, first, stop in ahead((partial(begun, *request) for request in requests), io, files):
        rows[first:stop] = arrays.take(name, own)
    return rows


# ------------------------------------------------------------- which duplicate is preferred


def is_ranked(io: UnitIO, files: KeyFiles) -> bool:
    """Whether another document than the earlier one may be preferred."""
    return "rank" in io.arrays(files.keys[-1], files.scattered)


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
    ranks = np.empty(len(documents), np.int64)
    ranks[order] = np.arange(len(documents))
    return ranks


def ids_of(io: UnitIO, files: KeyFiles, documents: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(documents, 16) the ids of sorted documents, which are 32 hexadecimal digits, as bytes."""
    ids = np.empty((len(documents), 16), np.uint8)
    for path, start, end in zip(files.docs, files.starts.tolist(), files.starts[1:].tolist()):
        first, stop = np.searchsorted(documents, [start, end])
        if first < stop:
            row = start
            for batch in io.parquet(path).iter_batches(ROWS, columns=["id"], use_threads=False):
                upto = first + int(np.searchsorted(documents[first:stop], row + len(batch)))
                ids[first:upto] = id_bytes(batch["id"].take(pa.array(documents[first:upto] - row)))
                first, row = upto, row + len(batch)
    return ids


def id_bytes(ids: pa.StringArray) -> NDArray[np.uint8]:
    """(documents, 16) ids as bytes."""
    return np.frombuffer(bytes.fromhex("".join(ids.to_pylist())), np.uint8).reshape(-1, 16)
