"""Tokens and bytes per document, before and after."""

from corpusmill.report import histograms
from corpusmill.report.html.markup import Inside, tag
from corpusmill.report.html.svg import histogram, legend
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    figures = []
    for unit in ("tokens", "bytes"):
        lengths = histograms.lengths(tables, unit)
        if lengths:
            chart = histogram(lengths, label=f"documents by {unit}, kept and dropped", unit=unit)
            caption = tag("figcaption", f"{unit} a document, logarithmic; upright: documents")
            figures.append(tag("figure", tag("h4", f"{unit} a document".capitalize()), chart, caption))
    if not figures:
        return []
    return [
        tag("p", "The whole bar is before, the part that stays is after."),
        legend({"kept": "stay", "dropped": "go"}),
        tag("div", *figures, class_="two"),
    ]
