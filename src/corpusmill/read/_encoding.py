"""Lines of text that is not UTF-8, or does not say so."""

import codecs
from collections.abc import Iterator
from itertools import chain

from corpusmill.errors import RecipeError, RecordError
from corpusmill.formats.charset import guessed
from corpusmill.read import END, FilePiece, ReadCounts
from corpusmill.read._bytes import blocks
from corpusmill.read._lines import OtherCharset, _lines
from corpusmill.storage import read_range

# A byte order mark -> the encoding; that of UTF-32 begins with one of UTF-16.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
HEAD_BYTES = 1 << 16  # at the beginning of a piece, from which it is seen that it is not UTF-8
LEAST_BROKEN, SHARE_BROKEN = 16, 0.001  # characters of the head that are none in UTF-8: how many, and of all
REPLACEMENT = "\ufffd".encode()
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
        f"the file seems to be {encoding}, without a byte order mark. Name its charset: charset: {encoding}; or "
        f"convert it: iconv -f {encoding} -t UTF-8 {path.rpartition('/')[2]}"
    )


def check_charset(charset: str | None) -> None:
    """Raises RecipeError unless it is one that Python knows."""
    try:
        codecs.lookup(charset or "utf-8")
        "".encode(charset or "utf-8")  # rot13 and others are codecs, too
    except LookupError as error:
        raise RecipeError(f'charset "{charset}" is not known') from error


def is_wide(charset: str | None) -> bool:
    """Whether a charset is UTF-16 or UTF-32, whose lines end with other bytes."""
    return codecs.lookup(charset or "utf-8").name.startswith(("utf-16", "utf-32"))


def is_broken(data: bytes) -> bool:
    """Whether bytes are not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def is_utf8(charset: str | None) -> bool:
    return codecs.lookup(charset or "utf-8").name == "utf-8"


def decoded(
    numbered: Located,
    piece: FilePiece,
    limit: int,
    end: bytes = b"\n",
    charset: str | None = None,
    counts: ReadCounts | None = None,
) -> Located:
    """`numbered`, which are the `lines` of a piece, in UTF-8. Of UTF-16 and UTF-32, by their byte order mark or by
    `charset`, offsets are those in UTF-8.

    charset   None: UTF-8, and the only line is an OtherCharset if the beginning of the piece is plainly not
    counts    gets the lines of which a part is not in `charset`
    """
    if is_wide(charset):
        yield from _lines(_in_utf8(piece.file.path, str(charset)), 0, END, limit, end)
        return
    head: list[tuple[int, bytes | RecordError]] = []
    size, failure = 0, None
    try:
        for position, line in numbered:
            head.append((position, line))
            size += len(line) if isinstance(line, bytes) else 0
            if charset is not None or size >= HEAD_BYTES:
                break
    except Exception as error:  # what came before it counts
        failure = error
    if head and head[0][0] == 0 and isinstance(head[0][1], bytes) and (encoding := marked(head[0][1])):
        yield from _lines(_in_utf8(piece.file.path, encoding), 0, END, limit, end)
        return
    lines_of_head = [line for _, line in head if isinstance(line, bytes)]
    if charset is None and (reason := not_utf8(end.join(lines_of_head)[: 2 * HEAD_BYTES])):
        yield head[0][0], OtherCharset(reason)
        return
    if is_utf8(charset):
        while head:  # so that a long line is not kept while it is in use
            yield head.pop(0)
        if failure:
            raise failure
        yield from numbered
        return
    for position, line in chain(head, numbered):
        if isinstance(line, bytes):
            text = line.decode(str(charset), "replace")
            if counts is not None:
                counts.broken_texts += "\ufffd" in text
            yield position, text.encode()
        else:
            yield position, line
    if failure:
        raise failure


def not_utf8(head: bytes) -> str:
    """Why text is not taken for UTF-8, by its beginning, and what to do; "" if it may be: most characters beyond ASCII
    are sound, or few are broken, or it looks like no charset. UTF-16 is not seen here."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    broken = text.count("\ufffd") - head.count(REPLACEMENT)
    if broken < max(LEAST_BROKEN, SHARE_BROKEN * len(text)) or looks_like_utf16(head):
        return ""
    beyond = len(text) - len(text.encode("ascii", "ignore")) - broken
    if broken <= beyond or not (name := guessed(head)):
        return ""
    return (
        f"it is not UTF-8: of the first {len(text)} characters {broken} are none. It looks like {name}: write "
        f"charset: {name}; with charset: utf-8 they become U+FFFD"
    )


def _in_utf8(path: str, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks(path):
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", True).encode()
