"""The lines and paragraphs that occur most often, if a step counts them."""

from corpusmill.report.figures.repeated import repeated
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number, size
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import excerpt, one_line

MAX_REPEATED_SHOWN, REPEATED_UNFOLDED = 100, 20  # lines or paragraphs per step; those that are not folded away
MAX_REPEATED_CHARS = 200  # characters of each


def section(tables: RunTables) -> list[Inside]:
    parts: list[Inside] = []
    for figure in repeated(tables, MAX_REPEATED_SHOWN):
        rows = [
            [
                excerpt(one_line(row["text"]), MAX_REPEATED_CHARS),
                number(row["occurrences"]),
                number(row["documents"]),
                size(row["bytes"]),
                row["id"],
            ]
            for row in figure.most
        ]
        head = ["text", "occurrences", "documents", "bytes", "first in"]
        words = f"{number(figure.repeats)} of {number(figure.compared)} lines or paragraphs compared are repeats "
        words += f"({size(figure.bytes)})."
        rest_of = table(head, rows[REPEATED_UNFOLDED:], words=(0, 4))
        folded = tag("details", tag("summary", f"{len(rows) - REPEATED_UNFOLDED} more"), rest_of)
        parts += [tag("h3", figure.step), tag("p", words), table(head, rows[:REPEATED_UNFOLDED], words=(0, 4))]
        parts.append(folded if len(rows) > REPEATED_UNFOLDED else None)
    return parts
