"""HTML files, one page each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.errors import RecipeError, RecordError
from corpusmill.read import Piece, ReadCounts, whole
from corpusmill.read._documents import DocumentBatches
from corpusmill.read.text import KINDS, content
from corpusmill.storage import FileInfo

STEP = "read/html"


@dataclass(frozen=True, kw_only=True)
class Html:
    """One page per file: `raw` holds its bytes, decompressed, and an `extract/…` step makes the text.

    Faults: `truncated`, `damaged`, `window_too_large`; `too_large` and `empty_page` are expected.
    """

    max_mb: float = 16.0  # of a page
    suffixes = tuple(
        f".{name}{packed}" for name in ("html", "htm", "xhtml") for packed in ("", ".gz", ".zst", ".bz2", ".xz")
    )

    def __post_init__(self) -> None:
        if self.max_mb <= 0:
            raise RecipeError(f"need max_mb > 0, got {self.max_mb}")

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[Piece]:
        return [whole(file) for file in files]

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = DocumentBatches(piece, source, STEP, counts)
        raw = content(piece, int(self.max_mb * 1e6))
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
        elif isinstance(raw, RecordError):
            kind = KINDS[type(raw)]
            docs.dead(0, kind, str(raw), expected=kind == "too_large")
        elif not raw.strip():
            docs.dead(0, "empty_page", "the page is blank", expected=True)
        else:
            docs.add(0, raw=raw)
        yield from docs.rest()
