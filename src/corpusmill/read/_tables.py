"""What the readers of Arrow's formats share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import InputError
from corpusmill.read._columns import Roles, Rows
from corpusmill.storage import is_local, open_read

ROWS = 256  # converted at a time: a few MB of Python strings for usual pages


def opened(path: str) -> Any:
    """A file as pyarrow reads it best: local ones by name, without Python in between."""
    return (
        str(Path(path.partition("://")[2] if "://" in path else path).expanduser())
        if is_local(path)
        else open_read(path)
    )


def is_damage(error: Exception) -> bool:
    """Whether an error of pyarrow is about what the file holds, not about reading it."""
    return isinstance(error, pa.ArrowException | UnicodeError) or (isinstance(error, OSError) and error.errno is None)


def check(schema: pa.Schema, roles: Roles, where: str) -> None:
    """Raise InputError unless the columns can play their roles and the text is one of strings."""
    roles.check(schema.names, where)
    name = roles.text or next(
        name for name in ("text", "content", "body", "raw_content", "document") if name in schema.names
    )
    if name in schema.names and not _is_text(schema.field(name).type):
        texts = [field.name for field in schema if _is_text(field.type)]
        raise InputError(
            f'{where}: the column "{name}" holds {schema.field(name).type}, not text. '
            f"Columns with text: {', '.join(texts) or 'none'}."
        )


def add_rows(batch: pa.RecordBatch, first: int, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The documents of a batch whose first row has the number `first`; yields what is full."""
    for start in range(0, batch.num_rows, ROWS):
        part = batch.slice(start, ROWS)
        try:
            found = part.to_pylist()
        except UnicodeDecodeError:
            columns = [_strings(column) for column in part.columns]
            found = pa.RecordBatch.from_arrays(columns, part.schema.names).to_pylist()
        for position, row in enumerate(found, first + start):
            rows.add(position, row)
            yield from rows.docs.full()


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _strings(column: pa.Array) -> pa.Array:
    """A column whose strings are no UTF-8, with U+FFFD where they are not; a nested one becomes null."""
    try:
        column.to_pylist()
    except UnicodeDecodeError:
        if not _is_text(column.type):
            return pa.nulls(len(column))
        data = pc.cast(column, pa.large_binary()).to_pylist()
        return pa.array([None if text is None else text.decode("utf-8", "replace") for text in data], pa.large_string())
    return column
