"""The records of web archives: WARC 0.17 to 1.1 and ARC 1, plain or compressed, split, cut off or damaged.

A record whose length is a lie costs itself: where its body should end neither the file ends nor a record begins, and
the next one is looked for within it. A body that contains records is one record as long as its length is right.

An archive is compressed record by record: each record is a gzip member or zstd frame of its own. So a reader can begin
at the start of any member, and an archive can be split into pieces. Members that hold part of a record, or many
records, are read too: a *run* is a member that begins with a record, and the members after it that do not. A run
belongs to the piece that it starts in.

The offset of a record is where it begins in the file as stored. In a run, the first record has the offset of the run
and the i-th that offset plus i, so that offsets are distinct and in order. In a file of another compression (bz2, xz,
lz4, or compressed twice) offsets count decompressed bytes, and the file is one piece.

The first bytes of a piece that look like a record may be inside one, because archives contain archives. So reading
starts LOOK_BACK bytes earlier and follows the chain of records from there; an archive inside a record ends with that
record, where the chain breaks and is picked up again.
"""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import IO, Literal

from corpusmill.errors import RecordError, StorageError
from corpusmill.read import END, FilePiece
from corpusmill.read._bytes import (
    FEED,
    HEAD,
    READ_ERRORS,
    SLICE,
    ByteStream,
    Inflater,
    Truncated,
    WindowTooLarge,
    blocks,
    dictionary_of,
    inflated,
    inflater,
    kind_of,
    sniff,
)
from corpusmill.storage import has_ending, open_read, read_range

LOOK_BACK = 4 << 20  # bytes; covers a record of this size, and costs 40 ms per piece
MAX_HEAD = 64 << 10  # bytes of a record's header
LONGEST_NUMBER = 18  # digits of a length
HEAD_END = re.compile(rb"\r?\n\r?\n")
LINE_END = re.compile(rb"\n")
FIELD_NAME = rb"[A-Za-z][A-Za-z0-9_-]*:"
WARC_HEAD = rb"WARC/\d\.\d{1,2}\r?\n" + FIELD_NAME
ARC_HEAD = rb"[A-Za-z][A-Za-z0-9+.-]{0,15}:[^\r\n]{0,4000} [0-9A-Fa-f.:]{3,45} \d{14} [^\r\n]{0,200} \d{1,12}\r?\n"
RECORD = re.compile(rb"[\r\n\0]*+(?:" + WARC_HEAD + rb"|" + ARC_HEAD + rb")")
NEXT = re.compile(rb"(?<=\n)(?:" + WARC_HEAD + rb"|" + ARC_HEAD + rb")")
ARC_LINE = re.compile(rb"(.*) (\S+) (\d{14}) (.*) (\d+)\r?\n")
PROBE = 5120  # bytes that show whether a record begins here: longer than RECORD
PADDING = re.compile(rb"[\r\n\0]*+")
MEMBER = {"gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}
# Bytes of a member within which a record must be seen to begin: deflate gives it at once, zstd a block at a time.
BEGINS_WITHIN = {"gzip": 8 << 10, "zstd": 256 << 10}
TWICE = "compressed twice"


@dataclass(slots=True)
class Record:
    """One record, its body cut at the limit of `records`."""

    offset: int
    kind: str  # WARC-Type in lower case; of ARC records "response", and "filedesc" for the first
    fields: dict[str, str]  # the header by lower-case name; of ARC records named as in WARC
    body: bytes
    length: int  # of the whole body


@dataclass(slots=True)
class Damage:
    """A place where records are lost."""

    offset: int
    kind: Literal["truncated", "damaged", "window_too_large"]
    reason: str
    url: str | None = None


def records(piece: FilePiece, limit: int, look_back: int = LOOK_BACK) -> Iterator[Record | Damage]:
    """The records that begin in a piece of an archive, in order, and the places where records are lost.

    Only the first `limit` bytes of a body are kept.
    """
    path = piece.file.path
    kind = packing(path)
    if kind in MEMBER:
        try:
            dictionary = dictionary_of(path, kind)
        except RecordError as error:
            yield from [_damage(0, error)] if piece.start == 0 else []
            return
        with open_read(path) as file:
            yield from _compressed(ArchiveMembers(file, kind, dictionary), piece.start, piece.stop, limit, look_back)
    elif kind:
        stream = ByteStream(blocks(path), again=lambda position: _from(blocks(path), position))
        yield from _records(stream, limit) if piece.start == 0 else ()
    else:
        begin = max(0, piece.start - look_back - 1)  # one more, to see the line end before a record
        with open_read(path, begin) as file:
            end = file.seek(0, 2)
            stream = ByteStream(_read(file, begin), begin, lambda position: _read(file, position), end, is_cheap=True)
            if begin == 0 or stream.search(NEXT, PROBE):
                items = _records(stream, limit, piece.stop)
                yield from (item for item in items if item.offset >= piece.start)


def records_in(data: bytes, limit: int) -> Iterator[Record | Damage]:
    """The same of bytes of an archive that were fetched alone; offsets are in them."""
    kind = kind_of(data[:HEAD])
    if kind in MEMBER:
        yield from _compressed(ArchiveMembers(io.BytesIO(data), kind, b""), 0, len(data), limit, 0)
    else:
        yield from _records(ByteStream(iter([data]), end=len(data), is_cheap=True), limit)


def _read(file: IO[bytes], position: int) -> Iterator[bytes]:
    """A file from a position on. Two may take turns."""
    size = FEED  # a look at what is there should cost little
    while True:
        file.seek(position)
        if not (block := file.read(size)):
            return
        position += len(block)
        yield block
        size = SLICE


def _from(stream_blocks: Iterator[bytes], position: int) -> Iterator[bytes]:
    """Blocks without their first bytes."""
    for block in stream_blocks:
        if position < len(block):
            yield block[position:]
        position = max(0, position - len(block))


def packing(path: str) -> str:
    """The compression of an archive, by its content; by its name if the content is neither compressed nor an
    archive. TWICE, if what is compressed is compressed again."""
    kind = sniff(path)
    if not kind and has_ending(path, (".gz", ".zst")) and not RECORD.match(read_range(path, 0, PROBE)):
        return "gzip" if has_ending(path, (".gz",)) else "zstd"
    return TWICE if kind in MEMBER and _holds_compressed(path, kind) else kind


def _holds_compressed(path: str, kind: str) -> bool:
    """Whether the first member of a file begins as a compressed file does."""
    try:
        with open_read(path) as file:
            member = inflater(kind)
            head, bite = b"", 64
            while (
                len(head) < HEAD and not member.eof and file.tell() < BEGINS_WITHIN[kind] and (data := file.read(bite))
            ):
                head += member.decompress(data, HEAD)
                bite *= 2
            return bool(kind_of(head))
    except StorageError:
        raise
    except READ_ERRORS:
        return False


def _compressed(
    members: "ArchiveMembers", start: int, stop: int, limit: int, look_back: int
) -> Iterator[Record | Damage]:
    """The records of the runs that start in [start, stop)."""
    begin = max(0, start - look_back)
    opened = members.seek(0) if begin == 0 else members.search(begin, stop)
    while opened and members.start < stop:
        first = members.start
        if members.trouble:
            if first >= start:
                yield _damage(first, members.trouble)
            # Also where data seems to end with the file: one false byte of a header may say that all is its own.
            opened = members.search(first + 1, stop)
            continue
        stream = ByteStream(members.run(), again=members.run_again(first))
        if first >= start:
            yield from _records(stream, limit, offsets=count(first))
        while stream.drop(FEED):
            pass
        opened = members.search(members.start + 1, stop) if stream.error else members.opened


class ArchiveMembers:
    """Walks the members of a gzip or zstd file."""

    def __init__(self, file: IO[bytes], kind: str, dictionary: bytes) -> None:
        self.file = file
        self.kind = kind
        self.dictionary = dictionary
        self.start = 0  # of the member that is open
        self.opened = False
        self.trouble: RecordError | None = None  # why the beginning of the open member cannot be read
        self.data = b""  # compressed, read and not yet used
        self.offset = 0  # of data[0]
        self.head = b""  # decompressed from the open member, not yet given out
        self.member: Inflater

    def seek(self, offset: int) -> bool:
        """Open the member at `offset`; False at the end of the file."""
        self.file.seek(offset)
        self.data, self.offset = b"", offset
        return self.open()

    def open(self) -> bool:
        """Open the member that follows; False at the end of the file. Zeros between members are padding."""
        self.opened = False
        self.trouble = None
        self.head = b""
        while (data := self._compressed()) and not (content := data.lstrip(b"\0")):
            self._use(len(data))
        if not data:
            return False
        self._use(len(data) - len(content))
        self.start = self.offset
        self.opened = True
        self.member = inflater(self.kind, self.dictionary)
        try:
            while len(self.head) < PROBE and (block := self.inflate()):
                self.head += block
        except RecordError as error:
            # If a record has begun, the loss is reported for that record; otherwise for the member.
            if not RECORD.match(self.head):
                self.trouble = error
        return True

    def run(self) -> Iterator[bytes]:
        """Decompressed bytes of the open member and of those after it that begin no record. Opens the next member."""
        while True:
            if self.head:
                yield self.head
            while out := self.inflate():
                yield out
            if not self.open() or self.trouble or not self.head or RECORD.match(self.head):
                return

    def run_again(self, first: int) -> Callable[[int], Iterator[bytes]]:
        """Gives the bytes of the run that begins at `first`, from a position in them on."""

        def from_position(position: int) -> Iterator[bytes]:
            self.seek(first)
            return _from(self.run(), position)

        return from_position

    def inflate(self) -> bytes:
        """The next bytes of the open member, at most SLICE, b"" at its end. Raises a RecordError for damage."""
        while not self.member.eof:
            data = b""
            if self.member.needs_input:
                data, self.data = self._compressed(), b""
                if not data:
                    raise Truncated(f"the file ends inside its {self.kind} data")
            self.offset += len(data)
            out = inflated(self.member, data, self.kind)
            self.data = self.member.unused_data
            self.offset -= len(self.data)
            if out:
                return out
        return b""

    def search(self, offset: int, stop: int) -> bool:
        """Open the first member in [offset, stop) that begins a record; False if there is none."""
        magic = MEMBER[self.kind]
        while offset < stop:
            self.file.seek(offset)
            window = self.file.read(1 << 20)
            at = window.find(magic)
            while at >= 0 and offset + at < stop:
                if self._begins_record(offset + at):
                    return self.seek(offset + at)
                at = window.find(magic, at + 1)
            if len(window) < 1 << 20:
                return False
            offset += len(window) - len(magic) + 1
        return False

    def _begins_record(self, offset: int) -> bool:
        self.file.seek(offset)
        member = inflater(self.kind, self.dictionary)
        head, bite, budget = b"", 64, BEGINS_WITHIN[self.kind]
        # A few bytes at a time, because damage further on does not matter here.
        try:
            while len(head) < PROBE and budget > 0 and not member.eof and (data := self.file.read(bite)):
                head += member.decompress(data, PROBE)
                if RECORD.match(head):
                    return True
                budget -= bite
                bite = min(2 * bite, budget) if head else 2 * bite
        except StorageError:
            raise
        except READ_ERRORS:
            pass
        return False

    def _compressed(self) -> bytes:
        if not self.data:
            self.data = self.file.read(FEED)
        return self.data

    def _use(self, count: int) -> None:
        self.data = self.data[count:]
        self.offset += count


def _records(
    stream: ByteStream, limit: int, stop: int = END, offsets: Iterator[int] | None = None
) -> Iterator[Record | Damage]:
    """The records of a stream of decompressed bytes that begin before `stop`, and the places where records are lost."""
    lost = False
    while True:
        stream.skip(PADDING)
        if not stream.peek(1) or (offsets is None and stream.position >= stop):
            break
        offset = stream.position if offsets is None else next(offsets)
        item = _record(stream, limit, offset)
        lost = isinstance(item, Damage)
        yield item
    if stream.error and not lost:
        yield _damage(stream.position if offsets is None else next(offsets), stream.error)


def _record(stream: ByteStream, limit: int, offset: int) -> Record | Damage:
    """The record that begins here; leaves the stream where the next one begins."""
    head = _warc_head(stream) if stream.peek(5) == b"WARC/" else _arc_head(stream)
    if isinstance(head, str):
        if not RECORD.match(stream.peek(PROBE)):
            stream.search(NEXT, PROBE)
        return _damage(offset, stream.error) if stream.error else Damage(offset, "damaged", head)
    kind, fields, length = head
    body = _body(stream, limit, length)
    if isinstance(body, bytes):
        return Record(offset, kind, fields, body, length)
    lost, reason = body
    return Damage(offset, lost, reason, fields.get("warc-target-uri"))


def _body(stream: ByteStream, limit: int, length: int) -> bytes | tuple[Literal["truncated", "damaged"], str]:
    """The first `limit` bytes of a body that has `length`; what is wrong, and why, if it cannot have so many. Leaves
    the stream behind the body, or where the next record begins inside it."""
    begin, body = stream.position, b""
    if length <= limit:
        after = stream.peek(PROBE, length)
        if stream.holds(length) and _may_follow(after):
            return _unless_damaged(stream, stream.take(length), after)
        # A wrong length: either the next record begins inside what should be this one's body, or junk follows.
        inside = stream.find(NEXT, PROBE, length)
        if inside is None and stream.holds(length):
            return _unless_damaged(stream, stream.take(length), after)
        stream.drop(length if inside is None else inside)
        return _cut_off(stream, begin, length, inside is not None)
    if stream.is_cheap:
        if stream.holds(length) and _may_follow(stream.probe(PROBE, length)):
            body = stream.take(limit)
            stream.drop(length - limit)
            return body
    elif stream.end is None or stream.holds(length):
        body = stream.take(limit)
        stream.drop(length - limit)
        after = stream.peek(PROBE)
        if stream.position == begin + length and _may_follow(after):
            return _unless_damaged(stream, body, after)
        if not stream.back_to(begin):
            return "truncated", (
                f"no record follows the {length} bytes that the record is said to have. Records within them are not "
                "looked for: too many lengths are wrong to read the file again for each"
            )
    if stream.search(NEXT, PROBE, length):
        return _cut_off(stream, begin, length, True)
    if stream.position < begin + length:
        return _cut_off(stream, begin, length, False)
    if stream.is_cheap and stream.back_to(begin):
        body = stream.take(limit)
        stream.drop(length - limit)
    return body


def _cut_off(stream: ByteStream, begin: int, length: int, is_next: bool) -> tuple[Literal["truncated", "damaged"], str]:
    """What is wrong with a record of another length than its header says, whose body begins at `begin`.

    is_next   the stream stands at the next record, not at its end
    """
    statement = f"the record is cut off: its length is {length} bytes, but"
    if is_next:
        return "truncated", f"{statement} another record begins after {stream.position - begin}"
    if stream.error and not isinstance(stream.error, Truncated):
        return "damaged", str(stream.error)
    return "truncated", f"{statement} only {stream.position - begin} follow"


def _may_follow(after: bytes) -> bool:
    """Whether a body may end before these bytes: a record begins, or the file ends."""
    return not after.strip(b"\r\n\0") or RECORD.match(after) is not None


def _unless_damaged(stream: ByteStream, body: bytes, after: bytes) -> bytes | tuple[Literal["damaged"], str]:
    if not after and stream.error and not isinstance(stream.error, Truncated):
        return "damaged", f"{stream.error}: the record cannot be trusted"
    return body


def _warc_head(stream: ByteStream) -> tuple[str, dict[str, str], int] | str:
    """Type, fields and length of the WARC record that begins here, or a sentence that says why it cannot be read."""
    head = stream.until(HEAD_END, MAX_HEAD)
    if head is None:
        stream.drop(5)  # of "WARC/", so that it is not found again
        return "the record's header has no end"
    fields: dict[str, str] = {}
    folded: dict[str, list[str]] = {}  # values that go on in further lines
    name = ""
    for line in head.decode("utf-8", "replace").splitlines()[1:]:
        if line[:1] in (" ", "\t") and name:
            folded.setdefault(name, [fields[name]]).append(line.strip())
        elif line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
            folded.pop(name, None)
    fields.update((name, " ".join(parts)) for name, parts in folded.items())
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) <= LONGEST_NUMBER):
        return f'the record has no Content-Length that is a number: "{length}"'
    if url := fields.get("warc-target-uri"):
        fields["warc-target-uri"] = url.strip("<>")  # WARC 1.0 writes <uri> in its grammar, and wget follows it
    return fields.get("warc-type", "unknown").lower(), fields, int(length)


def _arc_head(stream: ByteStream) -> tuple[str, dict[str, str], int] | str:
    """The same for an ARC record: `URL IP date type length` on one line (version 1 of the format)."""
    line = stream.until(LINE_END, PROBE)
    match = ARC_LINE.fullmatch(line) if line else None
    if match is None:
        head = line if line is not None else stream.take(32)
        return f"no record begins here: found {head[:32]!r}"
    url, address, date, mime, length = (part.decode("utf-8", "replace") for part in match.groups())
    fields = {
        "warc-target-uri": url,
        "warc-ip-address": address,
        "warc-date": f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:]}Z",
        "content-type": "application/http" if url.lower().startswith(("http:", "https:")) else mime,
        "arc-type": mime,
    }
    return "filedesc" if url.startswith("filedesc:") else "response", fields, int(length)


def _damage(offset: int, error: RecordError) -> Damage:
    if isinstance(error, WindowTooLarge):
        return Damage(offset, "window_too_large", str(error))
    return Damage(offset, "truncated" if isinstance(error, Truncated) else "damaged", str(error))
