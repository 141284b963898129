"""How many sentences a text has."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.buffers import Text, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, load8, lowest_bit
from corpusmill.text.spans import below
from corpusmill.text.unicode import ALNUM, LOWER, SPACE, TERMINAL, Classes, class_of, classes, decode, last_class

LF, DOT = 10, 46

# Abbreviations that stand before a name or a number.
ABBREVIATIONS = ("Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Sr", "Jr", "vs", "Fig", "Vol", "Sen", "Rep", "Gen", "Gov")
_ABBREVIATIONS = np.array([int.from_bytes(word.encode(), "big") for word in ABBREVIATIONS], np.int64)
_CLOSERS = np.array([ord(c) for c in "\"')]}»’”"], np.uint32)

_stops = simd.masks(
    simd.either(simd.equal("."), simd.equal("!"), simd.equal("?"), simd.equal("\n")), simd.not_ascii, simd.continuation
)


def sentence_counts(texts: pa.LargeStringArray) -> NDArray[np.int64]:
    r"""The number of sentences of each document, (documents,) int64; 0 for a blank or null one.

    A sentence ends with a line feed, with the text, or with a run of characters of `unicode.terminal` and closing
    quotes or brackets, if white space follows or the first of the run is not ASCII (Chinese writes no spaces). A run of
    dots is no end before a lower-case letter, nor after one of ABBREVIATIONS or a single letter ("J. Smith", "e.g. so",
    "the U.S. Navy"). What stands between two ends is a sentence if it is not blank.
    """
    text = view(texts)
    out = np.empty(len(text.offsets) - 1, np.int64)
    _count_all(text, classes(), out)
    return out


@kernel
def _count_all(text: Text, classes: Classes, out: NDArray[np.int64]) -> None:
    for d in range(len(out)):
        out[d] = _count(text.data, text.offsets[d], text.offsets[d + 1], classes)


@kernel
def _count(data: NDArray[np.uint8], lo: int, hi: int, classes: Classes) -> int:
    sentences = 0
    begin = done = lo
    for block in range(lo, hi, 64):
        marks, wide, rest = _stops(data, block)
        stops = (marks | (wide & ~rest)) & below(min(hi - block, 64))
        while stops != NO_BITS:
            at = block + lowest_bit(stops)
            stops &= stops - ONE
            if at < done:
                continue
            if load8(data, at) == LF:
                end = at
                done = at + 1
            else:
                code_point, size = decode(data, at)
                if class_of(classes, code_point) & TERMINAL == 0:
                    continue
                end = done = _run_end(data, at + size, hi, classes)
                if not _is_end(data, lo, at, end, hi, classes):
                    continue
            sentences += not _is_blank(data, begin, end, classes)
            begin = done
    return sentences + (not _is_blank(data, begin, hi, classes))


@inlined
def _run_end(data: NDArray[np.uint8], at: int, hi: int, classes: Classes) -> int:
    """The end of the terminal and closing characters at `at`."""
    while at < hi:
        code_point, size = decode(data, at)
        closes = False
        for closer in _CLOSERS:
            closes |= closer == code_point
        if not closes and class_of(classes, code_point) & TERMINAL == 0:
            break
        at += size
    return at


@kernel
def _is_end(data: NDArray[np.uint8], lo: int, at: int, end: int, hi: int, classes: Classes) -> bool:
    """Whether the run data[at:end] of terminal characters ends a sentence."""
    if end >= hi or load8(data, at) >= 0x80:
        return True
    code_point, size = decode(data, end)
    if class_of(classes, code_point) & SPACE == 0:
        return False
    if load8(data, at) != DOT:
        return True
    if _abbreviates(data, lo, at, classes):
        return False
    while end < hi and class_of(classes, code_point) & SPACE:
        if code_point == LF:
            return True
        end += size
        code_point, size = decode(data, end)
    return end >= hi or bool(class_of(classes, code_point) & LOWER == 0)


@inlined
def _abbreviates(data: NDArray[np.uint8], lo: int, dot: int, classes: Classes) -> bool:
    """Whether a single letter, or one of ABBREVIATIONS, stands before the dot."""
    letters = 0
    word: Any = 0
    at = dot
    while at > lo and letters <= 4:
        byte = np.int64(load8(data, at - 1))
        if not 65 <= (byte & 0xDF) <= 90:
            break
        word |= byte << (8 * letters)
        letters += 1
        at -= 1
    if letters == 0 or letters > 4 or (at > lo and (last_class(data, lo, at, classes) & ALNUM) != 0):
        return False
    known = letters == 1
    for abbreviation in _ABBREVIATIONS:
        known |= word == abbreviation
    return known


@inlined
def _is_blank(data: NDArray[np.uint8], at: int, end: int, classes: Classes) -> bool:
    while at < end:
        code_point, size = decode(data, at)
        if class_of(classes, code_point) & SPACE == 0:
            return False
        at += size
    return True


def warm_up() -> None:
    sentence_counts(pa.array(["Mr. A. is. here"], pa.large_string()))
