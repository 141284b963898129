"""Wikitext to text and Markdown, by small pages whose rendering is known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("mwparserfromhell")

from corpusmill.errors import RecipeError
from corpusmill.steps.extract._wikitext import closed
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


def test_parameters_are_checked():
    with pytest.raises(RecipeError, match='markup must be text or markdown, got "html"'):
        Wikitext(markup="html")  # type: ignore[arg-type]


UNCLOSED = [
    "{{a|",
    "[[a|",
    "[http://a ",
    "<b>a",
    "<ref>",
    "<a href='",
    '<a b="',
    "<!-- a\n",
    "<nowiki>",
    "\n{|\n|-\n| a",
    "-->",
]


@pytest.mark.parametrize(
    "part", [*UNCLOSED, "<!-- -->", "<br>", "{{<b>}}</b>", "<b>{{a|</b>", "[[<i>]]", "<pre></b>", "{{[http://a }}"]
)
def test_what_is_opened_and_not_closed_takes_linear_time(part):
    """As far as the page goes, whether or not a page begins so."""
    assert_linear(text, lambda size: part * (size // len(part)), 1 << 13)
    assert_linear(text, lambda size: part * 500 + "a river " * (size // 8), 1 << 14)


@pytest.mark.parametrize("part", ["{{a|", "[[a|", "<b>a", "<ref>", "<a href='", "<nowiki>"])
def test_many_that_are_not_closed_are_text_as_a_few_are(part):
    few, many = text(f"The river. {part * 3}"), text(f"The river. {part * 300}")
    assert many == "The river. " + (part * 300).strip() and few == "The river. " + (part * 3).strip()


def test_tags_that_need_no_end_are_not_taken_for_open_ones():
    page = "<br>\n* <li>a\n" * 300 + "<ref name=a />" * 300 + "{{lang|de|Fluss}} [[a [[b]]]] {| |} <b>x</b>" * 100
    assert closed(page) == page


def wrapped(inner):
    pairs = st.sampled_from([("{{a|", "}}"), ("[[a|", "]]"), ("<b>", "</b>"), ("\n{|\n|-\n| a", "\n|}")])
    return st.builds(lambda pair, parts: pair[0] + "".join(parts) + pair[1], pairs, st.lists(inner, max_size=4))


words = [
    "word ",
    "<br>",
    "\n",
    "a|b",
    "= ",
    "<ref name=a />",
    "&amp;",
    "'",
    "\n* ",
    "<nowiki>{{</nowiki>",
    "<!-- <b> -->",
]
closed_pages = st.lists(st.recursive(st.sampled_from(words), wrapped, max_leaves=12), max_size=6).map("".join)


@given(closed_pages)
@settings(max_examples=60)
def test_what_is_closed_is_as_it_was(page):
    many = "{{a|" * 30
    assert closed(page) == page
    assert closed(many + page) == many.replace("{", "&#123;") + page


def test_tables_and_lists_of_markdown_grow_as_their_source():
    wide = "{|\n|-\n" + "| a " * 400 + "\n" + "|-\n| a\n" * 400 + "|}"
    assert len(markdown(wide)) < 20 * len(wide)
    deep = "*" * 2000 + " a" + "<br>b" * 500
    assert len(markdown(deep)) < 80 * len(deep)
