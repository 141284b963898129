"""A mix in the terminal and on the page: the plan before anything is drawn, then what was drawn."""

import json
import re

import pytest
from typer.testing import CliRunner

import corpusmill
from corpusmill.cli.app import app
from corpusmill.engine.drive.listener import Silent
from corpusmill.execute.serial import Serial
from corpusmill.report.explain import explain
from corpusmill.report.figures.mix import mixes
from corpusmill.report.page import page
from corpusmill.report.tables import RunTables

RECIPE = """
name: mixed
read:
  - jsonl: {{paths: {folder}/web.jsonl, source: web}}
  - jsonl: {{paths: {folder}/few.jsonl, source: few}}
steps:
  - mix/sources: {{weights: {{web: 1, few: 1}}, budget: 120}}
  - tokenize/bpe
  - pack/concat: {{length: 16}}
write: [shards]
run: {{executor: serial}}
"""


class Notes(Silent):
    def __init__(self):
        self.said = []

    def stage(self, stage, units, done):
        self.said.append(stage.name)

    def note(self, message):
        self.said.append(message)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    # "word word word …" is a token a word, and one more for the end.
    for name, count in (("web", 20), ("few", 3)):
        lines = [json.dumps({"text": " ".join(["word"] * 9), "url": f"http://{name}.org/{i}"}) for i in range(count)]
        (folder / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    (folder / "mixed.yaml").write_text(RECIPE.format(folder=folder))
    notes = Notes()
    corpusmill.run(folder / "mixed.yaml", folder=folder / "run", executor=Serial(), listener=notes)
    return folder / "run", notes.said


def test_the_plan_is_printed_before_anything_is_drawn(run):
    _, said = run
    at = said.index("sources-draw")
    assert said[at + 1 : at + 4] == [
        "sources: 120 tokens are to be drawn",
        "  web   50.00%  60 of 200: 0.30 epochs",
        "  few   50.00%  60 of 30: 2.00 epochs",
    ]
    assert said.index("pass-2") > at


def test_what_was_drawn_is_on_the_page_and_on_the_terminal(run):
    folder, _ = run
    (mix,) = mixes(RunTables(folder))
    assert [(one.source, one.drawn, one.appearances) for one in mix.sources] == [("web", 60, 6), ("few", 60, 6)]
    shown = re.sub(' data-head="[^"]*"', "", page(RunTables(folder)))  # for narrow pages
    row = ["few", "3", "30", "50.00 %", "60", "2.00", "60", "50.00 %"]
    cells = "".join(f'<td class="words">{c}</td>' if i == 0 else f"<td>{c}</td>" for i, c in enumerate(row))
    assert f"<tr>{cells}</tr>" in shown
    assert "14 documents were never drawn; 3 draws were repeats." in shown
    out = CliRunner().invoke(app(), ["report", str(folder)]).output
    assert ["few", "3", "30", "50.00", "%", "60", "2.00", "60", "50.00", "%"] in [
        line.split() for line in out.splitlines()
    ]
    record = json.loads(CliRunner().invoke(app(), ["report", str(folder), "--json"]).output)["mix"]
    assert record[0]["step"] == "sources" and record[0]["sources"][1]["drawn"] == 60


def test_every_draw_of_a_document_is_explained(run):
    folder, _ = run
    (history,) = explain(folder, "http://few.org/1")
    pieces = [(place.start, place.stop, place.offset) for place in history.shards]
    # six of the web, then few 0 1 2, and few 0 1 2 again: each is 10 tokens
    assert sum(stop - start for start, stop, _ in pieces) == 20
    assert [start for start, _, offset in pieces if offset == 0] == [70, 100]
    assert [step.signals["copies"] for step in history.steps if step.step == "sources"] == [2]


def test_the_command_shows_the_plan_and_what_was_drawn(run):
    folder, _ = run
    result = CliRunner().invoke(app(), ["run", str(folder.parent / "mixed.yaml"), "--folder", str(folder)])
    assert result.exit_code == 0
    assert "sources: 120 tokens are to be drawn" in result.output
    result = CliRunner().invoke(app(), ["report", str(folder)])
    assert "share drawn" in result.output
