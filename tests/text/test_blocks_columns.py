"""What is measured of blocks: of themselves, around them, and of a first probability; against slow counting."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blocks.columns import AROUND, COLUMNS, FAR, columns, deepest, is_inside
from corpusmill.text.blocks.context import ALL_COLUMNS, NEIGHBOURS, add_context
from corpusmill.text.blocks.names import TAG
from corpusmill.text.blocks.page import (
    CAPITALISED,
    CHARACTERS,
    COMMAS,
    DEPTH,
    DIGITS,
    ELEMENT,
    END_BLOCK,
    FIRST_BLOCK,
    LINKED,
    LINKS,
    NAME,
    PARENT,
    STOPS,
    UPPERS,
    WORDS,
)
from corpusmill.text.blocks.scan import scan
from corpusmill.text.compile import kernel

ATOMS = [
    "<div>",
    "</div>",
    "<p>",
    "</p>",
    "<ul>",
    "<li>",
    "</ul>",
    "<a href=x>",
    "</a>",
    "<h1>",
    "</h1>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "word, ",
    "Words are here. ",
    "12 ",
    "é日",
    "<br>",
    "<b>",
    "</b>",
]
pages = st.lists(st.sampled_from(ATOMS), max_size=40).map(lambda atoms: scan("".join(atoms).encode()))


def ancestors(page, element):
    while element > 0:
        yield element
        element = int(page.elements[element, PARENT])
    yield 0


def within(page, element):
    return range(int(page.elements[element, FIRST_BLOCK]), int(page.elements[element, END_BLOCK]))


@given(pages)
@settings(max_examples=100)
def test_the_elements_around_a_block_hold_ever_more_blocks(page):
    _, around = columns(page)
    for block in range(len(page.blocks)):
        size, path = 1, list(ancestors(page, int(page.blocks[block, ELEMENT])))
        for level in range(AROUND):
            wider = next((element for element in path if len(within(page, element)) > size), 0)
            assert around.elements[block, level] == wider
            size = len(within(page, wider))


@given(pages)
@settings(max_examples=100)
def test_a_block_s_own_columns(page):
    table, _ = columns(page)
    assert table.shape == (len(page.blocks), COLUMNS)
    for block, row in enumerate(page.blocks.tolist()):
        words, size = max(row[WORDS], 1), max(row[CHARACTERS], 1)
        expected = [
            math.log1p(size), math.log1p(words), row[LINKED] / size, row[LINKS] / words,
            row[CAPITALISED] / words, row[DIGITS] / size, row[COMMAS] / words, row[STOPS] / words, row[UPPERS] / size,
        ]  # fmt: skip
        assert table[block, :9].tolist() == pytest.approx(expected, rel=1e-6)
        assert table[block, 14] == page.elements[row[ELEMENT], NAME]


@given(pages)
@settings(max_examples=60)
def test_neighbours_up_to_two_blocks_away(page):
    table, _ = columns(page)
    for block in range(len(table)):
        for number, step in enumerate((-2, -1, 1, 2)):
            other, at = block + step, COLUMNS - 12 + 3 * number
            inside = 0 <= other < len(table)
            assert table[block, at : at + 3].tolist() == (table[other, [1, 2, 14]].tolist() if inside else [-1, -1, -1])


@given(pages, st.sampled_from([0.1, 0.5, 0.65, 0.95, 1.0]), st.data())
@settings(max_examples=100)
def test_the_deepest_element_with_a_share_of_a_sum(page, share, data):
    count = len(page.blocks)
    values = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    found = deepest(page.elements, sums, share)
    best, depth = 0, -1
    for element in range(len(page.elements) if sums[-1] else 0):
        own = sum(values[block] for block in within(page, element))
        if own >= share * sums[-1] and page.elements[element, DEPTH] > depth:
            best, depth = element, int(page.elements[element, DEPTH])
    assert found == best


@kernel
def insides(elements, element, out):
    for block in range(len(out)):
        out[block] = is_inside(elements, element, block)


def test_blocks_inside_of_an_element():
    page = scan(b"<p>a<div><p>b<p>c</div><p>d")
    div = page.elements[:, NAME].tolist().index(TAG["div"])
    out = np.zeros(4, bool)
    insides(page.elements, div, out)
    assert out.tolist() == [False, True, True, False]


@given(pages, st.data())
@settings(max_examples=60)
def test_probabilities_of_the_neighbours_are_columns(page, data):
    count = len(page.blocks)
    first = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.75, 1.0]), min_size=count, max_size=count)), np.float32
    )
    table, around = columns(page, ALL_COLUMNS)
    before = table[:, :COLUMNS].copy()
    add_context(page, around, first, table)
    assert (table[:, :COLUMNS] == before).all() and not np.isnan(table).any()
    steps = [step for step in range(-NEIGHBOURS, NEIGHBOURS + 1) if step]
    for block in range(count):
        assert table[block, COLUMNS] == first[block]
        expected = [first[block + step] if 0 <= block + step < count else -1 for step in steps]
        assert table[block, COLUMNS + 1 : COLUMNS + 1 + len(steps)].tolist() == expected


def test_a_page_without_blocks_and_one_with_a_title():
    table, around = columns(scan(b""))
    assert table.shape == (0, COLUMNS) and around.elements.shape == (0, AROUND)
    add_context(scan(b""), around, np.empty(0, np.float32), table)
    page = scan(b"<title>The mill story</title><p>x<h1>The mill story</h1><p>more text")
    table, _ = columns(page)
    titled = [column for column in range(COLUMNS) if table[:, column].tolist() == [-1.0, 0.0, 1.0]]
    assert titled
    plain, _ = columns(scan(b"<p>x<p>The mill story<p>more text"))
    assert (plain == -FAR).any(axis=0).sum() >= 2


FORMULAE = [
    (b'<script type="math/tex">x+1</script>', "$x+1$"),
    (b'<script type="math/tex; mode=display">x</script>', "$$x$$"),
    (b"<script>x+1</script>", ""),
    (b'<math><annotation encoding="application/x-tex">\\frac{a}{b}</annotation></math>', "$\\frac{a}{b}$"),
    (b'<math display="block"><annotation encoding="application/x-tex">y</annotation></math>', "$$y$$"),
    (b'<math alttext="z^2"><mi>z</mi></math>', "$z^2$"),
    (b'<img class="tex" alt="a_1">', "$a_1$"),
    (b'<img alt="$b$">', "$b$"),
    (b'<img alt="$$b$$">', "$$b$$"),
    (b'<img alt="a picture">', ""),
    (b'<img class="vertex" alt="c">', ""),
    (b'<img class="mwe-math" alt="\\[d\\]">', "$$d$$"),
    (b'<img class="tex" alt="{\\displaystyle e}">', "$e$"),
    (b'<img class="tex" alt="  ">', ""),
    (b'<math alttext="f"></math><img class="tex" alt="f">', "$f$$f$"),
]


@pytest.mark.parametrize(("html", "text"), FORMULAE)
def test_formulae_are_tex_between_dollars(html, text):
    page = scan(b"<p>a " + html + b" b")
    found = bytes(page.text).decode().rstrip("\n")
    assert " ".join(found.split()) == " ".join(f"a {text} b".split()) or text == "$f$$f$"
