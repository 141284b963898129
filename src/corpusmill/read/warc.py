"""Pages of web archives: WARC, and its predecessor ARC."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from corpusmill.formats.charset import decode
from corpusmill.read import HTML_PAGES, FilePiece, _http
from corpusmill.read._archive import LOOK_BACK, Damage, Record, packing, records
from corpusmill.read._bytes import endings
from corpusmill.read._documents import DocumentBatches, FileReader, as_json
from corpusmill.read._media_types import binary_type, media_type
from corpusmill.storage import FileInfo

__all__ = [
    "Damage",
    "Record",
    "WarcReader",
    "date",
    "http",
    "records",
]  # for `corpusmill.ops.rights`, which reads archives too

http = _http

HTML_BEGINS = re.compile(
    rb"\s*+(?:\xef\xbb\xbf)?+\s*+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body|title|meta)\b", re.I | re.S
)
PLAIN_TEXT = "text/plain"
RECORD_TYPES = (
    *("warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion", "continuation"),
    *("filedesc", "unknown"),
)
MAX_HTTP_HEAD = 1 << 16  # bytes of a record that are kept beside those of its page
RIGHTS_FIELDS = (  # fields of HTTP that are kept
    *("x-robots-tag", "tdm-reservation", "tdm-policy", "content-signal", "content-usage"),
)
RSL = "rsl+xml"  # in a field `Link`: one that names a licence
DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:T.*)?)?)?")


@dataclass(frozen=True, kw_only=True)
class WarcReader(FileReader):
    """HTML pages as served, from WARC 0.17 to 1.1 and ARC 1 files; plain, or gzip or zstd per record.

    A `response` record with status 200 (or a `resource` record that is HTML) is a document: `raw` is the page with
    transfer and content codings undone, `charset` comes from the HTTP header, `url` and `date` from the record.
    `metadata` keeps the record's id, why the crawler truncated it, and what the server said of its use,
    `http_x_robots_tag`, `http_tdm_reservation`, `http_tdm_policy`, `http_content_signal`, `http_content_usage`, and
    `http_link` if it names a licence by RSL: see annotate/rights. With
    `plain_text`, a response of type text/plain is a document too, which steps of extraction pass through.

    Whether a response is HTML is decided by its bytes, which may be those of an image, a PDF or an archive or no text
    at all; then by `WARC-Identified-Payload-Type`; then by `Content-Type`. A body that is compressed though no header
    says so is decompressed.

    Other responses are expected dead letters: `http_status`, `not_html` (with the type), `empty_page`, `too_large`.
    Faults are
    `truncated`, `damaged`, `window_too_large` and `bad_encoding`. Other records are counted as `warc_request` and so
    on. Files are split at record starts; a file in a single gzip member, bz2, xz or lz4, or compressed twice, is one
    piece.
    """

    types: tuple[str, ...] = ("text/html", "application/xhtml+xml")  # media types that are pages
    plain_text: bool = False  # take pages of type text/plain too, as they are
    max_mb: float = 16.0  # of a page once decoded; Common Crawl cuts at 5
    step = "read/warc"
    gives = HTML_PAGES
    suffixes = endings("warc", "arc")
    begins: ClassVar = {b"WARC/": "a web archive"}
    look_back = LOOK_BACK

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "types", tuple(self.types))

    def can_cut(self, file: FileInfo) -> bool:
        return is_seekable(file)

    @property
    def page_limit(self) -> int:
        """Bytes of a page."""
        return int(self.max_mb * 1e6)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        limit = self.page_limit
        for record in records(piece, limit + MAX_HTTP_HEAD):
            if isinstance(record, Damage):
                docs.dead(record.offset, record.kind, record.reason, url=record.url)
            elif record.kind == "response" or (record.kind == "resource" and self._is_page(record)):
                self.add_page(record, docs, limit)
            else:
                docs.counts.skip(skipped(record))
            yield from docs.full()

    def _is_page(self, record: Record) -> bool:
        return self._is_wanted(_media_of(record, media_type(record.fields.get("content-type", ""))))

    def _is_wanted(self, media: str) -> bool:
        return media in self.types or (self.plain_text and media == PLAIN_TEXT)

    def add_page(self, record: Record, docs: DocumentBatches, limit: int) -> None:
        """Add the document of a record, or a dead letter that says why it is not one."""
        at, url = record.offset, record.fields.get("warc-target-uri")
        response = _http.parse(record.body)
        if response is None:  # stored without an HTTP header: the record's own header describes the page
            stated = record.fields.get("arc-type") or record.fields.get("content-type", "")
            stated = "" if stated.startswith("application/http") else stated
            response = _http.Response(200, {"content-type": stated}, record.body)
        if response.status != 200:
            docs.dead(at, "http_status", f"status {response.status}", url=url, expected=True)
            return
        stated = response.fields.get("content-type", "")
        by_server = media_type(stated)
        media = _media_of(record, by_server)
        if media and not self._is_wanted(media) and not self._is_wanted(by_server):
            docs.dead(at, "not_html", media, url=url, expected=True)
            return
        try:
            if record.length > len(record.body):
                raise _http.BodyTooLarge(f"the record has {record.length} bytes, and a page at most {limit}")
            raw = _http.content(response, limit)
        except _http.BodyTooLarge as error:
            docs.dead(at, "too_large", str(error), url=url, expected=True)
            return
        except _http.BadEncoding as error:
            docs.dead(at, "bad_encoding", str(error), url=url)
            return
        begins = HTML_BEGINS.match(raw[:4096])
        if begins and self._is_wanted(by_server):
            media = by_server
        if not raw.strip():
            docs.dead(at, "empty_page", "the page has no bytes", url=url, expected=True)
        elif not begins and (binary := binary_type(raw, _http.charset(stated))):
            docs.dead(at, "not_html", f"{binary}, by its bytes", url=url, expected=True)
        elif media and not self._is_wanted(media):
            docs.dead(at, "not_html", media, url=url, expected=True)
        elif not media and not begins:
            docs.dead(at, "not_html", "no media type is stated, and it does not begin as HTML", url=url, expected=True)
        elif media == PLAIN_TEXT and media not in self.types:
            text = decode(raw, _http.charset(stated))
            docs.add(at, text=text, url=url, date=date(record), metadata=metadata(record, response))
        else:
            about = metadata(record, response)
            docs.add(at, raw=raw, url=url, date=date(record), charset=_http.charset(stated), metadata=about)


def _media_of(record: Record, by_server: str) -> str:
    """The media type that the crawl has identified; else, or where that is text of any kind, the one by the server."""
    identified = media_type(record.fields.get("warc-identified-payload-type", ""))
    return by_server if not identified or (identified == PLAIN_TEXT and by_server) else identified


def is_seekable(file: FileInfo) -> bool:
    """Whether records of an archive can be found from the middle on: plain, or compressed record by record."""
    return packing(file.path) in ("", "gzip", "zstd")


def skipped(record: Record) -> str:
    """What a record that cannot be a document is counted as. Types that no standard knows are one."""
    return f"warc_{record.kind}" if record.kind in RECORD_TYPES else "warc_other"


def date(record: Record) -> str | None:
    """WARC-Date, if it is a date."""
    value = record.fields.get("warc-date", "")
    return value if DATE.fullmatch(value) else None


def metadata(record: Record, response: _http.Response | None = None) -> bytes | None:
    """What is kept of a record's header, and of the answer's, as JSON."""
    return as_json(header_fields(record, response))


def header_fields(record: Record, response: _http.Response | None = None) -> dict[str, Any]:
    """The fields of a record's header that are kept, and those of the answer that say what may be done with it."""
    fields = {
        "warc_record_id": record.fields.get("warc-record-id"),
        "warc_truncated": record.fields.get("warc-truncated"),
        "warc_languages": record.fields.get("warc-identified-content-language"),
    }
    if response is not None:
        fields |= {f"http_{name.replace('-', '_')}": response.fields.get(name) for name in RIGHTS_FIELDS}
        if RSL in (links := response.fields.get("link", "")):
            fields["http_link"] = links
    return {name: value for name, value in fields.items() if value}


Warc = WarcReader  # its name before 1.0
