"""Documents of a run to look at. Texts are read only of those that are shown.

Every draw takes the documents with the smallest ids. An id is a hash, so this is a random sample, and the same in every
draw. Of dropped documents those come first whose text is stored, see `run.dropped_text`. Of a run that is not finished,
the kept documents are those kept by the last pass that has begun.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.rule_counts import reasons, rule_counts
from corpusmill.report.tables import ABOUT, ORDER, PLACE, RunTables, identifier, literal, placeholders

Document = dict[str, Any]  # ABOUT, with `reasons` as a list; `signals`; `text`, None where it is not stored
Place = tuple[str, int]  # a file and a row of it
SAME_NAME = 100  # documents with one url at most


def kept(tables: RunTables, n: int) -> list[Document]:
    """Kept documents."""
    return draw(tables, "docs", _all(tables)[-1:], n)


def dropped(tables: RunTables, what: str | None, n: int) -> list[Document]:
    """Documents dropped by a step, for one rule of a step (`step.rule`), or for any reason.

    Of a rule, all documents that its step drops and that fail it, whether first or not.
    Raises InputError if there is no such step or rule, naming the nearest.
    """
    if what is None:
        return draw(tables, "dropped", _all(tables), n)
    step = what.partition(".")[0]
    if step not in tables.labels:
        known = [*tables.labels, *reasons(tables)]
        raise InputError(
            f'{tables.folder}: there is no step "{what}"{did_you_mean(what, known) or "."} '
            f"The steps are: {', '.join(tables.labels)}."
        )
    rules = [reason for reason in rule_counts(tables) if reason.partition(".")[0] == step]
    if what == step:
        return draw(tables, "dropped", _all(tables), n, "dropped_by = ?", [step])
    if what not in rules and what not in tables.bounds:
        raise InputError(
            f'{tables.folder}: nothing was dropped for "{what}"{did_you_mean(what, rules) or "."} '
            f"Reasons of {step}: {', '.join(rules) or 'none'}."
        )
    where = "dropped_by = ? AND list_contains(string_split(reasons, ','), ?)"
    return draw(tables, "dropped", _all(tables), n, where, [step, what])


def dead(tables: RunTables, n: int, kind: str | None = None) -> list[Document]:
    """Records that could not be read and documents that a step failed on: all columns of schema.DEAD."""
    where, values = ("WHERE kind = ?", [kind]) if kind else ("", [])
    query = f"SELECT * FROM ({tables.tables('dead')}) {where} ORDER BY expected, {ORDER} LIMIT {n}"
    return tables.rows(query, values)


def by_name(tables: RunTables, name: str) -> list[Document]:
    """The documents and dead letters with this id or url: all that is known of each, with the text as it was last.
    Empty if there is none."""
    ids: dict[str, None] = {}
    for number in _all(tables):
        query = f"SELECT DISTINCT id FROM ({tables.table('signals', number)}) WHERE id = ? OR url = ?"
        rows = tables.rows(f"{query} ORDER BY id LIMIT {SAME_NAME}", [name, name])
        ids |= dict.fromkeys(row["id"] for row in rows)
    documents: dict[str, Document] = {}
    for number in reversed(_all(tables)):
        for kind in ("docs", "dropped"):
            for entry in _draw_ids(tables, kind, number, ids):
                documents.setdefault(entry["id"], entry)
    query = f"SELECT * FROM ({tables.tables('dead')}) WHERE id = ? OR url = ? ORDER BY {ORDER} LIMIT {SAME_NAME}"
    return [*documents.values(), *tables.rows(query, [name, name])]


def examples(tables: RunTables, n: int) -> dict[str, list[Document]]:
    """reason -> a few of the documents that were dropped for it first."""
    places = _examples(tables, n)
    entries = _read(tables, [place for drawn in places.values() for place in drawn])
    return {reason: [entries[place] for place in drawn] for reason, drawn in places.items()}


def _examples(tables: RunTables, n: int) -> dict[str, list[Place]]:
    if ("examples", n) not in tables.drawn:
        places: dict[str, list[Place]] = {}
        order = _order(tables, "dropped")
        for number in _all(tables):
            query = (
                f"SELECT split_part(reasons, ',', 1) AS reason, "
                f"arg_min({{'file': filename, 'row': file_row_number}}, row({order}), {n}) AS places "
                f"FROM ({tables.table('dropped', number, place=True)}) GROUP BY reason ORDER BY reason"
            )
            for row in tables.rows(query):
                places.setdefault(row["reason"], []).extend((at["file"], at["row"]) for at in row["places"])
        tables.drawn["examples", n] = {reason: drawn[:n] for reason, drawn in places.items()}
    drawn: dict[str, list[Place]] = tables.drawn["examples", n]
    return drawn


def pairs(tables: RunTables, step: str, n: int) -> list[dict[str, Any]]:
    """Documents that a corpus step drops or marks, beside the duplicate that is kept, the least similar first: each a
    dict of `similarity`, `document` and `duplicate_of`, with the texts that were compared."""
    number = next((i for i, (_, labels) in enumerate(tables.passes) if step in labels), 0)
    if number == 0 or f"{step}.duplicate_of" not in tables.columns(number):
        return []
    kept_id, similarity = identifier(f"{step}.duplicate_of"), identifier(f"{step}.similarity")
    query = f"SELECT id, {kept_id} AS kept_id, {similarity} AS similarity FROM ({tables.table('signals', number)})"
    rows = tables.rows(f"{query} WHERE kept_id IS NOT NULL ORDER BY similarity, {ORDER} LIMIT {n}")
    ids = dict.fromkeys(each for row in rows for each in (row["id"], row["kept_id"]))
    by_id = {entry["id"]: entry for entry in reversed(_draw_ids(tables, "docs", number - 1, ids))}
    return [
        {"similarity": row["similarity"], "document": by_id[row["id"]], "duplicate_of": by_id[row["kept_id"]]}
        for row in rows
        if row["id"] in by_id and row["kept_id"] in by_id
    ]


def texts(tables: RunTables, wanted: Sequence[tuple[str, int]], n: int) -> pa.LargeStringArray:
    """The texts of the `n` documents with the smallest ids of some tables, in the order of their ids. With dropped
    documents among them, fewer, if not all of their texts are stored: no more than are a random sample.

    wanted   kind and pass: ("docs", 1)
    """
    places = _first(tables, wanted, n)
    rows = _rows(tables, places, ["text"])
    return pa.array([rows[place]["text"] or "" for place in places], pa.large_string())


def read_ahead(tables: RunTables, n: int, wanted: Sequence[tuple[str, int]], many: int) -> None:
    """Read what `examples(tables, n)` and `texts(tables, wanted, many)` will ask for, so that a row group that both
    need is read once: most of the price of a page is there."""
    places = [place for drawn in _examples(tables, n).values() for place in drawn]
    places += _first(tables, wanted, many)
    tables.rows_read |= _rows(tables, places)


def _first(tables: RunTables, wanted: Sequence[tuple[str, int]], n: int) -> list[Place]:
    """Where the `n` documents with the smallest ids of some tables are."""
    key = ("first", tuple(wanted), n)
    if key not in tables.drawn:
        columns = ", ".join((ORDER, *PLACE))
        below = tables.files.texts_below if any(kind == "dropped" for kind, _ in wanted) else None
        some = "" if below is None else f" WHERE id < {literal(below)}"
        parts = (f"SELECT {columns} FROM ({tables.table(kind, at, place=True)}){some}" for kind, at in wanted)
        query = f"SELECT {', '.join(PLACE)} FROM ({' UNION ALL '.join(parts)}) ORDER BY {ORDER} LIMIT {n}"
        tables.drawn[key] = tables.tuples(query)
    drawn: list[Place] = tables.drawn[key]
    return drawn


def draw(
    tables: RunTables,
    kind: str,
    numbers: Iterable[int],
    n: int,
    where: str = "true",
    values: Sequence[Any] = (),
) -> list[Document]:
    """The first `n` documents by id that fulfil a condition, with their texts and signals.

    kind      "docs" or "dropped"
    numbers   the passes to draw from
    """
    query = f"SELECT {', '.join(PLACE)} FROM ({tables.tables(kind, numbers, place=True)}) WHERE {where}"
    places = tables.tuples(f"{query} ORDER BY {_order(tables, kind)} LIMIT {n}", values)
    entries = _read(tables, places)
    return [entries[place] for place in places]


def _order(tables: RunTables, kind: str) -> str:
    """The order of a draw of a kind of documents. Asking whether there is a text reads it, so only where some is not
    stored: there are few texts then."""
    return ORDER if kind != "dropped" or tables.files.texts_below is None else f"text IS NULL, {ORDER}"


def _draw_ids(tables: RunTables, kind: str, number: int, ids: Mapping[str, Any]) -> list[Document]:
    return draw(tables, kind, [number], len(ids), f"id IN {placeholders(ids)}", list(ids)) if ids else []


def _all(tables: RunTables) -> range:
    return range(len(tables.passes))


def _read(tables: RunTables, places: Sequence[Place]) -> dict[Place, Document]:
    """Whole documents from rows of files."""
    rows = _rows(tables, places)
    signals = _signals_of(tables, {row["id"] for row in rows.values()}, _units_of(tables, {path for path, _ in places}))
    return {place: _document(row, signals.get(row["id"], {})) for place, row in rows.items()}


def _rows(tables: RunTables, places: Sequence[Place], columns: list[str] | None = None) -> dict[Place, dict[str, Any]]:
    """Rows of files: these columns of them at least."""
    rows = {place: tables.rows_read[place] for place in places if place in tables.rows_read}
    wanted: dict[str, set[int]] = {}
    for path, row in places:
        if (path, row) not in rows:
            wanted.setdefault(path, set()).add(row)
    for path, numbers in wanted.items():
        rows |= {(path, row): entry for row, entry in _rows_of_file(path, numbers, columns).items()}
    return rows


def _rows_of_file(path: str, wanted: Collection[int], columns: list[str] | None) -> dict[int, dict[str, Any]]:
    """Rows of a file: a row group is read once, and only if it holds one of them."""
    rows: dict[int, dict[str, Any]] = {}
    with pq.ParquetFile(path) as file:
        start = 0
        for group in range(file.metadata.num_row_groups):
            stop = start + file.metadata.row_group(group).num_rows
            here = [row for row in sorted(wanted) if start <= row < stop]
            if here:
                table = file.read_row_group(group, columns, use_threads=False).take([row - start for row in here])
                rows |= dict(zip(here, table.to_pylist()))
            start = stop
    return rows


def _units_of(tables: RunTables, paths: Collection[str]) -> set[int]:
    """The units that wrote these files. A document is in the same unit of every pass."""
    kinds = ((kind, number) for number in _all(tables) for kind in ("docs", "dropped"))
    return {unit for kind in kinds for unit, path in enumerate(tables.files.paths(*kind)) if path in paths}


def _signals_of(tables: RunTables, ids: set[str], units: Collection[int]) -> dict[str, dict[str, Any]]:
    """id -> all that was measured of a document, in whichever pass. `units` are those that the documents are in."""
    signals: dict[str, dict[str, Any]] = {}
    for number in _all(tables) if ids else ():
        query = f"SELECT * FROM ({tables.table('signals', number, units=units)}) WHERE id IN {placeholders(ids)}"
        for row in tables.rows(query, sorted(ids)):
            signals.setdefault(row["id"], {}).update({k: v for k, v in row.items() if k not in ABOUT})
    return signals


def _document(row: Mapping[str, Any], signals: Mapping[str, Any]) -> Document:
    text = row["text"] if "dropped_by" in row else row["text"] or ""
    about = {name: row.get(name) for name in ABOUT} | {"bytes": row["bytes"] if text is None else len(text.encode())}
    failed = row.get("reasons")
    return {**about, "reasons": failed.split(",") if failed else [], "signals": dict(signals), "text": text}
