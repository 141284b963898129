"""What earlier runs kept comes before all of a run and stays; what they dropped is as if it had never been."""

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill.engine.plan import earlier_runs
from corpusmill.engine.plan.lower import lower
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.report.index import export
from corpusmill.steps.dedup import _candidates
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.filter.keep_where import KeepWhere
from dedup_runs import dedup, folders, grams, named, recipe, slow_twins, some, texts
from made_run import unfinish

A = "the river runs from the hills to the sea past the old mill"
NEAR_A = A + " again"
B = "seven ships set sail for the harbour before the winter storms came"
C = "a letter from the captain lies on the kitchen table by the window"
D = "bread and salt stand on the long table of the guest house"


def exact(**given):
    return Exact(**given)


def minhash(**given):
    return Minhash(ngram=1, bands=64, rows=1, threshold=0.6, **given)


STEPS = [pytest.param(exact, "exact", id="exact"), pytest.param(minhash, "minhash", id="minhash")]


@pytest.fixture(params=["run", "index"])
def earlier(request, tmp_path):
    """The folder to compare with, of a run that was made: the run's own, or that of an index of it, without the run."""

    def folder(found):
        if request.param == "run":
            return str(found.folder)
        away = tmp_path / f"index-{len(list(tmp_path.iterdir()))}"
        export(found.folder, tmp_path / "exported")
        shutil.move(tmp_path / "exported", away)  # an index can be taken elsewhere
        shutil.move(found.folder, f"{away}-gone")
        return str(away)

    return folder


@pytest.mark.parametrize(("step", "label"), STEPS)
@pytest.mark.parametrize("keep", ["first", "longest", "newest"])
def test_copies_of_what_an_earlier_run_kept_go_whatever_would_stay_otherwise(step, label, keep, earlier, tmp_path):
    first = dedup(tmp_path / "1", {"a": A, "b": B}, step(keep=keep), cuts=[1], unit=100)
    new = {
        "c": C,
        "new a": {"text": A, "date": "2030-01-01"},
        "new b": B,
        "c again": {"text": C, "date": "2029-01-01"},
    }
    found = dedup(tmp_path / "2", new, step(keep=keep, against=earlier(first)), cuts=[2], unit=100)
    stays, goes = ("c again", "c") if keep == "newest" else ("c", "c again")
    assert found.kept == [stays]
    assert found.twins(label) == {"new a": ("a", 1.0), "new b": ("b", 1.0), goes: (stays, 1.0)}
    own = {"exact": "exact.exact_copy", "minhash": "minhash.near_copy"}[label]
    assert found.reasons == {"new a": f"{label}.against", "new b": f"{label}.against", goes: own}
    assert found.clusters(label) == {"c": (stays, 2), "c again": (stays, 2), "new a": ("a", 2), "new b": ("b", 2)}


@pytest.mark.parametrize(("step", "label"), STEPS)
def test_what_the_earlier_run_dropped_does_not_count(step, label, earlier, tmp_path):
    """Neither what its dedup dropped, nor what went before or after: the twin is one that it kept."""
    short, late = KeepWhere(condition="bytes < 100"), KeepWhere(condition="url <> 'late'")
    documents = {"long": D + " " + D, "a": A, "copy of a": A, "late": B}
    first = dedup(tmp_path / "1", documents, short, step(), late)
    assert first.kept == ["a"]
    found = dedup(tmp_path / "2", {"b": B, "a2": A, "d": D + " " + D}, step(against=earlier(first)))
    assert found.kept == ["b", "d"]
    assert found.twins(label) == {"a2": ("a", 1.0)}


def test_near_copies_of_what_an_earlier_run_kept_go_with_their_similarity(earlier, tmp_path):
    first = dedup(tmp_path / "1", {"a": A, "b": B}, minhash())
    found = dedup(tmp_path / "2", {"c": C, "near a": NEAR_A}, minhash(against=earlier(first)))
    assert found.twins("minhash") == {"near a": ("a", 10 / 11)} and found.kept == ["c"]


@pytest.mark.parametrize(("step", "label"), STEPS)
def test_a_run_can_be_compared_with_several(step, label, tmp_path):
    """run 2 with run 1, run 3 with both: it loses to either."""
    first = dedup(tmp_path / "1", {"a": A}, step())
    second = dedup(tmp_path / "2", {"a2": A, "b": B}, step(against=str(first.folder)))
    assert second.kept == ["b"]
    export(second.folder, tmp_path / "index of 2")
    both = (str(first.folder), str(tmp_path / "index of 2"))
    third = dedup(tmp_path / "3", {"b3": B, "c": C, "a3": A}, step(against=both))
    assert third.kept == ["c"]
    assert third.twins(label) == {"a3": ("a", 1.0), "b3": ("b", 1.0)}


@pytest.mark.parametrize(("step", "label"), STEPS)
def test_of_copies_that_earlier_runs_kept_the_first_is_the_twin_and_none_is_counted(step, label, tmp_path):
    """Two runs that did not know of each other kept the same: they are settled, and in no cluster of this run."""
    runs = [str(dedup(tmp_path / name, {name: A}, step()).folder) for name in ("one", "two")]
    found = dedup(tmp_path / "3", {"a3": A, "b": B, "a4": A}, step(against=tuple(runs)))
    assert found.twins(label) == {"a3": ("one", 1.0), "a4": ("one", 1.0)}
    assert found.clusters(label) == {"a3": ("one", 3), "a4": ("one", 3), "b": (None, 1)}


@pytest.mark.parametrize(("old", "new"), [(None, 100), (100, None), (50, 400), (400, 50)])
@pytest.mark.parametrize(("step", "label"), STEPS)
def test_the_earlier_run_may_have_cut_its_keys_into_other_slices(step, label, old, new, tmp_path):
    documents = {f"old {number}": f"{A} {word}" for number, word in enumerate(["one", "two", "three", "four"])}
    first = dedup(tmp_path / "1", documents | {"b": B}, step(), unit=200, partition_bytes=old)
    again = {f"new {name}": text for name, text in documents.items()} | {"c": C}
    found = dedup(tmp_path / "2", again, step(against=str(first.folder)), unit=200, partition_bytes=new)
    assert found.kept == ["c"]
    twins = found.twins(label)
    assert {name: twins[name][0] for name in twins} == (
        {f"new {name}": name for name in documents}
        if label == "exact"
        else {f"new {name}": "old 0" for name in documents}
    )


def test_two_runs_keep_what_one_over_both_keeps(tmp_path, monkeypatch):
    monkeypatch.setattr(
        _candidates, "CERTAIN_DEVIATIONS", 1e9
    )  # every pair that meets is a candidate, however unlike its sketches
    place = folders(tmp_path)

    @some
    @given(texts, st.integers(1, 8), st.sampled_from([0.3, 0.6]))
    def check(texts, edge, threshold):
        documents = named(texts)
        names = list(documents)
        old, new = ({name: documents[name] for name in part} for part in (names[:edge], names[edge:] or ["d0"]))
        step = {"ngram": 1, "bands": 64, "rows": 1, "threshold": threshold}
        first = dedup(next(place), old, Minhash(**step))
        second = dedup(next(place), new, Minhash(against=str(first.folder), **step))
        sets = {name: grams(text, 1) for name, text in documents.items()}
        assert second.twins("minhash") == slow_twins(sets, threshold, list(new), first.kept)
        if len(names) > edge:
            whole = dedup(next(place), documents, Minhash(**step))
            assert first.kept + second.kept == whole.kept
            assert first.twins("minhash") | second.twins("minhash") == whole.twins("minhash")

    check()


@pytest.mark.parametrize(("step", "label"), STEPS)
def test_marking_notes_the_earlier_copies_and_drops_none(step, label, tmp_path):
    first = dedup(tmp_path / "1", {"a": A}, step())
    found = dedup(tmp_path / "2", {"a2": A, "b": B}, step(against=str(first.folder), mark=True))
    assert found.kept == ["a2", "b"] and found.twins(label) == {"a2": ("a", 1.0)}


def test_a_document_without_words_is_not_its_own_copy_when_it_is_read_again(tmp_path):
    first = dedup(tmp_path / "1", {"dots": "...", "a": A}, minhash())
    found = dedup(tmp_path / "2", {"dots": "...", "b": B}, minhash(against=str(first.folder)))
    assert found.kept == ["dots", "b"]


def test_an_earlier_run_that_kept_nothing_takes_nothing(earlier, tmp_path):
    first = dedup(tmp_path / "1", {"a": A}, exact(), KeepWhere(condition="bytes < 1"))
    assert first.kept == []
    assert dedup(tmp_path / "2", {"a2": A}, exact(against=earlier(first))).kept == ["a2"]


# ------------------------------------------------------------- what is done anew


def test_a_changed_earlier_run_repeats_the_comparison_and_no_reading(tmp_path):
    first = dedup(tmp_path / "1", {"a": A, "b": B}, minhash())
    against = str(first.folder)
    new = {"a2": A, "c": C}
    before = dedup(tmp_path / "2", new, minhash(against=against))
    assert before.kept == ["c"]
    stages = before.stages()

    dedup(tmp_path / "1", {"a": A, "b": B}, minhash())  # the same again
    assert dedup(tmp_path / "2", new, minhash(against=against)).stages() == stages

    dedup(tmp_path / "1", {"c1": C, "b": B}, minhash())
    after = dedup(tmp_path / "2", new, minhash(against=against))
    assert after.kept == ["a2"] and after.twins("minhash") == {"c": ("c1", 1.0)}
    changed = {stage for stage, folder in after.stages().items() if folder != stages[stage]}
    assert changed == set(stages) - {"pass-1"}


def test_to_compare_with_another_run_repeats_no_reading_either(tmp_path):
    first = dedup(tmp_path / "1", {"a": A}, exact())
    alone = dedup(tmp_path / "2", {"a2": A}, exact())
    assert alone.kept == ["a2"]
    found = dedup(tmp_path / "2", {"a2": A}, exact(against=str(first.folder)))
    assert found.kept == [] and found.stages()["pass-1"] == alone.stages()["pass-1"]


# ------------------------------------------------------------- what cannot be compared


def check(tmp_path, step):
    lower(recipe(tmp_path / "new", {"a2": A}, step))


@pytest.fixture
def first(tmp_path):
    return dedup(tmp_path / "first", {"a": A, "b": B}, minhash()).folder


def test_a_folder_that_is_neither_is_an_error_before_anything_runs(first, tmp_path):
    with pytest.raises(RecipeError, match=r"minhash.against: .*/rum is neither the folder of a run nor an index; did"):
        check(tmp_path, minhash(against=str(first.parent / "rum")))
    with pytest.raises(RecipeError, match=r"`corpusmill index RUN FOLDER` makes an index"):
        check(tmp_path, minhash(against=str(tmp_path / "no" / "where")))


@pytest.mark.parametrize("pass_", ["pass-1", "pass-2"])
def test_a_run_that_is_not_finished_is_named(first, tmp_path, pass_):
    unfinish(first, pass_)
    with pytest.raises(RecipeError, match=r"minhash.against: .*/run: the run is not finished.*corpusmill run"):
        check(tmp_path, minhash(against=str(first)))


@pytest.mark.parametrize("kind", ["run", "index"])
@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Minhash(ngram=2, bands=64, rows=1), "'ngram': 2"),
        (Minhash(ngram=1, bands=32, rows=2), "'bands': 32"),
        (Minhash(ngram=1, bands=64, rows=1, unit="characters"), "'unit': 'characters'"),
    ],
)
def test_keys_that_were_made_otherwise_are_refused_and_both_are_told(first, tmp_path, kind, other, said):
    folder = first if kind == "run" else export(first, tmp_path / "index").folder
    parameters = {name: getattr(other, name) for name in ("ngram", "unit", "bands", "rows")}
    with pytest.raises(RecipeError, match=r"minhash.against: ") as error:
        check(tmp_path, Minhash(against=str(folder), **parameters))
    assert said in str(error.value) and "'bands': 64" in str(error.value)


def test_a_run_without_the_step_is_refused(first, tmp_path):
    with pytest.raises(RecipeError, match=r"has no dedup/exact with the keys of this one.*its steps are minhash"):
        check(tmp_path, exact(against=str(first)))


@pytest.mark.parametrize("kind", ["run", "index"])
def test_keys_of_another_format_are_refused(first, tmp_path, kind, monkeypatch):
    folder = first if kind == "run" else export(first, tmp_path / "index").folder
    monkeypatch.setattr(earlier_runs, "FORMAT", 99)
    what = "run it again" if kind == "run" else "run its recipe again .* corpusmill index RUN FOLDER"
    with pytest.raises(RecipeError, match=rf"another version .*\(format 4, here 99\): {what}"):
        check(tmp_path, minhash(against=str(folder)))


def test_an_index_that_is_not_whole_is_refused(first, tmp_path):
    folder = export(first, tmp_path / "index").folder
    next((folder / "keys").iterdir()).unlink()
    with pytest.raises(RecipeError, match=r"is not whole: keys/00000.arrays is missing"):
        check(tmp_path, minhash(against=str(folder)))


def test_a_run_is_not_compared_with_itself(first, tmp_path):
    made = recipe(tmp_path / "new", {"a2": A}, minhash(against=str(first)))
    with pytest.raises(RecipeError, match=r"is the folder of this run itself.*corpusmill index"):
        corpusmill.run(made, folder=first, executor=Serial())
    assert json.loads((first / "stages.json").read_text())  # and it is as it was


def test_parameters_of_the_verdict_may_differ():
    """What is no part of the keys is each run's own affair."""
    one, other = Minhash(bands=16, rows=7, threshold=0.7, keep="longest", mark=True), Minhash(against="somewhere")
    assert earlier_runs.comparable(one) == earlier_runs.comparable(other)
