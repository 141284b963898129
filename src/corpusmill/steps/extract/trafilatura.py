"""Text of HTML pages by trafilatura: careful, and twelve times slower than resiliparse."""

import importlib
import logging
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.assets.extras import TRAFILATURA, Extra
from corpusmill.errors import RecipeError
from corpusmill.steps.extract._page import depth, extract_pages, parseable, read_page
from corpusmill.steps.extract.resiliparse import Resiliparse

MAX_TREE = 200  # depth of nesting: trafilatura recurses into children


@dataclass(frozen=True, kw_only=True)
class Trafilatura:
    """Extract the main text of pages with trafilatura (Barbaresi 2021, ACL demos), or with resiliparse where it finds
    none.

    favour      `precision` leaves more out, `recall` leaves more in
    comments    keep readers' comments
    tables      keep tables
    fallback    also try readability and justext and take the best; costs a fifth of the time

    Limits are those of `extract/resiliparse`, which also takes pages of more than `max_tags` tags or nested deeper than
    200 elements. A page without text is dropped as `empty`. Documents without a page are passed through. Needs the
    extra `trafilatura`.
    """

    extracts: ClassVar[bool] = True
    extras: ClassVar[tuple[Extra, ...]] = (TRAFILATURA,)

    favour: Literal["balance", "precision", "recall"] = "balance"  # less boilerplate (precision) or more text (recall)
    comments: bool = False  # keep comments of readers
    tables: bool = True  # keep tables
    fallback: bool = True  # try other extractors where it finds little
    title: bool = False  # keep the page's <title> in the metadata
    max_mb: float = 16.0  # of a page, in megabytes; larger ones become dead letters
    max_tags: int = 30_000  # of a page; pages with more become dead letters

    def __post_init__(self) -> None:
        if self.favour not in ("balance", "precision", "recall"):
            raise RecipeError(f'favour must be balance, precision or recall, got "{self.favour}"')
        if self.max_mb <= 0 or self.max_tags < 0:
            raise RecipeError(f"need max_mb > 0 and max_tags >= 0, got {self.max_mb} and {self.max_tags}")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return extract_pages(docs, self.page_text, self.title)

    def page_text(self, raw: bytes, charset: str | None) -> str:
        """The text of one page. Raises DocumentError if it is beyond the limits."""
        return self.html_text(read_page(raw, charset, self.max_mb))

    def html_text(self, html: str) -> str:
        """The text of a page whose characters are known. Raises DocumentError if it is beyond the limits of parsing."""
        html, deep = parseable(html)
        if not deep and html.count("<") <= 2 * self.max_tags and depth(html) <= MAX_TREE:
            text = self._extract(html)
            if text and not text.isspace():
                return text
        return Resiliparse().html_text(html)

    def _extract(self, html: str) -> str:
        try:
            text = _library().extract(
                html,
                include_comments=self.comments,
                include_tables=self.tables,
                favor_precision=self.favour == "precision",
                favor_recall=self.favour == "recall",
                fast=not self.fallback,
            )
        except (ValueError, RecursionError, AttributeError, TypeError, AssertionError, KeyError, IndexError):
            # trafilatura or lxml fail on some pages; resiliparse reads them.
            return ""
        return without_layout(text or "")


def without_layout(text: str) -> str:
    """A text in which tables for the layout, of whose rows none has two cells with text, are lines without "|".

    >>> print(without_layout("|  | A paragraph. |\\n|  |  |\\n\\n| name | 5 |\\n| all |  |"))
    A paragraph.
    <BLANKLINE>
    | name | 5 |
    | all |  |
    """
    lines = []
    for is_table, rows in groupby(text.split("\n"), _is_row):
        table = list(rows)
        cells = [[cell for part in row.split("|") if (cell := part.strip())] for row in table] if is_table else []
        if is_table and all(len(row) < 2 for row in cells):
            table = [row[0] for row in cells if row]
        lines += table
    return "\n".join(lines)


def _is_row(line: str) -> bool:
    line = line.strip()
    return len(line) > 1 and line[0] == line[-1] == "|"


@cache
def _library() -> Any:
    """The package trafilatura, which takes a second to import, without its log messages about pages that have no
    text."""
    try:
        library = importlib.import_module("trafilatura")
    except ImportError as error:
        raise TRAFILATURA.error("extract/trafilatura") from error
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    return library
