"""Lines of text that is not UTF-8."""

import codecs
from collections.abc import Iterator

from corpusmill.errors import RecordError
from corpusmill.read import END, FilePiece
from corpusmill.read._bytes import blocks
from corpusmill.read._lines import _lines
from corpusmill.storage import read_range

# A byte order mark -> the encoding; that of UTF-32 begins with one of UTF-16.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
Located = Iterator[tuple[int, bytes | RecordError]]


def marked(head: bytes) -> str:
    """The encoding that a byte order mark at the beginning of a file says: utf-16, utf-32, or "" for others."""
    return next((encoding for mark, encoding in BYTE_ORDER_MARKS.items() if head.startswith(mark)), "")


def is_marked(path: str) -> bool:
    """Whether an uncompressed file is UTF-16 or UTF-32 by its byte order mark."""
    return bool(marked(read_range(path, 0, 4)))


def looks_like_utf16(data: bytes) -> str:
    """UTF-16LE or UTF-16BE if text without a byte order mark is encoded so, by its zeros; else ""."""
    head = data[:1000]
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half < 2 or 10 * min(even, odd) > half or 3 * max(even, odd) < half:
        return ""
    return "UTF-16LE" if odd > even else "UTF-16BE"


def advice(encoding: str, path: str) -> str:
    """What to do with a file in an encoding that is not known for sure."""
    return (
        f"the file seems to be {encoding}, without a byte order mark, and only UTF-8 is read, or UTF-16 with a mark. "
        f"Convert it: iconv -f {encoding} -t UTF-8 {path.rpartition('/')[2]}"
    )


def decoded(numbered: Located, piece: FilePiece, limit: int, end: bytes = b"\n") -> Located:
    """`numbered`, which are the `lines` of a piece; of a file with a byte order mark of UTF-16 or UTF-32 those of its
    text, in UTF-8, and with offsets in that."""
    for position, line in numbered:
        encoding = marked(line) if position == 0 and isinstance(line, bytes) else ""
        if encoding:
            yield from _lines(_in_utf8(piece.file.path, encoding), 0, END, limit, end)
            return
        yield position, line
        break
    yield from numbered


def _in_utf8(path: str, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks(path):
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", True).encode()
