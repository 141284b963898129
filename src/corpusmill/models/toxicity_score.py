"""What a linear model says of sentences by their words, and by the order of the kinds of words in them.

A word is a run of letters, digits and "_", in lower case. Words of the table have a row, and some a kind
(`WORD_KINDS`): of a group of people, of the reader, a verb of hate, a denial, and so on. A sentence has a feature,
once, for each
    word       row
    kind       of a word in it
    quoted     kind of a word between double quotation marks
    pair       of kinds that follow each other, other words between them left out; 0 before the first
    triple     of kinds that follow each other, in the same way
    together   two different kinds that it has, in any order and at any distance

and its score is the logistic function of the bias plus the weights of its features. A sentence of more than PIECE_WORDS
words is cut into pieces of PIECE_WORDS, and has the highest score of these.

The score of a document is the mean over its windows, each weighted by its words: a window is consecutive sentences up
to the one that brings it to WINDOW_WORDS words, and has the highest score of its sentences. So a short text is judged
by its worst sentence, a long one by how much of it is like that.

A word that is not in the table is looked up as it may have been meant: single letters with spaces between them, joined
("h a t e"; a first "a" or "i" may be a word of its own), and a word of four characters or more with the digits 0 1 3 4
5 7 9 for o i e a s t g, or 1 for l. Letters left out or swapped are rows of their own, see `toxicity.spellings`. Case
is ignored by a bit of the bytes, not by Unicode's tables.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Float32s, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.folded_hash import word_hash
from corpusmill.text.lowlevel import NO_BITS, ONE, U, borrowed, load8, lowest_bit
from corpusmill.text.runs import run_finder
from corpusmill.text.unicode import Classes, borrowed_classes, classes

WORD_KINDS = 27  # 0 is none
QUOTE = 10  # the kind of a quotation mark
PIECE_WORDS = 50  # words
WINDOW_WORDS = 50  # words
NO_WORD_ROW = -1
ROW_BITS = U(20)
ROWS = (ONE << ROW_BITS) - ONE  # a mask
SPELLING = 1 << 19  # is added to the row of a word for its spellings, which so have one table with words
LONGEST_WORD = 32  # bytes of a word of the table
MIN_SPACED_LETTERS = 3  # letters, at least, of a word with spaces between them
MIN_LEET_CHARS = 4  # characters of a word with digits for letters
KIND_FEATURES = 2 * WORD_KINDS + 2 * WORD_KINDS * WORD_KINDS + WORD_KINDS**3  # beside words
QUOTED, PAIRS, TRIPLES = WORD_KINDS, 2 * WORD_KINDS, 2 * WORD_KINDS + WORD_KINDS * WORD_KINDS
TOGETHER = TRIPLES + WORD_KINDS**3
_LETTER = np.arange(256, dtype=np.uint8)  # a digit to the letter that it stands for
_LETTER[list(b"0134579")] = list(b"oieastg")
_SPACE, _ONE, _MARK = 0x20, ord("1"), ord('"')
_WIDE, _OPENING = 0xE2, 0x9C  # of the curly marks, E2 80 9C and E2 80 9D
next_word = run_finder("_")


class WordTable(NamedTuple):
    """The words as the kernel takes them, read-only.

    words   (slots,) uint64, a power of two: the hash of the word in each slot, with its row + 1 for the lowest
            ROW_BITS, 0 if free; open addressing by the bits above those. A spelling has the row of its word + SPELLING
    kinds   (words,) uint8
    """

    words: UInt64s
    kinds: Bytes


class SentenceOutput(NamedTuple):
    """As `toxicity.Scored` has them."""

    sentences: Float32s
    words: Int64s
    documents: Float32s
    worst: Int64s


@kernel
def score_sentences(
    text: TextBuffer,
    spans: Int64s,
    offsets: Int64s,
    table: WordTable,
    weights: Float32s,
    bias: float,
    classes: Classes,
    out: SentenceOutput,
) -> None:
    """Score every sentence and every document.

    spans, offsets   as `sentences.sentence_spans` returns them
    weights          (features,) of words, then KIND_FEATURES others
    out              written; words counts all words, known or not; documents are NaN without words; worst is the number
                     of the sentence with the highest score (the first of equals) among those with a word, -1 if none
    """
    used, stamps, letters = make_scratch(len(weights))
    _score(text, spans, offsets, table, weights, bias, classes, used, stamps, letters, out)


@kernel
def _score(
    text: TextBuffer,
    spans: Int64s,
    offsets: Int64s,
    table: WordTable,
    weights: Float32s,
    bias: float,
    classes: Classes,
    used: Int32s,
    stamps: Int32s,
    letters: Bytes,
    out: SentenceOutput,
) -> None:
    # References to what is handed on for every word would be counted, which takes as long as all else.
    data, classes, weights = borrowed(text.data), borrowed_classes(classes), borrowed(weights)
    slots, kinds = borrowed(table.words), borrowed(table.kinds)
    used, stamps, letters = borrowed(used), borrowed(stamps), borrowed(letters)
    stamp = 0
    for d in range(len(out.documents)):
        base = text.offsets[d]
        total, window_words = 0, 0
        mass: Any = 0.0
        top: Any = 0.0
        out.worst[d] = -1
        for s in range(offsets[d], offsets[d + 1]):
            at: Any = base + spans[s, 0]
            hi = base + spans[s, 1]
            words = 0
            best: Any = -np.inf
            while True:
                stamp += 1
                features, piece_words, at = collect(data, at, hi, classes, slots, kinds, used, stamps, letters, stamp)
                odds = bias
                for i in range(features):
                    odds += weights[used[i]]
                if piece_words > 0 or words == 0:
                    best = max(best, odds)
                words += piece_words
                if piece_words < PIECE_WORDS:
                    break
            score = np.float32(1.0 / (1.0 + np.exp(-best)))
            out.sentences[s], out.words[s] = score, words
            if words == 0:
                continue
            if out.worst[d] < 0 or score > out.sentences[out.worst[d]]:
                out.worst[d] = s
            total += words
            window_words += words
            top = max(top, score)
            if window_words >= WINDOW_WORDS:
                mass += top * window_words
                top, window_words = 0.0, 0
        out.documents[d] = (mass + top * window_words) / total if total > 0 else np.nan


@kernel
def sentence_features(
    text: TextBuffer, table: WordTable, classes: Classes, features: int, out: Int32s, ends: Int64s
) -> int:
    """The features of the first PIECE_WORDS words of each text, for training; returns how many there are together.

    out    written as far as it goes; ends: (texts,) written, the end of each in `out`
    """
    slots, kinds = table.words, table.kinds
    used, stamps, letters = make_scratch(features)
    count = 0
    for d in range(len(ends)):
        at: Any = text.offsets[d]
        used_count, _, _ = collect(
            text.data, at, text.offsets[d + 1], classes, slots, kinds, used, stamps, letters, d + 1
        )
        for i in range(used_count):
            if count < len(out):
                out[count] = used[i]
            count += 1
        ends[d] = count
    return count


@inlined
def make_scratch(features: Any) -> Any:
    """Room for the features of a sentence, the last sentence that had each feature, and the letters of a word."""
    return np.empty(features + 1, np.int32), np.zeros(features, np.int32), np.zeros(LONGEST_WORD + 8, np.uint8)


@inlined
def collect(
    data: Bytes,
    at: Any,
    hi: Any,
    classes: Classes,
    slots: UInt64s,
    kinds: Bytes,
    out: Int32s,
    stamps: Int32s,
    letters: Bytes,
    stamp: Any,
) -> Any:
    """Write the features of the first PIECE_WORDS words of data[at:hi]; returns how many, the words, and where to go
    on.

    slots, kinds   of a WordTable; out, stamps, letters of `make_scratch`: one by one, since references to a tuple are
                   counted for each word
    stamp          another number for each call
    """
    used = words = 0
    before: Any = 0  # the two kinds before
    last: Any = 0
    kind_bits = NO_BITS  # a bit for each kind of the sentence
    quoted = False
    kinds_from = len(kinds)
    while words < PIECE_WORDS:
        start, end = next_word(data, at, hi, classes)
        for i in range(at, start):
            byte = load8(data, i)
            if byte == _MARK or (byte == _WIDE and is_curly(data, i, hi)):
                quoted = not quoted if byte == _MARK else load8(data, i + 2) == _OPENING
                used = add_kind(kinds_from, before, last, QUOTE, False, used, out, stamps, stamp)
                before, last, kind_bits = last, QUOTE, kind_bits | (ONE << U(QUOTE))
        if start == end:
            at = hi
            break
        at = end
        words += 1
        row = NO_WORD_ROW
        if end - start == 1 and is_followed(data, start, hi):
            row, after = find_spaced(data, start, hi, slots, letters)
            if row != NO_WORD_ROW:
                at = after
        if row == NO_WORD_ROW:
            row = lookup(word_hash(data, start, end), slots)
            row = row & (SPELLING - 1) if row >= 0 else row
            if row == NO_WORD_ROW and MIN_LEET_CHARS <= end - start <= LONGEST_WORD and has_digit(data, start, end):
                row = find_leet(data, start, end, slots, letters)
        if row == NO_WORD_ROW:
            continue
        used = add(row, used, out, stamps, stamp)
        kind = np.intp(kinds[row])
        if kind > 0:
            used = add_kind(kinds_from, before, last, kind, quoted, used, out, stamps, stamp)
            before, last, kind_bits = last, kind, kind_bits | (ONE << U(kind))
    while kind_bits != NO_BITS:
        a = lowest_bit(kind_bits)
        kind_bits &= kind_bits - ONE
        others = kind_bits
        while others != NO_BITS:
            out[used] = kinds_from + TOGETHER + a * WORD_KINDS + lowest_bit(others)
            used += 1
            others &= others - ONE
    return used, words, at


@inlined
def add_kind(
    kinds_from: Any, before: Any, last: Any, kind: Any, quoted: Any, used: Any, out: Int32s, stamps: Int32s, stamp: Any
) -> Any:
    inside = QUOTED if quoted else 0
    used = add(kinds_from + kind, used, out, stamps, stamp)
    used = add(kinds_from + inside + kind, used, out, stamps, stamp)
    used = add(kinds_from + PAIRS + last * WORD_KINDS + kind, used, out, stamps, stamp)
    return add(kinds_from + TRIPLES + (before * WORD_KINDS + last) * WORD_KINDS + kind, used, out, stamps, stamp)


@inlined
def add(feature: Any, used: Any, out: Int32s, stamps: Int32s, stamp: Any) -> Any:
    """Append a feature unless the sentence has it."""
    out[used] = feature
    fresh = stamps[feature] != stamp
    stamps[feature] = stamp
    return used + fresh


@inlined
def is_curly(data: Bytes, at: Any, hi: Any) -> Any:
    """Whether an opening or a closing quotation mark begins here, if the byte is _WIDE."""
    third = load8(data, at + 2)
    return at + 2 < hi and load8(data, at + 1) == 0x80 and (third == _OPENING or third == _OPENING + 1)


@inlined
def has_digit(data: Bytes, start: Any, end: Any) -> Any:
    """Whether a character of a word is an ASCII digit."""
    lowest = np.uint8(0xFF)
    for i in range(start, end):
        lowest = min(lowest, load8(data, i))
    return lowest <= ord("9")


@kernel
def find_spaced(data: Bytes, start: int, hi: int, words: UInt64s, letters: Bytes) -> Any:
    """The row of the word whose letters stand alone from start on, and their end; NO_WORD_ROW if there is none."""
    size, after = spaced(data, start, hi, letters)
    if size < MIN_SPACED_LETTERS:
        return NO_WORD_ROW, after
    row = lookup_word(word_hash(letters, 0, size), words)
    first = load8(data, start) | 0x20
    if row == NO_WORD_ROW and size > MIN_SPACED_LETTERS and (first == ord("a") or first == ord("i")):
        row = lookup_word(word_hash(letters, 1, size), words)
    return row, after


@kernel
def find_leet(data: Bytes, start: int, end: int, words: UInt64s, letters: Bytes) -> int:
    """The row of the word with letters for its digits, or NO_WORD_ROW if there is none, or if most of it are digits."""
    digits = ones = 0
    for i in range(start, end):
        byte: Any = load8(data, i)
        digits += ord("0") <= byte <= ord("9")
        ones += byte == _ONE
    if 2 * digits > end - start:
        return NO_WORD_ROW
    row: int = lookup_leet(data, start, end, words, letters, ord("i"))
    if row == NO_WORD_ROW and ones > 0:
        row = lookup_leet(data, start, end, words, letters, ord("l"))
    return row


@inlined
def lookup_leet(data: Bytes, start: Any, end: Any, words: UInt64s, letters: Bytes, one_letter: Any) -> Any:
    """The row of a word with letters for its digits, or NO_WORD_ROW."""
    for i in range(start, end):
        byte = load8(data, i)
        letters[i - start] = one_letter if byte == _ONE else _LETTER[byte]
    return lookup_word(word_hash(letters, 0, end - start), words)


@inlined
def spaced(data: Bytes, start: Any, hi: Any, letters: Bytes) -> Any:
    """How many single letters begin at start, one space between two, and their end; `letters` has them."""
    size = 0
    at = start
    while True:
        letters[size] = load8(data, at)
        size += 1
        at += 1
        continues = at + 1 < hi and load8(data, at) == _SPACE and is_letter(data, at + 1)
        if not continues or size == LONGEST_WORD or (at + 2 < hi and is_inside(data, at + 2)):
            return size, at
        at += 1


@inlined
def is_followed(data: Bytes, start: Any, hi: Any) -> Any:
    """Whether a letter, a space and a letter begin here."""
    apart = start + 2 < hi and load8(data, start + 1) == _SPACE
    return apart and is_letter(data, start) and is_letter(data, start + 2)


@inlined
def is_letter(data: Bytes, at: Any) -> Any:
    byte = load8(data, at) | 0x20
    return ord("a") <= byte <= ord("z")


@inlined
def is_inside(data: Bytes, at: Any) -> Any:
    """Whether a word goes on here; any byte beyond ASCII is taken to do so."""
    byte = load8(data, at)
    return is_letter(data, at) or ord("0") <= byte <= ord("9") or byte == ord("_") or byte >= 0x80


@inlined
def lookup_word(h: Any, slots: UInt64s) -> Any:
    """The row of the word with this hash, or NO_WORD_ROW, also if it is a spelling."""
    row = lookup(h, slots)
    return row if row < SPELLING else NO_WORD_ROW


@inlined
def lookup(h: Any, slots: UInt64s) -> Any:
    """The row of the word with this hash, that of a spelling + SPELLING, or NO_WORD_ROW."""
    mask = len(slots) - 1
    slot = np.intp(h >> ROW_BITS) & mask
    while slots[slot] != NO_BITS and (slots[slot] ^ h) >> ROW_BITS != NO_BITS:
        slot = (slot + 1) & mask
    return np.intp(slots[slot] & ROWS) - 1


def make_slots(hashes: UInt64s, rows: Int64s) -> UInt64s:
    """The slots of words with these hashes and rows, at most half full; of equal hashes the first counts."""
    slots = np.zeros(max(32, 1 << (2 * len(hashes)).bit_length()), np.uint64)
    _fill(hashes, rows, slots)
    slots.flags.writeable = False
    return slots


@kernel
def _fill(hashes: UInt64s, rows: Int64s, slots: UInt64s) -> None:
    mask = len(slots) - 1
    for i in range(len(hashes)):
        slot = np.intp(hashes[i] >> ROW_BITS) & mask
        while slots[slot] != NO_BITS and (slots[slot] ^ hashes[i]) >> ROW_BITS != NO_BITS:
            slot = (slot + 1) & mask
        if slots[slot] == NO_BITS:
            slots[slot] = (hashes[i] & ~ROWS) | U(rows[i] + 1)


def warm_up() -> None:
    """Compile all of this file."""
    slots = make_slots(np.ones(1, np.uint64), np.zeros(1, np.int64))
    table, weights = WordTable(slots, np.zeros(1, np.uint8)), np.zeros(1 + KIND_FEATURES, np.float32)
    text = view(pa.array(["ab"], pa.large_string()))
    out = SentenceOutput(np.empty(1, np.float32), np.empty(1, np.int64), np.empty(1, np.float32), np.empty(1, np.int64))
    score_sentences(text, np.array([[0, 2]]), np.array([0, 1]), table, weights, 0.0, classes(), out)
    sentence_features(text, table, classes(), len(weights), np.empty(1, np.int32), np.empty(1, np.int64))
