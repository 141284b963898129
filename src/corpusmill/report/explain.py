"""The history of a document: where it was read, what every step measured and decided, where its tokens are."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from corpusmill.errors import AssetError, InputError, RecipeError
from corpusmill.recipe.names import labels, name_of
from corpusmill.report.samples import MAX_SAME_NAME, text_of
from corpusmill.report.tables import DOCUMENT_COLUMNS, ROW_LOCATION, RunTables
from corpusmill.shards import open_shards
from corpusmill.shards.reader import Shards
from corpusmill.steps.keys import ADDRESS
from corpusmill.steps.verdict import COMPARE
from corpusmill.store.tables import read_table

Verdict = Literal[
    "passes", "drops", "would drop", "not applied", "fails", "not recorded", "not reached", "not measured"
]
MAX_SUGGESTED_NAMES = 5  # names that are suggested for one that is unknown
MAX_COMPARED_NAMES = 20_000  # names that are compared to find them
ID_PREFIX = re.compile("[0-9a-fA-F]{4,32}")  # of an id


@dataclass(frozen=True)
class RuleResult:
    """A rule of a step that compares a signal with a threshold. `value` is null where nothing was measured."""

    rule: str
    signal: str
    value: Any
    drops: str  # "<", "<=", ">", ">=": how the value of a dropped document compares with the threshold
    threshold: float
    passes: bool


@dataclass(frozen=True)
class KeptDuplicate:
    """The document that is kept instead of one that a corpus step drops."""

    id: str
    url: str | None
    similarity: float | None


@dataclass(frozen=True)
class StepOutcome:
    """What one step measured and decided.

    verdict        "passes"; "drops" where the document was dropped; "would drop" if it fails this step too, but had
                   been dropped before; "not applied" where the step is not for its source; "fails" where the step could
                   not process it, and "not recorded" before that step in the same pass; "not reached" after it was
                   lost, in passes that follow the one that dropped it, and at a dedup that follows the one that dropped
                   it; "not measured" at the other steps that follow in the same pass, of a run that measures dropped
                   documents only up to there
    reasons        the rules that it fails, the first first
    signals        all that the step measured
    rules          those that compare a signal with a threshold, and are switched on
    duplicate_of   the kept document that a dedup found it to duplicate
    """

    step: str
    name: str | None  # in a recipe; None where the recipe's steps cannot be imported from here
    stage: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    signals: Mapping[str, Any] | None = None
    rules: tuple[RuleResult, ...] = ()
    duplicate_of: KeptDuplicate | None = None


@dataclass(frozen=True)
class TokenPlacement:
    """Tokens [start, stop) of a training shard, counted from its beginning.

    row      the row that they begin in, counted over all shards; None where the shards have no rows
    offset   tokens of the document before these: above 0 where a row ended within it
    """

    shard: int
    file: str
    start: int
    stop: int
    row: int | None
    offset: int


@dataclass(frozen=True)
class DocumentLoss:
    """Why there is no document: what could not be read, or what a step could not process."""

    step: str
    kind: str
    reason: str
    expected: bool  # no fault of the data: an image, a page that was not found


@dataclass(frozen=True)
class DocumentHistory:
    """Everything that a run knows of one document or record.

    dropped_by   the step that dropped it; None of a kept or a lost one
    tokens       as the text left the last pass that the document reached; None without a tokenizer
    shards       where its tokens are in the training shards; empty if it has none
    text         as it was last; None for a record that was never a document, and where it is not stored
    """

    id: str
    source: str
    file: str
    position: int
    url: str | None
    date: str | None
    kept: bool
    dropped_by: str | None
    lost: DocumentLoss | None
    steps: tuple[StepOutcome, ...]
    bytes: int | None
    tokens: int | None
    shards: tuple[TokenPlacement, ...]
    text: str | None


def explain(folder: str | PathLike[str], key: str) -> list[DocumentHistory]:
    """The histories of all documents and lost records with a name, in the order in which they were read.

    key   an id, a URL, or FILE:POSITION as histories and dead letters give them; FILE alone of a file that holds one.
          The folders of FILE may be left out. If nothing has this name: the prefix of one id, of four digits or more

    Raises ResumeError if the run is not finished, InputError if nothing has this name, or several ids have the prefix:
    it suggests names.
    """
    tables = RunTables(Path(folder))
    tables.files.must_be_finished()
    in_file = _in_file(tables, key)
    named = _by_name(tables, key)
    matches = list(dict.fromkeys([*named, *in_file])) if len(in_file) == 1 else named or _by_prefix(tables, key)
    if not matches and in_file:
        raise InputError(
            f"{tables.folder}: {key} holds several documents and lost records: give FILE:POSITION, such as "
            f"{in_file[0][1]}:{in_file[0][2]}, an id or a URL."
        )
    if not matches:
        suggestions = _similar_names(tables, key)
        hint = f" Similar names: {', '.join(suggestions)}." if suggestions else ""
        raise InputError(
            f'{tables.folder}: there is no document or dead letter with the id, URL or FILE:POSITION "{key}".{hint}'
        )
    return [history(tables, *match) for match in matches]


Match = tuple[str, str, int]  # the columns of ADDRESS
UnitsOf = Callable[[str], Collection[int] | None]  # id -> the units that may have it; None: all


def _by_name(tables: RunTables, key: str) -> list[Match]:
    where, values = "id = ? OR url = ?", [key, key]
    file, _, position = key.rpartition(":")
    if file and position.isascii() and position.isdigit() and len(position) < 19:
        where += " OR (position = ? AND (file = ? OR ends_with(file, ?)))"
        values += [position, file, f"/{file}"]
    matches: dict[Match, None] = {}
    for kind, number in [("signals", 0), *(("dead", number) for number in range(len(tables.passes)))]:
        query = f"SELECT {', '.join(ADDRESS)} FROM ({tables.table(kind, number, with_location=True)}) WHERE {where}"
        rows = tables.tuples(f"{query} ORDER BY {', '.join(ROW_LOCATION)} LIMIT {MAX_SAME_NAME}", values)
        matches |= dict.fromkeys((name, path, at) for name, path, at in rows)
    return list(matches)


def _in_file(tables: RunTables, key: str) -> list[Match]:
    """The document or lost record of a file; two where it holds more."""
    matches: dict[Match, None] = {}
    for kind, number in [("signals", 0), *(("dead", number) for number in range(len(tables.passes)))]:
        query = f"SELECT DISTINCT {', '.join(ADDRESS)} FROM ({tables.table(kind, number)})"
        rows = tables.tuples(f"{query} WHERE file = ? OR ends_with(file, ?) ORDER BY ALL LIMIT 2", [key, f"/{key}"])
        matches |= dict.fromkeys((name, path, at) for name, path, at in rows)
    return list(matches)[:2]


def _by_prefix(tables: RunTables, key: str) -> list[Match]:
    """The documents of the one id with this prefix."""
    if not ID_PREFIX.fullmatch(key):
        return []
    query = f"SELECT DISTINCT name FROM ({_all_names(tables, 'id')}) WHERE starts_with(name, ?) ORDER BY name"
    ids = [name for (name,) in tables.tuples(query, [key.lower()])]
    if len(ids) > 1:
        remainder = f" and {len(ids) - MAX_SUGGESTED_NAMES:,d} more" if len(ids) > MAX_SUGGESTED_NAMES else ""
        shown = ", ".join(ids[:MAX_SUGGESTED_NAMES])
        raise InputError(
            f'{tables.folder}: {len(ids):,d} ids begin with "{key}": {shown}{remainder}. Give more digits.'
        )
    return _by_name(tables, ids[0]) if ids else []


def _all_names(tables: RunTables, *columns: str) -> str:
    """SQL for the ids or URLs of all documents and lost records."""
    return " UNION ALL ".join(
        f"SELECT {column} AS name FROM ({tables.table(kind, 0)})" for kind in ("signals", "dead") for column in columns
    )


def _similar_names(tables: RunTables, key: str) -> list[str]:
    """Ids or URLs like this one: those that begin or end alike, or else the most similar of a sample."""
    names = _all_names(tables, "url", "id")
    core = key.partition("://")[2] or key
    # Another scheme, a "www." or a slash at the end; then the same site or the same beginning of an id.
    for pattern in (core.removeprefix("www.").rstrip("/"), core[: max(8, 2 * len(core) // 3)]):
        if len(pattern) >= 4:
            query = f"SELECT DISTINCT name FROM ({names}) WHERE contains(name, ?) ORDER BY length(name), name "
            query += f"LIMIT {MAX_SUGGESTED_NAMES}"
            if alike := [name for (name,) in tables.tuples(query, [pattern])]:
                return alike
    query = f"SELECT DISTINCT name FROM ({names}) WHERE name IS NOT NULL ORDER BY name LIMIT {MAX_COMPARED_NAMES}"
    sample = tables.tuples(query)
    return get_close_matches(key, [name for (name,) in sample], n=MAX_SUGGESTED_NAMES, cutoff=0.75)


def history(
    tables: RunTables, name: str, file: str, position: int, units_of: UnitsOf = lambda _: None
) -> DocumentHistory:
    """The history of the document or lost record of a finished run at this address, which is there.

    units_of   says where documents are: other units are not read, which in a large run takes a second
    """
    units = units_of(name)
    where = "id = ? AND file IS NOT DISTINCT FROM ? AND position IS NOT DISTINCT FROM ?"
    values = [name, file, position]
    rows: list[dict[str, Any]] = []  # one per pass that the document reached
    lost: list[tuple[int, DocumentLoss]] = []
    about: dict[str, Any] = {}
    for number in range(len(tables.passes)):
        for letter in tables.rows(f"SELECT * FROM ({tables.table('dead', number, units=units)}) WHERE {where}", values):
            lost.append((number, DocumentLoss(letter["step"], letter["kind"], letter["reason"], letter["expected"])))
            about = letter | about
        signals = tables.table("signals", number, units=units)
        row = tables.rows(f"SELECT * FROM ({signals}) WHERE {where} LIMIT 1", values)
        if not row:
            break
        rows += row
        about |= row[0]
    last = rows[-1] if rows else {}
    is_kept = len(rows) == len(tables.passes) and last["dropped_by"] is None
    return DocumentHistory(
        id=name,
        source=about["source"],
        file=file,
        position=position,
        url=about["url"],
        date=about.get("date"),
        kept=is_kept,
        dropped_by=last.get("dropped_by"),
        lost=lost[-1][1] if lost else None,
        steps=tuple(_outcomes(tables, rows, {number: loss.step for number, loss in lost}, units_of)),
        bytes=last.get("bytes"),
        tokens=last.get("tokens"),
        shards=tuple(_placements(tables, name, file, position)) if is_kept else (),
        text=_text(tables, rows, where, values, units),
    )


def _outcomes(
    tables: RunTables, rows: Sequence[Mapping[str, Any]], lost: Mapping[int, str], units_of: UnitsOf
) -> Iterator[StepOutcome]:
    """Every step of every pass, in the order of the recipe. `lost` has, for a pass, the step that failed in it."""
    names = _step_names(tables)
    dropped = False
    for number, (stage, own) in enumerate(tables.passes):
        row = rows[number] if number < len(rows) else None
        how_far = tables.files.measure_dropped(number)
        fails_at = own.index(lost[number]) if row is None and lost.get(number) in own else -1
        for at, label in enumerate(own):
            if row is None:
                verdict: Verdict = "fails" if at == fails_at else "not recorded" if at < fails_at else "not reached"
                yield StepOutcome(label, names.get(label), stage, verdict)
                continue
            if row["source"] not in tables.files.only.get(label, (row["source"],)):
                yield StepOutcome(label, names.get(label), stage, "not applied")
                continue
            failed = [reason for reason in (row["reasons"] or "").split(",") if reason.partition(".")[0] == label]
            signals = {
                c.partition(".")[2]: v
                for c, v in row.items()
                if c.partition(".")[0] == label and c not in DOCUMENT_COLUMNS
            }
            # Corpus steps in a row see the same documents, less those that an earlier one of them drops.
            verdict = "not reached" if dropped and f"{label}.duplicate_of" in row else "passes"
            if verdict == "passes" and dropped and how_far != "all":
                yield StepOutcome(label, names.get(label), stage, "not measured")
                continue
            if failed:
                verdict = "would drop" if dropped else "drops"
            dropped = dropped or bool(failed)
            yield StepOutcome(
                label,
                names.get(label),
                stage,
                verdict,
                tuple(reason.partition(".")[2] for reason in failed),
                signals,
                () if how_far == "none" and row["dropped_by"] else tuple(_rules(tables, label, row)),
                _duplicate_of(tables, number, signals, units_of),
            )


def _step_names(tables: RunTables) -> dict[str, str]:
    """label -> name in a recipe; empty where the recipe's own steps cannot be imported from here."""
    try:
        steps = tables.files.recipe.steps
    except (RecipeError, AssetError):
        return {}
    return dict(zip(labels(steps), map(name_of, steps)))


def _rules(tables: RunTables, label: str, row: Mapping[str, Any]) -> Iterator[RuleResult]:
    for reason, bound in tables.bounds.items():
        step, _, rule = reason.partition(".")
        if step == label:
            value = row.get(bound.signal)
            passes = value is None or not COMPARE[bound.drops](value, bound.threshold).as_py()
            yield RuleResult(rule, bound.signal.partition(".")[2], value, bound.drops, bound.threshold, passes)


def _duplicate_of(
    tables: RunTables, number: int, signals: Mapping[str, Any], units_of: UnitsOf
) -> KeptDuplicate | None:
    kept_id = signals.get("duplicate_of")
    if kept_id is None:
        return None
    table = tables.table("signals", number - 1, with_location=True, units=units_of(kept_id))
    query = f"SELECT url FROM ({table}) WHERE id = ? ORDER BY {', '.join(ROW_LOCATION)} LIMIT 1"
    urls = tables.tuples(query, [kept_id])
    return KeptDuplicate(kept_id, urls[0][0] if urls else None, signals.get("similarity"))


def _text(
    tables: RunTables,
    rows: Sequence[Mapping[str, Any]],
    where: str,
    values: Sequence[Any],
    units: Collection[int] | None,
) -> str | None:
    if not rows:
        return None
    kind = "docs" if rows[-1]["dropped_by"] is None else "dropped"
    # A document that a later pass failed on is as the pass before it has left it.
    return text_of(tables, kind, len(rows) - 1, where, values, units)


def _placements(tables: RunTables, name: str, file: str, position: int) -> Iterator[TokenPlacement]:
    """Where a document's tokens are in the training shards, if the run has made any."""
    folder = tables.files.shards
    if folder is None:
        return
    shards = open_shards(folder)
    for document in _numbers(shards, name, file, position):
        yield from _pieces(shards, document)


def _pieces(shards: Shards, document: int) -> Iterator[TokenPlacement]:
    rows = 0
    has_begun = False
    for entry in shards.index.shards:
        if document >= entry.first_document:
            spans = shards.spans(rows, rows + entry.tokens)
            ends = np.append(spans.start[1:], entry.tokens)
            own = np.flatnonzero(spans.document == document)
            if has_begun and not len(own):
                return
            has_begun = has_begun or bool(len(own))
            path = str(shards.folder / shards.index.tokens_name(entry.number))
            for at in own.tolist():
                start, stop, offset = int(spans.start[at]), int(ends[at]), int(spans.offset[at])
                length = shards.index.sequence_length
                row = (rows + start) // length if length else None
                yield TokenPlacement(entry.number, path, start, stop, row, offset)
        rows += entry.tokens


def _numbers(shards: Shards, name: str, file: str, position: int) -> Iterator[int]:
    """The numbers that a document has in the shards: one for each time that it was drawn."""
    filters = [(column, "==", value) for column, value in zip(ADDRESS, (name, file, position))]
    for entry in shards.index.shards:
        if entry.table_xxh3_128 is not None:
            path = shards.folder / shards.index.table_name(entry.number)
            table = read_table(path, columns=["document"], filters=filters)
            yield from sorted(table["document"].to_pylist())
