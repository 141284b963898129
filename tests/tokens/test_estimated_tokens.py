"""Tokens of dropped documents are those of the middle of a text, in proportion to its bytes."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.text.buffers import view
from corpusmill.tokens.estimate import MIDDLE, SEARCHED, estimate, is_estimated, middles

WORDS = st.lists(st.text(st.sampled_from("abé語 \n😀"), max_size=40), max_size=60).map(" ".join)


def words(texts):
    return np.array([len(text.as_py().split()) for text in texts], np.int64)


def middle(text):
    """(first byte, end) of one text, byte by byte: what `middles` finds for many at once."""

    def moved(at):
        ahead = text[at : at + SEARCHED]
        spaces = [i for i, byte in enumerate(ahead) if byte in b" \n"]
        return at + (spaces or [i for i, byte in enumerate(ahead) if byte & 0xC0 != 0x80])[0]

    if len(text) <= 2 * MIDDLE:
        return 0, len(text)
    begin = (len(text) - MIDDLE) // 2
    return moved(begin), moved(begin + MIDDLE)


@given(st.lists(WORDS, max_size=5))
def test_the_middle_of_many_texts_is_that_of_each(texts):
    column = pa.array(texts, pa.large_string())
    first, last = middles(view(column))
    found = [(int(begin - start), int(end - start)) for begin, end, start in zip(first, last, view(column).offsets)]
    assert found == [middle(text.encode()) for text in texts]
    for text, (begin, end) in zip(texts, found):
        text.encode()[begin:end].decode()  # between characters
    assert is_estimated(column).tolist() == [len(text.encode()) > 2 * MIDDLE for text in texts]


@given(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4))
def test_an_estimate_depends_on_its_text_alone(some, others):
    both = estimate(pa.array(some + others, pa.large_string()), words).tolist()
    assert both == [int(estimate(pa.array([text], pa.large_string()), words)[0]) for text in some + others]


def test_short_texts_are_counted_and_long_ones_estimated():
    texts = pa.array(["one two", None, "", "word " * 1000, "x" * 2 * MIDDLE, "é" * 3000], pa.large_string())
    assert estimate(texts, words).tolist() == [2, 0, 0, pytest.approx(1000, rel=0.02), 1, pytest.approx(23, abs=1)]


def test_an_estimate_of_even_text_is_close():
    rng = np.random.default_rng(7)
    texts = [" ".join("w" * n for n in rng.integers(1, 12, size)) for size in rng.integers(100, 2000, 200)]
    column = pa.array(texts, pa.large_string())
    assert estimate(column, words).sum() == pytest.approx(words(column).sum(), rel=0.01)
