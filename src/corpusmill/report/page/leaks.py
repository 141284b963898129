"""Questions of benchmarks in the documents, by benchmark and by question."""

from corpusmill.report.figures.leaks import leaks
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables

QUESTIONS = 20  # per step


def section(tables: RunTables) -> list[Inside]:
    parts: list[Inside] = []
    for step in leaks(tables):
        parts.append(tag("h3", step.step))
        if not step.items:
            parts.append(tag("p", "No benchmark question was found."))
            continue
        rows = [[name, number(held), number(questions)] for name, (held, questions) in step.benchmarks.items()]
        rows.append(["all", number(step.documents), number(len(step.items))])
        parts.append(table(["benchmark", "documents", "questions found"], rows))
        shown = [
            [leak.benchmark, leak.item, number(leak.documents), f"{leak.overlap:.2f}"]
            for leak in step.items[:QUESTIONS]
        ]
        words = "the questions found" if len(shown) == len(step.items) else f"the {QUESTIONS} most frequent questions"
        inside = table(["benchmark", "item", "documents", "highest overlap"], shown, words=(0, 1))
        parts.append(tag("details", tag("summary", words), inside))
    return parts
