import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill import assets
from corpusmill.errors import AssetError, DocumentError, RecipeError
from corpusmill.models.blocks import (
    BLOCKS_MODEL,
    STAGES,
    UNSURE,
    BlocksModel,
    chosen,
    expected_f1,
    possible,
)
from corpusmill.schema import DOCUMENT
from corpusmill.steps import find
from corpusmill.steps.extract.blocks import SIGNALS, Blocks
from corpusmill.text.blocks.compose import compose
from corpusmill.text.blocks.page import FIRST, LAST, WORDS
from corpusmill.text.blocks.scan import scan

STORY = "The river runs past the mill and turns the wheel, as it has for three hundred years. "
COMMENT = "I went there last year with my children, and the miller showed us how the stones are cut, lovely!"
PAGE = f"""<html><head><title>The  Mill &amp; more</title></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<main><article class="post"><h1>The mill</h1><p>{STORY * 3}</p><p>{STORY * 2}</p></article>
<section id="comments"><h3>2 comments</h3><ol class="commentlist"><li class="comment"><cite>Ann</cite> says:
<p>{COMMENT}</p></li><li class="comment"><cite>Bob</cite> says: <p>{COMMENT}</p></li></ol></section></main>
<footer><a href="/imprint">Imprint</a> <a href="/privacy">Privacy</a> Copyright 2020</footer></body></html>"""


def text(step: Blocks, raw: bytes | str, charset: str | None = None) -> str | None:
    raw = raw.encode() if isinstance(raw, str) else raw
    return step.transform(docs(None, raw=[raw], charset=[charset]))["text"][0].as_py()


def everything(page: str, markup: str) -> str:
    """All blocks of a page."""
    blocks = scan(page.encode())
    return compose(blocks, np.ones(len(blocks.blocks), np.bool_), markup)  # type: ignore[arg-type]


def test_the_text_of_a_page_is_its_main_content():
    extracted = text(Blocks(), PAGE)
    assert extracted is not None and STORY.strip() in extracted
    for furniture in ("Home", "About us", "Imprint", "Copyright", "miller"):
        assert furniture not in extracted


def test_comments_are_kept_if_asked_for():
    extracted = text(Blocks(comments="keep"), PAGE)
    assert extracted is not None and COMMENT in extracted and STORY.strip() in extracted and "Imprint" not in extracted


def test_recall_keeps_what_precision_keeps_and_more():
    page, raw = scan(PAGE.encode()), PAGE.encode()
    judged = assets.load(BLOCKS_MODEL, BlocksModel.load).judge(raw, page)
    kept = [
        chosen(judged.likely, page.blocks[:, WORDS], favour, judged.lowered)
        for favour in ("precision", "balance", "recall")
    ]
    assert all((less <= more).all() for less, more in itertools.pairwise(kept))


def test_a_page_of_little_text_gives_what_is_likeliest():
    assert text(Blocks(), "<body><p>Hello") == "Hello"
    assert text(Blocks(), "<body><p> </p>") is None


def test_documents_with_text_pass_untouched_and_pages_are_used_up():
    batch = docs("has text", None, None, raw=[None, PAGE.encode(), b"<p> </p>"], charset=["x", "utf-8", "utf-8"])
    out = Blocks(title=True).transform(batch)
    assert out.schema.names == [*DOCUMENT.names, *SIGNALS.names] and out["id"] == batch["id"]
    assert out["text"][0].as_py() == "has text" and "mill" in out["text"][1].as_py() and out["text"][2].as_py() is None
    assert out["raw"].null_count == 3 and out["charset"].to_pylist() == ["x", None, None]
    assert json.loads(out["metadata"][1].as_py()) == {"title": "The Mill & more"}


def test_other_character_sets_are_read_as_by_the_other_engines():
    page = f"<p>{'Été à l’œuvre, déjà vu à la rivière, et puis la roue tourne. ' * 4}"
    assert text(Blocks(), page.encode("cp1252"), "iso-8859-1") == text(Blocks(), page) == page[3:].strip()
    assert text(Blocks(), page.encode("utf-16")) == page[3:].strip()


MARKDOWN = """# The `mill`

It turns.

- one
  two
- `x = 1`, and

  more

  1. first
  2. second

> quoted
> lines

| stone | size |
| --- | --- |
| upper | 1\\|2 m |
|  | 2 m |

```
def f():
    return 1
```

$x$ and $y_1$ and `\\(z\\)`"""
SOURCE = """<h1>The <code>mill</code><a class=headerlink>¶</a></h1><p>It turns.<ul><li>one<br>two<li><code>x = 1</code>, and
<p>more</p><ol><li>first<li>second</ol></ul><blockquote>quoted<br>lines</blockquote>
<table><tr><th>stone<th>size<tr><td>upper<td>1|2 m<tr><td><td><p>2 m</table>
<pre>def f():
    return 1
</pre><p><script type="math/tex">x</script> and \\(y_1\\) and <code>\\(z\\)</code>"""


def test_markdown_keeps_headings_lists_quotes_tables_code_and_formulae():
    assert everything(SOURCE, "markdown") == MARKDOWN


def test_plain_text_has_bullets_and_tabs():
    expected = "The mill\nIt turns.\n• one\ntwo\n• x = 1, and\nmore\n• first\n• second\nquoted\nlines\nstone\tsize\n"
    expected += "upper\t1|2 m\n\t2 m\ndef f():\n    return 1\n$x$ and \\(y_1\\) and \\(z\\)"
    assert everything(SOURCE, "text") == expected


def test_tables_for_the_layout_are_not_tables_of_data():
    page = f"<table><tr><td>menu<td><p>{STORY * 4}<p>{STORY * 4}<tr><td>foot<td>{STORY * 4}</table>"
    assert "|" not in everything(page, "markdown") and "\t" not in everything(page, "text")
    nested = "<table><tr><td><table><tr><td>a<td>b<tr><td>c<td>d</table><td>x<tr><td>y<td>z</table>"
    assert everything(nested, "markdown") == "| a | b |\n| --- | --- |\n| c | d |\n\nx\n\ny\n\nz"


def test_markdown_keeps_what_its_structure_asks_for():
    blocks = scan(
        b"<h2>Head</h2><p>text</p><pre>code</pre><ul><li>a long item<li>b</ul><h2>Next</h2><h3>Of nothing</h3>"
    )
    assert len(blocks.blocks) == 7
    kept = np.array([False, True, False, True, False, False, False])
    assert compose(blocks, kept, "markdown") == "## Head\n\ntext\n\n```\ncode\n```\n\n- a long item\n- b"
    assert compose(blocks, kept, "text") == "text\ncode\n• a long item"


def test_markdown_has_possible_lists_tables_and_code_in_the_midst_of_the_text():
    page = (
        f"<ul><li>menu</ul><div><p>{STORY}<h2>Head</h2><ul><li>one<li><a href=x>two</a></ul><p>aside"
        f"<ul><li><a href=x>elsewhere</a></ul><pre>code</pre><p>{STORY}</div><ul><li>after</ul>"
    )
    blocks = scan(page.encode())
    kept = np.array([STORY.strip() in each for each in block_texts(blocks)])
    everywhere = np.ones(len(kept), np.bool_)
    story = STORY.strip()
    expected = f"{story}\n\n## Head\n\n- one\n- two\n\n```\ncode\n```\n\n{story}"
    assert compose(blocks, kept, "markdown", everywhere) == expected
    assert compose(blocks, kept, "text", everywhere) == f"{story}\ncode\n{story}"


def test_what_is_improbable_or_a_comment_is_not_possible():
    page = scan(PAGE.encode())
    likely = np.full(len(page.blocks), 0.5, np.float32)
    likely[0] = 0.01
    may, all_of_it = possible(page, likely), possible(page, likely, "keep")
    assert not all_of_it[0] and all_of_it[1:].all() and not may[0]
    assert [each for each, kept in zip(block_texts(page), may, strict=True) if not kept and COMMENT in each]


likelihoods = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30)), max_size=9)


@given(likelihoods)
def test_the_expected_f1_is_that_of_the_best_choice(page):
    likely = np.array([share / 100 for share, _ in page], np.float32)
    words = np.array([count for _, count in page], np.int32)
    wanted = float((likely.astype(float) * words).sum())

    def expected(kept):
        right = sum(float(likely[i]) * int(words[i]) for i in kept)
        return 2 * right / max(sum(int(words[i]) for i in kept) + wanted, 1e-9)

    choices = [c for size in range(len(page) + 1) for c in itertools.combinations(range(len(page)), size)]
    assert expected_f1(likely, words) == pytest.approx(max(expected(choice) for choice in choices))


def test_a_page_of_which_the_trees_are_unsure_keeps_less_likely_blocks_in_markdown():
    words = np.full(20, 10, np.int32)
    sure, unsure = (np.array([0.3] + [share] * 19, np.float32) for share in (0.95, 0.3))
    assert not chosen(sure, words, lowered=UNSURE)[0] and chosen(unsure, words, lowered=UNSURE).all()
    assert chosen(np.array([0.2, 0.4], np.float32), words[:2]).tolist() == [False, True]
    assert chosen(np.full(3, 0.1, np.float32), words[:3]).all() and not len(chosen(sure[:0], words[:0]))
    assert chosen(np.array([0.1, 0.19, 0.01], np.float32), words[:3], lowered=UNSURE).tolist() == [False, True, False]


def block_texts(page):
    text = page.text.tobytes()
    return [text[first:last].decode() for first, last in page.blocks[:, [FIRST, LAST]].tolist()]


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            "<div> <p>text </p> <li> <ul> <ol> </ol> <table> <tr> <td>x </table> <pre>a </pre> <code> </code> <h2>h".split()
        )
    )
)
def test_both_markups_hold_the_same_words(parts):
    page = "".join(parts)
    plain, marked = (everything(page, markup) for markup in ("text", "markdown"))
    for mark in ("`", "|", "#", "-", "•", "1.", "2.", "3.", "4.", "5.", "6.", "7.", "8.", "9."):
        plain, marked = plain.replace(mark, " "), marked.replace(mark, " ")
    assert sorted("".join(plain.split())) == sorted(c for c in "".join(marked.split()) if not c.isdigit())


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("x" * 1_000_001, r"the page has 1\.0 MB, more than max_mb=1"),
        ("<b>" * 300_000 + "<p>" * 200_001, "500001 tags"),
    ],
)
def test_a_page_beyond_the_limits_is_a_document_error(page, message):
    with pytest.raises(DocumentError, match=message):
        Blocks(max_mb=1 if "x" in page else 2).page_text(page.encode(), None)


def test_bad_parameters_fail_when_the_step_is_made():
    for name in ("comments", "favour", "markup"):
        with pytest.raises(RecipeError, match=f'{name} must be .* got "both"'):
            Blocks(**{name: "both"})  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="need max_mb > 0"):
        Blocks(max_mb=0)
    assert find("extract/blocks") is Blocks and Blocks().assets == (BLOCKS_MODEL,)


def test_a_model_is_read_as_it_was_written(tmp_path):
    model = assets.load(BLOCKS_MODEL, BlocksModel.load)
    model.save(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == assets.locate(BLOCKS_MODEL).read_bytes()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("part", "value"), [("column", 999), ("left", 0), ("right", 2**14), ("root", -(2**14))])
def test_damaged_trees_are_refused(tmp_path, stage, part, value):
    model = assets.load(BLOCKS_MODEL, BlocksModel.load)
    trees = model.stages[stage]
    array = getattr(trees, part).copy()
    array[-1] = value
    broken = replace(model, stages={**model.stages, stage: trees._replace(**{part: array})})
    broken.save(tmp_path / "broken.model")
    with pytest.raises(AssetError, match=f"the trees of the stage {stage} are damaged"):
        BlocksModel.load(tmp_path / "broken.model")


ENTRY = "<dl><dt><code>ferry.{0}</code>(<em>{0}</em>)</dt><dd><p>The {0} of the ferry.</p><dl><dt>returns</dt><dd>{0}</dd></dl></dd></dl>"


def reference(entries):
    names = [f"name{number}" for number in range(entries)]
    listed = "".join(f"<li><a href='#{name}'>{name}</a></li>" for name in names[:9])
    parts = "".join(ENTRY.format(name) for name in names)
    return (
        f"<html><body><nav><ul>{listed}</ul></nav><div role='main'><h1>The ferry module</h1>{parts}</div></body></html>"
    )


def test_of_documentation_what_recall_keeps_is_kept():
    page = reference(60).encode()
    balance, recall = (Blocks(favour=favour).html_extracted(page) for favour in ("balance", "recall"))
    names = {f"name{number}" for number in range(60)}
    assert balance.signals["page_type"] == "documentation"
    assert balance.text == recall.text and names <= set(balance.text.split())


LINE = "The ferry leaves the northern pier at seven in the morning and is back at noon with the mail of the islands. "


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("<p hidden>not this", ""),
        ("<p hidden=''>not this", ""),
        ("<p HIDDEN=hidden class=x>not this", ""),
        ("<div hidden><p>not <b>this<table><tr><td>nor this</table></div>", ""),
        ("<p style='display:none'>not this", ""),
        ("<p style='color: red; DISPLAY : None !important'>not this", ""),
        ("<p>or <span hidden>not </span>this", "or this"),
        ("<p>or <a href=x style='display: none'>not </a>this", "or this"),
        ("<p hidden=until-found>this", "this"),
        ("<p data-hidden=hidden>this", "this"),
        ("<p style='display:block;border:none'>this", "this"),
        ("<p title=hidden>this", "this"),
        ("<div role=tabpanel hidden>this</div>", "this"),
        ("<div aria-labelledby=faq-1 style='display: none'>this</div>", "this"),
    ],
)
@pytest.mark.parametrize("markup", ["text", "markdown"])
def test_what_a_page_does_not_show_is_left_out(page, shown, markup):
    step = Blocks(favour="all", markup=markup)
    made = step.html_text(f"<main><p>{LINE * 6}</p>{page}</main>".encode())
    assert made.split("\n", 1)[1:] == ([shown.join(["\n", ""]) if markup == "markdown" else shown] if shown else [])


def test_a_page_that_shows_nothing_until_a_script_runs_has_its_text():
    for attribute in ("hidden", "style='display:none'"):
        assert Blocks().html_text(f"<body {attribute}><p>{LINE * 4}</p></body>".encode()) == (LINE * 4).strip()


TEX_PAGE = (
    f"<main><p>{LINE}<math alttext='a'></math> {LINE}<math></math><math><mi>b</mi></math></p><p>{LINE}<img class=math alt='c'>"
    f"<img class=math alt='c'> <script type='math/tex'>d</script><img class=math></p></main>"
)


@pytest.mark.parametrize(
    ("page", "formulas", "lost"),
    [
        ("<p>none</p>", 0, 0),
        (TEX_PAGE, 6, 2),
        (f"<p>{LINE * 3}</p><p hidden>{LINE}<math alttext='a'></math></p>", 1, 1),
        (f"<p>{LINE}<span hidden><math alttext='a'></math></span></p>", 0, 0),
        (f'<p>{LINE}<span class="katex-html">x</span></p>', 1, 1),
    ],
)
def test_formulae_are_counted_and_those_that_are_not_in_the_text(page, formulas, lost):
    made = Blocks(favour="all").html_extracted(page.encode())
    assert (made.signals["formulas"], made.signals["formulas_lost"]) == (formulas, lost)
    assert made.text.count("$") == 2 * (formulas - lost)


def test_signals_of_documents_without_a_page_are_null():
    batch = docs("has text", None, raw=[None, TEX_PAGE.encode()], charset=["x", "utf-8"])
    made = Blocks(favour="all").transform(batch)
    assert made["formulas"].to_pylist() == [None, 6] and made["formulas_lost"].to_pylist() == [None, 2]
    for nothing in (batch.slice(0, 1), batch.slice(0, 0)):
        assert Blocks().transform(nothing).schema == made.schema


@pytest.mark.parametrize("empty", ["", "&nbsp;", "<math></math>", "<img src=x>", "<p hidden>none</p>"])
def test_an_empty_cell_shifts_no_column(empty):
    rows = f"<tr><th>pier<th>out<th>back</tr><tr><td>north<td>{empty}<td>12</tr><tr><td>{empty}<td>{empty}<td>9</tr>"
    page = f"<table>{rows}<tr><td>south<td><p>7</p><p>8</p><td>{empty}</tr></table>"
    assert Blocks(favour="all").html_text(page.encode()) == "pier\tout\tback\nnorth\t\t12\n\t\t9\nsouth\t7 8"
