"""The bytes of files, compressed or not. The compression is detected from the first bytes, not from the name.

Input that is compressed may be hostile: a few kilobytes can hold gigabytes. So a call of a decompressor gives at most
SLICE bytes, and what it must remember of its output is bounded by WINDOW. Reading a file takes memory for these and
twice FEED, and time in proportion to what is read and what it holds.
"""

import bz2
import lzma
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO, Any, Protocol, cast

import zstandard
from isal import isal_zlib

from corpusmill.errors import RecordError
from corpusmill.storage import BLOCK, open_read

# Bytes of compressed input at a time. The rest after each member is copied, so more is slower:
# 5 KB gzip members are decompressed at 754 MB/s with 64 KiB and at 344 MB/s with 1 MiB.
FEED = 1 << 16
SLICE = 1 << 20  # bytes that a call of a decompressor gives at most
WINDOW = 128 << 20  # bytes of its output that a decompressor may have to remember: what the tools take unless told more
LARGEST_WINDOW = 1 << 31  # of `zstd --long=31`
MAX_DICTIONARY = 16 << 20  # bytes of the dictionary of a .warc.zst file; those in use have one
ZSTD = b"\x28\xb5\x2f\xfd"
ZSTD_BLOCK = 1 << 17  # bytes that a block holds at most (RFC 8878, 3.1.1.2.4)
SPAN = 4  # bytes of a mark that `Stream.until` looks for
MAX_RESTARTS = 3  # times that a stream is read again from its beginning
DICTIONARY = b"\x5d\x2a\x4d\x18"  # a first zstd frame of this magic is a dictionary for all the others
DICTIONARY_MAGIC = b"\x37\xa4\x30\xec"
SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")  # begins a frame without content, of zstd (RFC 8878, 3.1.2) and lz4
MAX_SKIPPED = 1000  # such frames at the beginning of a file that are looked behind
LZ4 = b"\x04\x22\x4d\x18"
LZ4_LEGACY = b"\x02\x21\x4c\x18"  # of `lz4 -l`, as in Linux kernels
LEGACY_BLOCK = 8 << 20  # bytes that a block of a legacy frame holds at most
HEAD = 16  # bytes that show what a file is compressed with
ERRORS = cast(
    tuple[type[Exception], ...],
    (isal_zlib.error, OSError, EOFError, lzma.LZMAError, zstandard.ZstdError, ValueError),
)
READ_ERRORS: tuple[type[Exception], ...] = (*ERRORS, RecordError)  # StorageError is among them: it is no damage
MAGIC = {
    b"\x1f\x8b\x08": "gzip",
    ZSTD: "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    LZ4: "lz4",
    LZ4_LEGACY: "lz4",
}
# What is not read here -> how it is called, and what to do.
NOT_READ = {
    b"PK\x03\x04": ("zip", "a ZIP archive: unpack it first"),
    b"7z\xbc\xaf\x27\x1c": ("7z", "a 7-Zip archive: unpack it first"),
    b"Rar!\x1a\x07": ("rar", "a RAR archive: unpack it first"),
    b"\x1f\x9d": ("compress", "compressed by `compress` (.Z): decompress it first, for example with gzip -d"),
    b"LZIP\x01": ("lzip", "compressed by lzip: decompress it first"),
    b"\x89LZO\x00\r\n": ("lzop", "compressed by lzop: decompress it first"),
    b"\xff\x06\x00\x00sNaPpY": ("snappy", "compressed by snappy: decompress it first"),
}


def endings(*names: str) -> tuple[str, ...]:
    """Endings of files that may be compressed: ".csv", ".csv.gz" and so on; `has_ending` knows other spellings."""
    packed = ("", ".gz", ".zst", ".bz2", ".xz", ".lz4", ".lzma")
    return tuple(f".{name}{ending}" for name in names for ending in packed)


class Damaged(RecordError):
    """The compressed bytes are not what was written."""


class Truncated(RecordError):
    """The file ends before its compressed data does."""


class WindowTooLarge(RecordError):
    """The compressed bytes can only be read with more memory than a reader may take."""


class Inflater(Protocol):
    """Decompresses one member of a compressed file."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool:
        """Whether all that was given has been used; otherwise `decompress(b"", …)` goes on."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end of the member; b"" before it is reached."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most `max_length` bytes (of zstd: to the end of the block that exceeds it) of what `data` and what was
        given before hold."""
        ...


def sniff(path: str) -> str:
    """The compression of a file: gzip, zstd, bz2, xz, lzma, lz4, one of NOT_READ, or "" for none."""
    with open_read(path) as file:
        head = file.read(HEAD)
        return _kind_in(file, head) or next(
            (kind for magic, (kind, _) in NOT_READ.items() if head.startswith(magic)), ""
        )


def _kind_in(file: IO[bytes], head: bytes) -> str:
    """As `kind_of`, of a file whose first bytes have been read: what is behind skippable frames is looked at."""
    at = 0
    for _ in range(MAX_SKIPPED):
        if not SKIPPABLE.match(head) or len(head) < 8:
            break
        at += 8 + int.from_bytes(head[4:8], "little")
        file.seek(at)
        head = file.read(HEAD)
    return kind_of(head) or ("zstd" if at else "")


def kind_of(head: bytes) -> str:
    """The compression of bytes that begin so, "" for none. Frames without content may be of zstd or lz4: zstd, where
    `head` does not show what follows."""
    at = 0
    while SKIPPABLE.match(head, at):
        at += 8 + int.from_bytes(head[at + 4 : at + 8], "little")
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic, at)), "")
    return kind or ("zstd" if at else "lzma" if _is_lzma(head) else "")


def _is_lzma(head: bytes) -> bool:
    """Whether a file begins as .lzma files do, which have no mark: usual settings, a dictionary whose size is a power
    of two or one and a half times that, and no content size or a likely one. No text begins so."""
    size = int.from_bytes(head[1:5], "little")
    content = int.from_bytes(head[5:13], "little")
    is_usual = size >= 1 << 12 and (size & (size - 1) == 0 or (size % 3 == 0 and (size // 3) & (size // 3 - 1) == 0))
    return len(head) >= 13 and head[0] == 0x5D and is_usual and (content < 1 << 38 or content == (1 << 64) - 1)


def inflater(kind: str, dictionary: bytes = b"", window: int = WINDOW) -> Inflater:
    """A new decompressor for one gzip member, zstd or lz4 frame, bz2, xz or lzma stream.

    window   bytes of output that it may have to remember. gzip never takes more than 32 KiB, bz2 and lz4 8 MB.
    """
    match kind:
        case "gzip":
            return _Gzip()
        case "zstd":
            return _Zstd(dictionary, window)
        case "lz4":
            return _Lz4()
        case "bz2":
            return bz2.BZ2Decompressor()
        case _:
            return lzma.LZMADecompressor(memlimit=window + (1 << 20))


class _Gzip:
    """A gzip member."""

    __slots__ = ("_member", "_rest", "needs_input")

    def __init__(self) -> None:
        self._member = isal_zlib.decompressobj(31)
        self._rest = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return bool(self._member.eof)

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out: bytes = self._member.decompress(self._rest + data if self._rest else data, max_length)
        self._rest = self._member.unconsumed_tail
        self.needs_input = not self._rest and len(out) < max_length
        return out


class _Zstd:
    """A zstd frame.

    The library gives all that its input holds, and four bytes can hold 128 KiB. So the headers of frame and blocks are
    read here (RFC 8878, 3.1.1), and a call hands over no more blocks than its output may have.
    """

    def __init__(self, dictionary: bytes, window: int) -> None:
        dictionary_known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._frame = zstandard.ZstdDecompressor(dictionary_known, max_window_size=window).decompressobj()
        self._window = window
        self._input = b""  # given and not yet handed over
        self._next = 0  # where in it the next header begins, that of the frame or of a block; may be beyond its end
        self._checksum = -1  # bytes after the last block; -1 before the frame's header is read
        self._ended = False  # the last block is in sight
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data + self._input if self._frame.eof else b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._input = self._input + data if self._input else data
        cut = self._blocks(max(1, max_length // ZSTD_BLOCK))
        if not cut:
            return b""
        ready, self._input = self._input[:cut], self._input[cut:]
        self._next -= cut
        return self._frame.decompress(ready)

    def _blocks(self, limit: int) -> int:
        """Bytes of the input up to the end of the `limit`-th block that begins in it; up to the last whole header, if
        there are fewer."""
        size = len(self._input)
        if self._checksum < 0 and not self._begin():
            self.needs_input = True
            return 0
        self.needs_input = False
        while not self._ended and self._next + 3 <= size and limit:
            header = int.from_bytes(self._input[self._next : self._next + 3], "little")
            is_rle = header >> 1 & 3 == 1
            self._next += 4 if is_rle else 3 + (header >> 3)
            limit -= 1
            if header & 1:
                self._next += self._checksum
                self._ended = True
        if self._next > size or (not self._ended and self._next + 3 > size):
            self.needs_input = True
        return min(self._next, size)

    def _begin(self) -> bool:
        """Pass the header of the frame; False if it is not all there."""
        head = self._input
        if len(head) < 8:
            return False
        if head[1:4] == DICTIONARY[1:] and head[0] & 0xF0 == 0x50:  # a frame without content
            self._next, self._checksum, self._ended = 8 + int(struct.unpack("<I", head[4:8])[0]), 0, True
            return True
        if not head.startswith(ZSTD):
            raise zstandard.ZstdError("no frame begins where one should")
        descriptor = head[4]
        of_content, is_single = descriptor >> 6, descriptor >> 5 & 1
        size = 6 - is_single + (0, 1, 2, 4)[descriptor & 3] + (is_single, 2, 4, 8)[of_content]
        if len(head) < size:
            return False
        needed = zstandard.get_frame_parameters(head[:size]).window_size
        if needed > self._window:
            raise _window_too_large("zstd", needed, self._window)
        self._next, self._checksum = size, 4 if descriptor & 4 else 0
        return True


class _Lz4:
    """An lz4 frame: one of today, a legacy one, or one without content.

    may_end   the data may end here without damage: a legacy frame has no end of its own
    """

    def __init__(self) -> None:
        self._input = b""  # given and not yet used
        self._frame: Any = None  # of today
        self._skip = -1  # bytes of a frame without content that are still to come; -1: it is none
        self._is_legacy = False
        self._ready = b""  # of a legacy block, decompressed and not yet given out
        self.eof = False
        self.may_end = False
        self.needs_input = True

    @property
    def unused_data(self) -> bytes:
        return self._input if self.eof else b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._input = self._input + data if self._input else data
        if self._frame is None and self._skip < 0 and not self._is_legacy and not self._begin():
            return b""
        if self._frame is not None:
            return self._of_today(max_length)
        return self._of_legacy(max_length) if self._is_legacy else self._of_skippable()

    def _begin(self) -> bool:
        """Whether it can be seen what frame it is."""
        if len(self._input) < 8:
            return False
        if SKIPPABLE.match(self._input):
            self._skip = 8 + int.from_bytes(self._input[4:8], "little")
        elif self._input.startswith(LZ4_LEGACY):
            self._is_legacy, self._input = True, self._input[4:]
        elif self._input.startswith(LZ4):
            from lz4.frame import LZ4FrameDecompressor

            self._frame = LZ4FrameDecompressor()
        else:
            raise ValueError("no frame begins where one should")
        return True

    def _of_today(self, max_length: int) -> bytes:
        data, self._input = self._input, b""
        try:
            out: bytes = self._frame.decompress(data, max_length)
        except RuntimeError as error:
            raise ValueError(str(error)) from error
        self.eof, self.needs_input = self._frame.eof, self._frame.needs_input
        if self.eof:
            self._input = self._frame.unused_data or b""
        return out

    def _of_skippable(self) -> bytes:
        used = min(self._skip, len(self._input))
        self._skip -= used
        self._input = self._input[used:]
        self.eof = not self._skip
        return b""

    def _of_legacy(self, max_length: int) -> bytes:
        import lz4.block

        if not self._ready:
            size = int.from_bytes(self._input[:4], "little")
            is_block = len(self._input) >= 4 and 0 < size <= LEGACY_BLOCK + LEGACY_BLOCK // 255 + 16
            self.eof = len(self._input) >= 4 and not is_block
            self.needs_input = not is_block or len(self._input) < 4 + size
            self.may_end = not self._input.strip(b"\0")
            if self.eof or self.needs_input:
                return b""
            try:
                self._ready = lz4.block.decompress(self._input[4 : 4 + size], uncompressed_size=LEGACY_BLOCK)
            except lz4.block.LZ4BlockError as error:
                raise ValueError(str(error)) from error
            self._input = self._input[4 + size :]
        out, self._ready = self._ready[:max_length], self._ready[max_length:]
        self.needs_input, self.may_end = not self._ready and not self._input, not self._ready and not self._input
        return out


def _window_too_large(kind: str, needed: int, window: int) -> WindowTooLarge:
    demand = f"takes {-(-needed >> 20)} MiB of memory" if needed else "takes more memory"
    return WindowTooLarge(
        f"reading the {kind} data {demand}, and at most {window >> 20} MiB are allowed: compress the file anew without "
        "--long, or let `jsonl` take more with max_window_mb"
    )


def inflated(member: Inflater, data: bytes, kind: str) -> bytes:
    """`member.decompress` of SLICE bytes, with its errors as RecordErrors."""
    try:
        return member.decompress(data, SLICE)
    except lzma.LZMAError as error:
        if "memory usage limit" in str(error).lower():
            raise _window_too_large(kind, 0, WINDOW) from error
        raise Damaged(f"the {kind} data is damaged: {error}") from error
    except ERRORS as error:
        raise Damaged(f"the {kind} data is damaged: {error}") from error


def sniff_dictionary(file: IO[bytes]) -> tuple[str, bytes]:
    """The compression of a file that is read from its beginning, as of `sniff`, and the dictionary of a .warc.zst file,
    b"" if it has none.

    It is the content of a skippable frame, itself compressed or not (IIPC, "Zstandard for WARC", 1.0). Raises Damaged
    if it cannot be read or has more than MAX_DICTIONARY bytes.
    """
    head = file.read(HEAD)
    if len(head) < 12 or not head.startswith(DICTIONARY) or head[8:12] not in (ZSTD, DICTIONARY_MAGIC):
        return _kind_in(file, head), b""
    size = struct.unpack("<I", head[4:8])[0]
    file.seek(8)
    content = file.read(min(size, MAX_DICTIONARY + 1))
    if content.startswith(ZSTD):
        frame, packed, content = inflater("zstd"), content, b""
        while not frame.eof and len(content) <= MAX_DICTIONARY:
            content += inflated(frame, packed, "zstd")
            packed = b""
            if frame.needs_input and not frame.eof:
                raise Damaged("the dictionary at the head of the file is cut off")
    if len(content) > MAX_DICTIONARY:
        raise Damaged(f"the dictionary at the head of the file has more than {MAX_DICTIONARY >> 20} MiB")
    return "zstd", content


def dictionary_of(path: str, kind: str) -> bytes:
    """The dictionary of a file of this compression, see `sniff_dictionary`; b"" if it has none."""
    if kind != "zstd":
        return b""
    with open_read(path) as file:
        return sniff_dictionary(file)[1]


def blocks(path: str, window: int = WINDOW) -> Iterator[bytes]:
    """All bytes of a file, decompressed, in blocks of any size up to SLICE.

    What is compressed twice, as by a server that compresses what was, is decompressed twice. Raises Truncated, Damaged
    or WindowTooLarge after the last good block. Zeros between and after members are padding.

    window   bytes that a decompressor may have to remember
    """
    with open_read(path) as file:
        kind, dictionary = sniff_dictionary(file)
    with open_read(path) as file:
        if not kind:
            block = file.read(SLICE)
            for magic, (_, words) in NOT_READ.items():
                if block.startswith(magic):
                    raise Damaged(f"the file is {words}")
            while block:
                yield block
                block = file.read(SLICE)
        else:
            yield from _decompressed_again(_members(lambda: file.read(FEED), kind, dictionary, window), kind, window)


def _decompressed_again(outer: Iterator[bytes], kind: str, window: int) -> Iterator[bytes]:
    """The same bytes; if they are compressed again, what they hold."""
    head, following = _head(outer)
    inner = kind_of(head)
    if not inner:
        yield head
        yield from following
        return
    message = f"the file is compressed {{}}: its {kind} data holds {inner} data"
    fed = _pieces(chain([head], following), FEED)
    content = _members(lambda: next(fed, b""), inner, b"", window)
    head, following = _head(content)
    if third := kind_of(head):
        raise Damaged(message.format("three times") + f", and that {third} data: decompress the file first")
    yield head
    yield from following


def _head(stream_blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, enough to see whether they are compressed, and those after them."""
    head = b""
    try:
        while len(head) < HEAD and (block := next(stream_blocks, b"")):
            head += block
    except RecordError as error:
        return head, _raising(error)
    return head, stream_blocks


def _raising(error: RecordError) -> Iterator[bytes]:
    yield b""
    raise error


def _pieces(stream_blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes, at most `size` at a time."""
    for block in stream_blocks:
        for at in range(0, len(block), size):
            yield block[at : at + size]


def _members(read: Callable[[], bytes], kind: str, dictionary: bytes, window: int) -> Iterator[bytes]:
    """What the members hold that `read` gives FEED bytes of at a time, b"" at the end."""
    data = read()
    while data:
        member = inflater(kind, dictionary, window)
        while not member.eof:
            if member.needs_input and not data and not (data := read()):
                if isinstance(member, _Lz4) and member.may_end:
                    return
                raise Truncated(f"the file ends inside its {kind} data")
            out = inflated(member, data, kind)
            data = b""
            if out:
                yield out
        data = (member.unused_data or read()).lstrip(b"\0")
        while not data and (block := read()):
            data = block.lstrip(b"\0")


class ByteStream:
    """A stream of bytes with lookahead, from an iterator of blocks.

    Whatever the size of the blocks, each method takes time in proportion to the bytes that it passes or shows, and
    memory for what it shows.

    again   gives the bytes from a position on once more, at the price of what lies before it unless `is_cheap`
    end     the position where the bytes end, None as long as it is not known
    """

    def __init__(
        self,
        stream_blocks: Iterator[bytes],
        position: int = 0,
        again: Callable[[int], Iterator[bytes]] | None = None,
        end: int | None = None,
        is_cheap: bool = False,
    ) -> None:
        self._more = stream_blocks
        self._again = again
        self._buffer = b""
        self._at = 0  # the byte before it is kept, for patterns that look behind
        self._late: RecordError | None = None  # becomes `error` when all bytes before it have been seen
        self._barren: tuple[re.Pattern[bytes], int] | None = None  # a mark, and a position before which it has no end
        self.position = position  # of the next byte that `take` gives
        self.end = end
        self.is_cheap = is_cheap
        self.error: RecordError | None = None  # why the bytes ended early, if they did
        self._went_back = 0

    @property
    def _have(self) -> int:
        return len(self._buffer) - self._at

    def _pull(self, minimum: int) -> bytes:
        """Some `minimum` bytes more; fewer only at the end, none after it."""
        parts: list[bytes] = []
        size = 0
        while size < minimum and self._late is None:
            try:
                block = next(self._more, None)
            except RecordError as error:
                self._late = error
                break
            if block is None:
                break
            parts.append(block)
            size += len(block)
        if not parts:
            self.error = self._late
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _fill(self, count: int) -> None:
        """Have `count` bytes ahead, if there are as many."""
        have = self._have
        if have >= count:
            return
        keep = min(self._at, 1)
        parts: list[bytes | memoryview] = [memoryview(self._buffer)[self._at - keep :]]
        # An eighth more than there is, so that a buffer that moves on a little at a time is not copied as often.
        while have < count and (block := self._pull(max(FEED, have >> 3))):
            parts.append(block)
            have += len(block)
        if len(parts) > 1:
            self._buffer, self._at = b"".join(parts), keep
        if have < count:
            self.end = self.position + have

    def holds(self, count: int) -> bool:
        """Whether there are `count` bytes more, as far as is known."""
        return self.end is None or self.position + count <= self.end

    def peek(self, count: int, ahead: int = 0) -> bytes:
        """`count` bytes from `ahead` bytes further on without taking any; fewer only at the end."""
        self._fill(ahead + count)
        begin = min(self._at + ahead, len(self._buffer))
        return self._buffer[begin : begin + count]

    def probe(self, count: int, ahead: int) -> bytes:
        """The same without reading what lies before, for a stream that `is_cheap`."""
        if ahead + count <= self._have or self._again is None:
            return self.peek(count, ahead)
        parts, size = [], 0
        for block in self._again(self.position + ahead):
            parts.append(block)
            size += len(block)
            if size >= count:
                break
        return b"".join(parts)[:count]

    def take(self, count: int) -> bytes:
        """The next `count` bytes; fewer only at the end."""
        self._fill(count)
        out = self._buffer[self._at : self._at + count]
        self._at += len(out)
        self.position += len(out)
        return out

    def drop(self, count: int) -> int:
        """Skip `count` bytes; returns how many there were."""
        begin = self.position
        if self.is_cheap and self.end is not None and count - self._have > BLOCK:
            self._restart(min(begin + count, self.end))
        while (remaining := begin + count - self.position) > 0:
            if not self._have:
                self._fill(1)
            step = min(remaining, self._have)
            if not step:
                break
            self._at += step
            self.position += step
        return self.position - begin

    def back_to(self, position: int) -> bool:
        """Stand at an earlier position again; False if that is not possible, or would be for the fourth time where it
        means to read everything from the beginning."""
        if self.position - position <= self._at:
            self._at -= self.position - position
            self.position, self._barren = position, None
            return True
        if self._again is None or (self._went_back == MAX_RESTARTS and not self.is_cheap):
            return False
        self._went_back += 1
        self._restart(position)
        return True

    def _restart(self, position: int) -> None:
        assert self._again
        self._more = self._again(position)
        self._buffer, self._at, self.position = b"", 0, position
        self._late = self.error = self._barren = None

    def until(self, mark: re.Pattern[bytes], limit: int) -> bytes | None:
        """All bytes through the first match of `mark`, which spans at most SPAN bytes; None, and nothing taken, if it
        does not end within `limit`."""
        searched = 0  # bytes in which no match ends
        if self._barren and self._barren[0] is mark:
            searched = max(0, min(self._barren[1] - self.position, limit))
        for fill in (searched + 1, limit):
            self._fill(fill)
            begin = self._at + max(0, searched - SPAN)
            if match := mark.search(self._buffer, begin, self._at + limit):
                return self.take(match.end() - self._at)
            searched = min(self._have, limit)
        self._barren = mark, self.position + searched
        return None

    def find(self, mark: re.Pattern[bytes], overlap: int, within: int) -> int | None:
        """How far ahead the next match of `mark` begins, which spans at most `overlap` bytes; None if it does not begin
        `within` so many bytes."""
        self._fill(within + overlap)
        match = mark.search(self._buffer, self._at, self._at + within + overlap)
        return match.start() - self._at if match and match.start() - self._at < within else None

    def search(self, mark: re.Pattern[bytes], overlap: int, within: int = 1 << 62) -> bool:
        """Skip to the next match of `mark`, which spans at most `overlap` bytes; False, and `within` bytes skipped, if
        it does not begin within them."""
        stop = self.position + within
        while self.position < stop:
            self._fill(FEED + overlap)
            remaining = stop - self.position
            certain = self._have - overlap if self._have >= FEED + overlap else self._have
            if not certain:
                break
            match = mark.search(self._buffer, self._at)
            # A match in the last bytes may follow an earlier one that is not all there yet.
            if match and match.start() - self._at < min(certain, remaining):
                self.drop(match.start() - self._at)
                return True
            self.drop(min(certain, remaining))
        return False

    def skip(self, any_of: re.Pattern[bytes]) -> None:
        """Skip the longest match of a pattern that matches any number of single bytes."""
        while match := any_of.match(self._buffer, self._at):
            self.position += match.end() - self._at
            self._at = match.end()
            if self._have:
                return
            self._fill(1)
            if not self._have:
                return
