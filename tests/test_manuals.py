"""The gold text of manuals: by the containers that their programs write, never by an extractor."""

from collections import Counter

import pytest

from benchmarks.quality.manuals import MANUALS, Manual, Page, drawn, shares

WORDS = " ".join(f"word{number}" for number in range(60))
SPHINX = f"""<body><div class="related"><a href="x.html">index</a></div><div role="main"><!-- no text -->
<dl><dt>abs(<em>x</em>)</dt><dd>The <b>abso</b>lute value.</dd></dl><script>var y</script><p>{WORDS}</p></div>
<div class="footer">Copyright</div></body>"""
APACHE = f"""<body><div id="page-header">Modules</div><div id="page-content"><div class="toplang">Available Languages</div>
<h1>mod_alias</h1><div id="quickview">Directives</div><p>{WORDS}</p><div class="section"><h2>Alias</h2></div>
<div class="section"><h2><a id="comments_section" name="comments_section">Comments</a></h2>Notice</div></div></body>"""
BOOST = f"""<body><table><tr><td>Home</td></tr></table><div class="spirit-nav"><a href="a">Prev</a></div>
<div class="refentry">Class any<p>{WORDS}</p></div><table><tr><td><div>Copyright</div></td></tr></table>
<div class="spirit-nav"><a href="b">Next</a></div></body>"""


@pytest.mark.parametrize(
    ("name", "page", "words"),
    [
        ("Python (Sphinx)", SPHINX, "abs ( x ) The absolute value."),
        ("Apache", APACHE, "mod_alias Alias"),
        ("Boost (BoostBook)", BOOST, "Class any"),
    ],
)
def test_the_text_of_a_manual_is_its_container_without_links_to_other_parts(name, page, words):
    text = Page(page.encode(), MANUALS[name]).text
    assert Counter(text.replace("(", " ( ").replace(")", " ) ").split()) == Counter(f"{words} {WORDS}".split())


def test_short_pages_and_lists_of_links_are_left_out_and_the_draw_does_not_depend_on_versions(tmp_path):
    manual = Manual("some-doc", "doc-*/*.html", "//main")
    links = "".join(f'<a href="{number}">link{number}</a> ' for number in range(60))
    texts = {f"page{letter}": f"<main>{WORDS} {letter}</main>" for letter in "abcdef"}
    for version in ("doc-1.2", "doc-3.14"):
        folder = tmp_path / version / version
        folder.mkdir(parents=True)
        for name, text in {**texts, "index": f"<main>{WORDS}{links * 2}</main>", "stub": "<main>one</main>"}.items():
            (folder / f"{name}.html").write_text(f"<body>{text}</body>", "utf-8")
    first, second = (drawn(tmp_path / version, manual, 4) for version in ("doc-1.2", "doc-3.14"))
    assert [page.raw for page in first] == [page.raw for page in second] and len(first) == 4
    everything = drawn(tmp_path / "doc-1.2", manual, 0)
    assert len(everything) == len(texts) and {page.raw for page in first} < {page.raw for page in everything}
    with pytest.raises(SystemExit, match="no page of some-doc has text at //article"):
        drawn(tmp_path / "doc-1.2", Manual("some-doc", "doc-*/*.html", "//article"), 4)


def test_shares_are_of_all_words_together():
    gold, texts = [Counter("aab"), Counter("c")], [Counter("abx"), Counter()]
    assert shares(gold, texts) == (2 / 4, 2 / 3)
    assert shares(gold, [Counter(), Counter()]) == (0, 0)
