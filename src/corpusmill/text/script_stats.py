"""The statistics of `stats` over the words of `script_words`, and how many of certain words occur.

Lines and paragraphs, and what is counted in them, are those of `stats`.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.grams import gram_statistics
from corpusmill.text.hashing import quick_hash
from corpusmill.text.lines import line_statistics, paragraph_statistics
from corpusmill.text.lowlevel import NO_BITS, ONE, Bits, U, count_bits, load8
from corpusmill.text.script_words import find_script_words
from corpusmill.text.sets import find, never_zero, slots_for
from corpusmill.text.spacy_rules import SpacyRules
from corpusmill.text.spacy_rules import rules as english
from corpusmill.text.spacy_words import WordSpans, make_found
from corpusmill.text.spans import find_spans, longest, make_scratch
from corpusmill.text.stats import STATS, stop_hashes
from corpusmill.text.unicode import Classes, classes
from corpusmill.text.words import measure_words

MOST = 64  # words of a list
SYLLABLE = 3  # bytes of one of Hangul
SPREAD = U(0x9E3779B97F4A7C15)


def script_document_stats(texts: pa.LargeStringArray, *, contained: bool = False) -> NDArray[Any]:
    """As `stats.document_stats`, with the words of `script_words`: (documents,) STATS. A null counts as ""."""
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, STATS)
    _measure(text, classes(), english(), stop_hashes(), contained, out)
    return out


@kernel
def _measure(
    text: TextBuffer,
    classes: Classes,
    rules: SpacyRules,
    stop_words: NDArray[np.uint64],
    contained: bool,
    out: NDArray[Any],
) -> None:
    data = text.data
    size = longest(text.offsets)
    s = make_scratch(size, size + 1)  # its words may touch
    found = make_found(np.empty(size + 1, np.int32), np.empty(size + 1, np.int32))
    spans = WordSpans(s.start, s.end)
    for d in range(len(out)):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        row = out[d]
        counts = find_spans(data, lo, hi, classes, s)
        line_statistics(data, lo, hi, counts.breaks, classes, s, row)
        paragraph_statistics(data, lo, counts.words, counts.breaks, s, row)
        words = find_script_words(data, lo, hi, rules, found, spans)
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

    slots: NDArray[np.uint64]
    bit: NDArray[np.uint8]


def make_lists(lists: list[list[str]]) -> Lists:
    """The table of these lists, each of at most 64 words."""
    assert all(len(words) <= MOST for words in lists)
    words = pa.array([word for words in lists for word in words], pa.large_string())
    numbers = np.repeat(np.arange(len(lists)), [len(words) for words in lists])
    bit = np.array([i for words in lists for i in range(len(words))], np.uint8)
    slots = np.zeros(slots_for(len(words)), np.uint64)
    table = Lists(slots, np.zeros(len(slots), np.uint8))
    _fill(view(words), numbers, bit, table)
    return table


@kernel
def _fill(text: TextBuffer, numbers: NDArray[np.int64], bit: NDArray[np.uint8], lists: Lists) -> None:
    for w in range(len(numbers)):
        start = text.offsets[w]
        key = _key(quick_hash(text.data, start, text.offsets[w + 1] - start), numbers[w])
        at = find(lists.slots, len(lists.slots) - 1, key)
        lists.slots[at], lists.bit[at] = key, bit[w]


@inlined
def _key(hash: Bits, number: Any) -> Bits:
    """Of a word, by its hash, in the list of this number."""
    return never_zero(hash ^ (U(number + 1) * SPREAD))


def listed_words(texts: pa.LargeStringArray, number: NDArray[np.int64], lists: Lists) -> NDArray[np.int64]:
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
def _listed(
    text: TextBuffer, rules: SpacyRules, number: NDArray[np.int64], lists: Lists, out: NDArray[np.int64]
) -> None:
    size = longest(text.offsets) + 1
    scratch = make_found(np.empty(size, np.int32), np.empty(size, np.int32))
    spans = WordSpans(np.empty(size, np.int32), np.empty(size, np.int32))
    for d in range(len(out)):
        out[d] = -1
        if number[d] < 0:
            continue
        lo = text.offsets[d]
        bits = NO_BITS
        for w in range(find_script_words(text.data, lo, text.offsets[d + 1], rules, scratch, spans)):
            start, end = lo + spans.start[w], lo + spans.end[w]
            bits |= _place(text.data, start, end, number[d], lists)
            syllable = end
            for _ in range(2):
                syllable -= SYLLABLE
                if syllable <= start or not is_korean(text.data, syllable):
                    break
                bits |= _place(text.data, syllable, end, number[d], lists)
        out[d] = count_bits(bits)


@inlined
def _place(data: NDArray[np.uint8], start: Any, end: Any, number: Any, lists: Lists) -> Bits:
    """The bit of the word data[start:end] in the list of this number; none if it is not in it."""
    at = find(lists.slots, len(lists.slots) - 1, _key(quick_hash(data, start, end - start), number))
    return NO_BITS if lists.slots[at] == NO_BITS else ONE << U(lists.bit[at])


@inlined
def is_korean(data: NDArray[np.uint8], at: Any) -> bool:
    """Whether data[at:at + 3] is a syllable of Hangul, U+AC00 to U+D7A3, or another three bytes that begin so."""
    first, second, third = load8(data, at), load8(data, at + 1), load8(data, at + 2)
    if first == 0xEA:
        return bool(second >= 0xB0)
    if first == 0xED:
        return bool(second < 0x9E or (second == 0x9E and third <= 0xA3))
    return bool(first in (0xEB, 0xEC))


def warm_up() -> None:
    texts = pa.array(["a text", ""], pa.large_string())
    script_document_stats(texts)
    listed_words(texts, np.array([0, -1]), make_lists([["a"]]))
