"""Documents by language, if a step identifies it."""

from corpusmill.report.figures.languages import LanguageFigures, languages
from corpusmill.report.html.charts import BarRow, bars
from corpusmill.report.html.markup import HtmlText, Inside, tag
from corpusmill.report.html.svg import bar
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables

LANGUAGES = 15
MEASURED = {
    "all": "",
    "first": " Documents that an earlier step dropped are not counted: their language was not identified.",
    "none": " Dropped documents are not counted: their language was not saved (run.measure_dropped: none).",
}


def section(tables: RunTables) -> list[Inside]:
    return [chart(figure) for figure in languages(tables)]


def chart(figure: LanguageFigures) -> HtmlText:
    """A bar per language."""
    rows = [(one.label or "none", one.kept, one.dropped) for one in figure.languages[:LANGUAGES]]
    if rest := figure.languages[LANGUAGES:]:
        rows.append((f"{len(rest)} others", sum(one.kept for one in rest), sum(one.dropped for one in rest)))
    most = max((kept + dropped for _, kept, dropped in rows), default=1)
    parts: list[HtmlText] = []
    drawn: list[BarRow] = []
    for name, kept, dropped in rows:
        shares = [
            (100 * kept / most, "kept", f"{number(kept)} kept"),
            (100 * dropped / most, "dropped", f"{number(dropped)} dropped"),
        ]
        parts.append(tag("div", name))
        parts.append(bar(shares, f"{name}: {number(kept)} kept, {number(dropped)} dropped"))
        words = f"{number(kept)} of {number(kept + dropped)}"
        parts.append(tag("div", words, class_="value"))
        drawn.append(BarRow(name, [("kept", kept, number(kept)), ("dropped", dropped, number(dropped))], words))
    caption = (
        f"Documents by language, as identified by the step {figure.step}; kept: still kept after the step "
        f"{figure.last_step}.{MEASURED[figure.measured]}"
    )
    still = tag("div", *parts, class_="ranks")
    label = f"documents by language, as identified by {figure.step}"
    return tag("figure", bars(still, drawn, label=label, axis="documents"), tag("figcaption", caption))
