"""Clean text: what a recipe writes of documents as they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.engine.outputs import check_writer, publish_files
from corpusmill.engine.text_files import Part, TextFile, part_files, text_files
from corpusmill.run_folder import RunFolder
from corpusmill.sums import sha256
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned, Results
from corpusmill.write import DocumentWriter

ROWS = 2048  # documents that are in memory at a time


@dataclass(frozen=True)
class WriteDocuments:
    """Documents as files of text, by a writer of documents.

    before   the pass whose documents they are
    copies   the signal that says how often each document is drawn: the writer gets it as a column `copies`
    """

    writer: DocumentWriter
    before: str
    copies: str | None = None

    def units(self, upstream: Upstream) -> Iterator[Planned]:
        results = upstream.results(self.before)
        names = ("docs", *(("signals",) if self.copies else ()))
        for file in text_files(self.writer, results):
            content = [f"{results[name].checksum(p.unit)}:{p.first}:{p.stop}" for p in file.parts for name in names]
            yield Planned(file, tuple(content))

    def run(self, inputs: TextFile, io: UnitIO) -> None:
        parts = part_files(inputs, io.results(self.before))
        rows = sum(_rows(io.parquet(part.docs), range(part.first, part.stop)) for part in parts)
        path = io.path("text", self.writer.suffix, rows)
        self.writer.write(chain.from_iterable(documents_of(part, self.copies, io) for part in parts), path)
        io.notes[f"sha256{self.writer.suffix}"] = sha256(path)

    def publish(self, name: str, run: RunFolder, results: dict[str, Results]) -> None:
        publish_files(run, name, results[name], {"text": self.writer.suffix})

    def check(self) -> None:
        check_writer(self.writer)


def documents_of(part: Part, copies: str | None, files: Upstream) -> Iterator[pa.RecordBatch]:
    """The documents of a part, with how often each is drawn as `copies` if a signal of that name is given."""
    file = files.parquet(part.docs)
    drawn = copies_of_kept(files.table(part.signals, ["dropped_by", copies]), copies) if copies else None
    row = _rows(file, range(part.first))
    groups = list(range(part.first, part.stop))
    for batch in file.iter_batches(ROWS, row_groups=groups, use_threads=False):
        if drawn is None:
            yield batch
        else:
            yield batch.append_column("copies", pa.array(drawn[row : row + len(batch)]))
        row += len(batch)


def _rows(file: pq.ParquetFile, groups: range) -> int:
    return sum(file.metadata.row_group(group).num_rows for group in groups)


def copies_of_kept(signals: pa.Table, name: str) -> NDArray[np.int64]:
    """(documents,) how often each kept document is drawn."""
    copies: NDArray[np.int64] = signals.filter(pc.is_null(signals["dropped_by"]))[name].to_numpy()
    return copies
