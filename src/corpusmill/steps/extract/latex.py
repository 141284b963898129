"""Text of LaTeX sources."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.errors import DocumentError, RecipeError
from corpusmill.formats.latex import Markup, TooMuch
from corpusmill.formats.latex_text import latex_text
from corpusmill.steps.extract._page import extract_pages, read_page


@dataclass(frozen=True, kw_only=True)
class Latex:
    """Clean LaTeX sources: comments, the preamble, the bibliography and drawings by code go, macros are expanded, and
    formulae are kept as they are written.

    markup   `latex` stays LaTeX, as in published corpora; `text` has a line for each paragraph, with formulae between
             dollar signs; `markdown` has headings, lists, tables and code too. These two drop citations, references to
             numbers, labels and footnotes

    Macros by `newcommand`, `def` (of plain arguments) and `DeclareMathOperator` are expanded, others left. A source of
    more than `max_mb` is a DocumentError, and so is one whose macros grow to more than eight times its size and a
    megabyte, are nested more than 64 deep, or that leaves more than 500 braces open. A page without text is dropped as
    `empty`. Documents without a page are passed through.
    """

    extracts: ClassVar[bool] = True

    markup: Markup = "latex"  # or text, markdown
    max_mb: float = 16.0  # of a source, in megabytes; larger ones become dead letters

    def __post_init__(self) -> None:
        if self.markup not in ("latex", "text", "markdown"):
            raise RecipeError(f'markup must be latex, text or markdown, got "{self.markup}"')
        if self.max_mb <= 0:
            raise RecipeError(f"need max_mb > 0, got {self.max_mb}")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return extract_pages(docs, self.page_text, False)

    def page_text(self, raw: bytes, charset: str | None) -> str:
        """The text of one source. Raises DocumentError if it is beyond the limits."""
        source = read_page(raw, charset, self.max_mb)
        try:
            return latex_text(source, self.markup, 8 * len(source) + 1_000_000)
        except TooMuch as error:
            raise DocumentError(f"the source cannot be expanded: {error}") from error
