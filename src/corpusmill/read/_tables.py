"""Shared by the readers of Arrow's formats: opening, checking and converting tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import InputError
from corpusmill.read._columns import TEXT, Roles, Rows
from corpusmill.storage import is_local, open_read

ROWS = 256  # converted at a time: a few MB of Python strings for usual pages


def opened(path: str) -> Any:
    """What to give pyarrow to read a file: the path of a local one, so that it reads without Python in between."""
    return (
        str(Path(path.partition("://")[2] if "://" in path else path).expanduser())
        if is_local(path)
        else open_read(path)
    )


def is_damage(error: Exception) -> bool:
    """Whether an error of pyarrow means bad content, rather than a failure to read."""
    return isinstance(error, pa.ArrowException | UnicodeError) or (isinstance(error, OSError) and error.errno is None)


def check(schema: pa.Schema, roles: Roles, where: str) -> None:
    """Raise InputError unless every role has its column, and that of the text holds strings; pages may be bytes."""
    roles.check(schema.names, where)
    name = roles.content or next(name for name in TEXT if name in schema.names)
    holds = _is_page if roles.html is not None else _is_text
    if name in schema.names and not holds(schema.field(name).type):
        what = "pages" if roles.html is not None else "text"
        fit = [field.name for field in schema if holds(field.type)]
        raise InputError(
            f'{where}: the column "{name}" holds {schema.field(name).type}, not {what}. '
            f"Columns with {what}: {', '.join(fit) or 'none'}."
        )


def add_rows(batch: pa.RecordBatch, first: int, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Add the documents of a batch whose first row is number `first`; yields the batches that are full."""
    for start in range(0, batch.num_rows, ROWS):
        part = batch.slice(start, ROWS)
        try:
            records = part.to_pylist()
        except UnicodeDecodeError:
            columns = [_strings(column) for column in part.columns]
            records = pa.RecordBatch.from_arrays(columns, part.schema.names).to_pylist()
        for position, row in enumerate(records, first + start):
            rows.add(position, row)
            yield from rows.docs.full()


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_page(kind: pa.DataType) -> bool:
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return bool(is_binary or _is_text(kind))


def _strings(column: pa.Array) -> pa.Array:
    """A column, its bytes that are not UTF-8 replaced by U+FFFD; a nested column with any becomes null."""
    try:
        column.to_pylist()
    except UnicodeDecodeError:
        if not _is_text(column.type):
            return pa.nulls(len(column))
        data = pc.cast(column, pa.large_binary()).to_pylist()
        return pa.array([None if text is None else text.decode("utf-8", "replace") for text in data], pa.large_string())
    return column
