"""The difference of two runs is that of the outcomes of their documents, one by one."""

import json
import shutil
from collections import Counter

import pytest

import corpusmill
from corpusmill.errors import ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.recipe.model import Recipe
from corpusmill.report import samples
from corpusmill.report.diff import Difference, Outcome, diff, recipe_differences
from corpusmill.report.tables import RunTables
from made_run import made_corpus, made_run

ALL = 1000
CHANGES = ("steps.gopher_quality.min_words=4", "steps.minhash.threshold=0.99")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    place = tmp_path_factory.mktemp("other") / "run"
    return corpusmill.run(made_corpus(), overrides=CHANGES, folder=place, executor=Serial()).folder


def outcomes(folder):
    """id -> outcome, from the tables of kept, dropped and dead: the slow way."""
    tables = RunTables(folder)
    by_id = {document["id"]: Outcome("kept") for document in samples.kept_documents(tables, ALL)}
    by_id |= {d["id"]: Outcome(d["dropped_by"], d["reasons"][0]) for d in samples.dropped_documents(tables, None, ALL)}
    return by_id | {d["id"]: Outcome("lost", f"{d['step']}: {d['kind']}") for d in samples.dead_letters(tables, ALL)}


def test_every_document_that_moved_is_counted_by_both_outcomes(other):
    comparison = diff(made_run(), other)
    before, after = outcomes(made_run()), outcomes(other)
    expected = Counter((before[i], after[i]) for i in before if before[i] != after[i])
    assert {(moved.before, moved.after): moved.documents for moved in comparison.moved} == expected
    assert len(expected) > 1 and comparison.same == sum(before[i] == after[i] for i in before)
    tokens = [
        {d["id"]: d["tokens"] for d in samples.kept_documents(RunTables(run), ALL)} for run in (made_run(), other)
    ]
    assert comparison.documents == tuple(map(len, tokens)) and comparison.tokens == tuple(
        sum(t.values()) for t in tokens
    )
    assert comparison.gained == sum(n for i, n in tokens[1].items() if i not in tokens[0]) > 0
    assert comparison.tokens[0] + comparison.gained - comparison.lost + comparison.changed == comparison.tokens[1]


def test_examples_are_of_each_transition_and_have_their_outcomes(other):
    comparison = diff(made_run(), other, examples=2)
    before, after = outcomes(made_run()), outcomes(other)
    counts = Counter((each.before.where, each.after.where) for each in comparison.examples)
    assert counts["gopher_quality", "gopher_quality"] == 1  # for another reason
    assert counts == {transition: min(documents, 2) for transition, documents in comparison.transitions.items()}
    assert all((each.before, each.after) == (before[each.id], after[each.id]) for each in comparison.examples)
    assert all(each.url.startswith("http://made.org/") for each in comparison.examples)
    assert diff(made_run(), other, examples=0).examples == ()


def test_the_reverse_is_the_mirror_image(other):
    there, back = diff(made_run(), other), diff(other, made_run())
    assert {(m.after, m.before, m.documents) for m in back.moved} == {
        (m.before, m.after, m.documents) for m in there.moved
    }
    assert (back.gained, back.lost, back.changed) == (there.lost, there.gained, -there.changed)


def test_recipes_inputs_and_versions_are_compared(other):
    assert diff(made_run(), other).differences == (
        Difference("steps.gopher_quality.min_words", 20, 4),
        Difference("steps.minhash.threshold", 0.8, 0.99),
    )
    itself = diff(made_run(), made_run())
    assert itself.differences == () == itself.moved and itself.same == 59 and itself.tokens[0] == itself.tokens[1]


def test_recipes_are_compared_by_name_and_parameter():
    one = "read: {jsonl: a.jsonl}\nsteps: [filter/c4, filter/fineweb, dedup/exact]\nseed: 1\n"
    two = (
        "read: {jsonl: b.jsonl}\nsteps: [filter/fineweb, filter/c4: {policy: false}, filter/code]\nrun: {workers: 3}\n"
    )
    changes = list(recipe_differences(Recipe.parse(one), Recipe.parse(two)))
    assert changes == [
        Difference("seed", 1, 0),
        Difference("read.jsonl.paths", ("a.jsonl",), ("b.jsonl",)),
        Difference("steps.c4.policy", True, False),
        Difference("steps.exact", "dedup/exact", None),
        Difference("steps.code", None, "filter/code"),
        Difference("steps", "c4, fineweb", "fineweb, c4"),
    ]


def run_of(folder, *records, steps="[]"):
    folder.mkdir()
    (folder / "d.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "r.yaml").write_text(
        f"read: {{jsonl: {{paths: {folder}/d.jsonl}}}}\nsteps: {steps}\nrun: {{error_budget: 5}}\n"
    )
    return corpusmill.run(folder / "r.yaml", folder=folder / "run", executor=Serial()).folder


def test_documents_that_one_run_does_not_have_are_absent_there(tmp_path):
    one = run_of(tmp_path / "one", {"id": "a", "text": "x"}, {"id": "b", "text": "y"})
    two = run_of(tmp_path / "two", {"id": "c", "text": "z"}, {"id": "b", "text": "y"})
    comparison = diff(one, two)
    assert (
        comparison.transitions == {("absent", "kept"): 1, ("kept", "absent"): 1} and comparison.same == 1
    )  # b, at another position
    assert [d.what.partition(".")[0] for d in comparison.differences] == ["read", "inputs", "inputs"]


def test_documents_of_one_id_are_distinguished_by_their_position(tmp_path):
    many = "{filter/gopher_quality: {min_words: 2, min_stop_words: null, min_mean_word_length: null}}"
    records = [{"id": "a", "text": text} for text in ("one two", "one", "one two three", "x")]
    one = run_of(tmp_path / "one", *records)
    two = run_of(tmp_path / "two", *records, steps=f"[{many}]")
    comparison = diff(one, two)
    assert comparison.transitions == {("kept", "gopher_quality"): 2} and comparison.same == 2
    assert len({each.position for each in comparison.examples}) == 2


def test_a_run_that_is_not_finished_says_what_is_missing(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    (folder / "waterfall.json").unlink()
    for pair in ((folder, made_run()), (made_run(), folder)):
        with pytest.raises(ResumeError, match=r"not finished.*Run its recipe again"):
            diff(*pair)
