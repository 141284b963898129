"""The parts of which LaTeX sources are read: groups, arguments, macros, comments."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import RecordError
from corpusmill.formats import latex
from corpusmill.formats.latex import (
    MAX_BRACES,
    MAX_DEPTH,
    MAX_OPTIONAL,
    Expander,
    Macro,
    TooMuch,
    argument,
    body,
    expanded,
    group,
    most_open,
    optional,
    take_macros,
    without_comments,
)
from corpusmill.formats.latex_text import latex_text
from corpusmill.read.latex import assembled
from growth import assert_linear


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("{a}b", 0, ("a", 3)),
        ("  \n {a}", 0, ("a", 7)),
        ("\n\n{a}", 0, None),  # a new paragraph is not passed
        ("{a{b}c}d", 0, ("a{b}c", 7)),
        ("{a\\}b}", 0, ("a\\}b", 6)),
        ("{a\\\\}b}", 0, ("a\\\\", 5)),
        ("{}", 0, ("", 2)),
        ("{a", 0, None),
        ("a{b}", 0, None),
        ("a{b}", 1, ("b", 4)),
        ("", 0, None),
        ("{é–𝔸}", 0, ("é–𝔸", 5)),
    ],
)
def test_a_group_is_what_stands_between_its_braces(text, at, expected):
    assert group(text, at) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a]b", ("a", 3)),
        ("[{]}]b", ("{]}", 5)),
        ("[a\\]b]", ("a\\]b", 6)),
        ("[]", ("", 2)),
        ("[a", None),
        ("[a}]", None),
        ("{a}", None),
        (" [a]", ("a", 4)),
        (f"[{'x' * (MAX_OPTIONAL + 5)}\\y]", None),
    ],
)
def test_an_optional_argument_is_what_stands_between_brackets(text, expected):
    assert optional(text, 0) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ab}c", ("ab", 4)),
        ("ab", ("a", 1)),
        ("\\alpha b", ("\\alpha", 6)),
        (" \\% b", ("\\%", 3)),
        ("}", None),
        ("&", None),
        ("", None),
        ("\\", ("\\", 1)),
    ],
)
def test_an_argument_is_a_group_or_one_token(text, expected):
    assert argument(text, 0) == expected


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="{}\\a[] \n", max_size=24), st.integers(0, 24))
def test_no_text_breaks_the_parts_and_each_goes_on(text, at):
    for part in (group, optional, argument):
        parsed = part(text, at)
        if parsed is not None:
            content, after = parsed
            assert at < after <= len(text) and content in text
    assert most_open(text) <= text.count("{")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a\\begin{document}b\\end{document}c", ("a", "b")),
        ("a\\begin {document}b", ("a", "b")),
        ("no document", ("", "no document")),
        ("\\end{document}a", ("", "\\end{document}a")),
    ],
)
def test_the_body_of_a_document(source, expected):
    assert body(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%", ""),
        ("a%b", "a"),
        ("a%b\n  c", "ac"),
        ("  % only\nnext", "  next"),
        ("50\\%% x\n", "50\\%"),
        ("\\lstinline!%!%x", "\\lstinline!%!"),
        ("% \\begin{verbatim}\n%a", ""),
        ("\\begin{lstlisting}\n%a\n\\end{lstlisting}", "\\begin{lstlisting}\n%a\n\\end{lstlisting}"),
        ("\\begin{minted}{py}\n# 5%\n", "\\begin{minted}{py}\n# 5"),
    ],
)
def test_comments_go_and_verbatim_text_stays(source, expected):
    assert without_comments(source).rstrip() == expected.rstrip()


@pytest.mark.parametrize(
    ("source", "rest", "macros"),
    [
        ("\\newcommand{\\a}{x}y", "y", {"a": Macro(0, None, "x")}),
        ("\\newcommand\\a{x}y", "y", {"a": Macro(0, None, "x")}),
        ("\\newcommand*{\\a}[2]{#1#2}", "", {"a": Macro(2, None, "#1#2")}),
        ("\\newcommand{\\a}[2][d]{#1}", "", {"a": Macro(2, "d", "#1")}),
        ("\\def\\a#1#2{#2#1}", "", {"a": Macro(2, None, "#2#1")}),
        ("\\gdef\\a{x}\\providecommand{\\a}{y}", "", {"a": Macro(0, None, "x")}),
        ("\\newcommand{\\a}{x}\\renewcommand{\\a}{y}", "", {"a": Macro(0, None, "y")}),
        ("\\DeclareMathOperator{\\a}{x}", "", {"a": Macro(0, None, "\\operatorname{x}")}),
        ("\\def\\a(#1){#1}", "\\def\\a(#1){#1}", {}),  # delimited by text: left as it is
        ("\\newcommand{a}{x}", "\\newcommand{a}{x}", {}),
        ("\\newcommand", "\\newcommand", {}),
        ("\\defeat", "\\defeat", {}),
    ],
)
def test_definitions_are_taken_out(source, rest, macros):
    taken: dict[str, Macro] = {}
    assert take_macros(source, taken) == rest
    assert taken == macros


@pytest.mark.parametrize(
    ("definitions", "text", "expected"),
    [
        ("", "\\a", "\\a"),
        ("\\def\\a{b}", "\\a c", "bc"),
        ("\\def\\a{b}", "\\a{} c", "b{} c"),
        ("\\def\\a{\\b}", "\\a c", "\\b c"),  # not \bc
        ("\\def\\a#1{<#1>}", "\\a{x}\\a y", "<x><y>"),
        ("\\def\\a#1{<#1>}\\def\\b{z}", "\\a{\\b}", "<z>"),
        ("\\newcommand{\\a}[1][d]{<#1>}", "\\a{} \\a[e]{}", "<d>{} <e>{}"),
        ("\\def\\a{\\a x}", "\\a", "\\a x"),  # in its own meaning it is left
        ("\\def\\a#1#2{#2}", "\\a{x}", ""),  # arguments that are not there are empty
    ],
)
def test_macros_are_expanded(definitions, text, expected):
    macros: dict[str, Macro] = {}
    assert take_macros(definitions, macros) == ""
    assert Expander(macros, 10_000).expand(text) == expected


def test_macros_that_grow_without_end_are_refused():
    doubling = "".join(f"\\def\\{chr(98 + n)}{{\\{chr(97 + n)}\\{chr(97 + n)}}}" for n in range(24))
    macros: dict[str, Macro] = {}
    take_macros("\\def\\a{x}" + doubling, macros)
    with pytest.raises(TooMuch, match="its macros grow to more text than is allowed"):
        Expander(macros, 100_000).expand("\\y")
    long_argument = {"a": Macro(1, None, "#1" * 50)}
    with pytest.raises(TooMuch, match="grow to more text"):
        Expander(long_argument, 1000).expand("\\a{" + "x" * 100 + "}")


def test_macros_nested_too_deep_are_refused():
    names = ["a" * n for n in range(1, MAX_DEPTH + 4)]
    macros = {name: Macro(0, None, f"\\{name}a") for name in names}
    with pytest.raises(TooMuch, match=f"its macros are nested more than {MAX_DEPTH} deep"):
        Expander(macros, 1 << 20).expand("\\a")


def test_a_source_of_open_braces_is_refused_before_each_is_looked_for():
    for braces in ("{" * (MAX_BRACES + 1), "{" * (MAX_BRACES + 1) + "}" * (MAX_BRACES + 1)):
        with pytest.raises(TooMuch, match=f"{MAX_BRACES + 1} braces are open at a time, more than {MAX_BRACES}"):
            expanded(braces, 1000)
    assert expanded("{" * MAX_BRACES, 1000) == ("", "{" * MAX_BRACES)


@pytest.mark.parametrize(
    ("source", "title", "text"),
    [
        ("\\title{On \\x}\\def\\x{y}\\begin{document}\\x\\end{document}", "On y", "y"),
        ("\\title[short]{Long}\\begin{document}a\\end{document}", "Long", "a"),
        ("\\begin{document}\\title{In here}a\\end{document}", "In here", "\\title{In here}a"),
        ("\\def\\x{y}\\x", "", "y"),
        ("", "", ""),
    ],
)
def test_the_title_and_the_body_are_expanded(source, title, text):
    assert expanded(source, 1000) == (title, text)


@given(
    st.lists(st.sampled_from(["{", "}", "a", "\\{", "\\\\", "b" * 30]), max_size=60).map("".join), st.integers(0, 60)
)
def test_the_end_of_a_long_group_is_the_one_that_is_looked_for(text, at):
    at = text.find("{", min(at, len(text)))
    if at < 0 or (at - len(text[:at].rstrip("\\"))) % 2:
        return
    near = group(text, at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latex, "LONG", 0)
        assert group(text, at) == near


PARTS = [
    "\\", "%", "%\n", "{}", "[", "\\begin{a}", "\\begin{equation}", "\\begin{equation}a\\end{equation}", "\\begin{verbatim}", "$", "$$", "\\[", "\\(",
    "\\verb|", "\\verb|a", "\\item[", "\\section{a}", "\\input ", "\\input[", "\\input{a}", "\\newcommand{\\a}[1]", "\\def\\a#1", "\\title", "\\'",
    "\\texttt{a}", "\\hline", "\\\\", "\\\\[", "&", " ", "\n", "\n\n", "\n ", "-", "`", "\\cite[", "\\%", "%\\begin{verbatim}", "\\begin{tabular}{a}",
    "\\begin{itemize}", "\\begin{itemize}\\item a\n\n", "\\begin{thebibliography}", "\\multicolumn{2}{a}", "\\lstinline!", "\\begin{minted}", "\\begin{minipage}{a}",
    "a&a\\\\", "\\label{a}", " ,",
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("begin", ["", "\\newcommand{\\a}[1]{x#1}\\begin{document}", "\\begin{tabular}{a}"])
def test_hostile_sources_take_linear_time(begin, part):
    def use(source):
        with suppress(TooMuch):
            latex_text(source, "markdown", 16_000_000)
            latex_text(source, "latex", 16_000_000)
        assembled(source, "", lambda _: None, 16_000_000)

    assert_linear(use, lambda size: begin + part * (size // len(part)), 1 << 14)


@pytest.mark.parametrize(
    "part", ["\\section{", "\\texttt{", "\\newcommand{", "\\input{", "\\'{", "\\caption{", "\\item[{"]
)
def test_groups_in_groups_end_somewhere(part):
    source = part * 400 + "}" * 400 + "a" * 1000
    assert len(latex_text(source, "markdown", 16_000_000)) < 4000
    with pytest.raises(RecordError, match="600 braces are open at a time"):
        assembled(part * 600, "", lambda _: None, 16_000_000)


def test_a_table_and_a_list_of_markdown_grow_as_their_source():
    wide = "\\begin{tabular}{a}" + "a&" * 3000 + "\\\\" + "a\\\\" * 3000 + "\\end{tabular}"
    assert len(latex_text(wide, "markdown", 16_000_000)) < 8 * len(wide)
    deep = "\\begin{itemize}\\item a" * 2000
    assert len(latex_text(deep, "markdown", 16_000_000)) < 8 * len(deep)
