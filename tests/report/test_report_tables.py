"""The tables of a run say what the run did, by its commits alone."""

import json
import shutil
from collections import Counter
from typing import Any

import pytest

from corpusmill.errors import InputError, ResumeError
from corpusmill.report.tables import RuleCount, RunTables
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


def test_every_document_stays_or_goes(tables):
    flow = tables.waterfall()
    kept, dropped = tables.kept(ALL), tables.dropped(None, ALL)
    assert len(kept) == flow.documents_out == 36
    assert len(dropped) == flow.documents_in - flow.documents_out == SHORT + COPIES + NEAR + 1
    assert not set(ids(kept)) & set(ids(dropped))
    assert all(document["dropped_by"] is None and not document["reasons"] for document in kept)


def test_a_draw_takes_the_smallest_ids_so_a_shorter_one_is_its_beginning(tables):
    kept = tables.kept(ALL)
    assert ids(kept) == sorted(ids(kept))
    assert tables.kept(3) == kept[:3]


def test_a_document_comes_with_its_text_and_what_was_measured_in_every_pass(tables):
    texts = {record["url"]: record["text"] for record in records()}
    for document in tables.dropped("minhash", ALL):
        assert document["text"] == texts[document["url"]]
        assert document["bytes"] == len(document["text"].encode())
        assert document["signals"]["gopher_quality.content_words"] == len(document["text"].split())
        assert document["signals"]["minhash.similarity"] >= 0.8


@pytest.mark.parametrize("step, count", [("gopher_quality", SHORT + 1), ("exact", COPIES), ("minhash", NEAR)])
def test_documents_by_the_step_that_drops_them(tables, step, count):
    found = tables.dropped(step, ALL)
    assert len(found) == count
    assert {document["dropped_by"] for document in found} == {step}


def test_documents_by_a_rule_are_all_that_fail_it_first_or_not(tables):
    (shortest,) = tables.dropped("gopher_quality.min_stop_words", ALL)
    own = ["gopher_quality.min_words", "gopher_quality.min_stop_words"]
    assert shortest["reasons"] == [*own, "fineweb.max_short_lines"]
    assert tables.dropped("fineweb.max_short_lines", ALL) == []  # it never came to that step
    hostile = tables.dropped("gopher_quality.max_hash_ratio", ALL)
    assert [document["url"] for document in hostile] == [HOSTILE_URL]


def test_a_rule_that_drops_nothing_is_no_mistake(tables):
    assert tables.dropped("gopher_quality.max_words", 5) == []


@pytest.mark.parametrize(
    "wrong, near", [("gofer_quality", "gopher_quality"), ("exact.exact_coppy", "exact.exact_copy")]
)
def test_a_step_or_rule_that_is_not_there_is_named_with_the_nearest(tables, wrong, near):
    with pytest.raises(InputError, match=f'"{wrong}"; did you mean "{near}"'):
        tables.dropped(wrong, 5)


def test_counts_of_rules_are_those_of_the_documents(tables):
    dropped = tables.dropped(None, ALL)
    first = Counter(document["reasons"][0] for document in dropped)
    own = [(r, d) for d in dropped for r in d["reasons"] if r.split(".")[0] == d["dropped_by"]]
    every = Counter(reason for reason, _ in own)
    alone = Counter(reason for reason, document in own if document["reasons"] == [reason])
    assert tables.rule_counts() == {reason: RuleCount(first[reason], every[reason], alone[reason]) for reason in every}
    assert tables.reasons() == sorted(first, key=lambda reason: (-first[reason], reason))


def test_examples_are_the_smallest_ids_of_each_first_reason(tables):
    expected: dict[str, list[Any]] = {}
    for document in tables.dropped(None, ALL):  # in the order of their ids
        expected.setdefault(document["reasons"][0], []).append(document)
    assert tables.examples(2) == {reason: found[:2] for reason, found in expected.items()}


@pytest.mark.parametrize("unit", ["tokens", "bytes"])
def test_lengths_count_each_document_once(tables, unit):
    found = tables.lengths(unit)
    for name, documents in (("kept", tables.kept(ALL)), ("dropped", tables.dropped(None, ALL))):
        bins = zip(found.edges, found.edges[1:])
        expected = tuple(sum(low <= d[unit] < high for d in documents) for low, high in bins)
        assert found.counts[name] == expected
        assert sum(expected) == len(documents)


def test_signals_split_at_the_bound_as_the_filter_did(tables):
    found, counts = tables.signals(), tables.rule_counts()
    came = {row.step: row.documents_in for row in tables.waterfall().rows}
    assert {"gopher_quality.min_words", "fineweb.max_short_lines"} <= set(found)
    for reason, histogram in found.items():
        assert sum(histogram.counts["fail"]) == (counts[reason].all if reason in counts else 0), reason
        assert histogram.total == came[reason.partition(".")[0]]


def test_pairs_show_the_texts_that_were_compared_the_least_alike_first(tables):
    pairs = tables.pairs("minhash", ALL)
    assert len(pairs) == NEAR
    assert [pair["similarity"] for pair in pairs] == sorted(pair["similarity"] for pair in pairs)
    kept = set(ids(tables.kept(ALL)))
    for pair in pairs:
        assert pair["twin"]["id"] in kept
        one, other = grams(pair["document"]["text"]), grams(pair["twin"]["text"])
        assert pair["similarity"] == len(one & other) / len(one | other)
    assert tables.similarities("minhash").total == NEAR


def grams(text):
    words = text.lower().replace(".", "").split()
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def test_steps_that_compare_nothing_have_no_pairs(tables):
    assert tables.pairs("gopher_quality", 5) == [] and tables.similarities("gopher_quality") is None


def test_a_document_is_found_by_id_and_by_url(tables):
    (by_url,) = tables.document(HOSTILE_URL)
    assert tables.document(by_url["id"]) == [by_url]
    (kept,) = tables.document("http://made.org/0")
    assert kept["dropped_by"] is None and kept["text"] == records()[0]["text"]
    assert tables.document("nobody") == []


def test_a_dead_letter_is_found_by_its_id(tables):
    letters = tables.dead(ALL)
    assert sorted(letter["kind"] for letter in letters) == ["bad_json", "no_text"]
    assert tables.document(letters[0]["id"]) == [letters[0]]
    assert [(kind["kind"], kind["records"]) for kind in tables.dead_kinds()] == [("bad_json", 1), ("no_text", 1)]


def test_files_that_no_commit_names_do_not_count(copied, tables):
    for file in list(copied.glob("01-*/*/*.parquet")):
        shutil.copy(file, file.with_name("00000-orphan.parquet"))
    again = RunTables(copied)
    assert ids(again.kept(ALL)) == ids(tables.kept(ALL)) and again.rule_counts() == tables.rule_counts()


def test_a_stage_that_the_recipe_no_longer_has_does_not_count(copied, tables):
    stage = next(copied.glob("01-*"))
    shutil.copytree(stage, copied / "01-pass-1-00000000")
    assert RunTables(copied).rule_counts() == tables.rule_counts()


def test_a_run_that_is_not_finished_has_documents_and_no_waterfall(copied):
    (commit,) = copied.glob("*-shards-*/commits/*.json")
    commit.unlink()
    tables = RunTables(copied)
    assert len(tables.kept(ALL)) == 36
    with pytest.raises(ResumeError, match="not finished: shards has 0 of 1 units"):
        tables.waterfall()


def test_of_a_run_that_stopped_early_the_first_pass_can_be_seen(copied):
    for folder in copied.glob("*-pass-2-*"):
        shutil.rmtree(folder)
    tables = RunTables(copied)
    assert len(tables.kept(ALL)) == 36 + COPIES + NEAR
    assert tables.unfinished() == "pass-2 has not begun"


def test_a_run_without_commits_says_so(copied):
    for folder in copied.glob("[01]*-*"):
        shutil.rmtree(folder)
    with pytest.raises(ResumeError, match="committed no documents yet"):
        RunTables(copied).kept(1)


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(InputError, match=r"no run here \(there is no run.json\)"):
        RunTables(tmp_path)


def test_a_damaged_stage_is_refused(copied):
    file = next(copied.glob("01-*/dropped/*.parquet"))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ResumeError, match="found 100"):
        RunTables(copied)


def test_a_step_that_cannot_be_imported_costs_only_the_thresholds(copied):
    path = copied / "run.json"
    run = json.loads(path.read_text())
    path.write_text(json.dumps(run | {"recipe": run["recipe"].replace("filter/gopher_quality", "gone.module:Filter")}))
    tables = RunTables(copied)
    assert tables.bounds == {}
    assert len(tables.dropped("gopher_quality", ALL)) == SHORT + 1
