"""What the owners of pages say of their use, and the tokens that it costs."""

from collections.abc import Sequence

from corpusmill.report.figures.rights import Reserved, RightsFigure, rights
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.numbers import number, share
from corpusmill.report.tables import RunTables

NOTE = (
    "Signals of robots.txt, HTTP headers, meta elements, tdmrep.json, Content-Signal and licences, of all documents "
    "that were read. Dropped: the step dropped them, this being a reason. For it alone: no other rule of any step "
    "drops them, so they would be kept without it. What pages say is not checked, and is no legal advice."
)
WORDS = {
    "robots": "robots.txt keeps an agent of the list out",
    "noai": "noai in meta elements or X-Robots-Tag",
    "tdm": "text and data mining reserved (TDMRep)",
    "content_signal": "Content-Signal: ai-train=no",
    "noindex": "noindex in meta elements or X-Robots-Tag",
    "noncommercial": "a licence that forbids commercial use",
    "no_derivatives": "a licence that forbids changed copies",
    "unknown_robots": "no capture of robots.txt",
}


def section(tables: RunTables) -> list[Inside]:
    return [part for figure in rights(tables) for part in shown(figure)]


def shown(figure: RightsFigure) -> list[Inside]:
    parts: list[Inside] = [tag("h3", figure.step), tag("p", NOTE, class_="note")]
    if not figure.reserved:
        return [*parts, tag("p", f"Nothing is reserved in any of {number(figure.documents)} documents.")]
    parts.append(rows(figure, "signal", figure.reserved))
    if figure.agents:
        parts.append(tag("details", tag("summary", "by agent of robots.txt"), rows(figure, "agent", figure.agents)))
    return parts


def rows(figure: RightsFigure, what: str, found: Sequence[Reserved]) -> HtmlText:
    head = [
        what,
        "documents",
        "share",
        "tokens",
        "share",
        "documents dropped",
        "tokens dropped",
        "for it alone: tokens",
    ]
    return table(
        head,
        [
            [
                WORDS.get(one.name, one.name),
                number(one.documents),
                share(one.documents, figure.documents),
                number(one.tokens),
                share(one.tokens, figure.tokens),
                number(one.dropped),
                number(one.dropped_tokens),
                number(one.alone_tokens),
            ]
            for one in found
        ],
    )
