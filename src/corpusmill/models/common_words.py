"""Which languages' most common words a text has: of its own, and of languages that a model does not know.

The n-grams of naive Bayes say which of its languages a text is nearest to, and less well whether it is in any: a
language made from little text fits its own texts little better than those of a neighbour. FineWeb2 has some 20 of the
most common words of each of 1,929 pairs of language and script, most of which have no other free text at hand. In a
text of a language they are a fifth to a half of all words.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Int16s, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.folded_hash import word_hash, word_hashes
from corpusmill.text.folded_words import folded_words, words_of
from corpusmill.text.lowlevel import NO_BITS
from corpusmill.text.sets import find, never_zero, table_of
from corpusmill.text.shapes import span_texts
from corpusmill.text.unicode import Folding, folding

MAX_TIMES = 4  # further occurrences of a word in one text do not count: text that is repeated is no more of a language
MAX_WORDS_READ = 4096  # words of a text that are looked at, the first ones
NO_GROUP = -1  # of a list in a language that the model lacks, and of a name without a list


class CommonWords(NamedTuple):
    """The lists as the kernel takes them. A group is a language with all its members, such as the Arabic ones.

    keys      (slots,) uint64: hashes of words, 0 for an empty slot
    entries   (slots, 2) int32: the word is in lists[begin:end]
    lists     (entries,) int16: places of lists
    bounds    (groups + 1,) int32: before bounds[0] are the lists of strangers, languages in no group with a name of the
              model; those of group g are from bounds[g] to bounds[g + 1]
    """

    keys: UInt64s
    entries: Int32s
    lists: Int16s
    bounds: Int32s


class CommonWordCounts(NamedTuple):
    """(texts,) int32 each: words of the text, MAX_WORDS_READ at most; how many of them, each word MAX_TIMES times at
    most, are in the list of its group that has most of them, and in the list of a stranger that has most of them."""

    words: Int32s
    own: Int32s
    others: Int32s


def hashed(words: list[str]) -> tuple[Int64s, UInt64s]:
    """Which of these are one word to the kernel, and the hashes of these."""
    texts = pa.array(words, pa.large_string())
    spans, offsets = folded_words(texts)
    single = np.flatnonzero(np.diff(offsets) == 1)
    return single, word_hashes(span_texts(texts, single, *spans[offsets[single]].T))


def make_common_words(hashes: UInt64s, lists: Int16s, group: Int16s) -> CommonWords:
    """hashes, lists   (entries,) a word and a list that has it, sorted by word
    group           (lists,) of each list, NO_GROUP for a stranger's; ascending
    """
    words, begin = np.unique(hashes, return_index=True)
    keys, word = table_of(words, np.arange(len(words), dtype=np.int32))
    bounds = np.append(begin, len(hashes)).astype(np.int32)
    entries = np.where(keys[:, None] != NO_BITS, np.column_stack([bounds, np.append(bounds[1:], 0)])[word], 0).astype(
        np.int32
    )
    groups = int(group.max(initial=NO_GROUP)) + 1
    return CommonWords(keys, entries, lists, np.searchsorted(group, np.arange(groups + 1)).astype(np.int32))


def count_words(data: Bytes, offsets: Int64s, rows: Int64s, group: Int16s, common: CommonWords) -> CommonWordCounts:
    """What is common in data[offsets[row]:offsets[row + 1]] for each row.

    group   (rows,) the group that each text is said to be in
    """
    counts = CommonWordCounts(*(np.zeros(len(rows), np.int32) for _ in CommonWordCounts._fields))
    if len(rows):
        _count(data, offsets, rows, group, common, folding(), counts)
    return counts


@kernel
def _count(
    data: Bytes,
    offsets: Int64s,
    rows: Int64s,
    group: Int16s,
    common: CommonWords,
    folding: Folding,
    counts: CommonWordCounts,
) -> None:
    spans = np.empty((MAX_WORDS_READ + 1, 2), np.int64)
    list_counts = np.zeros(common.bounds[-1], np.int16)
    times, of_text = np.zeros(len(common.keys), np.int32), np.full(len(common.keys), -1, np.int64)
    for i in range(len(rows)):
        lo, hi = offsets[rows[i]], offsets[rows[i] + 1]
        words = words_of(data, lo, hi, MAX_WORDS_READ, folding, spans, 0)
        list_counts[:] = 0
        for w in range(words):
            key = never_zero(word_hash(data, lo + spans[w, 0], lo + spans[w, 1]))
            slot = find(common.keys, len(common.keys) - 1, key)
            if common.keys[slot] == NO_BITS:
                continue
            times[slot] = 1 if of_text[slot] != i else times[slot] + 1
            of_text[slot] = i
            if times[slot] <= MAX_TIMES:
                for at in range(common.entries[slot, 0], common.entries[slot, 1]):
                    list_counts[common.lists[at]] += 1
        counts.words[i] = words
        counts.own[i] = largest(list_counts, common.bounds[group[i]], common.bounds[group[i] + 1])
        counts.others[i] = largest(list_counts, 0, common.bounds[0])


@inlined
def largest(counts: Int16s, begin: int, end: int) -> Any:
    top = np.int16(0)
    for j in range(begin, end):
        top = max(top, counts[j])
    return top


def warm_up() -> None:
    """Compile all of this file."""
    _, hashes = hashed(["a"])
    common = make_common_words(hashes, np.zeros(1, np.int16), np.zeros(1, np.int16))
    text = view(pa.array(["a"], pa.large_string()))
    count_words(text.data, np.array([0, 1]), np.zeros(1, np.int64), np.zeros(1, np.int16), common)
