r"""Evidence of HTML, compared with a reader that goes through a text character by character."""

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.steps.markup import is_markup
from corpusmill.text.markup import (
    BLOCK_ELEMENTS,
    MARKUP_NAMES,
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

SPACES = " \t\n\x0c\r"  # of HTML
PARTS = [
    *(
        "<p>",
        "</p>",
        "<BR/>",
        "<a href='x'>",
        "</ a>",
        "<int>",
        "<b",
        ">",
        "<",
        "/",
        "a<b",
        "<p\n>",
        "<h1 x=1",
        "</h1>",
    ),
    *(
        "<script>",
        "</script >",
        "<pre>",
        "</pre>",
        "<!-- ",
        "-->",
        "<!doctype html>",
        "<html>",
        "`",
        "```",
        "\n",
        " ",
        "é",
    ),
]
texts = st.lists(st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=12).map("".join), max_size=5)


def large(values):
    return pa.array(values, pa.large_string())


def slow_tags(text: str) -> list[tuple[int, int]]:
    """Where each tag begins and ends, read letter by letter."""
    found, at = [], 0
    while at < len(text):
        begin = at
        at += 1
        if text[begin] != "<":
            continue
        name_at = begin + 1 + (text[begin + 1 : begin + 2] == "/")
        end = name_at
        while end < len(text) and text[end] not in SPACES + "/<>":
            end += 1
        if text[name_at:end].isascii() and text[name_at:end].lower() in MARKUP_NAMES:
            while end < len(text) and text[end] not in "<>":
                end += 1
            if text[end : end + 1] == ">":
                found.append((begin, end + 1))
                at = end + 1
    return found


def slow_alike(text: str) -> int:
    count = 0
    for at, letter in enumerate(text):
        rest = text[at + 1 :].removeprefix("/")
        count += letter == "<" and rest[:1].isascii() and rest[:1].isalpha()
    return count


def slow_may_be(text: str) -> bool:
    for at, letter in enumerate(text):
        rest = text[at + 1 :]
        name = re.match(r"[a-z][a-z0-9]*(?=[\s>/])", rest.removeprefix("/"), re.IGNORECASE | re.ASCII)
        begins = rest.startswith("!--") or rest[:8].lower() == "!doctype" or (name and name[0].lower() in MARKUP_NAMES)
        if letter == "<" and begins:
            return True
    return False


@given(texts)
def test_what_may_be_markup_holds_the_beginning_of_a_tag(values):
    assert may_be_markup(large([*values, None])).to_pylist() == [*map(slow_may_be, values), False]


@given(texts)
def test_nothing_else_is_markup(values):
    maybe, found = may_be_markup(large(values)).to_pylist(), is_markup(large(values)).to_pylist()
    whole = [a or b for a, b in zip(is_page(large(values)).to_pylist(), is_arranged(large(values)).to_pylist())]
    assert all(may for may, is_one in zip(maybe, found) if is_one)
    assert all(may for may, hopeful in zip(maybe, whole) if hopeful)


@given(texts)
def test_tags_are_what_a_slow_reader_finds(values):
    tags, alike = tag_counts(large(values))
    assert tags.to_pylist() == [len(slow_tags(text)) for text in values]
    assert [counts[0].as_py() for counts in tag_counts(large([None]))] == [None, None]
    assert alike.to_pylist() == [slow_alike(text) for text in values]
    sizes = [len(text.encode()) for text in values]
    within = [sum(len(text[a:b].encode()) for a, b in slow_tags(text)) for text in values]
    wanted = [part / size if size else None for part, size in zip(within, sizes)]
    assert tag_share(large(values)).to_pylist() == pytest.approx(wanted)


@given(texts)
def test_lines_of_their_own_are_counted(values):
    slow = []
    for text in values:
        inside = [text[a + 1 : b - 1].lower() for a, b in slow_tags(text)]
        breaks = sum(tag.removesuffix("/").rstrip(SPACES) == "br" for tag in inside)
        blocks = sum(tag.removeprefix("/").replace("/", " ").split()[0] in BLOCK_ELEMENTS.split() for tag in inside)
        slow.append((breaks + blocks) / (text.count("\n") + 1))
    assert own_lines(large(values)).to_pylist() == pytest.approx(slow)


@given(texts)
def test_escaped_text_has_no_tags_and_is_not_escaped_again(values):
    once = escape_tags(large(values))
    assert tag_counts(once)[0].to_pylist() == [0] * len(values) and not any(is_page(once).to_pylist())
    assert escape_tags(once).equals(once)
    for before, after in zip(values, once.to_pylist()):
        assert after.replace("&lt;", "<") == before.replace("&lt;", "<")


def test_names_are_html_and_spelled_once():
    assert len(set(MARKUP_NAMES)) == len(MARKUP_NAMES) and {"p", "script", "font", "h6"} <= set(MARKUP_NAMES)
    assert not {"int", "string", "para", "t"} & set(MARKUP_NAMES)


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("<!DOCTYPE html><p>x", True),
        ('\ufeff\n<?xml version="1.0"?><!-- a\n -- b --><HTML lang="en">', True),
        ("Title\n<html>", False),
        ("<htmlx>", False),
        ("<!-- <html> -->", False),
        ("<!doctype book>", False),
        ("", False),
    ],
)
def test_a_page_begins_as_one(text, page):
    assert is_page(large([text])).to_pylist() == [page]


def test_what_is_not_prose_is_left_out():
    text = "a <script>x<b</script> b <pre>1\n2</pre> c <i>d</i> <!-- e --> f <code>g"
    assert outside_of_tags(large([text]))[0].as_py().split() == ["a", "b", "c", "d", "f", "g"]


def test_code_in_markdown_is_left_out():
    text = "Use `<br>` or ``<hr>``:\n\n```html\n<p>x</p>\n```\n\nand <b>bold</b>"
    assert unquoted(large([text, "no ` at all"])).to_pylist() == ["Use   or  :\n\n \n\nand <b>bold</b>", "no ` at all"]
