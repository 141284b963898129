"""The scan for places where a secret may begin.

All formats have a run of 16 or more characters of [A-Za-z0-9_+/-], of which ordinary text has about one per kilobyte,
or begin with five dashes, or are near one of [@~:=] or "-u" with a certain word before it. A scan of bit maps stops
only there and proposes what has a known prefix or a name.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.buffers import Text
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, load8, load32, load64, lowest_bit, moved_up
from corpusmill.text.secrets.formats import FORMATS
from corpusmill.text.secrets.named import LONGEST_NAME
from corpusmill.text.spans import below

SECRET, WALLET, CREDENTIAL, TRIGGERS = range(4)  # sorts of places; triggers are those of `contexts`, from TRIGGERS on
AT_URL, AT_OPTION, AT_HEADER, AT_MANIFEST, AT_ASSIGNMENT, AT_PAIR = range(TRIGGERS, TRIGGERS + 6)
LONGEST_LINK, LONGEST_HEAD, LONGEST_WALLET = 24, 88, 62
LONGEST_GAP = 3  # bytes between a name and its ":"


def places(text: Text, wanted: int) -> NDArray[np.int64]:
    """(places, 3) int64: document, byte from its beginning, sort; in no order, some twice.

    wanted   bit f for the family with number f
    """
    found = np.empty((64 + (int(text.offsets[-1] - text.offsets[0]) >> 10), 3), np.int64)
    while (count := _propose_all(text, wanted, found)) < 0:
        found = np.empty((2 * len(found), 3), np.int64)
    return found[:count]


# For the kernel: the first eight bytes of every prefix, sorted; those with first byte b are _FROM[b:b + 2].

_HEADS = sorted({prefix.encode()[:8] for form in FORMATS for prefix in form.prefixes})
_VALUES = np.array([int.from_bytes(head.ljust(8, b"\0"), "little") for head in _HEADS], np.uint64)
_MASKS = np.array([(1 << 8 * len(head)) - 1 for head in _HEADS], np.uint64)
_FROM = np.searchsorted([head[0] for head in _HEADS], np.arange(257)).astype(np.int64)

TOKEN, IN_WORD, LINK, OPERATOR, NAME, COIN, DIGIT, CAPITAL, SMALL, HEAD, JOIN, GAP, SLASH, HEXADECIMAL, TAIL = (
    np.uint32(1) << np.arange(15, dtype=np.uint32)
)
SORTS, NO_SORT = DIGIT | CAPITAL | SMALL, np.uint32(0)
_BYTES = np.zeros(256, np.uint32)
for _byte in range(128):
    _c = chr(_byte)
    _BYTES[_byte] = (
        TOKEN * (_c.isalnum() or _c in "_+/-")
        | IN_WORD * (_c.isalnum() or _c == "_")
        | LINK * (_c in " \t\n\"'`:=>.,|~")
        | OPERATOR * (_c in ":=>,")
        | NAME * (_c.isalnum() or _c in "_-")
        | HEAD * (_c.isalnum() or _c in "_-.~")
        | JOIN * (_c in ".~=")
        | SLASH * (_c == "/")
        | HEXADECIMAL * (_c in "0123456789abcdef")
        | TAIL * (_c in " \t\"'0123456789abcdefntyDENTY")
        | GAP * (_c in " \t\"'")
        | COIN * (_c in "13b0")
        | DIGIT * _c.isdigit()
        | CAPITAL * _c.isupper()
        | SMALL * _c.islower()
    )
_stops = simd.masks(
    simd.either(
        simd.ascii_letter, simd.ascii_digit, simd.equal("_"), simd.equal("+"), simd.equal("/"), simd.equal("-")
    ),
    simd.equal("-"),
    simd.either(simd.equal("@"), simd.equal("~")),
    simd.equal(":"),
    simd.equal("u"),
    simd.letter("w"),
    simd.either(simd.letter("p"), simd.letter("s")),
)
DASH, B, AT, TILDE, COLON, EQUALS, Q, A, BAR, DOT, COMMA, LESS, W, D, S, BLANK, TAB, QUOTE, APOSTROPHE = (
    b"-B@~:=QA|.,<wds \t\"'"
)


def _word(word: str) -> np.uint32:
    return np.uint32(int.from_bytes(word.encode().ljust(4, b"\0"), "little"))


LOWER, LOW_THREE = np.uint32(0x20202020), np.uint32(0xFFFFFF)
SCHEME_END = _word("://")
KIND, ECRE, ATLAS, MAXMIND = map(_word, ("kind", "ecre", "sv1.", "_mmk"))
TION, RIZA, KEY, IKEY, OKEN, WORD_ = map(_word, ("tion", "riza", "-key", "ikey", "oken", "word"))


@kernel
def _propose_all(text: Text, wanted: int, places: NDArray[np.int64]) -> Any:
    """Write the places of all documents; returns how many there are, -1 if there is not enough room."""
    n: Any = np.int64(0)
    for d in range(len(text.offsets) - 1):
        n = _propose(text.data, text.offsets[d], text.offsets[d + 1], d, wanted, places, n)
        if n < 0:
            return n
    return n


@kernel
def _propose(
    data: NDArray[np.uint8], lo: int, hi: int, document: int, wanted: int, places: NDArray[np.int64], n: int
) -> int:
    """Append (document, place, sort) for each place where a match may begin; returns the new count, -1 for no room."""
    # Bit i of the map t4 is set if the 4 bytes up to byte i are token characters, and so on; b4 is the previous map.
    b1 = b2 = b4 = b8 = b16 = e1 = e2 = e5 = p1 = NO_BITS
    for block in range(lo, hi, 64):
        tokens, dashes, marks, colons, us, ws, ps = _stops(data, block)
        valid = below(min(hi - block, 64))
        t1, d1 = tokens & valid, dashes & valid
        t2 = t1 & moved_up(t1, b1, 1)
        t4 = t2 & moved_up(t2, b2, 2)
        t8 = t4 & moved_up(t4, b4, 4)
        t16 = t8 & moved_up(t8, b8, 8)
        long = t16 & ~moved_up(t16, b16, 1)
        b1, b2, b4, b8, b16 = t1, t2, t4, t8, t16
        d2 = d5 = fifth = NO_BITS
        options = us & moved_up(d1, e1, 1) | ws & moved_up(ps, p1, 1)
        p1 = ps
        if d1 != NO_BITS:
            d2 = d1 & moved_up(d1, e1, 1)
            d5 = d2 & moved_up(d2, e2, 2) & moved_up(d1, e1, 4)
            fifth = d5 & ~moved_up(d5, e5, 1)
        e1, e2, e5 = d1, d2, d5
        near = (marks | colons | options) & valid
        while near != NO_BITS:
            at = block + lowest_bit(near)
            near &= near - ONE
            if load8(data, at) == COLON and not _may_be_name(data, lo, at):
                continue
            sort, place = _trigger(data, lo, at, hi, wanted)
            if sort >= 0:
                if n == len(places):
                    return -1
                places[n, 0], places[n, 1], places[n, 2] = document, place - lo, sort
                n += 1
        while long != NO_BITS:
            n = _token_run(data, lo, block + lowest_bit(long) - 15, hi, document, wanted, places, n)
            if n < 0:
                return n
            long &= long - ONE
        while fifth != NO_BITS and wanted & (1 << SECRET):
            end = block + lowest_bit(fifth) + 1
            fifth &= fifth - ONE
            while end < hi and load8(data, end) == DASH:
                end += 1
            if end < hi and load8(data, end) == B:
                if n == len(places):
                    return -1
                places[n, 0], places[n, 1], places[n, 2] = document, end - 5 - lo, SECRET
                n += 1
    return n


@inlined
def _is(data: NDArray[np.uint8], at: int, kinds: np.uint32) -> bool:
    return bool((_BYTES[load8(data, at)] & kinds) != 0)


@kernel
def _trigger(data: NDArray[np.uint8], lo: int, at: int, hi: int, wanted: int) -> Any:
    """(sort, place) of what may be around one of "@~:", the "u" of "-u" or the "w" of "password" or "pwd"; sort -1 if
    nothing can be."""
    byte = load8(data, at)
    nothing = np.int64(-1), at
    if byte | 0x20 == W:
        holds = wanted & (1 << CREDENTIAL) and (load8(data, at + 1) | 0x20 == D or load32(data, at) | LOWER == WORD_)
        return (np.int64(AT_ASSIGNMENT), at) if holds else nothing
    if not wanted & (1 << SECRET):
        return nothing
    if byte == AT:
        i = at
        while i > lo and at - i < 200 and load8(data, i - 1) > 32 and not _is(data, i - 1, SLASH):
            i -= 1
        return (np.int64(AT_URL), at) if i - 3 > lo and load32(data, i - 3) & LOW_THREE == SCHEME_END else nothing
    if byte == TILDE:
        holds = at - 5 >= lo and load8(data, at - 1) == Q and _is(data, at - 2, DIGIT)
        holds = holds and not (at - 5 > lo and _is(data, at - 6, IN_WORD))
        return (np.int64(SECRET), at - 5) if holds else nothing
    if byte != COLON:
        spaced = at - 2 > lo and (load8(data, at - 2) <= 32 or (load8(data, at - 2) == DASH and at - 3 > lo))
        return (np.int64(AT_OPTION), at) if spaced else nothing
    if at - 4 < lo or not _is(data, at - 1, TAIL):
        return nothing
    end = at
    while end > lo and at - end < LONGEST_GAP and _is(data, end - 1, GAP):
        end -= 1
    if end - 4 < lo:
        return nothing
    last = load32(data, end - 4) | LOWER
    if last == KIND and end == at:
        return (np.int64(AT_MANIFEST), at) if _is_of_secret(data, at) else nothing
    if last == TION and end - 8 >= lo and load32(data, end - 8) | LOWER == RIZA:
        return np.int64(AT_HEADER), at
    if last in (KEY, IKEY, OKEN):
        return np.int64(AT_HEADER), at
    if end == at and at - 8 > lo and _is(data, at - 8, HEXADECIMAL):
        start = at
        while start > at - 8 and _is(data, start - 1, HEXADECIMAL):
            start -= 1
        if start == at - 8:
            return np.int64(AT_PAIR), at
    return nothing


@inlined
def _is_of_secret(data: NDArray[np.uint8], at: int) -> bool:
    """Whether "Secret" follows the ":" of "kind:" at `at`, or what begins like it."""
    i = at + 1
    while i < at + 3 and load8(data, i) in (BLANK, TAB):
        i += 1
    i += load8(data, i) in (QUOTE, APOSTROPHE)
    return bool(load8(data, i) | 0x20 == S and load32(data, i + 1) == ECRE)


@inlined
def _may_be_name(data: NDArray[np.uint8], lo: int, at: int) -> bool:
    """Whether `_trigger` has to look at the ":" at `at`: nearly all of them end other words."""
    if at - 4 < lo:
        return False
    if _is(data, at - 1, GAP):
        return True
    last = load32(data, at - 4) | LOWER
    named = last in (KIND, TION, KEY, IKEY, OKEN)
    return named or (at - 8 > lo and _is(data, at - 1, HEXADECIMAL) and _is(data, at - 8, HEXADECIMAL))


@kernel
def _token_run(
    data: NDArray[np.uint8], lo: int, start: int, hi: int, document: int, wanted: int, places: NDArray[np.int64], n: int
) -> int:
    """Append the places where a run of token characters from `start` on, or the name before it, may begin a secret."""
    end = start
    changes = letters = 0  # as counted by `looks_random`
    digits = False
    sort = NO_SORT
    while end < hi and _is(data, end, TOKEN):
        now = _BYTES[load8(data, end)] & SORTS
        if now:
            changed = sort != NO_SORT and now != sort  # noqa: PLR1714 - numba knows no `in` over two types of number
            changes += changed and not (sort == CAPITAL and now == SMALL)
            digits |= now == DIGIT
            letters += 1
            sort = now
        end += 1
    if letters == 0:
        return n  # a line of dashes
    link, name, given = _name_before(data, lo, start)
    random = digits and (5 * changes >= letters or (end - start == 36 and load8(data, start + 8) == DASH))  # a UUID
    if random and wanted & (1 << CREDENTIAL) and name < link:
        if n + 2 > len(places):
            return -1
        if given and _may_hold(data, link, start, end, hi) and not (name > lo and _is(data, name - 1, NAME)):
            places[n, 0], places[n, 1], places[n, 2] = document, name - lo, CREDENTIAL
            n += 1
        if start - link == 1 and _is(data, link, JOIN):
            # What is before the run may be the beginning of the value.
            link_2, name_2, given_2 = _name_before(data, lo, name)
            if name_2 < link_2 and given_2 and not (name_2 > lo and _is(data, name_2 - 1, NAME)):
                places[n, 0], places[n, 1], places[n, 2] = document, name_2 - lo, CREDENTIAL
                n += 1
    head = name
    while head > lo and link - head < LONGEST_HEAD and _is(data, head - 1, HEAD):
        head -= 1
    infix = _has_infix(data, lo, start, link)
    for at in range(head, end):
        if not _is(data, at, IN_WORD) or (at > lo and _is(data, at - 1, IN_WORD)):
            continue
        if n + 2 > len(places):
            return -1
        if wanted & (1 << SECRET) and ((infix and at < start) or _has_prefix(data, at) or _has_suffix(data, at, end)):
            places[n, 0], places[n, 1], places[n, 2] = document, at - lo, SECRET
            n += 1
        if wanted & (1 << WALLET) and at >= name and _is(data, at, COIN):
            stop = at
            while stop < end and stop - at <= LONGEST_WALLET and _is(data, stop, IN_WORD):
                stop += 1
            if 26 <= stop - at <= LONGEST_WALLET:
                places[n, 0], places[n, 1], places[n, 2] = document, at - lo, WALLET
                n += 1
    return n


@inlined
def _name_before(data: NDArray[np.uint8], lo: int, start: int) -> Any:
    """(link, name, given): where what joins a name to `start` begins, where the name does, and whether the former has
    an operator. Without a link, all is at `start`."""
    link = start
    given = False
    while link > lo and start - link < LONGEST_LINK and _is(data, link - 1, LINK):
        link -= 1
        given |= _is(data, link, OPERATOR)
    name = link
    if link < start:
        while name > lo and link - name < LONGEST_NAME and _is(data, name - 1, NAME):
            name -= 1
    return link, name, given


@inlined
def _may_hold(data: NDArray[np.uint8], link: int, start: int, end: int, hi: int) -> bool:
    """Whether the link has ":" or "=", or joins two strings in quotes, or is the end of a tag before another."""
    for i in range(link, start):
        if load8(data, i) in (COLON, EQUALS):
            return True
        if load8(data, i) == COMMA:
            return not (load8(data, start - 1) <= 32 or load8(data, start - 1) == COMMA)
    return end < hi and (load8(data, end) <= 32 or _is(data, end, JOIN) or load8(data, end) == LESS)


@inlined
def _has_infix(data: NDArray[np.uint8], lo: int, start: int, link: int) -> bool:
    """Whether what joins the run to the word before it is a mark of one of the formats without prefix."""
    if start - link != 1 or start - 5 < lo:
        return False
    mark = load8(data, link)
    if mark == DOT:
        return bool(load32(data, start - 4) == ATLAS)
    return (mark == BAR or (mark == COLON and load8(data, start) == A)) and _is(data, link - 1, DIGIT)


@inlined
def _has_suffix(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether from `at` to `end` it is a key of MaxMind."""
    return bool(end - at >= 40 and load32(data, at + 36) == MAXMIND)


@inlined
def _has_prefix(data: NDArray[np.uint8], at: int) -> bool:
    first = load8(data, at)
    for i in range(_FROM[first], _FROM[first + 1]):
        if load64(data, at) & _MASKS[i] == _VALUES[i]:
            return True
    return False
