"""The statistics of `stats` over the words of `spacy_words` or `script_words`, and how many of certain words occur.

Lines and paragraphs, and what is counted in them, are those of `stats`: no definition of them asks for words, only for
what is blank.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.array_types import Bytes, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.grams import gram_statistics
from corpusmill.text.hashing import quick_hash, quick_hashes
from corpusmill.text.lines import line_statistics, paragraph_statistics
from corpusmill.text.lowlevel import NO_BITS, ONE, Bits, U, count_bits, load8
from corpusmill.text.script_words import find_script_words
from corpusmill.text.sets import find, never_zero, table_of
from corpusmill.text.spacy_rules import SpacyRules
from corpusmill.text.spacy_rules import rules as english
from corpusmill.text.spacy_words import WordSpans, find_spacy_words, make_word_scratch
from corpusmill.text.spans import find_spans, longest, make_scratch
from corpusmill.text.stats import STATS, stop_hashes
from corpusmill.text.unicode import Classes, classes
from corpusmill.text.words import measure_words

MAX_LIST_WORDS = 64  # words of a list
SYLLABLE = 3  # bytes of one of Hangul
LIST_SPREAD = U(0x9E3779B97F4A7C15)


def stats_over(
    texts: pa.LargeStringArray, words: Literal["spacy", "script"], *, contained: bool = False
) -> NDArray[Any]:
    """As `stats.document_stats`, with the words of `spacy_words` or `script_words`: (documents,) STATS. A null counts
    as ""."""
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, STATS)
    _measure(text, classes(), english(), stop_hashes(), words == "script", contained, out)
    return out


@kernel
def _measure(
    text: TextBuffer,
    classes: Classes,
    rules: SpacyRules,
    stop_words: UInt64s,
    by_script: bool,
    contained: bool,
    out: NDArray[Any],
) -> None:
    data = text.data
    size = longest(text.offsets)
    s = make_scratch(size, size + 1)  # its words may touch
    start, end = s.start, s.end
    if by_script:
        start, end = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    scratch, spans = make_word_scratch(start, end), WordSpans(s.start, s.end)
    for d in range(len(out)):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        row = out[d]
        counts = find_spans(data, lo, hi, classes, s)
        line_statistics(data, lo, hi, counts.breaks, classes, s, row)
        paragraph_statistics(data, lo, counts.words, counts.breaks, s, row)
        if by_script:
            words = find_script_words(data, lo, hi, rules, scratch, spans)
        else:
            words = find_spacy_words(data, lo, hi, rules, scratch)
        upper, digits, marks, special = measure_words(data, lo, words, classes, s)
        row.chars, row.hashes, row.ellipses = counts.chars, counts.hashes, counts.ellipses
        row.upper_chars, row.digits = counts.upper + upper, counts.digits + digits
        row.marks, row.special_chars = counts.marks + marks, counts.special + special
        gram_statistics(words, stop_words, contained, s, row)


class Lists(NamedTuple):
    """Words of several lists, in one table.

    slots   (slots,) uint64, a power of two: hashes of a word and its list, 0 if free
    bit     (slots,) uint8: the place of the word in its list
    """

    slots: UInt64s
    bit: Bytes


def make_lists(lists: list[list[str]]) -> Lists:
    """The table of these lists, each of at most 64 words."""
    assert all(len(words) <= MAX_LIST_WORDS for words in lists)
    hashes = quick_hashes(pa.array([word for words in lists for word in words], pa.large_string()))
    numbers = np.repeat(np.arange(1, len(lists) + 1, dtype=np.uint64), [len(words) for words in lists])
    bits = np.array([bit for words in lists for bit in range(len(words))], np.uint8)
    return Lists(*table_of(hashes ^ numbers * LIST_SPREAD, bits))


@inlined
def _key(hash: Bits, number: Any) -> Bits:
    """Of a word, by its hash, in the list of this number."""
    return never_zero(hash ^ (U(number + 1) * LIST_SPREAD))


def listed_words(texts: pa.LargeStringArray, number: Int64s, lists: Lists) -> Int64s:
    """(documents,) how many different words of its list occur in each document, as written; -1 without a list.

    A Korean word also counts as what it ends with, of one or two syllables: particles and endings are written to the
    word before them, and are words of their own in lists.

    number   (documents,) which of the lists; -1: none
    """
    text = view(texts)
    out = np.empty(len(number), np.int64)
    _listed(text, english(), number, lists, out)
    return out


@kernel
def _listed(text: TextBuffer, rules: SpacyRules, number: Int64s, lists: Lists, out: Int64s) -> None:
    size = longest(text.offsets) + 1
    scratch = make_word_scratch(np.empty(size, np.int32), np.empty(size, np.int32))
    spans = WordSpans(np.empty(size, np.int32), np.empty(size, np.int32))
    for d in range(len(out)):
        out[d] = -1
        if number[d] < 0:
            continue
        lo = text.offsets[d]
        bits = NO_BITS
        for w in range(find_script_words(text.data, lo, text.offsets[d + 1], rules, scratch, spans)):
            start, end = lo + spans.start[w], lo + spans.end[w]
            bits |= _word_bit(text.data, start, end, number[d], lists)
            syllable = end
            for _ in range(2):
                syllable -= SYLLABLE
                if syllable <= start or not is_korean(text.data, syllable):
                    break
                bits |= _word_bit(text.data, syllable, end, number[d], lists)
        out[d] = count_bits(bits)


@inlined
def _word_bit(data: Bytes, start: Any, end: Any, number: Any, lists: Lists) -> Bits:
    """The bit of the word data[start:end] in the list of this number; none if it is not in it."""
    at = find(lists.slots, len(lists.slots) - 1, _key(quick_hash(data, start, end - start), number))
    return NO_BITS if lists.slots[at] == NO_BITS else ONE << U(lists.bit[at])


@inlined
def is_korean(data: Bytes, at: Any) -> bool:
    """Whether data[at:at + 3] is a syllable of Hangul, U+AC00 to U+D7A3, or another three bytes that begin so."""
    first, second, third = load8(data, at), load8(data, at + 1), load8(data, at + 2)
    if first == 0xEA:
        return bool(second >= 0xB0)
    if first == 0xED:
        return bool(second < 0x9E or (second == 0x9E and third <= 0xA3))
    return bool(first in (0xEB, 0xEC))


def warm_up() -> None:
    texts = pa.array(["a text", ""], pa.large_string())
    stats_over(texts, "script")
    listed_words(texts, np.array([0, -1]), make_lists([["a"]]))
