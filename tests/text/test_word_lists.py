"""Words of three lists in addresses, against expressions."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.word_lists import NO_ENTRY, find_words, word_lists

entries = st.lists(st.sampled_from(["a", "ab", "b", "a b", "bab", "b1", "ba", "aa", "1"]), max_size=5)
texts = st.text("abAB1-._/ é", max_size=14)


def answers(texts, lists):
    raw = [text.encode() for text in texts]
    ends = np.cumsum([len(part) for part in raw], dtype=np.int64)
    data = np.frombuffer(b"".join(raw) + bytes(64), np.uint8)
    begins = ends - np.array([len(part) for part in raw], np.int64)
    return [column.tolist() for column in find_words(data, begins, ends, lists)]


def plain(text):
    """Letters and digits in lower case, each run of anything else as one space."""
    return re.sub("[^a-z0-9]+", " ", "".join(c.lower() if c.isascii() else c for c in text))


def first(hits):
    return hits.index(True) if True in hits else NO_ENTRY


@given(st.lists(texts, min_size=1, max_size=4), entries, entries, entries, st.booleans())
@settings(max_examples=200)
def test_equals_searching_for_each_word(texts, hard, sub, soft, across):
    hits, subs, softs = answers(texts, word_lists(hard, sub, soft, across))
    for d, text in enumerate(texts):
        words = f" {plain(text).strip()} "
        joined = [plain(text).replace(" ", "")] if across else plain(text).split()
        assert hits[d] == first([f" {word} " in words for word in hard])
        assert subs[d] == first([any(word.replace(" ", "") in part for part in joined) for word in sub])
        assert softs[d] == sum(f" {word} " in words for word in set(soft))


def test_nothing_is_found_without_lists():
    assert answers(["a b", ""], word_lists([], [], [])) == [[-1, -1], [-1, -1], [0, 0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://big-bad.org/", (0, -1, 0)),
        ("http://bigbad.org/", (-1, 0, 0)),
        ("http://a.org/Soft/soft", (-1, -1, 1)),
        ("http://a.org/b-i-g-b-a-d", (-1, 0, 0)),
        ("", (-1, -1, 0)),
    ],
)
def test_hard_words_are_whole_sub_words_anywhere_and_soft_ones_counted(text, expected):
    columns = answers([text], word_lists(["big bad"], ["bigbad"], ["soft", "org x"]))
    hard, sub, soft = (column[0] for column in columns)
    assert (hard, sub if hard < 0 else -1, soft) == expected


def test_of_two_hard_words_the_first_of_the_list_counts():
    lists = word_lists(["second", "first"], [], [])
    assert answers(["first-second", "first"], lists)[0] == [0, 1]
