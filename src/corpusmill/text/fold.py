"""Text folded for comparison, so that duplicates are equal in spite of case, accents, numbers and punctuation."""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import PAD, TextBuffer, grown, to_arrow, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import ALL_BITS, NO_BITS, U, load8, lowest_bit
from corpusmill.text.simd import copy_16, copy_16_lower
from corpusmill.text.spans import below
from corpusmill.text.unicode import CASED, GAP, IGNORED, MAPPED, NUMBER, POINT, Folding, Gaps, decode, folding, index_of

SPACE, ZERO, CAPITAL_SIGMA = 32, 48, 0x3A3
GROWTH = 3  # maximum of bytes that a byte folds to: a Hangul syllable becomes three letters
SLACK = 32  # bytes that may be written after the end
NUMBERS, CASE = 1, 2  # are folded
UNDERSCORE, SYMBOLS = 4, 8  # are parts of words
EVERYTHING = NUMBERS | CASE

_letters = simd.masks(simd.ascii_letter, simd.ascii_digit, simd.not_ascii)
_spaces = simd.masks(simd.ascii_space)
_underscores = simd.masks(simd.equal("_"))


def fold(
    texts: pa.LargeStringArray, numbers: bool = True, case: bool = True, gaps: Gaps = "punctuation"
) -> pa.LargeStringArray:
    """Each document in lower case, numbers as 0, punctuation and white space as one space, without accents.

    In this order: str.lower; every `[digits](decimal separator [digits])?` becomes "0"; every character of
    `unicode.punctuation` and every run of white space becomes one space; NFD without category Mn; strip. It equals
    datatrove's `simplify_text` (0.10), so that words and shingles do too. Differences: Unicode is pinned at 14.0;
    decomposed characters are not put in canonical order (it matters only for some musical symbols).

    numbers   false: digits stay as they are
    case      false: letters stay as they are, with their accents
    gaps      what becomes a space. "symbols": instead of punctuation all that is neither letter, number nor combining
              mark, but for "_". "space": white space alone, so that punctuation is part of words
    returns   (documents,) large_string; a null becomes ""
    """
    text = view(texts)
    longest = int(np.diff(text.offsets).max(initial=0))
    parts = NUMBERS * numbers | CASE * case | UNDERSCORE * (gaps == "symbols") | SYMBOLS * (gaps == "space")
    tables = folding(numbers, case, gaps)
    offsets = np.zeros(len(text.offsets), np.int64)
    out = np.empty(int(text.offsets[-1] - text.offsets[0]) + (GROWTH - 1) * longest + SLACK + PAD, np.uint8)
    folded = _fold(text, 0, parts, tables, out, offsets)
    while folded < len(offsets) - 1:
        out = grown(out, int(offsets[folded]), GROWTH * longest + SLACK + PAD)
        folded = _fold(text, folded, parts, tables, out, offsets)
    return to_arrow(out[: offsets[-1] + PAD], offsets)


@kernel
def _fold(text: TextBuffer, first: int, parts: int, folding: Folding, out: Bytes, offsets: Int64s) -> int:
    """Fold documents from `first` on; returns the first that may not have room, or the number of documents."""
    for d in range(first, len(offsets) - 1):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        if offsets[d] + GROWTH * (hi - lo) + SLACK + PAD > len(out):
            return d
        offsets[d + 1] = fold_document(text.data, lo, hi, folding, out, offsets[d], parts)
    return len(offsets) - 1


@kernel
def fold_document(data: Bytes, lo: int, hi: int, f: Folding, out: Bytes, begin: int, parts: int) -> int:
    """Write the folded data[lo:hi] at out[begin:]; returns its end.

    f, parts   the tables of what is folded, and the same as bits: EVERYTHING, or others
    """
    p = begin
    at = lo
    gap = False  # a space is pending before the next character
    numbers = ALL_BITS if parts & NUMBERS else NO_BITS
    while at < hi:
        if load8(data, at) < 0x80:
            # ASCII words and gaps up to the next number that is folded or other character, 64 bytes at a time.
            letters, digits, others = _letters(data, at)
            plain = min(lowest_bit(digits & numbers | others), hi - at)
            letters |= digits
            if parts & UNDERSCORE:
                letters |= _underscores(data, at)[0]
            elif parts & SYMBOLS:
                letters = ~_spaces(data, at)[0]
            letters &= below(plain)
            covered: Any = np.intp(0)
            while letters != NO_BITS:
                start = lowest_bit(letters)
                size = lowest_bit(~(letters >> U(start)))
                out[p] = SPACE  # overwritten by the next letter unless a space is due
                p += gap | ((start > covered) & (p > begin))
                gap = False
                for k in range(0, size, 16):
                    if parts & CASE:
                        copy_16_lower(data, at + start + k, out, p + k)
                    else:
                        copy_16(data, at + start + k, out, p + k)
                p += size
                covered = start + size
                letters &= ~below(covered)
            gap = gap or (covered < plain and p > begin)
            at += plain
            if plain > 0:
                continue
        code_point, size = decode(data, at)
        where = index_of(f.block_of, code_point)
        kind = f.kinds[where]
        if kind & NUMBER:  # before GAP: U+FF11 is both
            p = _flush(gap, out, p)
            gap = False
            out[p] = ZERO
            p += 1
            at = number_end(data, at, hi, f)
            continue
        if kind & GAP:
            gap = p > begin
            at += size
            continue
        p = _flush(gap, out, p)
        gap = False
        if kind & MAPPED:
            if code_point == CAPITAL_SIGMA:
                out[p], out[p + 1] = 0xCF, 0x82 if _sigma_is_final(data, lo, at, hi, f) else 0x83
                p += 2
            else:
                source = f.places[where] >> 8
                for k in range(f.places[where] & 0xFF):
                    out[p] = f.pool[source + k]
                    p += 1
        else:
            for k in range(size):
                out[p] = load8(data, at + k)
                p += 1
        at += size
    while p > begin and out[p - 1] == SPACE:  # before combining marks without a base
        p -= 1
    return p


@inlined
def _flush(gap: bool, out: Bytes, p: int) -> int:
    if gap:
        out[p] = SPACE
        return p + 1
    return p


@inlined
def _kind_at(data: Bytes, at: int, f: Folding) -> Any:
    """(folding bits, bytes) of the character at `at`."""
    code_point, size = decode(data, at)
    return f.kinds[index_of(f.block_of, code_point)], size


@kernel
def number_end(data: Bytes, at: int, hi: int, f: Folding) -> int:
    r"""The end of `\d+([.,…]\d+)?` at `at`."""
    separated = False
    while at < hi:
        kind, size = _kind_at(data, at, f)
        if kind & NUMBER:
            at += size
        elif kind & POINT and not separated and at + size < hi:
            following, next_size = _kind_at(data, at + size, f)
            if following & NUMBER == 0:
                break
            separated = True
            at += size + next_size
        else:
            break
    return at


@kernel
def _sigma_is_final(data: Bytes, lo: int, at: int, hi: int, f: Folding) -> bool:
    """Whether the capital sigma at `at` ends a word: a cased letter before it and none after (Unicode 3.13)."""
    before = at
    cased = False
    while before > lo:
        before -= 1
        while before > lo and (load8(data, before) & 0xC0) == 0x80:
            before -= 1
        kind, _ = _kind_at(data, before, f)
        if kind & IGNORED == 0:
            cased = (kind & CASED) != 0
            break
    if not cased:
        return False
    after = at + 2
    while after < hi:
        kind, size = _kind_at(data, after, f)
        if kind & IGNORED == 0:
            return bool((kind & CASED) == 0)
        after += size
    return True


def warm_up() -> None:
    fold(pa.array(["ΑΣ 1.5, É"], pa.large_string()))
