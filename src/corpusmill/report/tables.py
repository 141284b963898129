"""The files of a run as tables, asked in SQL."""

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.engine.work.pass_documents import ROW
from corpusmill.engine.work.pass_results import EXTRACT
from corpusmill.errors import AssetError, RecipeError, ResumeError
from corpusmill.recipe.names import labels, remarks
from corpusmill.report.rules import bounds
from corpusmill.report.run_files import RunFiles
from corpusmill.steps.verdict import Bound
from corpusmill.store.run_folder import RunFolder

ORIGIN_COLUMNS = ("id", "source", "file", "position", "url")
# What `signals` has beside signals.
DOCUMENT_COLUMNS = (*ORIGIN_COLUMNS, "date", "bytes", "tokens", "dropped_by", "reasons")
# The order of every draw: the id, which is a hash; then file and position, in case an input gives an id twice.
ID_ORDER = "id, file, position"
ROW_LOCATION = ("filename", "file_row_number")


class RunTables:
    """The tables of a run's passes. A pass is named by its number, from 0.

    signals   a row per document that reached the pass: what was measured, and what dropped it
    docs      the documents that the pass kept, with their text, or the row that it has in another file
    dropped   those that it dropped, with the text that reached the step that dropped them, null where it is not stored;
              or the row that it has in another file
    dead      records that could not be read, and documents that a step could not process

    Raises as RunFiles does.
    """

    def __init__(self, folder: str | PathLike[str] | RunFolder) -> None:
        self.files = RunFiles(folder)
        self.folder = self.files.folder.place
        self.passes = self.files.passes
        self.labels = self.files.labels
        self.drawn: dict[Hashable, Any] = {}  # what was drawn of the tables, for who asks for it again
        # Rows of files, by ROW_LOCATION, that were read ahead.
        self.rows_read: dict[tuple[str, int], dict[str, Any]] = {}

    @cached_property
    def steps(self) -> dict[str, Any]:
        """label -> step. Empty where the recipe's own steps cannot be imported from here."""
        try:
            steps = self.files.recipe.steps
        except (RecipeError, AssetError):
            return {}
        return dict(zip(labels(steps), steps))

    @cached_property
    def remarks(self) -> list[tuple[str, str]]:
        """(label, what the step says about its parameters). Empty where the recipe's own steps cannot be imported from
        here."""
        try:
            return remarks(self.files.recipe.steps)
        except (RecipeError, AssetError):
            return []

    @cached_property
    def bounds(self) -> dict[str, Bound]:
        """reason -> what it compares with what. Empty where the recipe's own steps cannot be imported from here: the
        counts and texts of a run can be looked at without them."""
        try:
            return bounds(self.files.recipe)
        except (RecipeError, AssetError):
            return {}

    def table(self, kind: str, number: int, with_location: bool = False, units: Collection[int] | None = None) -> str:
        """A table of a pass, as SQL.

        with_location   add the columns of ROW_LOCATION, which say where each row is stored
        units           only what these units of the pass wrote; all of them if not given
        """
        paths = self.files.paths(kind, number)
        return _table([path for unit, path in enumerate(paths) if units is None or unit in units], with_location)

    def has_texts(self, kind: str, number: int) -> bool:
        """Whether the texts of a pass, "docs" or "dropped", are in its own files, those that are stored at all."""
        return all(path == texts for path, texts in self.files.with_texts(kind, number))

    def texts(self, kind: str, number: int) -> str:
        """The documents of a pass, "docs" or "dropped", as SQL: id, file, position, text."""
        files = self.files.with_texts(kind, number)
        table = self.table(kind, number, with_location=True)
        if self.has_texts(kind, number):
            return f"SELECT id, file, position, text FROM ({table})"
        pairs = ", ".join(f"({literal(path)}, {literal(texts)})" for path, texts in files)
        text_files = ", ".join(literal(texts) for _, texts in files)
        return (
            f"SELECT d.id, d.file, d.position, t.text FROM ({table}) d "
            f"JOIN (VALUES {pairs}) AS pair(own, texts) ON d.filename = pair.own "
            f"JOIN read_parquet([{text_files}], hive_partitioning = false, filename = true, file_row_number = true) t "
            f"ON t.filename = pair.texts AND t.file_row_number = d.{ROW}"
        )

    def tables(self, kind: str, numbers: Iterable[int] | None = None, with_location: bool = False) -> str:
        """The same of several passes, of all that have begun if none are named. Before any has, dead letters are those
        of the stage that extracts texts, where there is one. Raises ResumeError if there are none."""
        chosen = range(len(self.passes)) if numbers is None else numbers
        tables = [self.table(kind, number, with_location) for number in chosen]
        if not self.passes and kind == "dead" and (paths := self.files.outputs(EXTRACT, kind)):
            tables = [_table(paths, with_location)]
        if not tables:
            raise nothing_committed(self)
        return " UNION ALL BY NAME ".join(tables)

    def is_for(self, step: str) -> str:
        """Whether a step is for the source of a row, as SQL."""
        sources = self.files.only.get(step)
        return f"source IN ({', '.join(map(literal, sources))})" if sources else "source IS NOT NULL"

    def measured(self, step: str, number: int) -> str:
        """Whether a step of a pass has saved what it measured of a row of the pass's signals, as SQL. Those that passed
        through it are among them."""
        how_far = self.files.measure_dropped(number)
        if how_far == "all":
            return "true"
        labels = self.passes[number][1]
        until = labels[labels.index(step) :] if how_far == "first" else ()
        dropped_here = "".join(f" OR dropped_by = {literal(label)}" for label in until)
        return f"(dropped_by IS NULL{dropped_here})"

    def columns(self, number: int) -> dict[str, pa.DataType]:
        """The columns of a pass's signals."""
        return self.files.columns(number)

    def batches(self, kind: str, number: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """A table of a pass, unit by unit, without SQL."""
        for path in self.files.paths(kind, number):
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(1 << 16, columns=columns, use_threads=False)

    @cached_property
    def duckdb(self) -> Any:
        import duckdb  # 50 ms, which the other verbs need not wait for

        # Nothing may come from the network or go to the working directory, whatever a query needs.
        config = {"threads": 2, "temp_directory": "", "autoinstall_known_extensions": False}
        return duckdb.connect(":memory:", config=config)

    def tuples(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query gives."""
        answer: list[tuple[Any, ...]] = self.duckdb.cursor().execute(query, list(values)).fetchall()
        return answer

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The same as dictionaries, in which NaN and infinity are None, as JSON has neither."""
        result = self.duckdb.cursor().execute(query, list(values))
        names = [column[0] for column in result.description]
        return [{name: finite(value) for name, value in zip(names, row)} for row in result.fetchall()]


def _table(paths: Sequence[str], with_location: bool) -> str:
    where = ", filename = true, file_row_number = true" if with_location else ""
    # The folders of files say nothing of columns: of `runs/source=web` they would.
    return f"SELECT * FROM read_parquet([{', '.join(map(literal, paths))}], hive_partitioning = false{where})"


def nothing_committed(tables: RunTables) -> ResumeError:
    return ResumeError(f"{tables.folder}: the run has committed no documents yet; run its recipe again to continue.")


def identifier(column: str) -> str:
    """A column's name as SQL.

    >>> identifier("c4.min_sentences")
    '"c4.min_sentences"'
    """
    return '"' + column.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string as SQL.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def placeholders(values: Iterable[Any]) -> str:
    """A list of parameters as SQL: `(?, ?, ?)`."""
    return f"({', '.join('?' for _ in values)})"


def finite(value: Any) -> Any:
    """A value as JSON can have it: None for NaN and infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
