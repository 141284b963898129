"""The text of pages, extracted once: the first part of the first pass, as a stage of its own.

It reads, puts documents through the steps up to the last that extracts text, and stores its batches (`half_way`), its
dead letters and what it has counted. The first pass takes the batches up from there. So its signals, reasons and counts
are those of all of its steps, as if it had read the input itself, and a change of a step behind the extraction does not
repeat that.

    batches   every document, dropped ones too, as it is behind the extraction
    dead      records that could not be read and documents that a step failed on; the first pass has them too
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpusmill.engine.work.batch import Batch
from corpusmill.engine.work.careful import BatchFeeder
from corpusmill.engine.work.half_way import resumed, rows_of
from corpusmill.engine.work.pass_parts import InputPieces
from corpusmill.engine.work.pass_results import EXTRACT, UnitOfPass
from corpusmill.engine.work.passes import note_failures
from corpusmill.engine.work.sources import NO_COLUMNS, ROWS, InputFiles, OwnSchema, note_left_out
from corpusmill.engine.work.step_chain import ChainRun, StepChain
from corpusmill.schema import DEAD, DOCUMENT
from corpusmill.store.facts import in_order, merge
from corpusmill.store.unit_io import UnitIO, Upstream

LEVEL = 3  # of compression: texts that are written once and read again and again
BYTES_IN, BYTES_OUT = "bytes_in", "bytes_out"  # notes: bytes of a unit's documents, before the first step and at last
COUNTED = "counted"  # the note of the facts of a unit, as JSON: the first pass has them too


@dataclass(frozen=True)
class ExtractTexts:
    """The work of the stage. `chain` has the steps up to the last that extracts text."""

    source: InputFiles
    chain: StepChain

    def run(self, inputs: InputPieces, io: UnitIO) -> None:
        feeder = BatchFeeder(io, by_source=bool(self.chain.only))
        chain = ChainRun(self.chain, feeder)
        total = np.zeros(2, np.int64)
        for batch in self.source.read(inputs, io, feeder, self.chain):
            chain.apply(batch)
            note_failures(batch, io)
            rows = rows_of(batch, self.chain)
            io.write("batches", rows, LEVEL)
            parts = (batch, *batch.evicted)
            sizes = [sum(int(part.sizes[at].sum()) for part in parts) for at in (0, -1)]
            total += sizes
            io.heart.add(len(rows), len(rows), *sizes)
        io.notes.update(zip((BYTES_IN, BYTES_OUT), total.tolist()))
        io.notes[COUNTED] = json.dumps(in_order(io.facts))
        io.notes.update(chain.notes)


@dataclass(frozen=True)
class ExtractedDocuments:
    """The source of a first pass that takes up the batches that `ExtractTexts` has stored. Units have `UnitOfPass`.

    own   the columns of the input that documents keep
    """

    own: OwnSchema = NO_COLUMNS
    stage: str = EXTRACT

    def nothing(self, chain: StepChain) -> Batch:
        before = chain.begun_chain
        batch = self.own.batch(pa.RecordBatch.from_pylist([], schema=DOCUMENT))
        ChainRun(before).apply(batch)
        return resumed(rows_of(batch, before), chain)

    def content(self, upstream: Upstream, unit: int) -> tuple[str, ...]:
        """All that a unit reads."""
        results = upstream.results(self.stage)
        return (results["batches"].checksum(unit), results["dead"].checksum(unit), results.notes[COUNTED][unit])

    def read(self, inputs: UnitOfPass, io: UnitIO, feeder: BatchFeeder, chain: StepChain) -> Iterator[Batch]:
        before = io.results(self.stage)
        io.write("dead", pa.RecordBatch.from_pylist([], schema=DEAD))
        for letters in io.table(before["dead"].path(inputs.number)).to_batches():
            io.write("dead", letters)
        merge(io.facts, json.loads(before.notes[COUNTED][inputs.number]))
        file = io.parquet(before["batches"].path(inputs.number))
        yield resumed(pa.RecordBatch.from_pylist([], schema=file.schema_arrow), chain)
        begin = 0
        for rows in file.iter_batches(ROWS, use_threads=False):
            io.heart.at(begin, file.metadata.num_rows)
            docs = rows.select(DOCUMENT.names)
            positions = np.arange(begin, begin + len(docs))
            note_left_out(docs, feeder.left_out(0, positions), chain, io)
            for start, stop in feeder.cut(0, docs, positions):
                yield resumed(rows.slice(start, stop - start), chain)
            begin += len(docs)
            if feeder.passed:
                return
