"""Questions of benchmarks that stand in the documents: how many documents hold each of them."""

from dataclasses import dataclass

from corpusmill.report.markup import Inside, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables

SHOWN = 20  # questions of a step on the page


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


def leaks_section(tables: RunTables) -> list[Inside]:
    """What stands of benchmarks in the documents, by benchmark and by question."""
    said: list[Inside] = []
    for step in leaks(tables):
        said.append(tag("h3", step.step))
        if not step.items:
            said.append(tag("p", "No document holds a question."))
            continue
        rows = [[name, number(held), number(questions)] for name, (held, questions) in step.benchmarks.items()]
        rows.append(["any", number(step.documents), number(len(step.items))])
        said.append(table(["benchmark", "documents", "questions found"], rows))
        shown = [
            [leak.benchmark, leak.item, number(leak.documents), f"{leak.overlap:.2f}"] for leak in step.items[:SHOWN]
        ]
        words = "the questions found" if len(shown) == len(step.items) else f"the {SHOWN} most frequent questions"
        inside = table(["benchmark", "item", "documents", "highest overlap"], shown, words=(0, 1))
        said.append(tag("details", tag("summary", words), inside))
    return said
