"""Text of HTML pages by an engine of our own: careful, and faster than any other."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.formats import mathml
from corpusmill.models.blocks import (
    BLOCKS_MODEL,
    THRESHOLDS,
    UNSURE,
    BlocksModel,
    Comments,
    chosen,
    definitions,
    possible,
)
from corpusmill.steps.extract._page import MAX_TAGS, extract_pages, read_page
from corpusmill.text.blocks.compose import Markup, compose
from corpusmill.text.blocks.page import WORDS

FEWEST_DEFINITIONS = 10  # of a page that is looked at for them


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Extract the main text of HTML pages: blocks of text are kept or left out by what a model of small trees says of
    them.

    comments   `drop` readers' comments, or `keep` them
    favour     `precision` leaves more out, `recall` leaves more in, `all` leaves nothing out: for books and posts
    markup     `text` has a line for each block; `markdown` has headings, lists, quotes, tables, code and inline code
               too, and keeps more. Formulae (MathML, KaTeX, MathJax, pictures with TeX) are TeX between dollar signs in
               both

    The model was trained on pages of nine benchmarks. A page of more than `max_mb` or 500,000 tags is a DocumentError.
    A page without text is dropped as `empty`. Documents without a page are passed through.
    """

    extracts: ClassVar[bool] = True

    comments: Comments = "drop"  # readers' comments
    favour: Literal["precision", "balance", "recall", "all"] = (
        "balance"  # less boilerplate (precision) or more text (recall)
    )
    markup: Markup = "text"  # or markdown
    title: bool = False  # keep the page's <title> in the metadata
    max_mb: float = 16.0  # of a page, in megabytes; larger ones become dead letters

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("comments", self.comments, ("drop", "keep")),
            ("favour", self.favour, ("precision", "balance", "recall", "all")),
            ("markup", self.markup, ("text", "markdown")),
        ):
            if value not in choices:
                raise RecipeError(f'{name} must be {", ".join(choices[:-1])} or {choices[-1]}, got "{value}"')
        if self.max_mb <= 0:
            raise RecipeError(f"need max_mb > 0, got {self.max_mb}")

    @property
    def assets(self) -> tuple[str, ...]:
        return (BLOCKS_MODEL,)

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return extract_pages(docs, self.page_text, self.title)

    def page_text(self, raw: bytes, charset: str | None) -> str:
        """The text of one page. Raises DocumentError if it is beyond the limits."""
        return self.html_text(read_page(raw, charset, self.max_mb).encode("utf-8", "replace"))

    def html_text(self, page: bytes) -> str:
        """The text of a page in UTF-8. Raises DocumentError if it has too many tags."""
        if (tags := page.count(b"<")) > MAX_TAGS:
            raise DocumentError(f"the page has {tags} tags, more than {MAX_TAGS}")
        if any(mark in page for mark in mathml.MARKS):
            page = mathml.with_tex(page.decode("utf-8", "replace")).encode()
        return self.text_by(assets.load(BLOCKS_MODEL, BlocksModel.load), page)

    def text_by(self, model: BlocksModel, page: bytes) -> str:
        """The text of a page in UTF-8, its formulae in TeX, by a model."""
        blocks = model.scan(page)
        judged = model.judge(page, blocks, self.comments)
        likely = judged.likely
        if self.favour == "all":
            is_content = np.ones(len(likely), bool)
        else:
            lowered = judged.lowered or (UNSURE if self.markup == "markdown" else None)
            is_content = chosen(likely, blocks.blocks[:, WORDS], self.favour, lowered)
            is_reference = judged.page_type == "documentation" and page.count(b"<dd") >= FEWEST_DEFINITIONS
            if self.favour == "balance" and is_reference:
                # The trees have seen few pages of definitions.
                is_content |= definitions(blocks) & (likely > THRESHOLDS["recall"])
        return compose(blocks, is_content, self.markup, possible(blocks, likely, self.comments)).strip("\n")
