"""The documents of a run as a list: filtered, sorted, page by page."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from threading import Lock
from typing import Any

import pyarrow as pa

from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.figures.domains import HOST_PATTERN, registered
from corpusmill.report.rules import because
from corpusmill.report.tables import RunTables, finite, identifier, literal
from corpusmill.report.views import Views, documents

DOCUMENTS_PER_PAGE = 25  # documents
MAX_FACET_VALUES = 200  # values that a filter offers; others can be typed
MAX_REMEMBERED_SEARCHES = 8  # of names and texts whose results are remembered
OUTCOME_CONDITIONS = {  # a document that a later pass could not process is neither kept nor dropped by a step
    "kept": "kept",
    "dropped": "dropped_by IS NOT NULL",
    "lost": "NOT kept AND dropped_by IS NULL",
}
SORT_ORDERS = {"": "n", "tokens": "tokens DESC NULLS LAST, n", "-tokens": "tokens NULLS LAST, n"}


@dataclass(frozen=True)
class ListingFilter:
    """Which documents are listed; empty: all.

    outcome            one of OUTCOMES
    step, reason       that drops it; of several reasons, the first
    domain             registered, as in example.co.uk
    name               part of its id or URL
    text               part of its text, in either case
    signal, low, high  a signal of a numeric rule, and the range in which it is
    sort               one of SORTS; "signal" or "-signal": the highest or the lowest value of `signal` first
    """

    outcome: str = ""
    step: str = ""
    reason: str = ""
    source: str = ""
    language: str = ""
    domain: str = ""
    name: str = ""
    text: str = ""
    signal: str = ""
    low: str = ""
    high: str = ""
    sort: str = ""

    @staticmethod
    def from_query(query: Mapping[str, str]) -> "ListingFilter":
        """By the parameters of an address, of which others are ignored."""
        return ListingFilter(
            **{field.name: query[field.name] for field in fields(ListingFilter) if field.name in query}
        )


class Listing:
    """All documents of a finished run in a table in memory: what is filtered by, and the signals of numeric rules.

    In order of id, which is a hash: a page is a random sample. Raises ResumeError if the run is not finished.
    """

    def __init__(self, tables: RunTables) -> None:
        tables.files.must_be_finished()
        self.tables = tables
        columns = {name for number in range(len(tables.passes)) for name in tables.columns(number)}
        bounds = (bound.signal for bound in tables.bounds.values())
        self.signals: tuple[str, ...] = tuple(name for name in dict.fromkeys(bounds) if name in columns)
        self._searched: dict[tuple[str, str], str] = {}  # what was looked for -> the table of the documents with it
        self._lock = Lock()
        labels = [f"{step}.label" for step in tables.labels if {f"{step}.label", f"{step}.score"} <= columns]
        language = identifier(labels[0]) if labels else "NULL::VARCHAR"
        own = "".join(f", {identifier(name)}::FLOAT AS {identifier(name)}" for name in self.signals)
        database = tables.duckdb.cursor()
        all_documents = documents(tables)
        values = {
            "source": "source",
            "file": "file",
            "language": language,
            "dropped_by": "dropped_by",
            "reasons": "reasons",
            "reason": "split_part(reasons, ',', 1)",
        }
        for name, value in values.items():
            _enumerate(database, name, f"SELECT {value} AS value FROM ({all_documents})")
        # The files of its unit: a document is found in them without looking through those of all others.
        paths = tables.files.paths("signals", 0)
        self._units = {path: unit for unit, path in enumerate(paths)}
        _enumerate(database, "path", f"SELECT unnest([{', '.join(map(literal, paths))}]) AS value")
        host = f"nullif(lower(regexp_extract(url, '{HOST_PATTERN}', 1)), '')"
        domains = self._domains(database, f"SELECT DISTINCT {host} AS host FROM ({all_documents})")
        database.register("domains", domains)
        _enumerate(database, "domain", "SELECT domain AS value FROM domains")
        coded = {name: f"({value})::one_{name} AS {name}" for name, value in values.items()}
        # The order first, of the address alone: sorting whole rows would take twice the memory of the table.
        database.execute(
            "CREATE TABLE ranks AS SELECT *, row_number() OVER (ORDER BY id, file, position) - 1 AS n "
            f"FROM (SELECT id, {coded['file']}, position, filename::one_path AS path "
            f"FROM ({tables.table('signals', 0, with_location=True)}))"
        )
        # What is looked for in URLs is in either case, and most of them are in lower case as they are.
        lower_url = "CASE WHEN url <> lower(url) THEN lower(url) END AS lower_url"
        rows = f"SELECT id, {', '.join(coded.values())}, position, url, {lower_url}, date, kept, bytes, tokens, "
        rows += f"{host} AS host{own}"
        database.execute(
            f"CREATE TABLE listed AS SELECT n, path, d.* EXCLUDE (host), domains.domain::one_domain AS domain "
            f"FROM ({rows} FROM ({all_documents})) d LEFT JOIN domains USING (host) JOIN ranks ON ranks.id = d.id "
            "AND ranks.file IS NOT DISTINCT FROM d.file AND ranks.position IS NOT DISTINCT FROM d.position"
        )
        database.execute("DROP TABLE ranks")
        database.unregister("domains")

    @staticmethod
    def _domains(database: Any, hosts: str) -> pa.Table:
        names = [host for (host,) in database.execute(f"{hosts} ORDER BY 1").fetchall() if host is not None]
        domains = [registered(host) for host in names]
        return pa.table({"host": pa.array(names, pa.string()), "domain": pa.array(domains, pa.string())})

    @cached_property
    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """What can be filtered by -> its most frequent values, each with its documents."""
        values_by_column = {}
        columns = {name: name for name in ("source", "language", "domain", "reason")} | {"step": "dropped_by"}
        for name, column in columns.items():
            query = f"SELECT {column}, count(*) FROM listed WHERE {column} NOTNULL AND {column} <> '' GROUP BY 1"
            values_by_column[name] = self.tables.tuples(f"{query} ORDER BY 2 DESC, 1 LIMIT {MAX_FACET_VALUES}")
        outcomes = ((name, self.count(condition, [])) for name, condition in OUTCOME_CONDITIONS.items())
        return {"outcome": [(name, count) for name, count in outcomes if count], **values_by_column}

    def page(self, criteria: ListingFilter, number: int) -> dict[str, Any]:
        """A page, from 0: its `rows`; how many `documents`, `tokens` and `kept` documents there are on all pages."""
        where, values = self._where(criteria)
        ((documents, tokens, kept_count),) = self.tables.tuples(
            f"SELECT count(*), coalesce(sum(tokens), 0)::BIGINT, count(*) FILTER (kept) FROM listed WHERE {where}",
            values,
        )
        order, first = self._order(criteria), number * DOCUMENTS_PER_PAGE
        shown, selected_rows = "SELECT * EXCLUDE (path, lower_url) FROM listed", f"{where} ORDER BY {order}"
        query = f"{shown} WHERE {selected_rows} LIMIT {DOCUMENTS_PER_PAGE} OFFSET {first}"
        if criteria.name or criteria.text:  # joined with what was found, whole rows would be sorted
            numbers = f"SELECT n FROM listed WHERE {selected_rows} LIMIT {DOCUMENTS_PER_PAGE} OFFSET {first}"
            query = f"{shown} WHERE n IN ({numbers}) ORDER BY {order}"
        # `n` numbers the rows of the whole list, as they are stored: nothing to sort.
        if where == "true" and order == "n":
            query = f"{shown} WHERE n >= {first} AND n < {first + DOCUMENTS_PER_PAGE} ORDER BY n"
        rows = [self._row(row, criteria.signal) for row in self.tables.rows(query, values)]
        return {
            "rows": rows,
            "documents": documents,
            "tokens": tokens,
            "kept": kept_count,
            "page": number,
            "size": DOCUMENTS_PER_PAGE,
        }

    def rows(self, criteria: ListingFilter) -> Iterator[dict[str, Any]]:
        """All of a list, in its order: what is known of each document, without its text."""
        where, values = self._where(criteria)
        query = f"SELECT * EXCLUDE (n, path, lower_url) FROM listed WHERE {where} ORDER BY {self._order(criteria)}"
        result = self.tables.duckdb.cursor().execute(query, values)
        names = [column[0] for column in result.description]
        while many := result.fetchmany(1000):
            for row in many:
                document = {name: finite(value) for name, value in zip(names, row)}
                signals = {name: document.pop(name) for name in self.signals}
                yield document | {"signals": {name: value for name, value in signals.items() if value is not None}}

    def places(self, id: str) -> list[tuple[str, str, int]]:
        """Id, file and position of the documents with an id, which is one unless an input gives it twice."""
        places = self.tables.tuples("SELECT id, file, position FROM listed WHERE id = ? ORDER BY n", [id])
        return [(name, file, position) for name, file, position in places]

    def units(self, id: str) -> Collection[int] | None:
        """The units that have a document with this id; None if the list has none: it may be any."""
        paths = self.tables.tuples("SELECT DISTINCT path FROM listed WHERE id = ?", [id])
        return {self._units[path] for (path,) in paths} or None

    def first(self, where: str, values: Sequence[Any], n: int) -> list[dict[str, Any]]:
        """The first documents of those that fulfil a condition: what says which they are."""
        about = "id, file, position, source, url, date"
        return self.tables.rows(f"SELECT {about} FROM listed WHERE {where} ORDER BY listed.n LIMIT {n}", values)

    def _row(self, row: dict[str, Any], signal: str) -> dict[str, Any]:
        signals = {name: row.pop(name) for name in self.signals}
        row["because"] = because(row["reason"], signals, self.tables.bounds) if row["reason"] else None
        row["value"] = signals[signal] if signal else None
        return row

    def _order(self, criteria: ListingFilter) -> str:
        if criteria.sort.removeprefix("-") == "signal" and criteria.signal:
            direction = "" if criteria.sort[0] == "-" else "DESC"
            return f"{identifier(self._check_signal(criteria.signal))} {direction} NULLS LAST, n"
        return SORT_ORDERS.get(criteria.sort, "n")

    def _check_signal(self, signal: str) -> str:
        if signal not in self.signals:
            raise InputError(
                f'no numeric rule judges by a signal "{signal}"{did_you_mean(signal, self.signals) or "."}'
            )
        return signal

    def _where(self, criteria: ListingFilter) -> tuple[str, list[Any]]:
        conditions, values = ["true"], list[Any]()
        if criteria.outcome:
            if criteria.outcome not in OUTCOME_CONDITIONS:
                raise InputError(
                    f'there is no outcome "{criteria.outcome}". The outcomes are: {", ".join(OUTCOME_CONDITIONS)}.'
                )
            conditions.append(f"({OUTCOME_CONDITIONS[criteria.outcome]})")
        for column in ("reason", "source", "language", "domain"):
            if value := getattr(criteria, column):
                conditions.append(f"{column} = ?")
                values.append(value)
        if criteria.step:
            conditions.append("dropped_by = ?")
            values.append(criteria.step)
        if criteria.name:
            conditions.append(f"n IN (SELECT n FROM {self._with_name(criteria.name)})")
        if criteria.signal:
            column = identifier(self._check_signal(criteria.signal))
            for name, compare in (("low", ">="), ("high", "<=")):
                if value := getattr(criteria, name):
                    conditions.append(f"{column} {compare} ?")
                    values.append(_number(name, value))
        if criteria.text:
            conditions.append(f"n IN (SELECT n FROM {self._with_text(criteria.text)})")
        return " AND ".join(conditions), values

    def _with_name(self, name: str) -> str:
        """The table of the documents with this part in their id or URL."""
        query = "SELECT n FROM listed WHERE contains(id, lower(?)) OR contains(coalesce(lower_url, url), lower(?))"
        return self._search_table(("name", name), query, [name, name])

    def _with_text(self, text: str) -> str:
        """The table of the documents whose text has this part. Reads all texts."""
        query = (
            f"SELECT DISTINCT n FROM listed JOIN (SELECT id, file, position FROM ({self._texts}) "
            "WHERE contains(lower(text), lower(?))) USING (id, file, position)"
        )
        return self._search_table(("text", text), query, [text])

    def _search_table(self, key: tuple[str, str], query: str, values: list[str]) -> str:
        """The table of what was looked for, once for each: a page asks for it to count it, and again to show it."""
        with self._lock:
            if key not in self._searched:
                if len(self._searched) == MAX_REMEMBERED_SEARCHES:
                    oldest = next(iter(self._searched))
                    self.tables.duckdb.cursor().execute(f"DELETE FROM {self._searched.pop(oldest)}")
                table = f"search_{self._next}"
                self._next += 1
                self.tables.duckdb.cursor().execute(f"CREATE TABLE {table} AS {query}", values)
                self._searched[key] = table
            return self._searched[key]

    _next = 0

    @cached_property
    def _texts(self) -> str:
        return Views(self.tables).definitions["texts"]

    def count(self, condition: str, values: Sequence[Any]) -> int:
        """Documents that fulfil a condition."""
        return int(self.tables.tuples(f"SELECT count(*) FROM listed WHERE {condition}", values)[0][0])


def _enumerate(database: Any, name: str, values: str) -> None:
    """The type `one_NAME` of a column that has few values, which are in memory once: in a million rows of strings they
    would take a gigabyte. DuckDB before 2.0 refuses one without values, which then has "": no row has it."""
    distinct = f"SELECT DISTINCT value FROM ({values}) WHERE value NOTNULL"
    if database.execute(f"SELECT 1 FROM ({values}) WHERE value NOTNULL LIMIT 1").fetchone() is None:
        distinct = "SELECT '' AS value"
    database.execute(f"CREATE TYPE one_{name} AS ENUM ({distinct} ORDER BY value)")


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f'{name} must be a number; got "{value}"') from None
