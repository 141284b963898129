"""Blocks of a page as plain text and as Markdown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blocks.complete import complete
from corpusmill.text.blocks.compose import compose
from corpusmill.text.blocks.outline import outline
from corpusmill.text.blocks.scan import scan


def composed(html, markup="text", keep=None, possible=None):
    page = scan(html.encode())
    mask = np.ones(len(page.blocks), bool) if keep is None else np.array(keep, bool)
    return compose(page, mask, markup, None if possible is None else np.array(possible, bool))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<p>b", "a\nb"),
        ("<ul><li>a<li>b</ul>", "• a\n• b"),
        ("<ul><li>a<p>more<li>b</ul>", "• a\nmore\n• b"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a\tb\nc\td"),
        ("<table><tr><td>a</table>", "a"),
        ("<h1>Title¶</h1><p>x", "Title\nx"),
        ("<p>a<br>b", "a\nb"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<p>x <code>y</code> z", "x y z"),
        ("", ""),
    ],
)
def test_plain_text(html, text):
    assert composed(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>T</h2><p>a<p>b", "## T\n\na\n\nb"),
        ("<h1> T &sect;</h1>", "# T"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ol><li>a<p>more</ol>", "1. a\n\n   more"),
        ("<blockquote><p>a<p>b</blockquote>", "> a\n\n> b"),
        ("<blockquote><blockquote>a</blockquote></blockquote>", "> > a"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
        ("<p>x <code>y</code> z", "x `y` z"),
        ("<p>x <code>a`b</code>", "x ``a`b``"),
        ("<p>\\(x+1\\) and \\[y\\]", "$x+1$ and $$y$$"),
        ("<table><tr><th>a<th>b<tr><td>c<td>d|e</table>", "| a | b |\n| --- | --- |\n| c | d\\|e |"),
        ("<table><tr><td>a<td>b<tr><td><td>c</table>", "| a | b |\n| --- | --- |\n|  | c |"),
        ("", ""),
    ],
)
def test_markdown(html, text):
    assert composed(html, "markdown") == text


def test_a_table_for_layout_is_no_table():
    nested = "<table><tr><td>a<td><table><tr><td>b<td>c<tr><td>d<td>e</table><tr><td>f<td>g</table>"
    assert "| b | c |" in composed(nested, "markdown") and "| a |" not in composed(nested, "markdown")
    long = f"<table><tr><td>{'word ' * 100}<td>{'more ' * 100}<tr><td>a<td>b</table>"
    assert "|" not in composed(long, "markdown")


def test_only_kept_blocks_are_written():
    assert composed("<p>a<p>b<p>c", keep=[True, False, True]) == "a\nc"
    assert composed("<p>a<p>b", keep=[False, False]) == ""


def test_most_of_a_list_or_table_brings_the_rest():
    assert composed("<ul><li>aaaa<li>b</ul>", "markdown", [True, False]) == "- aaaa\n- b"
    assert composed("<ul><li>a<li>bbbb</ul>", "markdown", [True, False]) == "- a"
    assert composed("<table><tr><td>aaaa<td>b<tr><td>cc<td>d</table>", "markdown", [1, 0, 1, 0]).count("|") == 9


def test_a_list_within_text_and_code_beside_text_come_along():
    assert composed("<p>a<ul><li>b</ul><p>c", "markdown", [1, 0, 1]) == "a\n\n- b\n\nc"
    assert composed("<p>a<pre>b</pre>", "markdown", [1, 0]) == "a\n\n```\nb\n```"
    assert composed("<p>a<p>x<p>y<pre>b</pre>", "markdown", [1, 0, 0, 0]) == "a"


def test_code_beside_text_comes_along_in_plain_text_too():
    assert composed("<p>a<pre>b</pre>", keep=[1, 0]) == "a\nb"
    assert composed("<pre>b</pre><h2>x</h2><p>a", keep=[0, 0, 1]) == "b\na"
    assert composed("<p>a<p>x<p>y<pre>b</pre>", keep=[1, 0, 0, 0]) == "a"
    assert composed("<p>a<pre>b</pre>", keep=[1, 0], possible=[1, 0]) == "a"
    assert composed("<p>a<ul><li>b</ul><p>c", keep=[1, 0, 1]) == "a\nc"


def test_headings_of_kept_text_are_kept():
    assert composed("<h2>T</h2><p>a", "markdown", [0, 1]) == "## T\n\na"
    assert composed("<h1>S</h1><h2>T</h2><p>a", "markdown", [0, 0, 1]) == "# S\n\n## T\n\na"
    assert composed("<p>a<h2>T</h2>", "markdown", [1, 0]) == "a"


ATOMS = [
    "<p>",
    "a",
    "b ",
    "<ul>",
    "<li>",
    "</ul>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<pre>",
    "</pre>",
    "<h2>",
    "</h2>",
    "\n",
    "`",
    "|",
]


@given(st.lists(st.sampled_from(ATOMS), max_size=25).map("".join), st.data())
@settings(max_examples=60)
def test_structure_only_adds_blocks_and_a_second_time_adds_none_of_lists(html, data):
    page = scan(html.encode())
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(page.blocks), max_size=len(page.blocks))), bool)
    outlined = outline(page.elements)
    completed = complete(page, outlined, keep, None)
    assert (completed | keep == completed).all()
    for markup in ("text", "markdown"):
        text = compose(page, keep, markup)
        assert "\ufffd" not in text and bool(text.strip()) == bool((completed if markup == "markdown" else keep).any())
