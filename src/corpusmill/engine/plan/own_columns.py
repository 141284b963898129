"""Which columns of the input the documents of a run keep, and of which types: those that all of its files have in
common."""

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.engine.plan.inputs import SourceFiles
from corpusmill.errors import InputError, RecipeError, did_you_mean
from corpusmill.read import END, ColumnTypes, KeepsColumns
from corpusmill.recipe.names import name_of, short_name
from corpusmill.recipe.parts import Source
from corpusmill.storage import FileInfo
from corpusmill.write import SIGNALS, WritesOwnColumns, own_and_ours

WHOLE = 64 << 20  # bytes of a source's files: where there are no more, types are found by all of its records
HEAD = 1 << 20  # bytes of a file by whose records they are found else
AT_ONCE = 16  # files that are looked into at a time: each is a request or two where they are remote
TEXT = "text"


class OwnTypes(NamedTuple):
    """The columns that documents keep.

    schema   all of them, as they are stored; that of the text is of type null
    all      whether all sources keep columns, and no `keep` of theirs names any
    """

    schema: pa.Schema
    all: bool


def own_types(sources: Sequence[Source], inputs: Sequence[SourceFiles]) -> OwnTypes | None:
    """The columns that the documents of a recipe keep; None if no source keeps any. Looks into each file of those that
    do.

    Raises InputError, with file and column, where types have nothing in common, or cannot be stored, or where a column
    has the name that the text gets.
    """
    keeping = [(source, files) for source, files in zip(sources, inputs) if keeps_columns(source)]
    if not keeping:
        return None
    found: list[tuple[str, ColumnTypes]] = []
    for source, files in keeping:
        own = _types_of(source.reader, files.files)
        _check_names(source, own)
        found += own
    texts = {types.text or TEXT for _, types in found} or {TEXT}
    text = texts.pop() if len(texts) == 1 else TEXT
    for where, types in found:
        if text in types.schema.names and types.text != text:
            raise InputError(
                f'{where}: the column "{text}" is kept, and what is written under this name is the text. Rename it, or '
                "leave it out: `columns` takes the names of those to keep"
            )
    schemas = [(where, _with_text(types, text)) for where, types in found]
    schema = _unified(schemas)
    stored = [pa.field(field.name, _stored(field, text, schemas)) for field in schema]
    return OwnTypes(pa.schema(stored), all_kept(sources))


def keeps_columns(source: Source) -> bool:
    return isinstance(source.reader, KeepsColumns) and source.reader.columns is not None


def all_kept(sources: Sequence[Source]) -> bool:
    """Whether all sources keep columns, and `metadata` gets nothing."""
    return all(keeps_columns(source) and not getattr(source.reader, "keep", None) for source in sources)


def with_own_columns(writer: Any, own: OwnTypes, counts: Sequence[str]) -> Any:
    """A writer that writes the columns that documents keep, unless its parameters name those to write.

    counts   the columns of ours that are known: `token_count`, `copies`
    """
    if not isinstance(writer, WritesOwnColumns) or writer.columns is not None:
        return writer
    if writer.signals and SIGNALS in own.schema.names:
        raise RecipeError(
            f'{short_name(name_of(writer))}: a column "{SIGNALS}" of the input is kept, and `signals` would be written '
            "under its name; choose with columns: {columns.signals: …, language.score: …}"
        )
    about = () if own.all else ("url", "date", "metadata")
    ours = ("id", "source", *about, *counts, *((SIGNALS,) if writer.signals else ()))
    return replace(writer, columns=own_and_ours(own.schema, ours))  # type: ignore[type-var]


def _check_names(source: Source, found: Sequence[tuple[str, ColumnTypes]]) -> None:
    """Raises InputError for a column to be kept that no file has."""
    names = list(dict.fromkeys(name for _, types in found for name in types.names))
    for name in source.reader.columns if found and isinstance(source.reader.columns, tuple) else ():
        if name not in names:
            listed = ", ".join(names[:30]) + (" …" if len(names) > 30 else "")
            raise InputError(
                f'{source.source}: columns: there is no column "{name}" in its files'
                f"{did_you_mean(name, names) or '.'} There are: {listed}."
            )


@lru_cache(8)  # a recipe is planned several times before it runs
def _types_of(reader: KeepsColumns, files: tuple[FileInfo, ...]) -> list[tuple[str, ColumnTypes]]:
    """What each file of a source keeps, with its path. Files that cannot be read are left to who reads them."""
    nonempty = [file for file in files if file.size]
    until = END if sum(file.size for file in nonempty) <= WHOLE else HEAD
    with ThreadPoolExecutor(AT_ONCE) as pool:
        types = pool.map(lambda file: reader.column_types(file, until), nonempty)
        return [(file.path, own) for file, own in zip(nonempty, types) if own is not None]


def _with_text(types: ColumnTypes, name: str) -> pa.Schema:
    """The columns with that of the text under this name; last, if it is none of them. Dictionaries are left out of
    types, as `as_stored` leaves them out of columns."""
    names = [name if field.name == types.text else field.name for field in types.schema]
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types.schema.types]
    schema = pa.schema(list(zip(names, kinds)))
    return schema if types.text is not None else schema.append(pa.field(name, pa.null()))


def _unified(schemas: Sequence[tuple[str, pa.Schema]]) -> pa.Schema:
    try:
        return pa.unify_schemas([pa.schema([]), *(schema for _, schema in schemas)], promote_options="permissive")
    except pa.ArrowException:
        pass
    whole = pa.schema([])
    for where, schema in schemas:
        for field in schema:
            try:
                whole = pa.unify_schemas([whole, pa.schema([field])], promote_options="permissive")
            except pa.ArrowException:
                raise InputError(
                    f'{where}: the column "{field.name}" holds {field.type}, and {whole.field(field.name).type} in '
                    "files before it, which have no type in common. Leave it out: `columns` takes the names of those "
                    "to keep; or give it one type in all files"
                ) from None
    raise AssertionError("single columns have types in common, and all of them not")


def _stored(field: pa.Field, text: str, schemas: Sequence[tuple[str, pa.Schema]]) -> pa.DataType:
    """The type that a column has once it was written to Parquet: a run stores it so."""
    if field.name == text:
        return pa.null()
    kind = pa.string() if pa.types.is_null(field.type) else field.type  # without a value in any file
    try:
        file = io.BytesIO()
        pq.write_table(pa.table({"": pa.nulls(0, kind)}), file)
        return pq.read_schema(file).field(0).type
    except (pa.ArrowException, NotImplementedError) as error:
        where = next(where for where, schema in schemas if field.name in schema.names)
        raise InputError(
            f'{where}: the column "{field.name}" holds {field.type}, which cannot be kept: {error}. Leave it out: '
            "`columns` takes the names of those to keep"
        ) from None
