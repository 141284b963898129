"""Shingles are XXH64 of the words' n-grams; Jaccard is that of sets."""

from itertools import pairwise

import numpy as np
import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text_strategies import strings

from corpusmill.text.shingles import jaccard, shingle_hashes

folded = st.lists(st.sampled_from(["a", "bc", "é", "日本", "x" * 70, "", "the"]), max_size=30).map(" ".join)


def slow_shingles(text, n):
    words = [word for word in text.split(" ") if word]
    grams = [words[i : i + n] for i in range(len(words) - n + 1)] or ([words] if words else [])
    return [xxhash.xxh64_intdigest(" ".join(gram).encode()) for gram in grams]


@settings(max_examples=150)
@given(st.lists(folded, min_size=1, max_size=4), st.integers(1, 14))
@example(["a b", "", " a  b ", "a"], 2)
def test_are_the_hashes_of_every_n_words(texts, n):
    hashes, offsets = shingle_hashes(strings(*texts), n)
    found = [hashes[a:b].tolist() for a, b in pairwise(offsets)]
    assert found == [slow_shingles(text, n) for text in texts]


def test_a_short_document_is_one_shingle_and_an_empty_one_none():
    hashes, offsets = shingle_hashes(strings("only three words", None, "x"), 5)
    assert offsets.tolist() == [0, 1, 1, 2]
    assert hashes.tolist() == [xxhash.xxh64_intdigest(t) for t in (b"only three words", b"x")]


def test_a_shingle_has_a_word():
    with pytest.raises(ValueError, match="n=0"):
        shingle_hashes(strings("a"), 0)


sets = st.lists(st.integers(1, 12), max_size=20)


@settings(max_examples=100)
@given(st.lists(sets, min_size=2, max_size=5))
@example([[2, 2, 1], [1, 1], [], []])
def test_jaccard_is_that_of_the_sets(documents):
    hashes = np.array([x for document in documents for x in document], np.uint64)
    offsets = np.cumsum([0] + [len(document) for document in documents])
    left, right = map(np.ravel, np.indices((len(documents), len(documents))))
    wanted = []
    for a, b in ((set(documents[i]), set(documents[j])) for i, j in zip(left, right, strict=True)):
        wanted.append(len(a & b) / len(a | b) if a | b else 0.0)
    assert jaccard(hashes, offsets, left, right).tolist() == wanted


def test_jaccard_refuses_documents_that_are_not_there():
    with pytest.raises(ValueError, match=r"0\.\.0"):
        jaccard(np.zeros(1, np.uint64), np.array([0, 1]), np.array([0]), np.array([1]))
