"""The lines that occur most often can be looked at: in the terminal, as JSON, on the page."""

import json
import re
import shutil
from pathlib import Path

import pytest

from corpusmill.report.figures.repeated import most_repeated
from corpusmill.report.page import write_page
from corpusmill.report.tables import RunTables
from corpusmill.schema import document_id
from corpusmill.steps.dedup.line import Line
from corpusmill.steps.dedup.paragraph import Paragraph
from dedup_runs import dedup
from made_run import HOSTILE, made_run

NOTICE = "All pages of this place end with this notice."
PAGES = {
    "a": f"The first of them\n{NOTICE}\n{HOSTILE} and so on",
    "b": f"The second of them\n{NOTICE}\n{HOSTILE} and so on\n{NOTICE}",
    "c": f"The third of them\n{NOTICE.upper()}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return dedup(tmp_path_factory.mktemp("repeated"), PAGES, Line(mark=True), Paragraph(mark=True), cuts=[1]).folder


def test_peek_shows_lines_with_their_counts_and_the_document_that_has_them_first(corpusmill, folder):
    status, out, _ = corpusmill("peek", folder, "--repeated", "-n", 1)
    assert status == 0
    assert out.splitlines() == [
        "line:",
        f"  4 times in 3 documents, {4 * len(NOTICE)} B, first in {document_id('jsonl', 'a')}",
        f"    | {NOTICE}",
        "paragraph: nothing occurs twice",
    ]
    status, out, _ = corpusmill("peek", folder, "--repeated", "--json")
    by_step = json.loads(out)["repeated"]
    assert status == 0 and [row["occurrences"] for row in by_step["line"]] == [4, 2] and by_step["paragraph"] == []
    assert by_step == most_repeated(RunTables(folder), 5)


def test_a_run_that_counts_no_lines_says_what_would(corpusmill):
    status, _, err = corpusmill("peek", made_run(), "--repeated")
    assert status != 0 and "`dedup/line: {mark: true}` in its recipe does" in err
    status, _, err = corpusmill("peek", made_run(), "--repeated", "--dead")
    assert status != 0 and "exclude each other" in err


def test_the_page_has_them_and_what_they_hold_does_not_act(folder, tmp_path):
    page = Path(write_page(folder)).read_text("utf-8")
    section = page[page.index('id="repeated"') :]
    section = re.sub(' data-head="[^"]*"', "", section[: section.index("</section>")])  # for narrow pages
    assert NOTICE in section and "<td>4</td><td>3</td>" in section
    assert "4 of 6 lines or paragraphs compared are repeats" in section
    assert "&lt;script&gt;" in section and "<script" not in section and "\x1b" not in section
    plain = shutil.copytree(made_run(), tmp_path / "plain")
    assert 'id="repeated"' not in Path(write_page(plain)).read_text("utf-8")
