"""A second look at two close languages, against counting substrings."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.models.close_pairs import LONGEST_NGRAM, compare, make_pair
from corpusmill.text.buffers import view
from text_strategies import strings

BASIS, PRIME = 0xCBF29CE484222325, 0x100000001B3


def fnv(data):
    value = BASIS
    for byte in data:
        value = (value ^ byte) * PRIME % 2**64
    return value


def ngrams(text):
    """The distinct n-grams of the words of a text, and its whole words, with a blank on both sides."""
    found, word = set(), b""
    for byte in [*text.encode(), 0]:
        letter = bytes([byte]).lower() if byte < 128 else bytes([byte])
        if byte >= 128 or letter.isalpha() or byte == 39:
            word += letter
            continue
        if word:
            own = b" " + word + b" "
            found |= {own[a:b] for a in range(len(own)) for b in range(a + 1, min(a + LONGEST_NGRAM, len(own)) + 1)}
            found.add(own)
        word = b""
    return found


def pair_of(weights):
    hashes = np.array([fnv(ngram) for ngram in weights], np.uint64)
    return make_pair(hashes, np.array(list(weights.values()), np.int8))


def is_first(weights, *texts):
    text = view(strings(*texts))
    return compare(text.data, text.offsets, np.arange(len(texts)), pair_of(weights)).tolist()


grams = st.dictionaries(
    st.sampled_from([b"a", b"ab", b" a", b"b ", b" ab ", b"'s", "é".encode(), b" abababab ", b"ba", b" "]),
    st.integers(-9, 9),
    max_size=6,
)
texts = st.lists(
    st.sampled_from(["a", "ab", "AB", "b's", "é", "abababab", " ", ".", "1", "\n", "日本"]), max_size=10
).map("".join)


@given(grams, st.lists(texts, min_size=1, max_size=3))
@settings(max_examples=150)
def test_the_sum_of_the_weights_decides(weights, batch):
    expected = [sum(weights.get(ngram, 0) for ngram in ngrams(text)) >= 0 for text in batch]
    assert is_first(weights, *batch) == expected


def test_each_ngram_counts_once_and_a_tie_is_the_first():
    assert is_first({b"a": -1, b"b": 1}, "aaa b") == [True]
    assert is_first({b"a": -1}, "a", "") == [False, True]


def test_texts_are_those_of_the_rows():
    text = view(strings("a", "b", "a"))
    assert compare(text.data, text.offsets, np.array([2, 1]), pair_of({b"a": -1})).tolist() == [False, True]
