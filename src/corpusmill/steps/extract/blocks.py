"""Text of HTML pages by an engine of our own: careful, and faster than any other."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.formats import mathjax, mathml
from corpusmill.models.blocks import (
    BLOCKS_MODEL,
    UNSURE,
    BlocksModel,
    Comments,
    chosen,
    possible,
)
from corpusmill.steps.extract._page import MAX_TAGS, Extracted, extract_pages, read_page
from corpusmill.text.array_types import Bools
from corpusmill.text.blocks.compose import Markup, composed
from corpusmill.text.blocks.names import NOT_SHOWN
from corpusmill.text.blocks.page import FLAGS, FORMULAS, INNER, WORDS, BlockPage

SIGNALS = pa.schema(
    [
        ("formulas", pa.int32()),  # of the page: MathML, MathJax, KaTeX, pictures of TeX
        ("formulas_lost", pa.int32()),  # those of which the text has no TeX
        ("page_type", pa.string()),  # see models.blocks.PAGE_TYPES
    ]
)
FEW_WORDS = 20  # of what a page shows: one that hides more until a script runs is read as if it had run


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Extract the main text of HTML pages: blocks of text are kept or left out by what a model of small trees says of
    them.

    comments   `drop` readers' comments, or `keep` them
    favour     `precision` leaves more out, `recall` leaves more in, `all` leaves nothing out: for books and posts
    markup     `text` has a line for each block; `markdown` has headings, lists, quotes, tables, code and inline code
               too, and keeps more. Formulae (MathML, KaTeX, MathJax, pictures with TeX) are TeX between dollar signs in
               both

    The signal `blocks.formulas` says how many formulae a page has, `blocks.formulas_lost` of how many the text has no
    TeX: they could not be read, or are in parts that are left out. What has `hidden` or `display: none` is left out,
    unless a page shows hardly anything else.

    The signal `blocks.page_type` is what the page looks like most: an article, documentation, a forum's thread, a
    listing (of links to pages), a collection (of products), a product, or a service.

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
        return extract_pages(docs, self.extracted, self.title, SIGNALS)

    def page_text(self, raw: bytes, charset: str | None) -> str:
        """The text of one page. Raises DocumentError if it is beyond the limits."""
        return self.extracted(raw, charset).text

    def html_text(self, page: bytes) -> str:
        """The text of a page in UTF-8. Raises DocumentError if it has too many tags."""
        return self.html_extracted(page).text

    def extracted(self, raw: bytes, charset: str | None) -> Extracted:
        """The text of one page, and its signals. Raises DocumentError if it is beyond the limits."""
        return self.html_extracted(read_page(raw, charset, self.max_mb).encode("utf-8", "replace"))

    def html_extracted(self, page: bytes, model: BlocksModel | None = None) -> Extracted:
        """The same of a page in UTF-8, by another model than the one that ships."""
        if (tags := page.count(b"<")) > MAX_TAGS:
            raise DocumentError(f"the page has {tags} tags, more than {MAX_TAGS}")
        if mathjax.MARK in page:
            page = mathjax.with_mathml(page.decode("utf-8", "replace")).encode()
        if any(mark in page for mark in mathml.MARKS):
            page = mathml.with_tex(page.decode("utf-8", "replace")).encode()
        drawn = page.count(mathml.DRAWN)
        if model is None:
            model = assets.load(BLOCKS_MODEL, BlocksModel.load)
        blocks = model.scan(page)
        judged = model.judge(page, blocks, self.comments)
        likely = judged.likely
        if self.favour == "all":
            is_content = np.ones(len(likely), bool)
        else:
            lowered = judged.lowered or (UNSURE if self.markup == "markdown" else None)
            # Documentation has few blocks that are not its text, and references have short ones that are.
            is_reference = self.favour == "balance" and judged.page_type == "documentation"
            favour = "recall" if is_reference else self.favour
            is_content = chosen(likely, blocks.blocks[:, WORDS], favour, lowered)
        may = possible(blocks, likely, self.comments)
        if (hidden := not_shown(blocks, is_content)) is not None:
            is_content, may = is_content & ~hidden, may & ~hidden
        made = composed(blocks, is_content, self.markup, may)
        formulas = int(blocks.blocks[:, FORMULAS].sum()) + blocks.lost + drawn
        signals = {
            "formulas": formulas,
            "formulas_lost": formulas - made.formulas,
            "page_type": judged.page_type,
        }
        return Extracted(made.text.strip("\n"), signals)


def not_shown(page: BlockPage, keep: Bools) -> Bools | None:
    """(blocks,) those in elements with `hidden` or `display: none`. None without any; and if the kept ones that are
    shown have few words, and those that are not more than twice as many."""
    hidden: Bools = (page.elements[page.blocks[:, INNER], FLAGS] & NOT_SHOWN) != 0
    if not hidden.any():
        return None
    words = page.blocks[:, WORDS]
    shown = int(words[keep & ~hidden].sum())
    return hidden if shown >= FEW_WORDS or int(words[keep & hidden].sum()) <= 2 * shown else None
