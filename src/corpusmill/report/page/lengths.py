"""Tokens and bytes per document, of all documents and of the kept ones."""

from corpusmill.report import histograms
from corpusmill.report.html.charts import histogram
from corpusmill.report.html.markup import Inside, tag
from corpusmill.report.html.svg import legend
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    figures = []
    flow = tables.files.waterfall()
    documents = flow.documents_in
    for unit in ("tokens", "bytes"):
        lengths = histograms.lengths(tables, unit)
        if lengths:
            chart = histogram(
                lengths,
                label=f"documents by {unit}, kept and dropped",
                unit=unit,
                axis=f"{unit} per document",
                unknown=max(documents - lengths.total, 0),
            )
            caption = tag("figcaption", f"x: {unit} per document (log), y: documents", class_="axes")
            figures.append(tag("figure", tag("h4", f"{unit} per document".capitalize()), chart, caption))
    if not figures:
        return []
    words = "Full bar: all documents; blue: kept. Bytes are those of the text after the last step that it "
    words += "reached, also of dropped documents."
    if flow.counts_tokens and not flow.counts_all_tokens:
        words += " Dropped documents whose tokens were not counted (run.measure_dropped) are missing by tokens."
    return [tag("p", words), legend({"kept": "kept", "dropped": "dropped"}), tag("div", *figures, class_="two")]
