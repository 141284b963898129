"""Documents in memory as a source of a recipe in Python.

They are recognized by what they can do, so that neither pandas nor Polars nor Hugging Face datasets is imported here.
A run writes them once into its own folder, see `corpusmill.engine.plan.stored_rows`, and reads them from there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import pyarrow as pa

from corpusmill.errors import InputError, RecipeError
from corpusmill.read import plain_rows
from corpusmill.read.jsonl import JsonlReader

if TYPE_CHECKING:
    from corpusmill.read.arrow import ArrowReader

ROWS_AT_ONCE = 1024  # rows of a table that are Python values at a time
ARROW_STREAM = "__arrow_c_stream__"


@dataclass(frozen=True, eq=False)
class Rows:
    """Documents in memory as a source: `Recipe(read=Rows(frame, text="body", source="web"), …)`.

    data     an iterable of dicts, or of strings, which are texts; a table of pandas, Polars, Arrow or DuckDB, or record
             batches; a data set of Hugging Face datasets, or its splits; or a function that returns one
    source   its name in the run
    text …   the columns, chosen as by the reader `jsonl`: other columns become metadata, or those that `keep` names, or
             keep their types as `columns` says

    The rows are written once into the folder of the run, under a name that their content gives: the same rows are the
    same run.
    """

    data: Any
    source: str = "rows"
    text: str | None = None
    html: str | None = None
    id: str | None = None
    url: str | None = None
    date: str | None = None
    keep: tuple[str, ...] | None = None
    columns: Literal["keep"] | tuple[str, ...] | None = None

    subset = split = ""  # as a `Source` has them

    def __post_init__(self) -> None:
        if isinstance(self.data, str | bytes | PathLike):
            raise RecipeError(
                f"rows are documents in memory, got {self.data!r:.60}; for files write Source(JsonlReader(), paths)"
            )
        if not self.source or "\0" in self.source:
            raise RecipeError("a source needs a name, without null characters")
        if not _is_rows(self.data):
            raise RecipeError(
                f"rows are an iterable of dicts or strings, a table or a data set; got {type(self.data).__name__}"
            )

    @property
    def reader(self) -> "JsonlReader | ArrowReader":
        """What reads them once they are written."""
        if self.columns is None:
            return self.line_reader
        from corpusmill.read.arrow import ArrowReader

        roles = {name: getattr(self, name) for name in ("text", "html", "id", "url", "date", "keep", "columns")}
        return ArrowReader(**roles)

    @property
    def line_reader(self) -> JsonlReader:
        """What reads them as JSON lines."""
        return JsonlReader(text=self.text, html=self.html, id=self.id, url=self.url, date=self.date, keep=self.keep)

    @property
    def paths(self) -> NoReturn:
        """Raises RecipeError: they are in no file yet."""
        raise RecipeError(
            f'the source "{self.source}" is in memory: corpusmill.run writes it into the folder of the run, and the '
            "recipe of the finished run names that file"
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows in order; of tables, a few at a time are Python values. Raises InputError for what is no row."""
        number = 0
        for table in parts(self.data):
            for value in rows_of(table):
                row = {self.text or self.html or "text": value} if isinstance(value, str) else value
                if not isinstance(row, Mapping):
                    raise InputError(
                        f'source "{self.source}": row {number} is {_a(row)}; a row is a dict of columns, or a string'
                    )
                yield dict(row)
                number += 1

    def tables(self) -> Iterator[pa.Table]:
        """The rows with columns of Arrow's types: tables as they are, others a few at a time.

        Raises InputError for what is no row, and for values of a column that have no type in common.
        """
        number = 0
        for table in parts(self.data):
            if (own := as_arrow(table)) is not None:
                yield from own
                continue
            waiting = iter(rows_of(table))
            while rows := list(islice(waiting, ROWS_AT_ONCE)):
                name = self.text or self.html or "text"
                where = f'source "{self.source}": rows from {number}'
                try:
                    columns = dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row)
                    values = [{name: row} if isinstance(row, str) else row for row in rows]
                    yield pa.table({key: pa.array([row.get(key) for row in values]) for key in columns or (name,)})
                except (pa.ArrowException, OverflowError, TypeError, ValueError, AttributeError) as error:
                    raise InputError(f"{where}: {error}") from None
                number += len(rows)

    def __repr__(self) -> str:
        kind = type(self.data)
        size = f", {len(self.data):,} rows" if hasattr(self.data, "__len__") and not _is_splits(self.data) else ""
        return f"<Rows {self.source}: {kind.__module__.partition('.')[0]}.{kind.__qualname__}{size}>".replace(
            "builtins.", ""
        )


def is_in_memory(data: Any) -> bool:
    """Whether a value holds documents, rather than naming files or being a source."""
    return not isinstance(data, str | bytes | PathLike | Mapping) and _is_rows(data)


def _is_rows(data: Any) -> bool:
    readable = ("__iter__", ARROW_STREAM, "to_batches", "collect_schema")
    return callable(data) or any(hasattr(data, name) for name in readable)


def parts(data: Any) -> Iterator[Any]:
    """The data set, the splits of a data set one after the other, or what a function returns."""
    if callable(data) and not hasattr(data, "__iter__") and not hasattr(data, ARROW_STREAM):
        data = data()
    if _is_splits(data):
        yield from data.values()
    elif isinstance(data, Mapping):
        yield pa.table(dict(data))  # columns by their names
    else:
        yield data


def _is_splits(data: Any) -> bool:
    return isinstance(data, Mapping) and bool(data) and all(hasattr(split, "with_format") for split in data.values())


def rows_of(data: Any) -> Iterator[Any]:
    """The rows of a table or an iterable."""
    if isinstance(data, pa.RecordBatch | pa.Table) or hasattr(data, "to_batches"):
        batches = [data] if isinstance(data, pa.RecordBatch) else data.to_batches()
        yield from _of_batches(batches)
    elif hasattr(data, "iloc") and hasattr(data, "columns"):
        yield from _of_pandas(data)
    elif hasattr(data, "collect_schema") and hasattr(data, "collect"):
        yield from rows_of(data.collect())  # a lazy frame of Polars
    elif hasattr(data, "with_format") and hasattr(data, "iter") and hasattr(data, "__len__"):
        yield from _of_batches(
            batch for table in data.with_format("arrow").iter(ROWS_AT_ONCE) for batch in table.to_batches()
        )
    elif hasattr(data, ARROW_STREAM) and hasattr(data, "columns"):
        yield from _of_batches(pa.RecordBatchReader.from_stream(data))
    elif isinstance(data, pa.RecordBatchReader):
        yield from _of_batches(data)
    elif isinstance(data, pa.Array | pa.ChunkedArray):
        yield from (value.as_py() for value in data)
    else:
        for row in data:
            if isinstance(row, pa.RecordBatch | pa.Table):
                yield from rows_of(row)
            else:
                yield row


def as_arrow(data: Any) -> Iterator[pa.Table] | None:
    """A table as tables of Arrow; None of what is none."""
    if isinstance(data, pa.RecordBatch):
        return iter([pa.Table.from_batches([data])])
    if isinstance(data, pa.Table):
        return iter([data])
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return iter([pa.Table.from_pandas(data, preserve_index=False)])
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        return as_arrow(data.collect())
    if hasattr(data, "with_format") and hasattr(data, "iter") and hasattr(data, "__len__"):
        return (table for table in data.with_format("arrow").iter(ROWS_AT_ONCE))
    if isinstance(data, pa.RecordBatchReader) or (hasattr(data, ARROW_STREAM) and hasattr(data, "columns")):
        return (pa.Table.from_batches([batch]) for batch in pa.RecordBatchReader.from_stream(data))
    if hasattr(data, "to_batches"):
        return (pa.Table.from_batches([batch]) for batch in data.to_batches())
    return None


def _of_batches(batches: Any) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield from plain_rows(batch.slice(start, ROWS_AT_ONCE))


def _of_pandas(frame: Any) -> Iterator[dict[str, Any]]:
    """Rows of a frame, without its index. Missing values are None, as Arrow has them, whatever stands for them."""
    for start in range(0, len(frame), ROWS_AT_ONCE):
        part = frame.iloc[start : start + ROWS_AT_ONCE]
        try:
            yield from _of_batches(pa.Table.from_pandas(part, preserve_index=False).to_batches())
        except (pa.ArrowException, TypeError):  # a column of several types
            yield from part.to_dict("records")


def _a(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
