"""Text files: one document per file, or many."""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from corpusmill.errors import RecipeError, RecordError
from corpusmill.read import FilePiece, _lines
from corpusmill.read._bytes import Damaged, Truncated, WindowTooLarge, blocks, endings, sniff
from corpusmill.read._documents import DocumentBatches, FileReader, check_choice
from corpusmill.read._encoding import (
    HEAD_BYTES,
    REPLACEMENT,
    advice,
    check_charset,
    is_wide,
    looks_like_utf16,
    marked,
    not_utf8,
)
from corpusmill.read._lines import TooLong, lines
from corpusmill.storage import FileInfo

KINDS = {**_lines.KINDS, TooLong: "too_large"}
LOOK_BACK = 4096  # bytes: enough to see whether the line before a piece is blank
# ` = Title = ` begins an article, ` = = Section = = ` only a section of it.
HEADING = re.compile(rb" ?= (?!=).*(?<!=) = ?\r?")
START_OF_EBOOK = re.compile(
    r"^[ \t]*\*{3} ?START OF (?:THIS |THE )?PROJECT GUTENBERG[^*]*\*{3}.*$|^\*END\*?THE SMALL PRINT!.*$", re.I | re.M
)
END_OF_EBOOK = re.compile(
    r"^[ \t]*\*{3} ?END OF (?:THIS |THE )?PROJECT GUTENBERG|^[ \t]*End of (?:The |this )?Project Gutenberg", re.I | re.M
)
# "Produced by …", "E-text prepared by …", "(This file was produced from images …)".
PRODUCED_BY = re.compile(
    r"\s*[(\[]?(?:(?:This|The) )?(?:(?:Project Gutenberg |HTML |Text |Plain )*(?:e-?text|e-?book|file|book|version) )?"
    r"(?:was |is )?(?:produced|prepared|transcribed|scanned|proofed|proofread|digiti[sz]ed|typed|created|converted)"
    r"(?:(?:,| and|, and) \w+)* (?:by|from)\b",
    re.I,
)
BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
LONGEST_CREDIT = 1000  # characters: thanks to libraries and volunteers are shorter, a book's own paragraph may not be
Located = Iterator[tuple[int, bytes | RecordError]]


@dataclass(frozen=True, kw_only=True)
class TextReader(FileReader):
    """Documents from text files, compressed or not.

    document    the whole `file`; a `paragraph`, ended by blank lines; or an `article` of a file like WikiText, which
                begins with a line ` = Title = `
    separator   the text between documents, such as `<|endoftext|>`, instead of `document`
    gutenberg   remove the header and footer that Project Gutenberg adds to its books, and the lines that say who
                produced the file

    A document's position is the offset of its beginning in decompressed bytes. Documents that are parts of a file
    are stripped; blank ones are counted as `blank`. Bytes invalid in the charset become U+FFFD; a byte order mark
    overrides it. Faults: `bad_encoding` (plainly not UTF-8, while no `charset` is given; UTF-16 with many documents
    in a file), `truncated`, `damaged`, `window_too_large`; `too_large` and `empty_text` are expected. Uncompressed
    files with many documents are split between them.
    """

    document: Literal["file", "paragraph", "article"] = "file"
    separator: str | None = None
    gutenberg: bool = False
    charset: str | None = None  # of the files; null: UTF-8, or what a byte order mark says
    max_mb: float = 32.0  # of one document
    step = "read/text"
    suffixes = endings("txt", "md", "text", "markdown")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("document", self.document, ("file", "paragraph", "article"))
        if self.separator is not None and (self.separator == "" or self.document != "file"):
            raise RecipeError('separator must not be empty, and replaces "document": leave that out')
        check_charset(self.charset)
        if is_wide(self.charset) and not self._is_whole():
            raise RecipeError(f"files in {self.charset} can only be read as one document each")

    def can_cut(self, file: FileInfo) -> bool:
        return not self._is_whole() and not overlaps(self._separator()) and not sniff(file.path)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        if reason := self._encoding(piece):
            if piece.start == 0:
                docs.dead(0, "bad_encoding", reason)
        else:
            for position, data in self._documents(piece, int(self.max_mb * 1e6)):
                if isinstance(data, RecordError):
                    docs.unreadable(position, data, KINDS)
                    continue
                if self._is_whole() and (reason := self._looks_wrong(data, piece)):
                    docs.dead(position, "bad_encoding", reason)
                    continue
                text = decode(data, self.charset or "utf-8")
                docs.counts.broken_texts += text.count("\ufffd") > data.count(REPLACEMENT)
                if self.gutenberg:
                    text = strip_gutenberg(text)
                if text and not text.isspace():
                    docs.add(position, text=text if self._is_whole() else text.strip())
                elif self._is_whole():
                    docs.dead(position, "empty_text", "the file has no text", expected=True)
                else:
                    docs.counts.skip("blank")
                yield from docs.full()

    def _encoding(self, piece: FilePiece) -> str:
        """Why a file cannot be cut into documents: it is UTF-16, whose line ends are others; "" if it can."""
        if self._is_whole():
            return ""
        try:
            head = next(blocks(piece.file.path), b"")
        except RecordError:
            return ""
        if encoding := marked(head):
            return f"the file is {encoding.upper()} by its byte order mark, which is read only as one document each"
        return self._looks_wrong(head, piece)

    def _looks_wrong(self, data: bytes, piece: FilePiece) -> str:
        if self.charset is not None or marked(data):
            return ""
        if encoding := looks_like_utf16(data):
            return advice(encoding, piece.file.path)
        return not_utf8(data[:HEAD_BYTES])

    def _is_whole(self) -> bool:
        return self.document == "file" and self.separator is None

    def _separator(self) -> bytes:
        return (self.separator or "\n").encode(self.charset or "utf-8")

    def _documents(self, piece: FilePiece, limit: int) -> Located:
        if self.document == "paragraph":
            return _groups(piece, limit, lambda before, line: bool(line.strip()) and not before.strip())
        if self.document == "article":
            return _groups(piece, limit, lambda _, line: HEADING.fullmatch(line) is not None)
        return iter([(0, content(piece, limit))]) if self._is_whole() else lines(piece, limit, self._separator())


def content(piece: FilePiece, limit: int) -> bytes | RecordError:
    """The whole of a file, decompressed, or the error."""
    parts: list[bytes] = []
    size = 0
    try:
        for block in blocks(piece.file.path):
            size += len(block)
            if size > limit:
                return TooLong(f"the file has more than {limit} bytes")
            parts.append(block)
    except RecordError as error:
        return error
    return b"".join(parts)


def decode(data: bytes, charset: str) -> str:
    """Decode bytes; a byte order mark overrides the charset."""
    if data.startswith(codecs.BOM_UTF8):
        return data[3:].decode("utf-8", "replace")
    return data.decode(marked(data) or charset, "replace")


def strip_gutenberg(text: str) -> str:
    """A book without the header and footer of Project Gutenberg, and without the paragraphs right after the header that
    say who produced the file; other text unchanged."""
    start = START_OF_EBOOK.search(text)
    begin = _after_credits(text, start.end()) if start else 0
    end = END_OF_EBOOK.search(text, begin)
    return text[begin : end.start() if end else len(text)].strip() if start or end else text


def _after_credits(text: str, begin: int) -> int:
    """Where the book begins: behind all paragraphs at `begin` that name those who produced the file."""
    while credit := PRODUCED_BY.match(text, begin):
        end = BLANK_LINE.search(text, credit.end())
        if end is None or end.end() - credit.end() > LONGEST_CREDIT:
            break
        begin = end.end()
    return begin


def overlaps(separator: bytes) -> bool:
    """Whether one occurrence can begin inside another: then where documents begin depends on all text before."""
    return any(separator.endswith(separator[:size]) for size in range(1, len(separator)))


def _groups(piece: FilePiece, limit: int, begins: Callable[[bytes, bytes], bool]) -> Located:
    """(offset, lines) of the documents that begin in a piece.

    begins   (previous line, line) -> whether the line begins a document; the first line of a file always does
    """
    look = max(0, piece.start - LOOK_BACK)
    before = b"" if look == 0 else b"text"  # stands for the line that holds the byte at `look`
    group: list[bytes] | None = [] if piece.start == 0 else None  # None: the lines belong to the previous piece
    at = size = 0
    for position, item in lines(FilePiece(piece.file, look), limit):
        if isinstance(item, Truncated | Damaged | WindowTooLarge):
            yield at if group else position, item
            return
        line = b"text" if isinstance(item, RecordError) else item
        if position >= piece.start and begins(before, line):
            if group:
                yield at, _joined(group, size, limit)
            if position >= piece.stop:
                return
            group, at, size = [], position, 0
        elif position >= piece.stop and group is None:
            return
        before = line
        if group is not None:
            size += limit + 1 if isinstance(item, RecordError) else len(line) + 1
            if size <= limit or not group:
                group.append(line)
    if group:
        yield at, _joined(group, size, limit)


def _joined(group: list[bytes], size: int, limit: int) -> bytes | RecordError:
    return (
        b"\n".join(group)
        if size <= limit
        else TooLong(f"the document has {size} bytes, and at most {limit} are allowed")
    )


Text = TextReader  # its name before 1.0
