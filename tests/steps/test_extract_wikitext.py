"""Wikitext to text and Markdown, by small pages whose rendering is known."""

from contextlib import suppress

import pytest

pytest.importorskip("mwparserfromhell")

from corpusmill.errors import DocumentError, RecipeError
from corpusmill.steps.extract.wikitext import Wikitext
from growth import assert_linear


def text(wikitext: str, **parameters) -> str:
    return Wikitext(**parameters).wiki_text(wikitext)


def markdown(wikitext: str, **parameters) -> str:
    return Wikitext(markup="markdown", **parameters).wiki_text(wikitext)


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("The [[river]] runs to the [[Sea (water)|sea]]s.", "The river runs to the seas."),
        ("'''Bold''' and ''italic'', l''''avion'''", "Bold and italic, l'avion"),
        ("A[[File:a.jpg|thumb|a [[boat]]]] b [[Category:Rivers]]", "A b"),
        ("see [[:Category:Rivers]]", "see Category:Rivers"),
        ("one<ref>a note</ref> two<ref name=b /> three<!-- no -->", "one two three"),
        ("The '''Elbe''' ({{IPA|x}}; {{lang|cs|Labe}}) runs.", "The Elbe (Labe) runs."),
        ("The Elbe ({{IPA|x}}) runs {{convert|5|km|mi}} .", "The Elbe runs 5 km."),
        ("{{Infobox|a={{b|c}}}}text", "text"),
        ("[http://a.org a site], [http://b.org] and http://c.org", "a site, and http://c.org"),
        ("so <math>x^2 \\le 4</math>", "so $x^2 \\le 4$"),
        ("a &amp; b &ndash; c <nowiki>[[x]]</nowiki>", "a & b – c [[x]]"),
        ("one line\nof a paragraph\n\nanother<br />broken", "one line of a paragraph\nanother\nbroken"),
        ("* one\n** two\n# three\n; term\n: said", "one\ntwo\nthree\nterm\nsaid"),
        ("__NOTOC__\n== A ==\nb\n== References ==\n<references />\n=== Notes ===\n{{reflist}}", "A\nb"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("{{{argument|else}}}", "else"),
        ("{{Infobox|a=b}}", ""),
    ],
)
def test_text(wikitext, expected):
    assert text(wikitext) == expected


def test_markdown_has_headings_lists_tables_and_code():
    wikitext = """== Ways ==
* one
** deep
# first
# second
{| class="wikitable"
|+ All ways
! way !! minutes
|-
| a [[boat|ferry]] || 4
|-
| a{{!}}b
|}
<syntaxhighlight lang="python">
def f(x):
    return  x
</syntaxhighlight>
Use <code>run</code>."""
    assert markdown(wikitext) == (
        "## Ways\n\n- one\n   - deep\n1. first\n2. second\n\nAll ways\n\n"
        "| way | minutes |\n| --- | --- |\n| a ferry | 4 |\n| a\\|b |  |\n\n"
        "```python\ndef f(x):\n    return  x\n```\n\nUse `run`."
    )
    assert text("{|\n! a !! b\n|-\n| 1 || 2\n|}") == "a | b\n1 | 2"
    assert text("a\n{|\n! a\n|}", tables=False) == "a"
    assert text('{| class="navbox"\n! a\n|}') == ""


def test_footnotes_are_kept_if_asked_for():
    assert markdown("one<ref>a ''note''</ref>", references=True) == "one[^1]\n\n[^1]: a note"
    assert text("one<ref>a note</ref>", references=True) == "one[1]\n[1] a note"


def test_a_template_is_what_the_recipe_says():
    assert (
        text("{{Height|m=1.83}} {{lang|de|Fluss}}", templates=(("height", "{m} m"), ("lang", "«{2}»")))
        == "1.83 m «Fluss»"
    )


def test_a_page_that_opens_and_never_closes_is_refused():
    with pytest.raises(
        DocumentError, match="opens 20000 templates, links, tags or comments without an end, more than 1000"
    ):
        text("{{a|" * 20000)
    with pytest.raises(RecipeError, match='markup must be text or markdown, got "html"'):
        Wikitext(markup="html")  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["<!--", "<!-- a\n", "<!-- -->", "-->"])
def test_comments_without_an_end_take_linear_time(part):
    def use(wikitext):
        with suppress(DocumentError):
            text(wikitext)

    assert_linear(use, lambda size: part * (size // len(part)), 1 << 14)


def test_tables_and_lists_of_markdown_grow_as_their_source():
    wide = "{|\n|-\n" + "| a " * 400 + "\n" + "|-\n| a\n" * 400 + "|}"
    assert len(markdown(wide)) < 20 * len(wide)
    deep = "*" * 2000 + " a" + "<br>b" * 500
    assert len(markdown(deep)) < 80 * len(deep)
