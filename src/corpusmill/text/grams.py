"""Repeated word n-grams, by naming (Karp, Miller, Rosenberg 1972).

The name of an n-gram is the position of its first occurrence. An n-gram is the pair of names of its two (n-1)-grams, so
n words are never hashed together, and each n needs only a small table over the positions where the (n-1)-gram repeats.
Two n-grams are equal if their words are; words are equal if their 64-bit hashes are.
"""

from typing import Any

import numpy as np

from corpusmill.text.array_types import UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, U
from corpusmill.text.sets import cleared, find, never_zero
from corpusmill.text.spans import SpanScratch
from corpusmill.text.words import ALL_UPPER, HAS_ALPHA, HAS_CONTENT

TOP = (2, 3, 4)
REPEATED = (5, 6, 7, 8, 9, 10)
ALL = -1  # in place of a slot of the hash table
REPEAT = 3  # words in the sequences that `repeats` counts


@kernel
def gram_statistics(words: int, stop_words: UInt64s, contained: bool, s: SpanScratch, out: Any) -> None:
    """Fill the fields of the record that count words and n-grams; `contained` as for `stats.document_stats`."""
    repeating = _name_words(words, stop_words, s, out)
    for n in range(2, 11):
        if repeating > 0:
            repeating = _name_grams(repeating, s)
        elif n > TOP[-1]:
            break  # no longer n-gram repeats, and what is left to fill is 0
        if n == REPEAT and repeating > 0:
            out.repeats = _repeats(repeating, s)
        if n <= 4:
            count, first, slot = _top_gram(words, n, repeating, s)
            out.top_gram_counts[n - 2] = count
            out.top_gram_chars[n - 2] = _top_gram_chars(n, count, first, slot, repeating, contained, s)
        elif contained:
            out.duplicate_gram_chars[n - 5] = _contained_chars(n, ALL, repeating, s)
        else:
            out.duplicate_gram_chars[n - 5] = _duplicate_gram_chars(n, repeating, s)


@kernel
def _name_words(words: int, stop_words: UInt64s, s: SpanScratch, out: Any) -> int:
    """Name every word, and sum up the properties of words. Returns how many positions of repeated words are in
    s.pos."""
    mask = cleared(s.table, words)
    alpha = chars = content = content_chars = upper = distinct = stops = 0
    for i in range(words):
        flags = s.flags[i]
        alpha += (flags & HAS_ALPHA) != 0
        chars += s.chars[i]
        upper += (flags & ALL_UPPER) != 0
        if flags & HAS_CONTENT:
            content += 1
            content_chars += s.chars[i]
        key = never_zero(s.hash[i])
        at = find(s.table, mask, key)
        if s.table[at] == NO_BITS:
            s.table[at], s.head[at], s.times[at] = key, i, 0
            distinct += 1
            for k in range(len(stop_words)):
                stops += stop_words[k] == key
        s.times[at] += 1
        s.slot[i] = at
    repeating = 0
    for i in range(words):
        at = s.slot[i]
        s.name[i] = s.head[at]
        s.pos[repeating] = i
        repeating += s.times[at] > 1
    out.words, out.word_chars, out.alpha_words, out.upper_words = words, chars, alpha, upper
    out.content_words, out.content_word_chars = content, content_chars
    out.distinct_words, out.stop_words = distinct, stops
    return repeating


@kernel
def _name_grams(candidates: int, s: SpanScratch) -> int:
    """Replace the positions of repeated (n-1)-grams by those of repeated n-grams; returns how many."""
    grams = 0
    mask = cleared(s.table, candidates)
    for c in range(candidates - 1):
        i = s.pos[c]
        if s.pos[c + 1] == i + 1:
            # One is added to the first name, so that no pair is 0, the empty slot.
            key = (U(s.name[i] + 1) << U(32)) | U(s.name[i + 1])
            at = find(s.table, mask, key)
            if s.table[at] == NO_BITS:
                s.table[at], s.head[at], s.times[at] = key, i, 0
            s.times[at] += 1
            s.pos[grams], s.slot[grams] = i, at
            grams += 1
    repeating = 0
    for c in range(grams):
        i, at = s.pos[c], s.slot[c]
        s.name[i] = s.head[at]
        s.pos[repeating], s.slot[repeating] = i, at
        repeating += s.times[at] > 1
    return repeating


@inlined
def _top_gram(words: int, n: int, repeating: int, s: SpanScratch) -> Any:
    """(count, first position, slot) of the most frequent n-gram; the one seen first wins a tie. Its slot is ALL if none
    occurs twice, its count 0 if there is none."""
    top_count, first, top = np.int32(words >= n), np.int32(0), np.int32(ALL)
    for c in range(repeating):
        at = s.slot[c]
        if s.times[at] > top_count:
            top_count, first, top = s.times[at], s.head[at], at
    return top_count, first, top


@inlined
def _top_gram_chars(n: int, count: int, first: int, slot: int, repeating: int, contained: bool, s: SpanScratch) -> Any:
    """len(" ".join(gram)) * count of the most frequent n-gram, as `_top_gram` found it."""
    if count == 0:
        return 0
    if contained:
        return _contained_chars(n, slot, repeating, s) if count > 1 else 0
    return (n - 1 + _chars_of(first, n, s)) * count


@kernel
def _duplicate_gram_chars(n: int, repeating: int, s: SpanScratch) -> Any:
    """Characters in n-grams that occurred before, counted without overlap from left to right. Overwrites the counts."""
    next_start = 0
    chars: Any = 0
    for c in range(repeating):
        i, at = s.pos[c], s.slot[c]
        if i < next_start:
            continue
        if s.times[at] < 0:
            chars += _chars_of(i, n, s)
            next_start = i + n
        else:
            s.times[at] = -1
    return chars


@kernel
def _contained_chars(n: int, slot: int, repeating: int, s: SpanScratch) -> Any:
    """Characters in all occurrences of the n-gram in a slot, or of ALL repeated ones; overlaps are counted once.

    Two words of an n-gram count as separated by one character.
    """
    end = 0  # of the words that are counted already
    chars: Any = 0
    for c in range(repeating):
        if slot == ALL or s.slot[c] == slot:
            i = s.pos[c]
            first = max(i, end)
            chars += i + n - first - (first == i) + _chars_of(first, i + n - first, s)
            end = i + n
    return chars


@kernel
def _repeats(repeating: int, s: SpanScratch) -> int:
    """How many n-grams occurred before, overlapping ones included."""
    firsts = 0
    for c in range(repeating):
        firsts += s.head[s.slot[c]] == s.pos[c]
    return repeating - firsts


@inlined
def _chars_of(first: int, n: int, s: SpanScratch) -> Any:
    chars: Any = 0
    for i in range(first, first + n):
        chars += s.chars[i]
    return chars
