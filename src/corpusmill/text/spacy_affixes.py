"""What spaCy's English rules cut off a chunk of text: prefixes, suffixes, infixes; and which chunks are URLs.

They work on the code points of one chunk (text without white space). spaCy takes the first alternative of its prefixes
and infixes, and the longest of its suffixes. Time is linear in the chunk.
"""

from typing import Any, NamedTuple

from corpusmill.text.array_types import Bytes, Int32s, UInt16s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.spacy_rules import (
    AFTER_DOT,
    BEFORE_DOT,
    BEFORE_LAST_DOT,
    CAPITAL,
    DECIMAL,
    HOST,
    INFIX,
    LETTER,
    NUMERAL,
    PREFIX,
    SCHEME,
    SUFFIX,
    TOP_LEVEL,
    Units,
    hash_of,
    holds,
)

PLUS, COMMA, HYPHEN, DOT, SLASH, COLON, QUESTION, AT = 43, 44, 45, 46, 47, 58, 63, 64
STAR, HASH, DOLLAR, APOSTROPHE, CARET, UNDERSCORE, TILDE = 42, 35, 36, 39, 94, 95, 126
LESS, EQUALS, GREATER = 60, 61, 62
DEGREE, EN_DASH, EM_DASH, QUOTE, ELLIPSIS = 0xB0, 0x2013, 0x2014, 0x2019, 0x2026


class Chunk(NamedTuple):
    """Text without white space, decoded: for up to so many characters as a document has bytes, and one more.

    points   the code points
    kinds    their class bits
    places   where each begins, in bytes of the document; and where the last one ends
    cut      where each suffix begins that was cut off
    """

    points: Int32s
    kinds: UInt16s
    places: Int32s
    cut: Int32s


@inlined
def prefix(points: Int32s, kinds: UInt16s, lo: int, hi: int) -> Any:
    """Characters of the prefix of the chunk's [lo:hi], which is not empty; 0 if it has none."""
    c = points[lo]
    if kinds[lo] & PREFIX:
        return 1
    if c == PLUS:
        return 0 if lo + 1 < hi and kinds[lo + 1] & NUMERAL else 1
    if c == DOT:
        k = lo
        while k < hi and points[k] == DOT:
            k += 1
        return k - lo if k - lo > 1 else 0
    if c == ord("U") and lo + 2 < hi and points[lo + 1] == ord("S") and points[lo + 2] == DOLLAR:
        return 3
    if (c == ord("C") or c == ord("A")) and lo + 1 < hi and points[lo + 1] == DOLLAR:
        return 2
    return 0


@inlined
def suffix(
    data: Bytes, points: Int32s, kinds: UInt16s, places: Int32s, lo: int, hi: int, with_numeral: bool, units: Units
) -> Any:
    """Characters of the suffix of the chunk's [lo:hi]; 0 if it has none.

    with_numeral   the chunk has a digit, so that there may be a unit
    """
    if lo >= hi:
        return 0
    c, kind = points[hi - 1], kinds[hi - 1]
    if c == DOT:
        return _final_dots(points, kinds, lo, hi)
    size = 0
    if kind & SUFFIX:
        size = 2 if c == ELLIPSIS and hi - 2 >= lo and points[hi - 2] == ELLIPSIS else 1
    elif (c == ord("s") or c == ord("S")) and hi - 2 >= lo:
        size = 2 if points[hi - 2] == APOSTROPHE or points[hi - 2] == QUOTE else 0
    if with_numeral and not kind & NUMERAL:  # a unit is what follows the last digit
        k = hi - 2
        while k >= lo and places[hi] - places[k + 1] <= units.longest:
            if kinds[k] & NUMERAL:
                if hi - 1 - k > size and holds(units.table, hash_of(data, places[k + 1], places[hi])):
                    size = hi - 1 - k
                break
            k -= 1
    return size


@inlined
def _final_dots(points: Int32s, kinds: UInt16s, lo: int, hi: int) -> Any:
    """Dots at the end of the chunk's [lo:hi] that are cut off: several, or one after what may end a sentence."""
    k = hi
    while k > lo and points[k - 1] == DOT:
        k -= 1
    if hi - k > 1:
        return hi - k
    if hi - 2 < lo:
        return 0
    if kinds[hi - 2] & BEFORE_LAST_DOT:
        return 1
    if hi - 3 >= lo:
        if kinds[hi - 3] & CAPITAL and kinds[hi - 2] & CAPITAL:
            return 1
        if points[hi - 3] == DEGREE and points[hi - 2] < 128:
            scale = points[hi - 2] | 32
            return 1 if scale == ord("f") or scale == ord("c") or scale == ord("k") else 0
    return 0


@inlined
def infix(points: Int32s, kinds: UInt16s, i: int, lo: int, hi: int) -> Any:
    """Characters of the infix at i of the chunk's [lo:hi]; 0 if there is none."""
    c = points[i]
    if c == DOT:
        k = i
        while k < hi and points[k] == DOT:
            k += 1
        if k - i > 1:
            return k - i
        return 1 if i > lo and kinds[i - 1] & BEFORE_DOT and i + 1 < hi and kinds[i + 1] & AFTER_DOT else 0
    if c == ELLIPSIS or kinds[i] & INFIX:
        return 1
    if i == lo or i + 1 >= hi:
        return 0
    before, after = kinds[i - 1], kinds[i + 1]
    if (c in (PLUS, HYPHEN, STAR, CARET)) and before & NUMERAL and (after & NUMERAL or points[i + 1] == HYPHEN):
        return 1
    if c == COMMA:
        return 1 if before & LETTER and after & LETTER else 0
    if not before & (LETTER | NUMERAL):
        return 0
    if c in (HYPHEN, EM_DASH):
        return _dashes(points, kinds, i, hi, 3 if c == HYPHEN else 2)
    if c in (EN_DASH, TILDE, COLON, LESS, GREATER, EQUALS, SLASH):
        return 1 if after & LETTER else 0
    return 0


@inlined
def _dashes(points: Int32s, kinds: UInt16s, i: int, hi: int, limit: int) -> Any:
    """Up to `limit` equal characters from i on that a letter follows; 0 if none does."""
    k = i + 1
    while k < hi and k - i < limit and points[k] == points[i]:
        k += 1
    return k - i if k < hi and kinds[k] & LETTER else 0


@kernel
def is_url(points: Int32s, kinds: UInt16s, lo: int, hi: int) -> bool:
    """Whether points[lo:hi] is a URL to spaCy: a host with a domain or a public IPv4 address, from the beginning, after
    a scheme or after any "@"."""
    if _url_from(points, kinds, lo, hi):
        return True
    k = lo
    while k < hi and kinds[k] & SCHEME:
        k += 1
    if (
        k - lo >= 2
        and k + 3 < hi
        and points[k] == COLON
        and points[k + 1] == SLASH
        and points[k + 2] == SLASH
        and _url_from(points, kinds, k + 3, hi)
    ):
        return True
    for k in range(lo + 1, hi - 1):
        if points[k] == AT and _url_from(points, kinds, k + 1, hi):
            return True
    return False


@kernel
def _url_from(points: Int32s, kinds: UInt16s, lo: int, hi: int) -> bool:
    end = lo
    last_dot = -1
    while end < hi:
        c = points[end]
        if c in (COLON, SLASH, QUESTION, HASH):
            break
        if c == DOT:
            last_dot = end
        elif not (kinds[end] & (TOP_LEVEL | HOST) or c in (UNDERSCORE, HYPHEN)):
            return False  # at the first foreign character, so that "@@@@" takes linear time
        end += 1
    if last_dot <= lo:
        return False
    if end < hi and points[end] == COLON:
        k = end + 1
        while k < hi and kinds[k] & DECIMAL:
            k += 1
        if k - end - 1 < 2 or k - end - 1 > 5:
            return False
        if k < hi and points[k] != SLASH and points[k] != QUESTION and points[k] != HASH:
            return False
    return _is_host(points, kinds, lo, last_dot, end) or (kinds[lo] & NUMERAL != 0 and _is_public_ip(points, lo, end))


@inlined
def _is_host(points: Int32s, kinds: UInt16s, lo: int, last_dot: int, end: int) -> Any:
    """Whether points[lo:end] is the name of a host; its top-level domain begins after last_dot."""
    if end - last_dot - 1 < 2 or end - last_dot - 1 > 63:
        return False
    for k in range(last_dot + 1, end):
        if not kinds[k] & TOP_LEVEL:
            return False
    label = lo
    for k in range(lo, last_dot + 1):
        if points[k] == DOT:
            if k == label or k - label > 64 or not kinds[label] & HOST or not kinds[k - 1] & HOST:
                return False
            label = k + 1
        elif not (kinds[k] & HOST or points[k] == UNDERSCORE or points[k] == HYPHEN):
            return False
    return True


@kernel
def _is_public_ip(points: Int32s, lo: int, end: int) -> bool:
    """Whether points[lo:end] is an IPv4 address that spaCy takes: not one of the private networks it excludes."""
    k = lo
    first = second = 0
    for j in range(4):
        value = digits = 0
        head = points[k] if k < end else 0
        while k < end and digits < 4 and 48 <= points[k] <= 57:
            value = value * 10 + points[k] - 48
            digits += 1
            k += 1
        if digits < 1 or digits > 3:
            return False
        if j == 0:
            if head == 48 or value > 223:
                return False
            first = value
        elif j < 3:
            if digits == 3 and (value > 255 or head > 50 or head == 48):
                return False
            second = value if j == 1 else second
        elif head == 48 or value > 254:
            return False
        if j < 3:
            if k >= end or points[k] != DOT:
                return False
            k += 1
    if k != end or first in (10, 127):
        return False
    if (first == 169 and second == 254) or (first == 192 and second == 168):
        return False
    return not (first == 172 and 16 <= second <= 31)
