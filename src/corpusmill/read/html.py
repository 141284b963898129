"""HTML files, one page each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.errors import RecordError
from corpusmill.read import HTML_PAGES, FilePiece
from corpusmill.read._bytes import endings
from corpusmill.read._documents import DocumentBatches, FileReader
from corpusmill.read.text import KINDS, content


@dataclass(frozen=True, kw_only=True)
class HtmlReader(FileReader):
    """One page per file: `raw` holds its bytes, decompressed, and an `extract/…` step makes the text.

    Faults: `truncated`, `damaged`, `window_too_large`; `too_large` and `empty_page` are expected.
    """

    max_mb: float = 16.0  # of a page
    step = "read/html"
    gives = HTML_PAGES
    begins: ClassVar = {b"<": "HTML or XML"}
    suffixes = endings("html", "htm", "xhtml")

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        raw = content(piece, int(self.max_mb * 1e6))
        if isinstance(raw, RecordError):
            docs.unreadable(0, raw, KINDS)
        elif not raw.strip():
            docs.dead(0, "empty_page", "the page is blank", expected=True)
        else:
            docs.add(0, raw=raw)
        yield from docs.full()


Html = HtmlReader  # its name before 1.0
