"""HTML in documents that came as text."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from conftest import docs
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.loader import open as open_shards
from corpusmill.ops.checks import check
from corpusmill.steps.clean.html import Html
from corpusmill.steps.clean.normalize import Normalize
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.steps.filter.code import Code

STORY = "The river runs past the mill and turns the wheel, as it has for three hundred years. "
PAGE = f"""<!DOCTYPE html>
<html><head><title>T</title><style>p {{}}</style><script>if (a < b) alert("<p>no</p>")</script></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<main><article><h1>The mill</h1><p>{STORY * 3}</p><p>Tom &amp; Jerry.</p></article></main></body></html>"""
JAVASCRIPT = """
document.write('<div class="a">' + name + '</div>');
for (var i = 0; i < rows.length; i++) {
  if (rows[i] < limit && i<n) {
    show(rows[i]);
  }
}
"""


def cleaned(text, step=None):
    return (step or Html()).transform(docs(text))["text"][0].as_py()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>Tom &amp; Jerry</p>", "Tom & Jerry"),
        ("Tom <b>and</b> Jerry", "Tom and Jerry"),
        ("line<br>line<BR/>line", "line\nline\nline"),
        ("<p>One<p>Two", "One\n\nTwo"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("<ul><li>a<li>b</ul>", "• a\n  • b"),
        ("<tr><td>a</td><td>b</td></tr>", "a\t\tb"),
        ("<table><tr><td>a</td></tr></table>", "a"),
        ("<a href='http://a.org/?b&c=1'>link</a>", "link"),
        ("before<script>if (a < b) evil()</script>after", "beforeafter"),
        ("<style>p {}</style><p>x</p><!-- <b>no</b> -->", "x"),
        ("<p>x</p><script>never closed", "x"),
        ("<scr<script>ipt>alert(1)</scr</script>ipt>", "ipt>alert(1)ipt>"),
        ("<p>vector&lt;int&gt; a &lt; b &#233;&eacute;</p>", "vector<int> a < b éé"),
        ("<!-- wp:paragraph --><p>hi</p>", "hi"),
        ("</div> cut out of a page</p>", "cut out of a page"),
        ("\n  * a <i>list</i>\n  * with <b>tags</b>\n\n    indented\n", "* a list\n  * with tags\n\n    indented"),
    ],
)
def test_markup_becomes_text(text, expected):
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "a < b and c > d, if x<=y or y>=x",
        "std::vector<int> a; vector<a> b; map<string, vector<i> > c;",
        "List<String> names = new ArrayList<>();",
        "On Monday Jane <jane@example.org> wrote to <bob@a.example>:\n> <b> is bold",
        "usage: cp [<option>] <source> <target>",
        "The <p> tag begins a paragraph; `<b>bold</b>` is bold.",
        "```html\n<div class='x'>Hello</div>\n```\nshows a box.",
        "Tom &amp; Jerry &lt;b&gt;",
        "x <!-- a comment --> y",
        "<?xml version='1.0'?><rss><item><guid>1</guid><pubDate>2</pubDate><title>x</title></item></rss>",
        "i<n i<m i<k <br>",
        "#include <stdio.h>\nint main() { return a<b; }",
        "<3 <- -> <= << >>",
        JAVASCRIPT,
    ],
)
def test_other_text_keeps_its_bytes(text):
    assert cleaned(text) == text


def test_a_program_that_writes_html_is_html_only_if_asked():
    assert cleaned(JAVASCRIPT, Html(leave_code=False)) != JAVASCRIPT
    listing = '<span class="k">int</span> <span class="n">a</span> = <span class="m">1</span>;\n'
    assert cleaned(" " + listing * 9).startswith("int a = 1;\n")


def test_a_whole_page_is_extracted_as_pages_are():
    page = docs(None, raw=[PAGE.encode()], charset=["utf-8"])
    assert cleaned(PAGE) == Resiliparse().transform(page)["text"][0].as_py()
    assert "Home" not in cleaned(PAGE) and "Tom & Jerry." in cleaned(PAGE)
    assert "About us" in cleaned(PAGE, Html(main_content=False)) and "alert" not in cleaned(PAGE)
    fragment = PAGE[PAGE.index("<nav>") : PAGE.index("</body>")]
    assert "About us" in cleaned(fragment)


def test_the_signals_say_what_was_stripped():
    after = Html().transform(docs("<p>a</p>", "a <p> here", None, "<p> </p>"))
    assert after["stripped"].to_pylist() == [1, 0, 0, 1] and after["tags"].to_pylist() == [2, 1, None, 2]
    assert after["text"].to_pylist() == ["a", "a <p> here", None, None]


def test_tags_that_a_text_shows_stay_escaped_until_normalize_decodes_them():
    once = Html().transform(docs("<p>Write &lt;b&gt;bold&lt;/b&gt; for <b>bold</b>, a &lt; b</p>"))
    assert once["text"].to_pylist() == ["Write &lt;b>bold&lt;/b> for bold, a < b"]
    assert Normalize().transform(once)["text"].to_pylist() == ["Write <b>bold</b> for bold, a < b"]


PARTS = [
    *("<p>", "</p>", "<br>", "<script>", "</script>", "<scr", "ipt>", "<SCRIPT src='a'>", "</script", "&lt;script&gt;"),
    *("<style>", "</style>", "<!--", "-->", "<!doctype html>", "<html>", "<body onload='x'>", "<textarea>", "<xmp>"),
    *("&lt;p&gt;", "&amp;lt;b&amp;gt;", "<plaintext>", "<svg>", "</svg>", "<![CDATA[", "<td>", "<pre>", "</pre>"),
    *(" a ", "\n", "<", ">", "&", "`", "```", "for (i=0;i<n;i++) {\n", "\x00", "é", "\ufeff", '="', "'"),
]


@settings(max_examples=300)
@given(st.lists(st.lists(st.sampled_from(PARTS) | st.text(max_size=4), max_size=14).map("".join), max_size=4))
def test_cleaning_twice_is_cleaning_once_and_leaves_no_script(texts):
    before = docs(*texts)
    once = Html().transform(before)
    stripped = once["stripped"].to_pylist()
    kept = docs(*once["text"].to_pylist())
    again = Html().transform(kept)
    assert again["text"].equals(once["text"]) and not any(again["stripped"].to_pylist())
    for was, text, done in zip(texts, once["text"].to_pylist(), stripped):
        if done:
            assert not re.search(r"<script[\s/>]", text or "", re.I)
        else:
            assert text == was


def test_bad_parameters_and_large_documents_are_refused(monkeypatch):
    with pytest.raises(RecipeError, match='engine must be resiliparse or trafilatura, got "lynx"'):
        Html(engine="lynx")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="trafilatura extracts main content only"):
        Html(engine="trafilatura", main_content=False)
    with pytest.raises(RecipeError, match="max_mb > 0"):
        Html(max_mb=0)
    with pytest.raises(DocumentError, match=r"HTML of 0\.0 MB, more than max_mb=1e-05"):
        cleaned("<p>a longer text</p>", Html(max_mb=1e-5))
    assert cleaned("a longer text without any tags", Html(max_mb=1e-5))


def test_whole_pages_can_be_extracted_by_trafilatura():
    pytest.importorskip("trafilatura")
    assert "The mill" in cleaned(PAGE, Html(engine="trafilatura"))
    assert cleaned("<p>short</p>", Html(engine="trafilatura")) == "short"


def test_prose_in_markup_is_no_code_once_it_is_stripped():
    text = "<ul>\n<li>the river and the mill\n</ul>\n<div class='a'>\n" * 9
    code = Code()

    def reason(text):
        batch = docs(text)
        return code.reasons(batch, code.signals(batch)).to_pylist()

    assert reason(text) == ["max_code_score"] and reason(cleaned(text)) == [None]


RECIPE = """
name: markup
read: {{jsonl: {{paths: {folder}/web.jsonl, source: web}}}}
steps: [{steps}]
write: [shards, {{jsonl: {{compression: none}}}}]
run: {{executor: serial}}
"""
STEPS = "clean/normalize, tokenize/bpe, pack/concat: {length: 64}"


def recipe(folder, steps):
    texts = [PAGE, f"<p>Tom &amp; Jerry. {STORY}</p>", *[f"{STORY}{n} < {n + 1}" for n in range(6)]]
    (folder / "web.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    path = folder / "markup.yaml"
    path.write_text(RECIPE.format(folder=folder, steps=steps))
    return path


def test_a_run_strips_markup_on_its_way_to_shards(tmp_path):
    done = corpusmill.run(recipe(tmp_path, f"clean/html, {STEPS}"), folder=tmp_path / "run", executor=Serial())
    written = "".join(path.read_text() for path in (done.output / "jsonl").glob("*.jsonl"))
    assert written.count("Tom & Jerry.") == 2 and "<" not in re.sub(r"\d < \d", "", written) and "alert" not in written
    assert open_shards(str(done.shards)).batch(step=0, batch_size=1)["tokens"].size
    assert "HTML markup" not in done.report.read_text()


def test_check_and_run_warn_of_markup_that_nothing_strips(tmp_path, corpusmill):
    path = recipe(tmp_path, STEPS)
    advice = "25.0 % of the documents of source web contain HTML markup"
    (warning,) = check(path).warnings
    assert warning == f"{advice} before the first step, in a sample of the input: add clean/html as the first step"
    assert check(recipe(tmp_path, f"clean/html, {STEPS}")).warnings == ()
    path = recipe(tmp_path, STEPS)
    assert f"warning: {advice}" in corpusmill("check", path)[1]
    assert json.loads(corpusmill("check", path, "--json")[1])["warnings"] == [warning]
    folder = tmp_path / "run"
    after = f"{advice} after the last step: add clean/html as the first step"
    assert f"warning: {after}\n" in corpusmill("run", path, "--folder", folder)[1]
    assert f"{after}." in (folder / "report.html").read_text()
    assert f"warning: {after}\n" in corpusmill("report", folder)[1]
    counted = [{"source": "web", "documents": 8, "markup": 2}]
    assert json.loads(corpusmill("report", folder, "--json")[1])["markup"] == counted
    assert json.loads(corpusmill("run", path, "--folder", folder, "--json")[1])["markup"] == counted


def test_pages_are_not_looked_at_before_they_are_extracted(tmp_path):
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "pages.jsonl").write_text(json.dumps({"html": PAGE}) + "\n")
    path = tmp_path / "pages.yaml"
    path.write_text(
        f"read: [{{html: {tmp_path}/page.html}}, {{jsonl: {{paths: {tmp_path}/pages.jsonl, html: html}}}}]\n"
        "steps: [extract/resiliparse]\nwrite: jsonl\n"
    )
    assert check(path).warnings == ()
