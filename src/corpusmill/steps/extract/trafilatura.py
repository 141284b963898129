"""Text of HTML pages by trafilatura: careful, and twelve times slower than resiliparse."""

import importlib
import logging
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pyarrow as pa

from corpusmill.errors import MissingExtraError, RecipeError
from corpusmill.steps.extract._page import depth, extract_pages, read_page
from corpusmill.steps.extract.resiliparse import Resiliparse

MAX_TREE = 200  # depth at which trafilatura, which calls itself for children, is spared the page


@dataclass(frozen=True, kw_only=True)
class Trafilatura:
    """The main text of pages (Barbaresi 2021, ACL demos), and what resiliparse makes of pages where it finds none.

    favour      `precision` leaves more out, `recall` leaves more in
    comments    keep the comments of readers
    tables      keep tables
    fallback    let trafilatura try readability and justext too, and take the best; costs a fifth of the time

    The limits per page are those of `extract/resiliparse`; pages of more than `max_tags` tags, or that nest deeper than
    200 elements, are resiliparse's at once, since trafilatura's time grows faster than they do. A page without
    any text is dropped as `empty`. Documents without a page pass. Needs the extra `trafilatura`.
    """

    favour: Literal["balance", "precision", "recall"] = "balance"
    comments: bool = False
    tables: bool = True
    fallback: bool = True
    title: bool = False  # keep the page's <title> in the metadata
    max_mb: float = 16.0
    max_tags: int = 30_000

    def __post_init__(self) -> None:
        if self.favour not in ("balance", "precision", "recall"):
            raise RecipeError(f'favour must be balance, precision or recall, got "{self.favour}"')
        if self.max_mb <= 0 or self.max_tags < 0:
            raise RecipeError(f"need max_mb > 0 and max_tags >= 0, got {self.max_mb} and {self.max_tags}")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return extract_pages(docs, self.page_text, self.title)

    def page_text(self, raw: bytes, charset: str | None) -> str:
        """The text of one page. Raises DocumentError if it is beyond the limits."""
        html, deep = read_page(raw, charset, self.max_mb)
        if not deep and html.count("<") <= 2 * self.max_tags and depth(html) <= MAX_TREE:
            text = self._extract(html)
            if text and not text.isspace():
                return text
        return Resiliparse(max_mb=self.max_mb).page_text(raw, charset)

    def _extract(self, html: str) -> str:
        try:
            found = _library().extract(
                html,
                include_comments=self.comments,
                include_tables=self.tables,
                favor_precision=self.favour == "precision",
                favor_recall=self.favour == "recall",
                fast=not self.fallback,
            )
        except (ValueError, RecursionError, AttributeError, TypeError, AssertionError, KeyError, IndexError):
            # Pages exist on which trafilatura or lxml stumble; resiliparse reads them.
            return ""
        return found or ""


@cache
def _library() -> Any:
    """The package trafilatura, which takes a second to import and complains in the log of pages that hold no text."""
    try:
        library = importlib.import_module("trafilatura")
    except ImportError as error:
        raise MissingExtraError("extract/trafilatura", "trafilatura") from error
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    return library
