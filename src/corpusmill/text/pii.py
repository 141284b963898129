"""Where personal data stand in text: e-mail and IP addresses, telephone, social security, card and account numbers.

A walk over bit maps stops only at "@", at ":", and where a run of digits begins; small matchers look around from
there. What each kind is, as a regular expression (matched from left to right, ASCII; \\w is Python's):

    email   datatrove's expression without bracketed hosts: \\b{local}+(\\.{local}+)*@({label}\\.)+{label}, with local
            [A-Za-z0-9!#$%&'*+/=?^_`{|}~-] and label [A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?
    ipv4    four numbers 0 to 255 without leading zeros; 1.2.3.4.5 and OIDs are none
    ipv6    what `ipaddress` takes for one, in full or around "::"; no \\w and no ":" touches it. Around "::" the first
            group has four digits, so that slices ([1::2]) and C++ names (a::b) are none. A time is none.
    phone   \\+[1-9]([ .()-]{0,2}[0-9]){7,14}, or American: (1[ .-]?)?(\\([2-9]dd\\)[ .-]?|[2-9]dd[ .-])[2-9]dd[ .-]dddd
    ssn     ddd-dd-dddd, the first not 000, 666 or 9dd, the second not 00, the third not 0000
    card    13 to 19 digits with the prefix and length of a network, whole or in groups of three to six joined by
            one of " " and "-", that pass Luhn's check (ISO/IEC 7812)
    iban    country, check digits and account of the country's length, whole or in groups of four joined by a space,
            that pass the mod 97 check (ISO 13616); no \\w touches it

No \\w touches an ipv4, phone, ssn or card, no "+" stands before it, and no "." (nor, but for ipv4, a "-") joins it to
another digit. Where two overlap, the e-mail address stays, else the one that begins first, else the earlier in KINDS.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.buffers import Text, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, load8, lowest_bit
from corpusmill.text.spans import below
from corpusmill.text.unicode import ALNUM, Classes, class_of, classes, decode, last_class

KINDS = ("email", "ipv4", "ipv6", "phone", "ssn", "card", "iban")
EMAIL, IPV4, IPV6, PHONE, SSN, CARD, IBAN = range(len(KINDS))

# The special-purpose registries of IANA: addresses in these are nobody's.
_SPECIAL = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
2001::/23 2001:db8::/32 2002::/16 3fff::/20"""
NOT_PUBLIC = tuple(ip_network(network) for network in _SPECIAL.split())
GLOBAL_UNICAST = ip_network("2000::/3")  # all that is in use of IPv6

AT, COLON, DOT, DASH, PLUS, BLANK, OPEN, CLOSE, UNDERSCORE, ZERO, ONE_DIGIT = b"@:.-+ ()_01"
LONGEST_IPV6 = 45  # bytes

# Classes of an ASCII byte, as bits. Not plain integers: numba would compile a copy of `_is` for each.
LOCAL, LABEL, DIGIT, LETTER, HEX, CAPITAL, DOTS, DASHES, BLANKS, COLONS, BRACKETS = np.uint16(1) << np.arange(
    11, dtype=np.uint16
)
ALNUMS, JOINERS, COLON_DOTS, HEX_COLON_DOTS = LETTER | DIGIT, DOTS | DASHES, COLONS | DOTS, HEX | COLONS | DOTS
PHONE_JOINERS, PHONE_MARKS, ACCOUNT = JOINERS | BLANKS, JOINERS | BLANKS | BRACKETS, DIGIT | CAPITAL
_BYTES = np.zeros(256, np.uint16)
for _byte in range(128):
    _c = chr(_byte)
    _BYTES[_byte] = (
        LOCAL * (_c.isalnum() or _c in "!#$%&'*+/=?^_`{|}~-")
        | LABEL * (_c.isalnum() or _c == "-")
        | DIGIT * _c.isdigit()
        | LETTER * _c.isalpha()
        | HEX * (_c in "0123456789abcdefABCDEF")
        | CAPITAL * _c.isupper()
        | DOTS * (_c == ".")
        | DASHES * (_c == "-")
        | BLANKS * (_c == " ")
        | COLONS * (_c == ":")
        | BRACKETS * (_c in "()")
    )

# Characters of an account number by country, from the IBAN registry.
_REGISTRY = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"""
IBAN_SIZES = {entry[:2]: int(entry[2:]) for entry in _REGISTRY.split()}
_IBAN_SIZES = np.zeros((26, 26), np.uint8)
for _country, _size in IBAN_SIZES.items():
    _IBAN_SIZES[ord(_country[0]) - 65, ord(_country[1]) - 65] = _size

_stops = simd.masks(simd.ascii_digit, simd.equal("@"), simd.equal(":"))


def pii_spans(texts: pa.LargeStringArray, kinds: Iterable[str] = KINDS) -> NDArray[np.int64]:
    """Where personal data of these kinds stand.

    returns   (spans, 4) int64: document, kind (an index of KINDS), first byte and end, counted in bytes from the
              beginning of the document; in order, without overlap

    Raises ValueError for a kind that is not in KINDS. Addresses that are nobody's (private, reserved) are spans too;
    `is_public` tells them apart.
    """
    wanted = 0
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f'no kind of personal data is called "{kind}"; there are {", ".join(KINDS)}')
        wanted |= 1 << KINDS.index(kind)
    text = view(texts)
    spans = np.empty((64 + (int(text.offsets[-1] - text.offsets[0]) >> 9), 4), np.int64)
    while (found := _find_all(text, wanted, classes(), spans)) < 0:
        spans = np.empty((2 * len(spans), 4), np.int64)
    spans = spans[:found]
    keep = np.ones(len(spans), bool)
    for i in np.flatnonzero(spans[:, 1] == IPV6):
        base = text.offsets[spans[i, 0]]
        keep[i] = _is_ipv6(text.data[base + spans[i, 2] : base + spans[i, 3]].tobytes().decode("ascii"))
    return spans[keep]


def _is_ipv6(candidate: str) -> bool:
    if "::" in candidate and candidate.index(":") < 4:
        return False
    try:
        return ip_address(candidate).version == 6
    except ValueError:
        return False


@lru_cache(4096)
def is_public(address: str) -> bool:
    """Whether an IP address could be somebody's: not private, reserved, multicast or for documentation."""
    ip = ip_address(address)
    mapped = getattr(ip, "ipv4_mapped", None)
    if mapped is not None:
        return is_public(str(mapped))
    if ip.version == 6 and ip not in GLOBAL_UNICAST:
        return False
    return not any(ip in network for network in NOT_PUBLIC)


@kernel
def _find_all(text: Text, wanted: int, classes: Classes, spans: NDArray[np.int64]) -> Any:
    """Fill in the spans of all documents; returns how many there are, -1 if there is not enough room."""
    n: Any = np.int64(0)  # a literal 0 is a type of its own, and would compile `_find` twice
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
    """Append the spans of one document after the first n; returns how many there are then."""
    first = n
    done = mail_done = lo  # nothing, and no e-mail address, begins before these
    digit_before = NO_BITS
    for block in range(lo, hi, 64):
        digits, ats, colons = _stops(data, block)
        valid = below(min(hi - block, 64))
        digits &= valid
        stops = (digits & ~((digits << ONE) | digit_before)) | ((ats | colons) & valid)
        digit_before = digits >> np.uint64(63)
        while stops != NO_BITS:
            at = block + lowest_bit(stops)
            stops &= stops - ONE
            byte = load8(data, at)
            if byte == AT:
                if not wanted & (1 << EMAIL):
                    continue
                kind = EMAIL
                start, end = _email(data, lo, mail_done, at, hi, classes)
                mail_done = max(mail_done, end)
            elif at < done:
                continue
            elif byte == COLON:
                if not wanted & (1 << IPV6):
                    continue
                kind = IPV6
                start, end = _ipv6(data, lo, at, hi, classes)
            else:
                kind, start, end = _number(data, lo, at, hi, wanted, classes)
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
def _is(data: NDArray[np.uint8], at: int, kinds: np.uint16) -> bool:
    return bool((_BYTES[load8(data, at)] & kinds) != 0)


@inlined
def _digit(data: NDArray[np.uint8], at: int) -> Any:
    return np.int64(load8(data, at)) - ZERO


@inlined
def _word_before(data: NDArray[np.uint8], lo: int, at: int, classes: Classes) -> bool:
    r"""Whether \w stands before `at`."""
    if at <= lo:
        return False
    byte = load8(data, at - 1)
    if byte < 0x80:
        return _is(data, at - 1, ALNUMS) or byte == UNDERSCORE
    return bool((last_class(data, lo, at, classes) & ALNUM) != 0)


@inlined
def _word_at(data: NDArray[np.uint8], at: int, hi: int, classes: Classes) -> bool:
    r"""Whether \w stands at `at`."""
    if at >= hi:
        return False
    byte = load8(data, at)
    if byte < 0x80:
        return _is(data, at, ALNUMS) or byte == UNDERSCORE
    return bool((class_of(classes, decode(data, at)[0]) & ALNUM) != 0)


@kernel
def _alone(
    data: NDArray[np.uint8], lo: int, start: int, end: int, hi: int, joiners: np.uint16, classes: Classes
) -> bool:
    r"""Whether no \w touches data[start:end], nor a "+", nor a joiner (classes of bytes) that a digit touches."""
    if _word_before(data, lo, start, classes) or _word_at(data, end, hi, classes):
        return False
    if start > lo and load8(data, start - 1) == PLUS:
        return False
    if start - 1 > lo and _is(data, start - 1, joiners) and _is(data, start - 2, DIGIT):
        return False
    return not (end + 1 < hi and _is(data, end, joiners) and _is(data, end + 1, DIGIT))


@kernel
def _email(data: NDArray[np.uint8], lo: int, floor: int, at: int, hi: int, classes: Classes) -> Any:
    """(start, end) of the address around the "@" at `at`, not before `floor`; end 0 if there is none."""
    start = at
    while start > floor and (
        _is(data, start - 1, LOCAL)
        or (
            load8(data, start - 1) == DOT
            and start < at
            and load8(data, start) != DOT
            and start - 1 > floor
            and _is(data, start - 2, LOCAL)
        )
    ):
        start -= 1
    # \b: the match begins where a word begins or ends.
    while start < at and (
        load8(data, start) == DOT or _word_before(data, lo, start, classes) == _word_at(data, start, hi, classes)
    ):
        start += 1
    if start == at:
        return 0, 0
    end = labels = 0
    i = at + 1
    while i < hi and _is(data, i, ALNUMS):
        last = i
        while i < hi and _is(data, i, LABEL):
            if _is(data, i, ALNUMS):
                last = i
            i += 1
        labels += 1
        if labels >= 2:
            end = last + 1
        if last + 1 != i or i >= hi or load8(data, i) != DOT:
            break
        i += 1
    return start, end


@kernel
def _ipv6(data: NDArray[np.uint8], lo: int, colon: int, hi: int, classes: Classes) -> Any:
    """(start, end) of what may be an address whose first group ends at `colon`; end 0 if it cannot be one."""
    start = colon
    while start > lo and colon - start <= 4 and _is(data, start - 1, HEX):
        start -= 1
    if not 1 <= colon - start <= 4 or _word_before(data, lo, start, classes):
        return 0, 0
    if start > lo and _is(data, start - 1, COLON_DOTS):
        return 0, 0
    end = colon
    colons = doubles = 0
    while end < hi and end - start <= LONGEST_IPV6 and _is(data, end, HEX_COLON_DOTS):
        if load8(data, end) == COLON:
            doubles += colons > 0 and load8(data, end - 1) == COLON
            colons += 1
        end += 1
    if end - start > LONGEST_IPV6 or _word_at(data, end, hi, classes):
        return 0, 0
    # Marks that end the sentence or the clause, not the address.
    while _is(data, end - 1, DOTS) or (load8(data, end - 1) == COLON and load8(data, end - 2) != COLON):
        colons -= load8(data, end - 1) == COLON
        end -= 1
    if doubles != 1 and not 6 <= colons <= 7:
        return 0, 0
    return start, end


@kernel
def _number(data: NDArray[np.uint8], lo: int, at: int, hi: int, wanted: int, classes: Classes) -> Any:
    """(kind, start, end) of what begins at, or just before, the run of digits at `at`; end 0 if nothing does."""
    if wanted & (1 << IPV4):
        end = _ipv4(data, at, hi)
        if end > 0 and _alone(data, lo, at, end, hi, DOTS, classes):
            return IPV4, at, end
    if wanted & (1 << PHONE):
        start, end = _phone(data, lo, at, hi)
        if end > 0 and _alone(data, lo, start, end, hi, JOINERS, classes):
            return PHONE, start, end
    if wanted & (1 << SSN):
        end = _ssn(data, at, hi)
        if end > 0 and _alone(data, lo, at, end, hi, JOINERS, classes):
            return SSN, at, end
    if wanted & (1 << CARD):
        end = _card(data, at, hi)
        if end > 0 and _alone(data, lo, at, end, hi, JOINERS, classes):
            return CARD, at, end
    if wanted & (1 << IBAN) and at - 2 >= lo:
        end = _iban(data, at - 2, hi)
        if end > 0 and not _word_before(data, lo, at - 2, classes) and not _word_at(data, end, hi, classes):
            return IBAN, at - 2, end
    return 0, 0, 0


@kernel
def _ipv4(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of an address at `at`, or 0."""
    for part in range(4):
        digits = 0
        value: Any = 0
        while digits < 4 and at < hi and _is(data, at, DIGIT):
            value = value * 10 + _digit(data, at)
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
def _phone(data: NDArray[np.uint8], lo: int, at: int, hi: int) -> Any:
    """(start, end) of a telephone number whose first digit is at `at`; end 0 if there is none."""
    before = load8(data, at - 1) if at > lo else BLANK
    if before == PLUS:
        if load8(data, at) == ZERO:
            return 0, 0
        return at - 1, _international(data, at, hi)
    start = i = at
    if load8(data, i) == ONE_DIGIT:
        i += 1
        i += i < hi and _is(data, i, PHONE_JOINERS)
        bracket = i < hi and load8(data, i) == OPEN
        i += bracket
    else:
        bracket = before == OPEN and at + 3 < hi and load8(data, at + 3) == CLOSE
        start -= bracket
    if not _three(data, i, hi):
        return 0, 0
    i += 3
    if bracket:
        if i >= hi or load8(data, i) != CLOSE:
            return 0, 0
        i += 1
    joined = i < hi and _is(data, i, PHONE_JOINERS)
    if not (joined or bracket):
        return 0, 0
    i += joined
    if not _three(data, i, hi) or i + 8 > hi or not _is(data, i + 3, PHONE_JOINERS):
        return 0, 0
    for k in range(i + 4, i + 8):
        if not _is(data, k, DIGIT):
            return 0, 0
    return start, i + 8


@inlined
def _three(data: NDArray[np.uint8], at: int, hi: int) -> bool:
    """Whether [2-9]dd stands at `at`."""
    if at + 3 > hi or load8(data, at) < ZERO + 2:
        return False
    return _is(data, at, DIGIT) and _is(data, at + 1, DIGIT) and _is(data, at + 2, DIGIT)


@kernel
def _international(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of [0-9]([ .()-]{0,2}[0-9]){7,14} at `at`, or 0."""
    digits = 1
    end = at + 1
    while digits < 15:
        i = end
        while i < hi and i < end + 2 and _is(data, i, PHONE_MARKS):
            i += 1
        if i >= hi or not _is(data, i, DIGIT):
            break
        digits += 1
        end = i + 1
    return end if digits >= 8 else 0


@kernel
def _ssn(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of a social security number at `at`, or 0."""
    if at + 11 > hi or load8(data, at + 3) != DASH or load8(data, at + 6) != DASH:
        return 0
    numbers: Any = 0
    for i in range(at, at + 11):
        if i not in (at + 3, at + 6):
            if not _is(data, i, DIGIT):
                return 0
            numbers = numbers * 10 + _digit(data, i)
    area, group, serial = numbers // 1_000_000, numbers // 10_000 % 100, numbers % 10_000
    if area in (0, 666) or area >= 900 or group == 0 or serial == 0:
        return 0
    return at + 11


@kernel
def _card(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of a card number at `at`, or 0; the longest where groups allow several."""
    digits = groups = size = best = 0
    prefix: Any = 0
    # Luhn's sums, for numbers that end at this digit and at the one before.
    plain: Any = 0
    doubled: Any = 0
    joiner: Any = 0
    i = at
    while i < hi and digits < 20:
        byte = load8(data, i)
        if _is(data, i, DIGIT):
            value = _digit(data, i)
            twice = 2 * value - 9 * (value > 4)
            plain, doubled = doubled + value, plain + twice
            digits += 1
            size += 1
            if digits <= 4:
                prefix = prefix * 10 + value
            i += 1
            if i < hi and _is(data, i, DIGIT):
                continue
            groups += 1
            if groups > 1 and not 3 <= size <= 6:
                break
            if plain % 10 == 0 and _is_network(prefix, digits):
                best = i
            if groups == 1 and not 3 <= size <= 6:
                break
            size = 0
        elif byte in (BLANK, DASH) and (groups == 1 or byte == joiner) and i + 1 < hi and _is(data, i + 1, DIGIT):
            joiner = byte
            i += 1
        else:
            break
    return best


@inlined
def _is_network(prefix: int, digits: int) -> bool:
    """Whether a network gives out numbers with these first four digits in this length."""
    two = prefix // 100
    if prefix // 1000 == 4:
        return digits in (13, 16, 19)
    if two in (34, 37):
        return digits == 15
    if two in (36, 38, 39) or 3000 <= prefix < 3060:
        return digits == 14
    if 51 <= two <= 55 or 2221 <= prefix <= 2720:
        return digits == 16
    if prefix == 6011 or 6440 <= prefix < 6500 or two in (65, 62) or 3528 <= prefix <= 3589:
        return 16 <= digits <= 19
    return False


@kernel
def _iban(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of an account number whose country code is at `at`, or 0."""
    if not (_is(data, at, CAPITAL) and _is(data, at + 1, CAPITAL) and at + 4 <= hi and _is(data, at + 3, DIGIT)):
        return 0
    wanted = _IBAN_SIZES[load8(data, at) - 65, load8(data, at + 1) - 65]
    if wanted == 0:
        return 0
    # The country and the check digits move to the end, letters count from A = 10, and the whole is 1 modulo 97.
    read = 0
    front: Any = 0
    rest: Any = 0
    i = at
    spaced = at + 4 < hi and load8(data, at + 4) == BLANK
    while read < wanted:
        if spaced and read > 0 and read % 4 == 0:
            if i >= hi or load8(data, i) != BLANK:
                return 0
            i += 1
        if i >= hi or not _is(data, i, ACCOUNT):
            return 0
        value = _digit(data, i) if _is(data, i, DIGIT) else _digit(data, i) - 7
        if read < 4:
            front = front * (100 if value > 9 else 10) + value
        else:
            rest = (rest * (100 if value > 9 else 10) + value) % 97
        read += 1
        i += 1
    # Two letters and two digits are six digits.
    return i if (rest * 1_000_000 + front) % 97 == 1 else 0


def warm_up() -> None:
    pii_spans(pa.array(["a@b.org 1.2.3.4 2001:db8::1 +1 555 555 5555"], pa.large_string()))
