"""The documents, bytes and tokens that each step leaves: as bars, and as a table."""

from collections.abc import Callable

from corpusmill.report.html.markup import Html, Inside, table, tag
from corpusmill.report.html.svg import bar, legend
from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall

FREQUENT = 3  # reasons per step in the table
MEASURES = (("documents", number), ("bytes", size), ("tokens", number))


def section(tables: RunTables) -> list[Inside]:
    flow = tables.files.waterfall()
    if not flow.rows:
        return [tag("p", "The recipe has no steps.")]
    measures = MEASURES if flow.rows[0].tokens_in else MEASURES[:2]
    switch: list[Html] = []
    for i, (name, _) in enumerate(measures):
        switch.append(tag("input", type="radio", name="measure", id=f"by-{name}", class_="measure", checked=i == 0))
        switch.append(tag("label", name, for_=f"by-{name}"))
    charts = [chart(flow, name, written) for name, written in measures]
    colours = legend({"kept": "goes on", "dropped": "dropped by the step"})
    return [
        tag("figure", *switch, *charts, colours),
        steps(flow),
        tag(
            "p",
            "Tokens are counted as each document leaves the pass, so within a pass they change only with the number of "
            "documents. Bytes are those of the page until its text is extracted.",
            class_="note",
        ),
    ]


def chart(flow: Waterfall, measure: str, written: Callable[[float], str]) -> Html:
    """A bar per step: what goes on, and what the step takes away, of what came into the first step."""
    whole = max(getattr(row, f"{measure}_{side}") for row in flow.rows for side in ("in", "out"))
    parts: list[Html] = []
    for row in flow.rows:
        out, came = getattr(row, f"{measure}_out"), getattr(row, f"{measure}_in")
        less = max(came - out, 0) if row.documents_out < row.documents_in else 0
        shares = [(100 * out / max(whole, 1), "kept", f"{row.step}: {written(out)} {measure} go on")]
        shares += [(100 * less / max(whole, 1), "dropped", f"{row.step}: {written(less)} {measure} less")]
        parts += [
            tag("div", row.step),
            bar(shares, f"{row.step}: {written(out)} of {written(whole)} {measure}"),
            tag("div", f"{written(out)} · {share(out, whole)}", class_="value"),
        ]
    return tag("div", *parts, class_=f"flow {measure}")


def steps(flow: Waterfall) -> Html:
    """A row per step, with its most frequent reasons."""
    failed = any(row.failed for row in flow.rows)
    rows = [
        [
            row.step,
            number(row.documents_in),
            number(row.documents_out),
            share(row.documents_out, row.documents_in),
            size(row.bytes_out),
            number(row.tokens_out) if row.tokens_in else "–",
            *([number(row.failed)] if failed else []),
            ", ".join(f"{reason} {number(count)}" for reason, count in list(row.reasons.items())[:FREQUENT]),
        ]
        for row in flow.rows
    ]
    head = ["step", "documents in", "out", "kept", "bytes out", "tokens out"]
    head += ["failed"] * failed + ["most frequent reasons"]
    return table(head, rows, words=(0, len(head) - 1))
