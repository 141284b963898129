"""Finds all kinds of personal data in one pass over the text, which calls the matchers only at possible positions."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.buffers import Text, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, U, load8, lowest_bit, moved_up
from corpusmill.text.pii.addresses import email, ipv4, ipv6, is_ipv6, is_version, mac
from corpusmill.text.pii.byte_classes import (
    AT,
    BLANK,
    CLOSE,
    COLON,
    DASH,
    DOT,
    DOTS,
    JOINERS,
    LETTER,
    OPEN,
    PLUS,
    ZERO,
    byte_is,
    stands_alone,
    word_at,
    word_before,
)
from corpusmill.text.pii.numbers import card, extension, iban, is_continued, phone, ssn
from corpusmill.text.pii.postal import address_spans
from corpusmill.text.secrets import FAMILIES, merged, secrets_in
from corpusmill.text.spans import below
from corpusmill.text.unicode import Classes, classes

KINDS = ("email", "ipv4", "ipv6", "phone", "ssn", "card", "iban", "mac", *FAMILIES, "address")
EMAIL, IPV4, IPV6, PHONE, SSN, CARD, IBAN, MAC = range(8)
ADDRESS = len(KINDS) - 1

_stops = simd.masks(simd.ascii_digit, simd.equal("@"), simd.equal(":"), simd.equal("-"))


def pii_spans(texts: pa.LargeStringArray, kinds: Iterable[str] = KINDS) -> NDArray[np.int64]:
    """The spans of personal data of these kinds.

    returns   (spans, 4) int64: document, kind (an index of KINDS), first byte and end, counted in bytes from the
              beginning of the document; in order, without overlap

    Raises ValueError for a kind that is not in KINDS. Private and reserved addresses are spans, too.
    """
    wanted = 0
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f'"{kind}" is not a kind of personal data; there are {", ".join(KINDS)}')
        wanted |= 1 << KINDS.index(kind)
    text = view(texts)
    spans = _pattern_spans(text, wanted) if wanted & (1 << MAC + 1) - 1 else np.empty((0, 4), np.int64)
    if families := tuple(family for family in FAMILIES if wanted >> KINDS.index(family) & 1):
        secrets = secrets_in(text, families)
        secrets[:, 1] += KINDS.index(FAMILIES[0])
        spans = merged(spans, secrets)
    if wanted >> ADDRESS & 1:
        addresses = np.insert(address_spans(text), 1, ADDRESS, axis=1)
        spans = merged(addresses, spans)
    return spans


def _pattern_spans(text: Text, wanted: int) -> NDArray[np.int64]:
    """The spans of all kinds but secrets and postal addresses."""
    spans = np.empty((64 + (int(text.offsets[-1] - text.offsets[0]) >> 9), 4), np.int64)
    while (count := _find_all(text, wanted, classes(), spans)) < 0:
        spans = np.empty((2 * len(spans), 4), np.int64)
    spans = spans[:count]
    keep = np.ones(len(spans), bool)
    for i in np.flatnonzero(spans[:, 1] == IPV6):
        base = text.offsets[spans[i, 0]]
        keep[i] = is_ipv6(text.data[base + spans[i, 2] : base + spans[i, 3]].tobytes().decode("ascii"))
    return spans[keep]


@kernel
def _find_all(text: Text, wanted: int, classes: Classes, spans: NDArray[np.int64]) -> Any:
    """Write the spans of all documents; returns how many there are, -1 if there is not enough room."""
    n: Any = np.int64(0)  # a literal 0 is another type, for which `_find` would be compiled again
    for d in range(len(text.offsets) - 1):
        n = _find(text.data, text.offsets[d], text.offsets[d + 1], d, wanted, classes, spans, n)
        if n < 0:
            return n
    return n


@kernel
def _find(
    data: NDArray[np.uint8],
    lo: int,
    hi: int,
    document: int,
    wanted: int,
    classes: Classes,
    spans: NDArray[np.int64],
    n: int,
) -> int:
    """Append the spans of one document after the first n; returns the new count, -1 if there is not enough room."""
    first = n
    done = mail_done = lo  # no match, and no e-mail address, begins before these
    digit_before = colons_before = colon_pairs_before = dashes_before = dash_pairs_before = NO_BITS
    for block in range(lo, hi, 64):
        digits, ats, colons, dashes = _stops(data, block)
        valid = below(min(hi - block, 64))
        digits &= valid
        # Two separators, three apart; then four of them; then five.
        colon_pairs = colons & moved_up(colons, colons_before, 3)
        dash_pairs = dashes & moved_up(dashes, dashes_before, 3)
        macs = colon_pairs & moved_up(colon_pairs, colon_pairs_before, 6) & moved_up(colons, colons_before, 12)
        macs |= dash_pairs & moved_up(dash_pairs, dash_pairs_before, 6) & moved_up(dashes, dashes_before, 12)
        stops = (digits & ~((digits << ONE) | digit_before)) | ((ats | colons | macs) & valid)
        digit_before = digits >> U(63)
        colons_before, colon_pairs_before, dashes_before, dash_pairs_before = colons, colon_pairs, dashes, dash_pairs
        while stops != NO_BITS:
            bit = lowest_bit(stops)
            at = block + bit
            stops &= stops - ONE
            byte = load8(data, at)
            if byte == AT:
                if not wanted & (1 << EMAIL):
                    continue
                kind = EMAIL
                start, end = email(data, lo, mail_done, at, hi, classes)
                mail_done = max(mail_done, end)
            elif at < done:
                continue
            elif byte in (COLON, DASH):
                kind = MAC
                start = end = 0
                if wanted & (1 << MAC) and (macs >> U(bit)) & ONE:
                    start, end = mac(data, max(lo, done), at, hi, classes)
                if end == 0 and byte == COLON and wanted & (1 << IPV6):
                    kind = IPV6
                    start, end = ipv6(data, lo, at, hi, classes)
            else:
                # The digits from here on; at the end of the block the run may continue.
                run = lowest_bit(~(digits >> U(bit)))
                if bit + run < 64 and not _may_begin(data, lo, at, run, hi):
                    continue
                kind, start, end = _number(data, lo, done, at, hi, wanted, classes)
            if end == 0:
                continue
            while n > first and spans[n - 1, 3] > start - lo:
                n -= 1  # a number in the local part of the e-mail address
            if n == len(spans):
                return -1
            spans[n, 0], spans[n, 1], spans[n, 2], spans[n, 3] = document, kind, start - lo, end - lo
            n += 1
            done = max(done, end)
    return n


@inlined
def _may_begin(data: NDArray[np.uint8], lo: int, at: int, run: int, hi: int) -> bool:
    """Whether a run of so many digits can begin a match of `_number`; a year or a price cannot."""
    if run >= 12 or at + run + 2 > hi:
        return run >= 8
    following = load8(data, at + run)
    if following in (DOT, DASH, BLANK):
        following = load8(data, at + run + 1)
        if ZERO <= following <= ZERO + 9 or following == OPEN:
            return True
    elif following in (OPEN, CLOSE):
        return True
    return at > lo and (load8(data, at - 1) == PLUS or byte_is(data, at - 1, LETTER))


@kernel
def _number(data: NDArray[np.uint8], lo: int, done: int, at: int, hi: int, wanted: int, classes: Classes) -> Any:
    """(kind, start, end) of the match that begins at, or just before, the run of digits at `at`; end 0 if there is
    none.

    done   the end of the last span
    """
    if wanted & (1 << IPV4):
        end = ipv4(data, at, hi)
        if end > 0 and stands_alone(data, lo, at, end, hi, DOTS, classes) and not is_version(data, lo, at, end):
            return IPV4, at, end
    if wanted & (1 << PHONE):
        start, end = phone(data, lo, at, hi)
        extended = extension(data, end, hi) if end > 0 else 0
        if extended > 0 and stands_alone(data, lo, start, extended, hi, JOINERS, classes):
            return PHONE, start, extended
        if end > 0 and stands_alone(data, lo, start, end, hi, JOINERS, classes):
            return PHONE, start, end
    if wanted & (1 << SSN):
        end = ssn(data, at, hi)
        if end > 0 and stands_alone(data, lo, at, end, hi, JOINERS, classes):
            return SSN, at, end
    if wanted & (1 << CARD):
        end = card(data, at, hi)
        if (
            end > 0
            and stands_alone(data, lo, at, end, hi, JOINERS, classes)
            and not is_continued(data, lo, done, at, end, classes)
        ):
            return CARD, at, end
    if wanted & (1 << IBAN) and at - 2 >= lo:
        end = iban(data, at - 2, hi)
        if end > 0 and not word_before(data, lo, at - 2, classes) and not word_at(data, end, hi, classes):
            return IBAN, at - 2, end
    return 0, 0, 0


def warm_up() -> None:
    pii_spans(pa.array(["a@b.org 192.0.2.1 2001:db8::1 +1 555 555 5555"], pa.large_string()), KINDS[: MAC + 1])
