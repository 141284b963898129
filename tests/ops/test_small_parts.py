"""Small parts of carrying out runs: what an estimate adds up to, ranges, problems in words, the machine, the inputs."""

import math
import os
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill.errors import InputError, RecipeError
from corpusmill.ops.collection import ADD, REMOVE, added, as_collected, keep, refuse_to_drop, removed
from corpusmill.ops.estimate import Estimate, StageCost, peak
from corpusmill.ops.estimate.requests import (
    MAX_SLICES,
    REQUEST_BYTES,
    Requests,
    Shuffle,
    check_shuffles,
    cost,
    requests,
)
from corpusmill.ops.estimate.unseen import Range, both, duplicates, of_pieces
from corpusmill.ops.finish import MAX_PROBLEMS_SHOWN, RunOutput
from corpusmill.ops.provenance.machine import machine
from corpusmill.ops.verify import VerifiedFolder
from corpusmill.ops.worker import of_run
from corpusmill.recipe import Recipe
from corpusmill.report.waterfall import Waterfall
from corpusmill.store.run_folder import COLLECTION, RunFolder

ZERO = Range(0.0, 0.0, 0.0)


def estimate_of(*stages: StageCost, around: float = 0.0, records: int = 0) -> Estimate:
    return Estimate(0, 0, stages, (), ZERO, ZERO, ZERO, 1000, around, records, (), Requests(0, 0))


def test_a_run_takes_as_long_as_its_stages_one_after_the_other():
    random = Random(7)
    for _ in range(100):
        stages = [(random.uniform(0, 1e4), random.randint(1, 500)) for _ in range(random.randint(1, 5))]
        costs = [StageCost(f"s{i}", seconds, 0.0, 0, units, 1) for i, (seconds, units) in enumerate(stages)]
        estimate, workers = estimate_of(*costs, around=3.0), random.randint(1, 64)
        slow = 3.0
        for seconds, units in stages:
            waiting, rounds = units, 0
            while waiting > 0:
                waiting, rounds = waiting - workers, rounds + 1
            slow += rounds * seconds / units
        assert estimate.wall(workers) == pytest.approx(slow)
        assert estimate.wall(1) == pytest.approx(estimate.seconds + 3.0)


def test_what_stages_take_is_added_up():
    estimate = estimate_of(StageCost("a", 10.0, 8.0, 100, 4, 1), StageCost("b", 5.0, 2.0, 50, 1, 2), records=7)
    assert (estimate.seconds, estimate.cpu, estimate.disk) == (15.0, 10.0, 157)
    assert estimate.all_memory(64) - estimate.all_memory(1) == 3 * 1000, "no more workers are busy than there are units"
    record = estimate.to_json()
    assert record["seconds"] == 15.0 and record["stages"][1]["outputs"] == 2 and record["shuffles"] == []


def test_the_peak_of_this_process_is_in_bytes():
    assert peak() == 0 if os.name == "nt" else peak() > 10 << 20


@given(st.floats(0, 1e6), st.floats(0, 1), st.floats(1, 5), st.floats(0, 100))
def test_a_range_times_a_factor_still_has_its_value(value, low, high, factor):
    scaled = Range(value, value * low, value * high) * factor
    assert scaled.value == pytest.approx(value * factor)
    assert scaled.low <= scaled.value * (1 + 1e-9) and scaled.value <= scaled.high * (1 + 1e-9)
    assert scaled.rounded().value == round(scaled.value)


@given(st.tuples(st.floats(0.1, 1), st.floats(1, 10)), st.tuples(st.floats(0.1, 1), st.floats(1, 10)))
def test_two_errors_together_are_more_than_each_and_less_than_their_product(first, second):
    low, high = both(first, second)
    assert first[0] * second[0] - 1e-9 <= low <= min(first[0], second[0]) + 1e-9
    assert max(first[1], second[1]) - 1e-9 <= high <= first[1] * second[1] + 1e-9
    assert both(first, second) == both(second, first)
    assert both(first, (1.0, 1.0)) == pytest.approx(first)


@pytest.mark.parametrize(
    ("amounts", "share", "expected"),
    [
        ([], 0.5, (1.0, 1.0)),
        ([0.0, 0.0], 0.5, (1.0, 1.0)),
        ([5.0], 0.5, (0.5, 2.0)),
        ([5.0, 5.0, 5.0], 0.5, (1.0, 1.0)),
        ([1.0, 9.0], 1.0, (1.0, 1.0)),
    ],
)
def test_pieces_that_are_alike_leave_no_doubt(amounts, share, expected):
    assert of_pieces(amounts, share) == expected


def test_pieces_that_differ_leave_more_doubt_the_fewer_they_are():
    widths = [math.log(high / low) for low, high in (of_pieces([1.0, 3.0] * n, 0.1) for n in (2, 4, 16, 64))]
    assert widths == sorted(widths, reverse=True) and widths[-1] > 0
    assert of_pieces([1.0, 3.0] * 8, 0.9)[1] < of_pieces([1.0, 3.0] * 8, 0.1)[1]


@pytest.mark.parametrize("share", [1.0, 2.0])
def test_a_whole_corpus_is_counted_and_not_guessed(share):
    clusters = np.array([1, 1, 2, 5])
    assert duplicates(clusters, share) == Range(5 / 9, 5 / 9, 5 / 9)
    assert duplicates(np.array([], np.int64), share) == ZERO


def test_a_sample_without_duplicates_says_how_many_there_may_be():
    few, many = (duplicates(np.ones(n, np.int64), 0.01) for n in (100, 10_000))
    assert few.low == many.low == 0.0 and 0 < many.value < few.value and many.high < few.high < 1


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_a_shuffle_reads_of_each_file_for_each_unit(files, units):
    shuffle = Shuffle("minhash", files, units, 3)
    assert shuffle.slices == (files + 3) * units
    if shuffle.slices > MAX_SLICES:
        with pytest.raises(InputError, match=f"--most-slices {shuffle.slices}"):
            check_shuffles([shuffle], MAX_SLICES, 64)
    else:
        check_shuffles([shuffle], MAX_SLICES, 64)


def test_large_files_are_sent_and_read_in_parts():
    small, large = (requests({"pass-1": (1, 1, size)}, [], size, size) for size in (0, 10 * REQUEST_BYTES))
    assert large.put - small.put == 10 and large.get - small.get == 30
    assert cost(Requests(2, 0), 5e9, 0.5, {"put": 0.5, "storage": 0.02}) == {"put": 1.0, "storage": 0.1}


@pytest.mark.parametrize("count", [1, MAX_PROBLEMS_SHOWN, MAX_PROBLEMS_SHOWN + 2])
def test_the_first_problems_of_an_output_are_named(tmp_path, count):
    problems = tuple(f"file {n} is damaged" for n in range(count))
    output = RunOutput(Waterfall({}, ()), (VerifiedFolder(tmp_path, "jsonl", 1, 1, None, problems),))
    message = output.problem(RunFolder(str(tmp_path)))
    assert not output.is_sound and message.count("is damaged;") + message.count("is damaged.") == min(
        count, MAX_PROBLEMS_SHOWN
    )
    assert (" And 2 more." in message) == (count > MAX_PROBLEMS_SHOWN)
    assert f"`corpusmill verify {tmp_path}` only reads it." in message


def test_the_machine_is_described_by_what_the_system_says(monkeypatch):
    facts = machine()
    assert facts["cpus"] >= facts["cpus_usable"] >= 1 and facts["memory"] > 1 << 20
    assert facts["system"] and facts["cpu"]
    monkeypatch.setenv("CORPUSMILL_HOST", "node-7")
    assert machine()["host"] == "node-7"
    monkeypatch.setenv("CORPUSMILL_HOST", "")
    assert machine()["host"] is None, "no name, where it is nobody's business"


# ------------------------------------------------------------- inputs that are added and removed


@pytest.fixture
def crawl(tmp_path, monkeypatch):
    """A run of two files; its recipe as the run has it."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for name in ("a", "b", "c"):
        Path(f"in/{name}.jsonl").write_text(f'{{"text": "a text of {name}"}}\n')
    Path("r.yaml").write_text(
        "name: r\nread: [jsonl: {paths: [in/a.jsonl, in/b.jsonl]}]\nwrite: [jsonl]\nrun: {folder: run, executor: serial}\n"
    )
    corpusmill.run("r.yaml", progress=False)
    return of_run("run"), RunFolder("run")


def test_a_file_is_added_once(crawl):
    recipe, run = crawl
    change = added(recipe, run, ["in/c.jsonl", "in/c.jsonl", "./in/a.jsonl"])
    assert (change.verb, change.files) == (ADD, (("jsonl", "in/c.jsonl"),))
    assert [Path(path).name for path in change.known] == ["a.jsonl"] and change.altered == ()
    assert change.bytes == Path("in/c.jsonl").stat().st_size
    assert [Path(path).name for path in change.recipe.read[0].paths] == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_a_file_that_has_changed_is_said_to_be_altered(crawl):
    recipe, run = crawl
    Path("in/a.jsonl").write_text('{"text": "another text"}\n')
    assert [Path(path).name for path in added(recipe, run, ["in/a.jsonl"]).altered] == ["a.jsonl"]


def test_what_was_removed_is_added_again_by_the_same_name(crawl):
    recipe, run = crawl
    change = removed(recipe, run, ["in/b.jsonl"])
    assert (change.verb, change.files) == (REMOVE, (("jsonl", "in/b.jsonl"),))
    keep(run, change)
    assert [entry["verb"] for entry in run.read(COLLECTION)["changes"]] == ["remove"]
    recipe = as_collected(recipe, run)
    assert len(recipe.read[0].paths) == 1
    assert added(recipe, run, ["in/b.jsonl"]).files == (("jsonl", "in/b.jsonl"),)


def test_a_pattern_that_removes_some_of_a_folder_is_kept(crawl):
    recipe, run = crawl
    keep(run, added(recipe, run, ["in"]))
    keep(run, removed(as_collected(recipe, run), run, ["in/b*"]))
    recipe = as_collected(recipe, run)
    assert any(pattern.endswith("in/b*") for pattern in recipe.read[0].exclude)
    with pytest.raises(InputError, match=r"was removed from this run as .*in/b\*.*corpusmill add run .*in/b\*"):
        added(recipe, run, ["in/b.jsonl"])


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda recipe, run: added(recipe, run, ["in/z.jsonl"]), InputError, "in/z.jsonl"),
        (lambda recipe, run: added(recipe, run, ["in/c.jsonl"], "web"), RecipeError, 'has no source "web"'),
        (lambda recipe, run: removed(recipe, run, ["in/z*"]), InputError, "no input of run is named by that"),
        (lambda recipe, run: removed(recipe, run, ["in"]), InputError, "nothing would be left of this source"),
        (lambda recipe, run: removed(recipe, run, ["in/a.jsonl"], "web"), RecipeError, "It has: jsonl"),
    ],
)
def test_a_change_that_cannot_be_is_refused(crawl, ask, error, message):
    with pytest.raises(error, match=message):
        ask(*crawl)
    assert not Path("run/collection.json").exists()


def test_the_first_recipe_may_not_drop_what_was_added(crawl):
    recipe, run = crawl
    first = Recipe.load("r.yaml")
    refuse_to_drop(first, run)
    keep(run, added(recipe, run, ["in/c.jsonl"]))
    with pytest.raises(InputError, match=r"does not have what was added to it: .*in/c.jsonl.*--restart"):
        refuse_to_drop(first, run)
    refuse_to_drop(as_collected(recipe, run), run)


def test_a_recipe_may_not_bring_back_what_was_removed(crawl):
    recipe, run = crawl
    keep(run, removed(recipe, run, ["in/b.jsonl"]))
    with pytest.raises(InputError, match=r"has what was removed from it: .*To undo this: corpusmill add run"):
        refuse_to_drop(Recipe.load("r.yaml"), run)


def test_a_folder_without_a_run_refuses_nothing(tmp_path):
    recipe = Recipe.parse("read: [jsonl: {paths: a.jsonl}]")
    refuse_to_drop(recipe, RunFolder(str(tmp_path / "none")))
