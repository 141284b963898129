"""Two runs compared, document by document: whose outcome differs, and what differs between the recipes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.report.tables import RunTables, placeholders
from corpusmill.report.views import documents
from corpusmill.storage import name_of as name_of_place

OUTCOME_KEPT = "kept"
OUTCOME_LOST = "lost"  # to an error: the record could not be read, or a step could not process the document
OUTCOME_ABSENT = "absent"  # the inputs of this run do not have it


@dataclass(frozen=True)
class Difference:
    """A setting, input or version that differs: `steps.gopher_quality.min_words`, `inputs.web`, `versions.numba`. None
    where a run does not have it."""

    what: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Outcome:
    """What happened to a document in a run: "kept", "lost", "absent" or the step that dropped it; and its first
    reason."""

    where: str
    reason: str | None = None


@dataclass(frozen=True)
class Moved:
    """Documents with one outcome in the first run and another in the second. Tokens are those in each run."""

    before: Outcome
    after: Outcome
    documents: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True)
class Example:
    """A document that moved. `file` and `position` are those of the second run, where it has the document."""

    id: str
    source: str
    file: str
    position: int
    url: str | None
    before: Outcome
    after: Outcome


@dataclass(frozen=True)
class Diff:
    """What differs between two runs.

    differences      between the recipes, inputs and versions
    documents        kept in the first, and in the second
    tokens           the same in tokens
    gained, lost     tokens of documents that are kept in the second run alone, and in the first alone
    changed          tokens more, or fewer, in documents that are kept in both, as their text has changed
    same             documents with the same outcome and first reason in both
    moved            all others, the most frequent change of outcome first
    examples         of each transition, the documents with the smallest ids
    """

    before: str
    after: str
    differences: tuple[Difference, ...]
    documents: tuple[int, int]
    tokens: tuple[int, int]
    gained: int
    lost: int
    changed: int
    same: int
    moved: tuple[Moved, ...]
    examples: tuple[Example, ...]

    @property
    def transitions(self) -> dict[tuple[str, str], int]:
        """(where in the first run, where in the second) -> documents; the same step twice is for another reason."""
        counts: dict[tuple[str, str], int] = {}
        for moved in self.moved:
            transition = (moved.before.where, moved.after.where)
            counts[transition] = counts.get(transition, 0) + moved.documents
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def diff(before: str | PathLike[str], after: str | PathLike[str], examples: int = 3) -> Diff:
    """Compare two finished runs. Documents are matched by id; where an input gives an id twice, by position too.

    examples   documents per transition

    Raises ResumeError if one of the runs is not finished.
    """
    first, second = RunTables(Path(before)), RunTables(Path(after))
    for tables in (first, second):
        tables.files.must_be_finished()
    database = first.duckdb
    for name, tables in (("run_a", first), ("run_b", second)):
        database.execute(f"CREATE TABLE all_of_{name} AS {_outcomes(tables)}")
    database.execute(
        "CREATE TABLE repeated AS SELECT id FROM all_of_run_a GROUP BY id HAVING count(*) > 1 "
        "UNION SELECT id FROM all_of_run_b GROUP BY id HAVING count(*) > 1"
    )
    for name in ("run_a", "run_b"):
        database.execute(f"CREATE TABLE {name} AS {_addressed(f'all_of_{name}')}")
        database.execute(f"DROP TABLE all_of_{name}")
    # NULL is a value here: a document may have no reason, but always has an outcome in a run that has it.
    joined = f'SELECT {PAIR_COLUMNS} FROM run_a FULL JOIN run_b USING (id, "at", copy)'
    counts = first.tuples(
        f"SELECT where_a, reason_a, where_b, reason_b, count(*), sum(tokens_a)::BIGINT, sum(tokens_b)::BIGINT "
        f"FROM ({joined}) GROUP BY ALL ORDER BY count(*) DESC, 1, 3, 2 NULLS FIRST, 4 NULLS FIRST"
    )
    groups = [Moved(Outcome(w, r), Outcome(x, s), n, tokens, others) for w, r, x, s, n, tokens, others in counts]
    kept_before = [group for group in groups if group.before.where == OUTCOME_KEPT]
    kept_after = [group for group in groups if group.after.where == OUTCOME_KEPT]
    kept_in_both = [group for group in kept_before if group.after.where == OUTCOME_KEPT]
    return Diff(
        before=first.folder,
        after=second.folder,
        differences=tuple(differences(first, second)),
        documents=(sum(group.documents for group in kept_before), sum(group.documents for group in kept_after)),
        tokens=(sum(group.tokens_before for group in kept_before), sum(group.tokens_after for group in kept_after)),
        gained=sum(group.tokens_after for group in kept_after if group.before.where != OUTCOME_KEPT),
        lost=sum(group.tokens_before for group in kept_before if group.after.where != OUTCOME_KEPT),
        changed=sum(group.tokens_after - group.tokens_before for group in kept_in_both),
        same=sum(group.documents for group in groups if group.before == group.after),
        moved=tuple(group for group in groups if group.before != group.after),
        examples=tuple(_examples(first, second, joined, examples)) if examples else (),
    )


def differences(first: RunTables, second: RunTables) -> Iterator[Difference]:
    """The differences between the recipes, inputs and versions of two runs."""
    yield from recipe_differences(first.files.recipe, second.files.recipe)
    files = [
        {f"inputs.{source}.{f['path']}": f["fingerprint"] for source, listed in t.files.inputs.items() for f in listed}
        for t in (first, second)
    ]
    yield from _differences(*files)
    both = first.files.versions.keys() & second.files.versions.keys()  # early versions of corpusmill recorded but a few
    versions = [
        {f"versions.{name}": v for name, v in t.files.versions.items() if name in both} for t in (first, second)
    ]
    yield from _differences(*versions)


def recipe_differences(first: Recipe, second: Recipe) -> Iterator[Difference]:
    """The differences between two recipes, by section, name and parameter. Settings under `run:` are not compared."""
    yield from _differences({"seed": first.seed}, {"seed": second.seed})
    sections = (_sections(first), _sections(second))
    for section in ("read", "steps", "write"):
        old, new = (entries[section] for entries in sections)
        for label in dict.fromkeys([*old, *new]):
            names = [entries[label][0] if label in entries else None for entries in (old, new)]
            if names[0] != names[1]:
                yield Difference(f"{section}.{label}", *names)
                continue
            yield from _differences(
                *(
                    {f"{section}.{label}.{name}": value for name, value in entries[label][1].items()}
                    for entries in (old, new)
                )
            )
        orders = [[label for label in entries if label in old and label in new] for entries in (old, new)]
        if orders[0] != orders[1]:
            yield Difference(section, ", ".join(orders[0]), ", ".join(orders[1]))


def _sections(recipe: Recipe) -> dict[str, dict[str, tuple[str, dict[str, Any]]]]:
    """section -> label -> name and parameters of each reader, step and writer, in order."""
    return {
        "read": {
            source.source: (
                name_of(source.reader),
                _parameters(source.reader)
                | {"paths": tuple(map(name_of_place, source.paths)), "subset": source.subset, "split": source.split},
            )
            for source in recipe.read
        },
        **{
            section: {
                label: (name_of(part), _parameters(part) | (selection.to_plain() if selection else {}))
                for label, part, selection in zip(labels(things), things, selections)
            }
            for section, things, selections in (
                ("steps", recipe.steps, recipe.selections),
                ("write", recipe.write, [None] * len(recipe.write)),
            )
        },
    }


def _parameters(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__dataclass_fields__}


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield Difference(name, old.get(name), new.get(name))


PAIR_COLUMNS = (
    "id, run_a.position AS position_a, run_b.position AS position_b, "
    "run_a.file AS file_a, run_b.file AS file_b, "
    f"coalesce(run_a.outcome, '{OUTCOME_ABSENT}') AS where_a, coalesce(run_b.outcome, '{OUTCOME_ABSENT}') AS where_b, "
    "run_a.reason AS reason_a, run_b.reason AS reason_b, "
    "coalesce(run_a.tokens, 0) AS tokens_a, coalesce(run_b.tokens, 0) AS tokens_b"
)


def _outcomes(tables: RunTables) -> str:
    """Every document and every lost record, as SQL: id, file, position, outcome, reason, tokens."""
    letters = " UNION ALL ".join(
        f"SELECT {number} AS pass, id, file, position, step || ': ' || kind AS reason "
        f"FROM ({tables.table('dead', number)})"
        for number in range(len(tables.passes))
    )
    # A document that a later pass could not process is both a document and a dead letter.
    return (
        f"WITH letters AS ({letters}), documents AS ({documents(tables)}) "
        f"SELECT d.id, d.file, d.position, CASE WHEN kept THEN '{OUTCOME_KEPT}' "
        f"ELSE coalesce(dropped_by, '{OUTCOME_LOST}') END AS outcome, "
        "coalesce(nullif(split_part(reasons, ',', 1), ''), l.reason) AS reason, tokens "
        "FROM documents d LEFT JOIN letters l ON l.pass > 0 AND l.id = d.id AND l.file IS NOT DISTINCT FROM d.file "
        "AND l.position IS NOT DISTINCT FROM d.position "
        f"UNION ALL SELECT id, file, position, '{OUTCOME_LOST}', reason, 0 FROM letters WHERE pass = 0"
    )


def _addressed(table: str) -> str:
    """The outcomes of a table, with what distinguishes two documents of one id: `at`, and `copy` where even the
    positions are the same, in two files. Both are 0 for an id that occurs once: its file may have been rewritten."""
    return (
        f"SELECT *, 0 AS at, 0 AS copy FROM {table} WHERE id NOT IN (FROM repeated) UNION ALL "
        "SELECT *, position AS at, row_number() OVER (PARTITION BY id, position ORDER BY file) AS copy "
        f"FROM {table} WHERE id IN (FROM repeated)"
    )


def _examples(first: RunTables, second: RunTables, joined: str, n: int) -> Iterator[Example]:
    columns = ["id", "file_a", "position_a", "file_b", "position_b", "where_a", "reason_a", "where_b", "reason_b"]
    rows = first.tuples(
        f"SELECT {', '.join(columns)} FROM ({joined}) "
        "WHERE where_a != where_b OR reason_a IS DISTINCT FROM reason_b "
        f"QUALIFY row_number() OVER (PARTITION BY where_a, where_b ORDER BY id, position_b, position_a) <= {n} "
        "ORDER BY where_a, where_b, id, position_b, position_a"
    )
    ids = sorted({row[0] for row in rows})
    origins = [_sources(tables, ids) for tables in (first, second)]
    for name, file_a, position_a, file_b, position_b, where_a, reason_a, where_b, reason_b in rows:
        side = 1 if where_b != OUTCOME_ABSENT else 0
        file, position = ((file_a, position_a), (file_b, position_b))[side]
        source, url = origins[side][name, file, position]
        yield Example(name, source, file, position, url, Outcome(where_a, reason_a), Outcome(where_b, reason_b))


def _sources(tables: RunTables, ids: Sequence[str]) -> dict[tuple[str, str, int], tuple[str, str | None]]:
    """(id, file, position) -> source and url."""
    if not ids:
        return {}
    query = " UNION ALL ".join(
        f"SELECT id, file, position, source, url FROM ({tables.table(kind, 0)}) WHERE id IN {placeholders(ids)}"
        for kind in ("signals", "dead")
    )
    rows = tables.tuples(query, [*ids, *ids])
    return {(name, file, position): (source, url) for name, file, position, source, url in rows}
