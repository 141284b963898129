"""A finished run in Python: what it did, the documents that it kept and dropped, its shards."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corpusmill.display import table
from corpusmill.errors import InputError, MissingExtraError
from corpusmill.ops.verify import VerifiedFolder
from corpusmill.report.tables import RunTables
from corpusmill.report.views import Views
from corpusmill.report.waterfall import Waterfall
from corpusmill.schema import COUNTED, OWN, STORED
from corpusmill.steps.functions import Document
from corpusmill.storage import open_write
from corpusmill.store.run_folder import RunFolder
from corpusmill.write import own_and_ours

if TYPE_CHECKING:  # 50 ms of import that opening a run need not wait for
    from corpusmill.engine.drive.session import StageCounts
    from corpusmill.loader import TokenLoader

BATCH_DOCUMENTS = 1024  # documents in memory while they are iterated over


class DroppedDocument(Document):
    """A document that a step has dropped.

    dropped_by   the step, by its label
    reasons      every rule that it failed, the first of them the first
    text         as it was when it reached that step; None where the run has not stored it, see `run.dropped_text`
    """

    text: str | None  # type: ignore[assignment]

    def __init__(self, row: dict[str, Any]) -> None:
        super().__init__(row)
        self.text = row["text"]
        self.dropped_by: str = row["dropped_by"]
        self.reasons: tuple[str, ...] = tuple((row["reasons"] or "").split(","))

    def __repr__(self) -> str:
        text = "no text stored" if self.text is None else repr(self.text[:60])
        return f"<DroppedDocument {self.id}, by {self.dropped_by} ({', '.join(self.reasons)}): {text}>"


@dataclass(repr=False)
class Run:
    """A finished run.

    place       its folder: a path, or a URL
    waterfall   documents, bytes and tokens in and out of every step
    seconds     how long this call took, without compiling kernels; units of earlier calls are not in it. 0 of a run
                that `open` has opened
    units       stage -> units that this call did, and those that were done before
    checked     the folders of output, read back; something may only be wrong with them in the run of a DamagedOutput
    damaged     a sentence for each file of earlier calls that was found damaged, whose unit was done again
    compiling   seconds that it took to compile kernels: 0 but for the first run on a machine

    It is a table of the kept documents for whatever takes one: `polars.DataFrame(run)`, `duckdb.sql("FROM run")`.
    """

    place: str
    waterfall: Waterfall
    seconds: float = 0.0
    units: "Mapping[str, StageCounts]" = field(default_factory=dict)
    checked: tuple[VerifiedFolder, ...] = ()
    damaged: tuple[str, ...] = ()
    compiling: float = 0.0

    @classmethod
    def open(cls, place: str | os.PathLike[str] | RunFolder) -> "Run":
        """The finished run in a folder; nothing runs. Raises InputError if there is none, ResumeError if it is not
        finished."""
        tables = RunTables(place)
        return cls(tables.folder, tables.files.waterfall())

    def __fspath__(self) -> str:
        """Its place: whatever takes the folder of a run takes the run."""
        return self.place

    @property
    def folder(self) -> Path:
        """The folder. Raises InputError if the run is in an object store."""
        return RunFolder(self.place).path

    @property
    def output(self) -> Path:
        """The folder of what the recipe writes."""
        return self.folder / "output"

    @property
    def shards(self) -> Path | None:
        """The folder of training shards; None if the recipe writes none."""
        path = self.output / "shards"
        return path if path.exists() else None

    @property
    def report(self) -> Path:
        """The report: one page of HTML."""
        return self.folder / "report.html"

    def documents(self) -> Iterator[Document]:
        """The kept documents with their final text, in the order of the output, a few in memory at a time.

        Whatever the recipe writes; one that a mix draws several times is there once.
        """
        for batch in self._documents():
            yield from map(Document, batch.to_pylist())

    def dropped(self) -> Iterator[DroppedDocument]:
        """The dropped documents, pass by pass, each with the step that dropped it and all reasons."""
        files = self._tables.files
        files.must_be_finished()
        columns = [*STORED.names, "dropped_by", "reasons"]
        for number in range(len(files.passes)):
            for batch in files.documents("dropped", number, columns, BATCH_DOCUMENTS):
                yield from map(DroppedDocument, batch.to_pylist())

    def batches(self, rows: int = BATCH_DOCUMENTS) -> Iterator[pa.RecordBatch]:
        """The kept documents as record batches of at most so many rows, with the columns of `schema`."""
        files = self._tables.files
        files.must_be_finished()
        if not self._own:
            yield from self._documents(rows)
            return
        schema = self.schema
        for batch in files.documents_with_own(COUNTED.names, rows):
            columns = [batch[column].cast(kind) for (column, _), kind in zip(self._own, schema.types)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    @cached_property
    def schema(self) -> pa.Schema:
        """Of tables of the kept documents: id, source, file, position, url, date, text, metadata (JSON) and tokens, as
        `corpusmill.schema.COUNTED`. Where documents keep columns of the input (`columns: keep`), these in their types,
        and then those of ours whose names they do not have; without url, date and metadata where all sources do."""
        if not self._own:
            return COUNTED
        kinds = {f"{OWN}{field.name}": field.type for field in self._tables.files.own_columns}
        kinds |= {field.name: field.type for field in COUNTED}
        return pa.schema([(name, kinds[column]) for column, name in self._own])

    @cached_property
    def _own(self) -> tuple[tuple[str, str], ...]:
        """Column -> its name, where documents keep columns of the input."""
        own = self._tables.files.own_types
        if not len(own.schema):
            return ()
        unneeded = ("text", *(("url", "date", "metadata") if own.all else ()))
        return own_and_ours(own.schema, [name for name in COUNTED.names if name not in unneeded], plain=True)

    def _documents(self, rows: int = BATCH_DOCUMENTS) -> Iterator[pa.RecordBatch]:
        files = self._tables.files
        files.must_be_finished()
        for batch in files.documents("docs", len(files.passes) - 1, COUNTED.names, rows):
            yield batch.cast(COUNTED)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The kept documents for libraries that read Arrow's C interface, batch by batch."""
        stream = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return stream.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """The kept documents as a table, in memory. `batches` has the same in parts."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self) -> Any:
        """The kept documents as a pandas DataFrame. Raises MissingExtraError if pandas is not installed."""
        _import("pandas", "Run.to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The kept documents as a Polars DataFrame. Raises MissingExtraError if Polars is not installed."""
        return _import("polars", "Run.to_polars").from_arrow(self.to_arrow())

    def to_datasets(self) -> Any:
        """The kept documents as a `datasets.Dataset` of Hugging Face, mapped from a file, `documents.arrow` in its
        folder. Raises MissingExtraError if datasets is not installed, InputError if the run is not on a local disk."""
        datasets = _import("datasets", "Run.to_datasets")
        path = str(self.folder / "documents.arrow")
        with open_write(path) as file, pa.ipc.new_stream(file, self.schema) as stream:
            for batch in self.batches():
                stream.write_batch(batch)
        return datasets.Dataset.from_file(path)

    @property
    def tables(self) -> dict[str, dict[str, str]]:
        """table -> column -> type, of what `sql` can ask."""
        return self._views.columns

    def sql(self, query: str) -> pa.Table:
        """What a SELECT over the run's tables gives, as `corpusmill sql`:
        `run.sql("select dropped_by, count(*) from documents group by 1").to_pandas()`.

        Raises InputError for a query that cannot be answered.
        """
        return self._views.query(query)

    def loader(self, seq_len: int | None = None, batch_size: int = 8, **settings: Any) -> "TokenLoader":
        """A `corpusmill.loader.TokenLoader` of its shards, with these settings. Raises InputError if it has none."""
        from corpusmill.loader import TokenLoader

        if self.shards is None:
            raise InputError(
                f"{self.place}: the run wrote no training shards. Add tokenize/bpe, a step pack/… and the writer "
                "`shards` to its recipe and run it again, which does only that."
            )
        return TokenLoader(self.shards, seq_len, batch_size, **settings)

    @cached_property
    def _tables(self) -> RunTables:
        return RunTables(self.place)

    @cached_property
    def _views(self) -> Views:
        return Views(self._tables)

    def _in_short(self) -> str:
        flow = self.waterfall
        took = f", {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.place}: {flow.in_short()}{took}"

    def __repr__(self) -> str:
        return f"<Run {self._in_short()}>"

    def _repr_html_(self) -> str:
        return table(f"Run {self._in_short()}", *self.waterfall.steps_table())


def open(place: str | os.PathLike[str] | RunFolder) -> Run:
    """The finished run in a folder, as `run` returned it; nothing runs.

    Raises InputError if there is no run, ResumeError if it is not finished.
    """
    return Run.open(place)


def _import(library: str, caller: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise MissingExtraError(f"{caller}()", libraries=[library]) from None
