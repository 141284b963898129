"""Books as EPUB files."""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from corpusmill.formats.charset import decode
from corpusmill.read import HTML_PAGES, FilePiece
from corpusmill.read._documents import DocumentBatches, FileReader, as_json, check_choice
from corpusmill.read._zipped_xml import Unreadable, dead_letters, element_name, member, parsed
from corpusmill.storage import open_read

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
PAGES = ("application/xhtml+xml", "text/html")
BODY = re.compile(r"<body\b[^<>]*>", re.I)
BODY_END = re.compile(r"</body\s*>", re.I)
MAX_ABOUT = 1000  # characters of what a book says of itself in one field: each chapter repeats it
METADATA_FIELDS = ("title", "creator", "language", "identifier", "publisher", "rights", "date")


class Book(NamedTuple):
    """What the package document of a book says."""

    chapters: list[str]  # names of members, in the order of reading
    about: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class EpubReader(FileReader):
    """Books as EPUB 2 and 3: each is one document, or each of its chapters.

    `raw` is HTML: the pages of the spine in their order, without the table of contents and what is not `linear`.
    `extract/blocks` with `favour: all` keeps all of it. `metadata` has title, creator, language, identifier, publisher,
    rights and date, as the book says. Faults: `damaged`, `bad_xml` (also of XML that declares entities), `not_epub`.
    Expected dead letters: `encrypted`, `too_large`, `empty_file`, `empty_page`.
    """

    document: Literal["book", "chapter"] = "book"  # what a document is
    max_mb: float = 64.0  # of the pages of a book, decompressed
    step = "read/epub"
    gives = HTML_PAGES
    suffixes = (".epub",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("document", self.document, ("book", "chapter"))

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        with dead_letters(docs), open_read(piece.file.path) as opened, zipfile.ZipFile(opened) as archive:
            yield from self._book(archive, docs)
        yield from docs.full()

    def _book(self, archive: zipfile.ZipFile, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        book = book_of(archive)
        budget = limit = int(self.max_mb * 1e6)
        bodies: list[str] = []
        for name in book.chapters:
            page = member(archive, name, budget)
            if page is None:
                raise Unreadable("too_large", f"the pages of the book have more than {limit} bytes", True)
            budget -= len(page)
            text = decode(page, None)
            bodies.append(_body(text))
        if not any(body.strip() for body in bodies):
            raise Unreadable("empty_page", "the book has no pages in its spine", True)
        title = escape(book.about.get("title", ""))
        parts = ["\n".join(bodies)] if self.document == "book" else bodies
        for at, part in enumerate(parts):
            if not part.strip():
                docs.counts.skip("blank")
                continue
            about: dict[str, object] = dict(book.about)
            if self.document == "chapter":
                about |= {"chapter": at + 1, "chapter_file": book.chapters[at]}
            raw = f"<html><head><title>{title}</title></head><body>{part}</body></html>"
            docs.add(at, raw=raw.encode("utf-8", "replace"), charset="utf-8", metadata=as_json(about))
            yield from docs.full()


def _body(page: str) -> str:
    """What is between the first beginning of a page's body and its last end; the page where there is none."""
    begin = BODY.search(page)
    ends = [match.start() for match in BODY_END.finditer(page, begin.end())] if begin else []
    return page[begin.end() : ends[-1]] if begin and ends else page


def book_of(archive: zipfile.ZipFile) -> Book:
    """What the package document of a book says. Raises Unreadable where there is none, or it cannot be used."""
    if CONTAINER not in archive.namelist():
        raise Unreadable("not_epub", f"the archive has no {CONTAINER}")
    root = next((part for part in parsed(archive, CONTAINER).iter() if element_name(part) == "rootfile"), None)
    path = unquote(root.get("full-path", "")) if root is not None else ""
    if path not in archive.namelist():
        raise Unreadable("not_epub", f'the package document "{path}" is not in the archive')
    package = parsed(archive, path)
    folder = posixpath.dirname(path)
    pages: dict[str, str] = {}
    about: dict[str, str] = {}
    chapters: list[str] = []
    for part in package.iter():
        name = element_name(part)
        if name == "item" and part.get("media-type") in PAGES and "nav" not in (part.get("properties") or "").split():
            pages[part.get("id", "")] = posixpath.normpath(posixpath.join(folder, unquote(part.get("href", ""))))
        elif name == "itemref" and part.get("linear") != "no" and part.get("idref") in pages:
            chapters.append(pages[part.get("idref", "")])
        elif name in METADATA_FIELDS and name not in about and (part.text or "").strip():
            about[name] = " ".join((part.text or "").split())[:MAX_ABOUT]
    members = set(archive.namelist())
    chapters = [name for name in chapters if name in members]
    if ENCRYPTION in members:  # fonts are often, which does not matter
        secret = {
            unquote(part.get("URI", ""))
            for part in parsed(archive, ENCRYPTION).iter()
            if element_name(part) == "CipherReference"
        }
        if secret & set(chapters):
            raise Unreadable("encrypted", "the pages of the book are encrypted", True)
    return Book(chapters, about)


Epub = EpubReader  # its name before 1.0
