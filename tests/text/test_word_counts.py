"""Words by white space, and by character where a script has no spaces: as a loop over characters counts them."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.plain_tokens import ALONE
from corpusmill.text.word_counts import word_counts


def slow_words(text):
    words, inside = 0, False
    for c in text:
        if c.isspace():
            inside = False
        elif any(first <= ord(c) <= last for first, last in ALONE):
            words, inside = words + 1, False
        else:
            words, inside = words + (not inside), True
    return words


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), (" \n", 0), ("one", 1), ("don't stop. Now!", 3), ("東京は", 3), ("a東京b", 4), ("naïve\u2003café", 2)],
)
def test_words(text, words):
    assert word_counts(pa.array([text], pa.large_string())).tolist() == [words]


letters = st.text(st.sampled_from("ab .\n\t\u00a0\u2003é東ก\x1c\x85👩"), max_size=200)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(letters, st.text(max_size=80), st.none()), max_size=4))
def test_words_are_counted_as_a_loop_counts_them(texts):
    counts = word_counts(pa.array(texts, pa.large_string()))
    assert counts.tolist() == [slow_words(text or "") for text in texts]


def test_blocks_begin_anywhere():
    texts = ["x" * n + " " + "y" * (70 - n) + "é" * (n % 3) for n in range(71)]
    assert word_counts(pa.array(texts, pa.large_string())).tolist() == [slow_words(text) for text in texts]
