"""What is known of the pages of a crawl without their text: the WAT files of Common Crawl."""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.read import FilePiece, _http
from corpusmill.read._archive import LOOK_BACK, Damage, Record, records
from corpusmill.read._bytes import endings
from corpusmill.read._documents import DocumentBatches, FileReader, Unfit, as_json
from corpusmill.read._media_types import media_type
from corpusmill.read.jsonl import json_object
from corpusmill.read.warc import date, header_fields, is_seekable, skipped
from corpusmill.storage import FileInfo

DESCRIPTIONS = (
    "description",
    "og:description",
    "twitter:description",
)  # names of meta elements; the first that is there


@dataclass(frozen=True, kw_only=True)
class WatReader(FileReader):
    """Titles, descriptions and links of HTML pages, from the `metadata` records of WAT files.

    A record about a `response` with status 200 that is HTML is a document. `text` has a line for the title, one for the
    description, and one for each text of a link and each alternative text of an image, in the order of the page; white
    space is collapsed, and entities are decoded. Common Crawl cuts titles and texts of links at 100 characters.
    `url` and `date` are the page's.

    `metadata` has `title`, `description`; `metas`, `link` and `links` (elements meta and link of the head; links,
    images and frames of the body, with `path`, `url`, `text`, `rel`, `alt`) as they are in the file, with the addresses
    as the page writes them, relative to `base` or the URL; where the page is, `warc_filename`, `warc_offset`,
    `warc_length`; what `warc` keeps of the header. annotate/metadata makes columns of them: `texts: {title: title}`.

    Other responses are expected dead letters: `http_status`, `not_html` (with the type), `empty_text`, `too_large` (of
    more than `max_mb`). Faults are `bad_json`, `too_deep`, `too_many_values`, `truncated`, `damaged` and
    `window_too_large`. Records about requests and the like are counted as `warc_request` and so on.

    Source: https://commoncrawl.org/get-started, https://github.com/iipc/webarchive-commons
    """

    max_mb: float = 32.0  # of one record
    step = "read/wat"
    suffixes = endings("wat")
    look_back = LOOK_BACK

    def can_cut(self, file: FileInfo) -> bool:
        return is_seekable(file)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        for record in records(piece, int(self.max_mb * 1e6)):
            if isinstance(record, Damage):
                docs.dead(record.offset, record.kind, record.reason, url=record.url)
            elif record.kind != "metadata" or media_type(record.fields.get("content-type", "")) != "application/json":
                docs.counts.skip(skipped(record))
            else:
                self._add(record, docs)
            yield from docs.full()

    def _add(self, record: Record, docs: DocumentBatches) -> None:
        """Add the document of a record about a page, or a dead letter that says why there is none."""
        at, url = record.offset, record.fields.get("warc-target-uri")
        if record.length > len(record.body):
            reason = f"the record has {record.length} bytes, more than max_mb={self.max_mb:g}"
            docs.dead(at, "too_large", reason, url=url, expected=True)
            return
        about = json_object(record.body)
        if isinstance(about, Unfit):
            docs.dead(at, about.kind, str(about), url=url)
            return
        envelope = _object(about, "Envelope")
        header = {name.lower(): value for name, value in _strings(_object(envelope, "WARC-Header-Metadata"))}
        page = Record(at, header.get("warc-type", "unknown").lower(), header, b"", 0)
        if page.kind != "response":
            docs.counts.skip(skipped(page))
            return
        url = header.get("warc-target-uri", url)
        answer = _object(envelope, "Payload-Metadata", "HTTP-Response-Metadata")
        status = str(_object(answer, "Response-Message").get("Status", ""))
        fields = _http_fields(_object(answer, "Headers"))
        if status != "200":
            docs.dead(at, "http_status", f"status {status or 'unknown'}", url=url, expected=True)
        elif not isinstance(answer.get("HTML-Metadata"), dict):
            media = media_type(header.get("warc-identified-payload-type", "") or fields.get("content-type", ""))
            docs.dead(at, "not_html", media or "no media type is stated", url=url, expected=True)
        else:
            page_info = _head_and_links(_object(answer, "HTML-Metadata")) | _location(_object(about, "Container"))
            lines = _lines(page_info)
            if not lines:
                reason = "the page has no title, no description and no texts of links"
                docs.dead(at, "empty_text", reason, url=url, expected=True)
                return
            page_info |= header_fields(page, _http.Response(200, fields, b""))
            try:
                metadata = as_json({name: value for name, value in page_info.items() if value})
            except Unfit as error:
                docs.dead(at, error.kind, str(error), url=url)
                return
            docs.add(at, text="\n".join(lines), url=url, date=date(page) or date(record), metadata=metadata)


def _head_and_links(page: dict[str, Any]) -> dict[str, Any]:
    """What a record says of a page, by the names of `metadata`."""
    head = _object(page, "Head")
    metas = _objects(head.get("Metas"))
    contents: dict[str, str] = {}
    for meta in metas:
        name = _string(meta.get("name")) or _string(meta.get("property"))
        if content := _line(meta.get("content")):
            contents.setdefault(name.strip().lower(), content)
    return {
        "title": _line(head.get("Title")) or contents.get("og:title", ""),
        "description": next((contents[name] for name in DESCRIPTIONS if name in contents), ""),
        "base": _string(head.get("Base")),
        "metas": metas,
        "link": _objects(head.get("Link")),
        "links": _objects(page.get("Links")),
    }


def _lines(page_info: dict[str, Any]) -> list[str]:
    """The lines of a document's text."""
    lines = [page_info["title"], page_info["description"]]
    for link in page_info["links"]:
        lines.append(_line(link.get("text")) or _line(link.get("alt")))
    return [line for line in lines if line]


def _location(container: dict[str, Any]) -> dict[str, Any]:
    """Where the page is in the WARC files."""
    numbers = {
        "warc_offset": container.get("Offset"),
        "warc_length": _object(container, "Gzip-Metadata").get("Deflate-Length"),
    }
    location: dict[str, Any] = {"warc_filename": _string(container.get("Filename"))}
    location |= {
        name: int(text) for name, value in numbers.items() if (text := str(value)).isascii() and text.isdigit()
    }
    return location


def _http_fields(headers: dict[str, Any]) -> dict[str, str]:
    """The header of the answer, as `corpusmill.read._http.parse` has it; a repeated field is a list in the file."""
    fields: dict[str, list[str]] = {}
    for name, value in headers.items():
        values = value if isinstance(value, list) else [value]
        fields.setdefault(name.lower(), []).extend(each for each in values if isinstance(each, str))
    return {name: ("\n" if name in _http.BY_LINE else ", ").join(values) for name, values in fields.items()}


def _object(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """The object at a path of names; an empty one where there is none."""
    for name in names:
        inner = value.get(name)
        value = inner if isinstance(inner, dict) else {}
    return value


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _strings(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return ((name, each) for name, each in value.items() if isinstance(each, str))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _line(value: object) -> str:
    """A text on one line."""
    return " ".join(html.unescape(_string(value)).split())
