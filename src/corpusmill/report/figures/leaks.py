"""Benchmark contamination: which questions of benchmarks occur in the documents, in how many, and some to judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corpusmill.report.tables import RunTables

ORDINARY_ABOVE = 10  # documents with a question, above which it is probably ordinary public text
MAX_JUDGED_DOCUMENTS = 12  # documents of a step that are shown


@dataclass(frozen=True)
class Leak:
    """A question that occurs in the documents.

    documents   that reached the step and contain it
    overlap     the highest of these documents
    """

    benchmark: str
    item: str
    documents: int
    overlap: float

    @property
    def is_in_many(self) -> bool:
        return self.documents > ORDINARY_ABOVE


@dataclass(frozen=True)
class LeakedQuestion:
    """A document with a question: the words found, those before and behind them, and the question as the benchmark has
    it."""

    id: str
    url: str | None
    benchmark: str
    item: str
    overlap: float
    before: str
    passage: str
    after: str
    asked: str


@dataclass(frozen=True)
class Leaks:
    """What a step found.

    documents    that contain any question
    benchmarks   benchmark -> documents that contain a question of it, and its questions that were found
    items        the questions, the most frequent first
    many         benchmark -> documents whose questions of it are all in more than MANY documents, and how many
                 questions these are
    material     benchmark -> documents with text of it that the recipe takes for public text, and how many items
    judged       a random sample of the documents, to judge by eye
    """

    step: str
    documents: int
    benchmarks: dict[str, tuple[int, int]]
    items: tuple[Leak, ...]
    many: dict[str, tuple[int, int]]
    material: dict[str, tuple[int, int]]
    judged: tuple[LeakedQuestion, ...]


def leaks(tables: RunTables) -> list[Leaks]:
    """Every decontamination step of a run, in order."""
    return [
        _step(tables, at, step, list(labels[: labels.index(step)]))
        for at, (_, labels) in enumerate(tables.passes)
        for step in labels
        if {f"{step}.hits", f"{step}.passage"} <= set(tables.columns(at))
    ]


def _step(tables: RunTables, at: int, step: str, before: list[str]) -> Leaks:
    reached = f"dropped_by IS NULL OR dropped_by NOT IN ({', '.join('?' * len(before))})" if before else "true"
    columns = tables.columns(at)

    def hits(column: str) -> str:
        table = tables.table("signals", at, with_location=True)
        rows = f'unnest("{step}.{column}") AS hit FROM ({table}) WHERE {reached}'
        return f"SELECT filename, file_row_number, {rows}"

    document = "count(DISTINCT (filename, file_row_number))"
    by_benchmark = (
        f"SELECT hit.benchmark, {document}, count(DISTINCT hit.item) FROM ({{}}) GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    ((documents,),) = tables.tuples(f"SELECT {document} FROM ({hits('hits')})", before)
    items = tables.tuples(
        f"SELECT hit.benchmark, hit.item, {document}, max(hit.overlap) FROM ({hits('hits')}) "
        "GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
        before,
    )
    leaked = tuple(Leak(*row) for row in items)
    material = tables.tuples(by_benchmark.format(hits("material")), before) if f"{step}.material" in columns else []
    return Leaks(
        step,
        documents,
        _pairs(tables.tuples(by_benchmark.format(hits("hits")), before)),
        leaked,
        _in_many(tables, hits("hits"), before) if any(leak.is_in_many for leak in leaked) else {},
        _pairs(material),
        _judged(tables, at, step, reached, before) if f"{step}.asked" in columns else (),
    )


def _in_many(tables: RunTables, hits: str, values: list[str]) -> dict[str, tuple[int, int]]:
    """Of documents that have several questions of a benchmark, those count whose questions are all in many."""
    document = "filename, file_row_number"
    counted = f"SELECT hit.benchmark, hit.item, count(DISTINCT ({document})) AS documents FROM ({hits}) GROUP BY 1, 2"
    rarest = (
        f"SELECT {document}, hits.hit.benchmark AS benchmark, min(documents) AS least FROM ({hits}) AS hits "
        "JOIN counted ON counted.benchmark = hits.hit.benchmark AND counted.item = hits.hit.item GROUP BY ALL"
    )
    rows = tables.tuples(
        f"WITH counted AS ({counted}), least AS ({rarest}) "
        "SELECT benchmark, (SELECT count(*) FROM least WHERE least.benchmark = counted.benchmark AND least > ?), "
        "count(*) FROM counted WHERE documents > ? GROUP BY 1 ORDER BY 2 DESC, 1",
        [*values, *values, ORDINARY_ABOVE, ORDINARY_ABOVE],
    )
    return _pairs(rows)


def _pairs(rows: Sequence[tuple[Any, ...]]) -> dict[str, tuple[int, int]]:
    """name -> two counts"""
    return {name: (documents, items) for name, documents, items in rows}


def _judged(tables: RunTables, at: int, step: str, reached: str, values: list[str]) -> tuple[LeakedQuestion, ...]:
    """Those with the smallest ids, which are hashes."""
    names = ("benchmark", "item", "overlap", "before", "passage", "after", "asked")
    columns = ", ".join(f'"{step}.{name}"' for name in names)
    rows = tables.tuples(
        f"SELECT id, url, {columns} FROM ({tables.table('signals', at)}) "
        f'WHERE "{step}.hits" IS NOT NULL AND ({reached}) ORDER BY id LIMIT {MAX_JUDGED_DOCUMENTS}',
        values,
    )
    return tuple(LeakedQuestion(*row) for row in rows)
