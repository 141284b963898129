"""Lines of files, compressed or not, with their offsets."""

from collections.abc import Iterator
from typing import IO

from corpusmill.errors import RecordError
from corpusmill.read import Piece
from corpusmill.read._bytes import blocks, sniff
from corpusmill.storage import open_read

READ = 4 << 20  # bytes at a time of an uncompressed file


class TooLong(RecordError):
    """A line is longer than allowed."""


def lines(piece: Piece, limit: int, end: bytes = b"\n") -> Iterator[tuple[int, bytes | RecordError]]:
    """(offset, line without its end) of the lines that begin in a piece.

    end   terminates a line. In pieces that do not begin at 0 it must not overlap itself, as "\\n\\n" does.

    Offsets count decompressed bytes. A line of more than `limit` bytes is replaced by a TooLong, and the rest of a
    damaged or truncated file by the error. There is no empty line after the last `end`. "\\r" before "\\n" is kept; a
    byte order mark at the beginning of the file is removed.
    """
    if sniff(piece.file.path):
        if piece.start == 0:  # compressed files are one piece
            yield from _lines(blocks(piece.file.path), 0, piece.stop, limit, end)
        return
    # The line that holds the byte before the piece belongs to the previous piece, even if that byte ends it.
    begin = max(0, piece.start - len(end))
    with open_read(piece.file.path, begin) as file:
        numbered = _lines(_read(file), begin, piece.stop, limit, end)
        if piece.start > 0:
            next(numbered, None)
        yield from numbered


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(READ):
        yield block


def _lines(
    more: Iterator[bytes], position: int, stop: int, limit: int, end: bytes
) -> Iterator[tuple[int, bytes | RecordError]]:
    begun: list[bytes] = []  # the parts of a line that has not ended yet
    size = 0  # of that line so far; its bytes beyond the limit are not kept
    held = b""  # its last bytes, which may be the beginning of `end`
    mark = position == 0  # a byte order mark may follow
    try:
        for block in more:
            head, *complete = (held + block if held else block).split(end)
            held = b""
            if complete:
                last = complete.pop()
                if position >= stop:
                    return
                size += len(head)
                first: bytes | RecordError = b"".join([*begun, head]) if size <= limit else _too_long(size, limit)
                yield position, _unmarked(first) if mark else first
                mark = False
                position += size + len(end)
                for line in complete:
                    if position >= stop:
                        return
                    yield position, line if len(line) <= limit else _too_long(len(line), limit)
                    position += len(line) + len(end)
                begun, size, head = [], 0, last
            if len(end) > 1:
                head, held = head[: 1 - len(end)], head[1 - len(end) :]
            size += len(head)
            if size <= limit:
                begun.append(head)
    except RecordError as error:
        yield position, error
        return
    size += len(held)
    if size and position < stop:
        rest: bytes | RecordError = b"".join([*begun, held]) if size <= limit else _too_long(size, limit)
        yield position, _unmarked(rest) if mark else rest


def _unmarked(line: bytes | RecordError) -> bytes | RecordError:
    return line.removeprefix(b"\xef\xbb\xbf") if isinstance(line, bytes) else line


def _too_long(size: int, limit: int) -> TooLong:
    return TooLong(f"there are {size} bytes, and at most {limit} are allowed")
