"""Statistics over other words than those between spaces, from the words themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.script_stats import listed_words, make_lists, stats_over
from corpusmill.text.script_words import script_words
from corpusmill.text.spacy_words import spacy_words
from corpusmill.text.stats import STATS, STOP_WORDS, document_stats, stop_hashes
from text_strategies import batches, strings

FINDERS = {"spacy": spacy_words, "script": script_words}
ATOMS = [
    "the",
    "be",
    "Don't",
    "mill,",
    "(x)",
    "日本語",
    "です。",
    "ไทย",
    "한국",
    " ",
    " ",
    "\n",
    "é",
    "1.5km",
    "www.a.org",
    "to",
    "...",
    "WORD",
]
texts = st.lists(st.sampled_from(ATOMS), max_size=25).map("".join)


def words_of(name, text):
    raw = text.encode()
    return [raw[a:b].decode() for _, a, b in FINDERS[name](strings(text)).tolist()]


def top(words, n):
    grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    return max(map(grams.count, grams), default=0)


@pytest.mark.parametrize("name", FINDERS)
@given(texts)
@settings(max_examples=60)
def test_counts_are_those_of_the_words(name, text):
    words = words_of(name, text)
    row = stats_over(strings(text), name)[0]
    assert row["words"] == len(words) and row["word_chars"] == sum(map(len, words))
    assert row["distinct_words"] == len(set(words))
    assert row["alpha_words"] == sum(any(c.isalpha() for c in word) for word in words)
    assert row["upper_words"] == sum(word.isupper() for word in words)
    assert row["stop_words"] == len(set(words) & set(STOP_WORDS))
    assert row["top_gram_counts"].tolist() == [top(words, n) for n in (2, 3, 4)]
    trigrams = [tuple(words[i : i + 3]) for i in range(len(words) - 2)]
    assert row["repeats"] == len(trigrams) - len(set(trigrams))


@pytest.mark.parametrize("name", FINDERS)
@pytest.mark.parametrize("contained", [False, True])
@given(batches)
@settings(max_examples=30)
def test_lines_and_characters_are_those_of_plain_statistics(name, contained, batch):
    ours = stats_over(strings(*batch), name, contained=contained)
    plain = document_stats(strings(*batch), contained=contained)
    for field in (
        "chars",
        "newlines",
        "hashes",
        "ellipses",
        "upper_chars",
        "digits",
        "lines",
        "bullet_lines",
        "filled_lines",
        "full_lines",
        "short_lines",
        "paragraphs",
        "duplicate_lines",
    ):
        assert (ours[field] == plain[field]).all(), field
    assert ours.dtype == STATS


@pytest.mark.parametrize("name", FINDERS)
def test_documents_slices_and_nulls(name):
    array = strings("other words", "The mill.", None, "日本")
    together = stats_over(array[1:], name)
    assert (together[0] == stats_over(strings("The mill."), name)[0]).all()
    assert together["words"].tolist() == [3, 0, len(words_of(name, "日本"))]
    assert len(stats_over(strings(), name)) == 0


def test_hashes_of_stop_words_differ():
    assert len(set(stop_hashes().tolist())) == len(STOP_WORDS) and 0 not in stop_hashes().tolist()


words_in_lists = st.lists(
    st.lists(st.sampled_from(["the", "mill", "日", "です", "가", "는", "x"]), unique=True, max_size=5),
    min_size=1,
    max_size=3,
)


@given(words_in_lists, st.lists(st.tuples(texts, st.integers(-1, 2)), min_size=1, max_size=4))
@settings(max_examples=60)
def test_words_of_a_list_are_counted_once_each(lists, documents):
    numbers = np.array([min(number, len(lists) - 1) for _, number in documents])
    counts = listed_words(strings(*(text for text, _ in documents)), numbers, make_lists(lists))
    for (text, _), number, count in zip(documents, numbers.tolist(), counts.tolist()):
        if number < 0:
            assert count == -1
            continue
        words = set(words_of("script", text))
        korean = {
            word[-size:]
            for word in words
            for size in (1, 2)
            if len(word) > size and all("가" <= c <= "힣" for c in word[-size:])
        }
        assert count == len((words | korean) & set(lists[number]))


def test_a_korean_word_counts_as_what_it_ends_with():
    table = make_lists([["는", "에서"], ["집"]])
    assert listed_words(strings("나는 집에서", "집", "x는"), np.array([0, 1, 0]), table).tolist() == [2, 1, 1]


def test_a_list_has_64_words_at_most():
    words = [f"w{number}" for number in range(64)]
    assert listed_words(strings(" ".join(words)), np.array([0]), make_lists([words])).tolist() == [64]
    with pytest.raises(AssertionError):
        make_lists([[*words, "one"]])
    assert listed_words(strings("w1"), np.array([0]), make_lists([[]])).tolist() == [0]
