"""The scan for places where a secret may begin.

All formats have a run of 16 or more characters of [A-Za-z0-9_+/-], of which ordinary text has about one per kilobyte
(14 after the name of a vendor whose keys are so short), or are around two bytes with others near: "-B" of a private
key, the end of a name and ":", "://", "Q~", "-u", "pw", "sw" or "bs". A scan of bit maps stops only there and proposes
what has a known prefix or a name.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import (
    ALL_BITS,
    NO_BITS,
    ONE,
    U,
    borrowed,
    highest_zeros,
    load8,
    load32,
    load64,
    lowest_bit,
    moved_up,
)
from corpusmill.text.secrets.formats import FORMATS
from corpusmill.text.secrets.named import LONGEST_NAME, OTHERS, SECRET_NAMES, SHORTEST, VENDORS
from corpusmill.text.spans import below

SECRET, WALLET, CREDENTIAL, TRIGGERS = range(4)  # sorts of places; triggers are those of `contexts`, from TRIGGERS on
AT_URL, AT_OPTION, AT_HEADER, AT_MANIFEST, AT_ASSIGNMENT, AT_PAIR = range(TRIGGERS, TRIGGERS + 6)
LONGEST_LINK, LONGEST_HEAD, LONGEST_WALLET = 24, 88, 62
SHORTEST_RUN = 16  # of what has no vendor's name before it
LONGEST_GAP = 3  # bytes between a name and its ":"
FARTHEST_PAIR = 60  # bytes between "contribsys" and the ":" of a pair (`contexts.in_pair`)
LONGEST_PADDING = 30  # blanks between "password" and its "="


def places(text: TextBuffer, mask: int) -> Int64s:
    """(places, 3) int64: document, byte from its beginning, sort; in no order, some twice.

    mask   bit f for the family with number f
    """
    rows = np.empty((64 + (int(text.offsets[-1] - text.offsets[0]) >> 10), 3), np.int64)
    while (count := _propose_all(text, mask, rows)) < 0:
        rows = np.empty((2 * len(rows), 3), np.int64)
    return rows[:count]


# For the kernel: the first eight bytes of every prefix, sorted; those with first byte b are _FROM[b:b + 2].

_HEADS = sorted({prefix.encode()[:8] for form in FORMATS for prefix in form.prefixes})
_VALUES = np.array([int.from_bytes(head.ljust(8, b"\0"), "little") for head in _HEADS], np.uint64)
_MASKS = np.array([(1 << 8 * len(head)) - 1 for head in _HEADS], np.uint64)
_FROM = np.searchsorted([head[0] for head in _HEADS], np.arange(257)).astype(np.int64)
# Whether two bytes may begin a prefix, by six bits of each: a look at each byte of a run.
_MAY_BEGIN = np.zeros(1 << 12, np.bool_)
_MAY_BEGIN[[(head[0] & 63) << 6 | head[1] & 63 for head in _HEADS]] = True
# Whether a name may contain one of NAMES (bit 0) or VENDORS (bit 1), by a hash of four letters or, if these have fewer
# in a row, of three.
NAMED, OF_VENDOR = 1, 2
_HASH, _HASH_MASK, _HASH_SHIFT = U(0x9E3779B1), U(0xFFFFFFFF), U(19)  # 13 bits
_FOURS, _THREES = np.zeros((2, 1 << 13), np.uint8)
for _bit, _names in ((NAMED, (*SECRET_NAMES, "value")), (OF_VENDOR, (*VENDORS, *OTHERS))):
    for _name in _names:
        _head = _name.partition("[")[0][:4].encode()
        _slot = (int.from_bytes(_head, "little") * int(_HASH) & int(_HASH_MASK)) >> int(_HASH_SHIFT)
        (_FOURS if len(_head) == 4 else _THREES)[_slot] |= _bit
SHORTEST_WALLET, LONGEST_USER = 26, 200

TOKEN, IN_WORD, LINK, NAME, COIN, DIGIT, CAPITAL, SMALL, IN_HEAD, JOIN, GAP, SLASH, HEXADECIMAL, MARK = np.uint32(
    1
) << np.arange(14, dtype=np.uint32)
SORTS, NO_SORT = DIGIT | CAPITAL | SMALL, np.uint32(0)
BLANKS, MARKS, OPERATORS = " \t\n\"'`\\", ":=>,.|~+?%", ":=>,"  # between a name and its value
_BYTES = np.zeros(256, np.uint32)
for _byte in range(128):
    _c = chr(_byte)
    _BYTES[_byte] = (
        TOKEN * (_c.isalnum() or _c in "_+/-")
        | IN_WORD * (_c.isalnum() or _c == "_")
        | LINK * (_c in BLANKS + MARKS)
        | MARK * (_c in MARKS)
        | NAME * (_c.isalnum() or _c in "_-")
        | IN_HEAD * (_c.isalnum() or _c in "_-.~")
        | JOIN * (_c in ".~=")
        | SLASH * (_c == "/")
        | HEXADECIMAL * (_c in "0123456789abcdef")
        | GAP * (_c in " \t\"'")
        | COIN * (_c in "13b0")
        | DIGIT * _c.isdigit()
        | CAPITAL * _c.isupper()
        | SMALL * _c.islower()
    )
_token = simd.either(
    simd.ascii_letter, simd.equal("_"), simd.without(simd.between(ord("+"), ord("9")), simd.comma_or_full_stop)
)
_in_word = simd.either(simd.ascii_letter, simd.ascii_digit, simd.equal("_"))
_words = simd.masks(_in_word)
_runs = simd.masks(_token, simd.ascii_digit, simd.either(simd.ascii_letter, simd.ascii_digit))
_befores = simd.masks(
    simd.either(*map(simd.equal, BLANKS + MARKS)),
    simd.either(*map(simd.equal, MARKS)),
    simd.either(*map(simd.equal, OPERATORS)),
    simd.either(_in_word, simd.equal("-")),
)
_stops = simd.masks(
    _token,
    simd.either(
        simd.followed(simd.equal(":"), simd.equal("/")),
        simd.followed(
            simd.either(simd.letter("d"), simd.letter("n"), simd.letter("y"), simd.between(0, ord("'"))),
            simd.equal(":"),
        ),
        simd.followed(simd.equal("-"), simd.either(simd.equal("u"), simd.equal("B"))),
        simd.followed(simd.equal("Q"), simd.equal("~")),
        simd.followed(simd.either(simd.letter("p"), simd.letter("s")), simd.letter("w")),
        simd.followed(simd.letter("b"), simd.letter("s")),
    ),
)
DASH, B, SMALL_B, AT, COLON, EQUALS, Q, A, BAR, PERCENT, DOT, COMMA, LESS, D, P, S, V, BLANK, TAB, QUOTE, APOSTROPHE = (
    b"-Bb@:=QA|%.,<dpsv \t\"'"
)


def _pack(word: str) -> np.uint32:
    return np.uint32(int.from_bytes(word.encode().ljust(4, b"\0"), "little"))


DIGIT_BITS = U(0x1010101010101010)
LOWER, LOWER_8, LOW_THREE = np.uint32(0x20202020), U(0x2020202020202020), np.uint32(0xFFFFFF)
CONTRIBS = U(int.from_bytes(b"contribs", "little"))
SCHEME_END = _pack("://")
DASHES, KIND, ECRE, ATLAS, MAXMIND = map(_pack, ("----", "kind", "ecre", "sv1.", "_mmk"))
TION, RIZA, KEY, IKEY, OKEN, WORD_, PASS = map(_pack, ("tion", "riza", "-key", "ikey", "oken", "word", "pass"))


@kernel
def _propose_all(text: TextBuffer, mask: int, places: Int64s) -> Any:
    """Write the places of all documents; returns how many there are, -1 if there is not enough room."""
    n: Any = np.int64(0)
    for d in range(len(text.offsets) - 1):
        n = _propose(text.data, text.offsets[d], text.offsets[d + 1], d, mask, places, n)
        if n < 0:
            return n
    return n


@kernel
def _propose(data: Bytes, lo: int, hi: int, document: int, mask: int, places: Int64s, n: int) -> int:
    """Append (document, offset, sort) for each place where a match may begin; returns the new count, -1 for no room."""
    data, places = borrowed(data), borrowed(places)
    # Bit i of the map t4 is set if the 4 bytes up to byte i are token characters, and so on; b4 is the previous map.
    b1 = b2 = b4 = b8 = b14 = NO_BITS
    for block in range(lo, hi, 64):
        tokens, marks = _stops(data, block)
        valid = ALL_BITS if block + 64 <= hi else below(hi - block)
        t1 = tokens & valid
        t2 = t1 & moved_up(t1, b1, 1)
        t4 = t2 & moved_up(t2, b2, 2)
        t8 = t4 & moved_up(t4, b4, 4)
        t14 = t8 & moved_up(t8, b8, SHORTEST - 8)
        long = t14 & ~moved_up(t14, b14, 1)
        b1, b2, b4, b8, b14 = t1, t2, t4, t8, t14
        pending = marks & valid
        while pending != NO_BITS:
            at = block + lowest_bit(pending)
            pending &= pending - ONE
            byte = load8(data, at)
            if byte | 0x20 == SMALL_B:
                n = _pairs(data, lo, at, hi, document, mask, places, n)
            elif byte == COLON:
                n = _users(data, at + 3, lo, hi, document, mask, places, n)
            elif load8(data, at + 1) != COLON or _may_be_name(data, lo, at + 1):
                sort, offset = _trigger(data, lo, at, hi, mask)
                if sort >= 0:
                    n = _add_place(places, n, document, offset - lo, sort)
            if n < 0:
                return n
        while long != NO_BITS:
            start = block + lowest_bit(long) - (SHORTEST - 1)
            long &= long - ONE
            if _is_short(data, start, hi) and not (
                _has_digit(data, start) and start > lo and _is(data, start - 1, LINK)
            ):
                continue
            n = _token_run(data, lo, start, hi, document, mask, places, n)
            if n < 0:
                return n
    return n


@inlined
def _add_place(places: Int64s, n: int, document: int, offset: int, sort: int) -> int:
    """Append a place; returns the new count, -1 for no room."""
    if n == len(places):
        return -1
    places[n, 0], places[n, 1], places[n, 2] = document, offset, sort
    return n + 1


@inlined
def _is(data: Bytes, at: int, kinds: np.uint32) -> bool:
    return bool((_BYTES[load8(data, at)] & kinds) != 0)


@kernel
def _trigger(data: Bytes, lo: int, at: int, hi: int, mask: int) -> Any:
    """(sort, place) of what may be around the two bytes at `at`; sort -1 if nothing can be."""
    nothing = np.int64(-1), at
    if at + 1 >= hi:
        return nothing
    byte = load8(data, at)
    if byte | 0x20 in (P, S):
        holds = mask & (1 << CREDENTIAL) and _is_assigned(data, lo, at + 1, hi)
        return (np.int64(AT_ASSIGNMENT), at + 1) if holds else nothing
    if not mask & (1 << SECRET):
        return nothing
    if byte == Q:
        holds = at - 4 >= lo and _is(data, at - 1, DIGIT) and not (at - 4 > lo and _is(data, at - 5, IN_WORD))
        return (np.int64(SECRET), at - 4) if holds else nothing
    if byte == DASH:
        if load8(data, at + 1) == B:
            begins = at - 4 >= lo and load32(data, at - 4) == DASHES
            return (np.int64(SECRET), at - 4) if begins else nothing
        spaced = at - 1 > lo and (load8(data, at - 1) <= 32 or (load8(data, at - 1) == DASH and at - 2 > lo))
        return (np.int64(AT_OPTION), at + 1) if spaced else nothing
    colon = end = at + 1
    while end > lo and colon - end < LONGEST_GAP and _is(data, end - 1, GAP):
        end -= 1
    if end - 4 < lo:
        return nothing
    last = load32(data, end - 4) | LOWER
    if last == KIND and end == colon:
        return (np.int64(AT_MANIFEST), colon) if _is_of_secret(data, colon) else nothing
    if last == TION and end - 8 >= lo and load32(data, end - 8) | LOWER == RIZA:
        return np.int64(AT_HEADER), colon
    if last in (KEY, IKEY, OKEN):
        return np.int64(AT_HEADER), colon
    return nothing


@inlined
def _is_assigned(data: Bytes, lo: int, at: int, hi: int) -> bool:
    """Whether the "w" at `at` is that of "password", "passwd" or "pwd", and an operator or "value" follows."""
    if load32(data, at) | LOWER == WORD_:
        i = at + 4
    elif load8(data, at + 1) | 0x20 == D:
        i = at + 2
    else:
        return False
    if load8(data, at - 1) | 0x20 == S and (at - 4 < lo or load32(data, at - 4) | LOWER != PASS):
        return False
    quoted = i < hi and load8(data, i) in (QUOTE, APOSTROPHE)
    i += quoted
    last = min(hi, i + LONGEST_PADDING)
    while i < last and load8(data, i) in (BLANK, TAB):
        i += 1
    return bool(i < hi and (load8(data, i) in (COLON, EQUALS) or (quoted and load8(data, i) | 0x20 == V)))


@inlined
def _users(data: Bytes, start: int, lo: int, hi: int, document: int, mask: int, places: Int64s, n: int) -> int:
    """Append each "@" in the name of the host that begins at `start`, if "://" is before it; returns the new count, -1
    for no room."""
    if start - 3 <= lo or load32(data, start - 3) & LOW_THREE != SCHEME_END or not mask & (1 << SECRET):
        return n
    i = start
    while i < hi and i <= start + LONGEST_USER and load8(data, i) > 32 and not _is(data, i, SLASH):
        if load8(data, i) == AT:
            n = _add_place(places, n, document, i - lo, AT_URL)
            if n < 0:
                return n
        i += 1
    return n


@inlined
def _pairs(data: Bytes, lo: int, at: int, hi: int, document: int, mask: int, places: Int64s, n: int) -> int:
    """Append each ":" behind eight hexadecimal digits that is near "contribsys", whose "b" may be at `at`; returns the
    new count, -1 for no room."""
    start = at - 6
    if start < lo or load64(data, start) | LOWER_8 != CONTRIBS or not mask & (1 << SECRET):
        return n
    for i in range(max(lo + 8, start - FARTHEST_PAIR), min(hi, start + FARTHEST_PAIR)):
        if load8(data, i) == COLON:
            first = i
            while first > i - 8 and _is(data, first - 1, HEXADECIMAL):
                first -= 1
            if first == i - 8:
                n = _add_place(places, n, document, i - lo, AT_PAIR)
                if n < 0:
                    return n
    return n


@inlined
def _is_of_secret(data: Bytes, at: int) -> bool:
    """Whether "Secret" follows the ":" of "kind:" at `at`, or what begins like it."""
    i = at + 1
    while i < at + 3 and load8(data, i) in (BLANK, TAB):
        i += 1
    i += load8(data, i) in (QUOTE, APOSTROPHE)
    return bool(load8(data, i) | 0x20 == S and load32(data, i + 1) == ECRE)


@inlined
def _may_be_name(data: Bytes, lo: int, at: int) -> bool:
    """Whether `_trigger` has to look at what is before the ":" at `at`: nearly all of them end other words."""
    return at - 4 >= lo and (_is(data, at - 1, GAP) or load32(data, at - 4) | LOWER in (KIND, TION, KEY, IKEY, OKEN))


@kernel
def _token_run(data: Bytes, lo: int, start: int, hi: int, document: int, mask: int, places: Int64s, n: int) -> int:
    """Append the places where a run of token characters from `start` on, or the name before it, may begin a secret."""
    end, digits, alnums = _run_from(data, start, hi)
    if not alnums or (end - start < SHORTEST_RUN and not digits):
        return n  # a line of dashes, a word
    head, infix = start, False
    link, name, has_operator = _name_before(data, lo, start)
    if link < start:
        joined = start - link == 1 and _is(data, link, JOIN)
        if (has_operator or joined) and digits and mask & (1 << CREDENTIAL) and name < link:
            if n + 2 > len(places):
                return -1
            random = end - start >= SHORTEST_RUN and _is_random(data, start, end)
            if has_operator and not (name > lo and _is(data, name - 1, NAME)):
                kinds = _kinds_of_name(data, name, link)
                if kinds & OF_VENDOR or (kinds and random and _may_hold(data, link, start, end, hi)):
                    n = _add_place(places, n, document, name - lo, CREDENTIAL)
            if joined and end - start >= SHORTEST_RUN:
                # What is before the run may be the beginning of the value.
                link_2, name_2, has_operator_2 = _name_before(data, lo, name)
                if name_2 < link_2 and has_operator_2 and not (name_2 > lo and _is(data, name_2 - 1, NAME)):
                    kinds = _kinds_of_name(data, name_2, link_2)
                    if kinds & OF_VENDOR or (kinds and random):
                        n = _add_place(places, n, document, name_2 - lo, CREDENTIAL)
        if end - start < SHORTEST_RUN:
            return n
        head = name
        while head > lo and link - head < LONGEST_HEAD and _is(data, head - 1, IN_HEAD):
            head -= 1
        infix = _has_infix(data, lo, start, link)
    elif end - start < SHORTEST_RUN:
        return n
    secrets, wallets = mask & (1 << SECRET), mask & (1 << WALLET) and digits
    before = ONE if head > lo and _is(data, head - 1, IN_WORD) else NO_BITS
    for block in range(head, end, 64):
        (words,) = _words(data, block)
        starts = words & ~((words << ONE) | before) & below(min(end - block, 64))
        before = words >> U(63)
        while starts != NO_BITS:
            at = block + lowest_bit(starts)
            starts &= starts - ONE
            if secrets and ((infix and at < start) or _has_prefix(data, at) or _has_suffix(data, at, end)):
                n = _add_place(places, n, document, at - lo, SECRET)
            if wallets and at >= start and end - at >= SHORTEST_WALLET and _is(data, at, COIN):
                stop = at
                while stop < end and stop - at <= LONGEST_WALLET and _is(data, stop, IN_WORD):
                    stop += 1
                if n >= 0 and SHORTEST_WALLET <= stop - at <= LONGEST_WALLET:
                    n = _add_place(places, n, document, at - lo, WALLET)
            if n < 0:
                return n
    return n


@inlined
def _run_from(data: Bytes, start: int, hi: int) -> Any:
    """(end, digits, alnums): where the token characters from `start` on end, and whether digits, and letters or
    digits, are among them."""
    end = start
    digits = alnums = False
    while end < hi:
        tokens, of_digits, of_alnums = _runs(data, end)
        size = lowest_bit(~(tokens & below(min(hi - end, 64))))
        inside = below(size)
        digits |= of_digits & inside != NO_BITS
        alnums |= of_alnums & inside != NO_BITS
        end += size
        if size < 64:
            break
    return end, digits, alnums


@inlined
def _is_short(data: Bytes, start: int, hi: int) -> bool:
    """Whether the run from `start` on, of SHORTEST characters or more, has fewer than SHORTEST_RUN."""
    last = start + SHORTEST_RUN - 1
    return bool(last >= hi or not _is(data, last, TOKEN) or not _is(data, last - 1, TOKEN))


@inlined
def _has_digit(data: Bytes, start: int) -> bool:
    """Whether a digit is among the first SHORTEST characters of a run: of its characters only digits have the bit 0x10
    and not 0x40."""
    first, last = load64(data, start), load64(data, start + SHORTEST - 8)
    return bool((first & ~(first >> U(2)) | last & ~(last >> U(2))) & DIGIT_BITS != NO_BITS)


@inlined
def _kinds_of_name(data: Bytes, name: int, link: int) -> Any:
    """NAMED and OF_VENDOR, if the name may contain one of these; never less than what it contains."""
    kinds = np.uint8(0)
    for i in range(name, link - 2):
        four = load32(data, i) | LOWER
        kinds |= _FOURS[_hash(four)] | _THREES[_hash(four & LOW_THREE)]
    return kinds


@inlined
def _hash(letters: np.uint32) -> Any:
    return np.int64((U(letters) * _HASH & _HASH_MASK) >> _HASH_SHIFT)


@inlined
def _is_random(data: Bytes, start: int, end: int) -> bool:
    """Whether small letters, capitals and digits alternate as `looks_random` wants it, or it is a UUID."""
    changes = letters = 0
    sort = NO_SORT
    for i in range(start, end):
        now = _BYTES[load8(data, i)] & SORTS
        if now:
            changed = sort != NO_SORT and now != sort  # noqa: PLR1714 - numba knows no `in` over two types of number
            changes += changed and not (sort == CAPITAL and now == SMALL)
            letters += 1
            sort = now
    return 5 * changes >= letters or (end - start == 36 and load8(data, start + 8) == DASH)


@inlined
def _name_before(data: Bytes, lo: int, start: int) -> Any:
    """(link, name, has_operator): where what joins a name to `start` begins, where the name does, and whether the
    former has an operator. Without a link, or with blanks and quotes alone, all is at `start`."""
    if start <= lo or not _is(data, start - 1, LINK):
        return start, start, False
    if not _is(data, start - 1, MARK) and (start - 2 < lo or not _is(data, start - 2, LINK)):
        return start, start, False  # a blank or a quote alone, as before most runs
    # Maps of the 64 bytes before, the last of which is the highest bit; a text may begin within them.
    size = min(start, 64)
    links, marks, operators, names = _befores(data, start - size)
    in_text = below(min(start - lo, 64)) << U(64 - min(start - lo, 64) & 63)
    shift = U(64 - size & 63)
    link = min(highest_zeros(~(links << shift & in_text)), LONGEST_LINK)
    if marks << shift & ~(ALL_BITS >> U(link)) == NO_BITS:
        return start, start, False
    has_operator = operators << shift & ~(ALL_BITS >> U(link)) != NO_BITS
    name = min(highest_zeros(~((names << shift & in_text) << U(link))), LONGEST_NAME)
    return start - link, start - link - name, has_operator


@inlined
def _may_hold(data: Bytes, link: int, start: int, end: int, hi: int) -> bool:
    """Whether the link has ":" or "=", or joins two strings in quotes, or is the end of a tag before another."""
    for i in range(link, start):
        if load8(data, i) in (COLON, EQUALS):
            return True
        if load8(data, i) == COMMA:
            return not (load8(data, start - 1) <= 32 or load8(data, start - 1) == COMMA)
    return end < hi and (load8(data, end) <= 32 or _is(data, end, JOIN) or load8(data, end) == LESS)


@inlined
def _has_infix(data: Bytes, lo: int, start: int, link: int) -> bool:
    """Whether what joins the run to the word before it is a mark of one of the formats without prefix."""
    if start - link != 1 or start - 5 < lo:
        return False
    mark = load8(data, link)
    if mark == DOT:
        return bool(load32(data, start - 4) == ATLAS)
    return (mark in (BAR, PERCENT) or (mark == COLON and load8(data, start) == A)) and _is(data, link - 1, DIGIT)


@inlined
def _has_suffix(data: Bytes, at: int, end: int) -> bool:
    """Whether from `at` to `end` it is a key of MaxMind."""
    return bool(end - at >= 40 and load32(data, at + 36) == MAXMIND)


@inlined
def _has_prefix(data: Bytes, at: int) -> bool:
    first = load8(data, at)
    if _MAY_BEGIN[np.int64(first & 63) << 6 | load8(data, at + 1) & 63]:
        for i in range(_FROM[first], _FROM[first + 1]):
            if load64(data, at) & _MASKS[i] == _VALUES[i]:
                return True
    return False


def warm_up() -> None:
    places(view(pa.array(["key = AKIAIOSFODNN7EXAMPLE"], pa.large_string())), 1)
