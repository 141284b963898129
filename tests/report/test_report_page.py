"""The page has the numbers of the run, is self-contained, and is the same for the same run."""

import base64
import hashlib
import json
import pkgutil
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import corpusmill
from corpusmill.errors import ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.report import page as sections
from corpusmill.report.figures.together import together
from corpusmill.report.page import write_page
from corpusmill.report.rule_counts import reasons, rule_counts
from corpusmill.report.tables import RunTables
from made_run import HOSTILE, HOSTILE_URL, made_corpus, made_run, unfinish

EMPTY = {"meta", "input", "rect", "line", "wbr"}


class Checked(HTMLParser):
    """Elements that close in the order in which they open; collects what there is."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.attributes: list[Any] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, element, attributes):
        self.elements.add(element)
        self.attributes += attributes
        if element not in EMPTY:
            self.open.append(element)

    def handle_endtag(self, element):
        if element not in EMPTY:
            assert self.open.pop() == element

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = shutil.copytree(made_run(), tmp_path_factory.mktemp("page") / "run")
    return Path(write_page(folder)).read_text("utf-8")


def text_of(page):
    return "".join(Checked(page).words)


def test_the_page_is_well_formed_and_needs_nothing_else(page):
    seen = Checked(page)
    assert not seen.elements & {"img", "link", "iframe", "object", "base", "form"}
    assert not [(k, v) for k, v in seen.attributes if k.startswith("on") or k in ("src", "style", "xlink:href")]
    assert all(value.startswith("#") for key, value in seen.attributes if key == "href")
    assert "url(" not in page.partition("<style>")[2].partition("</style>")[0]
    assert any(key == "content" and value.startswith("default-src 'none';") for key, value in seen.attributes)


def test_hostile_text_is_shown_and_does_nothing(page):
    assert (
        HOSTILE not in page
        and page.count("<script") == len(scripts_of(page)) == 4
        and "\x1b" not in page
        and "\u202e" not in page
    )
    words = text_of(page)
    assert (
        "<script>alert(1)</script> ␛[2J ⟨U+202E⟩ # # # # # # # # <img src=x onerror=alert(2)> &amp; </div></style>"
        in words
    )
    assert HOSTILE_URL in words


def scripts_of(page):
    return re.findall("<script>(.*?)</script>", page, re.DOTALL)


def test_the_style_and_scripts_are_those_that_the_page_allows(page):
    """A browser would drop them otherwise."""

    def named(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    style = page.partition("<style>")[2].partition("</style>")[0]
    scripts = " ".join(map(named, scripts_of(page)))
    policy = f"default-src 'none'; style-src {named(style)}; script-src {scripts}"
    assert ("content", policy) in Checked(page).attributes


def test_every_link_leads_somewhere_on_the_page(page):
    attributes = Checked(page).attributes
    places = {value for key, value in attributes if key == "id"}
    links = {value[1:] for key, value in attributes if key == "href"}
    assert links <= places and "step-gopher_quality" in links


def test_the_numbers_of_the_run_are_on_the_page(page):
    tables, words = RunTables(made_run()), text_of(page)
    flow = tables.files.waterfall()
    assert f"of {flow.documents_in} documents kept" in words
    for row in flow.rows:
        assert row.step in words
        if row.reasons:
            assert f"{sum(row.reasons.values())} of {row.documents_in} documents dropped" in words
    for reason in reasons(tables):
        assert reason.partition(".")[2] in words
    assert f"{flow.packed['tokens']:,}" in words
    assert "drops documents with content_words below 20" in words
    assert "gopher_quality.max_hash_ratio: hash_ratio 0.143, above 0.1" in words
    assert "bad_json" in words and "encoded by the reference tokenizer (tokenizers): all identical" in words


def without_time(page):
    """The page without what depends on when, where and how fast the run was."""
    for begins, ends in (('<p id="run"', "</p>"), ('<section id="time">', "</section>")):
        before, part, after = page.partition(begins)
        assert part
        page = before + after.partition(ends)[2]
    return page


def test_the_same_recipe_run_elsewhere_gives_the_same_page(page, tmp_path):
    again = corpusmill.run(made_corpus(), folder=tmp_path / "elsewhere", executor=Serial()).folder
    assert without_time(Path(write_page(again)).read_text("utf-8")) == without_time(page)


def test_the_page_does_not_tell_where_it_was_made(page):
    assert str(made_corpus().parent) not in page
    assert "paths: …/web.jsonl" in page
    assert not re.search(r"\d{4}-\d\d-\d\d", without_time(page).partition("</style>")[2].partition("<script>")[0])


def test_rules_that_drop_the_same_documents():
    """Counted over the reasons of each document, one by one."""
    tables = RunTables(made_run())
    rows = [row for n in range(len(tables.passes)) for row in tables.rows(tables.table("signals", n))]
    failed = [row["reasons"].split(",") for row in rows if row["dropped_by"] is not None]
    failed = [set(names) for names in failed if not names[0].endswith(".empty")]
    found = together(tables, 5)
    assert found
    for pair in found:
        one, other = pair.rules
        counts = (
            sum({one, other} <= f for f in failed),
            sum(one in f for f in failed),
            sum(other in f for f in failed),
        )
        assert (pair.both, pair.one, pair.other) == counts


def test_empty_documents_are_not_counted_as_failing_what_no_text_can_pass(tmp_path):
    texts = ["<nav>x</nav>"] * 3 + [f"the {i} of a river" for i in range(4)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    steps = (
        "[clean/replace: {patterns: {'<.*>': ''}}, filter/gopher_quality, filter/keep_where: {condition: bytes > 99}]"
    )
    (tmp_path / "r.yaml").write_text(f"read: [jsonl: {tmp_path}/in.jsonl]\nsteps: {steps}\nwrite: [jsonl]\n")
    tables = RunTables(corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial()).folder)
    pair = next(pair for pair in together(tables, 20) if "gopher_quality.min_words" in pair.rules)
    assert {pair.both, pair.one, pair.other} == {4} == {rule_counts(tables)["gopher_quality.min_words"].all}


def made(tmp_path, text, steps):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": text}) + "\n")
    (tmp_path / "r.yaml").write_text(f"read: [jsonl: {tmp_path}/in.jsonl]\nsteps: {steps}\nwrite: [jsonl]\n")
    return corpusmill.run(tmp_path / "r.yaml", folder=tmp_path / "run", executor=Serial()).folder


def test_a_run_that_nothing_survives_has_a_page(tmp_path):
    page = Path(write_page(made(tmp_path, "too short", "[filter/gopher_quality]"))).read_text("utf-8")
    words = text_of(page)
    assert "of 1 document kept (0.0 %)" in words and "Kept documents" not in words


def test_a_run_without_steps_has_a_page(tmp_path):
    words = text_of(Path(write_page(made(tmp_path, "the river", "[]"))).read_text("utf-8"))
    assert "of 1 document kept (100.0 %)" in words and "The recipe has no steps" in words


def test_every_file_of_the_page_is_a_section_of_it():
    files = {module.name for module in pkgutil.iter_modules(sections.__path__)} - {"header"}
    assert files == {section.__module__.rpartition(".")[2] for _, _, section in sections.PAGE_SECTIONS}


def test_a_run_that_is_not_finished_has_none(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    unfinish(folder, "shards")
    (folder / "report.html").unlink()
    with pytest.raises(ResumeError, match="not finished"):
        write_page(folder)
    assert not (folder / "report.html").exists()
