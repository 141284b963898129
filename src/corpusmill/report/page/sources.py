"""Each source: what was read of it, and what was kept."""

from collections.abc import Mapping

from corpusmill.report.figures.sources import sources
from corpusmill.report.html.markup import Html, Inside, table, tag
from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall


def section(tables: RunTables) -> list[Inside]:
    figure = sources(tables)
    unit = figure.unit
    rows = [
        [
            one.source,
            number(one.files),
            size(one.bytes),
            number(one.records),
            number(one.documents),
            number(one.kept),
            share(one.kept, one.documents),
            number(one.amount) if unit == "tokens" else size(one.amount),
            share(one.amount, figure.total),
        ]
        for one in figure.sources
    ]
    head = ["source", "files", "size", "records", "documents", "kept", "share", f"{unit} kept", f"share of {unit}"]
    flow = tables.files.waterfall()
    return [table(head, rows), by_step(flow) if len(flow.read) > 1 and flow.rows else None]


def by_step(flow: Waterfall) -> Html:
    """The share of documents that each step kept, per source."""
    rows = []
    for row in flow.rows:
        sources = [row.sources.get(name, {}) for name in flow.read]
        rows.append([row.step, *map(kept, sources)])
    return tag(
        "details", tag("summary", "share of documents kept by each step, per source"), table(["step", *flow.read], rows)
    )


def kept(flow: Mapping[str, int]) -> str:
    """The share of a source's documents that a step kept."""
    if "passed_through" in flow:
        return "not applied"
    return share(flow.get("documents_out", 0), flow.get("documents_in", 0))
