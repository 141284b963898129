"""What the owners of pages say of their use, and the tokens that it costs."""

from collections.abc import Sequence

from corpusmill.report.figures.rights import Reserved, RightsFigure, rights
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.numbers import number, plural, share
from corpusmill.report.tables import RunTables

RIGHTS_NOTE = (
    "Signals from robots.txt, HTTP headers, meta elements, tdmrep.json, Content-Signal, Content-Usage, RSL and "
    "licences, of all documents read. Dropped: by this step, with this as one of the reasons. For this alone: no other "
    "rule of any step drops them, so they would be kept without it. What pages declare is not verified, and this is no "
    "legal advice."
)
RESERVATION_NAMES = {
    "robots": "robots.txt disallows a listed agent",
    "noai": "noai in meta elements or X-Robots-Tag",
    "tdm": "text and data mining reserved (TDMRep)",
    "content_signal": "Content-Signal: ai-train=no",
    "content_usage": "Content-Usage (AIPREF): train-ai=n",
    "rsl": "a licence by RSL, which is not read",
    "noindex": "noindex in meta elements or X-Robots-Tag",
    "noncommercial": "a licence that forbids commercial use",
    "no_derivatives": "a licence that forbids derivatives",
    "unknown_robots": "no capture of robots.txt",
}


def section(tables: RunTables) -> list[Inside]:
    return [part for figure in rights(tables) for part in shown(figure)]


def shown(figure: RightsFigure) -> list[Inside]:
    parts: list[Inside] = [tag("h3", figure.step), tag("p", RIGHTS_NOTE, class_="note")]
    if not figure.reserved:
        return [*parts, tag("p", f"No reservations in {plural(figure.documents, 'document')}.")]
    parts.append(rows(figure, "signal", figure.reserved))
    if figure.agents:
        parts.append(tag("details", tag("summary", "by robots.txt agent"), rows(figure, "agent", figure.agents)))
    return parts


def rows(figure: RightsFigure, first_column: str, reserved: Sequence[Reserved]) -> HtmlText:
    head = [first_column, "documents", "share", "tokens", "share", "documents dropped", "tokens dropped"]
    cells = [
        [
            RESERVATION_NAMES.get(reservation.name, reservation.name),
            number(reservation.documents),
            share(reservation.documents, figure.documents),
            number(reservation.tokens),
            share(reservation.tokens, figure.tokens),
            *map(number, (reservation.dropped, reservation.dropped_tokens, reservation.alone_tokens)),
        ]
        for reservation in reserved
    ]
    return table([*head, "tokens dropped for this alone"], cells)
