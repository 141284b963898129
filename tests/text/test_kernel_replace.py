"""Spans are replaced in place, and the rest is unchanged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.replace import replace_spans
from text_strategies import strings


@st.composite
def documents_and_spans(draw):
    documents = draw(st.lists(st.text("abcé日", max_size=12), min_size=1, max_size=4))
    spans, new, wanted = [], [], []
    for d, text in enumerate(documents):
        cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
        pieces, at = [], 0
        for a, b in zip(cuts[::2], cuts[1::2], strict=False):
            replacement = draw(st.text("xyß", max_size=3))
            spans.append((d, 7, len(text[:a].encode()), len(text[:b].encode())))
            new.append(replacement)
            pieces += [text[at:a], replacement]
            at = b
        wanted.append("".join(pieces) + text[at:])
    return documents, np.array(spans, np.int64).reshape(-1, 4), new, wanted


@given(documents_and_spans())
@settings(max_examples=100)
def test_equals_cutting_and_joining(case):
    documents, spans, new, wanted = case
    assert replace_spans(strings(*documents), spans, strings(*new)).to_pylist() == wanted
    sliced = replace_spans(strings("other", *documents)[1:], spans, strings("other", *new)[1:])
    assert sliced.to_pylist() == wanted


def test_nulls_stay_null():
    assert replace_spans(strings(None, "ab"), np.array([[1, 0, 1]]), strings("x")).to_pylist() == [None, "xb"]


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        ([[0, 1, 4]], "within its document"),
        ([[0, -1, 1]], "within its document"),
        ([[0, 2, 1]], "within its document"),
        ([[2, 0, 1]], r"0\.\.1"),
        ([[0, 0, 2], [0, 1, 3]], "in order and not overlap"),
        ([[1, 0, 1], [0, 0, 1]], "in order and not overlap"),
    ],
)
def test_refuses_spans_that_do_not_fit(spans, words):
    with pytest.raises(ValueError, match=words):
        replace_spans(strings("abc", "d"), np.array(spans), strings(*["x"] * len(spans)))


def test_refuses_another_number_of_replacements():
    with pytest.raises(ValueError, match="1 spans need as many replacements, got 2"):
        replace_spans(strings("abc"), np.array([[0, 0, 1]]), strings("x", "y"))
