"""The stages that find repeated passages.

    stretches   a unit a partition of seeds: stretches that came before go whole; seeds whose stretches differ stay open
    windows     a unit a unit of documents: two hashes of every single window of the open stretches
    repeats     a unit a partition of windows: those that came before
    verdicts    a unit a unit of documents: the bytes that all of these cover

What a stretch, a window and a seed is, is said in `corpusmill.text.passages`. Partitions are read file by file, in order
of documents; only distinct records are in memory, so that a passage that is everywhere costs no more than a rare one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.keys import CUTS, VERDICT, Signed
from corpusmill.steps.dedup._records import (
    Files,
    Planner,
    after,
    against_stages,
    files_of,
    fingerprint,
    gone_documents,
    pieces,
)
from corpusmill.text.buckets import scatter
from corpusmill.text.passages import Cut, cut_tokens, window_hashes
from corpusmill.text.repeats import Seen
from corpusmill.units import Committed, Stage, Unit, UnitIO, Work, map_arrays

RECORDS = 1 << 21  # of a partition, about: 100 MB for Seen where nearly all are distinct
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


def substring_stages(signed: Signed, cutting: Cutting) -> list[Stage]:
    """Stages for keys of one band with the riders `whole`, `start`, `windows` and `times`."""
    stretches, windows, repeats = (f"{signed.label}-{name}" for name in ("stretches", "windows", "repeats"))

    def by_seed(done: Committed, root: Path) -> list[Unit]:
        files = files_of(signed, done)
        slices = _partitions(sum(len(map_arrays(root / path)["keys"]) for path in files.keys))
        files = files._replace(slices=slices)
        return [Unit(part, (part, files)) for part in range(slices)]

    def window_slices(done: Committed) -> int:
        return _partitions(sum(commit.facts["open_windows"] for commit in done[stretches]))

    def by_documents(done: Committed, root: Path) -> list[Unit]:
        files, slices = files_of(signed, done), window_slices(done)
        opened = tuple(commit.outputs["open"].path for commit in done[stretches])
        return [Unit(i, (docs, *files.bases[i : i + 2], opened, slices)) for i, docs in enumerate(files.docs)]

    def by_window(done: Committed, root: Path) -> list[Unit]:
        keys, slices = tuple(commit.outputs["keys"].path for commit in done[windows]), window_slices(done)
        files = files_of(signed, done)._replace(keys=keys, verdicts=(), unkept=(), slices=slices)
        return [Unit(part, (part, files)) for part in range(slices)]

    def by_own_documents(done: Committed, root: Path) -> list[Unit]:
        files, earlier = files_of(signed, done), len(signed.earlier)
        found = tuple(commit.outputs["copies"].path for stage in (stretches, repeats) for commit in done[stage])
        bases = zip(files.docs[earlier:], files.bases[earlier:], files.bases[earlier + 1 :])
        return [Unit(i, (*own, files.own, found)) for i, own in enumerate(bases)]

    def stage(name: str, work: Work, looks: tuple[str, ...], units: Planner) -> Stage:
        return Stage(name, fingerprint(signed, name), work, after(signed, *looks), units)

    keep_first = cutting.keep_first
    return [
        *against_stages(signed),
        stage(stretches, Repeats(keep_first, stretches=True), (), by_seed),
        stage(windows, Windows(cutting.window), (stretches,), by_documents),
        stage(repeats, Repeats(keep_first, stretches=False), (stretches, windows), by_window),
        stage(f"{signed.label}-verdicts", Decide(cutting), (stretches, repeats), by_own_documents),
    ]


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
        found = Ranges.joined(parts)
        return found.pick(np.lexsort((found.start, found.documents)))


@dataclass(frozen=True)
class Repeats:
    """Unit inputs: a partition, files. Writes `copies`, and of stretches those that are `open`."""

    keep_first: bool
    stretches: bool

    def run(self, unit: Unit, io: UnitIO) -> None:
        part, packed = unit.inputs
        files = Files(*packed)
        riders = ("whole", "start", *(("windows", "times") if self.stretches else ()))
        seen = Seen()
        copies: list[Ranges] = []
        distinct: list[Ranges] = []  # the first of each, in the order in which `seen` numbers them
        for piece in pieces(part, files, gone_documents(files, io), io, riders):
            before = seen.add(piece.keys, piece.riders["whole"])
            start = piece.riders["start"].astype(np.int64)
            count = piece.riders["windows"].astype(np.int64) if self.stretches else np.ones(len(start), np.int64)
            times = piece.riders["times"] if self.stretches else np.ones(len(start), np.int64)
            stop, last = start + count, start + count * times
            # A stretch that follows itself at once is its own copy, but for the first time.
            whole = before | ((times > 1) & (not self.keep_first))
            begin = np.where(whole, start, stop)
            copies.append(Ranges(piece.documents, begin, last).pick(last > begin))
            distinct.append(Ranges(piece.documents, start, stop).pick(~before))
        firsts = Ranges.joined(distinct)
        if not self.keep_first:
            copies.append(firsts.pick(seen.repeated()))
        found = Ranges.joined(copies)
        found.pick(found.documents >= files.own).write(io, "copies")
        if self.stretches:
            opened = firsts.pick(seen.related())
            io.facts["open_windows"] = int((opened.stop - opened.start).sum())
            opened.write(io, "open")


@dataclass(frozen=True)
class Windows:
    """Unit inputs: a file of documents, the numbers of its first and last + 1 document, files of open stretches, slices.

    Writes `keys`, a file of keys as the pass writes one: one record a window.
    """

    window: int

    def run(self, unit: Unit, io: UnitIO) -> None:
        path, first, stop, opened, slices = unit.inputs
        open_ = Ranges.read(io, opened, first, stop)
        count = open_.stop - open_.start
        begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])  # of each stretch's windows
        key, whole = np.empty(begins[-1], np.uint64), np.empty(begins[-1], np.uint64)
        row, start = np.empty(begins[-1], np.uint32), np.empty(begins[-1], np.uint32)
        at = 0
        for texts, document, chosen in _texts_of(io, path, first, open_):
            here = slice(begins[at], begins[at + len(document)])
            many, at = count[at : at + len(document)], at + len(document)
            key[here], whole[here] = window_hashes(texts, document, chosen.start, many, self.window)
            row[here] = np.repeat(chosen.documents - first, many)
            start[here] = np.repeat(chosen.start - (np.cumsum(many) - many), many) + np.arange(many.sum())
        offsets, sorted_keys, order = scatter(key[:, None], slices)
        io.write_arrays(
            "keys",
            stop - first,
            slices=np.array([slices]),
            offsets=offsets,
            keys=sorted_keys,
            row=row[order],
            whole=whole[order],
            start=start[order],
        )


@dataclass(frozen=True)
class Decide:
    """Unit inputs: a file of documents, the numbers of its first and last + 1 document and of the first document of this
    run, files of copies."""

    cutting: Cutting

    def run(self, unit: Unit, io: UnitIO) -> None:
        path, first, stop, own, found = unit.inputs
        io.write("verdicts", _nothing(PASSAGES))
        io.write("cuts", _nothing(CUTS))
        copies = Ranges.read(io, found, first, stop)
        for texts, document, chosen in _texts_of(io, path, first, copies):
            cut = cut_tokens(texts, document, chosen.start, chosen.stop + self.cutting.window - 1)
            documents = np.unique(chosen.documents) - own
            io.write("verdicts", self.verdicts(documents, cut))
            if not self.cutting.mark:
                columns = (documents[cut.spans[:, 0]], cut.spans[:, 1], cut.spans[:, 2])
                io.write("cuts", pa.record_batch([pa.array(column) for column in columns], schema=CUTS))

    def verdicts(self, documents: NDArray[np.int64], cut: Cut) -> pa.RecordBatch:
        left = (cut.tokens - cut.cut) / cut.tokens
        least = 0.0 if self.cutting.min_left is None or self.cutting.mark else self.cutting.min_left
        # What nothing is left of is dropped by the engine, as empty.
        short = (left > 0) & (left < least)
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
    row = first
    for batch in io.parquet(path).iter_batches(BATCH, columns=["text"], use_threads=False) if len(ranges.start) else ():
        lo, hi = np.searchsorted(ranges.documents, [row, row + len(batch)])
        if lo < hi:
            here = Ranges(*(column[lo:hi] for column in ranges))
            rows, document = np.unique(here.documents, return_inverse=True)
            yield batch["text"].take(pa.array(rows - row)), document.astype(np.int64), here
        row += len(batch)
