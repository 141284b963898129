"""The characters of a page, whatever is said of them."""

import codecs
import contextlib
import re
from functools import lru_cache

BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
META_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.I)
XML_CHARSET = re.compile(rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_.:-]+)""", re.I)
HEAD_BYTES = 4096  # bytes searched for <meta charset>: browsers search 1024, more is needed in practice
MAX_UNDECODED = 0.05  # share of the bytes above ASCII that may be invalid: pages are cut within some
GUESSED_BYTES = 1 << 17  # bytes, from which a charset is guessed


def decode(raw: bytes, charset: str | None) -> str:
    """The characters of a page. Never fails: bytes that cannot be decoded become U+FFFD.

    charset   the transport's, None if it named none

    A byte order mark decides; then UTF-8, if the bytes are valid UTF-8: nothing else looks like it, and much of it is
    declared to be Latin-1. Then the transport's charset, that of <meta>, and a guess from the bytes: the first that
    leaves at most 5 % of the bytes above ASCII undecoded. Labels mean what they mean in browsers (iso-8859-1 is
    windows-1252).
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace")
    if wide := _utf16(raw[:1024]):
        return raw.decode(wide, "replace")
    escapes = b"\x1b$" in raw or b"\x1b(" in raw  # ISO-2022-JP, which is also valid UTF-8
    if not escapes:
        with contextlib.suppress(UnicodeDecodeError):
            return raw.decode("utf-8")
    high = len(raw) - len(raw.translate(None, bytes(range(128, 256))))
    declared = META_CHARSET.search(raw, 0, HEAD_BYTES) or XML_CHARSET.match(raw)
    labels = [charset, declared[1].decode() if declared else None, guessed(raw) if escapes else None, "utf-8"]
    codecs_tried: list[str] = []
    for name in map(codec, labels):
        if name and name not in codecs_tried:
            codecs_tried.append(name)
            text = raw.decode(name, "replace")
            if text.count("\ufffd") <= MAX_UNDECODED * high:
                return text
    return raw.decode(guessed(raw) or codecs_tried[0], "replace")


@lru_cache(256)
def codec(label: str | None) -> str | None:
    """Python's codec for a charset label as browsers read it, None if it is unknown."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    if not label:
        return None
    # Python knows more codecs, and some of them, such as unicode_escape, are not charsets of pages.
    name = map_encoding_to_html5(label.strip().strip("\"'").lower(), fallback_utf8=False)
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        return None


def _utf16(head: bytes) -> str | None:
    """The UTF-16 codec of bytes without a byte order mark: every other byte of markup is zero in it. None if it is
    not."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 4 < len(head) or min(even, odd) * 20 > len(head):
        return None
    return ("utf-16-be" if even > odd else "utf-16-le") if head else None


def guessed(raw: bytes) -> str | None:
    """The codec guessed from the bytes of a page or a text."""
    from resiliparse.parse.encoding import detect_encoding

    name = codec(detect_encoding(raw[:GUESSED_BYTES]))
    if name and name != "utf-8":
        return name
    from charset_normalizer import from_bytes

    best = from_bytes(raw[:GUESSED_BYTES]).best()
    return best.encoding if best else None
