"""MathML becomes TeX; formulae that a page has twice are there once."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.formats.mathml import DEEPEST, LONGEST, to_tex, with_tex
from corpusmill.formats.tex_symbols import SYMBOLS
from corpusmill.steps.extract.blocks import Blocks
from growth import assert_linear

KATEX = (
    '<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>v</mi></mrow><annotation '
    'encoding="application/x-tex">v=\\frac{s}{t}</annotation></semantics></math></span><span class="katex-html" '
    'aria-hidden="true"><span class="base"><span class="mord">v</span>=</span><span>s<span>t</span></span></span></span>'
)
DRAWN = '<mjx-math aria-hidden="true"><mjx-mi><mjx-c class="mjx-c1D463"></mjx-c></mjx-mi></mjx-math>'
MATHJAX = (
    f'<mjx-container class="MathJax" jax="CHTML">{DRAWN}<mjx-assistive-mml unselectable="on"><math><mi>v</mi><mo>=</mo>'
    "<mi>s</mi><mo>/</mo><mi>t</mi></math></mjx-assistive-mml></mjx-container>"
)
SENTENCE = (
    "The speed of a body that moves evenly along a straight line for some time is written {} in what follows here."
)


@pytest.mark.parametrize(
    ("markup", "tex"),
    [
        ("<mi>p</mi><mo>=</mo><mi>m</mi><mi>v</mi>", "p=mv"),
        ("<mfrac><mrow><mi>a</mi><mo>−</mo><mi>b</mi></mrow><mn>3</mn></mfrac>", r"\frac{a-b}{3}"),
        ("<mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac>", r"{n \atop k}"),
        ("<msqrt><mi>a</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>b</mi><mn>4</mn></mroot>", r"\sqrt{a+1}\sqrt[4]{b}"),
        ("<msub><mi>a</mi><mi>i</mi></msub><mi>b</mi>", "a_i b"),
        ("<msubsup><mi>a</mi><mn>12</mn><mrow><mi>k</mi><mo>+</mo><mn>1</mn></mrow></msubsup>", "a_{12}^{k+1}"),
        ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "{a+b}^2"),
        ("<msup><mi>g</mi><mo>″</mo></msup><mo>(</mo><mi>t</mi><mo>)</mo>", "g''(t)"),
        (
            "<munder><mo>lim</mo><mrow><mi>n</mi><mo>→</mo><mi>∞</mi></mrow></munder><mi>a</mi>",
            r"\lim_{n\rightarrow\infty}a",
        ),
        ("<munderover><mo>∏</mo><mi>k</mi><mi>n</mi></munderover><mi>k</mi>", r"\prod_k^n k"),
        ("<mover><mi>u</mi><mo>→</mo></mover><mover><mi>y</mi><mo>¯</mo></mover>", r"\vec{u}\bar{y}"),
        ("<mover><mo>=</mo><mtext>def</mtext></mover>", r"\overset{\text{def}}{=}"),
        ("<munder><mrow><mi>a</mi><mi>b</mi></mrow><mo>⏟</mo></munder>", r"\underbrace{ab}"),
        ("<mi>cos</mi><mo>&#x2061;</mo><mi>&theta;</mi><mi>r</mi>", r"\cos\theta r"),
        ("<mi>rank</mi><mi>A</mi>", r"\operatorname{rank}A"),
        ("<mi mathvariant='double-struck'>R</mi><mi>ℤ</mi><mi>𝐁</mi>", r"\mathbb{R}\mathbb{Z}\mathbf{B}"),
        ("<mn>5</mn><mo>%</mo><mtext> of a_b</mtext>", r"5\%\text{ of a\_b}"),
        (
            "<mo>[</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mi>c</mi></mtd></mtr><mtr><mtd/><mtd><mn>2</mn></mtd></mtr>"
            "</mtable><mo>]</mo>",
            r"\begin{bmatrix}1 & c \\  & 2\end{bmatrix}",
        ),
        (
            "<mo>{</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr><mtr><mtd><mi>b</mi></mtd></mtr></mtable>",
            r"\begin{cases}a \\ b\end{cases}",
        ),
        ("<mfenced open='[' close=']' separators=';'><mi>a</mi><mi>b</mi></mfenced>", "[a;b]"),
        (
            "<mmultiscripts><mi>U</mi><none/><none/><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>",
            "{}_{92}^{238}U",
        ),
        ("<m:msup><m:mi>x</m:mi><m:mn>2</m:mn></m:msup><!-- <mi>y</mi> -->", "x^2"),
        ("<semantics><mi>q</mi><annotation-xml><ci>no</ci></annotation-xml></semantics>", "q"),
        ("", ""),
    ],
)
def test_mathml_is_tex(markup, tex):
    assert to_tex(markup) == tex


def test_a_formula_that_is_drawn_beside_its_tex_is_there_once():
    text = Blocks(favour="all").html_text(f"<p>{SENTENCE.format(KATEX)}</p>".encode())
    assert text == SENTENCE.format(r"$v=\frac{s}{t}$")


@pytest.mark.parametrize("drawn", [DRAWN, '<svg role="img"><g><text>v</text></g></svg>'])
def test_a_formula_of_mathjax_is_that_of_its_assistive_mathml(drawn):
    page = f"<p>{SENTENCE.format(MATHJAX.replace(DRAWN, drawn))}</p>"
    assert Blocks(favour="all").html_text(page.encode()) == SENTENCE.format("$v=s/t$")


def test_a_cell_that_holds_a_formula_alone_is_a_cell():
    rows = "<tr><th>name</th><th>loss</th><th>steps</th></tr><tr><td>first</td><td><math><mn>0.31</mn></math></td><td>90</td></tr>"
    text = Blocks(favour="all").html_text(f"<table>{rows}</table>".encode())
    assert text.splitlines()[-1].split("\t") == ["first", "$0.31$", "90"]


@pytest.mark.parametrize(
    "before",
    [
        "<script>var open = '<math>';</script>",
        "<p>What <math> begins, ",
        "<math/>",
        "<p>The tag &lt;math> is <math>",
        '<p><math><mi>v</mi></math></span><span class="katex-html"><span>v</p>',
    ],
)
def test_text_before_a_formula_is_never_taken_for_one(before):
    """Where a start has no end, or a page is damaged."""
    page = f"{before}<p>{SENTENCE.format('<math><mi>v</mi></math>')}</p></span></span>"
    assert with_tex(page).endswith(
        f"<p>{SENTENCE.format('<math alttext=_v_></math>')}</p></span></span>".replace("_", '"')
    )
    assert len(with_tex(page)) >= len(page) - len("<mi>v</mi>")


def test_what_has_its_tex_already_or_is_too_large_or_deep_stays():
    for page in (
        '<math alttext="x"><mi>y</mi></math>',
        '<math><semantics><mi>y</mi><annotation encoding="application/x-tex">x</annotation></semantics></math>',
        f"<math>{'<mi>y</mi>' * LONGEST}</math>",
        f"<math>{'<mrow>' * DEEPEST}<mi>y</mi></math>",
        "<math><mi>y</mi>",
        '<span class="katex-html"><span>v</span></span>',
        f"<mjx-container>{DRAWN}</mjx-container>",
    ):
        assert with_tex(page) == page


PIECES = st.sampled_from(
    """<math> </math> <mrow> </mrow> <mi>x</mi> <mfrac> <msup> <mtable> <mtr> <mtd> </mtd> <mo>{</mo> </span> <span>
    <span\tclass="katex-html"> <mjx-container> </mjx-container> <!-- --> &lt; " < é$""".split(" ")
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_a_page_is_the_same_when_it_is_looked_at_again(page):
    once = with_tex(page)
    assert with_tex(once) == once
    assert re.sub(r"\salttext=\"[^\"]*\"", "", once).count("<math>") <= page.count("<math>")


def test_every_symbol_is_one_command():
    assert not [char for char in SYMBOLS if len(char) != 1]


HOSTILE = ["<math>", "<mjx-container>", '</math></span><span class="katex-html">', "<math><mi>", "<!--", '<math x="']


@pytest.mark.parametrize(
    "part", [*HOSTILE, "<math><mi>a</mi></math>", f"<math>{'<mrow>' * 60}<mi>a</mi>{'</mrow>' * 60}</math>"]
)
def test_the_time_is_linear(part):
    assert_linear(with_tex, lambda size: (part * (size // len(part) + 1))[:size], 1 << 18)
