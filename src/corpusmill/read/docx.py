"""Documents of word processors as DOCX files."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import NamedTuple
from xml.etree import ElementTree

import pyarrow as pa

from corpusmill.formats.docx_page import DocxPage, formats_of, notes_of, styles_of
from corpusmill.read import HTML_PAGES, FilePiece
from corpusmill.read._dates import iso
from corpusmill.read._documents import DocumentBatches, FileReader, as_json
from corpusmill.read._zipped_xml import (
    LARGEST_XML,
    Unreadable,
    dead_letters,
    element_name,
    parsed,
    xml_text,
)
from corpusmill.storage import open_read

OLE = b"\xd0\xcf\x11\xe0"  # begins files of Word before 2007, and those with a password
RELATIONS = "_rels/.rels"
USUAL = "word/document.xml"
PROPERTIES = "docProps/core.xml"
METADATA_FIELDS = ("title", "creator", "subject", "keywords", "description", "language", "created", "modified")
MAX_ABOUT = 1000  # characters of what a document says of itself in one field
MAX_DEPTH = 100  # of elements: a table in a table in a table has some 12 each
OF_LISTS = 16_000_000  # bytes of the definitions of styles and lists


class Parts(NamedTuple):
    """The names of the parts of a document; of those that it has not, ""."""

    document: str
    styles: str
    numbering: str
    footnotes: str
    endnotes: str


@dataclass(frozen=True, kw_only=True)
class DocxReader(FileReader):
    """Documents of Word, LibreOffice, Google Docs and the like, as DOCX.

    `raw` is HTML: headings, paragraphs, lists with their levels, tables, formulae as MathML, text boxes behind their
    paragraph, footnotes and endnotes at the end, `[1]` where they belong. `extract/blocks` with `favour: all` keeps all
    of it. Of tracked changes insertions are in it and deletions are not; hidden text, tables of contents, comments,
    pictures, heads and feet of pages are not. `metadata` has title, creator, subject, keywords, description, language,
    created and modified, as the document says; `date` is when it was created. Faults: `damaged`, `bad_xml` (also of XML
    that declares entities), `too_deep`, `not_docx`. Expected dead letters: `encrypted` (or a .doc), `too_large`,
    `empty_file`, `empty_page`.
    """

    max_mb: float = 64.0  # of the text of a document with its markup, decompressed
    step = "read/docx"
    gives = HTML_PAGES
    suffixes = (".docx", ".docm")

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        with dead_letters(docs), open_read(piece.file.path) as opened:
            if opened.read(len(OLE)) == OLE:
                raise Unreadable("encrypted", "a document with a password, or a .doc of Word before 2007", True)
            opened.seek(0)
            with zipfile.ZipFile(opened) as archive:
                self._add(archive, docs)
        yield from docs.full()

    def _add(self, archive: zipfile.ZipFile, docs: DocumentBatches) -> None:
        limit = int(self.max_mb * 1e6)
        parts = parts_of(archive)
        about = about_of(archive)
        notes: dict[tuple[str, str], ElementTree.Element] = {}
        for kind, name in (("footnote", parts.footnotes), ("endnote", parts.endnotes)):
            if name:
                notes |= notes_of(_shallow(parsed(archive, name, limit), name), kind)
        page = DocxPage(
            styles_of(parsed(archive, parts.styles, OF_LISTS)) if parts.styles else {},
            formats_of(parsed(archive, parts.numbering, OF_LISTS)) if parts.numbering else {},
            notes,
        )
        for part in blocks_of(xml_text(archive, parts.document, limit), parts.document):
            page.add(part)
        body = page.html
        if not body.strip():
            raise Unreadable("empty_page", "the document has no text", True)
        title = escape(about.get("title", ""))
        raw = f"<html><head><title>{title}</title></head><body>{body}</body></html>"
        docs.add(
            0,
            raw=raw.encode("utf-8", "replace"),
            charset="utf-8",
            date=iso(about.get("created")),
            metadata=as_json(dict(about)),
        )


def parts_of(archive: zipfile.ZipFile) -> Parts:
    """The parts of a document. Raises Unreadable where there is none."""
    members = set(archive.namelist())
    document = USUAL
    if RELATIONS in members:
        document = _related(archive, RELATIONS, "").get("officeDocument", USUAL)
    if document not in members:
        raise Unreadable("not_docx", f'the archive has no document of a word processor ("{document}")')
    folder, name = posixpath.split(document)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    found = _related(archive, relations, folder) if relations in members else {}
    others = (found.get(kind, "") for kind in ("styles", "numbering", "footnotes", "endnotes"))
    return Parts(document, *(name if name in members else "" for name in others))


def _related(archive: zipfile.ZipFile, name: str, folder: str) -> dict[str, str]:
    """What a list of relations names: kind -> member."""
    found: dict[str, str] = {}
    for part in parsed(archive, name):
        target = part.get("Target", "")
        path = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        found.setdefault(part.get("Type", "").rpartition("/")[2], path)
    return found


def about_of(archive: zipfile.ZipFile) -> dict[str, str]:
    """What a document says of itself."""
    about: dict[str, str] = {}
    if PROPERTIES in archive.namelist():
        for part in parsed(archive, PROPERTIES, LARGEST_XML):
            name = element_name(part)
            if name in METADATA_FIELDS and (part.text or "").strip():
                about[name] = " ".join((part.text or "").split())[:MAX_ABOUT]
    return about


def blocks_of(text: str, name: str) -> Iterator[ElementTree.Element]:
    """The paragraphs and tables of a document, one at a time. Raises Unreadable for what is not XML, or no document."""
    depth, body = 0, None
    stack: list[ElementTree.Element] = []
    try:
        for event, part in ElementTree.iterparse(io.BytesIO(text.encode("utf-8", "replace")), ("start", "end")):
            if event == "start":
                depth += 1
                stack.append(part)
                if depth == 1 and element_name(part) != "document":
                    raise Unreadable("not_docx", f"{name} holds <{element_name(part)}>, not a document")
                if depth == 2 and element_name(part) == "body":
                    body = part
                if depth > MAX_DEPTH:
                    raise Unreadable("too_deep", f"{name} has elements nested more than {MAX_DEPTH} deep")
            else:
                depth -= 1
                stack.pop()
                if depth == 2 and body is not None and stack[-1] is body:
                    yield part
                    body.clear()
    except ElementTree.ParseError as error:
        raise Unreadable("bad_xml", f"{name} is not XML: {error}") from error


def _shallow(root: ElementTree.Element, name: str) -> ElementTree.Element:
    """The same, if its elements are not nested too deep."""
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise Unreadable("too_deep", f"{name} has elements nested more than {MAX_DEPTH} deep")
        level = [child for part in level for child in part]
    return root
