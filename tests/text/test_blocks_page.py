"""What is counted of the characters of blocks, one character at a time."""

import html
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blocks.names import IN_COMMENTS, IN_FRAME, IN_MAIN, IS_HIDDEN, TAG, fnv, table
from corpusmill.text.blocks.page import (
    BREAKS,
    CAPITALISED,
    CHARACTERS,
    COMMAS,
    DIGITS,
    ELEMENT,
    FIRST,
    FLAGS,
    INNER,
    LAST,
    LINKED,
    LINKS,
    NAME,
    OWN_WEIGHT,
    PARENT,
    STOPS,
    TITLE_WORDS,
    UPPERS,
    WEIGHT_SUM,
    WORDS,
)
from corpusmill.text.blocks.scan import scan, scan_hints

ATOMS = [
    "Word",
    "WORD",
    "word",
    "12",
    "3rd",
    " ",
    "\n",
    ", ",
    ". ",
    "; ",
    "! ",
    "é",
    "Ünder",
    "ß",
    "-",
    "&amp;",
    "&eacute;",
    "&nbsp;",
    "(x)",
    "don't",
]
texts = st.lists(st.sampled_from(ATOMS), max_size=15).map("".join)


def counted(text):
    """The counts of plain text, white space collapsed."""
    plain = " ".join(re.sub(r"[\s\xa0]+", " ", html.unescape(text)).split())
    words = re.findall(r"(?:[A-Za-z0-9]|[^\x00-\x7f])+", plain)
    return plain, {
        CHARACTERS: len(plain.replace(" ", "")),
        WORDS: len(words),
        CAPITALISED: sum(word[0] in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for word in words),
        DIGITS: sum(c in "0123456789" for c in plain),
        COMMAS: sum(c in ",;" for c in plain),
        STOPS: sum(c in ".!?:" for c in plain),
        UPPERS: sum("A" <= c <= "Z" for c in plain),
    }


@given(texts)
@settings(max_examples=200)
def test_counts_are_those_of_the_text(text):
    page = scan(f"<p>{text}</p>".encode())
    plain, counts = counted(text)
    if not plain:
        assert len(page.blocks) == 0
        return
    (row,) = page.blocks.tolist()
    assert bytes(page.text[row[FIRST] : row[LAST]]).decode() == plain
    assert {column: row[column] for column in counts} == counts


@given(texts, texts)
@settings(max_examples=60)
def test_characters_in_links_are_counted(before, inside):
    page = scan(f"<p>{before} <a href=/x>{inside}</a> <a>{before}</a>".encode())
    linked = counted(inside)[1][CHARACTERS]
    assert sum(row[LINKED] for row in page.blocks.tolist()) == linked
    if len(page.blocks):
        assert page.blocks[0, LINKS] == 1


def test_breaks_and_words_of_the_title():
    page = scan(b"<title>The old mill</title><p>The mill<br>was old<br>and old")
    (row,) = page.blocks.tolist()
    assert (row[BREAKS], row[TITLE_WORDS], page.title) == (2, 4, 3)
    assert bytes(page.text).decode() == "The mill\nwas old\nand old\n"


def test_weights_of_words_are_summed():
    weights = table(((fnv(b"mill"), 2.5), (fnv(b"river"), -1.0)), 6, np.float32)
    page = scan(b"<p>Mill and mill by the RIVER<p>mills", words=weights)
    assert page.weights.tolist() == [4.0, 0.0]


def flags_of(page, text):
    scanned = scan(page)
    for row in scanned.blocks.tolist():
        if bytes(scanned.text[row[FIRST] : row[LAST]]).decode() == text:
            return int(scanned.elements[row[INNER], FLAGS])
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("html", "flag"),
    [
        (b"<div class='post-comments'>x</div>", IN_COMMENTS), (b"<div id=commentList>x</div>", IN_COMMENTS), (b"<div role=main>x</div>", IN_MAIN),
        (b"<div itemprop=articleBody>x</div>", IN_MAIN), (b"<div role=navigation>x</div>", IN_FRAME), (b"<div style='display: none'>x</div>", IS_HIDDEN),
        (b"<div style='DISPLAY:none'><p>x</div>", 0), (b"<div class=community>x</div>", 0), (b"<div role=list>x</div>", 0),
    ],
)  # fmt: skip
def test_classes_roles_and_styles_set_flags(html, flag):
    bits = IN_COMMENTS | IN_MAIN | IN_FRAME | IS_HIDDEN
    expected = IS_HIDDEN if b"DISPLAY" in html else flag
    assert flags_of(html, "x") & bits in (expected, flag)


def test_words_of_classes_are_split_at_capitals_and_marks():
    page, words = scan_hints(b"<div class='mainContent post-body x'><p id=Lead_2>a</p></div>")
    expected = [fnv(word) for word in (b"main", b"content", b"post", b"body", b"lead")]
    assert words.words.tolist() == expected
    names = [int(page.elements[element, NAME]) for element in words.elements.tolist()]
    assert names == [TAG["div"]] * 4 + [TAG["p"]]


def test_hints_are_inherited_as_sums_and_bounds():
    hints = table(((fnv(b"post"), 3.0), (fnv(b"ad"), -2.0)), 6, np.float32)
    page = scan(b"<div class=post><p class='ad post'>a</p></div>", hints)
    div, p = (page.elements[:, NAME].tolist().index(TAG[name]) for name in ("div", "p"))
    assert page.hints[div].tolist() == [3.0, 3.0, 0.0, 3.0]
    assert page.hints[p].tolist() == [1.0, 4.0, -2.0, 3.0]
    assert page.hints[p, WEIGHT_SUM] == page.hints[div, WEIGHT_SUM] + page.hints[p, OWN_WEIGHT]


@pytest.mark.parametrize(
    ("html", "parents"),
    [
        ("<p>a<div>b", {"a": "p", "b": "div"}),
        ("<ul><li>a<li>b", {"a": "li", "b": "li"}),
        ("<div><span>a</div>b", {"a": "div", "b": ""}),
        ("<table><tr><td>a<tr><td>b", {"a": "td", "b": "td"}),
        ("<a href=x>a<p>b</a>c", {"a": "", "bc": "p"}),
        ("<h1>a</h2>b", {"a": "h1", "b": "h1"}),
        ("<div><p>a</span>b</div>", {"ab": "p"}),
        ("<head><title>t</title><body>a", {"a": "body"}),
    ],
)
def test_the_block_element_of_text(html, parents):
    page = scan(html.encode())
    names = {number: name for name, number in TAG.items()}
    found = {
        bytes(page.text[row[FIRST] : row[LAST]]).decode(): names[int(page.elements[row[ELEMENT], NAME])]
        for row in page.blocks.tolist()
    }
    assert found == parents
    assert (page.elements[1:, PARENT] < np.arange(1, len(page.elements))).all()
