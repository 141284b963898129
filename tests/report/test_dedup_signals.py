"""Questions to a run whose dedups compare with earlier runs, or only mark, are answered with what they noted."""

import pytest

from corpusmill.report import samples
from corpusmill.report.explain import explain
from corpusmill.report.page import page
from corpusmill.report.rule_counts import rule_counts
from corpusmill.report.tables import RunTables
from corpusmill.report.views import sql
from corpusmill.report.what_if import what_if
from corpusmill.schema import document_id
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.filter.basic import Basic
from corpusmill.steps.filter.keep_where import KeepWhere
from dedup_runs import dedup

OLD = "the river runs from the hills to the sea past the old mill and the new bridge"
NEW = "seven ships set sail for the harbour before the winter storms came down from the north"
BASIC = Basic(min_words=5, min_distinct_word_ratio=None)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    first = dedup(folder / "1", {"old": OLD}, Exact())
    steps = (
        BASIC,
        Exact(against=str(first.folder)),
        Minhash(ngram=1, mark=True, threshold=0.7),
        KeepWhere(condition="minhash.cluster_size < 3"),
    )
    documents = {
        "again": OLD,
        "new": NEW,
        "near": NEW + " again",
        "copy": NEW,
        "short": "too short",
        "alone": "nothing else is like this line here",
    }
    return dedup(folder / "2", documents, *steps).folder


def outcome_at(run, name, label):
    (history,) = explain(run, name)
    (step,) = [step for step in history.steps if step.step == label]
    return history, step


def test_explain_names_the_duplicate_of_an_earlier_run(run):
    history, step = outcome_at(run, "again", "exact")
    assert history.dropped_by == "exact" and step.reasons == ("against",)
    assert (step.duplicate_of.id, step.duplicate_of.url, step.duplicate_of.similarity) == (
        document_id("jsonl", "old"),
        None,
        1.0,
    )


def test_explain_shows_what_was_only_marked(run):
    history, step = outcome_at(run, "near", "minhash")
    assert history.kept and step.verdict == "passes" and step.reasons == ()
    assert (step.duplicate_of.url, step.duplicate_of.similarity) == ("new", 14 / 15)
    assert step.signals["cluster_size"] == 2
    _, head = outcome_at(run, "new", "minhash")
    assert head.duplicate_of is None and head.signals["cluster_id"] == document_id("jsonl", "new")
    _, alone = outcome_at(run, "alone", "minhash")
    assert alone.duplicate_of is None and (alone.signals["cluster_id"], alone.signals["cluster_size"]) == (None, 1)


def test_the_views_have_the_duplicates_and_the_clusters(run):
    tables = RunTables(run)
    rows = sql(tables, "select step, url, duplicate_of, similarity from verdicts order by step, url").rows
    assert rows == (
        ("exact", "again", document_id("jsonl", "old"), 1.0),
        ("exact", "copy", document_id("jsonl", "new"), 1.0),
        ("minhash", "near", document_id("jsonl", "new"), 14 / 15),
    )
    rows = sql(tables, "select url, exact.cluster_size, minhash.cluster_size from documents order by url").rows
    assert {name: sizes for name, *sizes in rows} == {
        "again": [2, 1],
        "alone": [1, 1],
        "copy": [2, 1],
        "near": [1, 2],
        "new": [2, 2],
        "short": [None, None],
    }


def test_the_counts_of_a_run_and_of_another_threshold_are_right(run):
    assert rule_counts(RunTables(run))["exact.against"].first == 1
    before, after = what_if(run, ["basic.min_words=8"]).kept
    assert (before.documents, after.documents) == (5, 4)  # up to the first corpus step


def test_a_condition_after_it_can_be_tried_again(run):
    before, after = what_if(run, ["keep_where.condition=minhash.cluster_size < 2"]).kept
    assert (before.documents, after.documents) == (3, 1)


def test_the_report_page_shows_pairs_of_this_run_alone(run):
    pairs = samples.pairs(RunTables(run), "exact", 5)
    assert [(pair["document"]["url"], pair["duplicate_of"]["url"]) for pair in pairs] == [("copy", "new")]
    assert "against" in page(RunTables(run))
