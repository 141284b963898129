"""Text in which a passage is found however it is written: words apart in scripts without spaces, nothing that is not
seen, no words divided at the ends of lines.

    Han, Hiragana, Katakana, Thai, Lao,    each character is a word
    Burmese, Khmer
    U+FF01 to U+FF5E                       full-width forms as the ASCII characters that they are
    soft hyphens, zero-width characters    left out
    "quar-" at the end of a line, before   one word
    "ters"
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bools, Bytes, Int64s
from corpusmill.text.buffers import PAD, TextBuffer, to_arrow, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8, lowest_bit
from corpusmill.text.scripts import RANGES
from corpusmill.text.simd import copy_16
from corpusmill.text.unicode import decode

IDEOGRAPHIC = ("han", "hiragana", "katakana")  # a word has one letter or two
ALPHABETIC = ("thai", "lao", "myanmar", "khmer")  # a word has several, as in other scripts
UNSEEN = frozenset("\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff")
FULL_WIDTH, FULL_WIDTH_END, TO_ASCII = 0xFF01, 0xFF5F, 0xFEE0
SOFT_HYPHEN, HYPHEN = 0xAD, 0x2010
PLAIN, WIDE, LEFT_OUT, IDEOGRAPH, LETTER = range(5)  # what becomes of a character; from IDEOGRAPH on, a word
SPACE, NEWLINE, RETURN, TAB, DASH = b" \n\r\t-"
AT, END, WAS, WAS_END = range(4)  # columns: where a run of characters is now, and where it was

_special = simd.masks(simd.either(simd.not_ascii, simd.equal("-")))


def letters_apart(scripts: Sequence[str] = IDEOGRAPHIC + ALPHABETIC) -> list[tuple[int, int]]:
    """The first and last code points of the letters that are words."""
    parts = (part.partition("-") for script in scripts for part in RANGES[script].split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in parts]


def _table() -> Bytes:
    """(2^21,) uint8: what becomes of each code point, and of what damaged UTF-8 is decoded to."""
    table = np.zeros(1 << 21, np.uint8)
    for scripts, becomes in ((IDEOGRAPHIC, IDEOGRAPH), (ALPHABETIC, LETTER)):
        for first, last in letters_apart(scripts):
            table[first : last + 1] = becomes
    table[FULL_WIDTH:FULL_WIDTH_END] = WIDE
    table[[ord(char) for char in UNSEEN]] = LEFT_OUT
    table.setflags(write=False)
    return table


BECOMES = _table()


@dataclass(frozen=True)
class Loosened:
    """Texts, and where each part of them was.

    before    (documents,) large_string: as they were
    texts     (documents,) large_string
    runs      (runs, 4) int64, see AT: bytes from the beginning of the document; None if nothing has changed
    offsets   (documents + 1,) int64: the first run of each document
    """

    before: pa.LargeStringArray
    texts: pa.LargeStringArray
    runs: Int64s | None
    offsets: Int64s

    def divided(self) -> Bools:
        """(documents,) whether a text has several runs: any other has one letter apart at most."""
        several: Bools = np.diff(self.offsets) > 1
        return several

    def was(self, document: Int64s, start: Int64s, stop: Int64s) -> tuple[Int64s, Int64s]:
        """Bytes [start, stop) of documents, which begin and end with words, in the texts as they were; nothing is where
        it was. Arrays of one length."""
        if self.runs is None:
            return start, stop
        before, after = start.copy(), stop.copy()
        for row in np.flatnonzero(stop > start).tolist():
            number, first, last = int(document[row]), int(start[row]), int(stop[row])
            runs = self.runs[self.offsets[number] : self.offsets[number + 1]]
            begins = int(np.searchsorted(runs[:, AT], first, side="right")) - 1
            ends = int(np.searchsorted(runs[:, AT], last, side="left")) - 1
            before[row] = runs[begins, WAS] + first - runs[begins, AT]
            after[row] = runs[ends, WAS_END] - (runs[ends, END] - last)
        return before, after


def loosened(texts: pa.LargeStringArray) -> Loosened:
    """The documents; a null becomes ""."""
    text = view(texts)
    documents = len(text.offsets) - 1
    changes, offsets, first = (
        np.zeros(documents, np.int64),
        np.zeros(documents + 1, np.int64),
        np.zeros(documents + 1, np.int64),
    )
    _count(text, BECOMES, changes)
    if not (more := 2 * int(changes.sum())):  # each is a run with one before it, and has at most two spaces around it
        return Loosened(texts, texts, None, offsets)
    out = np.empty(int(text.offsets[-1] - text.offsets[0]) + more + PAD, np.uint8)
    rows = np.empty((more + documents + 1, 4), np.int64)
    _loosen(text, BECOMES, changes, out, offsets, rows, first)
    return Loosened(texts, to_arrow(out[: offsets[-1] + PAD], offsets), rows[: first[-1]], first)


@kernel
def _joined_line(data: Bytes, at: int, lo: int, hi: int) -> int:
    """Where a word that is divided at `at`, a hyphen, continues: behind the end of the line; `at` if it is not
    divided: there must be a letter before, and a small one, or one beyond ASCII, after."""
    begin = at + (1 if load8(data, at) == DASH else 2 if load8(data, at) == 0xC2 else 3)
    before = load8(data, at - 1) if at > lo else np.uint8(SPACE)
    if not (before >= 0x80 or (97 <= (before | 32) <= 122)):
        return at
    after = begin
    if after < hi and load8(data, after) == RETURN:
        after += 1
    if after >= hi or load8(data, after) != NEWLINE:
        return at
    after += 1
    while after < hi and (load8(data, after) == SPACE or load8(data, after) == TAB):
        after += 1
    if after >= hi or not (load8(data, after) >= 0x80 or (97 <= load8(data, after) <= 122)):
        return at
    return after


@kernel
def _count(text: TextBuffer, table: Bytes, changes: Int64s) -> None:
    """Write how many characters of each document change."""
    data = text.data
    for d in range(len(changes)):
        lo, at, hi = text.offsets[d], text.offsets[d], text.offsets[d + 1]
        while at < hi:
            (special,) = _special(data, at)
            plain = lowest_bit(special)
            if plain > 0:
                at += plain
                continue
            if load8(data, at) < 0x80:
                changes[d] += _joined_line(data, at, lo, hi) != at
                at += 1
                continue
            point, size = decode(data, at)
            changes[d] += table[point] != PLAIN or (point == HYPHEN and _joined_line(data, at, lo, hi) != at)
            at += size


@inlined
def _note(run: Int64s, at: int, size: int, was: int, was_end: int) -> None:
    run[AT] = at
    run[END] = at + size
    run[WAS] = was
    run[WAS_END] = was_end


@inlined
def _take(data: Bytes, first: int, last: int, lo: int, out: Bytes, p: int, begin: int, run: Int64s) -> None:
    """Write data[first:last] at `p`, as a run of the document that begins at `lo`, and at `begin` now."""
    _note(run, p - begin, last - first, first - lo, last - lo)
    for k in range(0, last - first, 16):
        copy_16(data, first + k, out, p + k)


@kernel
def _loosen(
    text: TextBuffer, table: Bytes, changes: Int64s, out: Bytes, offsets: Int64s, rows: Int64s, first: Int64s
) -> None:
    """Write the documents to `out`, their ends to `offsets`, the runs to `rows`."""
    data = text.data
    p = row = 0
    for d in range(len(text.offsets) - 1):
        lo, at, hi = text.offsets[d], text.offsets[d], text.offsets[d + 1]
        begin, start = p, at  # of the document; of the run that is copied next
        while at < hi and changes[d] > 0:
            (special,) = _special(data, at)
            plain = min(lowest_bit(special), hi - at)
            if plain > 0:
                at += plain
                continue
            point, size, kind, after = 0, 1, np.uint8(PLAIN), at
            if load8(data, at) < 0x80:
                after = _joined_line(data, at, lo, hi)
            else:
                point, size = decode(data, at)
                kind = table[point]
                if point in (SOFT_HYPHEN, HYPHEN):
                    after = _joined_line(data, at, lo, hi)
            if kind == PLAIN and after == at:
                at += size
                continue
            if at > start:
                _take(data, start, at, lo, out, p, begin, rows[row])
                row, p = row + 1, p + at - start
            if kind == WIDE:
                out[p] = point - TO_ASCII
                _note(rows[row], p - begin, 1, at - lo, at - lo + size)
                row, p = row + 1, p + 1
            elif kind >= IDEOGRAPH:
                if p > begin and out[p - 1] != SPACE:
                    out[p] = SPACE
                    p += 1
                _take(data, at, at + size, lo, out, p, begin, rows[row])
                out[p + size] = SPACE
                row, p = row + 1, p + size + 1
            at = after if after != at else at + size
            start = at
        if hi > start:
            _take(data, start, hi, lo, out, p, begin, rows[row])
            row, p = row + 1, p + hi - start
        offsets[d + 1], first[d + 1] = p, row


def warm_up() -> None:
    loosened(pa.array(["a 数-\nb"], pa.large_string()))
