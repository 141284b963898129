"""Which words of three lists an address has; all are sought in one pass over its bytes.

The automaton of Aho and Corasick 1975. Its letters are a-z and 0-9, in either case; every other byte, and every run of
them, is one separator.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpusmill.text.array_types import Bytes, Int32s, Int64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SYMBOL_COUNT = len(LETTERS) + 1  # with the separator, 0
SEPARATOR = 0
NO_ENTRY = -1

_symbols = np.zeros(256, np.uint8)
for _symbol, _letter in enumerate(LETTERS, 1):
    _symbols[ord(_letter)] = _symbols[ord(_letter.upper())] = _symbol


class Automaton(NamedTuple):
    """A list of words as the kernel takes it.

    after     (states * SYMBOL_COUNT,) int32: the state after a symbol; a state is a multiple of SYMBOL_COUNT
    start     the state before the first symbol
    reports   the first state in which a word ends; one ends in all further ones
    word      (states,) int32: the place in the list of the longest word that ends in a state, -1 if none does
    also      (states,) int32: the state of the next shorter word that ends there too, 0 if none does
    """

    after: Int32s
    start: int
    reports: int
    word: Int32s
    also: Int32s


class WordLists(NamedTuple):
    """The lists of `word_lists` as the kernel takes them.

    whole, inside   the hard and soft words, and the sub-words
    hard            (words of `whole`,) int32: the place in the list of hard words, -1 if it is none
    soft            (words of `whole`,) int32: 1 for a soft word, else 0
    """

    whole: Automaton
    inside: Automaton
    hard: Int32s
    soft: Int32s


def word_lists(hard: Sequence[str], sub: Sequence[str], soft: Sequence[str], across: bool = True) -> WordLists:
    """Lists to be given to `find_words`: words of a-z and 0-9, with one space between the parts of an entry.

    hard, soft   match whole words
    sub          match anywhere, separators in the words ignored …
    across       … and those in the text; else a sub-word is within a word of the text
    """
    words = list(dict.fromkeys([*hard, *soft]))
    places = {word: number for number, word in reversed(list(enumerate(hard)))}
    return WordLists(
        automaton([f" {word} " for word in words], inside=False),
        automaton([word.replace(" ", "") for word in sub], inside=True, across=across),
        np.array([places.get(word, NO_ENTRY) for word in words], np.int32),
        np.isin(np.array(words, np.str_), np.array(soft, np.str_)).astype(np.int32),
    )


def automaton(words: Sequence[str], inside: bool, across: bool = True) -> Automaton:
    """The automaton of these words; of two that are equal the first counts.

    inside   separators are passed over, or without `across` end every word; else a run of them is one
    """
    after = [np.zeros(SYMBOL_COUNT, np.int32)]
    word = [NO_ENTRY]
    separated = [False]  # whether a state follows a separator
    for number, entry in enumerate(words):
        state = 0
        for symbol in _symbols[np.frombuffer(entry.encode(), np.uint8)]:
            if not after[state][symbol]:
                after[state][symbol] = len(after)
                after.append(np.zeros(SYMBOL_COUNT, np.int32))
                word.append(NO_ENTRY)
                separated.append(symbol == SEPARATOR)
            state = int(after[state][symbol])
        word[state] = number if word[state] == NO_ENTRY else word[state]
    # Breadth first: where a state has no branch of its own, that of the longest suffix that is a state.
    suffix, also = [0] * len(after), [0] * len(after)
    waiting = [0]
    for state in waiting:
        shorter = suffix[state]
        also[state] = shorter if word[shorter] != NO_ENTRY else also[shorter]
        for symbol in np.flatnonzero(after[state]).tolist():
            child = int(after[state][symbol])
            suffix[child] = int(after[shorter][symbol]) if state else 0
            waiting.append(child)
        if state:
            after[state] = np.where(after[state], after[state], after[shorter])
        if (inside and across) or separated[state]:  # further separators change nothing
            after[state][SEPARATOR] = state
    # A state reports the longest word that ends in it, and those that report come last.
    longest = [state if word[state] != NO_ENTRY else also[state] for state in range(len(after))]
    order = np.argsort(np.array(longest) > 0, kind="stable")
    renamed = np.argsort(order).astype(np.int32)
    return Automaton(
        after=np.concatenate([renamed[after[state]] * np.int32(SYMBOL_COUNT) for state in order]),
        start=0 if inside else int(renamed[after[0][SEPARATOR]]) * SYMBOL_COUNT,
        reports=longest.count(0) * SYMBOL_COUNT,
        word=np.array(word, np.int32)[longest][order],
        also=renamed[np.array(also)[longest]][order],
    )


def find_words(data: Bytes, begin: Int64s, end: Int64s, lists: WordLists) -> tuple[Int32s, Int32s, Int32s]:
    """Of each text data[begin:end]: the place in its list of the first hard word that the text has, and of the first
    sub-word, -1 for none; and how many different soft words it has. All (texts,) int32."""
    hard, sub = np.full(len(begin), NO_ENTRY, np.int32), np.full(len(begin), NO_ENTRY, np.int32)
    soft = np.zeros(len(begin), np.int32)
    if len(lists.whole.word) + len(lists.inside.word) > 2:
        _find_words(data, begin, end, lists, hard, sub, soft)
    return hard, sub, soft


@kernel
def _find_words(
    data: Bytes, begin: Int64s, end: Int64s, lists: WordLists, hard: Int32s, sub: Int32s, soft: Int32s
) -> None:
    whole_words, inside = lists.whole, lists.inside
    counted = np.full(len(lists.soft), NO_ENTRY, np.int64)  # the last text that had each word
    for d in range(len(begin)):
        state, state_inside = np.int64(whole_words.start), np.int64(inside.start)
        for i in range(begin[d], end[d] + 1):
            symbol = np.int64(_symbols[load8(data, i)] if i < end[d] else SEPARATOR)
            state = np.int64(whole_words.after[state + symbol])
            state_inside = np.int64(inside.after[state_inside + symbol])
            at = state // SYMBOL_COUNT if state >= whole_words.reports else np.int64(0)
            while at > 0:
                word = whole_words.word[at]
                hard[d] = _first(hard[d], lists.hard[word])
                soft[d] += lists.soft[word] if counted[word] != d else np.int32(0)
                counted[word] = d
                at = np.int64(whole_words.also[at])
            at = state_inside // SYMBOL_COUNT if state_inside >= inside.reports else np.int64(0)
            while at > 0:
                sub[d] = _first(sub[d], inside.word[at])
                at = np.int64(inside.also[at])


@inlined
def _first(a: int, b: int) -> int:
    """The smaller of two places in a list; -1 is none."""
    return b if a == NO_ENTRY or NO_ENTRY < b < a else a


def warm_up() -> None:
    """Compile all of this file."""
    spans, lists = np.zeros((2, 2), np.int64), word_lists(["a"], ["b"], ["c"])
    for columns in (spans[:1], spans):  # a column of one row is contiguous
        find_words(np.zeros(1, np.uint8), columns[:, 0], columns[:, 1], lists)
