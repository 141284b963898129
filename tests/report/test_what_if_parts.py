"""The parts of what-if, each beside a slow obvious twin; and the whole beside the documents of a run."""

import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import InputError, RecipeError, ResumeError
from corpusmill.recipe.names import labels
from corpusmill.report.tables import RunTables
from corpusmill.report.what_if import TextAmount, what_if
from corpusmill.report.what_if.saved import Codes, Saved, Sizes, coded, grouped, saved_units
from corpusmill.steps.verdict import COMPARE
from made_run import made_run, unfinish

amounts = st.builds(TextAmount, *[st.integers(0, 1000)] * 3)
codes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2)), max_size=40)


@given(amounts, amounts)
def test_amounts_add_up(a, b):
    assert (a + b).documents == a.documents + b.documents and (a + b).tokens == a.tokens + b.tokens
    assert a + b - b == a and a + TextAmount() == a


@given(codes)
def test_rows_are_grouped_as_a_dictionary_would(rows):
    columns = [(np.array([row[i] for row in rows], np.int64), size) for i, size in enumerate((4, 5, 3))]
    groups, of_row = grouped(*columns)
    assert [tuple(groups[at]) for at in of_row.tolist()] == rows
    assert [tuple(group) for group in groups.tolist()] == sorted(set(rows))


@given(st.lists(st.sampled_from(["a", "b", "", None]), max_size=30), st.booleans())
def test_codes_stand_for_their_values(values, dictionary):
    column = pa.array(values, pa.string())
    code, names = coded(column.dictionary_encode() if dictionary else column)
    assert [names[at] for at in code.tolist()] == values


@given(st.lists(st.sampled_from(["a", "b", None, "c"])))
def test_a_string_keeps_its_number(names):
    numbers = Codes()
    given_numbers = {name: numbers[name] for name in names}
    assert numbers[None] == 0
    assert all(numbers[name] == number and numbers.names[number] == name for name, number in given_numbers.items())
    assert len(numbers.names) == len(set(names) | {None})


def test_sizes_change_after_each_step_that_changes_the_text():
    steps = RunTables(made_run()).steps
    own = list(steps)
    sizes = Sizes.from_steps(own, steps)
    assert len(sizes.version) == len(own) + 1 and sizes.columns[-1] == "bytes"
    assert list(sizes.version) == sorted(sizes.version) and sizes.version[-1] == len(sizes.columns) - 1


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


@pytest.fixture(scope="module")
def signals(tables):
    return tables.rows(f"SELECT * FROM ({tables.table('signals', 0)})")


def test_saved_columns_are_those_of_the_file(tables, signals):
    own = tables.passes[0][1]
    sizes = Sizes.from_steps(own, tables.steps)
    read = []
    for saved in saved_units(tables.files.paths("signals", 0), sizes):
        assert saved.rows == len(saved.read("id")) == len(saved.numbers("tokens"))
        assert saved.size(len(sizes.columns) - 1).to_pylist() == saved.read("bytes").to_pylist()
        read += saved.read("id").to_pylist()
    assert sorted(read) == sorted(row["id"] for row in signals)


def test_one_row_of_a_unit_is_that_row(tables):
    sizes = Sizes.from_steps(tables.passes[0][1], tables.steps)
    saved = Saved(tables.files.paths("signals", 0)[0], sizes)
    for row in (0, saved.rows - 1):
        assert saved.row(row, ["id", "bytes"]) == {name: saved.read(name)[row].as_py() for name in ("id", "bytes")}


def twin(tables, signals, bounds):
    """What the first pass keeps, from the saved signals and other bounds, document by document."""
    own = tables.passes[0][1]
    kept = Counter[str]()
    for row in signals:
        reasons = [reason for reason in (row["reasons"] or "").split(",") if reason and reason not in bounds]
        for reason, bound in bounds.items():
            value = row[bound.signal]
            if value is not None and COMPARE[bound.drops](value, bound.threshold).as_py():
                reasons.append(reason)
        if not any(reason.partition(".")[0] in own for reason in reasons):
            kept[row["source"]] += 1
    return kept


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 120), st.integers(0, 3))
def test_other_thresholds_keep_what_the_signals_say(words, stop_words):
    tables = RunTables(made_run())
    signals = tables.rows(f"SELECT * FROM ({tables.table('signals', 0)})")
    changed = {"gopher_quality.min_words": words, "gopher_quality.min_stop_words": stop_words}
    answer = what_if(made_run(), [f"{name}={value}" for name, value in changed.items()])
    bounds = {name: replace(tables.bounds[name], threshold=value) for name, value in changed.items()}
    kept = twin(tables, signals, bounds)
    assert answer.kept[1].documents == sum(kept.values())
    assert {name: after.documents for name, (_, after) in answer.sources.items() if after.documents} == dict(kept)
    before, after = answer.kept
    moved = sum(amount.documents for amount in answer.newly_kept.values())
    lost = sum(amount.documents for amount in answer.newly_dropped.values())
    assert after.documents == before.documents + moved - lost
    assert answer.after[-1].documents_out == after.documents and answer.before[-1].documents_out == before.documents
    for row in (*answer.before, *answer.after):
        assert row.documents_in == row.documents_out + sum(row.reasons.values()) + row.failed


def test_no_change_changes_nothing(tables):
    answer = what_if(made_run(), ["gopher_quality.min_words=20"])
    assert answer.changes == () and answer.before == answer.after and answer.kept[0] == answer.kept[1]
    assert not answer.newly_kept and not answer.newly_dropped and not answer.border and not answer.open_steps
    rows = tables.files.waterfall().rows
    assert [row.documents_out for row in answer.before] == [row.documents_out for row in rows[: len(answer.before)]]


def test_the_border_is_nearest_to_the_threshold(signals):
    answer = what_if(made_run(), ["gopher_quality.min_words=10"], examples=2)
    own = [one for one in answer.border if one.reason == "gopher_quality.min_words"]
    assert len(own) == 2 and all(one.newly == "kept" and one.threshold == 10 for one in own)
    column = next(iter(own[0].values))
    words = sorted(
        row[f"gopher_quality.{column}"]
        for row in signals
        if row["reasons"] == "gopher_quality.min_words" and row[f"gopher_quality.{column}"] >= 10
    )
    assert [one.values[column] for one in own] == words[:2]


def test_without_examples_there_is_no_border():
    assert what_if(made_run(), ["gopher_quality.min_words=10"], examples=0).border == ()


def test_a_rule_that_is_switched_off_keeps_what_it_alone_dropped(signals):
    answer = what_if(made_run(), ["gopher_quality.min_words=null"])
    alone = [row for row in signals if row["reasons"] == "gopher_quality.min_words"]
    assert answer.newly_kept["gopher_quality.min_words"].documents == len(alone)
    assert all(border.threshold == 20 for border in answer.border)


def test_the_command_repeats_the_run_with_the_changes():
    answer = what_if(made_run(), ["gopher_quality.min_words=10"])
    assert "--set steps.gopher_quality.min_words=10" in answer.command
    assert answer.command.endswith(f"--folder {made_run()}-what-if")
    assert answer.open_steps[:1] == ("exact",)


@pytest.mark.parametrize(
    "setting, error, message",
    [
        ("gopher_quality.min_wrds=3", RecipeError, "min_words"),
        ("gopher_qualty.min_words=3", RecipeError, "gopher_quality"),
        ("min_words=10", RecipeError, "--set min_words=10: say whose min_words this is: gopher_quality.min_words=10"),
        ("gopher_quality.min_words=x", RecipeError, "min_words"),
        ("run.measure_dropped=all", InputError, "what-if tries other thresholds of steps"),
        ("seed=3", InputError, "what-if tries other thresholds of steps"),
        (
            "minhash.ngram=3",
            InputError,
            "minhash.ngram changes which documents are compared, or how, so saved signals cannot answer it",
        ),
        ("concat.length=32", InputError, "concat.length changes the tokens"),
        ("gopher_quality.only=web", InputError, "gopher_quality.only changes which documents are measured"),
    ],
)
def test_what_signals_cannot_answer_is_refused(setting, error, message):
    with pytest.raises(error, match=message):
        what_if(made_run(), [setting])


def test_a_run_that_is_not_finished_is_not_asked(tmp_path):
    folder = shutil.copytree(made_run(), tmp_path / "run")
    unfinish(folder, "shards")
    with pytest.raises(ResumeError, match="shards"):
        what_if(folder, ["gopher_quality.min_words=10"])


def test_labels_of_the_run_begin_those_of_the_recipe(tables):
    assert tables.labels == labels(tables.files.recipe.steps)[: len(tables.labels)]
