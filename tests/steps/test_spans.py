"""clean/spans against the definition: characters one by one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.clean.spans import Spans


def slowly(text, spans, least):
    """What a mixer does that walks over the text: `spans` are (start, end, score, replacement)."""
    out, at = "", 0
    left = sorted((span for span in spans if span[2] >= least and span[0] < span[1]), key=lambda span: span[0])
    while at < len(text):
        while left and left[0][0] < at:
            left.pop(0)
        if left and left[0][0] == at:
            _, end, _, replacement = left.pop(0)
            out += replacement.replace("{}", text[at:end])
            at = end
        else:
            out += text[at]
            at += 1
    return out


@given(st.data(), st.text("aé\U0001f600 \n", max_size=12))
def test_agrees_with_a_walk_over_the_text(data, text):
    ends = st.integers(0, len(text))
    spans = data.draw(st.lists(st.tuples(ends, ends, st.sampled_from([0, 0.25, 1])), max_size=6))
    said = {"attributes": {"t": {"a": [list(span) for span in spans[::2]], "b": [list(span) for span in spans[1::2]]}}}
    step = Spans(replace=(("attributes.t.a", "<{}>"), ("attributes.t.b", "")), min_score=0.25)
    result = step.transform(docs(text, metadata=[json.dumps(said)]))
    expected = slowly(text, [(*span, "<{}>") for span in spans[::2]] + [(*span, "") for span in spans[1::2]], 0.25)
    assert result["text"].to_pylist() == [expected]


def test_documents_without_spans_are_left_alone():
    step = Spans(replace=(("a.b", ""),))
    batch = docs("one", "two", "three", metadata=[None, '{"a": 1}', '{"a": {"b": [[0, 2, 1]]}}'])
    result = step.transform(batch)
    assert result["text"].to_pylist() == ["one", "two", "ree"] and result["replaced"].to_pylist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ("[[0, 9, 1]]", "a span ends at character 9, and the text has 3: it is of another text"),
        ("[[0, 1]]", r"a holds \[0, 1\], not \[start, end, score\]"),
        ('[["0", 1, 1]]', "not .start, end, score"),
        ("[[-1, 1, 1]]", "not .start, end, score"),
        ("[[0, 1, null]]", "not .start, end, score"),
        ("7", "a holds 7, not a list"),
    ],
)
def test_what_is_no_span_of_the_text_is_an_error(spans, said):
    with pytest.raises(ValueError, match=said):
        Spans(replace=(("a", ""),)).transform(docs("one", metadata=[f'{{"a": {spans}}}']))


def test_parameters_are_checked():
    with pytest.raises(RecipeError, match="replace is empty"):
        Spans(replace=())
