"""Finds all kinds of personal data in one pass over the text, which calls the matchers only at possible positions."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, NO_BITS, ONE, U, borrowed, load8, load32, lowest_bit, moved_up
from corpusmill.text.pii import networks
from corpusmill.text.pii.addresses import (
    IPV6_CONTEXT,
    dotted_mac,
    email,
    ipv4,
    ipv6,
    is_ipv6,
    is_meant,
    is_version,
    mac,
)
from corpusmill.text.pii.byte_classes import (
    ALNUMS,
    AT,
    BLANK,
    CLOSE,
    COLON,
    DASH,
    DIGIT,
    DOT,
    DOTS,
    HEX,
    JOINERS,
    LABEL,
    LETTER,
    LOCAL,
    MAC_MARKS,
    OPEN,
    PHONE_JOINERS,
    PLUS,
    UNDERSCORE,
    ZERO,
    byte_is,
    stands_alone,
    word_at,
    word_before,
)
from corpusmill.text.pii.forms import AT as FORM_AT
from corpusmill.text.pii.forms import DISGUISED, Forms, decided, without_message_ids
from corpusmill.text.pii.forms import NATIONAL as FORM_PHONE
from corpusmill.text.pii.forms import SHORT_IPV6 as FORM_IPV6
from corpusmill.text.pii.national import MAX_DIGITS, MIN_DIGITS, SLASH, national
from corpusmill.text.pii.numbers import card, extension, iban, is_continued, is_series, phone, ssn
from corpusmill.text.pii.postal import address_spans
from corpusmill.text.secrets import FAMILIES, merged, secrets_in
from corpusmill.text.spans import below
from corpusmill.text.unicode import Classes, borrowed_classes, classes

KINDS = ("email", "ipv4", "ipv6", "phone", "ssn", "card", "iban", "mac", *FAMILIES, "address")
EMAIL, IPV4, IPV6, PHONE, SSN, CARD, IBAN, MAC = range(8)
ADDRESS = len(KINDS) - 1
AMPERSAND, T, A, F, QUOTE, APOSTROPHE, TICK, CLOSE_SQUARE = b"&taf\"'`]"
OPENERS, CLOSERS = (40, 91, 123, 60), (41, 93, 125, 62)  # ([{< and )]}>
ENTITY_NUMBER, ENTITY_ZERO, ENTITY_HEX, ENTITY_HEX_2, ENTITY_NAME = (
    np.uint32(int.from_bytes(word, "little")) for word in (b"#64;", b"#064", b"#x40", b"#X40", b"comm")
)

ANY_MAIL, LOOPBACK, ANY_PHONE = 1 << 16, 1 << 17, 1 << 18  # bits of the mask: Forms
PLAIN = Forms()

_stops = simd.masks(
    simd.ascii_digit,
    simd.either(simd.equal("@"), simd.equal("&")),
    simd.equal(":"),
    simd.equal("-"),
    simd.equal("."),
    simd.letter("t"),
    simd.either(simd.equal(")"), simd.brace_or_bracket),
    simd.letter("o"),
    simd.letter("d"),
)


def pii_spans(texts: pa.LargeStringArray, kinds: Iterable[str] = KINDS, forms: Forms = PLAIN) -> Int64s:
    """The spans of personal data of these kinds, and of these forms of theirs.

    returns   (spans, 4) int64: document, kind (an index of KINDS), first byte and end, counted in bytes from the
              beginning of the document; in order, without overlap

    Raises ValueError for a kind that is not in KINDS. Private and reserved addresses are spans, too.
    """
    mask = 0
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f'"{kind}" is not a kind of personal data; there are {", ".join(KINDS)}')
        mask |= 1 << KINDS.index(kind)
    text = view(texts)
    mask |= ANY_MAIL * (forms.mail and bool(mask & 1 << EMAIL))
    mask |= LOOPBACK * (forms.loopback and bool(mask & 1 << IPV6))
    mask |= ANY_PHONE * (forms.national and bool(mask & 1 << PHONE))
    spans = _pattern_spans(text, mask, forms) if mask & (1 << MAC + 1) - 1 else np.empty((0, 4), np.int64)
    if families := tuple(family for family in FAMILIES if mask >> KINDS.index(family) & 1):
        secrets = secrets_in(text, families)
        secrets[:, 1] += KINDS.index(FAMILIES[0])
        spans = merged(spans, secrets)
    if mask >> ADDRESS & 1:
        addresses = np.insert(address_spans(text), 1, ADDRESS, axis=1)
        spans = merged(addresses, spans)
    return spans


def _pattern_spans(text: TextBuffer, mask: int, forms: Forms) -> Int64s:
    """The spans of all kinds but secrets and postal addresses."""
    capacity = 64 + (int(text.offsets[-1] - text.offsets[0]) >> 7)
    spans, places = np.empty((capacity, 4), np.int64), np.empty((capacity, 4), np.int64)
    count = places_count = -1
    while count < 0:
        count, places_count = _find_all(text, mask, classes(), spans, places)
        if count < 0:
            spans, places = np.empty((2 * len(spans), 4), np.int64), np.empty((2 * len(places), 4), np.int64)
    spans = spans[:count]
    keep = np.ones(len(spans), bool)
    for i in np.flatnonzero(spans[:, 1] == IPV6):
        base, hi = text.offsets[spans[i, 0] : spans[i, 0] + 2]
        start, end = base + spans[i, 2], base + spans[i, 3]
        candidate = text.data[start:end].tobytes().decode("ascii")
        before = text.data[max(base, start - IPV6_CONTEXT) : start].tobytes().decode("latin-1")
        after = text.data[end : min(hi, end + 2)].tobytes().decode("latin-1")
        keep[i] = is_ipv6(candidate) and is_meant(candidate, before, after)
    spans = spans[keep]
    if places_count:
        spans = _with_forms(text, spans, decided(text, places[:places_count], (EMAIL, IPV6, PHONE), forms))
    if forms.networks and mask & 1 << IPV4 and mask & 1 << IPV6:
        spans = networks.extend_addresses(text, spans, IPV4, IPV6)
    return without_message_ids(text, spans, EMAIL) if mask & ANY_MAIL else spans


def _with_forms(text: TextBuffer, spans: Int64s, form_spans: Int64s) -> Int64s:
    """Both: e-mail addresses and IPv6 before the spans that they overlap, telephone numbers after them."""
    national = form_spans[:, 1] == PHONE
    return merged(form_spans[national], merged(spans, form_spans[~national]))


@kernel
def _find_all(text: TextBuffer, mask: int, classes: Classes, spans: Int64s, places: Int64s) -> tuple[int, int]:
    """Write the spans of all documents, and the places where other forms may be; returns how many there are of each,
    -1 if there is not enough room for either."""
    n: Any = np.int64(0)  # a literal 0 is another type, for which `_find` would be compiled again
    m: Any = np.int64(0)
    for d in range(len(text.offsets) - 1):
        n, m = _find(text.data, text.offsets[d], text.offsets[d + 1], d, mask, classes, spans, n, places, m)
        if n < 0:
            return n, m
    return n, m


@kernel
def _find(
    data: Bytes,
    lo: int,
    hi: int,
    document: int,
    mask: int,
    classes: Classes,
    spans: Int64s,
    n: int,
    places: Int64s,
    m: int,
) -> tuple[int, int]:
    """Append the spans of one document after the first n, and places after the first m; returns the new counts, the
    first -1 if there is not enough room."""
    data, classes = borrowed(data), borrowed_classes(classes)
    spans, places = borrowed(spans), borrowed(places)
    first = n
    claimed = mail_claimed = lo  # no match, and no e-mail address, begins before these
    digit_before = colons_before = colon_pairs_before = dashes_before = dash_pairs_before = NO_BITS
    dots_before = ts_before = os_before = ds_before = NO_BITS
    forms = ALL_BITS if mask & ANY_MAIL else NO_BITS
    for block in range(lo, hi, 64):
        digits, ats, colons, dashes, dots, ts, closers, os, ds = _stops(data, block)
        valid = below(min(hi - block, 64))
        digits &= valid
        # Two separators, three apart; then four of them; then five. Two dots, five apart.
        colon_pairs = colons & moved_up(colons, colons_before, 3)
        dash_pairs = dashes & moved_up(dashes, dashes_before, 3)
        macs = colon_pairs & moved_up(colon_pairs, colon_pairs_before, 6) & moved_up(colons, colons_before, 12)
        macs |= dash_pairs & moved_up(dash_pairs, dash_pairs_before, 6) & moved_up(dashes, dashes_before, 12)
        macs |= dots & moved_up(dots, dots_before, 5)
        # "at" before a bracket, and "dot".
        spelled = closers & moved_up(ts, ts_before, 1) | (ts & moved_up(os, os_before, 1) & moved_up(ds, ds_before, 2))
        stops = (digits & ~((digits << ONE) | digit_before)) | ((ats | colons | macs | spelled & forms) & valid)
        digit_before = digits >> U(63)
        colons_before, colon_pairs_before, dashes_before, dash_pairs_before = colons, colon_pairs, dashes, dash_pairs
        dots_before, ts_before, os_before, ds_before = dots, ts, os, ds
        while stops != NO_BITS:
            bit = lowest_bit(stops)
            at = block + bit
            stops &= stops - ONE
            byte = load8(data, at)
            if m == len(places):
                return -1, m
            if byte == AT:
                if not mask & (1 << EMAIL):
                    continue
                kind = EMAIL
                start, end = email(data, lo, mail_claimed, at, hi, classes)
                if mask & ANY_MAIL and _goes_on(data, lo, start, end, at, hi):
                    m = _add_place(places, m, document, FORM_AT, at - lo, at + 1 - lo)
                mail_claimed = max(mail_claimed, end)
            elif byte == AMPERSAND or not (byte_is(data, at, DIGIT) or byte_is(data, at, MAC_MARKS)):
                if mask & ANY_MAIL and _may_be_at(data, lo, at, hi):
                    m = _add_place(places, m, document, DISGUISED, at - lo, at + 1 - lo)
                continue
            elif at < claimed:
                continue
            elif not byte_is(data, at, DIGIT):
                kind = MAC
                start = end = 0
                if mask & (1 << MAC) and (macs >> U(bit)) & ONE:
                    if byte == DOT:
                        start, end = dotted_mac(data, max(lo, claimed), at, hi, classes)
                    else:
                        start, end = mac(data, max(lo, claimed), at, hi, classes)
                if end == 0 and byte == COLON and mask & (1 << IPV6):
                    if at - 4 >= lo and byte_is(data, at - 4, HEX):
                        kind = IPV6
                        start, end = ipv6(data, lo, at, hi, classes)
                    if end == 0 and (
                        mask & LOOPBACK
                        and at + 1 < hi
                        and load8(data, at + 1) == COLON
                        and _may_be_loopback(data, lo, at, hi)
                    ):
                        m = _add_place(places, m, document, FORM_IPV6, at - lo, at + 2 - lo)
            else:
                # The digits from here on; at the end of the block the run may continue.
                run = lowest_bit(~(digits >> U(bit)))
                if bit + run < 64 and not _may_begin(data, lo, at, run, hi):
                    kind, start, end = PHONE, 0, 0
                    long_enough = MIN_DIGITS <= run <= MAX_DIGITS or (
                        load8(data, at + run) == SLASH and load8(data, at) == ZERO
                    )
                    if not (mask & ANY_PHONE and long_enough):
                        continue
                else:
                    kind, start, end = _number(data, lo, claimed, at, hi, mask, classes)
                if end == 0 and mask & ANY_PHONE:
                    begin, stop = national(data, lo, at, hi, classes)
                    if stop > 0:
                        m = _add_place(places, m, document, FORM_PHONE, begin - lo, stop - lo)
            if end == 0:
                continue
            while n > first and spans[n - 1, 3] > start - lo:
                n -= 1  # a number in the local part of the e-mail address
            if n == len(spans):
                return -1, m
            spans[n, 0], spans[n, 1], spans[n, 2], spans[n, 3] = document, kind, start - lo, end - lo
            n += 1
            claimed = max(claimed, end)
    return n, m


@inlined
def _add_place(places: Int64s, m: int, document: int, sort: int, start: int, end: int) -> int:
    places[m, 0], places[m, 1], places[m, 2], places[m, 3] = document, sort, start, end
    return m + 1


@kernel
def _goes_on(data: Bytes, lo: int, start: int, end: int, at: int, hi: int) -> bool:
    """Whether the address from `start` to `end` (0: none) around the "@" at `at` may be a part of one with characters
    beyond ASCII, or with a quoted local part."""
    if end > 0:
        return (start > lo and load8(data, start - 1) >= 0x80) or (end < hi and load8(data, end) >= 0x80)
    if at == lo or at + 3 >= hi:
        return False
    before, after = load8(data, at - 1), load8(data, at + 1)
    if not (after >= 0x80 or byte_is(data, at + 1, ALNUMS)):
        return False
    if before >= 0x80 or before == QUOTE:
        return True
    i = at
    while i > lo and (byte_is(data, i - 1, LOCAL) or load8(data, i - 1) == DOT):
        i -= 1
    if i == at:
        return False
    if i > lo and load8(data, i - 1) >= 0x80:
        return True
    i = at + 1
    while i < hi and byte_is(data, i, LABEL):
        i += 1
    return i < hi and load8(data, i) >= 0x80


@inlined
def _may_be_loopback(data: Bytes, lo: int, at: int, hi: int) -> bool:
    """Whether "::" at `at` has nothing before it that makes it an operator, and something after it that may be an
    address, or the end of one."""
    if at > lo and (byte_is(data, at - 1, ALNUMS) or load8(data, at - 1) in (UNDERSCORE, COLON, DOT, CLOSE)):
        return False
    if at + 2 >= hi:
        return True
    following = load8(data, at + 2)
    return (
        byte_is(data, at + 2, DIGIT)
        or following in (SLASH, QUOTE, APOSTROPHE, TICK, CLOSE_SQUARE)
        or following | 0x20 == F
    )


@inlined
def _may_be_at(data: Bytes, lo: int, at: int, hi: int) -> bool:
    """Whether "&" begins an entity of "@", or the bracket after "at" has another before it, or "dot" is a word."""
    byte = load8(data, at)
    if byte == AMPERSAND:
        if at + 5 >= hi:
            return False
        word = load32(data, at + 1)
        return word in (ENTITY_NUMBER, ENTITY_ZERO, ENTITY_HEX, ENTITY_HEX_2, ENTITY_NAME)
    if byte | 0x20 == T:
        before, after = load8(data, at - 3) if at - 3 > lo else A, load8(data, at + 1) if at + 1 < hi else A
        return (before <= BLANK or before in OPENERS) and (after <= BLANK or after in CLOSERS)
    if at - 3 < lo or load8(data, at - 2) | 0x20 != A:
        return False
    before = at - 3 - (load8(data, at - 3) == BLANK)
    return before >= lo and load8(data, before) in OPENERS


@inlined
def _may_begin(data: Bytes, lo: int, at: int, run: int, hi: int) -> bool:
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
    if at == lo:
        return False
    # After a letter only an IBAN begins, with a country's two letters and two digits.
    iban = run >= 2 and at - 2 >= lo and byte_is(data, at - 1, LETTER) and byte_is(data, at - 2, LETTER)
    return load8(data, at - 1) == PLUS or (iban and (at - 2 == lo or not byte_is(data, at - 3, ALNUMS)))


@kernel
def _number(data: Bytes, lo: int, claimed: int, at: int, hi: int, mask: int, classes: Classes) -> Any:
    """(kind, start, end) of the match that begins at, or just before, the run of digits at `at`; end 0 if there is
    none.

    claimed   the end of the last span
    """
    if mask & (1 << IPV4):
        end = ipv4(data, at, hi)
        if end > 0 and stands_alone(data, lo, at, end, hi, DOTS, classes) and not is_version(data, lo, at, end):
            return IPV4, at, end
    if mask & (1 << PHONE):
        start, end = phone(data, lo, at, hi)
        extended = extension(data, end, hi) if end > 0 else 0
        if extended > 0 and stands_alone(data, lo, start, extended, hi, JOINERS, classes):
            return PHONE, start, extended
        if end > 0 and stands_alone(data, lo, start, end, hi, JOINERS, classes):
            return PHONE, start, end
    if mask & (1 << SSN):
        end = ssn(data, at, hi)
        # With dots or blanks in it, there is no further group.
        joiners = JOINERS if end > 0 and load8(data, at + 3) == DASH else PHONE_JOINERS
        if end > 0 and stands_alone(data, lo, at, end, hi, joiners, classes):
            return SSN, at, end
    if mask & (1 << CARD):
        end = card(data, at, hi)
        if (
            end > 0
            and stands_alone(data, lo, at, end, hi, JOINERS, classes)
            and not is_continued(data, lo, claimed, at, end, classes)
            and not is_series(data, lo, at, end, hi)
        ):
            return CARD, at, end
    if mask & (1 << IBAN) and at - 2 >= lo:
        end = iban(data, at - 2, hi)
        if end > 0 and not word_before(data, lo, at - 2, classes) and not word_at(data, end, hi, classes):
            return IBAN, at - 2, end
    return 0, 0, 0


def warm_up() -> None:
    pii_spans(pa.array(["a@b.org 192.0.2.1 2001:db8::1 +1 555 555 5555"], pa.large_string()), forms=Forms(mail=True))
