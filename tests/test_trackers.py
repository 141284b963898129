"""What a run tells the tools that watch it: each number is one of the run's own records."""

import re
from itertools import pairwise

import pytest

from corpusmill import Recipe, run
from corpusmill.engine.drive.listener import Silent
from corpusmill.execute.serial import Serial
from corpusmill.trackers import METRIC_HELP, PROGRESS_HELP, Metrics, OpenMetrics, Together, numbers, settings
from made_run import made_corpus


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A run, what `Metrics` sent, each number of it in order, and the file of `OpenMetrics`."""
    folder = tmp_path_factory.mktemp("watched")
    sent: list[dict[str, float]] = []
    file = folder / "run.prom"
    listener = Together(Metrics(sent.append, every=0), Silent(), OpenMetrics(file, every=1e9, run='my "run"'))
    done = run(made_corpus(), folder=folder / "run", executor=Serial(), listener=listener)
    return done, sent, file.read_text()


def test_the_last_numbers_are_those_of_the_waterfall(watched):
    done, sent, _ = watched
    flow = done.waterfall
    assert sent[-1]["documents_read"] == flow.documents_in
    assert sent[-1]["input_bytes_read"] == sum(source["bytes"] for source in flow.read.values())
    assert sent[-1]["documents_dropped"] == flow.documents_in - flow.documents_out
    assert sent[-1]["stage"] == len(done.units) and sent[-1]["worker_seconds"] > 0
    for earlier, later in pairwise(sent):
        assert all(earlier[name] <= later[name] for name in METRIC_HELP if not name.startswith("units"))


def test_calls_are_as_far_apart_as_asked_but_for_the_ends_of_stages(watched):
    done, sent, _ = watched
    rare: list[dict[str, float]] = []
    run(made_corpus(), folder=done.folder, executor=Serial(), listener=Metrics(rare.append, every=1e9))
    assert len(rare) == len(done.units) and len(sent) > len(rare)  # nothing was left to do


def test_the_file_of_metrics_has_a_value_and_a_label_for_each(watched):
    _, sent, text = watched
    assert text.endswith("# EOF\n")
    values = dict(re.findall(r'^corpusmill_(\w+)\{run="my \\"run\\""\} (\S+)$', text, re.M))
    assert set(values) == {*METRIC_HELP, *PROGRESS_HELP} and text.count("# HELP ") == len(values)
    for name in set(METRIC_HELP) - {"worker_seconds"}:
        assert float(values[name]) == sent[-1][name], name
    assert text.count("# TYPE ") == text.count(" gauge\n") == len(values)


def test_the_result_of_a_run_is_numbers_by_name(watched):
    done, _, _ = watched
    found = numbers(done)
    row = next(row for row in done.waterfall.rows if row.step == "gopher_quality")
    assert found["kept.gopher_quality"] == row.documents_out / row.documents_in
    assert found["dropped.gopher_quality.min_words"] == row.reasons["min_words"]
    assert found["documents_out"] == done.waterfall.documents_out and all(
        isinstance(value, int | float) for value in found.values()
    )


def test_an_experiment_is_compared_by_what_its_recipe_says():
    recipe = Recipe.load(made_corpus())
    said = settings(recipe)
    assert said["gopher_quality.min_words"] == "20" and said["fingerprint"] == recipe.fingerprint()
    assert "fineweb" in said["steps"] and not any(name.startswith("fineweb.") for name in said)


def test_what_only_some_listeners_take_is_given_to_them():
    taken: list[dict[str, float]] = []
    together = Together(Silent(), Metrics(taken.append, every=0))
    together.planned([])
    together.compiled(1, 2)
    together.beat(type("Progress", (), {"overall": 0.5, "memory": None})())
    assert taken[-1]["overall"] == 0.5 and "memory" not in taken[-1]
