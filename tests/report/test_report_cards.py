"""Documents on the page: escaped, cut, with the rules that they fail; pairs with their differences."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.report.html import cards
from corpusmill.report.rules import because, evidence
from corpusmill.report.visible import visible
from corpusmill.steps.verdict import Bound
from made_run import HOSTILE, HOSTILE_URL

BOUNDS = {"quality.min_words": Bound("quality.words", "<", 50)}
words = st.lists(st.sampled_from("a b c d e".split()), max_size=30).map(" ".join)


def entry(**values):
    about = {"id": "0a1b", "source": "web", "file": "/data/web.jsonl", "position": 3, "url": "http://made.org/1"}
    about |= {"bytes": 4, "tokens": None, "reasons": [], "signals": {}, "text": "text"}
    return about | values


def plain(markup):
    return unescape(re.sub(r"<[^>]*>", "", markup))


def test_a_document_says_where_it_is_from():
    text = plain(cards.document(entry(), {}))
    assert "http://made.org/1" in text and "web web.jsonl:3" in text and "4 bytes" in text and "id 0a1b" in text
    assert "/data/" not in text


def test_tokens_are_shown_where_they_were_counted():
    assert "12 tokens" in plain(cards.document(entry(tokens=12), {}))
    assert "0 tokens" in plain(cards.document(entry(tokens=0), {}))


def test_a_document_without_an_address_has_its_file():
    card = cards.document(entry(url=None), {})
    assert "web web.jsonl:3" in plain(card) and "<b>" not in card


def test_hostile_documents_do_nothing():
    card = cards.document(entry(text=HOSTILE, url=HOSTILE_URL, source=HOSTILE, id=HOSTILE, file=HOSTILE), BOUNDS)
    assert set(re.findall(r"<(\w+)", card)) <= {"div", "b", "bdi", "span"}
    assert "\x1b" not in card and "\u202e" not in card and "href" not in card


def test_a_text_is_cut_and_an_empty_one_is_said_to_be():
    long = plain(cards.document(entry(text="x" * 5000), {}))
    assert "x" * 900 + "…" in long and "x" * 901 not in long
    assert "no text" in plain(cards.document(entry(text=" \n"), {}))


def test_a_text_that_is_not_stored_is_named_by_its_file():
    assert "text not stored" in plain(cards.document(entry(text=None), {}))


def test_rules_are_named_with_what_was_measured_and_the_bound():
    failed = entry(reasons=["quality.min_words"], signals={"quality.words": 12})
    assert "quality.min_words: words 12, below 50" in plain(cards.document(failed, BOUNDS))
    assert cards.why(entry(), BOUNDS) is None


def test_of_many_rules_the_first_are_named():
    reasons = [f"step.rule_{i}" for i in range(11)]
    text = plain(cards.document(entry(reasons=reasons), {}))
    assert "step.rule_7" in text and "step.rule_8" not in text and "and 3 more" in text


@settings(max_examples=60)
@given(words, words)
def test_both_texts_are_shown_in_full_and_what_differs_is_marked(first, second):
    shown = cards.differences(first, second)
    for markup, text in zip(shown, (first, second)):
        body = plain(markup)
        if "omitted]" in body:
            body = body.partition("] … ")[2]
            assert text.endswith(body.strip()) or not body.strip()
        else:
            assert body.split() == text.split()
    unmarked = [" ".join(re.findall("<span>(.*?)</span>", markup)).split() for markup in shown]
    assert unmarked[0] == unmarked[1]


def test_equal_texts_of_a_pair_are_shown_once():
    pair = {"document": entry(id="1"), "duplicate_of": entry(id="2"), "similarity": 1.0, "lost": None}
    text = plain(cards.pair(pair))
    assert text.count("text") == 1 and "id 1" in text and "id 2" in text


def test_a_pair_has_its_similarity_and_what_is_lost():
    pair = {"document": entry(text="a b"), "duplicate_of": entry(text="a c"), "similarity": 0.8125, "lost": 0.25}
    card = cards.pair(pair, ("first", "second"))
    text = plain(card)
    assert "similarity 0.812" in text and "25.0% of the n-grams of the first are missing from the second" in text
    assert "first" in text and "second" in text
    assert re.findall("<mark>(.*?)</mark>", card) == ["b", "c"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_of_a_pair_is_markup(first, second):
    pair = {"document": entry(text=first), "duplicate_of": entry(text=second), "similarity": 0.5}
    card = cards.pair(pair)
    assert set(re.findall(r"<(\w+)", card)) <= {"div", "h4", "b", "bdi", "span", "mark"}
    assert visible(plain(card)) == plain(card)


@pytest.mark.parametrize(
    "reason, signals, expected",
    [
        ("quality.min_words", {"quality.words": 12}, "quality.min_words: words 12, below 50"),
        ("quality.min_words", {}, "quality.min_words: words –, below 50"),
        ("c4.curly", {"c4.curly": True}, "c4.curly"),
        ("c4.lines", {"c4.lines": 3}, "c4.lines: lines 3"),
        ("c4.other", {"c4.a": 1, "c4.b": None}, "c4.other: a 1"),
        ("c4.other", {f"c4.{name}": 1 for name in "abcde"}, "c4.other"),
        ("c4.other", {"fineweb.a": 1}, "c4.other"),
        ("c4.name", {"c4.name": "x\x1b\ny"}, "c4.name: name x␛ y"),
    ],
)
def test_a_reason_is_explained_by_what_it_was_decided_by(reason, signals, expected):
    assert because(reason, signals, BOUNDS) == expected


def test_evidence_of_a_bound_is_its_signal_alone():
    signals = {"quality.words": 12, "quality.other": 1, "quality.min_words": 7}
    assert evidence("quality.min_words", signals, BOUNDS) == {"words": 12}
    assert evidence("quality.min_words", signals, {}) == {"min_words": 7}
