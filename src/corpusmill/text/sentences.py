"""The number of sentences of a text, and where they are."""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, borrowed, load8, lowest_bit
from corpusmill.text.spans import below
from corpusmill.text.unicode import (
    ALNUM,
    LOWER,
    SPACE,
    TERMINAL,
    Classes,
    borrowed_classes,
    class_of,
    classes,
    decode,
    last_class,
)

LF, DOT = 10, 46

# Abbreviations before names or numbers.
ABBREVIATIONS = ("Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Sr", "Jr", "vs", "Fig", "Vol", "Sen", "Rep", "Gen", "Gov")
_ABBREVIATIONS = np.array([int.from_bytes(word.encode(), "big") for word in ABBREVIATIONS], np.int64)
_CLOSERS = np.array([ord(c) for c in "\"')]}»’”"], np.uint32)

_stops = simd.masks(
    simd.either(simd.equal("."), simd.equal("!"), simd.equal("?"), simd.equal("\n")), simd.not_ascii, simd.continuation
)


def sentence_counts(texts: pa.LargeStringArray) -> Int64s:
    r"""The number of sentences of each document, (documents,) int64; 0 for a blank or null one.

    A sentence ends with a line feed, with the text, or with a run of characters of `unicode.terminal` and closing
    quotes or brackets, if white space follows or the first of the run is not ASCII (Chinese has no spaces). A run of
    dots does not end a sentence before a lower-case letter, nor after one of ABBREVIATIONS or a single letter ("J.
    Smith", "e.g. so", "the U.S. Navy"). The text between two ends is a sentence unless it is blank.
    """
    text = view(texts)
    out = np.empty(len(text.offsets) - 1, np.int64)
    _count_all(text, classes(), out)
    return out


def sentence_spans(texts: pa.LargeStringArray) -> tuple[Int64s, Int64s]:
    """The spans of the sentences of `sentence_counts`, without surrounding white space.

    returns   (sentences, 2) first byte and end, from the beginning of the text; and (documents + 1,) the first sentence
              of each document
    """
    text = view(texts)
    offsets = np.zeros(len(text.offsets), np.int64)
    # A sentence and its end have two bytes at least, all but the last one of a text. Room that is not written takes
    # no memory, and to count them first would take as long as to find them.
    spans = np.empty((int(text.offsets[-1] - text.offsets[0]) // 2 + len(text.offsets), 2), np.int64)
    _spans_all(text, classes(), offsets, spans)
    return spans[: offsets[-1]].copy(), offsets


@kernel
def _count_all(text: TextBuffer, classes: Classes, out: Int64s) -> None:
    nowhere = np.empty((0, 2), np.int64)
    for d in range(len(out)):
        out[d] = _walk(text.data, text.offsets[d], text.offsets[d + 1], classes, nowhere)


@kernel
def _spans_all(text: TextBuffer, classes: Classes, offsets: Int64s, spans: Int64s) -> None:
    for d in range(len(offsets) - 1):
        count = _walk(text.data, text.offsets[d], text.offsets[d + 1], classes, spans[offsets[d] :])
        offsets[d + 1] = offsets[d] + count


@kernel
def _walk(data: Bytes, lo: int, hi: int, classes: Classes, spans: Int64s) -> int:
    """The number of sentences of data[lo:hi]; as many as `spans`, (sentences, 2), has room for are written there."""
    # References to what is handed on for every sentence would be counted.
    data, classes, spans = borrowed(data), borrowed_classes(classes), borrowed(spans)
    sentences = 0
    begin = next_start = lo
    for block in range(lo, hi, 64):
        marks, wide, continuation = _stops(data, block)
        stops = (marks | (wide & ~continuation)) & below(min(hi - block, 64))
        while stops != NO_BITS:
            at = block + lowest_bit(stops)
            stops &= stops - ONE
            if at < next_start:
                continue
            if load8(data, at) == LF:
                end = at
                next_start = at + 1
            else:
                code_point, size = decode(data, at)
                if class_of(classes, code_point) & TERMINAL == 0:
                    continue
                end = next_start = _run_end(data, at + size, hi, classes)
                if not _is_end(data, lo, at, end, hi, classes):
                    continue
            sentences += _add(data, lo, begin, end, classes, spans, sentences)
            begin = next_start
    return sentences + _add(data, lo, begin, hi, classes, spans, sentences)


@inlined
def _add(data: Bytes, lo: int, begin: int, end: int, classes: Classes, spans: Int64s, sentences: int) -> int:
    """1 if data[begin:end] is a sentence, which is written if there is room; 0 if it is blank."""
    first = _skip_space(data, begin, end, classes)
    if first >= end:
        return 0
    if sentences < len(spans):
        last = end
        while last_class(data, first, last, classes) & SPACE:
            last -= 1
            while (load8(data, last) & 0xC0) == 0x80:
                last -= 1
        spans[sentences, 0], spans[sentences, 1] = first - lo, last - lo
    return 1


@inlined
def _run_end(data: Bytes, at: int, hi: int, classes: Classes) -> int:
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
def _is_end(data: Bytes, lo: int, at: int, end: int, hi: int, classes: Classes) -> bool:
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
def _abbreviates(data: Bytes, lo: int, dot: int, classes: Classes) -> bool:
    """Whether a single letter, or one of ABBREVIATIONS, precedes the dot."""
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
    is_abbreviation = letters == 1
    for abbreviation in _ABBREVIATIONS:
        is_abbreviation |= word == abbreviation
    return is_abbreviation


@inlined
def _skip_space(data: Bytes, at: int, end: int, classes: Classes) -> int:
    """The first character of data[at:end] that is not white space; the end if there is none."""
    while at < end:
        code_point, size = decode(data, at)
        if class_of(classes, code_point) & SPACE == 0:
            break
        at += size
    return min(at, end)


def warm_up() -> None:
    sentence_counts(pa.array(["Mr. A. is. here"], pa.large_string()))
    sentence_spans(pa.array(["Mr. A. is. here"], pa.large_string()))
