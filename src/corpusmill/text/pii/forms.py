"""What a search for personal data takes as a form of its kinds, beyond the plain one, and decides with its context."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.buffers import Text
from corpusmill.text.pii import mail, phones
from corpusmill.text.pii.addresses import is_ipv6

Span = tuple[int, int, int, int]  # document, kind, first byte, end
# Of every header in which `mail.is_message_id` sees names of messages.
_MESSAGE = re.compile(rb"message-?id|references|in-reply-to|supersedes|article", re.IGNORECASE)
WINDOW = 320  # bytes around a place that are decoded: words of context, and the longest address

# `::1` with what may stand around it: not in `std::1`, nor in a slice (`x[::1]`). "::" alone only between quotes, with
# a prefix length, or as a whole text: it is an operator and the mark of a list, too.
_SHORT_IPV6 = re.compile(
    r"(?<![\w:.\])])(?<!\w\[)(?<!\)\[)(?<!\]\[)"
    r"(?:::1(?![\w:.])|::(?:ffff:)?\d{1,3}(?:\.\d{1,3}){3}(?![\w.])|::(?=/\d)|(?:(?<=[\"'`\[])|^)::(?=[\"'`\]]|$))",
    re.IGNORECASE,
)


class Regions(Protocol):
    def __getitem__(self, document: int, /) -> Sequence[str]: ...


class Forms(NamedTuple):
    """Forms of kinds that are found on request; the default finds none of them.

    mail        e-mail addresses in all forms of `pii.mail`, and no Message-IDs
    loopback    `::1`, `::` and IPv4 in the form of IPv6, which have no first group of four digits
    national    telephone numbers without a calling code
    regions     for each document the countries (two capitals) whose telephone numbers it may have; () for all
    """

    mail: bool = False
    loopback: bool = False
    national: bool = False
    regions: Regions | None = None


# Sorts of places that the scan proposes; the others are numbers (start, end) or stops (start, start + 1).
AT, DISGUISED, SHORT_IPV6, NATIONAL = range(4)


def decided(text: Text, places: NDArray[np.int64], kinds: tuple[int, int, int], forms: Forms) -> NDArray[np.int64]:
    """The spans at these places.

    places    (places, 4) int64: document, sort, first byte, end
    kinds     of e-mail, IPv6, telephone
    returns   (spans, 4) int64: document, kind, first byte, end; in order, without overlap: the first counts, and of
              those that begin together the longest
    """
    email, ipv6, phone = kinds
    spans: set[Span] = set()
    for document, sort, start, end in places.tolist():
        lo, hi = int(text.offsets[document]), int(text.offsets[document + 1])
        window, first, near, stop = _window(text.data, lo, hi, lo + start, lo + end)
        found: list[tuple[int, int]] = []
        kind = email
        if sort == AT:
            found = mail.addresses_at(window, near)
        elif sort == DISGUISED:
            found = mail.disguised_near(window, near)
        elif sort == SHORT_IPV6:
            kind = ipv6
            found = [m.span()] if (m := _SHORT_IPV6.match(window, near)) and is_ipv6(m[0]) else []
        else:
            kind = phone
            regions = forms.regions[document] if forms.regions is not None else ()
            if last := phones.phone_at(window, near, stop, regions):
                found = [(near, last)]
        for a, b in found:
            begin = first - lo + len(window[:a].encode("utf-8", "surrogateescape"))
            spans.add((document, kind, begin, begin + len(window[a:b].encode("utf-8", "surrogateescape"))))
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], span[2], -span[3])):
        if not kept or kept[-1][0] != span[0] or kept[-1][3] <= span[2]:
            kept.append(span)
    return np.array(kept, np.int64).reshape(-1, 4)


def without_message_ids(text: Text, spans: NDArray[np.int64], kind: int) -> NDArray[np.int64]:
    """The spans without those of this kind that are names of messages."""
    keep = np.ones(len(spans), bool)
    whole = text.data.data
    for i in np.flatnonzero(spans[:, 1] == kind).tolist():
        document, _, start, end = spans[i].tolist()
        lo, hi = int(text.offsets[document]), int(text.offsets[document + 1])
        if not _may_be_message_id(whole, lo, lo + start, lo + end):
            continue
        window, _, near, stop = _window(text.data, lo, hi, lo + start, lo + end)
        keep[i] = not mail.is_message_id(window, near, stop)
    return spans[keep]


def _may_be_message_id(whole: memoryview, lo: int, start: int, end: int) -> bool:
    """Whether a window is worth decoding: few addresses are between "<" and ">", or have such a word before them."""
    if start > lo and bytes(whole[start - 1 : start]) == b"<" and bytes(whole[end : end + 1]) == b">":
        return True
    line = bytes(whole[max(lo, start - WINDOW) : start]).rpartition(b"\n")[2]
    return _MESSAGE.search(line) is not None or not line.isascii()


def _window(data: NDArray[np.uint8], lo: int, hi: int, start: int, end: int) -> tuple[str, int, int, int]:
    """(text around, its first byte, where data[start:end] begins and ends in it, in characters)."""
    first, last = max(lo, start - WINDOW), min(hi, end + WINDOW)
    while first > lo and data[first] & 0xC0 == 0x80:
        first -= 1
    while last < hi and data[last] & 0xC0 == 0x80:
        last += 1
    before, own, after = (
        data[a:b].tobytes().decode("utf-8", "surrogateescape") for a, b in ((first, start), (start, end), (end, last))
    )
    return before + own + after, first, len(before), len(before) + len(own)
