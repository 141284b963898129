"""Matchers of addresses: of mail (email) and of machines (ipv4, ipv6, mac)."""

import re
from ipaddress import ip_address
from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes, UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, U, load8, load64
from corpusmill.text.pii.byte_classes import (
    ALNUMS,
    AT,
    COLON,
    COLON_DOTS,
    DIGIT,
    DOT,
    DOTS,
    HEX,
    HEX_COLON_DOTS,
    LABEL,
    LETTER,
    LINKS,
    LOCAL,
    ONE_DIGIT,
    OUTSIDE,
    ZERO,
    byte_is,
    digit_at,
    word_at,
    word_before,
)
from corpusmill.text.unicode import Classes

LONGEST_IPV6 = 45  # bytes
LONGEST_USER = 256  # bytes of the user and password in a URL
SLASH = ord("/")
LOWER_BITS = U(0x2020202020202020)

# File name extensions, which are not top-level domains: logo@2x.png. In lower case; at most 8 letters.
EXTENSIONS = """
avif bmp cfg class conf css csv doc docx exe gif gz htm html ico ini ipynb jar jpeg jpg js json jsx log mjs mp3
mp4 pdf png ppt pptx scss svg tar tif tiff toml ts tsx txt wav webm webp whl xls xlsx xml yaml yml""".split()
# Words before version numbers.
VERSION_WORDS = """
article build chapter chrome driver firmware fw kernel oracle patch para release rel rev revision section sec update v
ver vers version versions""".split()
# Words before addresses, however short the address is.
HOST_WORDS = """
addr address bind client dns gateway host inet ip ipaddr ipv listen netmask nslookup peer ping remote resolver route
server subnet""".split()


def _packed(words: list[str]) -> UInt64s:
    return np.array([int.from_bytes(word.encode().ljust(8, b"\0"), "little") for word in words], np.uint64)


_EXTENSIONS, _VERSION_WORDS, _HOST_WORDS = _packed(EXTENSIONS), _packed(VERSION_WORDS), _packed(HOST_WORDS)


@kernel
def email(data: Bytes, lo: int, floor: int, at: int, hi: int, classes: Classes) -> Any:
    """(start, end) of the address around the "@" at `at`, not before `floor`; end 0 if there is none."""
    start = at
    while start > floor and (
        byte_is(data, start - 1, LOCAL)
        or (
            load8(data, start - 1) == DOT
            and start < at
            and load8(data, start) != DOT
            and start - 1 > floor
            and byte_is(data, start - 2, LOCAL)
        )
    ):
        start -= 1
    # \b: the match begins at a word boundary.
    while start < at and (
        load8(data, start) == DOT or word_before(data, lo, start, classes) == word_at(data, start, hi, classes)
    ):
        start += 1
    if start == at:
        return 0, 0
    end = labels = top = 0
    i = at + 1
    while i < hi and byte_is(data, i, ALNUMS):
        last = begin = i
        while i < hi and byte_is(data, i, LABEL):
            if byte_is(data, i, ALNUMS):
                last = i
            i += 1
        labels += 1
        if labels >= 2:
            top, end = begin, last + 1
        if last + 1 != i or i >= hi or load8(data, i) != DOT:
            break
        i += 1
    if end == 0 or not _is_domain(data, top, end):
        return 0, 0
    # Of two "@" in a URL the last ends the password, in which there may be an address.
    is_last = end >= hi or load8(data, end) != AT
    return (0, 0) if is_last and _is_password(data, lo, at) else (start, end)


@kernel
def _is_password(data: Bytes, lo: int, at: int) -> bool:
    """Whether the "@" at `at` is behind user and password of a URL: scheme://user:password@host."""
    has_colon = False
    i = at
    floor = max(lo, at - LONGEST_USER)
    while i > floor and not byte_is(data, i - 1, OUTSIDE):
        has_colon |= load8(data, i - 1) == COLON
        i -= 1
    if not has_colon or i - 4 < lo or load8(data, i - 1) != SLASH or load8(data, i - 2) != SLASH:
        return False
    return load8(data, i - 3) == COLON and byte_is(data, i - 4, ALNUMS)


@kernel
def _is_domain(data: Bytes, start: int, end: int) -> bool:
    """Whether data[start:end] may be a top-level domain."""
    letters = 0
    for i in range(start, end):
        letters += byte_is(data, i, LETTER)
    return end - start > 1 and letters > 0 and not _is_among(data, start, end, _EXTENSIONS)


@inlined
def _is_among(data: Bytes, start: int, end: int, words: UInt64s) -> bool:
    """Whether data[start:end], of letters and digits, is one of the packed words; case is ignored."""
    if end - start > 8:
        return False
    word = (load64(data, start) | LOWER_BITS) & (ALL_BITS >> U(64 - 8 * (end - start)))
    for candidate in words:
        if candidate == word:
            return True
    return False


@kernel
def mac(data: Bytes, lo: int, last: int, hi: int, classes: Classes) -> Any:
    """(start, end) of the address whose last separator is at `last`; end 0 if there is none."""
    start, end = last - 14, last + 3
    if start < lo or end > hi or word_before(data, lo, start, classes) or word_at(data, end, hi, classes):
        return 0, 0
    separator = load8(data, last)
    if start > lo and load8(data, start - 1) == separator:
        return 0, 0
    if end + 1 < hi and load8(data, end) == separator and byte_is(data, end + 1, HEX):
        return 0, 0
    letters = same = 0
    for i in range(start, end, 3):
        if not (byte_is(data, i, HEX) and byte_is(data, i + 1, HEX)):
            return 0, 0
        letters += byte_is(data, i, LETTER) + byte_is(data, i + 1, LETTER)
        same += load8(data, i) == load8(data, start) and load8(data, i + 1) == load8(data, start)
    # Six times FF is all machines, six times 00 none. Six numbers with "-" may be anything.
    return (start, end) if same < 6 and (letters > 0 or separator == COLON) else (0, 0)


@kernel
def dotted_mac(data: Bytes, lo: int, last: int, hi: int, classes: Classes) -> Any:
    """(start, end) of the address in three groups of four, whose last "." is at `last`; end 0 if there is none."""
    start, end = last - 9, last + 5
    if start < lo or end > hi or word_before(data, lo, start, classes) or word_at(data, end, hi, classes):
        return 0, 0
    if (start > lo and load8(data, start - 1) == DOT) or (
        end + 1 < hi and load8(data, end) == DOT and byte_is(data, end + 1, HEX)
    ):
        return 0, 0
    letters = 0
    for i in range(start, end):
        if i in (last - 5, last):
            continue
        if not byte_is(data, i, HEX):
            return 0, 0
        letters += byte_is(data, i, LETTER)
    return (start, end) if 0 < letters < 12 else (0, 0)


@kernel
def ipv6(data: Bytes, lo: int, colon: int, hi: int, classes: Classes) -> Any:
    """(start, end) of a possible address whose first group ends at `colon`; end 0 if it cannot be one."""
    start = colon
    while start > lo and colon - start <= 4 and byte_is(data, start - 1, HEX):
        start -= 1
    if colon - start != 4 or word_before(data, lo, start, classes):
        return 0, 0
    if start > lo and byte_is(data, start - 1, COLON_DOTS):
        return 0, 0
    end = colon
    colons = doubles = 0
    while end < hi and end - start <= LONGEST_IPV6 and byte_is(data, end, HEX_COLON_DOTS):
        if load8(data, end) == COLON:
            doubles += colons > 0 and load8(data, end - 1) == COLON
            colons += 1
        end += 1
    if end - start > LONGEST_IPV6 or word_at(data, end, hi, classes):
        return 0, 0
    # Punctuation of the sentence after the address.
    while byte_is(data, end - 1, DOTS) or (load8(data, end - 1) == COLON and load8(data, end - 2) != COLON):
        colons -= load8(data, end - 1) == COLON
        end -= 1
    if doubles != 1 and not 6 <= colons <= 7:
        return 0, 0
    return start, end


@kernel
def ipv4(data: Bytes, at: int, hi: int) -> int:
    """The end of an address at `at`, or 0."""
    for part in range(4):
        digits = 0
        value: Any = 0
        while digits < 4 and at < hi and byte_is(data, at, DIGIT):
            value = value * 10 + digit_at(data, at)
            digits += 1
            at += 1
        if digits == 0 or value > 255 or (digits > 1 and load8(data, at - digits) == ZERO):
            return 0
        if part < 3:
            if at >= hi or load8(data, at) != DOT:
                return 0
            at += 1
    return at


@kernel
def is_version(data: Bytes, lo: int, start: int, end: int) -> bool:
    """Whether the four numbers are more likely a version than an address."""
    first = load8(data, start)
    few = end - start <= 8 or (end - start == 9 and load8(data, start + 1) == DOT)
    if few:
        ten = first == ONE_DIGIT and load8(data, start + 1) == ZERO and load8(data, start + 2) == DOT
        same = end - start == 7
        for i in range(start, end, 2):
            same = same and load8(data, i) == first
        few = not ten and not same
    link = start
    while link > lo and start - link < 3 and byte_is(data, link - 1, LINKS):
        link -= 1
    word_start = link
    while word_start > lo and link - word_start < 9 and byte_is(data, word_start - 1, LETTER):
        word_start -= 1
    if word_start == link:
        return few
    return (
        not _is_among(data, word_start, link, _HOST_WORDS) if few else _is_among(data, word_start, link, _VERSION_WORDS)
    )


def is_ipv6(candidate: str) -> bool:
    try:
        return ip_address(candidate).version == 6
    except ValueError:
        return False


_SHORT = re.compile(r"([0-9]{4})::([0-9]{0,4})|([A-Fa-f]{4})::[A-Fa-f]{0,4}")
_YEAR = re.compile("(?:19|20)[0-9][0-9]")
_DATE_BEFORE = re.compile(
    r"(?:[0-9][.,/-]?|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?,?)[ \t]{1,2}$", re.IGNORECASE
)
_SAID = re.compile(
    rf"(?:\b(?:from|via|at|network|net|prefix|range|{'|'.join(HOST_WORDS)})[ \t:=]{{1,3}}[\"'`(\[]?|[\"'`\[=@])$",
    re.IGNORECASE,
)
IPV6_CONTEXT = 24  # bytes before an address in which a word says what it is


def is_meant(candidate: str, before: str, after: str) -> bool:
    """Whether an IPv6 address of two groups at most is one, and no year or name before an operator.

    before    at least IPV6_CONTEXT characters, if there are as many
    after     at least two

    With digits and letters in it, it is; so it is with the length of a prefix. Without, it must be of a network in use,
    and may not follow a date; and what may be only a year follows a word that says so, a quote or a bracket.

    >>> is_meant("2001::7", "see ", ""), is_meant("2001::", "in ", ""), is_meant("2001::", "route ", "")
    (True, False, True)
    """
    short = _SHORT.fullmatch(candidate)
    if short is None or (after[:1] == "/" and after[1:2].isdecimal()):
        return True
    group = int(short[1] or short[3], 16)
    if not (0x2000 <= group < 0x4000 or 0xFC00 <= group < 0xFEC0 or group >= 0xFF00 or group in (0x64, 0x100)):
        return False
    if short[1] and (not short[2] or (_YEAR.fullmatch(short[1]) and _YEAR.fullmatch(short[2]))):
        return _SAID.search(before) is not None
    return not short[1] or _DATE_BEFORE.search(before) is None
