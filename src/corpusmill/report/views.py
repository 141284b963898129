"""The tables of a run for questions in SQL: views over the files that its commits name, and nothing else.

documents    one row a document: what every pass has measured, and what became of it
signals_1 …  the same as each pass has written it; a later pass has only the documents that came to it
verdicts     a row for each document that a corpus step drops, with the twin that stays
dead         records that could not be read, and documents that a step could not process
texts        the text of every document as it was last
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.tables import ABOUT, IDENTITY, RunTables, identifier, literal


class Views:
    """The views of a run in a DuckDB that reads these files, writes none, and reaches nothing else.

    Raises ResumeError if the run is not finished.
    """

    def __init__(self, tables: RunTables) -> None:
        tables.files.must_be_finished()
        self.tables = tables

    def query(self, sql: str) -> pa.Table:
        """The rows that a SELECT gives. Columns are written as they are called: gopher_quality.content_words > 20.

        Raises InputError if it is no SELECT, or cannot be answered: with the nearest column where it names none.
        """
        import duckdb

        try:
            statements = self.database.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InputError(f"sql takes one SELECT, which changes nothing; got: {sql}")
            return self.database.sql(self._spelled(sql)).to_arrow_table()
        except duckdb.Error as error:
            raise InputError(f"sql: {self._advice(str(error), sql)}") from None

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """view -> column -> type, as DuckDB calls it."""
        found: dict[str, dict[str, str]] = {}
        for name in self._definitions:
            rows = self.database.execute(f"DESCRIBE {name}").fetchall()
            found[name] = {row[0]: row[1] for row in rows}
        return found

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
        for name, query in self._definitions.items():
            database.execute(f"CREATE VIEW {name} AS {query}")
        database.execute("SET lock_configuration = true")
        return database

    @cached_property
    def _definitions(self) -> dict[str, str]:
        tables, count = self.tables, len(self.tables.passes)
        found = {"documents": documents(tables)}
        found |= {f"signals_{number + 1}": tables.table("signals", number) for number in range(count)}
        found["verdicts"] = _verdicts(tables)
        found["dead"] = tables.tables("dead")
        last = [f"SELECT id, file, position, text FROM ({tables.table('docs', count - 1)})"]
        last += [f"SELECT id, file, position, text FROM ({tables.table('dropped', n)})" for n in range(count)]
        found["texts"] = " UNION ALL ".join(last)
        return found

    def _spelled(self, sql: str) -> str:
        """The query with every `step.column` as the one name that it is here. SQL takes the step for a table."""
        ((said,),) = self.database.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
        tree = json.loads(said)
        if tree["error"]:  # DESCRIBE and the like, which have no such tree
            return sql
        known = {column for columns in self.columns.values() for column in columns if "." in column}
        for part in _references(tree):
            names = part["column_names"]
            if len(names) > 1 and f"{names[-2]}.{names[-1]}" in known:
                part["column_names"] = [*names[:-2], f"{names[-2]}.{names[-1]}"]
        ((spelled,),) = self.database.execute("SELECT json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()
        return str(spelled)

    def _advice(self, message: str, sql: str) -> str:
        """The first line of DuckDB's message, and what there is where a name is wrong."""
        first = message.splitlines()[0].removeprefix("Binder Error: ").removeprefix("Catalog Error: ").rstrip("!")
        wrong = first.partition('"')[2].partition('"')[0]
        if "Referenced column" in first or "Referenced table" in first:
            written = next((word for word in re.findall(r"[\w.]+", sql) if wrong in word.split(".")), wrong)
            known = list(dict.fromkeys(column for columns in self.columns.values() for column in columns))
            own = [column for column in known if column.partition(".")[0] == written.partition(".")[0]]
            said = f"{written.partition('.')[0]} has" if own else "Columns:"
            near = did_you_mean(written, known) or did_you_mean(wrong, known) or "."
            there = ", ".join(own or [column for column in known if "." not in column])
            return (
                f'there is no column "{written}"{near} {said} {there}. All of them: corpusmill sql {self.tables.folder}'
            )
        if first.startswith("Table with name"):
            return f"{first}. The tables are {', '.join(self._definitions)}."
        return first


def documents(tables: RunTables) -> str:
    """One row a document, as SQL: the signals of all passes side by side.

    What is known of a document anew in every pass (bytes, tokens, dropped_by, reasons) is that of the last pass that
    it came to. `kept` is false too for a document that a later pass could not process, which no step has dropped.
    """
    count = len(tables.passes)
    renewed = [name for name in ABOUT if name in ("bytes", "tokens", "dropped_by", "reasons")]
    selected = [f"p0.{identifier(name)}" for name in ABOUT if name not in renewed]
    for name in renewed:
        latest = ", ".join(f"p{n}.{name}" for n in reversed(range(count)))
        selected.append(f"coalesce({latest}) AS {name}")
    last = f"p{count - 1}"
    selected.append(f"{last}.id IS NOT NULL AND {last}.dropped_by IS NULL AS kept")
    for number in range(count):
        own = [name for name in tables.columns(number) if name not in ABOUT]
        selected += [f"p{number}.{identifier(name)} AS {identifier(name)}" for name in own]
    joined = f"({tables.table('signals', 0)}) p0"
    for number in range(1, count):
        same = " AND ".join(f"p{number}.{name} IS NOT DISTINCT FROM p0.{name}" for name in IDENTITY)
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
        return own + [found for value in tree.values() for found in _references(value)]
    return [found for value in tree for found in _references(value)] if isinstance(tree, list) else []


@dataclass(frozen=True)
class Answer:
    """What a query gives."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def sql(tables: RunTables, query: str) -> Answer:
    """The columns and rows that a SELECT gives, see `Views.query`."""
    found = Views(tables).query(query)
    columns = [[_plain(value) for value in column.to_pylist()] for column in found.columns]
    return Answer(tuple(found.column_names), tuple(zip(*columns)))


def _plain(value: Any) -> Any:
    """A sum of whole numbers is a Decimal, as it may be larger than 64 bits."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
