"""Documents in memory, written into the folder of the run that reads them.

They are JSON lines: rows need not have the same columns or types, files are cut at lines into units, and the same rows
give the same bytes whatever they were held in. Rows that keep their columns are a stream of Arrow. The file has the
checksum of its content in its name and always the same date, so a run of the same rows has nothing to do, and rows that
were written before are not written again.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from corpusmill.engine.plan.selections import with_selections
from corpusmill.engine.plan.usable_folder import refuse_if_unusable
from corpusmill.engine.work.canaries import with_canaries
from corpusmill.errors import InputError, RecipeError, did_you_mean
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.parts import Source
from corpusmill.recipe.rows import Rows, is_in_memory
from corpusmill.store.locks import only_driver
from corpusmill.store.run_folder import RunFolder

FILE = "rows.jsonl"
TABLE_FILE = "rows.arrow"
TABLE_ROWS = 1024  # rows of a batch in such a file
TOGETHER = 1 << 20  # bytes that are written at a time
OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE


def with_inputs(recipe: Recipe, inputs: Any) -> Recipe:
    """The recipe with documents in memory in place of what its sources read, whose columns and names stay.

    inputs   source -> documents in memory, or a source of its own; of a recipe with one source, the documents alone
    """
    if inputs is None:
        return recipe
    names = [source.source for source in recipe.read]
    if not isinstance(inputs, Mapping):
        if len(names) != 1:
            raise RecipeError(f"the recipe has {len(names)} sources: inputs={{{names[0]!r}: …}} says which one it is")
        inputs = {names[0]: inputs}
    for name in inputs:
        if name not in names:
            raise RecipeError(
                f'inputs: the recipe has no source "{name}"{did_you_mean(str(name), names) or "."} '
                f"It has: {', '.join(names)}."
            )
    return replace(recipe, read=[_replaced(source, inputs) for source in recipe.read])


def _replaced(source: Source | Rows, inputs: Mapping[str, Any]) -> Source | Rows:
    if source.source not in inputs:
        return source
    value = inputs[source.source]
    if isinstance(value, Source | Rows):
        return replace(value, source=source.source)
    if not is_in_memory(value) and not isinstance(value, Mapping):
        raise RecipeError(
            f'inputs: "{source.source}" is {value!r:.60}, and inputs are documents in memory; '
            f'for files write overrides={{"read.{source.source}.paths": …}}'
        )
    columns = ("text", "html", "id", "url", "date", "keep", "columns")
    return Rows(value, source.source, **{name: getattr(source.reader, name, None) for name in columns})


def stored(recipe: Recipe, run: RunFolder, note: Callable[[str], None] = lambda line: None) -> Recipe:
    """The recipe with files in place of documents in memory, which are written into the run's folder, and of selections
    of records, see `selections`.

    note   is called with a line for each source that is written

    Raises InputError, before anything has its name, for a row that cannot be a document.
    """
    recipe = with_selections(with_canaries(recipe), run, note)
    if not any(isinstance(source, Rows) for source in recipe.read):
        return recipe
    refuse_if_unusable(run, (), ())
    run.make()
    with only_driver(run):
        return replace(recipe, read=[_stored(s, run, note) if isinstance(s, Rows) else s for s in recipe.read])


def _stored(rows: Rows, run: RunFolder, note: Callable[[str], None]) -> Source:
    count = 0

    def chunks() -> Iterator[bytes]:
        nonlocal count
        size, waiting = 0, []
        for line in lines(rows):
            waiting.append(line)
            count += 1
            size += len(line)
            if size >= TOGETHER:
                yield b"".join(waiting)
                size, waiting = 0, []
        yield b"".join(waiting)

    if rows.columns is None:
        file, content = FILE, chunks()
    else:
        table = as_table(rows)
        file, count, content = TABLE_FILE, table.num_rows, iter([in_file(table)])
    path, is_new = run.add_input(rows.source, file, content)
    if is_new:
        note(f"{rows.source}: {count:,} rows in memory written to {path}")
    return Source(rows.reader, path, rows.source)


def as_table(rows: Rows) -> pa.Table:
    """The rows as one table, in which columns have the types that all of their values have in common. Raises InputError
    if there are none, and where there is no such type."""
    tables = list(rows.tables())
    try:
        table = pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})
    except pa.ArrowException as error:
        raise InputError(f'source "{rows.source}": its rows have columns of several types: {error}') from None
    if not table.num_rows:
        raise InputError(f'source "{rows.source}": there are no rows.')
    return table.replace_schema_metadata(None)


def in_file(table: pa.Table) -> bytes:
    """A table as a stream of Arrow, whose batches do not depend on how it is held in memory."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        for start in range(0, table.num_rows, TABLE_ROWS):
            stream.write_batch(table.slice(start, TABLE_ROWS).combine_chunks().to_batches()[0])
    content: bytes = sink.getvalue().to_pybytes()
    return content


def lines(rows: Rows) -> Iterator[bytes]:
    """The rows as JSON lines. Raises InputError if there are none, or for one whose text is not text, or that JSON has
    no value for."""
    reader = rows.line_reader
    number = -1
    for number, row in enumerate(rows):
        where = f'source "{rows.source}": row {number}'
        if not number:
            reader.check_columns(row, where)
        name, value = reader.content_of(row)
        if isinstance(value, bytes) and rows.html is not None:
            value = _decoded(row, name, value, where)
        if value is not None and not isinstance(value, str):
            raise InputError(
                f'{where}: the column "{name}" holds {type(value).__name__} ({value!r:.40}), not text. Convert it, or '
                "leave such rows out; None is passed over as an empty text"
            )
        yield _line(row, where)
    if number < 0:
        once = " It can be read only once: was it read before?" if hasattr(rows.data, "__next__") else ""
        raise InputError(f'source "{rows.source}": there are no rows.{once}')


def _decoded(row: dict[str, Any], name: str, value: bytes, where: str) -> str:
    """A page of bytes, put into its row as a string."""
    try:
        text = value.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f'{where}: the page in "{name}" is not UTF-8: decode it, or read it from a file') from None
    row[name] = text
    return text


def _line(row: dict[str, Any], where: str) -> bytes:
    try:
        return orjson.dumps(row, _plain, OPTIONS)
    except TypeError:  # lone surrogates, numbers beyond 64 bits, and what JSON has no value for
        pass
    try:
        return json.dumps(row, default=_plain).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        for name, value in row.items():
            try:
                json.dumps(value, default=_plain)
            except (TypeError, ValueError, RecursionError):
                raise InputError(
                    f'{where}: the column "{name}" cannot be kept as metadata: {error}. Leave it out with keep=…'
                ) from None
        raise InputError(f"{where}: cannot be written as JSON: {error}") from None


def _plain(value: Any) -> Any:
    """A value that JSON has no type for. Raises TypeError where its text would differ from run to run."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, date | datetime | time):
        return value.isoformat() if value == value else None  # noqa: PLR0124 - a missing time of pandas is not itself
    if isinstance(value, Decimal | Path | uuid.UUID) or type(value).__name__ in ("timedelta", "Timedelta"):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if hasattr(value, "tolist"):  # NumPy's, and tensors
        return value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} is not a value of JSON")
