"""Sliders: codes say exactly on which side of an edge a value is, and the server takes only what it can answer."""

import math
import socket

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.errors import InputError
from corpusmill.inspect.serve import serve
from corpusmill.inspect.sliders import NULL_CODE, Signals, Slider, is_threshold, numeric_rules
from corpusmill.inspect.thresholds import Thresholds, check
from corpusmill.inspect.trace import Trace, parse_integer
from corpusmill.report.tables import RunTables
from corpusmill.report.what_if import what_if
from corpusmill.steps.verdict import COMPARE
from made_run import made_run

edges = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=20, unique=True).map(sorted)
values = st.lists(st.none() | st.floats(-60, 60) | st.integers(-60, 60).map(float) | st.just(float("nan")), max_size=30)


@given(edges, values, st.sampled_from(["<", "<=", ">", ">="]), st.data())
def test_at_an_edge_a_code_decides_as_the_rule_does(own, numbers, drops, data):
    slider = Slider("a.b", "a.c", drops, own[0], False, np.array(own))
    threshold = data.draw(st.sampled_from(own))
    codes = slider.codes(pa.array(numbers, pa.float64()))
    for value, code in zip(numbers, codes.tolist()):
        missing = value is None or math.isnan(value)
        assert (code == NULL_CODE) == missing
        expected = not missing and COMPARE[drops](value, threshold).as_py()
        assert slider.dropped(threshold)[code] == expected
    assert not slider.dropped(None).any()


@pytest.mark.parametrize(
    "value, expected",
    [
        (1, True),
        (0.5, True),
        (-3, True),
        (True, False),
        (None, False),
        ("3", False),
        (float("nan"), False),
        (float("inf"), False),
    ],
)
def test_a_threshold_is_a_finite_number(value, expected):
    assert is_threshold(value) == expected
    if value is not None and not expected:
        with pytest.raises(
            InputError, match=r"a.b: a threshold must be a finite number, or null to switch the rule off"
        ):
            check({"a.b": value})
    else:
        check({"a.b": value})


@pytest.fixture(scope="module")
def tables():
    return RunTables(made_run())


@pytest.fixture(scope="module")
def signals(tables):
    return Signals(tables, 0)


def test_the_sliders_of_a_pass_are_its_numeric_rules(tables, signals):
    rules = numeric_rules(tables, 0)
    assert [slider.key for slider in signals.sliders] == [key for key, *_ in rules]
    for slider, (_, signal, drops, threshold) in zip(signals.sliders, rules):
        assert (slider.signal, slider.drops, slider.threshold) == (signal, drops, threshold)
        assert slider.threshold in slider.edges and sorted(set(slider.edges)) == slider.edges.tolist()


def test_unmoved_sliders_count_the_run(tables, signals):
    row = tables.files.waterfall().rows[1]
    counts = signals.count({})
    assert counts["before"] == counts["after"] and counts["before"]["documents"] == row.documents_out
    assert counts["newly_kept"]["documents"] == counts["newly_dropped"]["documents"] == 0
    for histogram in counts["histograms"].values():
        assert sum(histogram["every"]) <= counts["documents"] and sum(histogram["kept"]) <= row.documents_out
        assert all(kept <= every for every, kept in zip(histogram["every"], histogram["kept"]))


@pytest.mark.parametrize("threshold", [0, 5, 12, 60, 91, None])
def test_the_estimate_of_one_rule_is_exact_at_an_edge(signals, threshold):
    slider = next(slider for slider in signals.sliders if slider.key == "gopher_quality.min_words")
    if threshold is not None:
        threshold = int(slider.edges[int(np.argmin(np.abs(slider.edges - threshold)))])
    counts = signals.count({"gopher_quality.min_words": threshold})
    exact = what_if(made_run(), [f"gopher_quality.min_words={'null' if threshold is None else threshold}"])
    assert counts["after"]["documents"] == exact.kept[1].documents
    assert counts["newly_kept"]["documents"] == sum(amount.documents for amount in exact.newly_kept.values())


def test_a_rule_that_is_not_there_is_refused(signals, tables):
    with pytest.raises(InputError, match=r'pass-1 has no active numeric rule "gopher_quality.min_wrds"; did you mean'):
        signals.count({"gopher_quality.min_wrds": 1})
    thresholds = Thresholds(tables)
    with pytest.raises(InputError, match=r'no pass "x" has numeric rules. Passes that have: pass-1'):
        thresholds.sliders("x")
    with pytest.raises(InputError, match=r'the run has no active numeric rule "x.y"'):
        thresholds.recipe({"x.y": 1})
    with pytest.raises(InputError, match="an integer threshold must fit in 64 bits"):
        thresholds.recipe({"gopher_quality.min_words": 1e30})


def test_a_recipe_has_the_thresholds_that_were_set(tables):
    recipe = Thresholds(tables).recipe({"gopher_quality.min_words": 30.4, "gopher_quality.min_stop_words": None})
    assert "min_words: 30" in recipe and "min_stop_words: null" in recipe


@given(st.text(max_size=20))
def test_a_whole_number_is_digits_alone(text):
    try:
        assert parse_integer(text, "row") == int(text) >= 0 and text.isascii()
    except InputError as error:
        assert str(error) == f'row must be a whole number from 0; got "{text}"'
        assert not (text.isascii() and text.isdigit() and len(text) < 16)


@pytest.mark.parametrize("text, minimum, expected", [("-5", None, -5), ("0", 0, 0), ("007", 1, 7)])
def test_whole_numbers_from_a_minimum(text, minimum, expected):
    assert parse_integer(text, "seed", minimum) == expected


@pytest.mark.parametrize("text, minimum", [("-1", 0), ("0", 1), ("--1", None), ("-", None), ("1.0", None), ("²", 0)])
def test_what_is_below_the_minimum_or_no_number_is_refused(text, minimum):
    with pytest.raises(InputError, match="seed must be a whole number"):
        parse_integer(text, "seed", minimum)


@pytest.fixture(scope="module")
def trace(tables):
    return Trace(tables)


def test_all_tokens_of_the_shards_are_in_rows(trace):
    about = trace.about()
    rows = -(-about["tokens"] // about["seq_len"])
    documents, tokens = set(), 0
    for row in range(rows):
        answer = trace.answer({"row": str(row)})
        assert answer["kind"] == "row" and (answer["previous"] is None) == (row == 0)
        assert (answer["next"] is None) == (row == rows - 1)
        documents |= {piece["document"] for piece in answer["pieces"]}
        tokens += sum(piece["length"] for piece in answer["pieces"])
    assert documents == set(range(36)) and tokens <= about["tokens"]


def test_a_token_leads_to_its_neighbours(trace):
    first = trace.answer({"token": "0"})
    assert first["previous"] is None and first["title"] == "Token 0 of shard 0"
    assert trace.answer({name: str(value) for name, value in first["next"].items()})["title"] == "Token 1 of shard 0"


def test_the_ranks_of_a_step_have_the_rows_of_the_step(trace):
    whole = trace.answer({"step": "1", "batch": "2", "world": "2"})
    own = [trace.answer({"step": "1", "batch": "2", "world": "2", "rank": str(rank)}) for rank in (0, 1)]
    pieces = [(piece["rank"], piece["row"], piece["document"], piece["offset"]) for piece in whole["pieces"]]
    assert pieces == [
        (piece["rank"], piece["row"], piece["document"], piece["offset"]) for one in own for piece in one["pieces"]
    ]
    assert (
        whole["rows"] == 4
        and own[0]["rows"] == 2
        and "ranks 0 to 1" in whole["title"]
        and "rank 1 of 2" in own[1]["title"]
    )


def test_a_question_names_what_it_is_about(trace):
    with pytest.raises(InputError, match="name a step, a row, or a token of a shard"):
        trace.answer({"row": "", "seed": "3"})


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=f"port {port} of 127.0.0.1 cannot be used .* choose another, or omit --port"
        ):
            serve(str(made_run()), port, lambda address: None)
