"""Questions of benchmarks that stand in the documents: how many documents hold each of them."""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class Leak:
    """A question that was found.

    documents   of those that came to the step, how many hold it
    overlap     the highest of them
    """

    benchmark: str
    item: str
    documents: int
    overlap: float


@dataclass(frozen=True)
class Leaks:
    """What a step found.

    documents    that hold any question
    benchmarks   benchmark -> documents that hold a question of it, and questions of it that were found
    items        the questions, the most frequent first
    """

    step: str
    documents: int
    benchmarks: dict[str, tuple[int, int]]
    items: tuple[Leak, ...]


def leaks(tables: RunTables) -> list[Leaks]:
    """Every step of a run that looks for questions of benchmarks, in order."""
    found = []
    for at, (_, labels) in enumerate(tables.passes):
        for step in labels:
            if not {f"{step}.hits", f"{step}.passage"} <= set(tables.columns(at)):
                continue
            before = labels[: labels.index(step)]
            came = f"dropped_by IS NULL OR dropped_by NOT IN ({', '.join('?' * len(before))})" if before else "true"
            rows = (
                f'SELECT filename, file_row_number, unnest("{step}.hits") AS hit '
                f"FROM ({tables.table('signals', at, place=True)}) WHERE {came}"
            )
            document = "count(DISTINCT (filename, file_row_number))"
            ((documents,),) = tables.tuples(f"SELECT {document} FROM ({rows})", before)
            benchmarks = tables.tuples(
                f"SELECT hit.benchmark, {document}, count(DISTINCT hit.item) FROM ({rows}) GROUP BY 1 ORDER BY 2 DESC, 1",
                before,
            )
            items = tables.tuples(
                f"SELECT hit.benchmark, hit.item, {document}, max(hit.overlap) FROM ({rows}) "
                "GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
                before,
            )
            counted = {name: (held, questions) for name, held, questions in benchmarks}
            found.append(Leaks(step, documents, counted, tuple(Leak(*row) for row in items)))
    return found
