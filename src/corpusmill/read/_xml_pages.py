"""Pages and revisions of a MediaWiki export, found by their tags in a stream of bytes, before any XML is parsed.

In an export "<" of a text is always written as an entity, so a tag that is seen is one. A page belongs to the piece of
the file in which its `<page>` begins. What is handed on is parsed as an element of its own, which leaves no room for a
document type, and so none for entities that grow.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from corpusmill.errors import RecordError
from corpusmill.read._bytes import FEED, SLICE, Damaged, Truncated, inflated, inflater
from corpusmill.storage import open_read

TAG = re.compile(rb"<page>|<revision>|</revision>|</page>")
MAX_TAG_BYTES = 11  # bytes of a tag: what may be left of one at the end of a block
STREAM = re.compile(rb"BZh[1-9]1AY&SY")  # the head of a bz2 stream and the mark of its first block
STREAM_HEAD_BYTES = 10  # bytes of that
WINDOW = 1 << 20


@dataclass(slots=True)
class ExportBlock:
    """Bytes of the export, and where in the file they are from."""

    offset: int
    data: bytes
    is_stream: bool = False  # offset is of the bz2 stream, the same for all its blocks


@dataclass(slots=True)
class UnreadablePlace:
    """A place where the file cannot be read."""

    offset: int
    error: RecordError


@dataclass(slots=True)
class PagePart:
    """A piece of a page, in the order of the file: its head, each of its revisions, its end.

    kind       "page", "revision" or "end"; "lost": of a page, or outside of any, for `error`
    position   of the page: distinct for all pages of a file
    data       what is between the tags; None where it has more bytes than the limit
    """

    kind: str
    position: int
    data: bytes | None = b""
    error: RecordError | None = None


def plain_blocks(path: str, start: int) -> Iterator[ExportBlock | UnreadablePlace]:
    """The bytes of a file that is not compressed, from `start` on."""
    with open_read(path, start) as file:
        while data := file.read(SLICE):
            yield ExportBlock(start, data)
            start += len(data)


def bz2_blocks(path: str, start: int) -> Iterator[ExportBlock | UnreadablePlace]:
    """The content of the bz2 streams that begin at `start` or after it. A damaged stream is lost, not those after
    it."""
    with open_read(path) as file:
        while True:
            stream_start = _next_stream(file, start)
            if stream_start is None:
                return
            file.seek(stream_start)
            member = inflater("bz2")
            read = stream_start
            yield ExportBlock(stream_start, b"", True)
            try:
                while not member.eof:
                    data = b""
                    if member.needs_input and not (data := file.read(FEED)):
                        raise Truncated("the file ends inside its bz2 data")
                    read += len(data)
                    yield ExportBlock(stream_start, inflated(member, data, "bz2"), True)
                start = read - len(member.unused_data)
            except RecordError as error:
                yield UnreadablePlace(stream_start, error)
                start = stream_start + 1


def _next_stream(file: IO[bytes], start: int) -> int | None:
    """Where the first stream begins that begins at `start` or after it."""
    while True:
        file.seek(start)
        window = file.read(WINDOW)
        if match := STREAM.search(window):
            return start + match.start()
        if len(window) < WINDOW:
            return None
        start += WINDOW - STREAM_HEAD_BYTES + 1


def parts(blocks: Iterator[ExportBlock | UnreadablePlace], stop: int, limit: int) -> Iterator[PagePart]:
    """The pages that begin before `stop`, part by part. Damage is told where it is before `stop`, and of the page that
    it cuts off."""
    buffer = bytearray()
    begins: list[tuple[int, ExportBlock]] = []  # positions in `buffer` from which on its bytes are of a block
    at = 0  # searched up to here
    inside = ""  # "page": in its head; "revision"; "between" revisions; "" outside
    begin: int | None = None  # where what is kept begins; None: it is too large, or nothing is kept
    position, stream, number = 0, -1, 0
    knows_start: bool | None = None  # whether what is before a page's end has been seen
    for block in blocks:
        knows_start = block.offset == 0 if knows_start is None else knows_start
        if isinstance(block, UnreadablePlace):
            if inside:
                yield PagePart("lost", position, None, block.error)
            if block.offset < stop:
                yield PagePart("lost", block.offset, None, block.error)
            elif not inside:
                return
            buffer.clear()
            begins.clear()
            at, inside, begin, knows_start = 0, "", None, False
            continue
        if not inside and block.offset >= stop and b"<" not in buffer:  # of a tag that is cut at the stop
            return
        begins.append((len(buffer), block))
        buffer += block.data
        while match := TAG.search(buffer, at):
            tag, at = match[0], match.end()
            if tag == b"<page>" or (tag == b"</page>" and knows_start and not inside):
                if inside:
                    yield PagePart("lost", position, None, Truncated("the page has no end"))
                buffer_start, origin = next(item for item in reversed(begins) if item[0] <= match.start())
                offset = origin.offset if origin.is_stream else origin.offset + match.start() - buffer_start
                if offset >= stop:
                    return
                if origin.is_stream and stream != origin.offset:
                    stream, number = origin.offset, 0
                position = offset + number if origin.is_stream else offset
                number += 1
                if tag == b"</page>":
                    yield PagePart("lost", position, None, Damaged("a page ends here whose beginning is not there"))
                    continue
                inside, begin, knows_start = "page", at, True
            elif tag == b"<revision>" and inside in ("page", "between"):
                if inside == "page":
                    yield PagePart("page", position, _content(buffer, begin, match.start(), limit))
                inside, begin = "revision", at
            elif tag == b"</revision>" and inside == "revision":
                yield PagePart("revision", position, _content(buffer, begin, match.start(), limit))
                inside, begin = "between", None
            elif tag == b"</page>" and inside:
                if inside == "page":
                    yield PagePart("page", position, _content(buffer, begin, match.start(), limit))
                yield PagePart("end", position)
                inside, begin = "", None
        at = max(at, len(buffer) - MAX_TAG_BYTES)
        if begin is not None and len(buffer) - begin > limit + MAX_TAG_BYTES:
            begin = None
        if drop := at if begin is None else min(at, begin):
            del buffer[:drop]
            at -= drop
            begin = None if begin is None else begin - drop
            begins = _moved(begins, drop)
    if inside:
        yield PagePart("lost", position, None, Truncated("the file ends inside a page"))


def _content(buffer: bytearray, begin: int | None, end: int, limit: int) -> bytes | None:
    return None if begin is None or end - begin > limit else bytes(buffer[begin:end])


def _moved(begins: list[tuple[int, ExportBlock]], drop: int) -> list[tuple[int, ExportBlock]]:
    """The positions after the first `drop` bytes have gone; of the blocks before them, the last is kept."""
    first = max((i for i, (position, _) in enumerate(begins) if position <= drop), default=0)
    return [(position - drop, ExportBlock(block.offset, b"", block.is_stream)) for position, block in begins[first:]]
