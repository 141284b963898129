"""Nothing that a document holds can act on the page or on a terminal."""

import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.report.html.cards import differences
from corpusmill.report.html.markup import HtmlText, join, table, tag
from corpusmill.report.visible import excerpt, one_line, visible

texts = st.text() | st.text(alphabet="<>&\"'/ab \n\x00\x1b\u202e\u2066\u200f\ufeff", max_size=20)


class Seen(HTMLParser):
    """Elements with their attributes, and text."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.elements, self.text = [], ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, element, attributes):
        self.elements.append((element, attributes))

    def handle_data(self, data):
        self.text += data


@given(texts, texts)
def test_text_comes_back_as_text_wherever_it_is_put(inside, attribute):
    seen = Seen(tag("p", inside, title=attribute))
    assert seen.elements == [("p", [("title", visible(attribute))])]
    assert seen.text == visible(inside)


def test_only_markup_is_let_through():
    assert tag("p", tag("b", "x"), HtmlText("<i/>"), None, "<i/>") == "<p><b>x</b><i/>&lt;i/&gt;</p>"
    assert join(["<", tag("b")], "&") == "&lt;&amp;<b></b>"
    assert "&lt;script" in table(["<script>"], [["<script>"]]) and "<script" not in table(["<script>"], [["<script>"]])


@given(st.text())
def test_nothing_that_acts_is_left(text):
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert not [c for c in shown if unicodedata.bidirectional(c) in BIDI]
    assert visible(shown) == shown
    assert "\n" not in one_line(text)


BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize("text", ["a\tb\nc", "नमस्ते क्\u200dष", "👩\u200d🚀", "שלום"])
def test_text_of_any_script_is_unchanged(text):
    assert visible(text) == text


@given(st.text(max_size=10), st.integers(0, 12))
def test_an_excerpt_is_a_beginning(text, chars):
    beginning = excerpt(text, chars)
    assert beginning == text or (len(text) > chars and beginning == text[:chars] + "…")


def test_differences_are_marked_on_both_sides():
    left, right = differences("the <old> river runs", "the new river runs on")
    assert left == "<span>the</span> <mark>&lt;old&gt;</mark> <span>river runs</span>"
    assert right == "<span>the</span> <mark>new</mark> <span>river runs</span> <mark>on</mark>"


def test_a_long_common_beginning_is_left_out():
    words = " ".join(f"w{i}" for i in range(100))
    left, right = differences(f"{words} one", f"{words} two")
    assert left.startswith("[76 identical words omitted] … ") and left.endswith("<mark>one</mark>")
    assert right.endswith("<mark>two</mark>")
