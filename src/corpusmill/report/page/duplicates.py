"""What each step that finds duplicates found, what two of them both found, and the least similar pairs side by side."""

from corpusmill.report.figures.duplicates import compare
from corpusmill.report.figures.pairs import Pairs, pairs
from corpusmill.report.html import cards
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.html.svg import histogram
from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables

PAIRS = 4  # per step


def section(tables: RunTables) -> list[Inside]:
    return [*compared(tables), *(part for figure in pairs(tables, PAIRS) for part in of_step(figure))]


def compared(tables: RunTables) -> list[Inside]:
    """The steps side by side, where there are two or more."""
    steps = compare(tables)
    if len(steps) < 2:
        return []
    head = ["step", "came to it", "has copies", "share", "went", "bytes", *(f"and {one.step}" for one in steps)]
    rows = [
        [
            one.step,
            number(one.came),
            number(one.documents),
            share(one.documents, one.came),
            number(one.dropped),
            "–" if one.bytes is None else size(one.bytes),
            *("" if other.step == one.step else number(one.both[other.step]) for other in steps),
        ]
        for one in steps
    ]
    note = "A document that goes does not come to the next step: how far two agree shows where the first only marks."
    return [table(head, rows, words=(0,)), tag("p", note, class_="note")]


def of_step(figure: Pairs) -> list[Inside]:
    """How similar the pairs of a step are, and the least similar of them."""
    step = figure.step
    parts: list[Inside] = [tag("h3", step)]
    if figure.candidates is not None and figure.verified is not None:
        words = (
            f"{number(figure.candidates)} pairs met and were compared, {number(figure.verified)} of them are copies."
        )
        parts.append(tag("p", words))
    if figure.similarities and not figure.exact:
        chart = histogram(
            figure.similarities, label=f"documents that {step} drops by similarity", unit="similarity", height=120
        )
        caption = "similarity with the twin that stays; upright: documents"
        parts.append(tag("figure", chart, tag("figcaption", caption)))
    shown = figure.least_similar[:1] if figure.exact else figure.least_similar
    parts.append(tag("p", "One of them:" if figure.exact else "The least alike:", class_="note"))
    return [*parts, *(cards.pair(pair) for pair in shown)]
