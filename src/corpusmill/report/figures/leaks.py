"""Benchmark contamination: which questions of benchmarks occur in the documents, and in how many."""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables


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


@dataclass(frozen=True)
class Leaks:
    """What a step found.

    documents    that contain any question
    benchmarks   benchmark -> documents that contain a question of it, and its questions that were found
    items        the questions, the most frequent first
    """

    step: str
    documents: int
    benchmarks: dict[str, tuple[int, int]]
    items: tuple[Leak, ...]


def leaks(tables: RunTables) -> list[Leaks]:
    """Every decontamination step of a run, in order."""
    figures = []
    for at, (_, labels) in enumerate(tables.passes):
        for step in labels:
            if not {f"{step}.hits", f"{step}.passage"} <= set(tables.columns(at)):
                continue
            before = labels[: labels.index(step)]
            reached = f"dropped_by IS NULL OR dropped_by NOT IN ({', '.join('?' * len(before))})" if before else "true"
            rows = (
                f'SELECT filename, file_row_number, unnest("{step}.hits") AS hit '
                f"FROM ({tables.table('signals', at, place=True)}) WHERE {reached}"
            )
            document = "count(DISTINCT (filename, file_row_number))"
            ((documents,),) = tables.tuples(f"SELECT {document} FROM ({rows})", before)
            benchmarks = tables.tuples(
                f"SELECT hit.benchmark, {document}, count(DISTINCT hit.item) FROM ({rows}) GROUP BY 1 ORDER BY 2 "
                f"DESC, 1",
                before,
            )
            items = tables.tuples(
                f"SELECT hit.benchmark, hit.item, {document}, max(hit.overlap) FROM ({rows}) "
                "GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
                before,
            )
            counted = {name: (held, questions) for name, held, questions in benchmarks}
            figures.append(Leaks(step, documents, counted, tuple(Leak(*row) for row in items)))
    return figures
