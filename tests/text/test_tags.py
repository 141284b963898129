"""Whether a text holds HTML, and how much of it, against expressions."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.markup import (
    MARKUP_NAMES,
    begins_with_block,
    escape_tags,
    is_arranged,
    is_page,
    may_be_markup,
    outside_of_tags,
    own_lines,
    tag_counts,
    tag_share,
    unquoted,
)
from corpusmill.text.tags import ELEMENTS, LONGEST_TAG, has_markup, holds, name_table
from text_strategies import raw_strings, strings

SLOW = re.compile(rf"<(?:/?(?:{'|'.join(ELEMENTS)})[>/\t-\r ]|!--|!doctype)", re.IGNORECASE)
ATOMS = [
    "<",
    ">",
    "/",
    "p",
    "P",
    "h1",
    "blockquote",
    "foo",
    " ",
    "\n",
    "!--",
    "!DOCTYPE",
    "a",
    "é",
    "x" * 61,
    "int",
    "b",
    "&lt;",
    "1",
    "<p",
    "<br/>",
    "</div>",
]
texts = st.lists(st.sampled_from(ATOMS), max_size=14).map("".join)


@given(st.lists(texts, min_size=1, max_size=3))
@settings(max_examples=200)
def test_markup_is_what_the_expression_finds(batch):
    expected = [SLOW.search(text) is not None for text in batch]
    assert has_markup(strings(*batch)).tolist() == expected
    assert has_markup(strings("<p>", *batch, None)[1:]).tolist() == [*expected, False]


@given(texts)
@settings(max_examples=200)
def test_tags_are_counted_among_what_looks_like_one(text):
    names = "|".join(MARKUP_NAMES)
    tags, alike = (column.to_pylist()[0] for column in tag_counts(strings(text)))
    looks = list(re.finditer(r"<(?=/?[A-Za-z])", text))
    closed = re.compile(rf"</?(?:{names})(?:>|[ \t\n\f\r/][^<>]*>)", re.IGNORECASE)
    assert alike == len(looks) and tags == sum(closed.match(text, match.start()) is not None for match in looks)


def test_tags_of_nulls_are_null():
    tags, alike = tag_counts(strings(None, "a <p> b < c <foo> </P x>"))
    assert tags.to_pylist() == [None, 2] and alike.to_pylist() == [None, 3]
    assert may_be_markup(strings(None, "<p>", "a < b")).to_pylist() == [False, True, False]


@given(st.lists(st.binary(max_size=70), min_size=1, max_size=3))
@settings(max_examples=60)
def test_any_bytes_are_read_within_their_document(batch):
    together = has_markup(raw_strings(*batch)).tolist()
    assert together == [has_markup(raw_strings(text)).tolist()[0] for text in batch]


def test_names_of_another_table():
    table = name_table(["foo", "b2"])
    assert holds(strings("<foo>", "<b2 x>", "<p>", "<foo", "</FOO/"), table).tolist() == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert max(map(len, ELEMENTS)) == LONGEST_TAG and np.count_nonzero(table) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<html>", True), ("  <!DOCTYPE html>x", True), ("\ufeff<HTML lang=de>", True), ("<?xml version='1'?>\n<html>", True),
        ("<!-- a -->\n<html>", True), ("text <html>", False), ("<htmlx>", False), ("", False),
    ],
)  # fmt: skip
def test_pages_begin_as_one(text, expected):
    assert is_page(strings(text)).to_pylist() == [expected]


@pytest.mark.parametrize(
    ("text", "arranged", "block"),
    [
        ("a </p> b", True, False), ("a <br> b", True, False), ("a <img src=x> b", True, False), ("a <p> b", False, False),
        (" <p> b", True, True), ("</DIV> b", True, True), ("<b> x", False, False), ("a < b", False, False),
    ],
)  # fmt: skip
def test_arranged_markup(text, arranged, block):
    assert is_arranged(strings(text)).to_pylist() == [arranged]
    assert begins_with_block(strings(text)).to_pylist() == [block]


def test_shares_and_lines_of_tags():
    assert tag_share(strings("<p>abc", "", "abcdef", None)).to_pylist() == [0.5, None, 0.0, None]
    assert own_lines(strings("<p>a\n<br>b", "a", "")).to_pylist() == [1.0, 0.0, 0.0]


def test_what_is_quoted_or_outside_of_tags():
    assert unquoted(strings("a `<p>` b", "```\n<p>\n```\nx", None, "a")).to_pylist() == ["a   b", " \nx", None, "a"]
    assert outside_of_tags(strings("<p>a<script>x</script>b<!-- c -->d<pre>e</pre>")).to_pylist() == [" a b d "]


@given(texts)
@settings(max_examples=100)
def test_escaped_text_has_no_tags(text):
    (escaped,) = escape_tags(strings(text)).to_pylist()
    assert not may_be_markup(strings(escaped)).to_pylist()[0]
    assert escape_tags(strings(escaped)).to_pylist() == [escaped]
    assert escaped.replace("&lt;", "<") == text.replace("&lt;", "<")
