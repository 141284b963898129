"""Where the words and lines of a document are.

The bytes are read once, 64 at a time, into bit maps (one bit per byte); the ends of words and lines are then read from
the maps by counting trailing zeros. Bit maps also give the number of characters, or words, that begin before byte x in
constant time, so later kernels work in bytes and still count in characters.

All positions are bytes from the beginning of the document.
"""

from typing import Any, NamedTuple

import numpy as np

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int32s, Int64s, UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, NO_BITS, ONE, Bits, U, count_bits, lowest_bit
from corpusmill.text.sets import room_for
from corpusmill.text.unicode import BREAK, SPACE, Classes, class_of, decode

ELLIPSIS = 0x2026

_text_masks = simd.masks(
    simd.ascii_space,
    simd.ascii_letter,
    simd.ascii_upper,
    simd.ascii_digit,
    simd.ascii_mark,
    simd.not_ascii,
    simd.continuation,
    simd.ascii_break,
    simd.equal("."),
    simd.equal("#"),
    simd.wide_space_lead,
)


class SpanScratch(NamedTuple):
    """Working memory for one document at a time, some 40 bytes per byte of the longest; most of it is rarely touched.

    letter upper digit wide   bit maps: ASCII letters, ASCII capitals, ASCII digits, bytes of other characters
    opens lead                bit maps: first bytes of words, first bytes of characters
    words_before chars_before of each 64-byte block
    start end                 of each word
    line_break                first byte of each character that str.splitlines() breaks at
    size chars flags hash     of each word (see `words`)
    table head times          a hash table, and of each key where it first occurs and how often
    pos name slot             of n-grams (see `grams`)
    """

    letter: UInt64s
    upper: UInt64s
    digit: UInt64s
    wide: UInt64s
    opens: UInt64s
    lead: UInt64s
    words_before: Int32s
    chars_before: Int32s
    start: Int32s
    end: Int32s
    line_break: Int32s
    size: Int32s
    chars: Int32s
    flags: Bytes
    hash: UInt64s
    table: UInt64s
    head: Int32s
    times: Int32s
    pos: Int32s
    name: Int32s
    slot: Int32s


class SpanCounts(NamedTuple):
    """Counts of one document by `find_spans`; the last four count ASCII characters only."""

    words: int
    breaks: int
    chars: int
    hashes: int
    ellipses: int
    upper: int
    digits: int
    marks: int
    special: int


@kernel
def longest(offsets: Int64s) -> int:
    size = 0
    for d in range(len(offsets) - 1):
        size = max(size, offsets[d + 1] - offsets[d])
    return size


@inlined
def most_words(size: int) -> int:
    """In so many bytes: two words are separated by a space."""
    return size // 2 + 2


@kernel
def make_scratch(size: int, words: int) -> SpanScratch:
    """Scratch for documents of up to `size` bytes and `words` words."""
    i32, u64 = np.int32, np.uint64
    blocks = size // 64 + 3
    slots = room_for(words)
    return SpanScratch(
        letter=np.zeros(blocks, u64),
        upper=np.zeros(blocks, u64),
        digit=np.zeros(blocks, u64),
        wide=np.zeros(blocks, u64),
        opens=np.zeros(blocks, u64),
        lead=np.zeros(blocks, u64),
        words_before=np.zeros(blocks, i32),
        chars_before=np.zeros(blocks, i32),
        start=np.empty(words, i32),
        end=np.empty(words, i32),
        line_break=np.empty(size + 1, i32),
        size=np.empty(words, i32),
        chars=np.empty(words, i32),
        flags=np.empty(words, np.uint8),
        hash=np.empty(words, u64),
        table=np.empty(slots, u64),
        head=np.empty(slots, i32),
        times=np.empty(slots, i32),
        pos=np.empty(words, i32),
        name=np.empty(words, i32),
        slot=np.empty(words, i32),
    )


@inlined
def below(k: int) -> Bits:
    """The k lowest bits, 0 <= k <= 64."""
    return ALL_BITS >> U(64 - k) if k > 0 else NO_BITS


@inlined
def take(bits: UInt64s, at: int, k: int) -> Bits:
    """k bits of a map from position `at`, 1 <= k <= 64."""
    block, shift = at >> 6, U(at & 63)
    return ((bits[block] >> shift) | ((bits[block + 1] << ONE) << (U(63) - shift))) & below(k)


@inlined
def rank(bits: UInt64s, before: Int32s, at: int) -> Any:
    """How many bits of a map are set below position `at`."""
    block = at >> 6
    return before[block] + count_bits(bits[block] & below(at & 63))


@inlined
def words_before(s: SpanScratch, at: int) -> Any:
    return rank(s.opens, s.words_before, at)


@inlined
def chars_between(s: SpanScratch, start: int, end: int) -> Any:
    return rank(s.lead, s.chars_before, end) - rank(s.lead, s.chars_before, start)


@kernel
def find_spans(data: Bytes, lo: int, hi: int, classes: Classes, s: SpanScratch) -> SpanCounts:
    """Fill the bit maps of data[lo:hi] and the tables of its words and line breaks.

    Words are those of `str.split()`, breaks those of `str.splitlines()` (CR LF is two here).
    """
    words = ends = breaks = chars = hashes = ellipses = upper_case = digits = marks = special = 0
    dots, last_dot = 0, -2
    inside = NO_BITS  # the byte before this block is part of a word
    spill = NO_BITS  # bytes of this block that belong to a wide space of the previous block
    for block in range(0, hi - lo, 64):
        base = lo + block
        valid = below(min(hi - base, 64))
        space, letter, upper, digit, mark, wide, continuation, brk, dot, hash_sign, suspect = _text_masks(data, base)
        space |= spill
        spill = NO_BITS
        brk &= valid
        suspect &= valid
        while suspect != NO_BITS:
            k = lowest_bit(suspect)
            suspect &= suspect - ONE
            code_point, size = decode(data, base + k)
            if code_point == ELLIPSIS:
                ellipses += 1
                continue
            kind = class_of(classes, code_point)
            if kind & SPACE:
                run = below(size)
                space |= run << U(k)
                if k + size > 64:
                    spill = run >> U(64 - k)
                if kind & BREAK:
                    brk |= ONE << U(k)
        space |= ~valid
        dot &= valid
        while dot != NO_BITS:  # "...." is one ellipsis, "......" two, as for str.count
            k = block + lowest_bit(dot)
            dot &= dot - ONE
            dots = dots + 1 if k == last_dot + 1 else 1
            last_dot = k
            if dots == 3:
                ellipses += 1
                dots = 0

        text = ~space
        shifted = (text << ONE) | inside
        inside = text >> U(63)
        opens, closes = text & ~shifted, space & shifted
        lead = ~continuation & valid
        w = block >> 6
        s.letter[w], s.upper[w], s.digit[w], s.wide[w], s.lead[w], s.opens[w] = letter, upper, digit, wide, lead, opens
        s.words_before[w], s.chars_before[w] = words, chars
        chars += count_bits(lead)
        hashes += count_bits(hash_sign & valid)
        upper_case += count_bits(upper & valid)
        digits += count_bits(digit & valid)
        marks += count_bits(mark & valid)
        special += count_bits(text & ~(letter | digit | wide))
        while opens != NO_BITS:
            s.start[words] = block + lowest_bit(opens)
            words += 1
            opens &= opens - ONE
        while closes != NO_BITS:
            s.end[ends] = block + lowest_bit(closes)
            ends += 1
            closes &= closes - ONE
        while brk != NO_BITS:
            s.line_break[breaks] = block + lowest_bit(brk)
            breaks += 1
            brk &= brk - ONE
    if ends < words:
        s.end[ends] = hi - lo
    w = (hi - lo + 63) >> 6
    s.letter[w] = s.upper[w] = s.digit[w] = s.wide[w] = s.lead[w] = s.opens[w] = NO_BITS
    s.words_before[w], s.chars_before[w] = words, chars
    return SpanCounts(words, breaks, chars, hashes, ellipses, upper_case, digits, marks, special)
