"""The documents of a unit as they come to the steps of a pass, by the care that its attempt is to take.

A first attempt has nothing to be careful about: documents pass as the reader gives them. One that follows attempts that
ended without a commit says where it is, and puts fewer documents through at a time; one that tries some records reads
up to these, and puts no others through; all of them leave out what was set aside, for which there is a dead letter. See
`execute.attempts`, which decides.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.read import BATCH_ROWS, END, FilePiece, ReadCounts, Reader, split_bytes
from corpusmill.schema import DEAD, document_id
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.units import USUAL, AttemptPosition, QuarantinedRecord

PARTS = 64  # that a range of a file is cut into when its reader is tried
Rows = NDArray[np.int64]


class BatchFeeder:
    """Documents in the parts that go through the steps together, and where they are.

    Positions are those of the documents in their file for the first pass, numbers of rows for a later one; a file of
    the unit's inputs is called by its number, `part`.
    """

    def __init__(self, io: UnitIO | None = None, by_source: bool = False) -> None:
        """by_source   documents that go through the steps together are of one source"""
        self._by_source = by_source
        self._care = io.care if io else USUAL
        self._say = io.at if io and io.care.rows else None
        self._at: AttemptPosition | None = None
        self._has_tried = False  # whether documents that are to be tried have come
        self.passed = False  # whether others have come after them: then there is nothing left to do

    def before(self, step: str) -> None:
        """The documents that were given last are about to go through a step."""
        if self._say and self._at:
            self._say(replace(self._at, step=step))

    def read(
        self, part: int, reader: Reader, piece: FilePiece, source: str, counts: ReadCounts
    ) -> Generator[pa.RecordBatch, None, None]:
        """The documents of a piece. Dead letters of what is not read go to `counts`."""
        probe = self._care.probe
        asides = [aside for aside in self._care.aside if aside.at.reading and aside.at.part == part]
        if not self._say and not asides:
            yield from reader.read(piece, source, counts)
        elif probe is None or probe.part == part:
            to_read = replace(piece, start=probe.first, stop=probe.last) if probe and probe.reading else piece
            behind = 0  # where the next document is at the earliest
            for span in _ranges(reader, to_read, asides, is_probe=to_read is not piece):
                cut, aside, _ = span
                for docs in self._read_range(part, reader, span, source, counts):
                    behind = int(positions_of(docs).max(initial=-1)) + 1
                    if not (probe and probe.reading):
                        yield docs
                    if self.passed:
                        return
                counts.batch_rows = BATCH_ROWS
                if aside:
                    _not_read(reader, piece, source, counts, aside, max(behind, cut.start))

    def _read_range(
        self,
        part: int,
        reader: Reader,
        span: tuple[FilePiece, QuarantinedRecord | None, bool],
        source: str,
        counts: ReadCounts,
    ) -> Iterator[pa.RecordBatch]:
        """The documents of one of `_ranges`."""
        piece, aside, single = span
        batches = reader.read(piece, source, counts)
        count = 0
        while aside is None or count < aside.at.given:
            if aside:
                counts.batch_rows = min(BATCH_ROWS, aside.at.given - count)
            elif single:
                counts.batch_rows = 1
            where = f"{piece.file.path}, from {piece.start}"
            self._at = AttemptPosition(
                part, piece.start, piece.stop, reading=True, given=count, single=single, where=where
            )
            self.before(name_of(reader))
            docs = next(batches, None)
            if docs is None:
                return
            count += len(docs)
            yield docs

    def cut(self, part: int, docs: pa.RecordBatch, positions: Rows) -> Iterator[tuple[int, int]]:
        """(start, stop): which of some neighbouring documents go through the steps together, in order."""
        for start, stop in self.edges(docs):
            if not self._say and not self._care.aside:
                yield start, stop
            else:
                for first, last in self._careful_cut(part, docs.slice(start, stop - start), positions[start:stop]):
                    yield start + first, start + last

    def edges(self, docs: pa.RecordBatch) -> Iterator[tuple[int, int]]:
        """(start, stop) of neighbouring documents that may go through the steps together: those of one source, where
        steps are for some."""
        if not self._by_source:
            return pairwise([0, len(docs)])
        source = docs["source"].dictionary_encode().indices.to_numpy(zero_copy_only=False)
        return pairwise([0, *(np.flatnonzero(np.diff(source)) + 1).tolist(), len(docs)])

    def _careful_cut(self, part: int, docs: pa.RecordBatch, positions: Rows) -> Iterator[tuple[int, int]]:
        included = self._is_tried(part, positions)
        included[[row for row, _ in self.left_out(part, positions)]] = False
        for start, stop in _runs(included):
            rows = self._care.rows or stop - start
            for first in range(start, stop, rows):
                last = min(first + rows, stop)
                ends = int(positions[first]), int(positions[last - 1])
                where = f"{docs['file'][first].as_py()}:{docs['position'][first].as_py()}"
                self._at = AttemptPosition(part, *ends, count=last - first, single=last - first == 1, where=where)
                yield first, last

    def left_out(self, part: int, positions: Rows) -> list[tuple[int, QuarantinedRecord]]:
        """Which of some documents were set aside, in order: the place of each, and the record of that."""
        record_of: dict[int, QuarantinedRecord] = {}
        for aside in self._care.aside:
            if aside.at.part == part and not aside.at.reading:
                record_of |= dict.fromkeys(np.flatnonzero(_within(aside.at, positions)).tolist(), aside)
        return sorted(record_of.items(), key=lambda item: item[0])

    def _is_tried(self, part: int, positions: Rows) -> NDArray[np.bool_]:
        """(documents,) which of them this attempt puts through the steps."""
        probe = self._care.probe
        if probe is None:
            return np.ones(len(positions), bool)
        tried_rows = _within(probe, positions) & (probe.part == part) & (not probe.reading)
        self.passed = self._has_tried and not tried_rows.any()
        self._has_tried |= bool(tried_rows.any())
        return tried_rows


def letters(docs: pa.RecordBatch, left_out: Sequence[tuple[int, QuarantinedRecord]]) -> pa.RecordBatch:
    """The dead letters of documents that were set aside, with the columns of DEAD."""
    rows: list[dict[str, Any]] = []
    for row, aside in left_out:
        about = docs.select(["id", "source", "file", "position", "url"]).slice(row, 1).to_pylist()[0]
        reason = f"{aside.cause}, each time that this document was tried alone"
        rows.append({**about, "step": aside.at.step, "kind": aside.kind, "reason": reason, "expected": False})
    return pa.RecordBatch.from_pylist(rows, schema=DEAD)


def positions_of(docs: pa.RecordBatch) -> Rows:
    """(documents,) their positions."""
    positions: Rows = pc.fill_null(docs["position"], -1).to_numpy(zero_copy_only=False)
    return positions


def name_of(reader: Reader) -> str:
    """A reader's name as dead letters have it: "read/jsonl"."""
    module = type(reader).__module__
    return f"read/{module.rpartition('.')[2]}" if module.startswith("corpusmill.read.") else type(reader).__name__


def _ranges(
    reader: Reader, piece: FilePiece, asides: Sequence[QuarantinedRecord], is_probe: bool
) -> Iterator[tuple[FilePiece, QuarantinedRecord | None, bool]]:
    """A piece in the parts that it is read in: those that were set aside apart from others, and, if it is a probe, as
    small as can be seen at once. With each, why it is not read to its end, and whether it is single."""
    if is_probe:
        parts = cut_piece(reader, piece)
        yield from ((part, None, len(parts) == 1) for part in parts)
        return
    start = piece.start
    for aside in sorted(asides, key=lambda each: each.at.first):
        if aside.at.first > start:
            yield replace(piece, start=start, stop=aside.at.first), None, False
        yield replace(piece, start=aside.at.first, stop=aside.at.last), aside, True
        start = aside.at.last
    if start < piece.stop:
        yield replace(piece, start=start), None, False


def cut_piece(reader: Reader, piece: FilePiece) -> list[FilePiece]:
    """A piece in some PARTS, which together give the same documents; the piece alone, if its reader cannot cut it.

    Where a reader cuts a file follows from where it has cut it before: anywhere, or between its row groups and the
    like.
    """
    file = piece.file
    target = max(1, file.size // PARTS)
    coarse = reader.split([file], target)
    stop = min(piece.stop, file.size)
    if len(coarse) == 1:
        places = []
    elif [part.start for part in coarse] == [part.start for part in split_bytes(file, target)]:
        places = [piece.start + (stop - piece.start) * i // PARTS for i in range(1, PARTS)]
    else:
        inside = [part.start for part in reader.split([file], 1) if piece.start < part.start < piece.stop]
        places = inside[:: max(1, len(inside) // PARTS)]
    edges = [piece.start, *sorted({cut_at for cut_at in places if piece.start < cut_at < piece.stop}), piece.stop]
    return [replace(piece, start=start, stop=stop) for start, stop in pairwise(edges)]


def _not_read(
    reader: Reader, piece: FilePiece, source: str, counts: ReadCounts, aside: QuarantinedRecord, position: int
) -> None:
    at = aside.at
    until = "the end of the file" if at.last >= END else f"{at.last}"
    span = f"in the range from {at.first} to {until}"
    counts.dead(
        id=document_id(source, f"{piece.file.name}:{position}"),
        source=source,
        file=piece.file.path,
        position=position,
        url=None,
        step=at.step,
        kind=aside.kind,
        reason=f"{aside.cause}, each time that it was read on from here: what follows {span} is lost",
        expected=False,
    )


def _within(at: AttemptPosition, positions: Rows) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (positions >= at.first) & (positions <= at.last)
    return inside


def _runs(included: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """(start, stop) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], included, [False]]))).tolist()
    yield from zip(edges[::2], edges[1::2])
