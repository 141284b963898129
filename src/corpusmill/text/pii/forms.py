"""What a search for personal data takes as a form of its kinds, beyond the plain one, and decides with its context."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from corpusmill.text.array_types import Bools, Bytes, Int64s
from corpusmill.text.buffers import TextBuffer
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import borrowed, load8, load32
from corpusmill.text.pii import mail, phones
from corpusmill.text.pii.addresses import is_ipv6
from corpusmill.text.pii.byte_classes import ALNUMS, DIGIT, byte_is
from corpusmill.text.pii.national import CONTEXT

Span = tuple[int, int, int, int]  # document, kind, first byte, end
# How the words of every header begin in which `mail.is_message_id` sees names of messages: Message-ID, References,
# In-Reply-To, Supersedes, Article. The first four bytes, in lower case.
_HEADERS = np.array(
    [int.from_bytes(word, "little") for word in (b"mess", b"refe", b"in-r", b"supe", b"arti")], np.uint32
)
_LOWER, _LESS, _GREATER, _LINE, _AT = np.uint32(0x20202020), *b"<>\n@"
NEITHER = np.uint16(0)  # of the classes of bytes
FORM_WINDOW = 320  # bytes around a place that are decoded: words of context, and the longest address

# `::1` with what may stand around it: not in `std::1`, nor in a slice (`x[::1]`). "::" alone only between quotes, with
# a prefix length, or as a whole text: it is an operator and the mark of a list, too.
_SHORT_IPV6 = re.compile(
    r"(?<![\w:.\])])(?<!\w\[)(?<!\)\[)(?<!\]\[)"
    r"(?:::1(?![\w:.])|::(?:ffff:)?\d{1,3}(?:\.\d{1,3}){3}(?![\w.])|::(?=/\d)|(?:(?<=[\"'`\[])|^)::(?=[\"'`\]]|$))",
    re.IGNORECASE,
)


_DOMAIN = re.compile(rb"[\w\x80-\xff-]+\.[\w\x80-\xff]")  # what every address has behind its "@"


class RegionForms(Protocol):
    def __getitem__(self, document: int, /) -> Sequence[str]: ...


class Forms(NamedTuple):
    """Forms of kinds that are found on request; the default finds none of them.

    mail        e-mail addresses in all forms of `pii.mail`, and no Message-IDs
    loopback    `::1`, `::` and IPv4 in the form of IPv6, which have no first group of four digits
    national    telephone numbers without a calling code
    networks    IP addresses with the length of a network's prefix, a zone, and IPv4 at the end of IPv6 (`networks`)
    regions     for each document the countries (two capitals) whose telephone numbers it may have; () for all
    """

    mail: bool = False
    loopback: bool = False
    national: bool = False
    regions: RegionForms | None = None
    networks: bool = False


# Sorts of places that the scan proposes; the others are numbers (start, end) or stops (start, start + 1).
AT, DISGUISED, SHORT_IPV6, NATIONAL = range(4)


def decided(text: TextBuffer, places: Int64s, kinds: tuple[int, int, int], forms: Forms) -> Int64s:
    """The spans at these places.

    places    (places, 4) int64: document, sort, first byte, end
    kinds     of e-mail, IPv6, telephone
    returns   (spans, 4) int64: document, kind, first byte, end; in order, without overlap: the first counts, and of
              those that begin together the longest
    """
    email, ipv6, phone = kinds
    data = text.data.data
    spans: set[Span] = set()
    for document, sort, start, end in places.tolist():
        lo, hi = int(text.offsets[document]), int(text.offsets[document + 1])
        if sort == AT and not _DOMAIN.match(data, lo + end, hi):
            continue
        around = 4 * CONTEXT if sort == NATIONAL else FORM_WINDOW
        window, first, position, stop = _window(text.data, lo, hi, lo + start, lo + end, around)
        matches: list[tuple[int, int]] = []
        kind = email
        if sort == AT:
            matches = [] if mail.is_password(window, position) else mail.addresses_at(window, position)
        elif sort == DISGUISED:
            matches = mail.disguised_near(window, position)
        elif sort == SHORT_IPV6:
            kind = ipv6
            matches = [m.span()] if (m := _SHORT_IPV6.match(window, position)) and is_ipv6(m[0]) else []
        else:
            kind = phone
            regions = forms.regions[document] if forms.regions is not None else ()
            if last := phones.phone_at(window, position, stop, regions):
                matches = [(position, last)]
        for a, b in matches:
            begin = first - lo + _bytes(window[:a])
            spans.add((document, kind, begin, begin + _bytes(window[a:b])))
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], span[2], -span[3])):
        if not chosen or chosen[-1][0] != span[0] or chosen[-1][3] <= span[2]:
            chosen.append(span)
    return np.array(chosen, np.int64).reshape(-1, 4)


def without_message_ids(text: TextBuffer, spans: Int64s, kind: int) -> Int64s:
    """The spans without those of this kind that are names of messages."""
    keep = np.ones(len(spans), bool)
    likely = np.zeros(len(spans), bool)
    _may_name_messages(text, spans, kind, likely)
    data = text.data.data
    rows = np.flatnonzero(likely)
    documents, _, starts, ends = spans[rows].T
    floors, stops = text.offsets[documents], text.offsets[documents + 1]
    places = np.stack([rows, floors, floors + starts, floors + ends, stops], axis=1)
    for i, lo, start, end, hi in places.tolist():
        first = max(lo, start - FORM_WINDOW)
        while first > lo and data[first] & 0xC0 == 0x80:
            first -= 1
        # The line up to the address, the address, and one byte: all that is looked at.
        before = bytes(data[first:start])
        line = before[before.rfind(b"\n") + 1 :].decode("utf-8", "surrogateescape")
        address = bytes(data[start:end]).decode("utf-8", "surrogateescape")
        following = ">" if end < hi and data[end] == _GREATER else " "
        keep[i] = not mail.is_message_id(line + address + following, len(line), len(line) + len(address))
    return spans[keep]


@kernel
def _may_name_messages(text: TextBuffer, spans: Int64s, kind: int, likely: Bools) -> Any:
    """Mark the spans of this kind whose line is worth decoding: few addresses are between "<" and ">" and look as if a
    program had made them, or have a word of those headers, or one beyond ASCII, before them in their line."""
    data = borrowed(text.data)
    for i in range(len(spans)):
        if spans[i, 1] != kind:
            continue
        lo, hi = text.offsets[spans[i, 0]], text.offsets[spans[i, 0] + 1]
        start, end = lo + spans[i, 2], lo + spans[i, 3]
        suspect = start > lo and end < hi and load8(data, start - 1) == _LESS and load8(data, end) == _GREATER
        suspect = suspect and _looks_made(data, start, end)
        at = start
        while not suspect and at > lo and start - at < FORM_WINDOW and load8(data, at - 1) != _LINE:
            at -= 1
            suspect = load8(data, at) >= 0x80
            four = load32(data, at) | _LOWER
            for head in _HEADERS:
                suspect |= four == head
        likely[i] = suspect
    return 0


@inlined
def _looks_made(data: Bytes, start: int, end: int) -> bool:
    """Whether letters and digits change three times before the "@", or six digits are there, or what is not ASCII."""
    changes = digits = 0
    before = NEITHER
    for i in range(start, end):
        byte = load8(data, i)
        if byte >= 0x80:
            return True
        if byte == _AT:
            break
        sort = DIGIT if byte_is(data, i, DIGIT) else ALNUMS if byte_is(data, i, ALNUMS) else NEITHER
        if sort != NEITHER:
            changes += before != NEITHER and sort != before  # noqa: PLR1714 - numba knows no `in` over numbers here
            digits += sort == DIGIT
            before = sort
    return changes >= 3 or digits >= 6


def _window(
    data: Bytes, lo: int, hi: int, start: int, end: int, around: int = FORM_WINDOW
) -> tuple[str, int, int, int]:
    """(text with so many bytes around, its first byte, where data[start:end] begins and ends in it, in characters)."""
    first, last = max(lo, start - around), min(hi, end + around)
    while first > lo and data[first] & 0xC0 == 0x80:
        first -= 1
    while last < hi and data[last] & 0xC0 == 0x80:
        last += 1
    raw = data[first:last].tobytes()
    if raw.isascii():
        return raw.decode("ascii"), first, start - first, end - first
    cuts = (raw[: start - first], raw[start - first : end - first], raw[end - first :])
    before, own, after = (part.decode("utf-8", "surrogateescape") for part in cuts)
    return before + own + after, first, len(before), len(before) + len(own)


def _bytes(text: str) -> int:
    """How many bytes a text has."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))
