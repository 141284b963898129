"""Shingles are polynomials in the hashes of words or of characters."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.shingles import Shingling, character_hashes, shingle_hashes
from text_strategies import strings

folded = st.lists(st.sampled_from(["a", "bc", "é", "日本", "x" * 70, "", "the"]), max_size=30).map(" ".join)
words = st.text("ab é日👩", min_size=1, max_size=40).map(lambda text: text.replace(" ", "_"))

ALL = 2**64 - 1
K0, K1, K2, K3 = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3
BASE = 0x9E3779B185EBCA87


def mix(a, b):
    return (a * b & ALL) ^ (a * b >> 64)


def slow_word(word):
    data = word.encode()
    first, last = (int.from_bytes(part, "little") for part in (data[:8], data[-8:]))
    if len(data) <= 8:
        return mix(first ^ K1, len(data) ^ K0)
    if len(data) <= 16:
        return mix(first ^ K1 ^ len(data), last ^ K2)
    h = K0
    for at in range(0, len(data) - 15, 16):
        one, other = (int.from_bytes(data[a : a + 8], "little") for a in (at, at + 8))
        h = mix(one ^ K1, other ^ h)
    return mix(int.from_bytes(data[-16:-8], "little") ^ K3 ^ len(data), last ^ h)


def slow_character(character):
    return mix(ord(character) ^ K1, K2)


def slow_grams(pieces, n):
    grams = [pieces[i : i + n] for i in range(len(pieces) - n + 1)] or ([pieces] if pieces else [])
    return [sum(piece * BASE**i for i, piece in enumerate(reversed(gram))) & ALL for gram in grams]


def slow_shingles(text, n):
    return slow_grams([slow_word(word) for word in text.split(" ") if word], n)


def of_each(hashes, offsets):
    return [hashes[a:b].tolist() for a, b in pairwise(offsets)]


@settings(max_examples=150)
@given(st.lists(folded, min_size=1, max_size=4), st.integers(1, 14))
@example(["a b", "", " a  b ", "a"], 2)
@example(["x" * 63 + " a", "x" * 64 + " a", "x" * 64], 1)
def test_are_the_hashes_of_every_n_words(texts, n):
    assert of_each(*shingle_hashes(strings(*texts), n)) == [slow_shingles(text, n) for text in texts]


@given(st.lists(words, max_size=5))
def test_words_of_every_length_are_hashed_alike(words):
    assert of_each(*shingle_hashes(strings(" ".join(words)), 1)) == [[slow_word(word) for word in words]]


characters = st.text("ab é日👩", max_size=30)  # of one to four bytes


@settings(max_examples=150)
@given(st.lists(characters, min_size=1, max_size=4), st.integers(1, 14))
@example(["", "é", "日a", "👩👩👩"], 2)
def test_are_the_hashes_of_every_n_characters(texts, n):
    wanted = [slow_grams([slow_character(character) for character in text], n) for text in texts]
    assert of_each(*character_hashes(strings(*texts), n)) == wanted


def test_characters_are_those_of_the_folded_text():
    texts = strings("Río, 12", "rio 47", None)
    hashes, offsets = Shingling(3, "characters").hashes(texts)
    assert offsets.tolist() == [0, 3, 6, 6]
    assert hashes.tolist() == slow_grams([slow_character(character) for character in "rio 0"], 3) * 2


def test_a_short_document_is_one_shingle_and_an_empty_one_none():
    hashes, offsets = shingle_hashes(strings("only three words", None, "x"), 5)
    assert offsets.tolist() == [0, 1, 1, 2]
    assert hashes.tolist() == [*slow_shingles("only three words", 3), slow_word("x")]


def test_different_n_grams_have_different_hashes_in_every_part():
    """Of two words all n-grams of 12, which differ in little else than their order: half of the bits tell them apart."""
    texts = [" ".join("ab"[number >> bit & 1] for bit in range(12)) for number in range(1 << 12)]
    hashes, _ = shingle_hashes(strings(*texts), 12)
    for half in (hashes >> np.uint64(32), hashes & np.uint64(0xFFFFFFFF)):
        assert len(np.unique(half)) > len(texts) - 16  # 0.002 collisions are expected of chance


@pytest.mark.parametrize("hashes", [shingle_hashes, character_hashes])
def test_a_shingle_has_a_word_or_a_character(hashes):
    with pytest.raises(ValueError, match=r"at least one .*n=0"):
        hashes(strings("a"), 0)
