"""Where personal data stand in text: addresses of mail and machines, numbers of telephones, people and accounts, secrets.

A walk over bit maps stops only at "@", at ":", where a run of digits begins, and at the last of five separators that
stand two characters apart; small matchers look around from there. What each kind is, as a regular expression (matched
from left to right, ASCII; \\w is Python's):

    email   datatrove's expression without bracketed hosts: \\b{local}+(\\.{local}+)*@({label}\\.)+{label}, with local
            [A-Za-z0-9!#$%&'*+/=?^_`{|}~-] and label [A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?; but none if the last label
            has one character, or no letter (lodash@4.17.21), or is one of EXTENSIONS (logo@2x.png)
    ipv4    four numbers 0 to 255 without leading zeros; 1.2.3.4.5 and OIDs are none, nor are version numbers: those
            that a word of VERSION_WORDS stands before, with at most three of [ .:=#/_"'(-] between, and those of at most
            five digits, or six if the first number has one (3.3.3.0, 4.15.1.10), unless they begin with 10 or all four
            are the same (8.8.8.8). One in a thousand addresses drawn by chance looks like that; of 2,188 such numbers
            in 40 MB of manuals and code, 1,800
    ipv6    what `ipaddress` takes for one, in full or around "::"; no \\w and no ":" touches it. The first group has four
            digits, as in all networks that are in use, so that times, slices ([1::2]) and C++ names (a::b) are none
    phone   international: "+" and a number of a length that its calling code has (see PLANS), no more than two of
            [ .()-] between two digits; "(0)" is not counted. Or American: (001[ .-]|1[ .-]?)?(\\({area}\\)[ .-]?|{area}[ .-])
            [2-9]dd[ .-]dddd, with area [2-9]dd but not d11. Both with an extension: ( ?([xX]|[eE]xt\\.?) ?d{1,5})?
    ssn     ddd-dd-dddd, the first not 000, 666 or 9dd, the second not 00, the third not 0000
    card    12 to 19 digits with the prefix and length of a network, whole or in groups of three to six joined by
            one of " " and "-", that pass Luhn's check (ISO/IEC 7812). None are 13 digits that pass the check of articles
            (EAN, ISO/IEC 15420), of which one in ten passes Luhn's too; nor groups that a blank joins to four letters and
            digits, the last a digit: the account number that they are the end of has been mistyped, or they are a table
    iban    country, check digits and account of the country's length, whole or in groups of four joined by a space,
            that pass the mod 97 check (ISO 13616), in capitals or small letters; no \\w touches it
    mac     six pairs of hexadecimal digits, at least one of them a letter, joined by ":" or by "-"; no \\w and no further
            pair touches it
    wallet, secret, credential   see `corpusmill.text.secrets`

No \\w touches an ipv4, phone, ssn or card, no "+" stands before it, and no "." (nor, but for ipv4, a "-") joins it to
another digit. Where two overlap, a secret, wallet or credential stays, else the e-mail address, else the one that
begins first, else the earlier in KINDS.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.buffers import Text, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, NO_BITS, ONE, U, load8, load32, load64, lowest_bit, moved_up
from corpusmill.text.secrets import FAMILIES, merged, secrets_in
from corpusmill.text.spans import below
from corpusmill.text.unicode import ALNUM, Classes, class_of, classes, decode, last_class

KINDS = ("email", "ipv4", "ipv6", "phone", "ssn", "card", "iban", "mac", *FAMILIES)
EMAIL, IPV4, IPV6, PHONE, SSN, CARD, IBAN, MAC = range(8)

AT, COLON, DOT, DASH, PLUS, BLANK, OPEN, CLOSE, UNDERSCORE, ZERO, ONE_DIGIT, X = b"@:.-+ ()_01x"
ABROAD, EXT = np.uint32(0x313030), np.uint32(0x747865)  # "001", "ext"
U32_24, U32_LOWER = np.uint32(0xFFFFFF), np.uint32(0x20)  # three bytes; the first of them in lower case
LONGEST_IPV6 = 45  # bytes
LOWER = U(0x2020202020202020)

# Classes of an ASCII byte, as bits. Not plain integers: numba would compile a copy of `_is` for each.
LOCAL, LABEL, DIGIT, LETTER, HEX, DOTS, DASHES, BLANKS, COLONS, BRACKETS, LINKS = np.uint16(1) << np.arange(
    11, dtype=np.uint16
)
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
        | LINKS * (_c in " .:=#/_\"'(-")
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

# Calling codes, ITU-T E.164, and how many digits a number has with its code; as the numbering plans say that
# libphonenumber 9 has collected, at least 8 and at most 15. Codes that are not here are not in use.
PLANS = """
1:11 20:10-12 211:12 212:12 213:11-12 216:11 218:12 220:10-12 221:12 222:11 223:11 224:11-12 225:13 226:11 227:11
228:11 229:13 230:10-13 231:10-12 232:11 233:11-12 234:13-15 235:11 236:11 237:11-12 238:10 239:10 240:12 241:10-11
242:12 243:10-13 244:12 245:10-12 246:10 247:8-9 248:10 249:12 250:11-12 251:12 252:9-12 253:11 254:10-13 255:12
256:12 257:11 258:11-12 260:12 261:12 262:12 263:10-13 264:11-12 265:10-12 266:11 267:10-13 268:11-12 269:10 27:8-12
290:8 291:10 297:10 298:9 299:9 30:12-14 31:8-13 32:10-11 33:11 34:11 350:11 351:12 352:8-14 353:10-13 354:10-12
355:9-12 356:11 357:11 358:8-15 359:9-15 36:10-11 370:11 371:11 372:10-13 373:11 374:11 375:9-14 376:9-12 377:11-12
378:11-13 380:12-13 381:9-15 382:11-12 383:11-15 385:10-12 386:8-11 387:11-12 389:11 39:8-14 40:8-11 41:11-14
420:12-15 421:9-12 423:10-12 43:8-15 44:9-12 45:10 46:8-14 47:8-10 48:8-12 49:8-15 500:8 501:10-14 502:11-14 503:10-14
504:11-14 505:11 506:11-13 507:10-14 508:9-12 509:11 51:10-11 52:12 53:8-12 54:12-13 55:10-13 56:11-13 57:10-13 58:12
590:12 591:11-12 592:10 593:11-14 594:12 595:9-14 596:12 597:9-10 598:8-15 599:10-11 60:10-12 61:8-14 62:9-15 63:8-15
64:8-12 65:10-13 66:10-15 670:10-11 672:9 673:10 674:10 675:10-11 676:8-10 677:8-10 678:8-10 679:10-14 680:10 681:9-12
682:8 683:8-10 685:8-13 686:8-11 687:9 688:8-10 689:9-12 690:8-10 691:10 692:10 7:11 800:11 808:11 81:10-15 82:8-15
84:9-12 850:11-13 852:8-14 853:10-11 855:11-13 856:11-13 86:9-14 870:12-15 878:15 880:9-13 881:12-13 882:10-15
883:11-15 886:10-14 888:14 90:9-15 91:10-15 92:10-14 93:11 94:11 95:8-12 960:10-13 961:10-11 962:11-12 963:11-12
964:11-13 965:10-11 966:12-13 967:10-12 968:10-12 970:11-13 971:8-15 972:10-15 973:11 974:10-14 975:10-11 976:11-13
977:11-14 979:12 98:8-12 992:12 993:11 994:12 995:12 996:12-13 998:12"""
_PLANS = np.zeros((1000, 2), np.uint8)  # by the first three digits
for _code, _, _lengths in (entry.partition(":") for entry in PLANS.split()):
    _all = slice(int(_code.ljust(3, "0")), int(_code.ljust(3, "9")) + 1)
    _PLANS[_all] = _lengths.partition("-")[0], _lengths.rpartition("-")[2]

# No top-level domains, but what files are called: logo@2x.png. In lower case; of at most 8 letters.
EXTENSIONS = """
avif bmp cfg class conf css csv doc docx exe gif gz htm html ico ini ipynb jar jpeg jpg js json jsx log mjs mp3
mp4 pdf png ppt pptx scss svg tar tif tiff toml ts tsx txt wav webm webp whl xls xlsx xml yaml yml""".split()
# Before a version number.
VERSION_WORDS = """
article build chapter chrome driver firmware fw kernel oracle patch para release rel rev revision section sec update v
ver vers version versions""".split()


def _packed(words: list[str]) -> NDArray[np.uint64]:
    return np.array([int.from_bytes(word.encode().ljust(8, b"\0"), "little") for word in words], np.uint64)


_EXTENSIONS, _VERSION_WORDS = _packed(EXTENSIONS), _packed(VERSION_WORDS)

_stops = simd.masks(simd.ascii_digit, simd.equal("@"), simd.equal(":"), simd.equal("-"))


def pii_spans(texts: pa.LargeStringArray, kinds: Iterable[str] = KINDS) -> NDArray[np.int64]:
    """Where personal data of these kinds stand.

    returns   (spans, 4) int64: document, kind (an index of KINDS), first byte and end, counted in bytes from the
              beginning of the document; in order, without overlap

    Raises ValueError for a kind that is not in KINDS. Addresses that are nobody's (private, reserved) are spans too.
    """
    wanted = 0
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f'no kind of personal data is called "{kind}"; there are {", ".join(KINDS)}')
        wanted |= 1 << KINDS.index(kind)
    text = view(texts)
    spans = _found(text, wanted) if wanted & (1 << MAC + 1) - 1 else np.empty((0, 4), np.int64)
    if families := tuple(family for family in FAMILIES if wanted >> KINDS.index(family) & 1):
        secrets = secrets_in(text, families)
        secrets[:, 1] += KINDS.index(FAMILIES[0])
        spans = merged(spans, secrets)
    return spans


def _found(text: Text, wanted: int) -> NDArray[np.int64]:
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
    try:
        return ip_address(candidate).version == 6
    except ValueError:
        return False


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
                start, end = _email(data, lo, mail_done, at, hi, classes)
                mail_done = max(mail_done, end)
            elif at < done:
                continue
            elif byte in (COLON, DASH):
                kind = MAC
                start = end = 0
                if wanted & (1 << MAC) and (macs >> U(bit)) & ONE:
                    start, end = _mac(data, max(lo, done), at, hi, classes)
                if end == 0 and byte == COLON and wanted & (1 << IPV6):
                    kind = IPV6
                    start, end = _ipv6(data, lo, at, hi, classes)
            else:
                # Ones from here on; all of them at the end of the block, where the run may go on.
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
    end = labels = top = 0
    i = at + 1
    while i < hi and _is(data, i, ALNUMS):
        last = begin = i
        while i < hi and _is(data, i, LABEL):
            if _is(data, i, ALNUMS):
                last = i
            i += 1
        labels += 1
        if labels >= 2:
            top, end = begin, last + 1
        if last + 1 != i or i >= hi or load8(data, i) != DOT:
            break
        i += 1
    return (start, end) if end > 0 and _is_domain(data, top, end) else (0, 0)


@kernel
def _is_domain(data: NDArray[np.uint8], start: int, end: int) -> bool:
    """Whether data[start:end] may be a top-level domain."""
    letters = 0
    for i in range(start, end):
        letters += _is(data, i, LETTER)
    return end - start > 1 and letters > 0 and not _is_among(data, start, end, _EXTENSIONS)


@inlined
def _is_among(data: NDArray[np.uint8], start: int, end: int, words: NDArray[np.uint64]) -> bool:
    """Whether data[start:end], of letters and digits, is one of the packed words; case is ignored."""
    if end - start > 8:
        return False
    word = (load64(data, start) | LOWER) & (ALL_BITS >> U(64 - 8 * (end - start)))
    for other in words:
        if other == word:
            return True
    return False


@kernel
def _mac(data: NDArray[np.uint8], lo: int, last: int, hi: int, classes: Classes) -> Any:
    """(start, end) of the address whose last separator is at `last`; end 0 if there is none."""
    start, end = last - 14, last + 3
    if start < lo or end > hi or _word_before(data, lo, start, classes) or _word_at(data, end, hi, classes):
        return 0, 0
    separator = load8(data, last)
    if start > lo and load8(data, start - 1) == separator:
        return 0, 0
    if end + 1 < hi and load8(data, end) == separator and _is(data, end + 1, HEX):
        return 0, 0
    letters = 0
    for i in range(start, end, 3):
        if not (_is(data, i, HEX) and _is(data, i + 1, HEX)):
            return 0, 0
        letters += _is(data, i, LETTER) + _is(data, i + 1, LETTER)
    return (start, end) if letters > 0 else (0, 0)


@kernel
def _ipv6(data: NDArray[np.uint8], lo: int, colon: int, hi: int, classes: Classes) -> Any:
    """(start, end) of what may be an address whose first group ends at `colon`; end 0 if it cannot be one."""
    start = colon
    while start > lo and colon - start <= 4 and _is(data, start - 1, HEX):
        start -= 1
    if colon - start != 4 or _word_before(data, lo, start, classes):
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


@inlined
def _may_begin(data: NDArray[np.uint8], lo: int, at: int, run: int, hi: int) -> bool:
    """Whether a run of so many digits can be the first of a number that `_number` finds; a year or a price cannot."""
    if run >= 12 or at + run + 2 > hi:
        return run >= 8
    following = load8(data, at + run)
    if following in (DOT, DASH, BLANK):
        following = load8(data, at + run + 1)
        if ZERO <= following <= ZERO + 9 or following == OPEN:
            return True
    elif following in (OPEN, CLOSE):
        return True
    return at > lo and (load8(data, at - 1) == PLUS or _is(data, at - 1, LETTER))


@kernel
def _number(data: NDArray[np.uint8], lo: int, done: int, at: int, hi: int, wanted: int, classes: Classes) -> Any:
    """(kind, start, end) of what begins at, or just before, the run of digits at `at`; end 0 if nothing does.

    done   where the last span ends
    """
    if wanted & (1 << IPV4):
        end = _ipv4(data, at, hi)
        if end > 0 and _alone(data, lo, at, end, hi, DOTS, classes) and not _is_version(data, lo, at, end):
            return IPV4, at, end
    if wanted & (1 << PHONE):
        start, end = _phone(data, lo, at, hi)
        extended = _extension(data, end, hi) if end > 0 else 0
        if extended > 0 and _alone(data, lo, start, extended, hi, JOINERS, classes):
            return PHONE, start, extended
        if end > 0 and _alone(data, lo, start, end, hi, JOINERS, classes):
            return PHONE, start, end
    if wanted & (1 << SSN):
        end = _ssn(data, at, hi)
        if end > 0 and _alone(data, lo, at, end, hi, JOINERS, classes):
            return SSN, at, end
    if wanted & (1 << CARD):
        end = _card(data, at, hi)
        if (
            end > 0
            and _alone(data, lo, at, end, hi, JOINERS, classes)
            and not _goes_on(data, lo, done, at, end, classes)
        ):
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
def _is_version(data: NDArray[np.uint8], lo: int, start: int, end: int) -> bool:
    """Whether the four numbers are rather those of a version than an address."""
    first = load8(data, start)
    if end - start <= 8 or (end - start == 9 and load8(data, start + 1) == DOT):
        ten = first == ONE_DIGIT and load8(data, start + 1) == ZERO and load8(data, start + 2) == DOT
        same = end - start == 7
        for i in range(start, end, 2):
            same = same and load8(data, i) == first
        if not ten and not same:
            return True
    link = start
    while link > lo and start - link < 3 and _is(data, link - 1, LINKS):
        link -= 1
    word = link
    while word > lo and link - word < 9 and _is(data, word - 1, LETTER):
        word -= 1
    return word < link and _is_among(data, word, link, _VERSION_WORDS)


@kernel
def _phone(data: NDArray[np.uint8], lo: int, at: int, hi: int) -> Any:
    """(start, end) of a telephone number whose first digit is at `at`; end 0 if there is none."""
    before = load8(data, at - 1) if at > lo else BLANK
    if before == PLUS:
        if load8(data, at) == ZERO:
            return 0, 0
        return at - 1, _international(data, at, hi)
    start = i = at
    abroad = at + 4 < hi and load32(data, at) & U32_24 == ABROAD and _is(data, at + 3, PHONE_JOINERS)
    if abroad or load8(data, i) == ONE_DIGIT:
        i += 3 if abroad else 1
        i += i < hi and _is(data, i, PHONE_JOINERS)
        bracket = i < hi and load8(data, i) == OPEN
        i += bracket
    else:
        bracket = before == OPEN and at + 3 < hi and load8(data, at + 3) == CLOSE
        start -= bracket
    if not _three(data, i, hi) or (load8(data, i + 1) == ONE_DIGIT and load8(data, i + 2) == ONE_DIGIT):
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
    """The end of the longest number of a calling code at `at`, or 0."""
    digits = best = 0
    prefix: Any = 0
    end = at
    while digits < 15:
        i = end
        while i < hi and i < end + 2 and _is(data, i, PHONE_MARKS) and end > at:
            i += 1
        if i >= hi or not _is(data, i, DIGIT):
            break
        end = i + 1
        if load8(data, i) == ZERO and load8(data, i - 1) == OPEN and end < hi and load8(data, end) == CLOSE:
            continue
        digits += 1
        if digits <= 3:
            prefix = prefix * 10 + _digit(data, i)
        if (
            digits >= 8
            and _PLANS[prefix, 0] <= digits <= _PLANS[prefix, 1]
            and not (end < hi and _is(data, end, DIGIT))
            and not (end + 1 < hi and _is(data, end, JOINERS) and _is(data, end + 1, DIGIT))
        ):
            best = end
    return best


@kernel
def _extension(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of " ext. 123" or "x123" at `at`, or 0."""
    i = at + (at < hi and load8(data, at) == BLANK)
    if i + 3 < hi and load32(data, i) & U32_24 | U32_LOWER == EXT:
        i += 3
        i += load8(data, i) == DOT
    elif i < hi and load8(data, i) | 0x20 == X:
        i += 1
    else:
        return 0
    i += i < hi and load8(data, i) == BLANK
    first = i
    while i < hi and i < first + 5 and _is(data, i, DIGIT):
        i += 1
    return i if i > first else 0


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
def _goes_on(data: NDArray[np.uint8], lo: int, done: int, start: int, end: int, classes: Classes) -> bool:
    """Whether a number in groups begins before data[start:end], which is not whole then."""
    if start - 5 < max(lo, done) or load8(data, start - 1) != BLANK or not _is(data, start - 2, DIGIT):
        return False
    for i in range(start - 5, start - 2):
        if not _is(data, i, ALNUMS):
            return False
    if _word_before(data, lo, start - 5, classes):
        return False
    for i in range(start, end):
        if load8(data, i) == BLANK:
            return True
    return False


@kernel
def _card(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of a card number at `at`, or 0; the longest where groups allow several."""
    digits = groups = size = best = 0
    prefix: Any = 0
    # Luhn's sums, for numbers that end at this digit and at the one before.
    plain: Any = 0
    doubled: Any = 0
    article: Any = 0  # the sum for the number of an article: every second digit three times
    joiner: Any = 0
    i = at
    while i < hi and digits < 20:
        byte = load8(data, i)
        if _is(data, i, DIGIT):
            value = _digit(data, i)
            twice = 2 * value - 9 * (value > 4)
            plain, doubled = doubled + value, plain + twice
            digits += 1
            article += value if digits & 1 else 3 * value
            size += 1
            if digits <= 4:
                prefix = prefix * 10 + value
            i += 1
            if i < hi and _is(data, i, DIGIT):
                continue
            groups += 1
            if groups > 1 and not 3 <= size <= 6:
                break
            if plain % 10 == 0 and _is_network(prefix, digits) and not (digits == 13 and article % 10 == 0):
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
    if two in (36, 38, 39) or 3000 <= prefix < 3060 or prefix == 3095:
        return digits == 14
    if prefix in (1800, 2131):
        return digits == 15
    if two in (56, 57, 58) or prefix in (5018, 5020, 5038, 6304, 6390, 6759, 6761, 6762, 6763):
        return 12 <= digits <= 19
    if 2200 <= prefix <= 2204:
        return 16 <= digits <= 19
    if 51 <= two <= 55 or 2221 <= prefix <= 2720:
        return digits == 16
    # JCB gives out 3528 to 3589; numbers that are made up for tests and examples take all of 35.
    if prefix == 6011 or 6440 <= prefix < 6500 or two in (35, 62, 65):
        return 16 <= digits <= 19
    return False


@kernel
def _iban(data: NDArray[np.uint8], at: int, hi: int) -> int:
    """The end of an account number whose country code is at `at`, or 0."""
    if not (_is(data, at, LETTER) and _is(data, at + 1, LETTER) and at + 4 <= hi and _is(data, at + 3, DIGIT)):
        return 0
    wanted = _IBAN_SIZES[(load8(data, at) & 0x1F) - 1, (load8(data, at + 1) & 0x1F) - 1]
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
        if i >= hi or not _is(data, i, ALNUMS):
            return 0
        value = _digit(data, i) if _is(data, i, DIGIT) else np.int64(load8(data, i) & 0x1F) + 9
        if read < 4:
            front = front * (100 if value > 9 else 10) + value
        else:
            rest = (rest * (100 if value > 9 else 10) + value) % 97
        read += 1
        i += 1
    # Two letters and two digits are six digits.
    return i if (rest * 1_000_000 + front) % 97 == 1 else 0


def warm_up() -> None:
    pii_spans(pa.array(["a@b.org 192.0.2.1 2001:db8::1 +1 555 555 5555"], pa.large_string()), KINDS[: MAC + 1])
