"""HTTP responses as archives store them, which is often not quite as they were sent.

Crawlers store decoded bodies under headers that still name a transfer or content coding, cut bodies at a limit, and
write headers that no standard defines. So a coding is undone only if the body shows it, a body that ends early gives
its beginning, and only a body that cannot be decoded at all is an error.
"""

import contextlib
import io
import re
from dataclasses import dataclass

import zstandard
from isal import isal_zlib

from corpusmill.errors import RecordError
from corpusmill.read._bytes import ERRORS, FEED
from corpusmill.read._media_types import is_noise

STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})")
HEAD_END = re.compile(rb"\r?\n\r?\n")
CHUNK = re.compile(rb"\s{0,4}([0-9A-Fa-f]{1,15})[^\r\n]{0,200}\r?\n")
CHARSET = re.compile(r"""charset\s*+=\s*+["']?+\s*+([^"'\s;,]+)""", re.I)
MAX_HEAD = 256 << 10  # bytes of a header; browsers take no more
MAX_CODINGS = 10
UNNAMED = (
    (re.compile(rb"\x1f\x8b\x08"), "gzip"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "zstd"),
    (re.compile(rb"\x78[\x01\x5e\x9c\xda]"), "deflate"),
)
BY_LINE = frozenset({"x-robots-tag"})  # an agent that is named in a line is named for the whole line


class BadEncoding(RecordError):
    """The body of a response cannot be decoded."""


class BodyTooLarge(RecordError):
    """The body of a response is larger than allowed once it is decoded."""


@dataclass(slots=True)
class Response:
    """The parts of a response that matter here."""

    status: int
    # The header by lower-case name; of repeated fields the values joined by commas, or by line feeds (BY_LINE).
    fields: dict[str, str]
    body: bytes  # as stored


def parse(record: bytes) -> Response | None:
    """Parse a stored response; None if it is not one. If the header has no end, the body is empty."""
    status = STATUS.match(record)
    if status is None:
        return None
    end = HEAD_END.search(record, 0, MAX_HEAD)
    head, body = (record[: end.start()], record[end.end() :]) if end else (record[:MAX_HEAD], b"")
    fields: dict[str, str] = {}
    repeated: dict[str, list[str]] = {}
    for line in head.decode("utf-8", "replace").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            name = name.strip().lower()
            if name in fields:
                repeated.setdefault(name, [fields[name]]).append(value.strip())
            else:
                fields[name] = value.strip()
    fields.update((name, ("\n" if name in BY_LINE else ", ").join(values)) for name, values in repeated.items())
    return Response(int(status[1]), fields, body)


def content(response: Response, limit: int) -> bytes:
    """The body with its transfer and content codings undone, and one that the header does not name, but the body shows.

    Raises TooLarge if it exceeds `limit` bytes, BadEncoding if a coding that shows in the body cannot be undone.
    """
    body = response.body
    if "chunked" in response.fields.get("transfer-encoding", "").lower():
        body = dechunk(body)
    codings = [part.strip().lower() for part in response.fields.get("content-encoding", "").split(",")]
    if len(codings) > MAX_CODINGS:
        raise BadEncoding(f"the body has {len(codings)} content codings, more than {MAX_CODINGS}")
    for coding in reversed(codings):
        body = _undo(body, coding, limit)
    for _ in range(2):
        body = _undo_unnamed(body, limit)
    if len(body) > limit:
        raise BodyTooLarge(f"the page has {len(body)} bytes, more than {limit}")
    return body


def dechunk(body: bytes) -> bytes:
    """The chunks of a chunked body, joined; a body that is not chunked (any more) unchanged."""
    parts: list[bytes] = []
    at = 0
    while size := CHUNK.match(body, at):
        count = int(size[1], 16)
        if count == 0:
            return b"".join(parts)
        parts.append(body[size.end() : size.end() + count])
        at = size.end() + count
    if at < len(body.rstrip(b"\r\n")):
        if not parts:
            return body
        raise BadEncoding(f"the chunked body has no chunk size at byte {at}")
    return b"".join(parts)


def charset(content_type: str) -> str | None:
    """`utf-8` of `text/html; charset="utf-8"`; None without a charset."""
    match = CHARSET.search(content_type)
    return match[1] if match else None


def _undo(body: bytes, coding: str, limit: int) -> bytes:
    match coding:
        case "gzip" | "x-gzip":
            return _inflate(body, 31, limit) if body.startswith(b"\x1f\x8b") else body
        case "deflate":
            # The standard means zlib, many servers send raw deflate, and some archives store the decoded body.
            for wbits in (15, -15):
                try:
                    return _inflate(body, wbits, limit)
                except BadEncoding:
                    continue
            return body
        case "br":
            return _brotli(body, limit)
        case "zstd":
            return _zstd(body, limit) if body.startswith(b"\x28\xb5\x2f\xfd") else body
        case _:
            return body


def _undo_unnamed(body: bytes, limit: int) -> bytes:
    """The content of a body that is compressed though no header says so; one that is not, or is damaged, unchanged."""
    for mark, coding in UNNAMED:
        if mark.match(body):
            with contextlib.suppress(BadEncoding):
                return _undo(body, coding, limit)
    if body and is_noise(body):
        for coding in ("deflate", "br"):  # which have no mark
            with contextlib.suppress(BadEncoding, BodyTooLarge):
                if (content := _undo(body, coding, limit)) and not is_noise(content) and content.lstrip()[:1] == b"<":
                    return content
    return body


def _inflate(body: bytes, wbits: int, limit: int) -> bytes:
    """All members of a gzip or deflate body, as far as it goes if it was cut off."""
    parts: list[bytes] = []
    size = at = 0
    while at < len(body):
        member = isal_zlib.decompressobj(wbits)
        begun, start = len(parts), at
        try:
            while at < len(body) and not member.eof:
                fed = body[at : at + FEED]
                parts.append(member.decompress(fed, limit + 1 - size))
                size += len(parts[-1])
                if size > limit:
                    raise BodyTooLarge(f"the page has more than {limit} bytes once it is inflated")
                at = max(start + 1, at + len(fed) - len(member.unused_data))
        except ERRORS as error:
            if begun:
                return b"".join(parts[:begun])  # bytes after the last member
            raise BadEncoding(f"the compressed body is damaged: {error}") from error
    return b"".join(parts)


def _brotli(body: bytes, limit: int) -> bytes:
    from fastwarc.stream_io import BrotliReader

    reader = BrotliReader(io.BytesIO(body))
    parts: list[bytes] = []
    size = 0
    try:
        while part := reader.read(1 << 16):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise BodyTooLarge(f"the page has more than {limit} bytes once it is inflated")
    except OSError as error:
        # Brotli has no magic number. A body that looks like markup was stored decoded; one that gave output was cut
        # off.
        if body.lstrip()[:1] == b"<":
            return body
        if not parts:
            raise BadEncoding(f"the brotli body is damaged: {error}") from error
    return b"".join(parts)


def _zstd(body: bytes, limit: int) -> bytes:
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(body, read_across_frames=True) as reader:
        try:
            data: bytes = reader.read(limit + 1)
        except zstandard.ZstdError as error:
            raise BadEncoding(f"the zstd body is damaged: {error}") from error
    if len(data) > limit:
        raise BodyTooLarge(f"the page has more than {limit} bytes once it is inflated")
    return data
