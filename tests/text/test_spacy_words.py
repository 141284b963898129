"""Words are those of spaCy's English tokenizer: in texts that were invented for its rules (scripts/make_spacy_words.py wrote
down what spaCy 3.8 says of them), and by what must hold of any text."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.text.script_stats import stats_over
from corpusmill.text.spacy_words import spacy_words
from corpusmill.text.stats import document_stats
from text_strategies import strings

GOLDEN = json.loads(gzip.decompress(Path(__file__).with_name("spacy_words.json.gz").read_bytes()))
PIECES = [
    "im",
    "im.",
    "I'm",
    "don't",
    ":)",
    "U.S.",
    "5km",
    "a.b",
    "www.a.com",
    "(",
    ")",
    "...",
    " ",
    "  ",
    "\n",
    "é",
    "日本",
]

TEXTS = st.lists(
    st.sampled_from([text for text, _ in GOLDEN]) | st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
    max_size=4,
)


def words_of(text: str) -> list[str]:
    data = text.encode()
    return [data[start:end].decode() for _, start, end in spacy_words(strings(text))]


def test_words_are_those_of_spacy():
    found = spacy_words(strings(*(text for text, _ in GOLDEN)))
    ends = np.searchsorted(found[:, 0], np.arange(len(GOLDEN) + 1))
    for i, (text, words) in enumerate(GOLDEN):
        assert found[ends[i] : ends[i + 1], 1:].tolist() == words, text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't go (yet), please.", "Do n't go ( yet ) , please ."),
        ("I'm sure it's 5km or 3.5kg.", "I 'm sure it 's 5 km or 3.5 kg ."),
        ("See www.example.org/a-b?c=1 or a-b, e.g. U.S. ones", "See www.example.org/a-b?c=1 or a - b , e.g. U.S. ones"),
        ("im. id.", "i m. i d."),  # "m." and "d." are special cases that are found again
        ("http://10.0.0.1/x http://8.8.8.8/x", "http://10.0.0.1 / x http://8.8.8.8/x"),  # not a private address
    ],
)
def test_examples(text, words):
    assert words_of(text) == words.split()


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join))
def test_words_are_the_text_without_white_space(text):
    assert "".join(words_of(text)) == "".join(text.split())


@given(TEXTS)
def test_a_document_is_cut_as_if_it_were_alone(texts):
    together = spacy_words(strings(*texts))
    alone = [[i, *span] for i, text in enumerate(texts) for _, *span in spacy_words(strings(text)).tolist()]
    assert together.tolist() == alone


@given(TEXTS)
def test_statistics_are_those_of_the_words_set_apart_by_spaces(texts):
    """Of the words alone: of the text around them they are those of the text."""
    ours, plain = stats_over(strings(*texts), "spacy"), document_stats(strings(*texts))
    apart = document_stats(strings(*(" ".join(words_of(text)) for text in texts)))
    for name in ("words", "word_chars", "distinct_words", "alpha_words", "upper_words", "content_words", "stop_words"):
        assert ours[name].tolist() == apart[name].tolist(), name
    for name in ("repeats", "top_gram_counts", "top_gram_chars", "duplicate_gram_chars"):
        assert ours[name].tolist() == apart[name].tolist(), name
    for name in ("chars", "newlines", "hashes", "ellipses", "upper_chars", "digits", "marks", "special_chars", "lines"):
        assert ours[name].tolist() == plain[name].tolist(), name
    for name in (
        "filled_lines",
        "duplicate_lines",
        "full_lines",
        "short_lines",
        "paragraphs",
        "duplicate_paragraph_chars",
    ):
        assert ours[name].tolist() == plain[name].tolist(), name


@pytest.mark.parametrize("unit", ["(", "):", "@", "a.a", "=(", "1km", "日本", '"', "..."])
def test_long_chunks_take_linear_time(unit):
    assert len(spacy_words(strings(unit * (400_000 // len(unit))))) > 0  # a quadratic one would not end
