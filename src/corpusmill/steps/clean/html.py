"""Strip HTML from documents that came as text."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.assets.extras import TRAFILATURA, Extra
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.steps.extract.trafilatura import Trafilatura
from corpusmill.steps.markup import is_markup
from corpusmill.text.markup import escape_tags, is_page, own_lines, tag_counts
from corpusmill.text.rewrite import masked, with_text

Engine = Literal["resiliparse", "trafilatura"]
FEW_BLOCKS = 0.1  # block tags for each line: below, the line breaks are the author's, and not those of an HTML file


@dataclass(frozen=True, kw_only=True)
class Html:
    """Strip HTML from the text of documents: tags, scripts, styles and comments go, entities become characters, and
    block elements become lines. Text that is not HTML keeps its bytes.

    A document is HTML if it begins with `<!doctype html>` or `<html>`; or if at least half of what looks like a tag is
    one that HTML defines, and one of these is an end tag, `<br>` or `<hr>`, has an attribute, or begins the document
    and a line of its own. So `a < b`, `vector<int>`, `<jane@example.org>` and a `<p>` in a sentence stay, and what
    Markdown marks as code does not count.

    A whole page is extracted as by `extract/resiliparse` or `extract/trafilatura`, without boilerplate unless
    `main_content` is off. Of a fragment all text is kept. Tags shown to readers, `&lt;b&gt;`, stay escaped (`&lt;b>`);
    `clean/normalize` decodes them. A document beyond `max_mb`, or the limits of `extract/resiliparse`, is a
    DocumentError.

    Signals: `tags`, how many the text had; `stripped`, 1 where it was HTML.
    """

    engine: Engine = "resiliparse"  # of whole pages; trafilatura needs its extra
    main_content: bool = True  # of whole pages; off keeps menus and footers too
    leave_code: bool = True  # programs that write HTML, or have it in their comments, are not HTML
    max_mb: float = 16.0  # of a document, in megabytes; longer ones become dead letters

    def __post_init__(self) -> None:
        if self.engine not in get_args(Engine):
            raise RecipeError(f'clean/html: engine must be resiliparse or trafilatura, got "{self.engine}"')
        if self.engine == "trafilatura" and not self.main_content:
            raise RecipeError("clean/html: trafilatura extracts main content only; for all text: engine: resiliparse")
        if self.max_mb <= 0:
            raise RecipeError(f"clean/html: need max_mb > 0, got {self.max_mb}")

    @property
    def extras(self) -> tuple[Extra, ...]:
        return (TRAFILATURA,) if self.engine == "trafilatura" else ()

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        text = docs["text"]
        if len(docs):
            tags, _ = tag_counts(text)
            markup = is_markup(text, self.leave_code)
        else:  # needs no table of names
            tags, markup = pa.array([], pa.int64()), pa.array([], pa.bool_())
        changed = with_text(docs, masked(text, markup, self._stripped))
        return changed.append_column("tags", tags).append_column("stripped", pc.cast(markup, pa.int64()))

    def _stripped(self, texts: pa.Array) -> pa.Array:
        """The text of each document of HTML; null where there is none."""
        few = pc.less(own_lines(texts), FEW_BLOCKS)
        rows = zip(texts.to_pylist(), is_page(texts).to_pylist(), few.to_pylist())
        stripped = escape_tags(pa.array([self._text(html, *about) for html, *about in rows], texts.type))
        return pc.if_else(pc.match_substring_regex(stripped, r"\S"), stripped, None)

    def _text(self, html: str, page: bool, few_blocks: bool) -> str:
        if (size := len(html.encode())) > self.max_mb * 1e6:
            raise DocumentError(f"the text is HTML of {size / 1e6:.1f} MB, more than max_mb={self.max_mb:g}")
        if page:
            extract = Trafilatura() if self.engine == "trafilatura" else Resiliparse(main_content=self.main_content)
            return extract.html_text(html)
        if few_blocks:
            html = f"<pre>\n{html}</pre>"
        elif TABLE_PART.search(html) and not TABLE.search(html):
            html = f"<table>{html}</table>"  # a parser drops cells that are in no table, and runs their words together
        return Resiliparse(main_content=False).html_text(html)


TABLE = re.compile(r"<table[\s>]", re.I)
TABLE_PART = re.compile(r"<t[dhr][\s>]", re.I)
