"""Lines of files, compressed or not, with their offsets."""

import io
from collections.abc import Iterator
from typing import IO

from corpusmill.errors import RecordError
from corpusmill.read import FilePiece
from corpusmill.read._bytes import WINDOW, Damaged, Truncated, WindowTooLarge, blocks, sniff
from corpusmill.storage import open_read

READ_BYTES = 4 << 20  # bytes at a time of an uncompressed file
BYTES_BEHIND_PIECE = 16 << 10  # bytes read at once behind a piece, where its last line ends
MIN_READ_BYTES = 64 << 10


class TooLong(RecordError):
    """A line is longer than allowed."""


class OtherCharset(RecordError):
    """Text that is not UTF-8, and nothing says what it is."""


# Errors of reading -> the kinds of their dead letters.
KINDS = {
    TooLong: "too_long",
    OtherCharset: "bad_encoding",
    Truncated: "truncated",
    Damaged: "damaged",
    WindowTooLarge: "window_too_large",
}


def lines(
    piece: FilePiece, limit: int, end: bytes = b"\n", window: int = WINDOW
) -> Iterator[tuple[int, bytes | RecordError]]:
    """(offset, line without its end) of the lines that begin in a piece.

    end      terminates a line. In pieces that do not begin at 0 it must not overlap itself, as "\\n\\n" does.
    window   bytes that a decompressor may have to remember

    Offsets count decompressed bytes. A line of more than `limit` bytes is replaced by a TooLong, and the rest of a
    damaged or truncated file by the error. There is no empty line after the last `end`. "\\r" before "\\n" is kept; a
    byte order mark at the beginning of the file is removed. Memory: a block, and a line of up to `limit` bytes once.
    """
    if sniff(piece.file.path):
        if piece.start == 0:  # compressed files are one piece
            yield from _lines(blocks(piece.file.path, window), 0, piece.stop, limit, end)
        return
    # The line that holds the byte before the piece belongs to the previous piece, even if that byte ends it.
    begin = max(0, piece.start - len(end))
    with open_read(piece.file.path, begin) as file:
        numbered = _lines(_read(file, piece.stop - begin), begin, piece.stop, limit, end)
        if piece.start > 0:
            next(numbered, None)
        yield from numbered


def _read(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Blocks from a place in a file on, of which some `size` bytes are wanted: of a short piece little more is read."""
    while block := file.read(min(READ_BYTES, max(size + BYTES_BEHIND_PIECE, MIN_READ_BYTES))):
        size -= len(block)
        yield block


def _lines(
    stream_blocks: Iterator[bytes], position: int, stop: int, limit: int, end: bytes
) -> Iterator[tuple[int, bytes | RecordError]]:
    begun = _Begun(limit)
    size = 0  # of that line so far; its bytes beyond the limit are not kept
    partial_end = b""  # its last bytes, which may be the beginning of `end`
    mark = position == 0  # a byte order mark may follow
    try:
        for block in stream_blocks:
            head, *complete = (partial_end + block if partial_end else block).split(end)
            partial_end = b""
            if complete:
                last = complete.pop()
                if position >= stop:
                    return
                size += len(head)
                yield position, begun.complete(head, size, mark)  # nothing here holds a long line while it is in use
                mark = False
                position += size + len(end)
                for line in complete:
                    if position >= stop:
                        return
                    yield position, line if len(line) <= limit else _too_long(len(line), limit)
                    position += len(line) + len(end)
                size, head = 0, last
            if len(end) > 1:
                head, partial_end = head[: 1 - len(end)], head[1 - len(end) :]
            size += len(head)
            begun.add(head, size)
    except RecordError as error:
        yield position, error
        return
    size += len(partial_end)
    if size and position < stop:
        yield position, begun.complete(partial_end, size, mark)


class _Begun:
    """A line that has not ended yet. What its buffer gives as one string is not copied."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = io.BytesIO()

    def add(self, part: bytes, size: int) -> None:
        """The line goes on, and has `size` bytes with this part. Beyond the limit nothing is kept."""
        if size > self._limit:
            self._buffer = io.BytesIO()
        else:
            self._buffer.write(part)

    def complete(self, ending: bytes, size: int, is_first: bool) -> bytes | RecordError:
        """The line of `size` bytes that ends with `remainder`. The first of a file loses its byte order mark."""
        buffer, self._buffer = self._buffer, io.BytesIO()
        if size > self._limit:
            return _too_long(size, self._limit)
        if buffer.tell():
            buffer.write(ending)
            ending = buffer.getvalue()
        return ending.removeprefix(b"\xef\xbb\xbf") if is_first else ending


def _too_long(size: int, limit: int) -> TooLong:
    return TooLong(f"there are {size} bytes, and at most {limit} are allowed")
