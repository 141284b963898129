"""Documents by language, if a step identifies it."""

from corpusmill.report.figures.languages import LanguageFigures, languages
from corpusmill.report.html.charts import BarRow, bars
from corpusmill.report.html.markup import HtmlText, Inside, tag
from corpusmill.report.html.svg import bar
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables

MAX_LANGUAGES_SHOWN = 15
UNMEASURED_NOTES = {
    "all": "",
    "first": " Documents that an earlier step dropped are not counted: their language was not identified.",
    "none": " Dropped documents are not counted: their language was not saved (run.measure_dropped: none).",
}


def section(tables: RunTables) -> list[Inside]:
    return [chart(figure) for figure in languages(tables)]


def chart(figure: LanguageFigures) -> HtmlText:
    """A bar per language."""
    rows = [
        (language.label or "none", language.kept, language.dropped)
        for language in figure.languages[:MAX_LANGUAGES_SHOWN]
    ]
    if others := figure.languages[MAX_LANGUAGES_SHOWN:]:
        rows.append(
            (
                f"{len(others)} others",
                sum(language.kept for language in others),
                sum(language.dropped for language in others),
            )
        )
    maximum = max((kept_count + dropped_count for _, kept_count, dropped_count in rows), default=1)
    parts: list[HtmlText] = []
    drawn: list[BarRow] = []
    for name, kept_count, dropped_count in rows:
        shares = [
            (100 * kept_count / maximum, "kept", f"{number(kept_count)} kept"),
            (100 * dropped_count / maximum, "dropped", f"{number(dropped_count)} dropped"),
        ]
        parts.append(tag("div", name))
        parts.append(bar(shares, f"{name}: {number(kept_count)} kept, {number(dropped_count)} dropped"))
        words = f"{number(kept_count)} of {number(kept_count + dropped_count)}"
        parts.append(tag("div", words, class_="value"))
        drawn.append(
            BarRow(
                name,
                [("kept", kept_count, number(kept_count)), ("dropped", dropped_count, number(dropped_count))],
                words,
            )
        )
    caption = (
        f"Documents by language, as identified by the step {figure.step}; kept: after the step {figure.last_step}."
        f"{UNMEASURED_NOTES[figure.measured]}"
    )
    still = tag("div", *parts, class_="ranks")
    label = f"documents by language, as identified by {figure.step}"
    return tag("figure", bars(still, drawn, label=label, axis="documents"), tag("figcaption", caption))
