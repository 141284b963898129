"""Columns of the input that documents keep, in their types of Arrow.

Tables bring them as they are, a part at a time, and no row of them becomes a Python value. Of JSON and CSV they are
made of values, whose types are those that the run has found in the records at the beginning of its files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from corpusmill.errors import InputError
from corpusmill.schema import OWN

MANY = 1000  # rows whose types are found at a time
# What pyarrow raises for values that have no type in common, or not the one that is asked for.
MISFITS = (pa.ArrowException, OverflowError, TypeError, ValueError)
Check = Callable[[Any], str | None]  # what is wrong with a value, None if nothing is


class OwnColumns:
    """Collects the columns of the documents of a batch.

    schema   of all columns that documents of the run keep; what an input does not have is null
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.start()

    def start(self) -> None:
        self._rows: list[Mapping[str, Any]] = []
        self._parts: list[tuple[pa.RecordBatch, list[int]]] = []

    def add(self, row: Mapping[str, Any]) -> None:
        """Add the columns of a document as Python values, which fit."""
        self._rows.append(row)

    def add_from(self, part: pa.RecordBatch, row: int) -> None:
        """Add those of a row of a table with the schema."""
        if not self._parts or self._parts[-1][0] is not part:
            self._parts.append((part, []))
        self._parts[-1][1].append(row)

    def take(self, rows: int) -> dict[str, pa.Array]:
        """The columns of the documents so far, by their names behind OWN.

        rows   how many documents there are
        """
        columns = {}
        for name, kind in zip(self.schema.names, self.schema.types):
            if pa.types.is_null(kind):
                columns[f"{OWN}{name}"] = pa.nulls(rows, kind)
            elif self._parts:
                parts = [part[name].take(pa.array(own)) for part, own in self._parts]
                columns[f"{OWN}{name}"] = pa.concat_arrays(parts)
            else:
                columns[f"{OWN}{name}"] = pa.array([row.get(name) for row in self._rows], kind)
        self.start()
        return columns


def cast(batch: pa.RecordBatch, names: Sequence[str], kept: Iterable[str], schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a table as the documents of a run keep them.

    names   of its columns, each once
    kept    which of them are; others of the schema are null

    Raises one of MISFITS for a value that is not exactly the same in the type of the schema.
    """
    own = dict(zip(names, batch.columns))
    kept = set(kept)
    arrays = []
    for name, kind in zip(schema.names, schema.types):
        if name in kept and not pa.types.is_null(kind):
            arrays.append(as_stored(own[name]).cast(kind))
        else:
            arrays.append(pa.nulls(batch.num_rows, kind))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def as_stored(column: pa.Array) -> pa.Array:
    """A column without a dictionary: files that share a type need not share that."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def types_of_rows(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> pa.Schema | None:
    """The columns of records and their types; None of no records.

    rows   where each is, for messages, and its values: those of JSON

    Raises InputError, with the place of the record and the name of the column, where values have no type in common.
    """
    schema: pa.Schema | None = None
    rows = iter(rows)
    while chunk := list(islice(rows, MANY)):
        values = [row for _, row in chunk]
        try:
            part = pa.schema(list(pa.array(values).type))
            schema = part if schema is None else _unified(schema, part)
        except MISFITS:
            schema = _one_by_one(schema, chunk)
    return schema


def _unified(*schemas: pa.Schema) -> pa.Schema:
    return pa.unify_schemas(schemas, promote_options="permissive")


def _one_by_one(schema: pa.Schema | None, chunk: Sequence[tuple[str, Mapping[str, Any]]]) -> pa.Schema:
    """The same by single values, to find the one that does not fit."""
    for where, row in chunk:
        for name, value in row.items():
            try:
                own = pa.schema([(name, pa.infer_type([value]))])
            except MISFITS as error:
                raise InputError(f'{where}: the column "{name}" cannot be kept: {error}. {ADVICE}') from None
            try:
                schema = own if schema is None else _unified(schema, own)
            except MISFITS:
                assert schema is not None
                before = schema.field(name).type
                raise InputError(
                    f'{where}: the column "{name}" holds {own.field(0).type}, and {before} in records before it, which '
                    f"have no type in common. {ADVICE}"
                ) from None
    return schema if schema is not None else pa.schema([])


ADVICE = "Leave it out: `columns` takes the names of those to keep; or give it one type in all files."


def checks_of(schema: pa.Schema, every: bool) -> Check:
    """What is wrong with a row of JSON values, if anything: its columns have values of other types than `schema` has.

    every   columns that the schema does not have are wrong, too
    """
    checks = {field.name: _check(field.type) for field in schema if not pa.types.is_null(field.type)}
    skipped = {field.name for field in schema if pa.types.is_null(field.type)}

    def check(row: Any) -> str | None:
        for name, value in row.items():
            if own := checks.get(name):
                if value is not None and (problem := own(value)):
                    return f'the column "{name}": {problem}'
            elif every and name not in skipped and value is not None:
                return f'no record that types were found by has a column "{name}"'
        return None

    return check


def _check(kind: pa.DataType) -> Check:
    types = pa.types
    if types.is_boolean(kind):
        return lambda value: None if isinstance(value, bool) else _misfit(value, kind)
    if types.is_signed_integer(kind) or types.is_unsigned_integer(kind):
        low, high = _range(kind)
        return lambda value: None if type(value) is int and low <= value <= high else _misfit(value, kind)
    if types.is_float64(kind):
        exact = 1 << 53
        return lambda value: (
            None
            if isinstance(value, float) or (type(value) is int and -exact <= value <= exact)
            else _misfit(value, kind)
        )
    if types.is_string(kind) or types.is_large_string(kind):
        return lambda value: None if isinstance(value, str) else _misfit(value, kind)
    if types.is_list(kind) or types.is_large_list(kind):
        item = _check(kind.value_type)
        return lambda value: _first_problem(item, value) if isinstance(value, list) else _misfit(value, kind)
    if types.is_struct(kind):
        inner = checks_of(pa.schema(list(kind)), every=True)
        return lambda value: inner(value) if isinstance(value, dict) else _misfit(value, kind)
    return lambda value: _converted(value, kind)


def _first_problem(item: Check, values: list[Any]) -> str | None:
    return next((problem for value in values if value is not None and (problem := item(value))), None)


def _converted(value: Any, kind: pa.DataType) -> str | None:
    try:
        pa.array([value], kind)
    except MISFITS:
        return _misfit(value, kind)
    return None


def _range(kind: pa.DataType) -> tuple[int, int]:
    bits = kind.bit_width
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if pa.types.is_signed_integer(kind) else (0, (1 << bits) - 1)


def _misfit(value: Any, kind: pa.DataType) -> str:
    return f"{value!r:.60} is not of its type, {kind}"
