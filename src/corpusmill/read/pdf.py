"""PDF documents that have a layer of text."""

import ctypes
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import pyarrow as pa

from corpusmill.assets.extras import PDF, Extra
from corpusmill.errors import RecipeError
from corpusmill.formats.pdf_layout import PdfLine, PdfPage, document_text
from corpusmill.read import FilePiece
from corpusmill.read._documents import DocumentBatches, FileReader, as_json
from corpusmill.read._pdf_process import PdfAnswer, PdfProcess, serve_answers
from corpusmill.storage import FileInfo, open_read

PASSWORD = 4  # FPDF_ERR_PASSWORD
MAX_CHARACTERS = 20_000_000  # of a document: a small file may draw the same text many times
FEW_CHARACTERS = 50  # characters on a page, with which it may be a picture of one
HYPHEN = (2, 0xFFFE)  # how PDFium says that a word goes on on the next line
WIDE_BLANK = 1.2  # of the height of a line: a blank that parts two pieces


@dataclass(frozen=True, kw_only=True)
class PdfReader(FileReader):
    """PDF documents: `text` is what stands on their pages, in the order of reading.

    Columns are read one after the other; running heads, page numbers and hyphens at the ends of lines go; a paragraph
    is a line, also across pages; rows of a table are lines, with "|" between their cells. There is no recognition of
    characters: `metadata` has `pages`, `title`, `pages_without_text`, and `needs_ocr` where these are half of the pages
    or more, which `scans=False` makes dead letters of. Faults: `damaged`. Expected dead letters: `encrypted`,
    `needs_ocr`, `too_large`, `empty_file`. A file is one piece. The parser is PDFium, in a process of its
    own; a document for which it takes more than 768 MiB, or ten minutes of the processor, is `too_large`. Needs the
    extra `pdf`.
    """

    step = "read/pdf"
    extracts: ClassVar[bool] = True
    extras: ClassVar[tuple[Extra, ...]] = (PDF,)

    max_mb: float = 256.0  # of a file, in megabytes; larger ones become dead letters
    max_pages: int = 5000  # of a document; those with more become dead letters
    scans: bool = True  # take documents of which half of the pages or more have no text; false: dead letters
    suffixes = (".pdf",)
    begins: ClassVar = {b"%PDF": "a PDF document"}

    def __post_init__(self) -> None:
        if self.max_mb <= 0 or self.max_pages <= 0:
            raise RecipeError(f"need max_mb > 0 and max_pages > 0, got {self.max_mb} and {self.max_pages}")

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        _library()  # said before anything runs
        return super().split(files, target_bytes)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        _library()
        limit = int(self.max_mb * 1e6)
        with open_read(piece.file.path) as opened:
            data = opened.read(limit + 1)
        if len(data) > limit:
            docs.dead(0, "too_large", f"the file has more than {limit} bytes", expected=True)
        else:
            answer = _process.answer(data, {"max_pages": self.max_pages, "scans": self.scans})
            if answer.kind:
                docs.dead(0, answer.kind, answer.reason, expected=answer.expected)
            else:
                docs.add(0, text=answer.text, metadata=as_json(answer.about))
        yield from docs.full()


_process = PdfProcess()


def serve() -> None:
    """What the process does that `PdfProcess` starts."""
    _library()
    serve_answers(answer_to)


def answer_to(data: bytes, settings: Mapping[str, Any]) -> PdfAnswer:
    """What becomes of a document, with `max_pages` and `scans` as `PdfReader` has them."""
    library = _library()
    try:
        document = library.PdfDocument(data)
    except library.PdfiumError as error:
        if getattr(error, "err_code", None) == PASSWORD or "password" in str(error).lower():
            return PdfAnswer(kind="encrypted", reason="a password is needed to read the document", expected=True)
        return PdfAnswer(kind="damaged", reason=f"the file cannot be read as PDF: {error}")
    try:
        return _answer(document, settings["max_pages"], settings["scans"])
    except library.PdfiumError as error:
        return PdfAnswer(kind="damaged", reason=f"a page cannot be read: {error}")
    finally:
        document.close()


def _answer(document: Any, max_pages: int, scans: bool) -> PdfAnswer:
    count = len(document)
    if count > max_pages:
        reason = f"the document has {count} pages, more than {max_pages}"
        return PdfAnswer(kind="too_large", reason=reason, expected=True)
    pages: list[PdfPage] = []
    characters = bare = 0
    for number in range(count):
        page = page_of(document, number)
        page_characters = sum(len(line.text) for line in page.lines)
        characters += page_characters
        bare += page_characters < FEW_CHARACTERS
        if characters > MAX_CHARACTERS:
            reason = f"the document has more than {MAX_CHARACTERS} characters"
            return PdfAnswer(kind="too_large", reason=reason, expected=True)
        pages.append(page)
    text = document_text(pages)
    scanned = 2 * bare >= count > 1
    if not text.strip() or (scanned and not scans):
        return PdfAnswer(kind="needs_ocr", reason=f"{bare} of {count} pages have next to no text", expected=True)
    title = " ".join(str(document.get_metadata_dict().get("Title", "")).split())
    about: dict[str, Any] = {"pages": count, "pages_without_text": bare, "needs_ocr": scanned}
    return PdfAnswer(text, {**about, **({"title": title} if title else {})})


def page_of(document: Any, number: int) -> PdfPage:
    """The lines of a page, as the document draws them."""
    page = document[number]
    try:
        width, height = page.get_size()
        text = page.get_textpage()
        try:
            return PdfPage(width, height, list(_lines(text.raw, text.count_chars())))
        finally:
            text.close()
    finally:
        page.close()


def _lines(handle: Any, count: int) -> Iterator[PdfLine]:
    """Characters are together on a line as long as they are on one height, and no wide blank is between them."""
    raw = _raw()
    box = raw.FS_RECTF()  # as high as the font, whatever the character: white between lines is then the same
    line: PdfLine | None = None
    for at in range(min(count, MAX_CHARACTERS)):
        code = raw.FPDFText_GetUnicode(handle, at)
        if code in (10, 13):
            if line and line.text.strip():
                yield line
            line = None
            continue
        if code in HYPHEN and line:
            line.text += "\u00ad"
            yield line
            line = None
            continue
        char = chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        raw.FPDFText_GetLooseCharBox(handle, at, ctypes.byref(box))
        x0, x1, y0, y1 = box.left, box.right, min(box.bottom, box.top), max(box.bottom, box.top)
        if char.isspace() or code == 0:
            if line:
                line.text += " "
            continue
        if line is not None:
            size = max(line.height, y1 - y0, 1.0)
            apart = x0 - line.x1 > WIDE_BLANK * size or line.x0 - x1 > WIDE_BLANK * size
            if apart or y0 > line.y1 + 0.3 * size or y1 < line.y0 - 0.3 * size:
                if line.text.strip():
                    yield line
                line = None
        if line is None:
            line = PdfLine(x0, y0, x1, y1, char)
            continue
        line.text += char
        line.x0, line.x1 = min(line.x0, x0), max(line.x1, x1)
        line.y0, line.y1 = min(line.y0, y0), max(line.y1, y1)
    if line and line.text.strip():
        yield line


@cache
def _library() -> Any:
    try:
        return importlib.import_module("pypdfium2")
    except ImportError as error:
        raise PDF.error("read/pdf") from error


def _raw() -> Any:
    return importlib.import_module("pypdfium2.raw")


Pdf = PdfReader  # its name before 1.0
