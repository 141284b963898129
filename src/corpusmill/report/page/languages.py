"""Documents by language, if a step identifies it."""

from corpusmill.report.figures.languages import LanguageFigure, LanguageFigures, languages
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
    shown = list(figure.languages[:MAX_LANGUAGES_SHOWN])
    if others := figure.languages[MAX_LANGUAGES_SHOWN:]:
        total_kept, total_dropped = (
            sum(language.kept for language in others),
            sum(language.dropped for language in others),
        )
        shown.append(LanguageFigure(f"{len(others)} others", total_kept, total_dropped))
    maximum = max((language.kept + language.dropped for language in shown), default=1)
    parts: list[HtmlText] = []
    drawn: list[BarRow] = []
    for language in shown:
        name, sides = language.label or "none", {"kept": language.kept, "dropped": language.dropped}
        counts = {side: f"{number(count)} {side}" for side, count in sides.items()}
        shares = [(100 * count / maximum, side, counts[side]) for side, count in sides.items()]
        words = f"{number(language.kept)} of {number(language.kept + language.dropped)}"
        parts += [tag("div", name), bar(shares, f"{name}: {', '.join(counts.values())}")]
        parts.append(tag("div", words, class_="value"))
        drawn.append(BarRow(name, [(side, count, number(count)) for side, count in sides.items()], words))
    caption = f"Documents by language, as identified by the step {figure.step}; kept: after the step "
    caption += f"{figure.last_step}.{UNMEASURED_NOTES[figure.measured]}"
    still = tag("div", *parts, class_="ranks")
    label = f"documents by language, as identified by {figure.step}"
    return tag("figure", bars(still, drawn, label=label, axis="documents"), tag("figcaption", caption))
