"""Bounds, verdicts, advice and prompts of an audit, from plain values."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.errors import InputError
from corpusmill.recipe.advice import RecipeChange
from corpusmill.report.audit import checks
from corpusmill.report.audit.bounds import Bounds, parse
from corpusmill.report.audit.checks import AUDIT_CHECKS, CheckRule, Measured, Unmeasured, judge
from corpusmill.report.audit.facts import RunFacts
from corpusmill.report.audit.model import Audit, Check
from corpusmill.report.audit.prompt import fenced, review_prompt, table
from corpusmill.report.audit.sample import AuditSample, has_html, one_template, personal_data
from corpusmill.report.tables import RunTables
from made_run import HOSTILE, made_run

ends = st.none() | st.integers(0, 100).map(float)
KNOWN = {name: rule.bounds for name, rule in AUDIT_CHECKS.items()}


@given(ends, ends, st.floats(-10, 110))
def test_a_bound_includes_both_its_ends(low, high, value):
    bounds = Bounds(low, high)
    assert bounds.hold(value) == ((low is None or low <= value) and (high is None or value <= high))
    assert low is None or high is None or low > high or (bounds.hold(low) and bounds.hold(high))


@given(ends, ends)
def test_what_is_written_is_what_is_read(low, high):
    if low is not None and high is not None and low > high:
        low, high = high, low
    text = "..".join("" if end is None else f"{end:g}" for end in (low, high))
    assert parse([f"pii_left={text}"], KNOWN) == {"pii_left": Bounds(low, high)}


def test_of_two_bounds_for_a_check_the_last_counts():
    assert parse(["pii_left=..1", "pii_left=..0.5", "utilisation=.9.."], KNOWN) == {
        "pii_left": Bounds(high=0.5),
        "utilisation": Bounds(low=0.9),
    }
    assert parse([], KNOWN) == {}


@pytest.mark.parametrize(
    "setting, message",
    [
        ("pii_lft=..1", 'there is no check "pii_lft"; did you mean "pii_left"?'),
        ("pii_left", "the bound of pii_left is a range, as in pii_left=..0.01"),
        ("pii_left=1", "is a range"),
        ("pii_left=a..b", "is a range"),
        ("pii_left=-1..1", "is a range"),
        ("chars_per_token=6..2", "the bound of chars_per_token begins above its end"),
        ("chars_per_token=x", r"as in chars_per_token=2\.\.6"),
        ("", "there is no check"),
    ],
)
def test_what_is_no_bound_is_explained(setting, message):
    with pytest.raises(InputError, match=message):
        parse([setting], KNOWN)


@pytest.mark.parametrize(
    "bounds, unit, expected",
    [
        (Bounds(), "share", "any"),
        (Bounds(high=0), "count", "none"),
        (Bounds(high=0.05), "share", "at most 5 %"),
        (Bounds(low=0.2), "share", "at least 20 %"),
        (Bounds(low=0), "count", "at least 0"),
        (Bounds(2, 6), "number", "2 to 6"),
        (Bounds(high=12345), "count", "at most 12,345"),
    ],
)
def test_a_bound_in_words(bounds, unit, expected):
    assert bounds.in_words(unit) == expected


@pytest.fixture
def facts():
    return RunFacts(RunTables(made_run()), 1000, frozenset())


CHANGE = RecipeChange("find copies", "add", "dedup/exact", {}, "last")


def rule(monkeypatch, measured, outside="warning"):
    own = CheckRule("Is it so?", "share", Bounds(high=0.5), outside, lambda facts: measured)
    monkeypatch.setitem(AUDIT_CHECKS, "made", own)


def test_a_value_within_its_bounds_is_ok_and_needs_no_advice(facts, monkeypatch):
    rule(monkeypatch, Measured(0.5, "half of it", "change it", ("1",), (CHANGE,)))
    check = judge("made", facts, None)
    assert (check.verdict, check.advice, check.examples, check.changes) == ("ok", "", (), ())
    assert check.shown == "50.0 %" and check.seen == "half of it" and check.question == "Is it so?"


def test_a_value_outside_has_its_advice(facts, monkeypatch):
    rule(monkeypatch, Measured(0.75, "most of it", "or change it", ("1", "2"), (CHANGE,)))
    check = judge("made", facts, None)
    assert check.verdict == "warning" and check.examples == ("1", "2")
    assert check.advice == "add dedup/exact as the last step; or change it"


def test_outside_a_bound_of_the_user_it_is_a_red_flag(facts, monkeypatch):
    rule(monkeypatch, Measured(0.4, "some of it"))
    assert judge("made", facts, None).verdict == "ok"
    assert judge("made", facts, Bounds(high=0.3)).verdict == "red flag"
    assert judge("made", facts, Bounds()).verdict == "ok"


def test_what_is_not_measured_says_why_and_what_would(facts, monkeypatch):
    rule(monkeypatch, Unmeasured("nothing is there", changes=(CHANGE,)))
    check = judge("made", facts, Bounds(high=0.0))
    assert (check.verdict, check.value, check.shown) == ("not measured", None, "–")
    assert check.seen == "nothing is there" and check.advice == "add dedup/exact as the last step"


def test_every_check_of_a_run_is_whole(facts):
    for name in AUDIT_CHECKS:
        check = judge(name, facts, None)
        assert check.name == name and check.question.endswith("?") and check.seen
        assert check.verdict in ("ok", "warning", "red flag", "not measured")
        assert check.value is None or (check.unit != "share" or 0 <= check.value <= 1)
        assert json.loads(json.dumps(dataclasses.asdict(check)))["name"] == name


def test_a_run_without_output_has_nothing_to_measure(monkeypatch):
    empty = RunFacts(RunTables(made_run()), 0, frozenset())
    for name in ("duplicates_left", "residual_html", "pii_left", "one_template"):
        assert judge(name, empty, None).seen == "the run kept no documents"
    assert checks.NO_OUTPUT.why == "the run kept no documents"


def check(name, verdict, value=None):
    return Check(name, "?", value, "share", Bounds(high=0.1), verdict, "seen", "advice")


AUDIT = Audit("runs/x", 10, 5, (check("a", "ok", 0.0), check("b", "warning", 0.2), check("c", "red flag", 1.0)))


def test_an_audit_is_sorted_by_verdict():
    assert [one.name for one in AUDIT.red_flags] == ["c"] and [one.name for one in AUDIT.warnings] == ["b"]
    assert AUDIT["a"].verdict == "ok"
    with pytest.raises(KeyError):
        AUDIT["d"]
    assert repr(AUDIT) == "<Audit runs/x: 3 checks, c (red flag), b (warning)>"
    assert repr(Audit("runs/x", 1, 1, ())) == "<Audit runs/x: 0 checks, nothing found>"


def test_an_audit_in_a_notebook_is_a_table_without_markup_of_its_own():
    html = Audit(HOSTILE, 1, 1, (dataclasses.replace(AUDIT["c"], seen=HOSTILE),))._repr_html_()
    assert "<script>" not in html and "<img" not in html and "observed" in html


def texts(*values):
    return pa.array(values, pa.large_string())


def test_the_first_few_ids_of_a_sample_are_named():
    sample = AuditSample(("a", "b", "c", "d"), texts(*"abcd"))
    assert sample.ids_where(np.array([False, True, True, True])) == ("b", "c", "d")
    assert sample.ids_where(np.array([True] * 4), limit=1) == ("a",)
    assert sample.ids_where(np.zeros(4, bool)) == ()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<p>a</p>", True),
        ("a &amp; b", True),
        ("a &#8217; b", True),
        ("a & b < c", False),
        ("", False),
        ("&unknown;", False),
    ],
)
def test_html_is_tags_and_entities(text, expected):
    assert has_html(texts(text)).tolist() == [expected]


def test_personal_data_is_found_by_kind():
    found = personal_data(texts("write to a.b@example.org", "nothing here", ""))
    assert found["email"].tolist() == [True, False, False]
    assert "address" not in found and all(len(has) == 3 for has in found.values())


def test_a_template_needs_two_documents():
    opening = "one two three four five six seven eight"
    assert not one_template(texts(f"{opening} a")).any()
    assert not one_template(texts("", "")).any()
    assert one_template(texts(f"{opening} a", f"{opening.upper()}, b", "other words")).tolist() == [True, True, False]


@given(st.text(alphabet="~a\n`|"))
def test_no_text_closes_its_fence(text):
    lines = fenced(text).split("\n")
    fence = lines[0].split(" ")[0]
    assert lines[-1] == fence and set(fence) == {"~"} and len(fence) >= 4
    assert all(line.startswith("| ") for line in lines[1:-1]) and fence not in text


def test_a_cell_of_a_table_is_one_cell():
    assert table([["a", "b"], ["x|y", "1\n2"]]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |"


@pytest.mark.parametrize("settings", [{"samples": -1}, {"chars": 0}])
def test_a_prompt_of_nothing_is_refused(settings):
    with pytest.raises(InputError, match="a prompt has 0 samples or more"):
        review_prompt(made_run(), AUDIT, **settings)


def test_a_prompt_without_documents_has_the_numbers():
    text = review_prompt(made_run(), AUDIT, samples=0)
    for part in ("## Documents by step", "## Statistics", "## Checks", "## Recipe", "## Answer", "| red flag | c |"):
        assert part in text
    assert "\n| id: " not in text


def test_a_prompt_shows_at_most_so_many_characters():
    short, long = (review_prompt(made_run(), AUDIT, samples=1, chars=chars) for chars in (20, 400))
    assert len(short) < len(long)
    assert "\x1b" not in long and "\u202e" not in long
