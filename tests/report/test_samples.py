"""Documents that are drawn from a run are those that its tables name."""

import json
import shutil
from typing import Any

import pytest

from corpusmill.errors import InputError, ResumeError
from corpusmill.report import histograms, samples
from corpusmill.report.figures.lost import lost
from corpusmill.report.figures.sampled import sides
from corpusmill.report.tables import RunTables
from made_run import COPIES, HOSTILE_URL, NEAR, SHORT, made_run, records

ALL = 10_000


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(made_run(), tmp_path / "run")


def ids(documents):
    return [document["id"] for document in documents]


def test_every_document_is_kept_or_dropped(tables):
    flow = tables.files.waterfall()
    kept, dropped = samples.kept_documents(tables, ALL), samples.dropped_documents(tables, None, ALL)
    assert len(kept) == flow.documents_out == 36
    assert len(dropped) == flow.documents_in - flow.documents_out == SHORT + COPIES + NEAR + 1
    assert not set(ids(kept)) & set(ids(dropped))
    assert all(document["dropped_by"] is None and not document["reasons"] for document in kept)


def test_a_draw_takes_the_smallest_ids_so_a_shorter_one_is_its_beginning(tables):
    kept = samples.kept_documents(tables, ALL)
    assert ids(kept) == sorted(ids(kept))
    assert samples.kept_documents(tables, 3) == kept[:3]


def test_a_document_has_its_text_and_what_was_measured_in_every_pass(tables):
    texts = {record["url"]: record["text"] for record in records()}
    for document in samples.dropped_documents(tables, "minhash", ALL):
        assert document["text"] == texts[document["url"]]
        assert document["bytes"] == len(document["text"].encode())
        assert document["signals"]["gopher_quality.content_words"] == len(document["text"].split())
        assert document["signals"]["minhash.similarity"] >= 0.8


@pytest.mark.parametrize("step, count", [("gopher_quality", SHORT + 1), ("exact", COPIES), ("minhash", NEAR)])
def test_documents_by_the_step_that_drops_them(tables, step, count):
    documents = samples.dropped_documents(tables, step, ALL)
    assert len(documents) == count
    assert {document["dropped_by"] for document in documents} == {step}


def test_documents_by_a_rule_are_all_that_fail_it_first_or_not(tables):
    (shortest,) = samples.dropped_documents(tables, "gopher_quality.min_stop_words", ALL)
    own = ["gopher_quality.min_words", "gopher_quality.min_stop_words"]
    assert shortest["reasons"] == [*own, "fineweb.max_short_lines"]
    assert samples.dropped_documents(tables, "fineweb.max_short_lines", ALL) == []  # it never reached that step
    hostile = samples.dropped_documents(tables, "gopher_quality.max_hash_ratio", ALL)
    assert [document["url"] for document in hostile] == [HOSTILE_URL]


def test_a_rule_that_drops_nothing_is_not_a_mistake(tables):
    assert samples.dropped_documents(tables, "gopher_quality.max_words", 5) == []


@pytest.mark.parametrize(
    "wrong, near", [("gofer_quality", "gopher_quality"), ("exact.exact_coppy", "exact.exact_copy")]
)
def test_a_step_or_rule_that_is_not_there_is_named_with_the_nearest(tables, wrong, near):
    with pytest.raises(InputError, match=f'"{wrong}"; did you mean "{near}"'):
        samples.dropped_documents(tables, wrong, 5)


def test_examples_are_the_smallest_ids_of_each_first_reason(tables):
    expected: dict[str, list[Any]] = {}
    for document in samples.dropped_documents(tables, None, ALL):  # in the order of their ids
        expected.setdefault(document["reasons"][0], []).append(document)
    assert samples.examples(tables, 2) == {reason: documents[:2] for reason, documents in expected.items()}


def test_what_was_read_ahead_is_what_is_drawn_and_files_are_not_read_again(tables, copied, monkeypatch):
    wanted = sides(tables)["input"]
    examples, texts = samples.examples(tables, 2), samples.texts(tables, wanted, 20)
    ahead = RunTables(copied)
    samples.read_ahead(ahead, 2, sides(ahead)["input"], 20)

    def refused(*args, **kwargs):
        raise AssertionError("a file is read again")

    monkeypatch.setattr(samples, "_rows_of_file", refused)
    assert samples.examples(ahead, 2) == examples
    assert samples.texts(ahead, sides(ahead)["input"], 20) == texts


def test_pairs_show_the_texts_that_were_compared_the_least_similar_first(tables):
    pairs = samples.pairs(tables, "minhash", ALL)
    assert len(pairs) == NEAR
    assert [pair["similarity"] for pair in pairs] == sorted(pair["similarity"] for pair in pairs)
    kept = set(ids(samples.kept_documents(tables, ALL)))
    for pair in pairs:
        assert pair["duplicate_of"]["id"] in kept
        one, other = grams(pair["document"]["text"]), grams(pair["duplicate_of"]["text"])
        assert pair["similarity"] == len(one & other) / len(one | other)
    assert histograms.similarities(tables, "minhash").total == NEAR


def grams(text):
    words = text.lower().replace(".", "").split()
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def test_steps_that_compare_nothing_have_no_pairs(tables):
    assert (
        samples.pairs(tables, "gopher_quality", 5) == [] and histograms.similarities(tables, "gopher_quality") is None
    )


def test_a_document_is_found_by_id_and_by_url(tables):
    (by_url,) = samples.by_name(tables, HOSTILE_URL)
    assert samples.by_name(tables, by_url["id"]) == [by_url]
    (kept,) = samples.by_name(tables, "http://made.org/0")
    assert kept["dropped_by"] is None and kept["text"] == records()[0]["text"]
    assert samples.by_name(tables, "nobody") == []


def test_a_dead_letter_is_found_by_its_id(tables):
    letters = samples.dead_letters(tables, ALL)
    assert sorted(letter["kind"] for letter in letters) == ["bad_json", "no_text"]
    assert samples.by_name(tables, letters[0]["id"]) == [letters[0]]
    assert [(kind.kind, kind.records) for kind in lost(tables)] == [("bad_json", 1), ("no_text", 1)]


def test_a_run_without_commits_says_so(copied):
    for folder in copied.glob("stages/*"):
        shutil.rmtree(folder)
    with pytest.raises(ResumeError, match="committed no documents yet"):
        samples.kept_documents(RunTables(copied), 1)


def test_a_step_that_cannot_be_imported_costs_only_the_thresholds(copied):
    path = copied / "run.json"
    run = json.loads(path.read_text())
    path.write_text(json.dumps(run | {"recipe": run["recipe"].replace("filter/gopher_quality", "gone.module:Filter")}))
    tables = RunTables(copied)
    assert tables.bounds == {}
    assert len(samples.dropped_documents(tables, "gopher_quality", ALL)) == SHORT + 1
