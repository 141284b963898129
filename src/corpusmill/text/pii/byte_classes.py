"""Classes of ASCII bytes, and conditions on the bytes adjacent to a span of personal data."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8
from corpusmill.text.plain_tokens import in_script_without_spaces
from corpusmill.text.unicode import ALNUM, Classes, class_of, decode
from corpusmill.text.unicode import DIGIT as DECIMAL

AT, COLON, DOT, DASH, PLUS, BLANK, OPEN, CLOSE, UNDERSCORE, ZERO, ONE_DIGIT = b"@:.-+ ()_01"

USER_ENDS = '/?#"<>,;|()[]`'  # with blanks, what is not in the user and password of a URL

# Classes of an ASCII byte, as bits. Not plain integers: numba would compile a copy of `byte_is` for each.
LOCAL, LABEL, DIGIT, LETTER, HEX, DOTS, DASHES, BLANKS, COLONS, BRACKETS, LINKS, MAC_MARKS, OUTSIDE = np.uint16(
    1
) << np.arange(13, dtype=np.uint16)
ALNUMS, JOINERS, COLON_DOTS, HEX_COLON_DOTS = LETTER | DIGIT, DOTS | DASHES, COLONS | DOTS, HEX | COLONS | DOTS
PHONE_JOINERS, PHONE_MARKS = JOINERS | BLANKS, JOINERS | BLANKS | BRACKETS
_BYTES = np.zeros(256, np.uint16)
for _byte in range(128):
    _c = chr(_byte)
    _BYTES[_byte] = (
        LOCAL * (_c.isalnum() or _c in "!#$%&'*+/=?^_`{|}~-")
        | LABEL * (_c.isalnum() or _c == "-")
        | DIGIT * _c.isdigit()
        | LETTER * _c.isalpha()
        | HEX * (_c in "0123456789abcdefABCDEF")
        | DOTS * (_c == ".")
        | DASHES * (_c == "-")
        | BLANKS * (_c == " ")
        | COLONS * (_c == ":")
        | BRACKETS * (_c in "()")
        | MAC_MARKS * (_c in ":-.")
        | LINKS * (_c in " .:=#/_\"'(-")
        | OUTSIDE * (_byte <= BLANK or _c in USER_ENDS)
    )


@inlined
def byte_is(data: Bytes, at: int, kinds: np.uint16) -> bool:
    """Whether the byte at `at` is of one of these classes."""
    return bool((_BYTES[load8(data, at)] & kinds) != 0)


@inlined
def digit_at(data: Bytes, at: int) -> Any:
    """The value of the digit at `at`."""
    return np.int64(load8(data, at)) - ZERO


@inlined
def word_before(data: Bytes, lo: int, at: int, classes: Classes) -> bool:
    """Whether a word character is before `at`, see `word_at`."""
    if at <= lo:
        return False
    at -= 1
    while at > lo and (load8(data, at) & 0xC0) == 0x80:
        at -= 1
    return _is_word(data, at, classes)


@inlined
def word_at(data: Bytes, at: int, hi: int, classes: Classes) -> bool:
    r"""Whether a word character is at `at`: \w, but for letters of Korean and of scripts without spaces between words,
    which touch what they do not belong to."""
    return at < hi and _is_word(data, at, classes)


@inlined
def _is_word(data: Bytes, at: int, classes: Classes) -> bool:
    byte = load8(data, at)
    if byte < 0x80:
        return byte_is(data, at, ALNUMS) or byte == UNDERSCORE
    point = decode(data, at)[0]
    kind = class_of(classes, point)
    if kind & ALNUM == 0:
        return False
    return bool(kind & DECIMAL != 0) or not (in_script_without_spaces(point) or _is_korean(point))


@inlined
def _is_korean(point: Any) -> bool:
    return bool(
        0x1100 <= point <= 0x11FF or 0x3130 <= point <= 0x318F or 0xAC00 <= point <= 0xD7FF or 0xFFA0 <= point <= 0xFFDC
    )


@kernel
def stands_alone(data: Bytes, lo: int, start: int, end: int, hi: int, joiners: np.uint16, classes: Classes) -> bool:
    """Whether data[start:end] has no adjacent word character, no "+" before it, and no joiner (classes of bytes) and
    digit adjacent."""
    if word_before(data, lo, start, classes) or word_at(data, end, hi, classes):
        return False
    if start > lo and load8(data, start - 1) == PLUS:
        return False
    if start - 1 > lo and byte_is(data, start - 1, joiners) and byte_is(data, start - 2, DIGIT):
        return False
    return not (end + 1 < hi and byte_is(data, end, joiners) and byte_is(data, end + 1, DIGIT))
