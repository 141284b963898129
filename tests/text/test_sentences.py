"""Where sentences end, against a slow twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.sentences import ABBREVIATIONS, sentence_counts, sentence_spans
from corpusmill.text.unicode import terminal
from text_strategies import batches, strings

CLOSERS = "\"')]}»’”"
ATOMS = [
    "Mr",
    "Dr",
    "a",
    "A",
    "U.S",
    "e.g",
    "word",
    " ",
    "  ",
    "\n",
    ".",
    "..",
    "!",
    "?",
    "。",
    "”",
    ")",
    "é",
    "日本",
    "1",
    "\u00a0",
    "\t",
    "Ab",
    "x" * 62,
]
sentences = st.lists(st.sampled_from(ATOMS), max_size=25).map("".join)


def abbreviates(text, dot):
    at = dot
    while at > 0 and text[at - 1].isascii() and text[at - 1].isalpha():
        at -= 1
    word = text[at:dot]
    if not word or len(word) > 4 or (at > 0 and text[at - 1].isalnum()):
        return False
    return len(word) == 1 or word in ABBREVIATIONS


def ends(text, at, end):
    """Whether the run text[at:end] of terminal and closing characters ends a sentence."""
    if end >= len(text) or not text[at].isascii():
        return True
    if not text[end].isspace():
        return False
    if text[at] != ".":
        return True
    if abbreviates(text, at):
        return False
    while end < len(text) and text[end].isspace():
        if text[end] == "\n":
            return True
        end += 1
    return end >= len(text) or not text[end].islower()


def slow_spans(text):
    spans, begin, at = [], 0, 0
    while at < len(text):
        if text[at] == "\n":
            end = at
            at += 1
        elif text[at] in terminal():
            end = at + 1
            while end < len(text) and (text[end] in terminal() or text[end] in CLOSERS):
                end += 1
            run, at = at, end
            if not ends(text, run, end):
                continue
        else:
            at += 1
            continue
        spans.append((begin, end))
        begin = at
    spans.append((begin, len(text)))
    return [(a, b) for a, b in spans if text[a:b].strip()]


def slow_sentences(text):
    return [text[a:b].strip() for a, b in slow_spans(text)]


def found(*texts):
    spans, offsets = sentence_spans(strings(*texts))
    raw = [(text or "").encode() for text in texts]
    return [[raw[d][a:b].decode() for a, b in spans[offsets[d] : offsets[d + 1]].tolist()] for d in range(len(texts))]


@given(sentences)
@settings(max_examples=300)
def test_equals_the_slow_twin(text):
    assert found(text) == [slow_sentences(text)]
    assert sentence_counts(strings(text)).tolist() == [len(slow_sentences(text))]


@given(batches)
@settings(max_examples=60)
def test_counts_are_those_of_the_spans_in_any_text(texts):
    spans, offsets = sentence_spans(strings(*texts))
    assert np.diff(offsets).tolist() == sentence_counts(strings(*texts)).tolist()
    assert found(*texts) == found("Some. More.", *texts)[1:]
    for d, text in enumerate(texts):
        own = spans[offsets[d] : offsets[d + 1]].tolist()
        assert all(0 <= a < b <= len(text.encode()) for a, b in own) and own == sorted(own)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Smith met Dr. Jones.", ["Mr. Smith met Dr. Jones."]),
        ("J. Smith, e.g. so.", ["J. Smith, e.g. so."]),
        ("the U.S. Navy", ["the U.S. Navy"]),
        ("He left. she stayed", ["He left. she stayed"]),
        ("He left.\nshe stayed", ["He left.", "she stayed"]),
        ('"Go." He went.', ['"Go."', "He went."]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("3.14 is pi. Yes.", ["3.14 is pi.", "Yes."]),
        ("Wait... No", ["Wait...", "No"]),
        ("Wait... no", ["Wait... no"]),
        ("\n\n \t\n", []),
        ("a\r\nb", ["a", "b"]),
        ("Mister. Then", ["Mister.", "Then"]),
    ],
)
def test_examples(text, expected):
    assert found(text) == [expected]


def test_nulls_and_no_documents():
    assert found(None, "", "A b.") == [[], [], ["A b."]]
    spans, offsets = sentence_spans(strings())
    assert spans.shape == (0, 2) and offsets.tolist() == [0]
