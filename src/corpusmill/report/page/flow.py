"""Documents, bytes and tokens after each step: as bars, and as a table."""

from collections.abc import Callable

from corpusmill.report.html.charts import BarRow, bars
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.html.svg import bar, legend
from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall
from corpusmill.report.waterfall import WaterfallRow as Step
from corpusmill.store.facts import total

MEASURES_NOTE = (
    "Bytes and tokens are those of the text at the step. Token counts are exact where no later step of the pass "
    "changes the text, otherwise estimated in proportion to its bytes. Before text is extracted, bytes are those "
    "of the raw page, and there are no tokens."
)
UNCOUNTED_NOTE = (
    " Tokens of documents that a pass drops were not counted (run.measure_dropped), so token counts are shown "
    "only where all documents are kept to the end of the pass."
)
ESTIMATED_NOTE = (
    " Tokens of long dropped documents are estimated from a part of the text; {documents} of them were counted in "
    "full, and for these the estimates add up to {share} of the tokens."
)
MAX_REASONS_SHOWN = 3  # reasons per step in the table
FLOW_MEASURES = (("documents", number), ("bytes", size), ("tokens", number))


def section(tables: RunTables) -> list[Inside]:
    flow = tables.files.waterfall()
    if not flow.rows:
        return [tag("p", "The recipe has no steps.")]
    measures = FLOW_MEASURES if flow.counts_all_tokens else FLOW_MEASURES[:2]
    switch: list[HtmlText] = []
    for i, (name, _) in enumerate(measures):
        switch.append(tag("input", type="radio", name="measure", id=f"by-{name}", class_="measure", checked=i == 0))
        switch.append(tag("label", name, for_=f"by-{name}"))
    charts = [chart(flow, name, format_value) for name, format_value in measures]
    colours = legend({"kept": "kept", "dropped": "dropped by the step"})
    note = MEASURES_NOTE
    if flow.counts_tokens and not flow.counts_all_tokens:
        note += UNCOUNTED_NOTE
    elif checked := total(tables.files.facts(stage).get("estimated", {}) for stage, _ in tables.passes):
        estimated = f"{100 * checked['estimate'] / checked['tokens']:.1f} %"
        note += ESTIMATED_NOTE.format(documents=number(checked["documents"]), share=estimated)
    return [tag("figure", *switch, *charts, colours), steps(flow), tag("p", note, class_="note")]


def chart(flow: Waterfall, measure: str, format_value: Callable[[float], str]) -> HtmlText:
    """A bar per step: what is kept and what the step removes, of what entered the first step."""
    maximum = max(getattr(row, f"{measure}_{side}") for row in flow.rows for side in ("in", "out"))
    unit = "" if measure == "bytes" else f" {measure}"  # which sizes have already
    parts, rows = list[HtmlText](), list[BarRow]()
    for step in flow.rows:
        out, entered = getattr(step, f"{measure}_out"), getattr(step, f"{measure}_in")
        removed = max(entered - out, 0) if step.documents_out < step.documents_in else 0
        shares = [(100 * out / max(maximum, 1), "kept", f"{step.step}: {format_value(out)}{unit} kept")]
        shares += [(100 * removed / max(maximum, 1), "dropped", f"{step.step}: {format_value(removed)}{unit} removed")]
        words = f"{format_value(out)} · {share(out, maximum)}"
        parts += [
            tag("div", step_link(step)),
            bar(shares, f"{step.step}: {format_value(out)} of {format_value(maximum)}{unit}"),
            tag("div", words, class_="value"),
        ]
        sides = [("kept", out, format_value(out)), ("removed", removed, format_value(removed))]
        rows.append(BarRow(step.step, sides, words, f"#step-{step.step}" if sum(step.reasons.values()) else None))
    still = tag("div", *parts, class_="flow")
    axis = "size of the text (bytes)" if measure == "bytes" else measure
    label = f"{measure} by step"
    return tag("div", bars(still, rows, label=label, axis=axis, unit="B" if measure == "bytes" else ""), class_=measure)


def step_link(row: Step) -> HtmlText:
    """A step, with a link to what it dropped."""
    return tag("a", row.step, href=f"#step-{row.step}") if sum(row.reasons.values()) else tag("span", row.step)


def steps(flow: Waterfall) -> HtmlText:
    """A row per step, with its most frequent reasons."""
    failed = any(row.failed for row in flow.rows)
    passed = any(row.passed_through for row in flow.rows)
    rows = [
        [
            row.step,
            number(row.documents_in),
            *([number(row.passed_through)] if passed else []),
            number(row.documents_out),
            share(row.documents_out, row.documents_in),
            share(row.documents_out, flow.documents_in),
            size(row.bytes_out),
            tokens_of(row),
            *([number(row.failed)] if failed else []),
            ", ".join(f"{reason} {number(count)}" for reason, count in list(row.reasons.items())[:MAX_REASONS_SHOWN]),
        ]
        for row in flow.rows
    ]
    head = ["step", "documents in", *["not applied"] * passed, "out", "kept", "of input", "bytes out", "tokens out"]
    head += ["failed"] * failed + ["most frequent reasons"]
    return table(head, rows, words=(0, len(head) - 1))


def tokens_of(row: Step) -> str:
    """Tokens after a step, if they are known."""
    if row.uncounted_out:
        return "not counted"
    return number(row.tokens_out) if row.tokens_in or row.tokens_out else "–"
