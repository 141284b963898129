"""Parts of the report, charts and tables inside a notebook.

Each is an `Inline`, which a notebook displays where it is the last value of a cell. It is a frame of its own, without
scripts: nothing in a document can act on the notebook.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from corpusmill.engine.work.bins import count
from corpusmill.errors import InputError, did_you_mean
from corpusmill.report.bins import Histogram, octaves
from corpusmill.report.html import markup, svg
from corpusmill.report.html.markup import HtmlText, Inside, tag
from corpusmill.report.page import PAGE_SECTIONS
from corpusmill.report.tables import RunTables
from corpusmill.store.run_folder import RunFolder

INLINE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Inline:
    """Something to display. `height` is that of its frame, in pixels; what does not fit scrolls."""

    body: HtmlText
    height: int

    def _repr_html_(self) -> str:
        style = (Path(markup.__file__).parent / "style.css").read_text("utf-8")
        head = tag(
            "head",
            tag("meta", http_equiv="Content-Security-Policy", content=INLINE_POLICY),
            tag("style", HtmlText(style)),
        )
        page = f"<!doctype html>{tag('html', head, tag('body', tag('section', self.body)))}"
        frame = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe sandbox style="{frame}" srcdoc="{escape(page)}"></iframe>'


def section(run: str | PathLike[str] | RunFolder, name: str, height: int = 420) -> Inline:
    """A section of the report of a finished run: "flow", "dropped", "kept", "lengths", "languages", "duplicates" …

    Raises InputError if there is none of this name, or the run has nothing to show there.
    """
    sections = {anchor: build for anchor, _, build in PAGE_SECTIONS}
    if name not in sections:
        suggestion = did_you_mean(name, sections) or "."
        raise InputError(f'a report has no section "{name}"{suggestion} The sections are: {", ".join(sections)}.')
    parts = sections[name](RunTables(run))
    if not parts:
        raise InputError(f'the report of this run has nothing under "{name}"')
    return Inline(tag("div", *parts), height)


def histogram(values: Mapping[str, ArrayLike], *, label: str, unit: str, height: int = 240) -> Inline:
    """How often values occur, on a logarithmic axis: the columns "kept" and "dropped", or either.

    Raises InputError for other names, or where there is no value.
    """
    if not values.keys() <= {"kept", "dropped"}:
        raise InputError(f'a histogram has the series "kept" and "dropped", not {", ".join(values)}')
    columns = {name: np.asarray(column, float) for name, column in values.items()}
    edges = octaves()
    counts = {name: tuple(count(column, edges, "left").tolist()) for name, column in columns.items()}
    maximum = max((float(column.max()) for column in columns.values() if len(column)), default=0.0)
    data = Histogram(edges, counts, True, maximum)
    if not data.total:
        raise InputError(f"{label}: there are no values")
    return Inline(tag("div", tag("p", label), svg.histogram(data.trimmed(), label=label, unit=unit)), height)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], height: int = 300) -> Inline:
    """A table; the first column holds words, the others numbers. Whatever the cells hold is shown, and not obeyed."""
    cells: list[list[Inside]] = [[f"{c:,}" if isinstance(c, int) else str(c) for c in row] for row in rows]
    return Inline(markup.table(list(head), cells), height)
