"""White space within text: the layouts, against expressions."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blanks import ALL_LINES, WhiteSpace, lay_out
from text_strategies import strings

ATOMS = [" ", "  ", "\t", "\n", "\n\n\n", "a", "é", "日", "😀", " \t ", "x" * 63, "\n" * 70, " " * 66, "\r", "\u00a0"]
texts = st.lists(st.sampled_from(ATOMS), max_size=12).map("".join)
layouts = st.builds(WhiteSpace, st.booleans(), st.booleans(), st.sampled_from([1, 2, 3, 4, 5, ALL_LINES]))


def slow(text, layout):
    """The layout, one expression after another."""
    if layout.spaces:
        text = re.sub(r"[ \t]+(?=\n)", "", text)
        text = re.sub(r"[ \t\n]+\Z", "", text)
        text = re.sub(r"\A\n+", "", re.sub(r"\A[ \t]*\n", "\n", text))
    if not layout.indentation:
        text = re.sub(r"(?m)^[ \t]+", "", text)
    if layout.spaces:
        text = re.sub(r"(?m)(?<=[^ \t\n])[ \t]{2,}(?=[^ \t\n])", " ", text)
    if not layout.indentation:
        text = text.replace("\t", " ")
    limit = min(layout.newlines, 1 << 20)
    return re.sub(rf"\n{{{limit + 1},}}", "\n" * limit, text) if layout.newlines != ALL_LINES else text


@given(texts, layouts)
@settings(max_examples=300)
def test_equals_the_expressions(text, layout):
    assert lay_out(strings(text), layout).to_pylist() == [slow(text, layout)]


@given(st.lists(texts, min_size=1, max_size=4), layouts)
@settings(max_examples=60)
def test_documents_do_not_depend_on_their_neighbours(batch, layout):
    alone = [lay_out(strings(text), layout).to_pylist()[0] for text in batch]
    assert lay_out(strings(*batch), layout).to_pylist() == alone
    assert lay_out(strings("  x \n", *batch)[1:], layout).to_pylist() == alone


@given(texts, layouts)
@settings(max_examples=60)
def test_a_second_time_changes_nothing(text, layout):
    once = lay_out(strings(text), layout)
    assert lay_out(once, layout).to_pylist() == once.to_pylist()


def test_what_needs_no_change_is_the_same_array():
    array = strings("a b", "c\n\nd")
    assert lay_out(array, WhiteSpace(True, True, 2)) is array


def test_nulls_stay_null():
    assert lay_out(strings(None, "a  b", None), WhiteSpace(True, True, 2)).to_pylist() == [None, "a b", None]


@given(st.lists(st.tuples(texts, st.one_of(st.none(), texts)), min_size=1, max_size=5), layouts)
@settings(max_examples=100)
def test_replaced_documents_come_from_the_other_array(pairs, layout):
    replaced = np.array([new is not None for _, new in pairs])
    others = strings(*(new for _, new in pairs if new is not None))
    expected = [slow(old if new is None else new, layout) for old, new in pairs]
    assert lay_out(strings(*(old for old, _ in pairs)), layout, replaced, others).to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "layout", "expected"),
    [
        ("a\t\tb", WhiteSpace(True, True, 9), "a b"),
        ("a\tb", WhiteSpace(True, True, 9), "a\tb"),
        ("a\tb", WhiteSpace(False, False, 9), "a b"),
        ("  a  b", WhiteSpace(False, False, 9), "a  b"),
        ("  a  b ", WhiteSpace(True, True, 9), "  a b"),
        ("\n\n a", WhiteSpace(True, True, 9), " a"),
        ("a\n\n\n\nb", WhiteSpace(False, True, 2), "a\n\nb"),
        ("\n\n\na", WhiteSpace(False, True, 1), "\na"),
        ("", WhiteSpace(True, False, 1), ""),
        (" \n\t", WhiteSpace(True, False, 1), ""),
    ],
)
def test_examples(text, layout, expected):
    assert lay_out(strings(text), layout).to_pylist() == [expected]
