"""What of removed text survives in no kept document of its cluster: the definition, which documents are compared, and
what is said of it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.report.figures import survival as module
from corpusmill.report.figures.survival import not_surviving, share_interval, survival
from corpusmill.report.page import page
from corpusmill.report.tables import RunTables
from corpusmill.steps.dedup.minhash import Minhash
from dedup_runs import dedup
from made_run import made_run

STEP = Minhash(ngram=3, bands=64, rows=1, threshold=0.5)
OLD = "the river runs from the hills to the sea past the old mill and the new bridge"
LONGER = OLD + " where seven ships"  # 3 words that the old one lacks
OTHER = "seven ships set sail for the harbour before the winter storms came down from the north"


def slow(removed, kept, n):
    """(lost, all): a piece survives if a run of n that holds it, or the whole of a shorter text, is among the kept
    text's."""

    def runs(pieces):
        return {(i, tuple(pieces[i : i + n])) for i in range(max(len(pieces) - n + 1, min(len(pieces), 1)))}

    known = {run for _, run in runs(kept)}
    alive = {i + k for i, run in runs(removed) if run in known for k in range(len(run))}
    return len(removed) - len(alive), len(removed)


def large(texts):
    return pa.array(texts, pa.large_string())


@given(
    st.lists(
        st.tuples(*[st.lists(st.sampled_from(["a", "B", "b", "3", "4", "c_d"]), max_size=12).map(" ".join)] * 2),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["words", "characters"]),
    st.integers(1, 5),
)
def test_agrees_with_the_definition(pairs, unit, n):
    lost, pieces = not_surviving(large([a for a, _ in pairs]), large([b for _, b in pairs]), unit, n)
    cut = str.split if unit == "words" else list
    assert list(zip(lost.tolist(), pieces.tolist())) == [slow(cut(a.lower()), cut(b.lower()), n) for a, b in pairs]


@pytest.mark.parametrize(
    ("removed", "kept", "lost"),
    [
        ("The river, runs (fast).", "the river runs fast", 0),  # neither case nor punctuation
        ("it was 3 o'clock in May", "it was 4 o'clock in May", 3),  # nor are the two words before the number in a run
        ("a b c d e f", "a b c x d e f", 0),  # both halves survive
        ("a b", "a b c", 2),  # fewer than n words: one run, which the longer text has not
        ("", "a b c", 0),
    ],
)
def test_what_is_lost_is_counted_in_words(removed, kept, lost):
    assert not_surviving(large([removed]), large([kept]), "words", 3)[0].tolist() == [lost]


def test_each_step_that_dropped_documents_has_a_figure():
    exact, near = survival(RunTables(made_run()))
    assert (exact.step, exact.removed, exact.compared, exact.pieces, exact.lost) == ("exact", 5, 5, 450, 0)
    # One word more; three more; one changed, and the three before it, which begin the text.
    assert (near.step, near.removed, near.compared, near.lost) == ("minhash", 3, 3, 1 + 3 + 4)
    assert near.interval == (near.share, near.share) and not near.is_sample


def test_documents_of_earlier_runs_are_not_compared_and_are_counted(tmp_path):
    first = dedup(tmp_path / "1", {"old": OLD}, STEP)
    step = Minhash(ngram=3, bands=64, rows=1, threshold=0.5, against=str(first.folder))
    documents = {"again": OLD, "other": OTHER, "longer": OTHER + " and more"}
    tables = RunTables(dedup(tmp_path / "2", documents, step).folder)
    (figure,) = survival(tables)
    assert (figure.removed, figure.earlier, figure.compared, figure.lost) == (2, 1, 1, 2) and not figure.is_sample
    assert "Not compared: 1 document dropped for documents of earlier runs." in page(tables)


def test_where_all_are_duplicates_of_earlier_runs_nothing_is_measured(tmp_path):
    first = dedup(tmp_path / "1", {"old": OLD}, STEP)
    step = Minhash(ngram=3, bands=64, rows=1, threshold=0.5, against=str(first.folder))
    tables = RunTables(dedup(tmp_path / "2", {"again": OLD, "other": OTHER}, step).folder)
    (figure,) = survival(tables)
    assert (figure.removed, figure.earlier, figure.compared, figure.is_sample) == (1, 1, 0, False)
    assert "survives nowhere in its cluster: not measured. Not compared: 1 document dropped" in page(tables)


def test_what_is_only_marked_is_not_removed(tmp_path):
    marking = Minhash(ngram=3, bands=64, rows=1, threshold=0.5, mark=True)
    assert survival(RunTables(dedup(tmp_path, {"a": OLD, "b": LONGER}, marking).folder)) == []


def test_of_characters_as_the_step_compares_them(tmp_path):
    step = Minhash(unit="characters", ngram=2, bands=64, rows=1, threshold=0.5)
    (figure,) = survival(RunTables(dedup(tmp_path, {"a": OLD, "b": OLD + " xyz"}, step).folder))
    assert (figure.unit, figure.ngram, figure.pieces, figure.lost) == ("characters", 2, len(OLD) + 4, 3)


def test_the_sample_is_the_same_however_the_input_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SURVIVAL_SAMPLE", 3)
    documents = {f"d{k}": f"{OLD} {' '.join('xyz'[: k % 4])}" for k in range(8)}
    figures = [
        survival(RunTables(dedup(tmp_path / name, documents, STEP, cuts=cuts, unit=unit).folder))
        for name, cuts, unit in (("one", (), None), ("many", (2, 5), 100))
    ]
    assert figures[0] == figures[1]
    (figure,) = figures[0]
    assert (figure.removed, figure.compared, figure.is_sample) == (7, 3, True)
    low, high = figure.interval
    assert low < figure.share < high
    text = page(RunTables(tmp_path / "one" / "run"))
    assert "Removed text that survives nowhere in its cluster: " in text and ", a sample of 7." in text


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=20))
def test_the_interval_holds_the_share_and_is_none_of_all(sizes):
    pieces = np.array([size for _, size in sizes])
    lost = np.minimum([lost for lost, _ in sizes], pieces)
    share = lost.sum() / pieces.sum()
    assert share_interval(lost, pieces, False) == (share, share)
    low, high = share_interval(lost, pieces, True)
    assert 0 <= low <= share + 1e-12 and share - 1e-12 <= high <= 1 and low < high


def test_the_interval_holds_the_true_share_nineteen_times_in_twenty():
    random = np.random.default_rng(7)
    pieces = random.integers(50, 500, 5000)
    lost = (pieces * random.beta(0.3, 3, 5000)).astype(int)
    true = lost.sum() / pieces.sum()
    drawn = [random.choice(5000, 200, replace=False) for _ in range(1000)]
    held = [low <= true <= high for low, high in (share_interval(lost[d], pieces[d], True) for d in drawn)]
    assert 0.93 <= np.mean(held) <= 0.97
