"""The lists, tables, headings and code that elements of a page are in."""

import pytest

from corpusmill.text.blocks.names import TAG
from corpusmill.text.blocks.outline import (
    CELL,
    CODE_BLOCK,
    COLUMN,
    HEADING,
    ITEM,
    LIST,
    NESTING,
    NUMBER,
    QUOTES,
    ROW,
    TABLE,
    outline,
)
from corpusmill.text.blocks.page import ELEMENT, NAME
from corpusmill.text.blocks.scan import scan

NAMES = {number: name for name, number in TAG.items()}


def rows_of(page):
    """(name, row of the outline) of each element, and those of each block by its text."""
    scanned = scan(page)
    rows = outline(scanned.elements)
    texts = bytes(scanned.text).decode().rstrip("\n").split("\n")
    blocks = [rows[number] for number in scanned.blocks[:, ELEMENT].tolist()]
    return [(NAMES[row[NAME]], own) for row, own in zip(scanned.elements.tolist(), rows)], dict(zip(texts, blocks))


def test_items_are_numbered_within_their_list():
    _, blocks = rows_of(b"<ol><li>a<li>b<ul><li>c</ul><li>d</ol><ol><li>e</ol>")
    assert [int(blocks[text][NUMBER]) for text in "abcde"] == [1, 2, 1, 3, 1]
    assert blocks["a"][LIST] == blocks["d"][LIST] != blocks["c"][LIST] != blocks["e"][LIST]
    assert len({int(blocks[text][ITEM]) for text in "abcde"}) == 5


def test_cells_know_row_and_column():
    _, blocks = rows_of(b"<table><tr><td>a<td>b<tr><th>c<td>d</table><p>e")
    assert [int(blocks[text][COLUMN]) for text in "abcd"] == [0, 1, 0, 1]
    assert blocks["a"][ROW] == blocks["b"][ROW] != blocks["c"][ROW] == blocks["d"][ROW]
    assert len({int(blocks[text][TABLE]) for text in "abcd"}) == 1
    assert blocks["e"][TABLE] == blocks["e"][CELL] == blocks["e"][ROW] == 0


@pytest.mark.parametrize(
    ("inside", "nesting"),
    [
        (b"", 0),
        (b"<table><tr><td>x</table>", 1),
        (b"<ul><li>x</ul>", 1),
        (b"<pre>x</pre>", 1),
        (b"<b>x</b>", 0),
        (b"<h2>x</h2>", 0),
    ],
)
def test_a_table_knows_whether_structure_is_inside(inside, nesting):
    elements, _ = rows_of(b"<table><tr><td>a" + inside + b"</table>")
    table, number = next((row, i) for i, (name, row) in enumerate(elements) if name == "table")
    assert table[TABLE] == number and table[NESTING] == nesting


def test_a_table_in_a_cell_starts_over():
    _, blocks = rows_of(b"<table><tr><td>a<table><tr><td>b</table></table>")
    assert blocks["a"][TABLE] != blocks["b"][TABLE] and blocks["a"][CELL] != blocks["b"][CELL]
    assert blocks["b"][COLUMN] == 0


@pytest.mark.parametrize("level", range(1, 7))
def test_headings_have_levels(level):
    _, blocks = rows_of(b"<h%d>a</h%d><p>b" % (level, level))
    assert (blocks["a"][HEADING], blocks["b"][HEADING]) == (level, 0)


def test_quotations_are_counted_and_code_is_known():
    _, blocks = rows_of(b"<p>a<blockquote><p>b<blockquote><p>c</blockquote></blockquote><pre>d</pre>")
    assert [int(blocks[text][QUOTES]) for text in "abcd"] == [0, 1, 2, 0]
    assert blocks["d"][CODE_BLOCK] > 0 == blocks["c"][CODE_BLOCK]


def test_a_page_without_elements_has_one_row():
    elements, _ = rows_of(b"")
    assert len(elements) == 1 and not elements[0][1].any()
