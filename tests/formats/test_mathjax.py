"""What MathJax has drawn, in HTML and in SVG, is TeX, once. The drawings were made by MathJax 3.2.2 and shortened."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.formats.mathjax import MARK, drawn_tex, with_mathml
from corpusmill.formats.mathml import DEEPEST, to_tex
from corpusmill.steps.extract.blocks import Blocks
from growth import assert_linear

SENTENCE = "The force between two bodies that are far from each other is written {} in all of what follows here."
ITALIC = 0x1D44E


def html_char(char: str) -> str:
    return f'<mjx-c class="mjx-c{ord(char):X} TEX-I"></mjx-c>'


def svg_char(char: str) -> str:
    return f'<use data-c="{ord(char):X}" xlink:href="#MJX-7-TEX-I-{ord(char):X}"></use>'


def html_token(kind: str, text: str, classes: str = "mjx-n") -> str:
    return f'<mjx-{kind} class="{classes}">{"".join(map(html_char, text))}</mjx-{kind}>'


def svg_token(kind: str, text: str, moved: str = "") -> str:
    return f'<g data-mml-node="{kind}"{moved}>{"".join(map(svg_char, text))}</g>'


X, Y = chr(ITALIC + 23), chr(ITALIC + 24)
HTML_X, HTML_2, SVG_X, SVG_2 = html_token("mi", X), html_token("mn", "2"), svg_token("mi", X), svg_token("mn", "2")
UP, DOWN = ' transform="translate(605,413) scale(0.707)"', ' transform="translate(605,-247) scale(0.707)"'


@pytest.mark.parametrize(
    ("drawing", "tex"),
    [
        (html_token("mi", X) + html_token("mo", "=") + html_token("mn", "12"), "x=12"),
        (html_token("mi", "d"), r"\mathrm{d}"),
        (html_token("mi", "sin") + html_token("mo", "\u2061") + HTML_X, r"\sin x"),
        (html_token("mi", "rank"), r"\operatorname{rank}"),
        (html_token("mi", "\u210e"), "h"),
        (html_token("mi", "L", "mjx-cal mjx-i"), r"\mathcal{L}"),
        (html_token("mi", "\u211d", "mjx-ds mjx-b"), r"\mathbb{R}"),
        (html_token("mi", "\U0001d431", "mjx-b"), r"\mathbf{x}"),
        (html_token("mi", "Γ"), r"\Gamma"),
        (html_token("mtext", "if\xa0"), r"\text{if }"),
        ('<mjx-mi class="mjx-n"><mjx-utext variant="normal">中</mjx-utext></mjx-mi>', "中"),
        (f"<mjx-msup>{HTML_X}<mjx-script>{HTML_2}</mjx-script></mjx-msup>", "x^2"),
        (f"<mjx-msub>{HTML_X}<mjx-script>{HTML_2}</mjx-script></mjx-msub>", "x_2"),
        (
            f"<mjx-msubsup>{HTML_X}<mjx-script>{html_token('mo', '′')}<mjx-spacer></mjx-spacer>{HTML_2}</mjx-script></mjx-msubsup>",
            "x_2'",
        ),
        (
            "<mjx-mfrac><mjx-frac><mjx-num><mjx-nstrut></mjx-nstrut>"
            f"{HTML_X}</mjx-num><mjx-dbox><mjx-dtable><mjx-line></mjx-line><mjx-row><mjx-den>{HTML_2}</mjx-den></mjx-row>"
            "</mjx-dtable></mjx-dbox></mjx-frac></mjx-mfrac>",
            r"\frac{x}{2}",
        ),
        (
            f"<mjx-mrow><mjx-TeXAtom>{html_token('mo', '(')}</mjx-TeXAtom><mjx-mfrac><mjx-frac atop='true'><mjx-num>{HTML_X}"
            f"</mjx-num><mjx-den>{HTML_2}</mjx-den></mjx-frac></mjx-mfrac>{html_token('mo', ')')}</mjx-mrow>",
            r"\binom{x}{2}",
        ),
        (
            f"<mjx-msqrt><mjx-sqrt><mjx-surd>{html_token('mo', '√')}</mjx-surd><mjx-box>{HTML_X}</mjx-box></mjx-sqrt></mjx-msqrt>",
            r"\sqrt{x}",
        ),
        (
            f"<mjx-mroot><mjx-root>{html_token('mn', '3')}</mjx-root><mjx-sqrt><mjx-surd></mjx-surd><mjx-box>{HTML_X}</mjx-box>"
            "</mjx-sqrt></mjx-mroot>",
            r"\sqrt[3]{x}",
        ),
        (
            f"<mjx-munderover><mjx-over>{HTML_2}</mjx-over><mjx-box><mjx-munder><mjx-row><mjx-base>{html_token('mo', '∑')}"
            f"</mjx-base></mjx-row><mjx-row><mjx-under>{HTML_X}</mjx-under></mjx-row></mjx-munder></mjx-box></mjx-munderover>",
            r"\sum_x^2",
        ),
        (
            f"<mjx-mover><mjx-over>{html_token('mo', '^')}</mjx-over><mjx-base>{HTML_X}</mjx-base></mjx-mover>",
            r"\hat{x}",
        ),
        (
            '<mjx-mover><mjx-over><mjx-mo><mjx-stretchy-h class="mjx-c2013"><mjx-ext><mjx-c></mjx-c></mjx-ext></mjx-stretchy-h>'
            f"</mjx-mo></mjx-over><mjx-base><mjx-mrow>{HTML_X}{HTML_2}</mjx-mrow></mjx-base></mjx-mover>",
            r"\overline{x2}",
        ),
        (
            '<mjx-mo><mjx-stretchy-v class="mjx-c28"><mjx-beg><mjx-c></mjx-c></mjx-beg></mjx-stretchy-v></mjx-mo>'
            + HTML_X,
            "(x",
        ),
        (
            f"<mjx-mrow>{html_token('mo', '{')}<mjx-mtable><mjx-table><mjx-itable><mjx-mtr><mjx-mtd>{HTML_X}<mjx-tstrut>"
            f"</mjx-tstrut></mjx-mtd><mjx-mtd>{HTML_2}</mjx-mtd></mjx-mtr><mjx-mtr><mjx-mtd></mjx-mtd><mjx-mtd>{HTML_X}</mjx-mtd>"
            "</mjx-mtr></mjx-itable></mjx-table></mjx-mtable><mjx-mo></mjx-mo></mjx-mrow>",
            r"\begin{cases}x & 2 \\  & x\end{cases}",
        ),
        (
            f"<mjx-mtable><mjx-table><mjx-itable><mjx-mlabeledtr><mjx-mtd>{HTML_X}</mjx-mtd></mjx-mlabeledtr></mjx-itable>"
            f"</mjx-table><mjx-labels><mjx-itable><mjx-mtr><mjx-mtd>{html_token('mtext', '(7)')}</mjx-mtd></mjx-mtr></mjx-itable>"
            "</mjx-labels></mjx-mtable>",
            r"x\tag{7}",
        ),
        (f"{HTML_X}<mjx-mstyle><mjx-mspace style='width: 1em;'></mjx-mspace></mjx-mstyle>{HTML_2}", r"x\quad 2"),
        (f"<mjx-menclose><mjx-box>{HTML_X}</mjx-box><mjx-ustrike></mjx-ustrike></mjx-menclose>", r"\cancel{x}"),
        (svg_token("mi", Y) + svg_token("mo", "≤") + SVG_2, r"y\leq2"),
        (f'<g data-mml-node="msup">{SVG_X}{svg_token("mn", "2", UP)}</g>', "x^2"),
        (
            f'<g data-mml-node="msubsup">{SVG_X}{svg_token("mn", "2", UP)}{svg_token("mi", Y, DOWN)}</g>',
            "x_y^2",
        ),
        (f'<g data-mml-node="mfrac">{SVG_X}{SVG_2}<rect width="9" height="60"></rect></g>', r"\frac{x}{2}"),
        (
            f'<g data-mml-node="mroot"><g>{SVG_X}{SVG_2}</g>{svg_token("mn", "3")}{svg_token("mo", "√")}<rect></rect></g>',
            r"\sqrt[3]{x2}",
        ),
        (
            '<g data-mml-node="mo"><use data-c="E152"></use><use data-c="E153"></use><g data-c="E156"><use data-c="E151"></use>'
            "</g></g>",
            "⏟",
        ),
        ('<g data-mml-node="mo"><svg width="278"><use data-c="2223"></use></svg></g>', "|"),
        ('<g data-mml-node="mi"><use data-c="4C" xlink:href="#MJX-7-TEX-C-4C"></use></g>', r"\mathcal{L}"),
        (
            f'<g data-mml-node="menclose"><g>{SVG_X}</g><line x1="33" y1="-438.5" x2="990" y2="675"></line></g>',
            r"\cancel{x}",
        ),
        (f'<g data-mml-node="menclose"><g>{SVG_X}</g><line x1="a" y1="b" x2="c" y2="d"></line></g>', r"\bcancel{x}"),
        (f'<g data-mml-node="menclose"><g>{SVG_X}</g><rect></rect></g>', r"\boxed{x}"),
        ("", ""),
    ],
)
def test_a_drawing_is_tex(drawing, tex):
    assert drawn_tex(drawing) == tex


@pytest.mark.parametrize(
    ("drawing", "jax"), [(f"<mjx-math>{HTML_X}</mjx-math>", "CHTML"), (f"<svg><g>{SVG_X}</g></svg>", "SVG")]
)
@pytest.mark.parametrize(("display", "dollars"), [("", "$"), (' display="true"', "$$")])
def test_a_formula_that_mathjax_has_drawn_is_in_the_text_once(drawing, jax, display, dollars):
    page = f"<p>{SENTENCE.format(f'<mjx-container jax={jax}{display}>{drawing}</mjx-container>')}</p>"
    assert Blocks(favour="all").html_text(page.encode()) == SENTENCE.format(f"{dollars}x{dollars}")


def test_assistive_mathml_is_taken_before_what_is_drawn():
    math = "<math><mi>v</mi></math>"
    inside = f"<mjx-math>{HTML_X}</mjx-math><mjx-assistive-mml>{math}</mjx-assistive-mml>"
    assert with_mathml(f"<p>a<mjx-container>{inside}</mjx-container>b</p>") == f"<p>a{math}b</p>"


def test_shapes_of_letters_are_passed_over():
    shape = '<path id="MJX-7-TEX-I-1D465" d="M52 289Q59 331 106 386T222 442Z"></path>'
    drawing = f"<svg><defs>{shape * 3000}</defs><g>{SVG_X}</g></svg>"
    assert 'alttext="x"' in with_mathml(f"<mjx-container>{drawing}</mjx-container>")
    own = f'<g data-mml-node="mi"><path data-c="1D465" {shape[6:-7]}</path></g>'
    assert drawn_tex(re.sub(r' d="[^"]*"', "", own)) == "x"


def test_what_cannot_be_read_is_a_formula_without_tex():
    deep = f"{'<mjx-msqrt><mjx-sqrt><mjx-box>' * DEEPEST}{HTML_X}"
    for inside in ("", deep, "<mjx-math></mjx-math>"):
        assert with_mathml(f"<mjx-container>{inside}</mjx-container>") == "<math></math>"
    signals = Blocks().html_extracted(b"<p>a <mjx-container></mjx-container> b</p>").signals
    assert (signals["formulas"], signals["formulas_lost"]) == (1, 1)


trees = st.recursive(
    st.tuples(st.just("mi"), st.sampled_from("abyz")) | st.tuples(st.just("mn"), st.sampled_from("0123")),
    lambda inner: (
        st.tuples(st.sampled_from(["msup", "msub", "mfrac"]), st.tuples(inner, inner))
        | st.tuples(st.just("msubsup"), st.tuples(inner, inner, inner))
        | st.tuples(st.just("mroot"), st.tuples(inner, inner))
        | st.tuples(st.sampled_from(["msqrt", "mrow"]), st.lists(inner, min_size=1, max_size=3).map(tuple))
    ),
    max_leaves=12,
)


def mathml(tree) -> str:
    kind, inside = tree
    return f"<{kind}>{inside if isinstance(inside, str) else ''.join(map(mathml, inside))}</{kind}>"


def drawn_in_html(tree) -> str:
    kind, inside = tree
    if isinstance(inside, str):
        return html_token(kind, chr(ITALIC + ord(inside) - 97) if kind == "mi" else inside)
    parts = [drawn_in_html(each) for each in inside]
    if kind in ("msup", "msub"):
        return f"<mjx-{kind}>{parts[0]}<mjx-script>{parts[1]}</mjx-script></mjx-{kind}>"
    if kind == "msubsup":
        return f"<mjx-msubsup>{parts[0]}<mjx-script>{parts[2]}<mjx-spacer></mjx-spacer>{parts[1]}</mjx-script></mjx-msubsup>"
    if kind == "mfrac":
        top, bottom = parts
        return f"<mjx-mfrac><mjx-frac><mjx-num>{top}</mjx-num><mjx-dbox><mjx-den>{bottom}</mjx-den></mjx-dbox></mjx-frac></mjx-mfrac>"
    if kind == "mroot":
        return (
            f"<mjx-mroot><mjx-root>{parts[1]}</mjx-root><mjx-sqrt><mjx-box>{parts[0]}</mjx-box></mjx-sqrt></mjx-mroot>"
        )
    inner = "".join(parts)
    return (
        f"<mjx-msqrt><mjx-sqrt><mjx-box>{inner}</mjx-box></mjx-sqrt></mjx-msqrt>"
        if kind == "msqrt"
        else f"<mjx-mrow>{inner}</mjx-mrow>"
    )


def drawn_in_svg(tree, moved: str = "") -> str:
    kind, inside = tree
    begin = f'<g data-mml-node="{kind}"{moved}>'
    if isinstance(inside, str):
        return f"{begin}{svg_char(chr(ITALIC + ord(inside) - 97) if kind == 'mi' else inside)}</g>"
    if kind == "msubsup":
        base, below, above = inside
        return f"{begin}{drawn_in_svg(base)}{drawn_in_svg(above, UP)}{drawn_in_svg(below, DOWN)}</g>"
    parts = [drawn_in_svg(each) for each in inside]
    if kind in ("msqrt", "mroot"):
        content = "".join(parts) if kind == "msqrt" else parts[0]
        return f"{begin}<g>{content}</g>{''.join(parts[1:]) if kind == 'mroot' else ''}{svg_token('mo', '√')}<rect></rect></g>"
    return f"{begin}{''.join(parts)}{'<rect></rect>' if kind == 'mfrac' else ''}</g>"


@given(trees)
def test_what_is_drawn_has_the_tex_of_its_mathml(tree):
    assert drawn_tex(drawn_in_html(tree)) == drawn_tex(drawn_in_svg(tree)) == to_tex(mathml(tree))


PIECES = st.sampled_from(
    """<mjx-container> </mjx-container> <mjx-mfrac> </mjx-mfrac> <mjx-num> <mjx-script> <mjx-msubsup> <mjx-munder> <mjx-over>
    <mjx-mtable> <mjx-mtr> <g> </g> <g\tdata-mml-node="mroot"> <g\tdata-mml-node="mi"> <math> </math> <use\tdata-c="110000">
    <use\tdata-c="D800"> <use\tdata-c="none"> < &amp; <mjx-c\tclass="mjx-cFFFFFF"> <mjx-c\tclass="mjx-cDFFF"> <mjx-mi> x <p>
    <line\ty2="low"> <g\ttransform="translate(1,-)"> <g\tdata-mml-node="menclose">""".replace("\n", " ").split(" ")
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_page_fails(page):
    made = with_mathml(page)
    assert with_mathml(made).count("<mjx-container>") <= page.count("<mjx-container>")
    Blocks(favour="all").html_text(page.encode())


@pytest.mark.parametrize(
    "part",
    [
        "<mjx-container>",
        "<mjx-container><mjx-mi>",
        f"<mjx-container>{HTML_X}</mjx-container>",
        f"<mjx-container>{'<mjx-mrow>' * 60}{HTML_X}</mjx-container>",
        "<mjx-container><svg><defs><path",
        "<defs><path></path>",
    ],
)
def test_the_time_is_linear(part):
    assert_linear(with_mathml, lambda size: (part * (size // len(part) + 1))[:size], 1 << 18)


def test_pages_without_mathjax_are_known_by_their_bytes():
    assert MARK in b"<p><mjx-container class=MathJax>" and MARK not in b"<p><math><mi>x</mi></math>"
