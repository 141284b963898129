"""Of every benchmark and question: how many of the documents that reached the step contain it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import corpusmill
from corpusmill.cli.app import app
from corpusmill.execute.serial import Serial
from corpusmill.report.figures import leaks as figures
from corpusmill.report.figures.leaks import Leak, Leaks, leaks
from corpusmill.report.page import page
from corpusmill.report.tables import RunTables
from corpusmill.report.what_if import what_if

HORSES = "How many horses can drink from the well before it is empty at noon?"
SMITH = "Where did the smith of the next village buy his iron and coal?"
HAY = "Why had nobody brought the <hay> in before the long rain began that day?"
LETTER = "She wrote that the winter had been long and asked whether we had any hay left."
ROAD = "The road was bad, and nobody came to see us until the spring."


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaks")
    (folder / "bench").mkdir()

    def write(name, rows):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    write(
        "bench/stable.jsonl", [{"id": name, "question": q, "answer": ""} for name, q in (("a", HORSES), ("b", SMITH))]
    )
    letter = {"id": "c", "question": LETTER, "answer": ""}
    write("bench/letters.jsonl", [letter])
    write("bench/farm.jsonl", [{"id": "h&y", "question": HAY, "answer": ""}])
    texts = [
        f"{ROAD} {HORSES}",
        f"{HORSES} {SMITH} {ROAD}",
        f"{HAY}",
        f"How many horses can drink from the well? {ROAD}",  # 8 of 14 words
        f"{ROAD}",
        HORSES[:20] + "!",
        f"drop {SMITH}",  # by the step before: it never reaches this one
        f"{ROAD} {LETTER} {ROAD}",
    ]
    write("in.jsonl", [{"text": text, "url": f"http://a.org/{i}"} for i, text in enumerate(texts)])
    recipe = folder / "recipe.yaml"
    recipe.write_text(
        f"read: {{jsonl: {folder}/in.jsonl}}\n"
        "steps:\n"
        "  - filter/keep_where: {condition: url != 'http://a.org/6'}\n"
        f"  - decontaminate/ngrams: {{benchmarks: {folder}/bench, corpus_material: [letters]}}\n"
        "write: [jsonl]\n",
        "utf-8",
    )
    return Path(corpusmill.run(recipe, folder=folder / "run", executor=Serial()).folder)


FOUND = Leaks(
    "ngrams",
    4,
    {"stable": (3, 2), "farm": (1, 1)},
    (Leak("stable", "a", 3, 1.0), Leak("farm", "h&y", 1, 1.0), Leak("stable", "b", 1, 1.0)),
    {},
    {"letters": (1, 1)},
    (),
)


def test_counts_documents_by_benchmark_and_question(run):
    (found,) = leaks(RunTables(run))
    assert replace(found, judged=()) == FOUND


def test_shows_what_was_found_in_its_context_beside_the_question(run):
    (found,) = leaks(RunTables(run))
    assert len(found.judged) == 4
    (one,) = (one for one in found.judged if one.url == "http://a.org/1")
    assert (one.benchmark, one.item, one.overlap, one.asked) == ("stable", "a", 1.0, HORSES)
    assert one.before == "" and HORSES.startswith(one.passage) and one.after.startswith("Where did the smith")
    (other,) = (one for one in found.judged if one.url == "http://a.org/0")
    assert other.before.endswith("until the spring")


def test_a_question_of_many_documents_is_counted_apart(run, monkeypatch):
    monkeypatch.setattr(figures, "ORDINARY_ABOVE", 1)
    (found,) = leaks(RunTables(run))
    assert found.many == {"stable": (2, 1)}  # one of the three has another question too
    assert "Questions in more than" in page(RunTables(run))


def test_the_page_and_the_command_say_the_same(run):
    shown = page(RunTables(run))
    assert "corpus material of" in shown and "documents for review" in shown and "<mark>How many horses" in shown
    assert "Benchmark contamination" in shown and "h&amp;y" in shown and "<hay>" not in shown
    said = CliRunner().invoke(app(), ["report", str(run)]).output
    assert "ngrams: 3 documents contain 2 questions of stable\n" in said
    record = json.loads(CliRunner().invoke(app(), ["report", str(run), "--json"]).output)["leaks"]
    assert record[0]["benchmarks"] == {"stable": [3, 2], "farm": [1, 1]}
    assert record[0]["items"][1] == {"benchmark": "farm", "item": "h&y", "documents": 1, "overlap": 1.0}


def test_another_bound_can_be_tried_without_the_texts(run):
    before, after = what_if(run, ["ngrams.min_overlap=0.6"]).kept
    assert (before.documents, after.documents) == (3, 4)


def test_a_run_without_decontamination_has_none(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "recipe.yaml").write_text(f"read: {{jsonl: {tmp_path}/in.jsonl}}\nwrite: [jsonl]\n")
    done = corpusmill.run(tmp_path / "recipe.yaml", folder=tmp_path / "run", executor=Serial())
    assert leaks(RunTables(Path(done.folder))) == []
