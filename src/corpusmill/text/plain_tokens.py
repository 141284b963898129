"""Tokens without a model: words, and single characters of scripts without spaces.

A token is
- a maximal run of letters, digits and combining marks (Unicode categories L, N, M); or
- a single character of a script without spaces between words (`ALONE`); or
- any other single character: punctuation, symbols, controls.

White space (str.isspace) separates tokens and belongs to none. Every other byte of a text is in exactly one token.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, U, borrowed, load8, lowest_bit
from corpusmill.text.unicode import SPACE, SPECIAL, Classes, borrowed_classes, class_of, classes, decode

_ascii_masks = simd.masks(simd.ascii_space, simd.either(simd.ascii_letter, simd.ascii_digit))

# First and last code point of the scripts without spaces between words.
ALONE = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x312F),  # ideographic marks, Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),  # more Bopomofo, strokes, more Katakana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han, compatibility
    (0xFF66, 0xFF9F),  # Katakana, half width
    (0x1AFF0, 0x1B16F),  # rare Kana
    (0x20000, 0x3FFFF),  # rare Han
)


def count_tokens(texts: pa.LargeStringArray) -> Int64s:
    """(documents,) the number of tokens of each text; 0 for a null."""
    text = view(texts)
    counts = np.zeros(len(text.offsets) - 1, np.int64)
    _count(text, classes(), counts)
    return counts


def token_spans(text: str) -> list[tuple[int, int]]:
    """First byte and end of each token of one text.

    >>> data = "It's 3.5°, 东京!".encode()
    >>> [data[start:end].decode() for start, end in token_spans(data.decode())]
    ['It', "'", 's', '3', '.', '5', '°', ',', '东', '京', '!']
    """
    buffer = view(pa.array([text], pa.large_string()))
    spans = np.empty((int(buffer.offsets[-1]), 2), np.int64)
    count = _spans(buffer, classes(), spans)
    return [(start, end) for start, end in spans[:count].tolist()]


@kernel
def _count(text: TextBuffer, classes: Classes, counts: Int64s) -> None:
    data, classes = borrowed(text.data), borrowed_classes(classes)
    for d in range(len(counts)):
        at: Any = text.offsets[d]
        hi = text.offsets[d + 1]
        tokens = 0
        while True:
            start, at = next_token(data, at, hi, classes)
            if start == at:
                break
            tokens += 1
        counts[d] = tokens


@kernel
def _spans(text: TextBuffer, classes: Classes, spans: Int64s) -> int:
    tokens = 0
    at: Any = text.offsets[0]
    base = at
    while True:
        start, at = next_token(text.data, at, text.offsets[1], classes)
        if start == at:
            return tokens
        spans[tokens, 0], spans[tokens, 1] = start - base, at - base
        tokens += 1


@inlined
def next_token(data: Bytes, at: Any, hi: Any, classes: Classes) -> Any:
    """(first byte, end) of the first token of data[at:hi]; both are hi if there is none.

    `at` must not be inside a token. Never exceeds hi, even if the bytes are not UTF-8.
    """
    start, end, _, _, _ = next_of_block(data, at, hi, classes, at - 64, NO_BITS, NO_BITS)
    return start, end


@inlined
def next_of_block(data: Bytes, at: Any, hi: Any, classes: Classes, block: Any, space: Any, letters: Any) -> Any:
    """`next_token`, and (block, space, letters) for the next call: where 64 bytes begin, and which of them are ASCII
    white space, and ASCII letters and digits. To find those bytes takes longer than to find a token among them.

    block   at - 64 in the first call
    """
    shift = at - block
    if shift < 64 and at < hi:
        start, end = _among(data, at, hi, space >> U(shift), letters >> U(shift), 64 - shift)
        if start < end:
            return start, end, block, space, letters
    if at < hi:  # nearly every ASCII token ends within 64 bytes of the end of the previous one
        space, letters = _ascii_masks(data, at)
        start, end = _among(data, at, hi, space, letters, 64)
        if start < end:
            return start, end, at, space, letters
    start, end = _next_of_any(data, at, hi, classes)
    return start, end, end - 64, NO_BITS, NO_BITS


@inlined
def _among(data: Bytes, at: Any, hi: Any, space: Any, letters: Any, valid: Any) -> Any:
    """The first token if it is ASCII and ends within the `valid` bytes from `at` on; else (at, at)."""
    skipped = lowest_bit(~space)
    start = at + skipped
    if skipped < valid and start < hi and load8(data, start) < 0x80:
        tail = letters >> U(skipped)
        size = max(lowest_bit(~tail), 1)
        end = start + size
        if skipped + size < valid and (end >= hi or load8(data, end) < 0x80 or tail & ONE == NO_BITS):
            return start, min(end, hi)
    return at, at


@kernel
def _next_of_any(data: Bytes, at: int, hi: int, classes: Classes) -> Any:
    start = at
    while start < hi:
        code_point, size = decode(data, start)
        if class_of(classes, code_point) & SPACE == 0:
            break
        start += size
    start = min(start, hi)
    end = start
    while end < hi:
        code_point, size = decode(data, end)
        if class_of(classes, code_point) & (SPACE | SPECIAL) != 0 or in_script_without_spaces(code_point):
            if end == start:
                end += size
            break
        end += size
    return start, min(end, hi)


@inlined
def in_script_without_spaces(code_point: Any) -> bool:
    """Whether a character is in ALONE."""
    if code_point < ALONE[0][0]:
        return False
    for first, last in ALONE:
        if first <= code_point <= last:
            return True
    return False


def warm_up() -> None:
    count_tokens(pa.array(["a b."], pa.large_string()))
    token_spans("a é.")
