"""Text of wikitext, the markup of MediaWiki."""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import pyarrow as pa

from corpusmill.assets.extras import MEDIAWIKI, Extra
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.steps.extract._page import extract_pages, read_page
from corpusmill.steps.extract._wikitext import TEMPLATES, Markup, WikitextWriter, closed


@dataclass(frozen=True, kw_only=True)
class Wikitext:
    """Turn wikitext into text or Markdown: links are their words, formulae TeX between dollar signs; pictures,
    categories, comments and footnotes go, and so do headings under which nothing is left.

    markup      `text` has a line for each block; `markdown` has headings, lists, tables and code too
    tables      keep tables of data: rows of cells with "|" between them
    references  keep footnotes: a number where each was, and the notes at the end
    templates   what stands for a template, by its name: "{1}" is its first argument, "{name}" that of a name. Others
                leave nothing, but for some thirty whose arguments are words of the sentence: `lang`, `convert`,
                `nowrap` …

    Templates are not expanded. Templates, links, tags and comments without an end are text where a page has more than
    20. A page of more than `max_mb` is a DocumentError. A page without text is dropped as `empty`. Documents without a
    page are passed through. Needs the extra `mediawiki`.
    """

    extracts: ClassVar[bool] = True
    extras: ClassVar[tuple[Extra, ...]] = (MEDIAWIKI,)

    markup: Markup = "text"  # or markdown
    tables: bool = True  # keep tables
    references: bool = False  # keep footnotes
    templates: tuple[tuple[str, str], ...] = ()  # name -> what stands for it
    max_mb: float = 16.0  # of a page, in megabytes; larger ones become dead letters

    def __post_init__(self) -> None:
        object.__setattr__(self, "templates", tuple((name, form) for name, form in self.templates))
        if self.markup not in ("text", "markdown"):
            raise RecipeError(f'markup must be text or markdown, got "{self.markup}"')
        if self.max_mb <= 0:
            raise RecipeError(f"need max_mb > 0, got {self.max_mb}")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        _library()  # before anything runs, which a plan tries with no documents
        return extract_pages(docs, self.page_text, False)

    def page_text(self, raw: bytes, charset: str | None) -> str:
        """The text of one page. Raises DocumentError if it cannot be parsed."""
        return self.wiki_text(read_page(raw, charset, self.max_mb))

    def wiki_text(self, wikitext: str) -> str:
        """The text of wikitext. Raises DocumentError if it cannot be parsed."""
        library = _library()
        try:
            code = library.parse(closed(wikitext), skip_style_tags=True)
            writer = WikitextWriter(self.markup, self.tables, self.references, TEMPLATES | dict(self.templates))
            return writer.page(code)
        except (library.parser.ParserError, RecursionError) as error:
            raise DocumentError(f"mwparserfromhell cannot parse the page: {error}") from error


@cache
def _library() -> Any:
    try:
        import mwparserfromhell
    except ImportError as error:
        raise MEDIAWIKI.error("extract/wikitext") from error
    return mwparserfromhell
