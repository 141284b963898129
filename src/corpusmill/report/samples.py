"""Documents of a run to look at. Texts are read only of those that are shown.

Every draw takes the documents with the smallest ids. An id is a hash, so this is a random sample, and the same in every
draw. Kept documents, examples and pairs are drawn in a number of row groups that does not grow with the run, spread
evenly. Of dropped documents those come first whose text is stored, see `run.dropped_text`. Of a run that is not
finished, the kept documents are those kept by the last pass that has begun.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, islice, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.engine.work.pass_documents import ROW
from corpusmill.errors import InputError, did_you_mean
from corpusmill.execute import cpus
from corpusmill.report.rule_counts import reasons, rule_counts
from corpusmill.report.tables import (
    DOCUMENT_COLUMNS,
    ID_ORDER,
    ROW_LOCATION,
    RunTables,
    finite,
    nothing_committed,
    placeholders,
)
from corpusmill.store.tables import read_table

Document = dict[str, Any]  # DOCUMENT_COLUMNS, with `reasons` as a list; `signals`; `text`, None where it is not stored
Place = tuple[str, int]  # a file and a row of it
Item = TypeVar("Item")
Result = TypeVar("Result")
MAX_SAME_NAME = 100  # documents with one url at most
SAMPLED_ROW_GROUPS = 64  # row groups that stand for a table, of 4,096 documents at most: 10 ms each
REJECTED_SAMPLE = 64  # rejected pairs, with the smallest hashes: every unit that compares wrote so many
PAIRS_TRIED_PER_PAIR = 8  # times as many pairs are looked for as are shown, where a text may not be found
MAX_SEARCHED_GROUPS = 256  # row groups that are searched for the texts of pairs: a million documents
ORDER_COLUMNS = tuple(ID_ORDER.split(", "))
MAX_READERS = 4  # files that are unpacked at a time
TEXT_MISSING = "missing"  # a column: whether there is no text of the document


class RowGroup(NamedTuple):
    """A row group of a file, its first row and how many there are."""

    path: str
    number: int
    first: int
    rows: int


def kept_documents(tables: RunTables, n: int) -> list[Document]:
    """Kept documents."""
    last = [("docs", number) for number in _all(tables)[-1:]]
    if not last:
        raise nothing_committed(tables)
    places = _first(tables, last, n)
    entries = _read(tables, places)
    return [entries[location] for location in places]


def dropped_documents(tables: RunTables, step_or_rule: str | None, n: int) -> list[Document]:
    """Documents dropped by a step, for one rule of a step (`step.rule`), or for any reason.

    Of a rule, all documents that its step drops and that fail it, whether first or not.
    Raises InputError if there is no such step or rule, naming the nearest.
    """
    if step_or_rule is None:
        return draw(tables, "dropped", _all(tables), n)
    step = step_or_rule.partition(".")[0]
    if step not in tables.labels:
        candidates = [*tables.labels, *reasons(tables)]
        raise InputError(
            f'{tables.folder}: there is no step "{step_or_rule}"{did_you_mean(step_or_rule, candidates) or "."} '
            f"The steps are: {', '.join(tables.labels)}."
        )
    rules = [reason for reason in rule_counts(tables) if reason.partition(".")[0] == step]
    if step_or_rule == step:
        return draw(tables, "dropped", _all(tables), n, "dropped_by = ?", [step])
    if step_or_rule not in rules and step_or_rule not in tables.bounds:
        raise InputError(
            f'{tables.folder}: nothing was dropped for "{step_or_rule}"{did_you_mean(step_or_rule, rules) or "."} '
            f"Reasons of {step}: {', '.join(rules) or 'none'}."
        )
    where = "dropped_by = ? AND list_contains(string_split(reasons, ','), ?)"
    return draw(tables, "dropped", _all(tables), n, where, [step, step_or_rule])


def dead_letters(tables: RunTables, n: int, kind: str | None = None) -> list[Document]:
    """Records that could not be read and documents that a step failed on: all columns of schema.DEAD."""
    where, values = ("WHERE kind = ?", [kind]) if kind else ("", [])
    query = f"SELECT * FROM ({tables.tables('dead')}) {where} ORDER BY expected, {ID_ORDER} LIMIT {n}"
    return tables.rows(query, values)


def by_name(tables: RunTables, name: str) -> list[Document]:
    """The documents and dead letters with this id or url: all that is known of each, with the text as it was last.
    Empty if there is none."""
    ids: dict[str, None] = {}
    for number in _all(tables):
        query = f"SELECT DISTINCT id FROM ({tables.table('signals', number)}) WHERE id = ? OR url = ?"
        rows = tables.rows(f"{query} ORDER BY id LIMIT {MAX_SAME_NAME}", [name, name])
        ids |= dict.fromkeys(row["id"] for row in rows)
    documents: dict[str, Document] = {}
    for number in reversed(_all(tables)):
        for kind in ("docs", "dropped"):
            for entry in _draw_ids(tables, kind, number, ids):
                documents.setdefault(entry["id"], entry)
    query = f"SELECT * FROM ({tables.tables('dead')}) WHERE id = ? OR url = ? ORDER BY {ID_ORDER} LIMIT {MAX_SAME_NAME}"
    return [*documents.values(), *tables.rows(query, [name, name])]


def examples(tables: RunTables, n: int) -> dict[str, list[Document]]:
    """reason -> a few of the documents that were dropped for it first."""
    places = _examples(tables, n)
    entries = _read(tables, [location for drawn in places.values() for location in drawn])
    return {reason: [entries[location] for location in drawn] for reason, drawn in places.items()}


def _examples(tables: RunTables, n: int) -> dict[str, list[Place]]:
    """reason -> where the documents are that were dropped for it first: those with the smallest ids of each pass in the
    row groups of a sample, and, where these hold too few, the next ones that are met."""
    if ("examples", n) not in tables.drawn:
        drawn: dict[str, list[Place]] = {}
        columns, texts_missing = [*ORDER_COLUMNS, "reasons"], tables.files.texts_below is not None
        for number in _all(tables):
            groups, other_groups = row_groups(tables, [("dropped", number)])
            places = _first_of_reasons(_columns(groups, columns, texts_missing), n)
            counts = {reason: min(count.first, n) for reason, count in rule_counts(tables).items()}
            for group in other_groups:
                if all(len(places.get(reason, ())) >= count for reason, count in counts.items()):
                    break
                for reason, group_locations in _first_of_reasons(_columns([group], columns, texts_missing), n).items():
                    places.setdefault(reason, []).extend(group_locations)
            for reason in sorted(places):
                drawn.setdefault(reason, []).extend(places[reason][:n])
        tables.drawn["examples", n] = {reason: places[:n] for reason, places in drawn.items()}
    examples: dict[str, list[Place]] = tables.drawn["examples", n]
    return examples


def _first_of_reasons(rows: pa.Table, n: int) -> dict[str, list[Place]]:
    """first reason -> the places of the `n` rows with the smallest ids, those with a text first."""
    coded = rows["reasons"].combine_chunks().dictionary_encode()
    firsts = [(reasons or "").partition(",")[0] for reasons in coded.dictionary.to_pylist()]
    names = sorted(set(firsts))
    codes = coded.indices.to_numpy(zero_copy_only=False)
    reason_index = np.array([names.index(first) for first in firsts], np.int64)[codes]
    ordered = rows.drop_columns(["reasons"]).take(pa.array(np.argsort(reason_index, kind="stable")))
    starts = np.searchsorted(np.sort(reason_index), np.arange(len(names) + 1)).tolist()
    of_each = (ordered.slice(start, stop - start) for start, stop in pairwise(starts))
    return {name: _smallest(own, n) for name, own in zip(names, of_each)}


def pairs(tables: RunTables, step: str, n: int) -> list[dict[str, Any]]:
    """Documents that a corpus step drops or marks, beside the duplicate that is kept, the least similar first: each a
    dict of `similarity`, `lost` (the share of the document's n-grams that the other lacks; None if the step does not
    say), `document` and `duplicate_of`, with the texts that were compared."""
    number = _pass_of(tables, step)
    if number == 0 or f"{step}.duplicate_of" not in tables.columns(number):
        return []
    names = {"kept_id": f"{step}.duplicate_of", "similarity": f"{step}.similarity"}
    if f"{step}.lost" in tables.columns(number):
        names["lost"] = f"{step}.lost"
    groups, _ = row_groups(tables, [("signals", number)])
    columns = _columns(groups, [*ORDER_COLUMNS, *names.values()])
    signals = columns.rename_columns([*ORDER_COLUMNS, *names, *ROW_LOCATION])
    duplicates = signals.filter(signals["kept_id"].is_valid())
    order = [(name, "ascending") for name in ("similarity", *ORDER_COLUMNS)]
    rows = _first_rows(duplicates, n * PAIRS_TRIED_PER_PAIR, order).to_pylist()
    by_id = _by_id(tables, number - 1, {document_id for row in rows for document_id in (row["id"], row["kept_id"])})
    return _side_by_side(tables, rows, by_id, n)


def removed(tables: RunTables, step: str, n: int) -> list[tuple[str, str]]:
    """Texts of documents that a corpus step has dropped, each beside that of the document kept instead, as they were
    compared: of the first row groups, no more than MAX_SEARCHED_GROUPS, the pairs with the smallest ids of which both
    documents are there. Those dropped for documents of earlier runs are left out: their texts are not in this run."""
    number = _pass_of(tables, step)
    name = f"{step}.duplicate_of"
    if number == 0 or name not in tables.columns(number):
        return []
    groups = (group for path in tables.files.paths("signals", number) for group in _groups_of(path))
    columns = [*ORDER_COLUMNS, name, "dropped_by", "reasons"]
    signals = _columns(islice(groups, MAX_SEARCHED_GROUPS), columns)
    in_run = pc.and_(pc.equal(signals["dropped_by"], step), pc.not_equal(signals["reasons"], f"{step}.against"))
    dropped = signals.filter(pc.and_(in_run, signals[name].is_valid()))
    rows = _first_rows(dropped, n * PAIRS_TRIED_PER_PAIR, [(column, "ascending") for column in ORDER_COLUMNS])
    ids = list(zip(rows["id"].to_pylist(), rows[name].to_pylist()))
    by_id = _by_id(tables, number - 1, {document_id for pair in ids for document_id in pair})
    places = [(by_id[a], by_id[b]) for a, b in ids if a in by_id and b in by_id][:n]
    texts = _rows(tables, list(dict.fromkeys(place for pair in places for place in pair)), ["text"])
    return [(texts[a]["text"] or "", texts[b]["text"] or "") for a, b in places]


def rejected(tables: RunTables, step: str, n: int) -> list[dict[str, Any]]:
    """Pairs that near deduplication compared and that did not pass: the most similar of a random sample, as `pairs`
    gives them, with `lost`."""
    number = _pass_of(tables, step)
    paths = tables.files.outputs(f"{step}-decide", "rejected")
    if number == 0 or not paths:
        return []
    candidates = pa.concat_tables([read_table(path) for path in paths]).rename_columns(
        ["id", "kept_id", "similarity", "lost", "hash"]
    )
    candidates = candidates.sort_by("hash").slice(0, REJECTED_SAMPLE)
    rows = candidates.sort_by([("similarity", "descending"), ("id", "ascending"), ("kept_id", "ascending")]).to_pylist()
    rows = rows[: n * PAIRS_TRIED_PER_PAIR]
    by_id = _by_id(tables, number - 1, {document_id for row in rows for document_id in (row["id"], row["kept_id"])})
    return _side_by_side(tables, rows, by_id, n)


def rewritten(tables: RunTables, step: str, n: int) -> list[tuple[Document, Document]]:
    """Documents and what a step has made of them, where that is kept by its pass: those with the smallest ids."""
    number = _pass_of(tables, step)
    origin = f"{step}.made_from"
    if number == 0 or origin not in tables.columns(number):
        return []
    groups, _ = row_groups(tables, [("signals", number)])
    signals = _columns(groups, [*ORDER_COLUMNS, origin, "dropped_by"])
    chosen = signals.filter(pc.and_(signals[origin].is_valid(), signals["dropped_by"].is_null()))
    rows = _first_rows(chosen, n * PAIRS_TRIED_PER_PAIR, [(name, "ascending") for name in ORDER_COLUMNS]).to_pylist()
    originals = _by_id(tables, number - 1, {row[origin] for row in rows})
    written = _by_id(tables, number, {row["id"] for row in rows})
    pairs = ((originals.get(row[origin]), written.get(row["id"])) for row in rows)
    found = [(original, made) for original, made in pairs if original and made][:n]
    entries = _read(tables, list(dict.fromkeys(place for pair in found for place in pair)))
    return [(entries[original], entries[made]) for original, made in found]


def _pass_of(tables: RunTables, step: str) -> int:
    """The number of the pass that a step is in; 0 if it is in none that has begun."""
    return next((i for i, (_, labels) in enumerate(tables.passes) if step in labels), 0)


def _side_by_side(
    tables: RunTables, rows: Sequence[Mapping[str, Any]], by_id: Mapping[str, Place], n: int
) -> list[dict[str, Any]]:
    complete = [row for row in rows if row["id"] in by_id and row["kept_id"] in by_id][:n]
    entries = _read(tables, list(dict.fromkeys(by_id[row[name]] for row in complete for name in ("id", "kept_id"))))
    return [
        {
            "similarity": row["similarity"],
            "lost": row.get("lost"),
            "document": entries[by_id[row["id"]]],
            "duplicate_of": entries[by_id[row["kept_id"]]],
        }
        for row in complete
    ]


def _by_id(tables: RunTables, number: int, ids: Collection[str]) -> dict[str, Place]:
    """Where documents of a pass are: those of its first row groups, no more than SEARCHED."""
    locations: dict[str, Place] = {}
    id_array = pa.array(sorted(ids), pa.string())
    groups = (group for path in tables.files.paths("docs", number) for group in _groups_of(path))
    for group in islice(groups, MAX_SEARCHED_GROUPS):
        if len(locations) == len(id_array):
            break
        rows = _columns([group], ["id"])
        for row in rows.filter(pc.is_in(rows["id"], id_array)).to_pylist():
            locations.setdefault(row["id"], (row[ROW_LOCATION[0]], row[ROW_LOCATION[1]]))
    return locations


def texts(tables: RunTables, pass_tables: Sequence[tuple[str, int]], n: int) -> pa.LargeStringArray:
    """The texts of the `n` documents with the smallest ids of some tables, in the order of their ids. With dropped
    documents among them, fewer, if not all of their texts are stored: no more than are a random sample.

    pass_tables   kind and pass: ("docs", 1)
    """
    places = _first(tables, pass_tables, n)
    rows = _rows(tables, places, ["text"])
    return pa.array([rows[location]["text"] or "" for location in places], pa.large_string())


def read_ahead(tables: RunTables, n: int, pass_tables: Sequence[tuple[str, int]], many: int) -> None:
    """Read what `examples(tables, n)` and `texts(tables, pass_tables, many)` will ask for: a row group that both need
    is read once. Most of the time that a page takes goes into this."""
    places = [location for drawn in _examples(tables, n).values() for location in drawn]
    places += _first(tables, pass_tables, many)
    tables.rows_read |= _rows(tables, places)


def _first(tables: RunTables, pass_tables: Sequence[tuple[str, int]], n: int) -> list[Place]:
    """Where the `n` documents with the smallest ids of some tables are, in the row groups of a sample."""
    key = ("first", tuple(pass_tables), n)
    if key not in tables.drawn:
        groups, _ = row_groups(tables, pass_tables)
        rows = _columns(groups, ORDER_COLUMNS)
        below = tables.files.texts_below if any(kind == "dropped" for kind, _ in pass_tables) else None
        if below is not None:
            rows = rows.filter(pc.less(rows["id"], pa.scalar(below, pa.string())))
        tables.drawn[key] = _smallest(rows, n)
    drawn: list[Place] = tables.drawn[key]
    return drawn


def row_groups(tables: RunTables, pass_tables: Sequence[tuple[str, int]]) -> tuple[list[RowGroup], Iterator[RowGroup]]:
    """Row groups of some tables that stand for all of them: those in which GROUPS rows are that are spread evenly over
    all rows, or all if there are no more. And the others, in order.

    To read one row of a file, its row group is unpacked: so the price of a sample does not grow with the run.
    """
    paths = [path for kind, number in pass_tables for path in tables.files.paths(kind, number)]
    rows = [int(count) for kind, number in pass_tables for count in tables.files.rows(kind, number)]
    ends = np.cumsum(rows)
    if len(paths) <= SAMPLED_ROW_GROUPS:
        all_groups = [group for path in paths for group in _groups_of(path)]
        if len(all_groups) <= SAMPLED_ROW_GROUPS:
            return all_groups, iter(())
    chosen: dict[RowGroup, None] = {}
    for i in range(SAMPLED_ROW_GROUPS):
        row = (2 * i + 1) * int(ends[-1]) // (2 * SAMPLED_ROW_GROUPS)
        file = int(np.searchsorted(ends, row, "right"))
        within = row - int(ends[file]) + rows[file]
        chosen[next(group for group in _groups_of(paths[file]) if within < group.first + group.rows)] = None
    others = (group for path in paths for group in _groups_of(path) if group not in chosen)
    return list(chosen), others


def _groups_of(path: str) -> list[RowGroup]:
    metadata = pq.read_metadata(path)
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return [RowGroup(path, i, sum(sizes[:i]), size) for i, size in enumerate(sizes)]


def _columns(groups: Iterable[RowGroup], columns: Sequence[str], missing: bool = False) -> pa.Table:
    """Columns of row groups, and ROW_LOCATION.

    missing   add TEXT_MISSING: whether there is no text. Where only some are stored, reading them costs little
    """
    types: dict[str, pa.DataType] = {ROW_LOCATION[1]: pa.int64(), TEXT_MISSING: pa.bool_()}
    names = [*columns, *([TEXT_MISSING] if missing else []), *ROW_LOCATION]
    by_file = [list(file_groups) for _, file_groups in groupby(groups, lambda group: group.path)]
    read = _results_of(lambda own: _columns_of_file(own, columns, missing), by_file)
    parts = [part for of_file in read for part in of_file]
    return pa.concat_tables(parts or [pa.table({name: pa.array([], types.get(name, pa.string())) for name in names})])


def _columns_of_file(groups: Sequence[RowGroup], columns: Sequence[str], missing: bool) -> list[pa.Table]:
    """The same of row groups of one file, a table each."""
    parts = []
    path = groups[0].path
    with pq.ParquetFile(path) as file:
        read = [*columns, *(["text"] if missing and "text" in file.schema_arrow.names else [])]
        for group in groups:
            part = file.read_row_group(group.number, read, use_threads=False)
            part_columns = {name: part[name] for name in columns}
            if missing:
                no_text = pc.is_null(part["text"]) if "text" in read else pa.repeat(False, len(part))
                part_columns[TEXT_MISSING] = no_text
            numbers = pa.array(np.arange(group.first, group.first + len(part)))
            part_columns |= dict(zip(ROW_LOCATION, (pa.repeat(path, len(part)), numbers)))
            parts.append(pa.table(part_columns))
    return parts


def _smallest(rows: pa.Table, n: int) -> list[Place]:
    """The places of the `n` rows with the smallest ids, in their order; those with a text first, if it is known."""
    by = [name for name in (TEXT_MISSING, *ORDER_COLUMNS) if name in rows.column_names]
    smallest = _first_rows(rows, n, [(name, "ascending") for name in by])
    return list(zip(*(smallest[name].to_pylist() for name in ROW_LOCATION)))


def _first_rows(rows: pa.Table, n: int, by: Sequence[tuple[str, str]]) -> pa.Table:
    """The first `n` rows in this order. Of no rows, older versions of pyarrow select none with an error."""
    return rows.take(pc.select_k_unstable(rows, min(n, len(rows)), by)) if len(rows) else rows


def draw(
    tables: RunTables, kind: str, numbers: Iterable[int], n: int, where: str = "true", values: Sequence[Any] = ()
) -> list[Document]:
    """The first `n` documents by id that fulfil a condition, with their texts and signals.

    kind      "docs" or "dropped"
    numbers   the passes to draw from
    """
    # Only where some texts are not stored: to see whether there is one, it is read, and there are few then.
    texts_missing = kind == "dropped" and tables.files.texts_below is not None
    parts = [
        f"SELECT *, {'text IS NULL' if texts_missing and tables.has_texts(kind, number) else 'false'} "
        f"AS {TEXT_MISSING} FROM ({tables.table(kind, number, with_location=True)})"
        for number in numbers
    ]
    if not parts:
        raise nothing_committed(tables)
    query = f"SELECT {', '.join(ROW_LOCATION)} FROM ({' UNION ALL BY NAME '.join(parts)}) WHERE {where}"
    places = tables.tuples(f"{query} ORDER BY {TEXT_MISSING}, {ID_ORDER} LIMIT {n}", values)
    entries = _read(tables, places)
    return [entries[location] for location in places]


def text_of(
    tables: RunTables, kind: str, number: int, where: str, values: Sequence[Any], units: Collection[int] | None = None
) -> str | None:
    """The text of the first document by id of a pass, "docs" or "dropped", that fulfils a condition. None if there is
    no such document, or its text is not stored.

    units   that are looked through; all of them if not given
    """
    table = tables.table(kind, number, with_location=True, units=units)
    places = tables.tuples(
        f"SELECT {', '.join(ROW_LOCATION)} FROM ({table}) WHERE {where} ORDER BY {ID_ORDER} LIMIT 1", values
    )
    for row in _rows(tables, places, ["text"]).values():
        text: str | None = row["text"]
        return text or "" if kind == "docs" else text
    return None


def _draw_ids(tables: RunTables, kind: str, number: int, ids: Mapping[str, Any]) -> list[Document]:
    return draw(tables, kind, [number], len(ids), f"id IN {placeholders(ids)}", list(ids)) if ids else []


def _all(tables: RunTables) -> range:
    return range(len(tables.passes))


def _read(tables: RunTables, places: Sequence[Place]) -> dict[Place, Document]:
    """Whole documents from rows of files."""
    rows = _rows(tables, places)
    signals = _signals_of(tables, {row["id"] for row in rows.values()}, _units_of(tables, {path for path, _ in places}))
    return {location: _document(row, signals.get(row["id"], {})) for location, row in rows.items()}


def _rows(tables: RunTables, places: Sequence[Place], columns: list[str] | None = None) -> dict[Place, dict[str, Any]]:
    """Rows of files: these columns of them at least."""
    rows = {location: tables.rows_read[location] for location in places if location in tables.rows_read}
    rows_by_path: dict[str, set[int]] = {}
    for path, row in places:
        if (path, row) not in rows:
            rows_by_path.setdefault(path, set()).add(row)
    read = _results_of(lambda path: _rows_of_file(path, rows_by_path[path], columns), rows_by_path)
    for path, entries in zip(rows_by_path, read):
        rows |= {(path, row): entry for row, entry in entries.items()}
    _add_texts(tables, {location: row for location, row in rows.items() if ROW in row and "text" not in row})
    return rows


def _add_texts(tables: RunTables, rows: Mapping[Place, dict[str, Any]]) -> None:
    """Add text and metadata to rows of files that have neither, but say where they are."""
    if not rows:
        return
    kinds = ((kind, number) for kind in ("docs", "dropped") for number in _all(tables))
    texts = {path: text_path for kind in kinds for path, text_path in tables.files.with_texts(*kind)}
    rows_by_path: dict[str, set[int]] = {}
    for (path, _), row in rows.items():
        rows_by_path.setdefault(texts[path], set()).add(row[ROW])
    read = _results_of(lambda path: _rows_of_file(path, rows_by_path[path], ["text", "metadata"]), rows_by_path)
    text_rows = dict(zip(rows_by_path, read))
    for (path, _), row in rows.items():
        row.update(text_rows[texts[path]][row[ROW]])


def _rows_of_file(path: str, numbers: Collection[int], columns: list[str] | None) -> dict[int, dict[str, Any]]:
    """Rows of a file: a row group is read once, and only if it holds one of them. Of columns that the file has not, it
    may say where they are."""
    rows: dict[int, dict[str, Any]] = {}
    with pq.ParquetFile(path) as file:
        if columns is not None:
            columns = [name for name in file.schema_arrow.names if name in (*columns, ROW)]
        start = 0
        for group in range(file.metadata.num_row_groups):
            stop = start + file.metadata.row_group(group).num_rows
            group_rows = [row for row in sorted(numbers) if start <= row < stop]
            if group_rows:
                table = file.read_row_group(group, columns, use_threads=False).take([row - start for row in group_rows])
                rows |= dict(zip(group_rows, table.to_pylist()))
            start = stop
    return rows


def _units_of(tables: RunTables, paths: Collection[str]) -> set[int]:
    """The units that wrote these files. A document is in the same unit of every pass."""
    kinds = ((kind, number) for number in _all(tables) for kind in ("docs", "dropped"))
    return {unit for kind in kinds for unit, path in enumerate(tables.files.paths(*kind)) if path in paths}


def _signals_of(tables: RunTables, ids: set[str], units: Collection[int]) -> dict[str, dict[str, Any]]:
    """id -> all that was measured of a document, in whichever pass. `units` are those that the documents are in."""
    signals: dict[str, dict[str, Any]] = {}
    id_array = pa.array(sorted(ids), pa.string())
    all_paths = (tables.files.paths("signals", number) for number in _all(tables) if ids)
    paths = [path for of_pass in all_paths for unit, path in enumerate(of_pass) if unit in units]
    for rows in _results_of(lambda path: _rows_by_id(path, id_array), paths):
        for row in rows:
            own = {name: finite(value) for name, value in row.items() if name not in DOCUMENT_COLUMNS}
            signals.setdefault(row["id"], {}).update(own)
    return signals


def _rows_by_id(path: str, ids: pa.Array) -> list[dict[str, Any]]:
    """The rows of a file with these ids."""
    rows: list[dict[str, Any]] = []
    with pq.ParquetFile(path) as file:
        for group in range(file.metadata.num_row_groups):
            matches = pc.is_in(file.read_row_group(group, ["id"], use_threads=False)["id"], ids)
            if pc.any(matches).as_py():
                rows += file.read_row_group(group, use_threads=False).filter(matches).to_pylist()
    return rows


def _results_of(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results in the order of the items, several at a time: most of the work is unpacking, which needs no GIL."""
    items = list(items)
    if len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(cpus.usable(), MAX_READERS)) as pool:
        return list(pool.map(function, items))


def _document(row: Mapping[str, Any], signals: Mapping[str, Any]) -> Document:
    text = row["text"] if "dropped_by" in row else row["text"] or ""
    about = {name: row.get(name) for name in DOCUMENT_COLUMNS}
    about["bytes"] = row["bytes"] if text is None else len(text.encode())
    failed = row.get("reasons")
    return {**about, "reasons": failed.split(",") if failed else [], "signals": dict(signals), "text": text}
