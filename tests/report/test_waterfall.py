"""The waterfall: it adds up or is refused, is the same after a round trip, and is a table wherever it is shown."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.errors import RunError
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall, WaterfallRow, rows_of, special_tokens_per_document
from made_run import made_run


def source(documents, skipped=0, dead=0):
    records = documents + skipped + dead
    kinds = {"skipped": {"image": skipped}, "expected": {}, "dead": {"bad_json": dead}}
    return {"records": records, "documents": documents, "bytes": 10 * records, **kinds}


def row(step, documents_in, documents_out, reasons=None, failed=0, **values):
    numbers = {"bytes_in": documents_in * 9, "bytes_out": documents_out * 9}
    numbers |= {"tokens_in": documents_in * 3, "tokens_out": documents_out * 3}
    return WaterfallRow(
        step, documents_in, documents_out, **numbers, failed=failed, reasons=reasons or {}, sources={}, **values
    )


FLOW = Waterfall(
    {"web": source(10, 2, 1)},
    (row("quality", 10, 7, {"min_words": 2, "max_words": 1}), row("exact", 7, 6, {"duplicate": 1})),
)
EMPTY = Waterfall({"web": source(0)}, ())


def test_a_flow_that_adds_up_is_not_refused():
    for flow in (FLOW, EMPTY, Waterfall({}, ()), RunTables(made_run()).files.waterfall()):
        flow.check()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"read": {"web": source(10) | {"records": 12}}}, "web: 12 records were read, and 10 are accounted for"),
        ({"read": {"web": source(9)}}, "quality: 9 input documents expected, 10 counted"),
        (
            {"rows": (row("quality", 10, 8, {"min_words": 1}),)},
            "quality: 10 input documents expected, 10 counted; 8 kept, 1 dropped and 0 failed",
        ),
        (
            {"rows": (row("quality", 10, 7, {"min_words": 3}), row("exact", 6, 6))},
            "exact: 7 input documents expected, 6 counted",
        ),
    ],
)
def test_a_flow_that_does_not_add_up_is_refused(change, message):
    with pytest.raises(RunError, match=message):
        replace(FLOW, **change).check()


def test_documents_that_a_step_failed_on_count():
    replace(FLOW, rows=(row("quality", 10, 8, {"min_words": 1}, failed=1),)).check()


def test_a_step_that_is_not_for_a_source_passes_all_of_it():
    passed = {"web": {"documents_out": 7, "passed_through": 7}}
    replace(FLOW, rows=(replace(FLOW.rows[0], sources=passed),)).check()
    passed["web"]["passed_through"] = 6
    with pytest.raises(RunError, match="quality is not for web, and not all of its documents passed through"):
        replace(FLOW, rows=(replace(FLOW.rows[0], sources=passed),)).check()


def test_it_is_the_same_after_a_round_trip():
    for flow in (FLOW, EMPTY, RunTables(made_run()).files.waterfall()):
        assert Waterfall.from_json(json.loads(json.dumps(flow.to_json()))) == flow


def test_what_is_zero_is_not_written():
    first, _ = FLOW.to_json()["steps"]
    assert "passed_through" not in first and "uncounted_in" not in first
    assert "written" not in FLOW.to_json()
    some = replace(FLOW, rows=(row("a", 1, 1, passed_through=1, uncounted_in=1),), written={"mds": {"rows": 3}})
    assert some.to_json()["steps"][0]["passed_through"] == 1 and some.to_json()["written"] == {"mds": {"rows": 3}}


def test_it_is_in_short_a_share():
    assert FLOW.in_short() == "10 documents in, 6 kept (60.0 %)"
    assert EMPTY.in_short() == "0 documents in, 0 kept (0.0 %)"


def test_a_table_has_a_row_per_step_with_the_first_reasons():
    many = {f"rule_{i}": 9 - i for i in range(5)}
    flow = replace(FLOW, rows=(row("quality", 50, 14, many, failed=1),))
    head, (cells,) = flow.steps_table()
    assert head == ["step", "in", "kept", "dropped", "reasons"]
    assert cells == ["quality", 50, 14, 35, "failed 1, rule_0 9, rule_1 8, rule_2 7, 2 more"]


def test_the_terminal_and_the_notebook_show_the_same():
    text, html = repr(FLOW), FLOW._repr_html_()
    for words in ("quality", "exact", "min_words 2", "10 documents in, 6 kept"):
        assert words in text and words in html
    assert len({line.index("exact") for line in text.splitlines() if "exact" in line}) == 1


def test_a_funnel_has_shares_of_the_step_and_of_the_input():
    first, second = FLOW.funnel()
    assert (first["share_of_step"], first["share_of_input"]) == (0.7, 0.7)
    assert (second["share_of_step"], second["share_of_input"]) == (round(6 / 7, 6), 0.6)
    assert Waterfall({}, (row("a", 0, 0),)).funnel()[0]["share_of_input"] == 0


def test_tokens_are_counted_where_there_are_any():
    assert FLOW.counts_tokens and FLOW.counts_all_tokens
    assert not EMPTY.counts_tokens and not EMPTY.counts_all_tokens
    partly = replace(FLOW, rows=(row("a", 2, 1, uncounted_in=1),))
    assert partly.counts_tokens and not partly.counts_all_tokens


def test_special_tokens_are_what_tokens_exceed_those_of_texts_by():
    last = row("a", 5, 5)  # 15 tokens
    assert special_tokens_per_document({}, last) == 1
    assert special_tokens_per_document({"documents": 5, "tokens": 15}, last) == 0
    assert special_tokens_per_document({"documents": 5, "tokens": 25}, last) == 2


FLOWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=5)


@given(FLOWS, st.integers(0, 20))
def test_a_document_that_a_step_failed_on_passed_the_steps_before_it(steps, kept):
    """A slow obvious twin: every document is followed through the steps."""
    labels = tuple(f"step_{i}" for i in range(len(steps)))
    fates = [(i, "drop") for i, (drops, _) in enumerate(steps) for _ in range(drops)]
    fates += [(i, "fail") for i, (_, fails) in enumerate(steps) for _ in range(fails)]
    fates += [(len(steps), "keep")] * kept
    facts: dict[str, dict[str, Any]] = {"steps": {}, "reasons": {}, "failed": {}}
    for i, label in enumerate(labels):
        own = [at for at, fate in fates if fate != "fail"]  # a pass counts only those that no step failed on
        flow = {"documents_in": sum(at >= i for at in own), "documents_out": sum(at > i for at in own)}
        facts["steps"][label] = {"web": flow | dict.fromkeys(("bytes_in", "bytes_out", "tokens_in", "tokens_out"), 0)}
        facts["reasons"][label] = {"web": {"rule": steps[i][0]}} if steps[i][0] else {}
        facts["failed"][label] = {"web": steps[i][1]} if steps[i][1] else {}
    rows = rows_of(labels, facts)
    for i, found in enumerate(rows):
        assert found.documents_in == sum(at >= i for at, _ in fates)
        assert found.documents_out == sum(at > i for at, _ in fates)
        assert found.failed == steps[i][1] and sum(found.reasons.values()) == steps[i][0]
    Waterfall({"web": source(len(fates))}, tuple(rows)).check()
