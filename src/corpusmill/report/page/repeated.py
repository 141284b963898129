"""The lines and paragraphs that occur most often, if a step counts them."""

from corpusmill.report.figures.repeated import repeated
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number, size
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import excerpt, one_line

MOST, FIRST = 100, 20  # lines or paragraphs per step; those that are not folded away
TEXT = 200  # characters of each


def section(tables: RunTables) -> list[Inside]:
    parts: list[Inside] = []
    for figure in repeated(tables, MOST):
        rows = [
            [
                excerpt(one_line(row["text"]), TEXT),
                number(row["occurrences"]),
                number(row["documents"]),
                size(row["bytes"]),
                row["id"],
            ]
            for row in figure.most
        ]
        head = ["text", "occurrences", "documents", "bytes", "first in"]
        words = f"{number(figure.repeats)} of {number(figure.compared)} compared are repeated, {size(figure.bytes)}."
        more = tag("details", tag("summary", f"{len(rows) - FIRST} more"), table(head, rows[FIRST:], words=(0, 4)))
        parts += [tag("h3", figure.step), tag("p", words), table(head, rows[:FIRST], words=(0, 4))]
        parts.append(more if len(rows) > FIRST else None)
    return parts
