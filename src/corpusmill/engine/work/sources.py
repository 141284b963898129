"""Where the documents of a pass come from: files of the input, or what the pass before stored, with verdicts on it.

The first batch of every unit is empty, so that every output has its schema even of a unit without documents.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from corpusmill.engine.work.batch import Batch
from corpusmill.engine.work.careful import BatchFeeder, letters, positions_of
from corpusmill.engine.work.limited import Limited, SourceLimit
from corpusmill.engine.work.pass_documents import ROW
from corpusmill.engine.work.pass_parts import InputPieces, VerdictSource
from corpusmill.engine.work.pass_results import UnitOfPass
from corpusmill.engine.work.planted import UnitWithCanaries, put_in
from corpusmill.engine.work.step_chain import StepChain, Verdicts, is_for
from corpusmill.engine.work.texts_in_place import IN_PLACE, REFERRING
from corpusmill.read import KeepsColumns, ReadCounts
from corpusmill.schema import COUNTED, DEAD, DOCUMENT, OWN
from corpusmill.steps import Columns, MadeDocuments, MakesDocuments
from corpusmill.steps.keys import CUTS
from corpusmill.steps.verdict_tables import table_of
from corpusmill.store.facts import add
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.units import QuarantinedRecord, Results

ROWS = 1024  # documents that a later pass has in memory at a time
ROWS_WITHOUT_TEXT = 16 * ROWS


@dataclass(frozen=True)
class OwnSchema:
    """The columns of the input that the documents of a run keep; they are signals of its first pass.

    encoded   a schema of Arrow, as base64; "": they keep none
    """

    encoded: str = ""

    @staticmethod
    def from_schema(schema: pa.Schema | None) -> "OwnSchema":
        return OwnSchema("" if schema is None else b64encode(schema.serialize().to_pybytes()).decode())

    @property
    def schema(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(b64decode(self.encoded))) if self.encoded else pa.schema([])

    @cached_property
    def signals(self) -> dict[str, pa.DataType]:
        """signal -> type."""
        return {f"{OWN}{field.name}": field.type for field in self.schema}

    def new_counts(self, reader: Any) -> ReadCounts:
        """What a reader is given, so that its documents bring these columns with them."""
        keeps = self.encoded and isinstance(reader, KeepsColumns) and reader.columns is not None
        return ReadCounts(columns=self.schema if keeps else None)

    def batch(self, docs: pa.RecordBatch) -> Batch:
        """A batch of documents that were read with these columns, or without."""
        return Batch.read(docs, self.signals)


NO_COLUMNS = OwnSchema()


@runtime_checkable
class BringsColumns(Protocol):
    """A source of a first pass, which brings columns of the input."""

    @property
    def own(self) -> OwnSchema: ...


class PassSource(Protocol):
    """Gives the batches of a unit, with the verdicts of the corpus steps before the chain's steps."""

    def read(self, inputs: Any, io: UnitIO, feeder: BatchFeeder, chain: StepChain) -> Iterator[Batch]: ...

    def nothing(self, chain: StepChain) -> Batch:
        """A batch without documents."""


@dataclass(frozen=True)
class InputFiles:
    """The source of the first pass. Its units have `InputPieces`.

    readers   the name and the reader of each source of the recipe
    limited   which documents are taken; None for all
    own       the columns of the input that documents keep
    """

    readers: tuple[tuple[str, Any], ...]
    limited: Limited | None = None
    own: OwnSchema = NO_COLUMNS

    def nothing(self, chain: StepChain) -> Batch:
        return self.own.batch(pa.RecordBatch.from_pylist([], schema=DOCUMENT))

    def read(self, inputs: InputPieces, io: UnitIO, feeder: BatchFeeder, chain: StepChain) -> Iterator[Batch]:
        io.write("dead", pa.RecordBatch.from_pylist([], schema=DEAD))
        yield self.nothing(chain)
        pieces = [(part.source, piece) for part in inputs.sources for piece in part.pieces]
        size, bytes_read = sum(piece.size for _, piece in pieces), 0
        limit = SourceLimit(self.limited)
        for part, (index, piece) in enumerate(pieces):
            io.heart.at(bytes_read, size)
            bytes_read += piece.size
            if not limit.remaining(index):
                continue
            source, reader = self.readers[index]
            counts = self.own.new_counts(reader)
            for docs in limit.select(index, feeder.read(part, reader, piece, source, counts), counts):
                positions = positions_of(docs)
                left_out = feeder.left_out(part, positions)
                add(io.facts, "read", source, "documents", count=len(docs) - len(left_out))
                _write_dead(io, source, counts.drain())
                _write_dead(io, source, letters(docs, left_out))
                for start, stop in feeder.cut(part, docs, positions):
                    yield self.own.batch(docs.slice(start, stop - start))
            _write_dead(io, source, counts.drain())
            for kind, count in sorted(counts.skipped.items()):
                add(io.facts, "read", source, "skipped", kind, count=count)
            for name in ("unread_dates", "broken_texts"):
                if count := getattr(counts, name):
                    add(io.facts, "read", source, name, count=count)
            add(io.facts, "read", source, "records", count=counts.records)
            add(io.facts, "read", source, "bytes", count=piece.size)


@dataclass(frozen=True)
class StoredDocuments:
    """The documents that the pass before stored. Units have `UnitOfPass`, or `UnitWithCanaries`.

    stage   the pass before
    """

    stage: str

    def nothing(self, chain: StepChain) -> Batch:
        return chain.nothing()

    def read(
        self, inputs: UnitOfPass | UnitWithCanaries, io: UnitIO, feeder: BatchFeeder, chain: StepChain
    ) -> Iterator[Batch]:
        io.write("dead", pa.RecordBatch.from_pylist([], schema=DEAD))
        verdicts = [_verdicts_on(inputs.number, judge, io.results(judge.stage), io) for judge in chain.judged]
        yield self.nothing(chain)
        before = io.results(self.stage)
        file = io.parquet(before["docs"].path(inputs.number))
        names = self._columns(chain)
        rows = ROWS if "text" in names else ROWS_WITHOUT_TEXT
        batches = file.iter_batches(rows, columns=names, use_threads=False)
        if isinstance(inputs, UnitWithCanaries):
            batches = put_in(batches, inputs, before, io)
        begin = 0
        for stored in batches:
            io.heart.at(begin, file.metadata.num_rows)
            docs = _as_documents(stored)
            positions = np.arange(begin, begin + len(docs))
            note_left_out(docs, feeder.left_out(0, positions), chain, io)
            for start, stop in feeder.cut(0, docs, positions):
                rows_of_batch = stored.slice(start, stop - start)
                columns = self._extra_columns(rows_of_batch, begin + start)
                batch = chain.judge(docs.slice(start, stop - start), begin + start, verdicts, columns)
                batch.tokens = rows_of_batch["tokens"]
                batch.texts_stage = self.stage
                yield batch
            begin += len(docs)
            if feeder.passed:
                return

    def _columns(self, chain: StepChain) -> list[str]:
        return list(COUNTED.names)

    def _extra_columns(self, stored: pa.RecordBatch, first: int) -> pa.RecordBatch | None:
        return None


@dataclass(frozen=True)
class TextsInPlace(StoredDocuments):
    """The same for a pass that leaves its texts in the files of the pass before: see `texts_in_place`."""

    def nothing(self, chain: StepChain) -> Batch:
        batch = chain.nothing(pa.RecordBatch.from_pylist([], schema=pa.schema([*IN_PLACE, REFERRING.field(ROW)])))
        batch.texts_stage = self.stage
        return batch

    def _columns(self, chain: StepChain) -> list[str]:
        unread = () if chain.steps else ("text", "metadata")
        return [*(name for name in COUNTED.names if name not in unread), *IN_PLACE.names]

    def _extra_columns(self, stored: pa.RecordBatch, first: int) -> pa.RecordBatch:
        return stored.select(IN_PLACE.names).append_column(ROW, pa.array(np.arange(first, first + len(stored))))


@dataclass(frozen=True)
class MadeOfStored(StoredDocuments):
    """The same with the documents that the first step makes of them, each behind the one that it is made of. No
    verdicts come with them: what they would drop is dropped by a pass before.

    label    of the step
    source   of what it makes
    only     the sources that it makes documents of, and its own; None: all
    """

    label: str
    source: str
    only: tuple[str, ...] | None = None

    def nothing(self, chain: StepChain) -> Batch:
        batch = chain.nothing()
        batch.signals.update(self._by_label(self._step(chain).make(batch.docs).signals))
        return batch

    def read(
        self, inputs: UnitOfPass | UnitWithCanaries, io: UnitIO, feeder: BatchFeeder, chain: StepChain
    ) -> Iterator[Batch]:
        step, nothing = self._step(chain), self.nothing(chain)
        for stored in StoredDocuments(self.stage).read(inputs, io, feeder, chain):
            if not len(stored.docs):
                yield nothing
                continue
            if not is_for(self.only, stored.docs):
                signals = {name: pa.nulls(len(stored.docs), column.type) for name, column in nothing.signals.items()}
                yield _with_signals(stored.docs, signals)
                continue
            feeder.before(self.label)
            made = step.make(stored.docs)
            self._note(made, len(stored.docs), io)
            for start, stop in feeder.edges(made.docs):
                signals = {name: column.slice(start, stop - start) for name, column in made.signals.items()}
                yield _with_signals(made.docs.slice(start, stop - start), self._by_label(signals))

    def _step(self, chain: StepChain) -> MakesDocuments:
        step: MakesDocuments = dict(chain.steps)[self.label]
        return step

    def _by_label(self, signals: Columns) -> dict[str, pa.Array]:
        return {f"{self.label}.{name}": column for name, column in signals.items()}

    def _note(self, made: MadeDocuments, originals: int, io: UnitIO) -> None:
        """Count what was made, and what could not be: dead letters of its source."""
        count = len(made.docs) - originals + len(made.failed)
        add(io.facts, "made", self.label, self.source, count=count)
        for document, reason in made.failed:
            about = {name: document[name] for name in ("id", "source", "file", "position", "url")}
            about |= {"step": self.label, "kind": "step_failed", "reason": reason, "expected": False}
            io.write("dead", pa.RecordBatch.from_pylist([about], schema=DEAD))
            add(io.facts, "failed", self.label, self.source)


def _with_signals(docs: pa.RecordBatch, signals: Columns) -> Batch:
    batch = Batch(docs)
    batch.signals.update(signals)
    return batch


def _as_documents(stored: pa.RecordBatch) -> pa.RecordBatch:
    """With the columns of documents, null where they are not stored."""
    docs = stored
    for column in DOCUMENT:
        if column.name not in stored.schema.names:
            docs = docs.append_column(column, pa.nulls(len(docs), column.type))
    return docs.select(DOCUMENT.names).cast(DOCUMENT)


def note_left_out(
    docs: pa.RecordBatch, left_out: Sequence[tuple[int, QuarantinedRecord]], chain: StepChain, io: UnitIO
) -> None:
    """Documents of another pass that are quarantined have failed at the step that was running."""
    if not left_out:
        return
    io.write("dead", letters(docs, left_out))
    for row, record in left_out:
        label = record.at.step if record.at.step in chain.labels else chain.labels[-1]
        add(io.facts, "failed", label, docs["source"][row].as_py())


def _write_dead(io: UnitIO, source: str, dead: pa.RecordBatch) -> None:
    """Dead letters of records that give no document."""
    if len(dead):
        io.write("dead", dead)
        for kind, expected in zip(dead["kind"].to_pylist(), dead["expected"].to_pylist()):
            add(io.facts, "read", source, "expected" if expected else "dead", kind)


def _verdicts_on(number: int, judge: VerdictSource, results: Results, io: UnitIO) -> Verdicts:
    """The verdicts and cuts of a step on the documents of a unit."""
    if "slices" in results.outputs:  # one table for some neighbouring units
        table, index = table_of(results, number)
        start, stop = io.arrays(results["slices"].path(table))["offsets"][index : index + 2].tolist()
        return io.rows(results["verdicts"].path(table), start, stop).combine_chunks(), CUTS.empty_table()
    cuts = io.table(results["cuts"].path(number)).combine_chunks() if judge.step.cuts else CUTS.empty_table()
    return io.table(results["verdicts"].path(number)).combine_chunks(), cuts
