"""LaTeX sources to clean LaTeX, text and Markdown."""

import pytest

from corpusmill.errors import DocumentError, RecipeError
from corpusmill.formats.latex import Markup, without_comments
from corpusmill.steps.extract.latex import Latex


def made(source: str, markup: Markup = "text") -> str:
    return Latex(markup=markup).page_text(source.encode(), "utf-8")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a % b\nc", "a c"),
        ("5\\% a", "5\\% a"),
        ("a\n% b\nc", "a\nc"),
        ("a \\\\% b\nc", "a \\\\\nc"),
        ("\\verb|%| % x", "\\verb|%| "),
        ("\\begin{verbatim}\n% a\n\\end{verbatim} % b", "\\begin{verbatim}\n% a\n\\end{verbatim} "),
    ],
)
def test_comments_go_but_not_from_verbatim_text(source, expected):
    assert without_comments(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\\newcommand{\\R}{\\mathbb{R}} in $\\R^n$", "in $\\mathbb{R}^n$"),
        ("\\newcommand{\\v}[2][x]{#1-#2} \\v{1} \\v[y]{2}", "x-1 y-2"),
        ("\\def\\eg#1{e.g., #1} \\eg{it}", "e.g., it"),
        ("\\DeclareMathOperator*{\\am}{arg} $\\am f$", "$\\operatorname*{arg}f$"),
        ('Malm\\"o, Fran\\c{c}ois, \\\'{E}mile, na\\"{\\i}ve \\o{} \\ss', "Malmö, François, Émile, naïve ø ß"),
        ("a~b---c ``d'' \\& \\textbf{e} {\\em f}", "a b—c “d” & e f"),
        ("as in~\\cite[p.~3]{x}, by Section~\\ref{y}.\\footnote{no}", "as in, by Section."),
        ("\\href{http://x.org}{a site}, \\url{http://y.org}", "a site, http://y.org"),
        ("one\ntwo\n\nthree\\\\ four", "one two\nthree\nfour"),
        ("\\begin{tikzpicture} x \\end{tikzpicture}a", "a"),
        ("\\begin{thebibliography}{9} x \\end{thebibliography}", ""),
        ("cost \\$5 and $x$", "cost $5 and $x$"),
    ],
)
def test_text(source, expected):
    assert made(source) == expected


SOURCE = r"""\documentclass{article}
\newcommand{\R}{\mathbb{R}}
\title{On $\R$}
\begin{document}
\begin{abstract}Short.\end{abstract}
\section{Ways}\label{a}
\begin{itemize}
\item one
\item two \begin{enumerate} \item deep \end{enumerate}
\end{itemize}
\begin{equation}\label{e} x \in \R \end{equation}
\begin{tabular}{ll}\hline a & b \\ \multicolumn{2}{c}{$x$} \\ \end{tabular}
\begin{verbatim}
x = 1 % kept
\end{verbatim}
\bibliography{refs}
\end{document} after"""


def test_markdown_has_what_the_source_marks():
    assert made(SOURCE, "markdown") == (
        "# On $\\mathbb{R}$\n\n## Abstract\n\nShort.\n\n## Ways\n\n- one\n- two\n   1. deep\n\n"
        "$$\nx \\in \\mathbb{R}\n$$\n\n| a | b |\n| --- | --- |\n| $x$ |  |\n\n```\nx = 1 % kept\n```"
    )


def test_latex_stays_latex():
    text = made(SOURCE, "latex")
    assert text.startswith("\\begin{abstract}Short.") and text.endswith("x = 1 % kept\n\\end{verbatim}")
    assert "x \\in \\mathbb{R}" in text and "\\R" not in text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\let\old\section\renewcommand{\section}{\clearpage\section}\section{One} text", "One\ntext"),
        (r"\def\foo{x\foo}\foo y", "x y"),
        (r"\newcommand{\a}[1]{<#1>}\a{b\a{c\a{d}}}", "<b<c<d>>>"),
        (r"\newcommand{\b}[1]{\a{#1}}\newcommand{\a}[1]{(#1)}\a{1\b{2\a{3}}}", "(1(2(3)))"),
        (r"\def\even{e\odd}\def\odd{o\even}\even.", "eo."),
    ],
)
def test_a_macro_in_its_own_meaning_is_left_and_one_in_an_argument_is_not(source, text):
    assert made(source, "text") == text


def test_what_would_grow_without_end_is_refused():
    doubling = "".join(f"\\def\\{chr(97 + i)}{{\\{chr(98 + i)}\\{chr(98 + i)}}}" for i in range(25)) + "\\a"
    for source, reason in (
        ("".join(f"\\def\\{'a' * i}{{\\{'a' * (i + 1)}}}" for i in range(1, 80)) + "\\a", "nested more than 64"),
        (doubling, "more text"),
        ("{" * 600, "600 braces"),
    ):
        with pytest.raises(DocumentError, match=reason):
            made(source)
    with pytest.raises(RecipeError, match='markup must be latex, text or markdown, got "md"'):
        Latex(markup="md")  # type: ignore[arg-type]
