"""The stages that find repeated passages.

    stretches   a unit is a partition of seeds: stretches that occurred before are cut whole; seeds whose stretches
                differ stay open
    windows     a unit is a file of documents: two hashes of every single window of the open stretches
    repeats     a unit is a partition of windows: those that occurred before
    verdicts    a unit is a file of documents: the bytes that all of these cover

What a stretch, a window and a seed is, is said in `corpusmill.text.passages`. Partitions are read file by file, in
order of documents; only distinct records are in memory, so that a passage that is everywhere costs no more than a rare
one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.steps.corpus import (
    DocumentFile,
    KeyFiles,
    after,
    against_stages,
    digest,
    documents_content,
    key_files,
    keys_content,
    pieces,
)
from corpusmill.steps.keys import CUTS, VERDICT, KeyStage
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Planner, Stage, Work
from corpusmill.text.buckets import scatter
from corpusmill.text.passages import Cut, cut_tokens, window_hashes
from corpusmill.text.repeats import RepeatIndex

RECORDS = 1 << 21  # of a partition, about: 100 MB for Seen where nearly all are distinct
RECORDS_EACH = 32  # seeds of a document of an earlier run, about
BATCH = 1024  # documents whose texts are in memory at a time

PASSAGES = pa.schema(
    [
        *VERDICT,
        ("cut_tokens", pa.int64()),  # plain tokens that are cut
        ("cut_share", pa.float64()),  # of all plain tokens of the document
        ("passages", pa.int64()),  # spans that are cut
    ]
)


@dataclass(frozen=True)
class Cutting:
    """The parameters of the step, see `substring.Substring`."""

    window: int
    keep_first: bool
    min_left: float | None
    mark: bool


@dataclass(frozen=True)
class Slice:
    """A partition of the records of a stage, which are cut into `partitions`."""

    number: int
    partitions: int


def substring_stages(keys: KeyStage, cutting: Cutting) -> list[Stage]:
    """Stages for keys of one band with the payload `whole`, `start`, `windows` and `times`."""
    stretches, windows, repeats = (f"{keys.label}-{name}" for name in ("stretches", "windows", "repeats"))

    def by_seed(upstream: Upstream) -> list[PlannedUnit]:
        records = int(upstream.results(keys.stage).numbers(keys.output).sum()) + keys.earlier.rows * RECORDS_EACH
        return slices(_partitions(records), keys_content(keys, upstream))

    def by_documents(upstream: Upstream) -> list[PlannedUnit]:
        starts = key_files(keys, upstream).starts.tolist()
        opened = digest(upstream.results(stretches)["open"])
        content = ((documents_content(keys, upstream, i), opened, f"{i}:{a}") for i, a in enumerate(starts[:-1]))
        return [PlannedUnit(DocumentFile(i), text) for i, text in enumerate(content)]

    def by_window(upstream: Upstream) -> list[PlannedUnit]:
        content = (*keys_content(keys, upstream), digest(upstream.results(windows)["keys"]))
        return slices(window_partitions(stretches, upstream), content)

    def by_own_documents(upstream: Upstream) -> list[PlannedUnit]:
        docs = upstream.results(keys.stage)["docs"]
        copies = [digest(upstream.results(stage)["copies"]) for stage in (stretches, repeats)]
        starts = docs.starts.tolist()
        content = ((docs.checksum(i), *copies, f"{keys.earlier.rows}:{starts[i]}") for i in range(len(docs)))
        return [PlannedUnit(DocumentFile(i), text) for i, text in enumerate(content)]

    def slices(partitions: int, content: tuple[str, ...]) -> list[PlannedUnit]:
        return [PlannedUnit(Slice(part, partitions), (*content, f"{part}/{partitions}")) for part in range(partitions)]

    def stage(name: str, work: Work[Any], looks: tuple[str, ...], units: Planner) -> Stage:
        return Stage(name, work, after(keys, *looks), units)

    return [
        *against_stages(keys),
        stage(stretches, StretchRepeats(keys, cutting.keep_first), (), by_seed),
        stage(windows, WindowKeys(keys, cutting.window), (stretches,), by_documents),
        stage(repeats, WindowRepeats(keys, cutting.keep_first), (stretches, windows), by_window),
        stage(f"{keys.label}-verdicts", SubstringVerdicts(keys, cutting), (stretches, repeats), by_own_documents),
    ]


def window_partitions(stretches: str, upstream: Upstream) -> int:
    """Partitions of the windows of open stretches."""
    return _partitions(int(upstream.results(stretches).numbers("open_windows").sum()))


def _partitions(records: int) -> int:
    """A power of two, so that none has many more than RECORDS."""
    slices = 1
    while records > slices * RECORDS:
        slices *= 2
    return slices


class Ranges(NamedTuple):
    """Windows [start, stop) of documents."""

    documents: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    @staticmethod
    def joined(parts: list["Ranges"]) -> "Ranges":
        """All of them, in order of documents."""
        nothing = Ranges(*[np.empty(0, np.int64)] * 3)
        documents, start, stop = (np.concatenate(columns) for columns in zip(nothing, *parts))
        order = np.argsort(documents, kind="stable")
        return Ranges(documents[order], start[order], stop[order])

    def pick(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> "Ranges":
        return Ranges(self.documents[which], self.start[which], self.stop[which])

    def write(self, io: UnitIO, name: str) -> None:
        small = {"start": self.start.astype(np.uint32), "stop": self.stop.astype(np.uint32)}
        io.write_arrays(name, len(self.documents), documents=self.documents, **small)

    @staticmethod
    def read(io: UnitIO, paths: list[str], first: int, stop: int) -> "Ranges":
        """Those of documents [first, stop) of all files, in order of documents and windows."""
        parts = []
        for path in paths:
            arrays = io.arrays(path)
            lo, hi = np.searchsorted(arrays["documents"], [first, stop])
            columns = (np.array(arrays[name][lo:hi], np.int64) for name in ("documents", "start", "stop"))
            parts.append(Ranges(*columns))
        ranges = Ranges.joined(parts)
        return ranges.pick(np.lexsort((ranges.start, ranges.documents)))


@dataclass(frozen=True)
class StretchRepeats:
    """Writes `copies`, the windows of stretches that occurred before, and `open`, those that may still repeat in
    part."""

    keys: KeyStage
    keep_first: bool

    def run(self, inputs: Slice, io: UnitIO) -> None:
        files = key_files(self.keys, io)._replace(partitions=inputs.partitions)
        opened = write_copies(io, files, inputs.number, self.keep_first, stretches=True)
        io.notes["open_windows"] = int((opened.stop - opened.start).sum())
        opened.write(io, "open")


@dataclass(frozen=True)
class WindowRepeats:
    """Writes `copies`, the windows that occurred before."""

    keys: KeyStage
    keep_first: bool

    def run(self, inputs: Slice, io: UnitIO) -> None:
        windows = io.results(f"{self.keys.label}-windows")["keys"].paths.to_pylist()
        files = key_files(self.keys, io)._replace(keys=windows, partitions=inputs.partitions)
        write_copies(io, files, inputs.number, self.keep_first, stretches=False)


def write_copies(io: UnitIO, files: KeyFiles, part: int, keep_first: bool, stretches: bool) -> Ranges:
    """Write the windows of a partition's records that occurred before; returns the stretches that stay open."""
    payload = ("whole", "start", *(("windows", "times") if stretches else ()))
    index = RepeatIndex()
    copies: list[Ranges] = []
    distinct: list[Ranges] = []  # the first of each, in the order in which `index` numbers them
    for number, piece in enumerate(pieces(part, files, io, payload, all_documents=not stretches)):
        io.heart.at(number, len(files.keys))
        before = index.add(piece.keys, piece.payload["whole"])
        start = piece.payload["start"].astype(np.int64)
        count = piece.payload["windows"].astype(np.int64) if stretches else np.ones(len(start), np.int64)
        times = piece.payload["times"] if stretches else np.ones(len(start), np.int64)
        stop, last = start + count, start + count * times
        # A stretch that follows itself at once is its own copy, but for the first time.
        is_repeat = before | ((times > 1) & (not keep_first))
        begin = np.where(is_repeat, start, stop)
        copies.append(Ranges(piece.documents, begin, last).pick(last > begin))
        distinct.append(Ranges(piece.documents, start, stop).pick(~before))
    firsts = Ranges.joined(distinct)
    if not keep_first:
        copies.append(firsts.pick(index.repeated()))
    repeated = Ranges.joined(copies)
    repeated.pick(repeated.documents >= files.own).write(io, "copies")
    return firsts.pick(index.related()) if stretches else Ranges.joined([])


@dataclass(frozen=True)
class WindowKeys:
    """Writes `keys`, a file of keys as the pass writes one: one record per window."""

    keys: KeyStage
    window: int

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        path = files.docs[inputs.number]
        first, stop = files.starts[inputs.number : inputs.number + 2].tolist()
        stretches = f"{self.keys.label}-stretches"
        opened = io.results(stretches)["open"].paths.to_pylist()
        open_ = Ranges.read(io, opened, first, stop)
        count = open_.stop - open_.start
        begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])  # of each stretch's windows
        key, whole = np.empty(begins[-1], np.uint64), np.empty(begins[-1], np.uint64)
        row, start = np.empty(begins[-1], np.uint32), np.empty(begins[-1], np.uint32)
        at = 0
        for texts, document, chosen in _texts_of(io, path, first, open_):
            rows = slice(begins[at], begins[at + len(document)])
            many, at = count[at : at + len(document)], at + len(document)
            key[rows], whole[rows] = window_hashes(texts, document, chosen.start, many, self.window)
            row[rows] = np.repeat(chosen.documents - first, many)
            start[rows] = np.repeat(chosen.start - (np.cumsum(many) - many), many) + np.arange(many.sum())
        partitions = window_partitions(stretches, io)
        offsets, sorted_keys, order = scatter(key[:, None], partitions)
        io.write_arrays(
            "keys",
            stop - first,
            partitions=np.array([partitions]),
            offsets=offsets,
            keys=sorted_keys,
            row=row[order],
            whole=whole[order],
            start=start[order],
        )


@dataclass(frozen=True)
class SubstringVerdicts:
    keys: KeyStage
    cutting: Cutting

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        number = files.earlier + inputs.number
        path = files.docs[number]
        first, stop = files.starts[number : number + 2].tolist()
        stages = (f"{self.keys.label}-stretches", f"{self.keys.label}-repeats")
        paths = [path for stage in stages for path in io.results(stage)["copies"].paths.to_pylist()]
        io.write("verdicts", _nothing(PASSAGES))
        io.write("cuts", _nothing(CUTS))
        copies = Ranges.read(io, paths, first, stop)
        for texts, document, chosen in _texts_of(io, path, first, copies):
            cut = cut_tokens(texts, document, chosen.start, chosen.stop + self.cutting.window - 1)
            documents = np.unique(chosen.documents) - first
            io.write("verdicts", self.verdicts(documents, cut))
            if not self.cutting.mark:
                columns = (documents[cut.spans[:, 0]], cut.spans[:, 1], cut.spans[:, 2])
                io.write("cuts", pa.record_batch([pa.array(column) for column in columns], schema=CUTS))

    def verdicts(self, documents: NDArray[np.int64], cut: Cut) -> pa.RecordBatch:
        remaining = (cut.tokens - cut.cut) / cut.tokens
        min_left = 0.0 if self.cutting.min_left is None or self.cutting.mark else self.cutting.min_left
        # A document of which nothing is left is dropped by the engine, as empty.
        short = (remaining > 0) & (remaining < min_left)
        columns = [
            pa.array(documents),
            pc.if_else(pa.array(short), pa.scalar("min_left"), pa.scalar(None, pa.string())),
            pa.array(cut.cut),
            pa.array(cut.cut / cut.tokens),
            pa.array(np.bincount(cut.spans[:, 0], minlength=len(documents)).astype(np.int64)),
        ]
        return pa.record_batch(columns, schema=PASSAGES)


def _nothing(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _texts_of(
    io: UnitIO, path: str, first: int, ranges: Ranges
) -> Iterator[tuple[pa.LargeStringArray, NDArray[np.int64], Ranges]]:
    """The texts of the documents that have ranges, some at a time; the text that each range is of; and the ranges.

    first   the number of the first document of the file
    """
    row, file = first, io.parquet(path)
    for batch in file.iter_batches(BATCH, columns=["text"], use_threads=False) if len(ranges.start) else ():
        io.heart.at(row - first, file.metadata.num_rows)
        lo, hi = np.searchsorted(ranges.documents, [row, row + len(batch)])
        if lo < hi:
            own = Ranges(*(column[lo:hi] for column in ranges))
            rows, document = np.unique(own.documents, return_inverse=True)
            yield batch["text"].take(pa.array(rows - row)), document.astype(np.int64), own
        row += len(batch)
