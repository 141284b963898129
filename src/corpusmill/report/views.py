"""SQL over a run: views of the files that its commits name, and of nothing else.

documents    one row per document: what every pass measured, and its outcome
signals_1 …  the same as each pass wrote it; a later pass has only the documents that reached it
verdicts     a row per document that a corpus step drops or marks, with the duplicate that is kept
dead         records that could not be read, and documents that a step could not process
texts        the text of every document as it was last, null where it is not stored
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from shlex import quote
from typing import Any

import pyarrow as pa

from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.tables import DOCUMENT_COLUMNS, RunTables, identifier, literal
from corpusmill.steps.keys import ADDRESS


class Views:
    """The views of a run in a DuckDB that reads these files alone, and writes none.

    Raises ResumeError if the run is not finished.
    """

    def __init__(self, tables: RunTables) -> None:
        tables.files.must_be_finished()
        self.tables = tables

    def query(self, sql: str) -> pa.Table:
        """The rows that a SELECT gives. A column is written by its name: gopher_quality.content_words > 20.

        Raises InputError if it is not a SELECT, or cannot be answered: with the nearest column if it names an unknown
        one.
        """
        import duckdb

        try:
            sql.encode()
        except UnicodeError:  # bytes of a command line that are no UTF-8
            raise InputError(f"sql takes a SELECT in valid Unicode text; got: {sql!a:.200}") from None
        try:
            statements = self.database.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InputError(f"sql takes one SELECT, because it only reads; got: {sql}")
            return self.database.sql(self._spelled(sql)).to_arrow_table()
        except duckdb.Error as error:
            raise InputError(f"sql: {self._advice(str(error), sql)}") from None

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """view -> column -> its DuckDB type."""
        views: dict[str, dict[str, str]] = {}
        for name in self.definitions:
            rows = self.database.execute(f"DESCRIBE {name}").fetchall()
            views[name] = {row[0]: row[1] for row in rows}
        return views

    @cached_property
    def database(self) -> Any:
        import duckdb

        files = [
            path
            for number in range(len(self.tables.passes))
            for kind in ("signals", "docs", "dropped", "dead")
            for path in self.tables.files.paths(kind, number)
        ]
        config = {"autoinstall_known_extensions": False, "python_enable_replacements": False, "temp_directory": ""}
        database = duckdb.connect(":memory:", config=config)
        allowed = ", ".join(literal(path) for path in files)
        database.execute(f"SET allowed_paths = [{allowed}]")
        database.execute("SET enable_external_access = false")
        for name, query in self.definitions.items():
            database.execute(f"CREATE VIEW {name} AS {query}")
        database.execute("SET lock_configuration = true")
        return database

    @cached_property
    def definitions(self) -> dict[str, str]:
        """view -> its SELECT."""
        tables, count = self.tables, len(self.tables.passes)
        views = {"documents": documents(tables)}
        views |= {f"signals_{number + 1}": tables.table("signals", number) for number in range(count)}
        views["verdicts"] = _verdicts(tables)
        views["dead"] = tables.tables("dead")
        last = [tables.texts("docs", count - 1), *(tables.texts("dropped", number) for number in range(count))]
        views["texts"] = " UNION ALL ".join(last)
        return views

    def _spelled(self, sql: str) -> str:
        """The query with every `step.column` quoted as one name: to SQL the step would be a table."""
        ((serialized,),) = self.database.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
        tree = json.loads(serialized)
        if tree["error"]:  # DESCRIBE and the like, which have no such tree
            return sql
        dotted_columns = {column for columns in self.columns.values() for column in columns if "." in column}
        for part in _references(tree):
            names = part["column_names"]
            if len(names) > 1 and f"{names[-2]}.{names[-1]}" in dotted_columns:
                part["column_names"] = [*names[:-2], f"{names[-2]}.{names[-1]}"]
        ((spelled,),) = self.database.execute("SELECT json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()
        return str(spelled)

    def _advice(self, message: str, sql: str) -> str:
        """The first line of DuckDB's message, and the known names if it is about an unknown one."""
        first = message.splitlines()[0].removeprefix("Binder Error: ").removeprefix("Catalog Error: ").rstrip("!")
        wrong = first.partition('"')[2].partition('"')[0]
        if "Referenced column" in first or "Referenced table" in first:
            written_name = next((name for name in re.findall(r"[\w.]+", sql) if wrong in name.split(".")), wrong)
            if elsewhere := [view for view, columns in self.columns.items() if written_name in columns]:
                return f'the queried tables have no column "{written_name}"; it is in {", ".join(elsewhere)}.'
            all_columns = list(dict.fromkeys(column for columns in self.columns.values() for column in columns))
            own = [column for column in all_columns if column.partition(".")[0] == written_name.partition(".")[0]]
            known_are = f"{written_name.partition('.')[0]} has" if own else "Columns:"
            suggestion = did_you_mean(written_name, all_columns) or did_you_mean(wrong, all_columns) or "."
            listed = ", ".join(own or [column for column in all_columns if "." not in column])
            return (
                f'there is no column "{written_name}"{suggestion} {known_are} {listed}. '
                f"All of them: corpusmill sql {quote(self.tables.folder)}"
            )
        if first.startswith("Table with name"):
            return f"{first}. The tables are {', '.join(self.definitions)}."
        return first


def documents(tables: RunTables) -> str:
    """One row per document, as SQL: the signals of all passes side by side.

    Columns that every pass writes again (bytes, tokens, dropped_by, reasons) are those of the last pass that the
    document reached. `kept` is also false for a document that a later pass could not process, which no step dropped.
    """
    count = len(tables.passes)
    rewritten = [name for name in DOCUMENT_COLUMNS if name in ("bytes", "tokens", "dropped_by", "reasons")]
    selected = [f"p0.{identifier(name)}" for name in DOCUMENT_COLUMNS if name not in rewritten]
    for name in rewritten:
        latest = ", ".join(f"p{n}.{name}" for n in reversed(range(count)))
        selected.append(f"coalesce({latest}) AS {name}")
    last = f"p{count - 1}"
    selected.append(f"{last}.id IS NOT NULL AND {last}.dropped_by IS NULL AS kept")
    for number in range(count):
        own = [name for name in tables.columns(number) if name not in DOCUMENT_COLUMNS]
        selected += [f"p{number}.{identifier(name)} AS {identifier(name)}" for name in own]
    joined = f"({tables.table('signals', 0)}) p0"
    for number in range(1, count):
        same = " AND ".join(f"p{number}.{name} IS NOT DISTINCT FROM p0.{name}" for name in ADDRESS)
        joined += f" LEFT JOIN ({tables.table('signals', number)}) p{number} ON {same}"
    return f"SELECT {', '.join(selected)} FROM {joined}"


def _verdicts(tables: RunTables) -> str:
    parts = [
        f"SELECT '{label}' AS step, id, url, source, file, position, bytes, tokens, "
        f"{identifier(f'{label}.duplicate_of')} AS duplicate_of, {identifier(f'{label}.similarity')} AS similarity "
        f"FROM ({tables.table('signals', number)}) WHERE {identifier(f'{label}.duplicate_of')} IS NOT NULL"
        for number, (_, own) in enumerate(tables.passes)
        for label in own
        if f"{label}.duplicate_of" in tables.columns(number)
    ]
    none = (
        "SELECT NULL::VARCHAR AS step, id, url, source, file, position, bytes, tokens, NULL::VARCHAR AS duplicate_of, "
        f"NULL::DOUBLE AS similarity FROM ({tables.table('signals', 0)}) WHERE false"
    )
    return " UNION ALL ".join(parts or [none])


def _references(tree: Any) -> Sequence[dict[str, Any]]:
    """Every reference to a column in a syntax tree."""
    if isinstance(tree, dict):
        own = [tree] if tree.get("class") == "COLUMN_REF" and "column_names" in tree else []
        return own + [part for value in tree.values() for part in _references(value)]
    return [part for value in tree for part in _references(value)] if isinstance(tree, list) else []


@dataclass(frozen=True)
class QueryResult:
    """The result of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def sql(tables: RunTables, query: str) -> QueryResult:
    """The columns and rows that a SELECT gives, see `Views.query`."""
    table = Views(tables).query(query)
    columns = [_values(name, column) for name, column in zip(table.column_names, table.columns)]
    return QueryResult(tuple(table.column_names), tuple(zip(*columns)))


def _values(name: str, column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; as text where they are beyond what Python has: nanoseconds, years past 9999."""
    try:
        return [_plain(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        try:
            return list(column.cast(pa.string()).to_pylist())
        except pa.ArrowException:
            raise InputError(
                f'the column "{name}" has values of the type {column.type} which Python has no value for. Ask for them '
                f'as text: CAST("{name}" AS VARCHAR)'
            ) from None


def _plain(value: Any) -> Any:
    """A value as JSON has it. DuckDB sums integers to 128 bits, which arrive as Decimal."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
