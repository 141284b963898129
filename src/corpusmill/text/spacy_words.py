"""Words as spaCy's English tokenizer cuts them: "Don't go (yet)." is Do, n't, go, (, yet, ), and a dot.

They are those of `spacy.blank("en")` without white space, which datatrove's rules count. White space separates chunks;
of a chunk prefixes and suffixes are cut off until none is left or what is left is a special case such as "don't"; then
infixes separate. At the end spaCy looks for special cases that this has cut, and cuts them anew.

Three chunks in four have no character that any rule acts on: they take one look at each byte, and one at a filter of
special cases. There is no cache of words, so the time does not depend on what came before, and it is linear.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Int32s, Int64s, UInt16s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS
from corpusmill.text.sets import find
from corpusmill.text.spacy_affixes import Chunk, infix, is_url, prefix, suffix
from corpusmill.text.spacy_rules import (
    ACTS,
    NO_ROW,
    NUMERAL,
    WHITE,
    Cases,
    Sequences,
    SpacyRules,
    SpecialCasePieces,
    Units,
    chained,
    hash_of,
    holds,
    is_set,
    special_case,
)
from corpusmill.text.spacy_rules import rules as english
from corpusmill.text.spans import longest
from corpusmill.text.unicode import decode, index_of

EXCLAMATION, COMMA, DOT, SEMICOLON, QUESTION, SPACE = 33, 44, 46, 59, 63, 32


class WordSpans(NamedTuple):
    """Words of one document, in bytes from its beginning; room for one a byte, since words may touch."""

    start: Int32s
    end: Int32s


class NotedCases(NamedTuple):
    """Special cases that the rules have cut and spaCy finds again: the first word, how many, the row of the case."""

    first: Int32s
    words: Int32s
    row: Int32s


class WordScratch(NamedTuple):
    """Working memory for one document at a time."""

    spans: WordSpans
    chunk: Chunk
    noted: NotedCases


def spacy_words(texts: pa.LargeStringArray) -> Int64s:
    """The words of each document, (words, 3) int64: document, first byte and end in it. A null has none."""
    text = view(texts)
    counts = np.empty(len(text.offsets) - 1, np.int64)
    out = np.empty((int(text.offsets[-1] - text.offsets[0]), 3), np.int64)
    return out[: _all_words(text, english(), counts, out)]


@kernel
def _all_words(text: TextBuffer, rules: SpacyRules, counts: Int64s, out: Int64s) -> int:
    size = longest(text.offsets) + 1
    scratch = make_word_scratch(np.empty(size, np.int32), np.empty(size, np.int32))
    spans = scratch.spans
    total = 0
    for d in range(len(counts)):
        words = find_spacy_words(text.data, text.offsets[d], text.offsets[d + 1], rules, scratch)
        for w in range(words):
            out[total + w, 0], out[total + w, 1], out[total + w, 2] = d, spans.start[w], spans.end[w]
        total += words
    return total


@kernel
def make_word_scratch(start: Int32s, end: Int32s) -> WordScratch:
    """Room for documents of up to `len(start) - 1` bytes, with these for the words: some 26 bytes for each, most of it
    rarely touched."""
    i32 = np.int32
    size = len(start)
    return WordScratch(
        WordSpans(start, end),
        Chunk(np.empty(size, i32), np.empty(size, np.uint16), np.empty(size, i32), np.empty(size, i32)),
        NotedCases(np.empty(size, i32), np.empty(size, i32), np.empty(size, i32)),
    )


@kernel
def find_spacy_words(buffer: Bytes, lo: int, hi: int, rules: SpacyRules, scratch: WordScratch) -> int:
    """Fill start and end of the words of buffer[lo:hi]; returns how many."""
    data = buffer[lo:]
    size = hi - lo
    block_of, blocks = rules.block_of, rules.blocks
    cases, pieces, sequences, units = rules.cases, rules.pieces, rules.sequences, rules.units
    spans, chunk, noted = scratch.spans, scratch.chunk, scratch.noted
    words = noted_count = 0
    at = 0
    while at < size:
        start = at
        all_kinds = kind = np.uint16(0)
        acting = step = 0
        while at < size:  # to the next white space
            byte = data[at]
            if byte < 128:
                bits, step = blocks[byte], 1
            else:
                point, step = decode(data, at)
                bits = blocks[index_of(block_of, point)]
            if bits & WHITE:
                break
            kind = bits
            all_kinds |= kind
            acting += (kind & ACTS) != 0
            at += step
        end = min(at, size)
        if end == start:
            at += step
            continue
        if acting == 0 and (not all_kinds & NUMERAL or kind & NUMERAL):  # no rule acts, and no unit follows a digit
            row = special_case(data, start, end, cases)
            if row == NO_ROW:
                spans.start[words], spans.end[words] = start, end
                words += 1
            else:
                words = _cut_case(start, row, pieces, words, spans)
            continue
        if acting == 1 and not all_kinds & NUMERAL and _is_word_and_mark(data, start, end, cases):
            spans.start[words], spans.end[words] = start, end - 1
            spans.start[words + 1], spans.end[words + 1] = end - 1, end
            words += 2
            continue
        first = words
        row = special_case(data, start, end, cases)
        if row != NO_ROW:
            words = _cut_case(start, row, pieces, words, spans)
        else:
            count, dots = _decode_chunk(data, start, end, block_of, blocks, chunk)
            words = _cut(data, count, dots > 0, all_kinds & NUMERAL != 0, cases, pieces, units, words, spans, chunk)
        noted_count = _note_special_cases(data, first, words, noted_count, sequences, spans, noted)
    if noted_count > 0:
        words = _recut(data, words, noted_count, sequences, pieces, spans, noted)
    return words


@inlined
def _cut_case(start: int, row: Any, pieces: SpecialCasePieces, words: int, spans: WordSpans) -> Any:
    """Enter the pieces of a special case; returns the number of words."""
    at = start
    for piece in range(pieces.begin[row], pieces.begin[row + 1]):
        spans.start[words] = at
        at += pieces.sizes[piece]
        spans.end[words] = at
        words += 1
    return words


@inlined
def _is_word_and_mark(data: Bytes, start: int, end: int, cases: Cases) -> Any:
    """Whether a chunk whose only acting character is its last is a word and that mark, as most words before a comma.

    Where the word is a special case ("im."), what is cut may be found again: that takes the long way.
    """
    if end - start <= 2:
        return False
    mark, before = data[end - 1], data[end - 2]
    if not (
        mark in (COMMA, SEMICOLON, EXCLAMATION, QUESTION) or (mark == DOT and before >= ord("a") and before <= ord("z"))
    ):
        return False
    return special_case(data, start, end, cases) == NO_ROW and special_case(data, start, end - 1, cases) == NO_ROW


@inlined
def _decode_chunk(data: Bytes, start: int, end: int, block_of: UInt16s, blocks: UInt16s, chunk: Chunk) -> Any:
    """Fill the chunk; returns its characters, and how many of them are dots."""
    count = dots = 0
    at = start
    while at < end:
        chunk.places[count] = at
        byte = data[at]
        if byte < 128:
            chunk.points[count], chunk.kinds[count] = byte, blocks[byte]
            dots += byte == DOT
            at += 1
        else:
            point, size = decode(data, at)
            chunk.points[count], chunk.kinds[count] = point, blocks[index_of(block_of, point)]
            at += size
        count += 1
    chunk.places[count] = end
    return count, dots


@inlined
def _cut(
    data: Bytes,
    count: int,
    with_dot: bool,
    with_numeral: bool,
    cases: Cases,
    pieces: SpecialCasePieces,
    units: Units,
    words: int,
    spans: WordSpans,
    chunk: Chunk,
) -> Any:
    """Cut a chunk that is no special case into words; returns their number, those before it included."""
    points, kinds, places = chunk.points, chunk.kinds, chunk.places
    lo, hi = 0, count
    cuts = 0  # suffixes that were cut off
    row = np.int64(NO_ROW)
    before = -1  # characters that were left before the last round
    while lo < hi and hi - lo != before:
        if before >= 0:
            row = special_case(data, places[lo], places[hi], cases)
            if row != NO_ROW:
                break
        before = hi - lo
        head = prefix(points, kinds, lo, hi)
        if head > 0 and lo + head < hi:
            row = special_case(data, places[lo + head], places[hi], cases)
            if row != NO_ROW:
                words = _enter(places, lo, lo + head, words, spans)
                lo += head
                break
        tail = suffix(data, points, kinds, places, lo + head, hi, with_numeral, units)
        if tail > 0 and hi - tail > lo:
            row = special_case(data, places[lo], places[hi - tail], cases)
            if row != NO_ROW:
                hi -= tail
                chunk.cut[cuts] = hi
                cuts += 1
                break
        if head > 0:
            words = _enter(places, lo, lo + head, words, spans)
            lo += head
        if tail > 0:
            hi -= tail
            chunk.cut[cuts] = hi
            cuts += 1
    if lo < hi:
        if row == NO_ROW:
            row = special_case(data, places[lo], places[hi], cases)
        if row != NO_ROW:
            words = _cut_case(places[lo], row, pieces, words, spans)
        elif with_dot and is_url(points, kinds, lo, hi):
            words = _enter(places, lo, hi, words, spans)
        else:
            words = _cut_infixes(points, kinds, places, lo, hi, words, spans)
    for k in range(cuts - 1, -1, -1):
        words = _enter(places, chunk.cut[k], chunk.cut[k - 1] if k > 0 else count, words, spans)
    return words


@inlined
def _enter(places: Int32s, lo: int, hi: int, words: int, spans: WordSpans) -> Any:
    spans.start[words], spans.end[words] = places[lo], places[hi]
    return words + 1


@inlined
def _cut_infixes(points: Int32s, kinds: UInt16s, places: Int32s, lo: int, hi: int, words: int, spans: WordSpans) -> Any:
    begin = i = lo
    while i < hi:
        size = infix(points, kinds, i, lo, hi) if kinds[i] & ACTS else 0
        if size == 0:
            i += 1
            continue
        if i != lo:  # an infix at the beginning separates nothing
            if i != begin:
                words = _enter(places, begin, i, words, spans)
            words = _enter(places, i, i + size, words, spans)
            begin = i + size
        i += size
    return _enter(places, begin, hi, words, spans) if begin < hi else words


@inlined
def _note_special_cases(
    data: Bytes, first: int, words: int, count: int, sequences: Sequences, spans: WordSpans, noted: NotedCases
) -> Any:
    """Note where the words of a chunk are a special case that the rules have cut otherwise; returns how many there are
    in the document until here.

    Of those that begin at one word the longest is noted: it would keep the others from being cut anew.
    """
    start, end = spans.start, spans.end
    for i in range(first, words - 1):
        if not is_set(sequences.maybe, np.int64(data[start[i]]) << 8 | np.int64(data[start[i + 1]])):
            continue
        key = NO_BITS
        is_noted = False
        for k in range(sequences.longest):
            j = i + k
            if j >= words or end[j] - start[j] > sequences.longest_word:
                break
            key = chained(key, hash_of(data, start[j], end[j]))
            if not holds(sequences.beginning, key):
                break
            at = find(sequences.table, len(sequences.table) - 1, key)
            if sequences.table[at] == key and sequences.row[at] != NO_ROW:
                is_noted = True
                noted.first[count], noted.words[count], noted.row[count] = i, k + 1, sequences.row[at]
        count += is_noted
    return count


@kernel
def _recut(
    data: Bytes,
    words: int,
    noted_count: int,
    sequences: Sequences,
    pieces: SpecialCasePieces,
    spans: WordSpans,
    noted: NotedCases,
) -> int:
    """Give the special cases that were found again their own pieces; returns the number of words.

    A longer sequence of a special case, or an equally long one further left, that holds the first or the last word of
    one keeps it from being cut anew, even across a space: so spaCy's matcher does.
    """
    before = WordSpans(spans.start[:words].copy(), spans.end[:words].copy())
    out = position = 0
    for q in range(noted_count):
        first, count = noted.first[q], noted.words[q]
        if first < position or _is_covered(data, words, first, count, before, sequences):
            continue
        for i in range(position, first):
            spans.start[out], spans.end[out] = before.start[i], before.end[i]
            out += 1
        out = _cut_case(before.start[first], noted.row[q], pieces, out, spans)
        position = first + count
    for i in range(position, words):
        spans.start[out], spans.end[out] = before.start[i], before.end[i]
        out += 1
    return out


@inlined
def _is_covered(data: Bytes, words: int, first: int, count: int, spans: WordSpans, sequences: Sequences) -> Any:
    """Whether another sequence goes before the one of `count` words at `first`."""
    start, end = spans.start, spans.end
    last = first + count - 1
    for i in range(max(0, first - sequences.longest + 1), last + 1):
        key = NO_BITS
        for k in range(sequences.longest):
            j = i + k
            if j >= words or end[j] - start[j] > sequences.longest_word:
                break
            if k > 0:
                gap = start[j] - end[j - 1]
                if gap > 1 or (gap == 1 and data[end[j - 1]] != SPACE):
                    break
            key = chained(key, hash_of(data, start[j], end[j]))
            if not holds(sequences.beginning, key):
                break
            if (
                (k + 1 > count or (k + 1 == count and i < first))
                and (i <= first <= j or i <= last <= j)
                and holds(sequences.table, key)
            ):
                return True
    return False


def warm_up() -> None:
    spacy_words(pa.array(["Don't go (yet), www.example.org: 5km.", ""], pa.large_string()))
