"""The lines and paragraphs of documents: their spans, their hashes, and documents without some of them.

Lines are separated by line feeds, paragraphs by blank lines: a paragraph is a sequence of lines that are not blank. A
line is blank if it is empty or `str.isspace()`. Blank lines are not pieces. A piece spans its whole lines, with
indentation; it is compared stripped.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bools, Bytes, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import PAD, TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.fold import EVERYTHING, GROWTH, SLACK, fold_document
from corpusmill.text.hashing import SECOND_SEED, strip, xxh64
from corpusmill.text.lowlevel import NO_BITS, ONE, U, count_bits, load8, lowest_bit
from corpusmill.text.spans import below, longest
from corpusmill.text.unicode import SPACE, Classes, Folding, class_of, classes, decode, folding

LF = 10

_line_feeds = simd.masks(simd.equal("\n"))


class TextPieces(NamedTuple):
    """Where the pieces of some documents are.

    start, end   (pieces,) int64: bytes from the beginning of the document
    offsets      (documents + 1,) int64: document d has the pieces offsets[d]:offsets[d + 1]
    """

    start: Int64s
    end: Int64s
    offsets: Int64s


class Hashed(NamedTuple):
    """Pieces as they are compared.

    hashes   (pieces, 2) uint64: XXH64 with seed 0 and with SECOND_SEED, as in `hashing.hash128`
    long     (pieces,) bool: whether a piece has the minimum of characters
    """

    hashes: UInt64s
    long: Bools


def pieces(texts: pa.LargeStringArray, unit: Literal["lines", "paragraphs"]) -> TextPieces:
    """The pieces of each document, in order. A null has none."""
    text = view(texts)
    capacity = int(_line_breaks(text)) + len(texts)
    start, end = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    offsets = np.zeros(len(text.offsets), np.int64)
    count = _find(text, unit == "paragraphs", classes(), start, end, offsets)
    return TextPieces(start[:count], end[:count], offsets)


def piece_hashes(texts: pa.LargeStringArray, pieces: TextPieces, folded: bool, shortest: int) -> Hashed:
    """The hashes of pieces, stripped, or folded as by `fold.fold`.

    pieces     `pieces(texts, ...)`
    shortest   minimum of characters, counted after stripping or folding; shorter pieces have no hash
    """
    text = view(texts)
    hashed = Hashed(np.zeros((len(pieces.start), 2), np.uint64), np.zeros(len(pieces.start), bool))
    _hash(text, pieces, folded, folding(), classes(), shortest, hashed)
    return hashed


def spans_without(texts: pa.LargeStringArray, pieces: TextPieces, dropped: Bools) -> Int64s:
    """The spans to remove so that documents lose some of their pieces.

    pieces    `pieces(texts, ...)`
    dropped   (pieces,)
    returns   (spans, 3) int64, as `replace.replace_spans` takes them: document, first byte, end; in order, none empty

    The gap between two kept neighbours is kept. If pieces between them are dropped, the one with the most line feeds of
    all gaps in between is kept (the first of equals): so paragraphs stay separated, and blank lines do not accumulate.
    The text before the first piece and after the last is kept. A document without a kept piece is removed completely.
    """
    text = view(texts)
    spans = np.empty((2 * int(np.count_nonzero(dropped)), 3), np.int64)
    return spans[: _without(text, pieces, dropped, spans)]


@kernel
def _line_breaks(text: TextBuffer) -> int:
    total = 0
    for at in range(text.offsets[0], text.offsets[-1], 64):
        (bits,) = _line_feeds(text.data, at)
        total += count_bits(bits & below(min(64, text.offsets[-1] - at)))
    return total


@kernel
def _find(text: TextBuffer, paragraphs: bool, classes: Classes, start: Int64s, end: Int64s, offsets: Int64s) -> int:
    data = text.data
    n = 0
    for d in range(len(offsets) - 1):
        base, stop = text.offsets[d], text.offsets[d + 1]
        line = base
        joins = False  # the previous line is not blank, and this one would belong to the same piece
        for block in range(base, stop, 64):
            (bits,) = _line_feeds(data, block)
            bits &= below(min(64, stop - block))
            while bits != NO_BITS:
                at = block + lowest_bit(bits)
                bits &= bits - ONE
                n, joins = _add(data, base, line, at, paragraphs, joins, classes, start, end, n)
                line = at + 1
        if line < stop:
            n, joins = _add(data, base, line, stop, paragraphs, joins, classes, start, end, n)
        offsets[d + 1] = n
    return n


@inlined
def _add(
    data: Bytes,
    base: int,
    line: int,
    at: int,
    paragraphs: bool,
    joins: bool,
    classes: Classes,
    start: Int64s,
    end: Int64s,
    n: int,
) -> Any:
    """Add the line data[line:at]; returns the number of pieces, and whether the next line would belong to the same
    one."""
    if _is_blank(data, line, at, classes):
        return n, False
    if not joins:
        start[n] = line - base
        n += 1
    end[n - 1] = at - base
    return n, paragraphs


@inlined
def _is_blank(data: Bytes, line: int, at: int, classes: Classes) -> bool:
    while line < at:
        code_point, size = decode(data, line)
        if class_of(classes, code_point) & SPACE == 0:
            return False
        line += size
    return True


@kernel
def _hash(
    text: TextBuffer, pieces: TextPieces, folded: bool, folding: Folding, classes: Classes, shortest: int, out: Hashed
) -> None:
    data = text.data
    scratch = np.empty(GROWTH * longest(text.offsets) + SLACK + PAD if folded else 0, np.uint8)
    for d in range(len(pieces.offsets) - 1):
        base = text.offsets[d]
        for i in range(pieces.offsets[d], pieces.offsets[d + 1]):
            lo, hi = strip(data, base + pieces.start[i], base + pieces.end[i], classes)
            if folded:
                hi = fold_document(data, lo, hi, folding, scratch, 0, EVERYTHING)
                out.long[i] = _has_characters(scratch, 0, hi, shortest)
                if out.long[i]:
                    out.hashes[i, 0], out.hashes[i, 1] = _both(scratch, 0, hi)
            else:
                out.long[i] = _has_characters(data, lo, hi, shortest)
                if out.long[i]:
                    out.hashes[i, 0], out.hashes[i, 1] = _both(data, lo, hi)


@inlined
def _both(data: Bytes, lo: int, hi: int) -> Any:
    return xxh64(data, lo, hi, NO_BITS), xxh64(data, lo, hi, U(SECOND_SEED))


@inlined
def _has_characters(data: Bytes, lo: int, hi: int, needed: int) -> bool:
    if hi - lo < needed or hi - lo >= 4 * needed:  # a character has 1 to 4 bytes
        return hi - lo >= needed
    for at in range(lo, hi):
        needed -= (load8(data, at) & 0xC0) != 0x80
    return needed <= 0


@kernel
def _without(text: TextBuffer, pieces: TextPieces, dropped: Bools, spans: Int64s) -> int:
    n = 0
    start, end = pieces.start, pieces.end
    for d in range(len(pieces.offsets) - 1):
        base, first, last = text.offsets[d], pieces.offsets[d], pieces.offsets[d + 1]
        i = first
        while i < last:
            j = i
            while j < last and dropped[j]:
                j += 1
            if j == i:
                i += 1
                continue
            if i == first and j == last:
                n = _span(spans, n, d, 0, text.offsets[d + 1] - base)
            elif i == first:
                n = _span(spans, n, d, start[i], start[j])
            elif j == last:
                n = _span(spans, n, d, end[i - 1], end[j - 1])
            else:
                kept_gap = i  # the gap before this piece
                most_feeds = -1
                for k in range(i, j + 1):
                    feeds = 0
                    for at in range(base + end[k - 1], base + start[k]):
                        feeds += load8(text.data, at) == LF
                    if feeds > most_feeds:
                        kept_gap, most_feeds = k, feeds
                n = _span(spans, n, d, end[i - 1], end[kept_gap - 1])
                n = _span(spans, n, d, start[kept_gap], start[j])
            i = j
    return n


@inlined
def _span(spans: Int64s, n: int, document: int, start: int, end: int) -> int:
    if start < end:
        spans[n, 0], spans[n, 1], spans[n, 2] = document, start, end
        n += 1
    return n


def occurrences(
    bucket: Int32s, buckets: int, documents: Int64s, sizes: Int64s
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Count the records of each bucket.

    bucket      (records,) the bucket of each record
    documents   (records,) the document of each, rising
    sizes       (records,)
    returns     (records,) the number of earlier records in the same bucket; and for each bucket, (buckets,), the number
                of records, of distinct documents, and the sum of sizes
    """
    before = np.empty(len(bucket), np.int64)
    records, different, total = (np.zeros(buckets, np.int64) for _ in range(3))
    _occurrences(bucket, documents, sizes, before, records, different, total, np.full(buckets, -1, np.int64))
    return before, records, different, total


@kernel
def _occurrences(
    bucket: Int32s,
    documents: Int64s,
    sizes: Int64s,
    before: Int64s,
    records: Int64s,
    different: Int64s,
    total: Int64s,
    last: Int64s,
) -> None:
    for i in range(len(bucket)):
        b = bucket[i]
        before[i] = records[b]
        records[b] += 1
        different[b] += last[b] != documents[i]
        last[b] = documents[i]
        total[b] += sizes[i]


def warm_up() -> None:
    texts = pa.array(["a line\n\nanother one"], pa.large_string())
    lines = pieces(texts, "lines")
    piece_hashes(texts, lines, True, 1)
    spans_without(texts, lines, np.array([True, False]))
    occurrences(np.zeros(2, np.int32), 1, np.arange(2), np.ones(2, np.int64))
