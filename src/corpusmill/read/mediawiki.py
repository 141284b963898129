"""Pages of MediaWiki exports, such as the dumps of Wikipedia."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import pyarrow as pa

from corpusmill.errors import RecipeError, RecordError
from corpusmill.read import FilePiece, PageKind
from corpusmill.read._bytes import blocks, endings, sniff
from corpusmill.read._documents import DocumentBatches, FileReader, as_json, check_choice
from corpusmill.read._xml_pages import ExportBlock, PagePart, UnreadablePlace, bz2_blocks, parts, plain_blocks
from corpusmill.read.text import KINDS
from corpusmill.storage import FileInfo

MAX_HEAD = 1 << 20  # bytes of an export in which its <siteinfo> ends
LANGUAGE = re.compile(rb'<mediawiki\b[^>]{0,2000}?\sxml:lang="([A-Za-z0-9-]{1,32})"')
MAX_NAMES = 32  # of a namespace: its own and some of other spellings
REDIRECT = re.compile(r"\s*#REDIRECT\s*:?\s*\[\[", re.I)
FILE, CATEGORY = "6", "14"  # numbers of namespaces
WIKITEXT = ("", "wikitext")


class Site(NamedTuple):
    """What the head of an export says of the wiki; empty where it says nothing."""

    wiki: str = ""  # its short name: enwiki
    base: str = ""  # the addresses of its pages begin so
    language: str = ""
    names: dict[str, list[str]] = {}  # noqa: RUF012 - number of a namespace -> its names there


@dataclass(frozen=True, kw_only=True)
class MediawikiReader(FileReader):
    """Pages of MediaWiki's XML exports, as Wikimedia's dumps are: plain, bz2 in one stream or many, gzip, zstd or xz.

    A page of the `namespaces` is a document: `raw` is its wikitext, for `extract/wikitext`. `url` is made of the site's
    base and the title, `date` is that of the revision; `metadata` keeps title, page_id, revision_id, namespace, wiki
    and language. The id is made of the wiki and the page's number, and stays from dump to dump. `revisions` takes the
    latest of each page, or all.

    Pages of other namespaces and redirects are counted. Expected dead letters are `empty_text` (also of a deleted
    text), `not_wikitext` (a style sheet, a module) and `too_large`; `bad_xml`, `truncated` and `damaged` are faults. A
    file that is plain, or bz2 in many streams (`multistream`), is split between workers, without its index.
    """

    namespaces: tuple[int, ...] = (0,)  # 0: articles
    redirects: bool = False  # take pages that are redirects
    revisions: Literal["latest", "all"] = "latest"  # of each page that the file has
    max_mb: float = 16.0  # of a revision; longer ones become dead letters
    step = "read/mediawiki"
    gives = PageKind("pages in wikitext", "extract/wikitext")
    suffixes = endings("xml")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "namespaces", tuple(self.namespaces))
        check_choice("revisions", self.revisions, ("latest", "all"))
        if not self.namespaces:
            raise RecipeError("namespaces must name one at least: 0 is that of articles")

    def can_cut(self, file: FileInfo) -> bool:
        return sniff(file.path) in ("", "bz2")

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        site = site_of(piece.file.path)
        limit = int(self.max_mb * 1e6)
        head: dict[str, str] | None = None  # of the page that is being read; None: none, or it is not wanted
        latest: PagePart | None = None
        for part in parts(_blocks(piece), piece.stop, limit):
            if part.kind == "lost":
                head, latest = None, None
                assert part.error
                docs.dead(part.position, KINDS[type(part.error)], str(part.error))
            elif part.kind == "page":
                head, latest = self._head(part, docs), None
            elif part.kind == "revision" and head is not None:
                latest = part
                if self.revisions == "all":
                    self._document(head, part, site, docs)
            elif part.kind == "end" and head is not None and self.revisions == "latest":
                if latest is None:
                    docs.dead(part.position, "empty_text", "the page has no revision", expected=True)
                else:
                    self._document(head, latest, site, docs)
            yield from docs.full()

    def _head(self, part: PagePart, docs: DocumentBatches) -> dict[str, str] | None:
        """The fields before the revisions of a page, if it is wanted."""
        try:
            if part.data is None:
                raise ElementTree.ParseError(f"it has more than {self.max_mb:g} MB")
            page = _element(part.data)
        except ElementTree.ParseError as error:
            docs.dead(part.position, "bad_xml", f"the head of the page is not XML: {error}")
            return None
        head = {name: _text(page, name) for name in ("title", "ns", "id")}
        if (head["ns"] or "0") not in map(str, self.namespaces):
            docs.counts.skip("other_namespace")
            return None
        if page.find("redirect") is not None and not self.redirects:
            docs.counts.skip("redirect")
            return None
        return head

    def _document(self, head: dict[str, str], part: PagePart, site: Site, docs: DocumentBatches) -> None:
        at, title = part.position, head["title"]
        url = site.base + quote(title.replace(" ", "_"), safe="/:@!$*(),;'~-._") if site.base and title else None
        if part.data is None:
            docs.dead(at, "too_large", f"the revision has more than {self.max_mb:g} MB", url=url, expected=True)
            return
        try:
            revision = _element(part.data)
        except ElementTree.ParseError as error:
            docs.dead(at, "bad_xml", f"the revision is not XML: {error}", url=url)
            return
        text, model = _text(revision, "text"), _text(revision, "model")
        number = _text(revision, "id")
        if model not in WIKITEXT:
            docs.dead(at, "not_wikitext", f"the content is {model}", url=url, expected=True)
        elif not text or text.isspace():
            docs.dead(at, "empty_text", "the revision has no text", url=url, expected=True)
        elif not self.redirects and REDIRECT.match(text):  # old exports have no element for it
            docs.counts.skip("redirect")
        else:
            about = {
                "title": title,
                "page_id": head["id"],
                "revision_id": number,
                "namespace": head["ns"],
                "wiki": site.wiki,
                "language": site.language,
            }
            name = f"{site.wiki}:{head['id']}" + (f":{number}" if self.revisions == "all" else "")
            docs.add(
                at,
                raw=with_common_names(text, site).encode("utf-8", "replace"),
                charset="utf-8",
                given=name if head["id"] else None,
                url=url,
                date=_text(revision, "timestamp") or None,
                metadata=as_json({key: value for key, value in about.items() if value}),
            )


def _blocks(piece: FilePiece) -> Iterator[ExportBlock | UnreadablePlace]:
    path = piece.file.path
    kind = sniff(path)
    if kind == "bz2":
        return bz2_blocks(path, piece.start)
    return _decompressed(path) if kind else plain_blocks(path, piece.start)


def _decompressed(path: str) -> Iterator[ExportBlock | UnreadablePlace]:
    offset = 0
    try:
        for data in blocks(path):
            yield ExportBlock(offset, data)
            offset += len(data)
    except RecordError as error:
        yield UnreadablePlace(offset, error)


def site_of(path: str) -> Site:
    """What the head of an export says of its wiki."""
    head = bytearray()
    with contextlib.suppress(RecordError):
        for block in blocks(path):
            head += block
            if len(head) > MAX_HEAD or b"</siteinfo>" in head or b"<page>" in head:
                break
    language = LANGUAGE.search(head)
    spoken = language[1].decode() if language else ""
    start = head.find(b"<siteinfo>")
    end = head.find(b"</siteinfo>", start) if start >= 0 else -1
    try:
        site = ElementTree.fromstring(head[start : end + 11].decode("utf-8", "replace")) if end >= 0 else None
    except ElementTree.ParseError:
        site = None
    if site is None:
        return Site(language=spoken)
    names: dict[str, list[str]] = {}
    for namespace in site.iterfind("namespaces/namespace"):
        of_key = names.setdefault(namespace.get("key", ""), [])
        if len(of_key) < MAX_NAMES:
            of_key.append(namespace.text or "")
    base = _text(site, "base")
    return Site(_text(site, "dbname"), base.rpartition("/")[0] + "/" if "/" in base else "", spoken, names)


def with_common_names(text: str, site: Site) -> str:
    """Wikitext whose links to files and categories say File and Category, whatever these are called in the wiki."""
    for number, common in ((FILE, "File"), (CATEGORY, "Category")):
        if names := [re.escape(name) for name in site.names.get(number, []) if name and name != common]:
            text = re.sub(rf"\[\[[ _]*+(?:{'|'.join(names)})[ _]*+:", f"[[{common}:", text, flags=re.I)
    return text


def _element(inner: bytes) -> ElementTree.Element:
    """What is between two tags, as an element. It may hold no document type, which stands before all elements."""
    return ElementTree.fromstring(f"<page>{inner.decode('utf-8', 'replace')}</page>")


def _text(element: ElementTree.Element, name: str) -> str:
    return (element.findtext(name) or "").strip() if name != "text" else element.findtext(name) or ""


Mediawiki = MediawikiReader  # its name before 1.0
