"""What language models were asked, and what they have written, beside what they were given."""

from corpusmill.report import samples
from corpusmill.report.figures.models import (
    MODELS_HEAD,
    SYNTHETIC_HEAD,
    model_uses,
    models_table,
    synthetic,
    synthetic_table,
)
from corpusmill.report.html import cards
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.numbers import share
from corpusmill.report.tables import RunTables

EXAMPLES_PER_STEP = 4


def section(tables: RunTables) -> list[Inside]:
    uses = model_uses(tables)
    if not uses:
        return []
    parts: list[Inside] = [table(MODELS_HEAD, models_table(uses), words=(0, 1))]
    if entries := synthetic(tables):
        parts.append(tag("p", f"Models have written {share(sum(entry.share for entry in entries), 1)} of the output:"))
        parts.append(table(SYNTHETIC_HEAD, synthetic_table(entries), words=(0, 1, 2)))
    for use in uses:
        if shown := [example(*pair) for pair in samples.rewritten(tables, use.step, EXAMPLES_PER_STEP)]:
            title = "1 example" if len(shown) == 1 else f"{len(shown)} examples"
            parts.append(tag("details", tag("summary", f"{use.step}: {title}, the original on the left"), *shown))
    return parts


def example(original: samples.Document, made: samples.Document) -> HtmlText:
    """A document and what was made of it."""
    return tag(
        "div", tag("div", *(cards.document(side, {}) for side in (original, made)), class_="two"), class_="reason"
    )
