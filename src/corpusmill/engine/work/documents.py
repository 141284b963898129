"""Clean text: what a recipe writes of documents as they are, with what was measured and their token ids if asked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.engine.work.outputs import check_writer, publish_files
from corpusmill.engine.work.pass_documents import PassDocuments, read_documents, unchunked
from corpusmill.engine.work.signals import signals_of_kept
from corpusmill.engine.work.split import SPLIT, SplitSubset, text_groups
from corpusmill.engine.work.text_files import TextFile, TextFilePart, megabytes_of, part_files, text_files
from corpusmill.engine.work.token_files import IDS, read_ids
from corpusmill.errors import RecipeError
from corpusmill.schema import COUNTED
from corpusmill.store.output import OutputFolder
from corpusmill.store.sums import sha256
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Results
from corpusmill.store.work import PlannedUnit
from corpusmill.write import AddsSignals, AddsTokens, DocumentWriter, WritesBeside, file_name

ROWS = 2048  # documents that are in memory at a time
TOKENS = "tokens"  # the stage whose units are the token ids of the documents; and how many each document has
COUNT = "token_count"  # as it is written: `tokens` are ids elsewhere, in MDS and in batches of the loader


def wanted_signals(writer: object) -> tuple[str, ...]:
    """Patterns of the signals that a writer writes."""
    return writer.selection.wanted_signals if isinstance(writer, AddsSignals) else ()


def wants_tokens(writer: object) -> bool:
    return isinstance(writer, AddsTokens) and writer.adds_tokens


@dataclass(frozen=True)
class WriteDocuments:
    """Documents as files of text, by a writer of documents.

    before   the documents
    copies   the signal that says how often each document is drawn: the writer gets it as a column `copies`
    passes   all passes, in order, if the writer writes signals
    side     of the split: which documents; None: all of them
    """

    writer: DocumentWriter
    before: PassDocuments
    copies: str | None = None
    passes: tuple[str, ...] = ()
    side: SplitSubset | None = None

    @property
    def after(self) -> tuple[str, ...]:
        """The stages that it reads."""
        tokens = (TOKENS,) if wants_tokens(self.writer) else ()
        split = (SPLIT,) if self.side else ()
        return tuple(dict.fromkeys((*self.passes, *self.before.after, *tokens, *split)))

    @property
    def wanted_signals(self) -> tuple[str, ...]:
        return wanted_signals(self.writer)

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        results = upstream.results(self.before.stage)
        read = [upstream.results(stage)["docs"] for stage in reversed(self.before.after)]
        read += [results["signals"]] if self.copies else []
        read += [upstream.results(stage)["signals"] for stage in self.passes]
        if wants_tokens(self.writer):
            read += [upstream.results(TOKENS)["tokens"], upstream.results(self.before.texts)[IDS]]
        if self.side:
            read.append(upstream.results(SPLIT)[SPLIT])
            files_of_text = text_files(megabytes_of(self.writer), upstream.results(SPLIT), text_groups(self.side.name))
        else:
            files_of_text = text_files(megabytes_of(self.writer), results)
        for number, file in enumerate(files_of_text):
            content = [f"{files.checksum(p.unit)}:{p.first}:{p.stop}" for p in file.parts for files in read]
            if isinstance(self.writer, WritesBeside):
                name = file_name(self.writer, number, "")
                yield PlannedUnit(replace(file, name=name), (name, *content))
            else:
                yield PlannedUnit(file, tuple(content))

    def run(self, inputs: TextFile, io: UnitIO) -> None:
        parts = part_files(inputs, {stage: io.results(stage) for stage in self.after}, self.before, self.passes)
        sides = [self.side.among(io, part.unit) if self.side else None for part in inputs.parts]
        rows = sum(_rows_of(part, among, io) for part, among in zip(parts, sides))
        files = {suffix: io.path(output, suffix.rpartition("}")[2], rows) for output, suffix in self._files.items()}
        once = self.side is not None and not self.side.is_repeated
        documents = (
            documents_of(part, self.copies, io, self.wanted_signals, among, once) for part, among in zip(parts, sides)
        )
        batches = _beating(chain.from_iterable(documents), rows, io)
        if isinstance(self.writer, WritesBeside):
            result = self.writer.write_files(batches, files, inputs.name)
        else:
            result = self.writer.write(batches, files[self.writer.suffix])
        if result.counts:
            io.facts["written"] = {"rows": result.rows, **result.counts}
        for suffix, path in files.items():
            io.notes[f"sha256{suffix}"] = sha256(path)

    @property
    def _files(self) -> dict[str, str]:
        """Output -> the suffix of its files, or their path."""
        if isinstance(self.writer, WritesBeside):
            return {f"text-{number}" if number else "text": path for number, path in enumerate(self.writer.places)}
        return {"text": self.writer.suffix}

    def publish(self, name: str, output: OutputFolder, results: dict[str, Results]) -> None:
        publish_files(output, name, results[name], self._files, self.writer)

    def check(self) -> None:
        check_writer(self.writer)
        if self.copies is None and isinstance(self.writer, AddsSignals):
            chosen = self.writer.selection
            if chosen.has("copies") and "copies" not in chosen.optional:
                raise RecipeError(
                    'columns has "copies", and there is no mix/sources, which counts copies; leave it out'
                )


def documents_of(
    part: TextFilePart,
    copies: str | None,
    files: Upstream,
    signals: tuple[str, ...] = (),
    among: NDArray[np.bool_] | None = None,
    once: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The documents of a part as writers get them: how many tokens each has is its `token_count`; and beside their own
    columns are how often each is drawn as `copies`, if a signal of that name is given; the signals that these patterns
    fit, by their names; and if the part has tokens, `input_ids`. Of a part without documents it is one empty batch, so
    that writers know the columns.

    among   (documents,) which of the unit's documents; None: all
    once    whether each is drawn once, whatever `copies` says
    """
    file = files.parquet(part.docs)
    extra_columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    if copies:
        drawn = copies_of_kept(files.table(part.signals, ["dropped_by", copies]), copies)
        extra_columns["copies"] = pa.array(np.ones_like(drawn) if once else drawn)
    if signals:
        measured = signals_of_kept(part.measured, signals, files)
        extra_columns |= dict(zip(measured.column_names, measured.columns))
    ids = _Ids(*read_ids(files, *part.tokens)) if part.tokens else None
    row = _rows(file, range(part.first))
    groups = range(part.first, part.stop)
    batches = read_documents(files, part.docs, part.texts, COUNTED.names, ROWS, groups)
    for batch in batches if groups else [pa.RecordBatch.from_pylist([], schema=COUNTED)]:
        columns = {COUNT if name == TOKENS else name: batch[name] for name in batch.schema.names}
        columns |= {name: unchunked(column.slice(row, len(batch))) for name, column in extra_columns.items()}
        if ids is not None:
            columns["input_ids"] = ids.slice(row, row + len(batch))
        whole = pa.RecordBatch.from_pydict(columns)
        yield whole if among is None else whole.filter(pa.array(among[row : row + len(batch)]))
        row += len(batch)


def _beating(batches: Iterator[pa.RecordBatch], rows: int, io: UnitIO) -> Iterator[pa.RecordBatch]:
    """The same, while the unit says how many of its rows have passed."""
    passed = 0
    for batch in batches:
        yield batch
        passed += len(batch)
        io.heart.add(len(batch))
        io.heart.at(passed, rows)


class _Ids:
    """The token ids of a unit's documents."""

    def __init__(self, ids: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        self._ids = ids
        self._edges = np.append(0, np.cumsum(lengths))

    def slice(self, first: int, stop: int) -> pa.ListArray:
        """(documents,) the ids of each, from document `first` of the unit to `stop`."""
        edges = self._edges[first : stop + 1]
        values = self._ids[edges[0] : edges[-1]]
        return pa.ListArray.from_arrays(pa.array((edges - edges[0]).astype(np.int32)), pa.array(np.asarray(values)))


def _rows_of(part: TextFilePart, among: NDArray[np.bool_] | None, files: Upstream) -> int:
    """Documents of a part; of one side, if `among` says which."""
    file = files.parquet(part.docs)
    rows = _rows(file, range(part.first, part.stop))
    first = _rows(file, range(part.first))
    return rows if among is None else int(among[first : first + rows].sum())


def _rows(file: pq.ParquetFile, groups: range) -> int:
    return sum(file.metadata.row_group(group).num_rows for group in groups)


def copies_of_kept(signals: pa.Table, name: str) -> NDArray[np.int64]:
    """(documents,) how often each kept document is drawn."""
    copies: NDArray[np.int64] = signals.filter(pc.is_null(signals["dropped_by"]))[name].to_numpy()
    return copies
