"""Classes of ASCII bytes, and conditions on the bytes adjacent to a span of personal data."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8
from corpusmill.text.unicode import ALNUM, Classes, class_of, decode, last_class

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
    r"""Whether \w is before `at`."""
    if at <= lo:
        return False
    byte = load8(data, at - 1)
    if byte < 0x80:
        return byte_is(data, at - 1, ALNUMS) or byte == UNDERSCORE
    return bool((last_class(data, lo, at, classes) & ALNUM) != 0)


@inlined
def word_at(data: Bytes, at: int, hi: int, classes: Classes) -> bool:
    r"""Whether \w is at `at`."""
    if at >= hi:
        return False
    byte = load8(data, at)
    if byte < 0x80:
        return byte_is(data, at, ALNUMS) or byte == UNDERSCORE
    return bool((class_of(classes, decode(data, at)[0]) & ALNUM) != 0)


@kernel
def stands_alone(data: Bytes, lo: int, start: int, end: int, hi: int, joiners: np.uint16, classes: Classes) -> bool:
    r"""Whether data[start:end] has no adjacent \w, no "+" before it, and no joiner (classes of bytes) and digit
    adjacent."""
    if word_before(data, lo, start, classes) or word_at(data, end, hi, classes):
        return False
    if start > lo and load8(data, start - 1) == PLUS:
        return False
    if start - 1 > lo and byte_is(data, start - 1, joiners) and byte_is(data, start - 2, DIGIT):
        return False
    return not (end + 1 < hi and byte_is(data, end, joiners) and byte_is(data, end + 1, DIGIT))
