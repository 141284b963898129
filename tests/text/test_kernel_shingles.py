"""Shingles are XXH64 of n-grams of words or of characters."""

from itertools import pairwise

import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text_strategies import strings

from corpusmill.text.shingles import Shingling, character_hashes, shingle_hashes

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
    shingles = [hashes[a:b].tolist() for a, b in pairwise(offsets)]
    assert shingles == [slow_shingles(text, n) for text in texts]


def slow_characters(text, n):
    grams = [text[i : i + n] for i in range(len(text) - n + 1)] or ([text] if text else [])
    return [xxhash.xxh64_intdigest(gram.encode()) for gram in grams]


characters = st.text("ab é日👩", max_size=30)  # of one to four bytes


@settings(max_examples=150)
@given(st.lists(characters, min_size=1, max_size=4), st.integers(1, 14))
@example(["", "é", "日a", "👩👩👩"], 2)
def test_are_the_hashes_of_every_n_characters(texts, n):
    hashes, offsets = character_hashes(strings(*texts), n)
    shingles = [hashes[a:b].tolist() for a, b in pairwise(offsets)]
    assert shingles == [slow_characters(text, n) for text in texts]


def test_characters_are_those_of_the_folded_text():
    texts = strings("Río, 12", "rio 47", None)
    hashes, offsets = Shingling(3, "characters").hashes(texts)
    assert offsets.tolist() == [0, 3, 6, 6]
    assert hashes.tolist() == slow_characters("rio 0", 3) * 2


def test_a_short_document_is_one_shingle_and_an_empty_one_none():
    hashes, offsets = shingle_hashes(strings("only three words", None, "x"), 5)
    assert offsets.tolist() == [0, 1, 1, 2]
    assert hashes.tolist() == [xxhash.xxh64_intdigest(t) for t in (b"only three words", b"x")]


@pytest.mark.parametrize("hashes", [shingle_hashes, character_hashes])
def test_a_shingle_has_a_word_or_a_character(hashes):
    with pytest.raises(ValueError, match=r"at least one .*n=0"):
        hashes(strings("a"), 0)
