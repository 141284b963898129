"""Pages as blocks, against the definitions, read slowly; and any bytes at all."""

import html
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from corpusmill.text.blocks import names
from corpusmill.text.blocks.names import TAG, Weights, fnv, table
from corpusmill.text.blocks.page import (
    CHARACTERS,
    ELEMENT,
    END_BLOCK,
    FIRST,
    FIRST_BLOCK,
    FLAGS,
    INNER,
    LAST,
    NAME,
    PARENT,
    WORDS,
    Building,
)
from corpusmill.text.blocks.scan import FEW_WORDS, NO_WEIGHTS, building, fill, scan, scan_hints
from corpusmill.text.blocks.stack import MAX_DEPTH
from corpusmill.text.blocks.trees import Trees, probabilities

NO_SEEN = (np.zeros(0, np.uint32), np.zeros(0, np.int32))


def texts(page: str | bytes) -> list[str]:
    """The texts of the blocks of a page, with marks of inline code as backticks."""
    made = scan(page.encode() if isinstance(page, str) else page)
    data = made.text.tobytes().replace(b"\xf9", b"`").replace(b"\xfa", b"`")
    return [data[a:b].decode() for a, b in made.blocks[:, [FIRST, LAST]].tolist()]


@pytest.mark.parametrize(
    ("page", "blocks"),
    [
        ("", []),
        ("<p>", []),
        ("plain", ["plain"]),
        ("<p>one<p>two</p>three", ["one", "two", "three"]),
        ("<p>  much \n white\tspace  <b> here</b></p>", ["much white space here"]),
        ("a<br>b<br/>c<br><br>d<hr>e", ["a\nb\nc", "d", "e"]),
        ("<ul><li>one<li>two<ul><li>inner</ul>rest</ul>", ["one", "two", "inner", "rest"]),
        ("<dl><dt>t<dd>d<dt>u</dl>", ["t", "d", "u"]),
        ("<table><tr><td>a<td>b<tr><th>c</table>", ["a", "b", "c"]),
        ("<pre>\n  x\n\ty </pre>", ["  x\n\ty"]),
        ("<pre>a<br>b</pre>", ["a\nb"]),
        ("a<script>var x = '<p>no</p>';</script>b<style>p {}</style>c", ["abc"]),
        ("a<script>never closed <p>b", ["a"]),
        ("a<!-- <p>no --> b<!-->c<!DOCTYPE x>d<?php e ?>f", ["a bcdf"]),
        ("a<!-- never closed <p>b", ["ab"]),
        ("<select><option>no</select><button>no</button>yes", ["yes"]),
        ("<ruby>子<rp>(</rp><rt>こ</rt><rp>)</rp>ども</ruby>の<ruby>法律<rt>ほうりつ</ruby>", ["子どもの法律"]),
        ("<title>no</title>yes", ["yes"]),
        ("<title>never closed<p>text", ["never closed", "text"]),
        ("1 < 2 <3 </ 4 <>", ["1 < 2 <3 </ 4 <>"]),
        ("<a href='x>y' title=\"<p>\">z</a>", ["z"]),
        ("<a href=/x/>z</a>", ["z"]),
        ("use <code>x  = 1</code>, or <tt>y</tt>.", ["use `x = 1`, or `y`."]),
        ("word<code> a </code>word", ["word` a` word"]),
        ("<pre>a <code>b</code></pre>", ["a b"]),
        (
            "&lt;b&gt; &amp;amp; &eacute;&nbsp;&#8364;&#x20AC; &copy 2020 &#150; &bogus; &",
            ["<b> &amp; é €€ © 2020 – &bogus; &"],
        ),
        ("hy\u00adphen &shy;", ["hy\u00adphen \u00ad"]),
        ("Река\u00a0течёт", ["Река течёт"]),
        (b"a\xf9\xff\0b", ["a?? b"]),
    ],
)
def test_the_blocks_of_a_page(page, blocks):
    assert texts(page) == blocks


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<script type="math/tex">x^2</script>', "$x^2$"),
        ('<script type="math/tex; mode=display">\\frac{1}{2}</script>', "$$\\frac{1}{2}$$"),
        ('<math><mi>x</mi><annotation encoding="application/x-tex">x_1</annotation></math>', "$x_1$"),
        ('<math display="block" alttext="{\\displaystyle a}"><mi>a</mi></math>', "$$a$$"),
        ("<math><mi>x</mi></math>", ""),
        ("<math>never closed", "never closed"),
        ('<img class="math" src=x alt="a &lt; b">', "$a < b$"),
        ('<img src=x alt="$$a$$">', "$$a$$"),
        ('<img src=x alt="\\(a\\)" class=tex>', "$a$"),
        ('<img src=x alt="a wheel">', ""),
        ('<math alttext="x"></math><img class="mwe-math-fallback-image-inline" alt="x">', "$x$"),
        ("is <math alttext='x'></math>, so", "is $x$, so"),
    ],
)
def test_formulae_are_tex_between_dollar_signs(page, text):
    assert "".join(texts(f"<p>{page}</p>")) == text


def test_elements_hold_their_blocks_and_counts_are_of_the_text():
    made = scan(b"<html><body><div>One, two. <a href=x>three</a></div><p>Four</div></body>")
    assert made.blocks[:, [CHARACTERS, WORDS]].tolist() == [[13, 3], [4, 1]]
    held = {int(e[NAME]): (int(e[FIRST_BLOCK]), int(e[END_BLOCK])) for e in made.elements}
    assert held[TAG["body"]] == (0, 2) and held[TAG["div"]] == (0, 1) and held[TAG["p"]] == (1, 2)


def test_what_is_deeper_than_the_stack_belongs_to_its_top():
    made = scan(b"<div>" * 2000 + b"deep" + b"</div>" * 2000 + b"<p>after")
    assert len(made.elements) == MAX_DEPTH + 2  # the page itself and the paragraph
    assert made.elements[made.blocks[1, ELEMENT], PARENT] == 0


def test_words_of_classes_are_weighed_and_inherited():
    weights = table([(fnv(b"comment"), -2.0), (fnv(b"body"), 1.0)], 4, np.float32)
    made = scan(b'<div class="commentBody x"><p id=body>x', weights)
    assert made.hints[1:].tolist() == [[-1, -1, -2, 1], [1, 0, -2, 1]]
    _, seen = scan_hints(b'<div class="commentBody x"><p id=body>x')
    assert seen.words.tolist() == [fnv(b"comment"), fnv(b"body"), fnv(b"body")] and seen.elements.tolist() == [1, 1, 2]


def test_comments_are_readers_unless_they_are_in_code():
    made = scan(b"<div class=comments>a</div><pre><span class=comment># b</span> c</pre><pre class=comment>d</pre>")
    flags = made.elements[made.blocks[:, INNER], FLAGS] & names.IN_COMMENTS
    assert (flags != 0).tolist() == [True, False, True]


def test_a_page_of_few_words_has_the_text_of_noscript():
    post = "<p>The mill turns, and has turned for years.</p>" * 3
    made = texts(f"<p>Loading</p><NOSCRIPT data-x><div>{post}</div></noscript>")
    assert made == ["Loading"] + ["The mill turns, and has turned for years."] * 3
    assert texts("<p>one two three</p><noscript><p>four</p></noscript>") == ["one two three"]
    assert texts(f"<p>{'word ' * FEW_WORDS}</p><noscript>{post * 99}</noscript>") == [("word " * FEW_WORDS).strip()]


@given(st.text(alphabet="<>/!-='\" pdiva&;#x3;\n\té€😀", max_size=80))
def test_text_without_elements_is_what_a_browser_shows(text):
    """Written as text, with everything escaped, a string is read as it was, but for white space."""
    expected = " ".join(text.replace("\u3000", " ").split())
    assert " ".join(texts(html.escape(text))) == expected


HTML = st.lists(
    st.sampled_from(
        "<div> </div> <p> </p> <table> <tr> <td> </td> </table> <ul> <li> </ul> <a\thref='x'> </a> <b <br> <!-- --> <pre> "
        "</pre> <code> </code> <script> </script> <title> <math> </math> <select> text & &amp; &#x3 ' \" > < =".split(
            " "
        )
    ),
    max_size=60,
).map("".join)


@given(HTML)
def test_blocks_and_elements_of_any_page_fit_together(page):
    made = scan(page.encode())
    assert all(a < b for a, b in made.blocks[:, [FIRST, LAST]].tolist())
    assert (made.blocks[1:, FIRST] > made.blocks[:-1, LAST]).all()
    for number, element in enumerate(made.elements[1:], 1):
        around = made.elements[element[PARENT]]
        assert element[PARENT] < number and 0 <= element[FIRST_BLOCK] <= element[END_BLOCK] <= len(made.blocks)
        assert around[FIRST_BLOCK] <= element[FIRST_BLOCK] and element[END_BLOCK] <= around[END_BLOCK]
    assert all(words and words == words.strip(" ") for words in texts(page.replace("<pre>", "")))


def slow_find(weights: Weights, key: int) -> float:
    return dict(zip(weights.keys.tolist(), weights.values.tolist())).get(key, 0)


@given(st.lists(st.integers(1, 2**32 - 1), max_size=12, unique=True))
def test_a_table_gives_what_was_put_in(keys):
    made = table([(key, number + 1) for number, key in enumerate(keys)], 4)
    assert [slow_find(made, key) for key in keys] == [number + 1 for number in range(len(keys))]
    assert [names.find(*made, np.uint32(key)) for key in keys[:1]] == [1] * len(keys[:1])


def slow_tree(trees: Trees, node: int, row: list[float]) -> float:
    if node < 0:
        return float(trees.leaf[~node])
    below = trees.left if row[trees.column[node]] <= trees.threshold[node] else trees.right
    return slow_tree(trees, int(below[node]), row)


@given(st.lists(st.lists(st.floats(-2, 2, width=32), min_size=2, max_size=2), min_size=1, max_size=5))
def test_trees_are_walked_as_they_are_defined(rows):
    trees = Trees(
        np.array([0, 1, 0], np.int16),
        np.array([0.5, -1, 0], np.float32),
        np.array([1, -1, -4], np.int32),
        np.array([-3, -2, -5], np.int32),
        np.array([0.1, 0.7, -1, 2, -0.3], np.float32),
        np.array([0, 2], np.int32),
    )
    sums = np.array([sum(slow_tree(trees, int(root), row) for root in trees.root) for row in rows])
    made = probabilities(trees, np.array(rows, np.float32))
    assert np.allclose(made, 1 / (1 + np.exp(-sums)), atol=1e-6)


def guarded(like: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """(an array of the same shape in the middle of a larger one, the larger one, which is full of 77)."""
    rows = len(like)
    larger = np.full((rows + 2 * GUARD, *like.shape[1:]), 77, like.dtype)
    return larger[GUARD : GUARD + rows], larger


GUARD = 8


@settings(max_examples=60)
@given(HTML, st.binary(max_size=12), st.randoms(use_true_random=False))
def test_nothing_is_written_beyond_the_arrays(page, more, noise):
    """Whatever the bytes are; `make fuzz` tries many more, with every index checked."""
    at = noise.randrange(len(page) + 1)
    data = page[:at].encode() + more + page[at:].encode()
    plain = building(data)
    pairs = [guarded(array) for array in plain]
    for (inner, _), array in zip(pairs, plain, strict=True):
        inner[:] = array
    fill(np.frombuffer(data, np.uint8), Building(*(inner for inner, _ in pairs)), NO_WEIGHTS, NO_WEIGHTS, *NO_SEEN)
    for _, larger in pairs:
        assert (larger[:GUARD] == 77).all() and (larger[-GUARD:] == 77).all()
