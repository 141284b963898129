"""Formulae of pages: TeX of scripts, of MathML and of pictures, and what delimits it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blocks.scan import scan

ATOMS = [
    "x",
    "+1",
    "\\frac{a}{b}",
    " ",
    "\n",
    "$",
    "$$",
    "\\[",
    "\\]",
    "\\(",
    "\\)",
    "{\\displaystyle",
    "{",
    "}",
    "é",
    "\\",
]
sources = st.lists(st.sampled_from(ATOMS), max_size=10).map("".join)
BLANK = "".join(map(chr, range(33)))


def shown(html: str) -> str:
    return bytes(scan(html.encode()).text).decode().strip()


def slow_formula(source: str, display: bool = False) -> str:
    """A formula between dollar signs: what delimits it is taken off its ends for as long as something does."""
    source = source.strip(BLANK)
    while True:
        display_mark = bool(re.match(r"\$\$.+\$|\\\[", source, re.DOTALL))
        for pattern in (r"\$(.*)\$", r"\\\[(.*)\\\]", r"\\\((.*)\\\)", r"(?i:\{\\displaystyle)(.*)\}"):
            if found := re.fullmatch(pattern, source, re.DOTALL):
                display = display or (display_mark and pattern != r"(?i:\{\\displaystyle)(.*)\}")
                source = found[1].strip(BLANK)
                break
        else:
            break
    if not source:
        return ""
    dollars = "$" * (1 + display)
    return dollars + " ".join(source.split()) + dollars


@settings(max_examples=150, deadline=None)
@given(sources, st.booleans())
def test_what_delimits_a_formula_is_taken_off(source, display):
    mode = "; mode=display" * display
    assert shown(f"<p><script type='math/tex{mode}'>{source}</script></p>") == slow_formula(source, display)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<script type=math/tex>x</script>", "$x$"),
        ("<script type=MATH/TeX>x</script>", "$x$"),
        ("<script type='math/tex; mode=display'>x</script>", "$$x$$"),
        ("<script type=text/math/tex>x</script>", ""),
        ("<script>x</script>", ""),
        ("<math alttext='a^2'><mi>a</mi></math>", "$a^2$"),
        ("<math display=block alttext='a^2'><mi>a</mi></math>", "$$a^2$$"),
        ("<math display=inline alttext='a^2'><mi>a</mi></math>", "$a^2$"),
        ("<math alttext=no><mi>a</mi><annotation encoding='application/x-tex'>b</annotation></math>", "$b$"),
        ("<math><annotation encoding=APPLICATION/X-TEX>{\\displaystyle b}</annotation></math>", "$b$"),
        ("<math><annotation encoding='application/x-tex'></annotation></math>", ""),
        ("<img class=math alt='a+b'>", "$a+b$"),
        ("<img class='x mwe-math-fallback-image-inline' alt='a+b'>", "$a+b$"),
        ("<img class=latex alt=''>", ""),
        ("<img class=mathematics alt='a+b'>", ""),
        ("<img alt='$a+b$'>", "$a+b$"),
        ("<img alt='$$a+b$$'>", "$$a+b$$"),
        ("<img alt='$'>", ""),
        ("<img alt='  $a$ '>", "$a$"),
        ("<img alt='5$ and 6$'>", ""),
    ],
)
def test_where_formulae_are(html, text):
    assert shown(f"<p>{html}</p>") == text


def test_a_picture_beside_the_same_formula_is_left_out():
    annotation = "<math><annotation encoding='application/x-tex'>a</annotation></math>"
    assert shown(f"<p>{annotation}<img class=math alt='a'></p>") == "$a$"
    assert shown(f"<p>{annotation} <img class=math alt='a'></p>") != "$a$"
    assert shown(f"<p>{annotation}<img class=math alt='b'></p>") == "$a$$b$"


def test_formulae_are_within_the_text_around_them():
    assert shown("<p>Let <script type='math/tex'>x</script> be 1.") == "Let $x$ be 1."
    assert shown("<p>Let<script type='math/tex'>x</script>be 1.") == "Let$x$be 1."
