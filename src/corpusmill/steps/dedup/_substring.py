"""The stages that find repeated passages.

    stretches   a unit a partition of seeds: stretches that came before go whole; seeds whose stretches differ stay open
    windows     a unit a unit of documents: two hashes of every single window of the open stretches
    repeats     a unit a partition of windows: those that came before
    spans       a unit a unit of documents: the bytes that all of these cover
    verdicts    one unit: the same of all documents

What a stretch, a window and a seed is, is said in `corpusmill.text.passages`. Partitions are read file by file, in order
of documents; only distinct records are in memory, so that a passage that is everywhere costs no more than a rare one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.keys import CUTS, VERDICT, Signed
from corpusmill.steps.dedup._records import (
    Files,
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
from corpusmill.units import Committed, Stage, Unit, UnitIO

RECORDS = 1 << 21  # of a partition, about: 100 MB for Seen where nearly all are distinct
RECORD = 28  # bytes of a stretch in a file of keys
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
    min_left: int
    mark: bool


def substring_stages(signed: Signed, cutting: Cutting) -> list[Stage]:
    """Stages for keys of one band with the riders `whole`, `start`, `count` and `times`."""
    names = [f"{signed.label}-{name}" for name in ("stretches", "windows", "repeats", "spans", "verdicts")]
    stretches, windows, repeats, spans, decide = names
    prints = [fingerprint(signed, name) for name in names]

    def by_seed(done: Committed, root: Path) -> list[Unit]:
        files = files_of(signed, done)
        size = sum(commit.outputs[signed.output].bytes for commit in done[signed.stage])
        own = max(files.bases[-1] - files.own, 1)
        files = files._replace(slices=_parts(size // RECORD * files.bases[-1] // own, signed.slices))
        return [Unit(part, (part, files)) for part in range(files.slices)]

    def by_documents(done: Committed, root: Path) -> list[Unit]:
        files = files_of(signed, done)
        opened = tuple(commit.outputs["open"].path for commit in done[stretches])
        slices = _parts(sum(commit.facts["open_windows"] for commit in done[stretches]), 1)
        return [Unit(i, (docs, *files.bases[i : i + 2], opened, slices)) for i, docs in enumerate(files.docs)]

    def by_window(done: Committed, root: Path) -> list[Unit]:
        files = files_of(signed, done)
        keys = tuple(commit.outputs["keys"].path for commit in done[windows])
        slices = _parts(sum(commit.facts["open_windows"] for commit in done[stretches]), 1)
        files = files._replace(keys=keys, verdicts=(), unkept=(), slices=slices)
        return [Unit(part, (part, files)) for part in range(slices)]

    def by_own_documents(done: Committed, root: Path) -> list[Unit]:
        files = files_of(signed, done)
        found = tuple(commit.outputs["copies"].path for stage in (stretches, repeats) for commit in done[stage])
        own = len(signed.earlier)
        bases = zip(files.bases[own:], files.bases[own + 1 :])
        return [Unit(i, (files.docs[own + i], *base, files.own, found)) for i, base in enumerate(bases)]

    def one_unit(done: Committed, root: Path) -> list[Unit]:
        outputs = [commit.outputs for commit in done[spans]]
        return [Unit(0, (tuple((found["verdicts"].path, found["cuts"].path) for found in outputs),))]

    return [
        *against_stages(signed),
        Stage(stretches, prints[0], Repeats(cutting.keep_first, stretches=True), after(signed), by_seed),
        Stage(windows, prints[1], Windows(cutting.window), after(signed, stretches), by_documents),
        Stage(
            repeats, prints[2], Repeats(cutting.keep_first, stretches=False), after(signed, stretches, windows), by_window
        ),
        Stage(spans, prints[3], Spans(cutting), after(signed, stretches, repeats), by_own_documents),
        Stage(decide, prints[4], Join(), (spans,), one_unit),
    ]


def _parts(records: int, least: int) -> int:
    """How many partitions: a power of two, as `least` is."""
    while records > least * RECORDS:
        least *= 2
    return least


class Ranges(NamedTuple):
    """Windows [start, stop) of documents."""

    documents: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    @staticmethod
    def joined(parts: list["Ranges"]) -> "Ranges":
        """All of them, in order of documents."""
        nothing = np.empty(0, np.int64)
        documents, start, stop = (np.concatenate([nothing, *columns]) for columns in zip(*parts))
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
        riders = ("whole", "start", *(("count", "times") if self.stretches else ()))
        seen = Seen()
        copies: list[Ranges] = []
        distinct: list[Ranges] = []  # the first of each, in the order in which `seen` numbers them
        for piece in pieces(part, files, gone_documents(files, io), io, riders):
            before = seen.add(piece.keys, piece.riders["whole"])
            start = piece.riders["start"].astype(np.int64)
            count = piece.riders["count"].astype(np.int64) if self.stretches else np.ones(len(start), np.int64)
            stop = start + count
            if self.stretches:
                # One that follows itself at once is its own first copy.
                last = start + count * piece.riders["times"]
                follows = Ranges(piece.documents, stop, last).pick(~before & (last > stop))
                copies.append(follows)
                if not self.keep_first:
                    copies.append(Ranges(follows.documents, follows.start - (last - stop)[:0].sum(), follows.stop))
            copies.append(Ranges(piece.documents, start, stop).pick(before))
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
