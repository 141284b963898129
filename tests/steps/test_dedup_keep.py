"""Which of several copies stays is what `keep` says, whatever found them."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.engine.plan.lower import lower
from corpusmill.errors import RecipeError
from corpusmill.steps.dedup._keep import moment
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from dedup_runs import dedup, recipe


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What the input says of each document."""

    def signals(self, docs: pa.RecordBatch) -> dict[str, pa.Array]:
        given = [json.loads(metadata or "{}") for metadata in docs["metadata"].to_pylist()]
        return {
            "value": pa.array([entry.get("worth") for entry in given], pa.float64()),
            "word": pa.array([str(entry.get("worth")) for entry in given], pa.string()),
            "sure": pa.array([entry.get("worth", 0) == 5 for entry in given], pa.bool_()),
        }


# Copies once they are folded: different in length, date and worth.
COPIES: dict[str, dict[str, Any]] = {
    "a": {"text": "one two three four", "date": "2021-03-04", "worth": 1},
    "b": {"text": "one, two, three, four!!"},
    "c": {"text": "One two three four.", "date": "2024-05", "worth": 5},
    "d": {"text": "one two three four;", "date": "2020-01-02", "worth": -3},
    "e": {"text": "one two three. four", "date": "2024-05-01T10:00:00Z", "worth": 5},
    "other": {"text": "nothing like it", "date": "1999-01-01", "worth": 100},
}
STEPS = [
    pytest.param(lambda **given: Exact(match="folded", **given), id="exact"),
    pytest.param(lambda **given: Minhash(ngram=1, punctuation="drop", **given), id="minhash"),
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("keep", "stays"),
    [
        ("first", "a"),
        ("longest", "b"),
        ("newest", "e"),
        ("oldest", "d"),
        ("worth.value", "c"),  # as much worth as e, and before it
        ("-worth.value", "d"),
        ("worth.sure", "c"),
    ],
)
def test_the_copy_stays_that_keep_prefers(step, keep, stays, tmp_path):
    made = step(keep=keep)
    found = dedup(tmp_path, COPIES, Worth(), made, cuts=[2, 3], unit=100)
    (label,) = {name.partition(".")[0] for name in found.rows["a"] if name.endswith(".duplicate_of")}
    assert found.kept == [stays, "other"]
    assert found.twins(label) == {name: (stays, 1.0) for name in "abcde" if name != stays}
    assert found.clusters(label) == {**dict.fromkeys("abcde", (stays, 5)), "other": (None, 1)}
    assert set(found.reasons.values()) == {f"{label}.{'exact_copy' if label == 'exact' else 'near_copy'}"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("keep", ["longest", "newest", "oldest", "worth.value", "-worth.value"])
def test_of_equals_and_of_those_that_say_nothing_the_first_stays(step, keep, tmp_path):
    documents = {name: {"text": "one two three four"} for name in "xyz"}
    assert dedup(tmp_path, documents, Worth(), step(keep=keep), cuts=[1], unit=100).kept == ["x"]


@pytest.mark.parametrize("keep", ["newest", "oldest", "worth.value", "-worth.value"])
def test_a_document_that_says_nothing_goes_for_one_that_does(keep, tmp_path):
    documents = {
        "silent": {"text": "the same", "date": "yesterday"},
        "says": {"text": "the same", "date": "2001-01-01", "worth": -1e300},
    }
    assert dedup(tmp_path, documents, Worth(), Exact(keep=keep)).kept == ["says"]


ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)
ASCENDING = (
    *("1969-12-31T23:59:59Z", "1999", "2024-05-01T00:00:00+14:00", "2024-05-01T00:00:00+05:30", "2024-04-30T23:00:00Z"),
    *("2024-05-01T00:00:00", "2024-05-01 00:00:00.000001", "2024-05-01T00:00:00.5Z", "2024-05-01T00:00:01,25"),
    *(
        "20240501T000002Z",
        "2024-04-30T20:00:03-04:00",
        "2024-05-01T12",
        "2024-05-01T12:30-0800",
        "2024-06",
        "2025-01-01",
    ),
)


def test_dates_are_compared_as_moments_whatever_their_zone_and_fraction():
    moments = list(map(moment, ASCENDING))
    assert moments == sorted(set(moments))
    same = ("2024-05-01", "2024-05", "2024-05-01T00:00:00Z", "2024-05-01 02:00:00+02:00", "2024-04-30T18:30:00.0-05:30")
    assert len({moment(date) for date in same}) == 1


@given(MOMENTS, MOMENTS)
def test_dates_are_in_the_order_of_the_standard_library(one, other):
    if abs(one - other) > timedelta(milliseconds=1):  # years of four digits have seconds of twelve
        assert (moment(one.isoformat()) < moment(other.isoformat())) is (one < other)
        assert round(moment(one.isoformat()) - one.timestamp(), 3) == 0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("worth.valu", 'needs "worth.valu", and no step before it leaves that.*did you mean "worth.value"'),
        ("quality.score", 'needs "quality.score"'),
        ("-worth.word", 'keep: "-worth.word" is of type string; only a signal of numbers'),
    ],
)
def test_a_signal_that_cannot_say_it_is_an_error_before_the_run(step, keep, message, tmp_path):
    with pytest.raises(RecipeError, match=message):
        lower(recipe(tmp_path, COPIES, Worth(), step(keep=keep))).check()


@pytest.mark.parametrize(("keep", "near"), [("bigest", ""), ("longst", 'did you mean "longest"'), ("-first", "")])
@pytest.mark.parametrize("step", STEPS)
def test_a_policy_that_there_is_not_is_an_error_of_the_step(step, keep, near):
    with pytest.raises(RecipeError, match=f'keep is one of first, longest.*got "{keep}".*{near}'):
        step(keep=keep)
