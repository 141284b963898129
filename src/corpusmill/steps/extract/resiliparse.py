"""Text of HTML pages by resiliparse: fast, and always some text."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps.extract._page import extract_pages, parseable, read_page


@dataclass(frozen=True, kw_only=True)
class Resiliparse:
    """Extract the text of HTML pages, by default without navigation, footers and other boilerplate.

    Boilerplate is found by resiliparse's rules (Bevendorff et al. 2018, "Elastic ChatNoir"). Where they leave fewer
    than `least` characters, the whole text of the page is taken, and also where it nests more than 2,000 elements.

    A page of more than `max_mb` or 500,000 tags is a DocumentError, and so are pages that would take the parser hours:
    thousands of attributes in one tag, of options in an unclosed form, of open formatting elements, or of deep stray
    tags. A page without text is dropped as `empty`. Documents without a page are passed through.
    """

    extracts: ClassVar[bool] = True

    main_content: bool = True  # leave out menus, footers and other boilerplate
    least: int = 1  # characters of main content
    list_bullets: bool = True  # "• " before the items of lists
    alt_texts: bool = False  # of images
    links: bool = False  # append link targets
    title: bool = False  # keep the page's <title> in the metadata
    max_mb: float = 16.0  # of a page, in megabytes; larger ones become dead letters

    def __post_init__(self) -> None:
        if self.max_mb <= 0 or self.least < 0:
            raise RecipeError(f"need max_mb > 0 and least >= 0, got max_mb={self.max_mb}, least={self.least}")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return extract_pages(docs, self.page_text, self.title)

    def page_text(self, raw: bytes, charset: str | None) -> str:
        """The text of one page. Raises DocumentError if it is beyond the limits."""
        return self.html_text(read_page(raw, charset, self.max_mb))

    def html_text(self, html: str) -> str:
        """The text of a page whose characters are known. Raises DocumentError if it is beyond the limits of parsing."""
        html, deep = parseable(html)
        if self.main_content and not deep:
            text = self._extract(html, True)
            if len(text.strip()) >= self.least:
                return text
        return self._extract(html, False)

    def _extract(self, html: str, main_content: bool) -> str:
        from resiliparse.extract.html2text import extract_plain_text

        text: str = extract_plain_text(
            html,
            main_content=main_content,
            list_bullets=self.list_bullets,
            alt_texts=self.alt_texts,
            links=self.links,
            form_fields=False,
            noscript=False,
        )
        return text.strip()
