"""What LaTeX sources say, as text, Markdown, or LaTeX without what is not text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.formats.latex import Markup, TooMuch
from corpusmill.formats.latex_text import ACCENTS, cleaned, latex_text

LIMIT = 100_000


def text(source: str, markup: Markup = "text") -> str:
    return latex_text(source, markup, LIMIT)


@pytest.mark.parametrize(
    ("source", "plain", "markdown"),
    [
        ("\\section{A}b", "A\nb", "## A\n\nb"),
        ("\\section*{A}\\label{x} b", "A\nb", "## A\n\nb"),
        ("\\section[s]{A} b", "A\nb", "## A\n\nb"),
        ("\\chapter{A}\\paragraph{B} c", "A\nB\nc", "# A\n\n##### B\n\nc"),
        ("\\section", "", ""),
        ("\\begin{itemize}\\item a\\item b\\end{itemize}c", "a\nb\nc", "- a\n- b\n\nc"),
        ("\\begin{enumerate}\\item a\\item b\\end{enumerate}", "a\nb", "1. a\n2. b"),
        ("\\begin{description}\\item[x] a\\end{description}", "x a", "- x a"),
        (
            "\\begin{enumerate}\\item a\\begin{itemize}\\item b\\end{itemize}\\item c\\end{enumerate}",
            "a\nb\nc",
            "1. a\n   - b\n2. c",
        ),
        ("\\begin{abstract}a\\end{abstract}", "a", "## Abstract\n\na"),
        ("\\[ x \\]", "$$\nx\n$$", "$$\nx\n$$"),
        ("$$x$$ y", "$$\nx\n$$\ny", "$$\nx\n$$\n\ny"),
        ("\\(x\\) y", "$x$ y", "$x$ y"),
        ("\\begin{align}a&b\\label{c}\\end{align}", *["$$\n\\begin{align}\na&b\n\\end{align}\n$$"] * 2),
        ("\\begin{equation*}a\\end{equation*}", *["$$\na\n$$"] * 2),
        ("\\begin{verbatim}\n a\n\\end{verbatim}", " a", "```\n a\n```"),
        ("\\begin{minted}[x]{python}\na\n\\end{minted}", "a", "```python\na\n```"),
        ("\\begin{verbatim}\n```\n\\end{verbatim}", "```", "````\n```\n````"),
        ("\\verb|a b| c", "a b c", "`a b` c"),
        ("\\texttt{a} b", "a b", "`a` b"),
        ("\\begin{figure}\\includegraphics[w]{x}\\caption{A view}\\end{figure}", "A view", "A view"),
    ],
)
def test_blocks(source, plain, markdown):
    assert text(source) == plain
    assert text(source, "markdown") == markdown


@pytest.mark.parametrize(
    ("source", "plain", "markdown"),
    [
        ("\\begin{tabular}{ll}a & b \\\\ c & d\\end{tabular}", "a | b\nc | d", "| a | b |\n| --- | --- |\n| c | d |"),
        ("\\begin{tabular}{l}\\hline a \\\\[2pt] \\hline\\end{tabular}", "a", "| a |\n| --- |"),
        ("\\begin{tabularx}{5cm}{ll}a & b\\end{tabularx}", "a | b", "| a | b |\n| --- | --- |"),
        ("\\begin{tabular}{ll}a\\&b & c\\end{tabular}", "a&b | c", "| a&b | c |\n| --- | --- |"),
        (
            "\\begin{tabular}{ll}\\multicolumn{2}{c}{a} \\\\ b & c\\end{tabular}",
            "a\nb | c",
            "| a |  |\n| --- | --- |\n| b | c |",
        ),
        ("\\begin{tabular}{l}\\multirow{2}*{a}\\end{tabular}", "a", "| a |\n| --- |"),
        ("\\begin{tabular}{l}\\end{tabular}x", "x", "x"),
    ],
)
def test_tables(source, plain, markdown):
    assert text(source) == plain
    assert text(source, "markdown") == markdown


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a\\\\b", "a\nb"),
        ("a\\newline b", "a\nb"),
        ("a\\par b", "a\nb"),
        ("\\LaTeX{} is \\TeX\\ too", "LaTeX is TeX too"),
        ("a--b---c", "a–b—c"),
        ("``a'' `b'", "“a” `b'"),
        ("\\emph{a} \\textbf{\\textit{b}}", "a b"),
        ("\\unknown{a} \\other[x]{b}", "a b"),
        ("\\vspace{2cm}a\\label{b}", "a"),
        ("\\textcolor{red}{a}", "a"),
        ("\\href{http://a.org}{b}", "b"),
        ("a $x$, b .", "a $x$, b."),
        ("$5 and no end", "$5 and no end"),
        ("\\$5", "$5"),
        ("\\~{n}\\'e\\c c\\=a", "ñéçā"),
        ('\\"{\\i}', "ï"),
        ("\\'{}", ""),
        ("\\begin{comment}x\\end{comment}a", "a"),
        ("\\begin{minipage}{2cm}a\\end{minipage}", "a"),
        ("a\\end{itemize}b", "a\nb"),
        ("\\begin{itemize}a", "a"),
        ("\\item a", "a"),
        ("𝔸 — ß", "𝔸 — ß"),
        ("", ""),
    ],
)
def test_inline_text(source, expected):
    assert text(source) == expected


@pytest.mark.parametrize("accent", ACCENTS)
def test_an_accent_without_a_letter_leaves_nothing_behind(accent):
    assert text(f"a\\{accent}{{}}b") == "ab"


def test_what_is_not_text_goes_from_latex():
    source = (
        "\\begin{document}\\maketitle a\n\n\n\n\\begin{tikzpicture}\\draw;\\end{tikzpicture}"
        "b \\nocite{*}\\begin{itemize}\\item c\\end{itemize}\\bibliography{x}\\end{document}"
    )
    assert text(source, "latex") == "a\n\nb \\begin{itemize}\\item c\\end{itemize}"
    assert cleaned("\\begin{thebibliography}{9} never ends") == ""
    assert cleaned("\\begin{comment}\\begin{comment}a\\end{comment}b\\end{comment}c") == "c"


def test_the_title_is_the_first_heading():
    source = "\\title{\\textbf{On} ferries}\\begin{document}\\maketitle a\\end{document}"
    assert text(source) == "On ferries\na"
    assert text(source, "markdown") == "# On ferries\n\na"


def test_macros_that_grow_are_refused_with_the_limit():
    with pytest.raises(TooMuch):
        latex_text("\\def\\a#1{#1#1#1#1}\\a{\\a{\\a{\\a{xxxxxxxxxx}}}}", "text", 200)


def test_commands_in_commands_end_somewhere():
    assert text("\\textbf{" * 60 + "a" + "}" * 60) == "a"
    assert "a" not in text("\\caption{" * 60 + "a" + "}" * 60)  # nested deeper than anything that is written


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["\\begin{itemize}", "\\end{itemize}", "\\item", "{", "}", "$", "\\[", "\\]", "a", " ",
    "\n\n", "&", "\\\\", "\\begin{tabular}{l}", "\\end{tabular}", "\\'", "\\verb|", "%", "[", "]", "\\section"]), max_size=14),
    st.sampled_from(["text", "markdown", "latex"]))  # fmt: skip
def test_no_source_breaks_it(parts, markup):
    written = text("".join(parts), markup)
    assert "\x00" not in written
    assert markup == "latex" or written.count("a") <= "".join(parts).count("a")
