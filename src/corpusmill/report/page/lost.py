"""Records that are not documents or could not be read, documents that a step failed on, and markup that was left."""

from pathlib import PurePath

from corpusmill.report import samples
from corpusmill.report.figures.lost import LostRecords, lost, reading_warnings, skipped
from corpusmill.report.figures.markup import warnings
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import excerpt, one_line

LETTERS_PER_KIND = 3  # per kind


def section(tables: RunTables) -> list[Inside]:
    kinds = lost(tables)
    rows = [[loss.kind, loss.step, "expected" if loss.expected else "error", number(loss.records)] for loss in kinds]
    rows += [[kind, "reader", "skipped", number(count)] for kind, count in skipped(tables).items()]
    markup_notes = [tag("p", f"{warning}.") for warning in [*warnings(tables), *reading_warnings(tables)]]
    if not rows:
        return [*markup_notes]
    return [*markup_notes, table(["kind", "step", "status", "records"], rows, words=range(3)), letters(tables, kinds)]


def letters(tables: RunTables, kinds: list[LostRecords]) -> HtmlText | None:
    """A few dead letters of each kind."""
    rows = []
    for kind in dict.fromkeys(loss.kind for loss in kinds):
        for letter in samples.dead_letters(tables, LETTERS_PER_KIND, kind):
            reason, url = excerpt(one_line(letter["reason"] or ""), 200), excerpt(one_line(letter["url"] or ""), 100)
            location = f"{letter['source']} {PurePath(letter['file'] or '').name}:{letter['position']}"
            rows.append([kind, reason, location, url])
    if not rows:
        return None
    inside = table(["kind", "reason", "location", "url"], rows, words=range(4))
    return tag("details", tag("summary", "examples"), inside)
