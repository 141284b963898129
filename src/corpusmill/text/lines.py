"""Statistics of lines and paragraphs, in one walk over the line breaks of a document."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import quick_hash
from corpusmill.text.lowlevel import load8, load32
from corpusmill.text.sets import cleared, seen_before
from corpusmill.text.spans import SpanScratch, chars_between, words_before
from corpusmill.text.unicode import TERMINAL, Classes, decode, last_class

LF, CR, DASH = 10, 13, 45
BULLET, ELLIPSIS = 0xA280E2, 0xA680E2  # their UTF-8, as the low three bytes of a little-endian load
THREE_DOTS = 0x2E2E2E
SHORT_LINE = 30  # characters


@kernel
def line_statistics(data: Bytes, lo: int, hi: int, breaks: int, classes: Classes, s: SpanScratch, out: Any) -> None:
    """Fill the fields of the record that count lines, by the three definitions of a line in `stats.STATS`."""
    lines = bullets = dotted = 0
    newlines = filled = duplicates = duplicate_chars = 0
    full = terminal = short = repeated_chars = 0
    mask = cleared(s.table, min(breaks + 1, len(s.start)))
    size = hi - lo
    zero: Any = np.int64(0)  # a literal 0 is another type, for which every callee would be compiled again
    line_start = line_word = zero  # of the current line of str.splitlines()
    lf_start = lf_word = zero  # of the current line of text.split("\n")
    for b in range(breaks + 1):
        last = b == breaks
        at = size if last else s.line_break[b]
        character = LF if last else load8(data, lo + at)
        if character == CR and at + 1 < size and load8(data, lo + at + 1) == LF:
            continue  # CR LF is one break
        word = words_before(s, at)
        if not last or at > line_start:
            lines += 1
            if word > line_word:
                bullets += _starts_with_bullet(data, lo + s.start[line_word])
                dotted += _ends_with_ellipsis(data, lo, lo + s.end[word - 1])
        line_start = at + (1 if character < 0x80 else decode(data, lo + at)[1])
        line_word = word
        if character == LF:
            newlines += not last
            if at > lf_start:
                filled += 1
                repeated = seen_before(s.table, mask, quick_hash(data, lo + lf_start, at - lf_start))
                chars = chars_between(s, lf_start, at)
                duplicates += repeated
                duplicate_chars += chars * repeated
                if word > lf_word:
                    full += 1
                    terminal += (last_class(data, lo, lo + at, classes) & TERMINAL) != 0
                    short += chars <= SHORT_LINE
                    repeated_chars += chars * repeated
            lf_start, lf_word = at + 1, word
    if size > 0:  # re.split(r"\n+") returns an empty first or last piece
        leading, trailing = load8(data, lo) == LF, load8(data, hi - 1) == LF
        filled += leading + trailing
        duplicates += leading and trailing
    out.newlines, out.lines, out.bullet_lines, out.ellipsis_lines = newlines, lines, bullets, dotted
    out.filled_lines, out.duplicate_lines, out.duplicate_line_chars = filled, duplicates, duplicate_chars
    out.full_lines, out.terminal_lines = full, terminal
    out.short_lines, out.repeated_line_chars = short, repeated_chars


@kernel
def paragraph_statistics(data: Bytes, lo: int, words: int, breaks: int, s: SpanScratch, out: Any) -> None:
    """Fill the fields that count paragraphs: `re.split(r"\\n{2,}", text.strip())`."""
    total = duplicates = duplicate_chars = 0
    if words > 0:
        mask = cleared(s.table, min(breaks + 1, len(s.start)))
        begin: Any = np.intp(s.start[0])
        stop: Any = np.intp(s.end[words - 1])
        for b in range(breaks + 1):
            at = min(np.intp(s.line_break[b]), stop) if b < breaks else stop
            if at < begin or (at < stop and load8(data, lo + at) != LF):
                continue
            if at == begin:  # within a run of line feeds
                begin = at + 1
            elif at == stop or load8(data, lo + at + 1) == LF:
                total += 1
                if seen_before(s.table, mask, quick_hash(data, lo + begin, at - begin)):
                    duplicates += 1
                    duplicate_chars += chars_between(s, begin, at)
                begin = at + 1
            if at == stop:
                break
    out.paragraphs, out.duplicate_paragraphs, out.duplicate_paragraph_chars = max(total, 1), duplicates, duplicate_chars


@inlined
def _starts_with_bullet(data: Bytes, at: int) -> Any:
    head = load32(data, at) & np.uint32(0xFFFFFF)
    return (head & np.uint32(0xFF)) == DASH or head == BULLET


@inlined
def _ends_with_ellipsis(data: Bytes, start: int, end: int) -> Any:
    if end - start < 3:
        return False
    tail = load32(data, end - 3) & np.uint32(0xFFFFFF)
    return tail in (THREE_DOTS, ELLIPSIS)
