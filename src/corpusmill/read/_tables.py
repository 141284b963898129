"""Shared by the readers of Arrow's formats: checking and converting tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from corpusmill.errors import InputError, RecordError, StorageError
from corpusmill.read import ColumnTypes, FilePiece, whole_file
from corpusmill.read._columns import TEXT, TEXT_FIRST, ColumnReader, Roles, RowReader
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._ipc import validated
from corpusmill.read._own_columns import MISFITS, cast
from corpusmill.read._values import Sizes, is_page, is_readable, is_text, numbered, sizes, to_python
from corpusmill.storage import FileInfo

ROWS_CONVERTED = 256  # converted at a time: a few MB of Python strings for usual pages
MAX_PART_BYTES = 1 << 26  # bytes of Python values made at a time, about, unless a row has more
MAX_ROW = 1 << 29  # bytes of a row
SMALL_BATCH_BYTES = 1 << 20  # bytes of a batch that is below MAX_PART_BYTES as Python values: bits grow 64 times
# What pyarrow raises for a damaged file; errors of reading are among them, see `is_damage`.
FAULTS = (pa.ArrowException, OSError, ValueError, OverflowError, RecordError)


def is_damage(error: BaseException) -> bool:
    """Whether one of FAULTS means bad content, rather than a failure to read: of a disk, or of a remote place."""
    return not (isinstance(error, StorageError) or (isinstance(error, OSError) and error.errno is not None))


@dataclass(frozen=True, kw_only=True)
class TableReader(ColumnReader, ABC):
    """What readers of Arrow's formats share: pieces are runs of row groups or record batches."""

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        pieces: list[FilePiece] = []
        checked = False
        for file in files:
            cuts = [whole_file(file)]
            if (file.size > target_bytes and self.can_cut(file)) or (file.size and not checked):
                try:
                    cuts = self.cuts(file, target_bytes)
                    checked = True
                except FAULTS as error:
                    if not is_damage(error):
                        raise
            pieces += cuts
        return pieces

    def column_types(self, file: FileInfo, until: int) -> ColumnTypes | None:
        try:
            schema = self.schema(file)
            names = names_of(schema)
        except FAULTS as error:
            if not is_damage(error):
                raise
            return None
        check(schema, self.roles, file.path)
        return self.roles.column_types(pa.schema(list(zip(names, schema.types))))

    @abstractmethod
    def schema(self, file: FileInfo) -> pa.Schema:
        """The columns of a file."""

    @abstractmethod
    def cuts(self, file: FileInfo, target_bytes: int) -> list[FilePiece]:
        """Pieces of about `target_bytes`; raises InputError unless the columns are there."""


def check(schema: pa.Schema, roles: Roles, where: str) -> None:
    """Raise InputError unless every role has its column, and that of the text holds strings. Pages may be bytes, and
    so may a text that the recipe names, which is UTF-8 then."""
    fields = [(f"{field.name}.{part.name}", part) for field in schema for part in _parts(field.type)]
    usable = [name for name, field in [*zip(schema.names, schema), *fields] if is_page(field.type)]
    roles.check(schema.names, where, texts=usable)
    name = roles.content or next(name for name in TEXT if name in schema.names)
    holds = is_page if roles.content is not None else is_text
    if name in schema.names and not holds(kind := schema.field(name).type):
        content = "pages" if roles.html is not None else "text"
        fit = [field.name for field in schema if holds(field.type)]
        advice = f" To read its bytes as UTF-8, name it: text: {name}." if is_page(kind) else ""
        if pa.types.is_nested(kind) and roles.html is None:
            inside = [part.name for part in _parts(kind) if is_text(part.type)]
            advice = f" Name the field with the text: text: {name}.{inside[0]}." if inside else f" {TEXT_FIRST}."
        raise InputError(
            f'{where}: the column "{name}" holds {kind}, not {content}. '
            f"Columns with {content}: {', '.join(fit) or 'none'}.{advice}"
        )
    names = numbered(schema.names)
    for number in needed(schema, roles):
        if not is_readable(kind := schema.field(number).type):
            readable = ", ".join(name for name, field in zip(names, schema) if is_readable(field.type))
            raise InputError(
                f'{where}: the column "{names[number]}" holds {kind}, which pyarrow cannot read. Leave it out: '
                f"keep: [{readable}]"
            )


def _parts(kind: pa.DataType) -> list[pa.Field]:
    """The fields of a struct; none of other types."""
    return list(kind) if pa.types.is_struct(kind) else []


def needed(schema: pa.Schema, roles: Roles) -> list[int]:
    """The columns of a table that must be read, by number."""
    names = numbered(schema.names)
    names_needed = set(roles.needed(names))
    return [number for number, name in enumerate(names) if name in names_needed]


def names_of(schema: pa.Schema) -> list[str]:
    """The names of columns, each once. Raises UnicodeDecodeError if one, or one within their types, is not UTF-8."""
    for field in schema:
        is_readable(field.type)
    return numbered(schema.names)


def add_rows(batch: pa.RecordBatch, names: list[str], first: int, rows: RowReader) -> Iterator[pa.RecordBatch]:
    """Add the documents of a batch whose first row is number `first`; yields the batches that are full.

    names   of its columns, each once

    A row of more than MAX_ROW bytes is a dead letter `too_large`; one with a value that the type of a column that
    documents keep cannot hold, `other_type`.
    """
    start = 0
    weights = _weights(batch)
    own, roles = rows.docs.own, rows.roles
    kept = roles.kept_columns(names) if own is not None else []
    converted = [names.index(name) for name in roles.converted(names)]
    converted_names = [names[number] for number in converted]
    while start < batch.num_rows:
        count = min(ROWS_CONVERTED, batch.num_rows - start)
        if weights is not None:
            while count > 1 and weights[start : start + count].sum() > MAX_PART_BYTES:
                count //= 2
            if (size := int(weights[start])) > MAX_ROW:
                reason = f"the row has {size} bytes, and at most {MAX_ROW} are read"
                rows.docs.dead(first + start, "too_large", reason)
                start += 1
                continue
        part = batch.slice(start, count)
        own_part = _own_part(part, names, kept, rows.docs) if own is not None else None
        values_of_rows = zip(*(to_python(part.columns[number]) for number in converted))
        for row, values in enumerate(values_of_rows):
            position, before = first + start + row, rows.docs.rows
            if own is None:
                rows.add(position, dict(zip(converted_names, values)))
            elif own_part is None and (problem := _misfit(part.slice(row, 1), names, kept, own.schema)):
                rows.docs.dead(position, "other_type", problem)
            else:
                rows.add(position, dict(zip(converted_names, values)))
                if rows.docs.rows > before:
                    if own_part is None:
                        own.add_from(cast(part.slice(row, 1), names, kept, own.schema), 0)
                    else:
                        own.add_from(own_part, row)
            yield from rows.docs.full()
        start += count


def _own_part(
    part: pa.RecordBatch, names: Sequence[str], kept: Sequence[str], docs: DocumentBatches
) -> pa.RecordBatch | None:
    """The columns that the documents of some rows keep; None if a value of some row does not fit its type. Counts their
    bytes as those of the batch."""
    assert docs.own is not None
    try:
        own = cast(part, names, kept, docs.own.schema)
    except MISFITS:
        return None
    docs.bytes += own.nbytes
    return own


def _misfit(row: pa.RecordBatch, names: Sequence[str], kept: Sequence[str], schema: pa.Schema) -> str | None:
    """Why the columns of a row cannot be kept in these types; None if they can."""
    for name in kept:
        one = schema.field(name)
        try:
            cast(row, names, [name], pa.schema([one]))
        except MISFITS as error:
            return f'the column "{name}" cannot be kept as {one.type}, which all files have in common: {error}'
    return None


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch that pyarrow has decoded from Parquet. Raises pyarrow.ArrowInvalid if it cannot be used.

    Pyarrow checks what it decodes, all but numbers of values in a dictionary.
    """
    if any(_grows(field.type) for field in batch.schema):
        return validated(batch)
    batch.validate()
    return batch


def _weights(batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Bytes of each row as Python values, about and at most; None if they are few."""
    if batch.nbytes <= SMALL_BATCH_BYTES and not any(_grows(field.type) for field in batch.schema):
        return None
    total: Sizes = 0
    for column in batch.columns:
        total = total + sizes(column)
    return np.broadcast_to(np.asarray(total, np.int64), (batch.num_rows,))


@lru_cache(1024)
def _grows(kind: pa.DataType) -> bool:
    """Whether few bytes of such a column can be many values."""
    if isinstance(kind, pa.BaseExtensionType):
        return _grows(kind.storage_type)
    types = pa.types
    shares = types.is_dictionary(kind) or types.is_run_end_encoded(kind) or types.is_union(kind)
    views = types.is_string_view(kind) or types.is_binary_view(kind)
    lists = types.is_list_view(kind) or types.is_large_list_view(kind) or types.is_fixed_size_list(kind)
    empty = types.is_null(kind) or (types.is_struct(kind) and kind.num_fields == 0)
    return shares or views or lists or empty or any(_grows(kind.field(i).type) for i in range(kind.num_fields))
