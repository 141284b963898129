"""What units count is what is in their rows, however these are cut."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.engine.work.bins import closed_side, edges_around
from corpusmill.engine.work.pass_facts import PassFacts, facts_of
from corpusmill.engine.work.text_facts import LENGTHS
from corpusmill.report.histograms import signals
from corpusmill.report.rule_counts import counted_in_rows
from corpusmill.report.tables import RunTables
from corpusmill.steps.verdict import Bound
from corpusmill.store.facts import in_order, total
from made_run import made_run

LABELS = ("language", "quality", "exact")
BOUNDS = {
    "quality.min_words": Bound("quality.words", "<", 20.0),
    "quality.max_digits": Bound("quality.digits", ">", 0.3),
    "quality.max_lines": Bound("quality.lines", ">=", 3.0),
}
NUMBERS = {"quality.words": pa.int64(), "quality.digits": pa.float32(), "quality.lines": pa.int64()}
rows = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["web", "books"]),
        "dropped_by": st.none() | st.sampled_from(LABELS),
        "tokens": st.none() | st.integers(0, 3000),
        "bytes": st.integers(0, 3000),
        "language.label": st.none() | st.sampled_from(["en", "de"]),
        "language.score": st.none() | st.just(0.5),
        "quality.words": st.none() | st.integers(0, 4000),
        "quality.digits": st.none() | st.sampled_from([0.0, 0.25, 0.5, 7.0, math.nan, math.inf]),
        "quality.lines": st.integers(0, 99),
        "exact.duplicate_of": st.none() | st.just("x"),
        "exact.similarity": st.none() | st.sampled_from([0.8, 0.99, 1.0]),
    }
)


def table(made):
    types = NUMBERS | {"tokens": pa.int64(), "bytes": pa.int64(), "language.score": pa.float32()}
    types |= {"exact.similarity": pa.float64()}
    reasons = [row["dropped_by"] and f"{row['dropped_by']}.one,quality.min_words" for row in made]
    names = [*made[0]]
    columns = {name: pa.array([row[name] for row in made], types.get(name, pa.string())) for name in names}
    return pa.RecordBatch.from_pydict({**columns, "reasons": pa.array(reasons, pa.string())})


@given(st.lists(rows, min_size=1, max_size=30), st.integers(0, 30))
def test_facts_are_those_of_the_rows_one_by_one(made, cut):
    only = {"language": ("web",)}
    whole = table(made)
    facts = facts_of({name: whole[name] for name in whole.schema.names}, LABELS, only, BOUNDS)

    own = [(row["dropped_by"], f"{row['dropped_by']}.one", "quality.min_words") for row in made if row["dropped_by"]]
    failed = Counter(reason for by, *reasons in own for reason in reasons if reason.startswith(f"{by}."))
    assert {reason: counts[1] for reason, counts in facts["rules"].items()} == dict(failed)
    assert sum(counts[0] for counts in facts["rules"].values()) == len(own)

    for reason, bound in BOUNDS.items():
        edges, _ = edges_around(bound, pa.types.is_integer(NUMBERS[bound.signal]))
        expected = [0] * (len(edges) - 1)
        for row in made:
            value = row[bound.signal]
            if row["dropped_by"] != "language" and value is not None and math.isfinite(value):
                expected[slow_place(value, edges, closed_side(bound))] += 1
        counts = facts["signals"][reason]
        assert counts + [0] * (len(expected) - len(counts)) == expected
        assert not counts or counts[-1]

    for unit in ("tokens", "bytes"):
        for side in ("kept", "dropped"):
            values = [row[unit] for row in made if (row["dropped_by"] is None) == (side == "kept")]
            values = [value for value in values if value is not None]
            by = Counter(max(i for i, low in enumerate(LENGTHS) if low <= value) for value in values)
            counts = facts["lengths"][unit][side]
            assert (counts["documents"], counts["total"]) == (len(values), sum(values))
            assert {i: times for i, times in enumerate(counts["bins"]) if times} == dict(by)

    languages = Counter(
        (row["language.label"] or "", row["dropped_by"] is None) for row in made if row["source"] == "web"
    )
    found = facts["languages"]["language"]
    assert {(name, kept): n for name, (k, d) in found.items() for kept, n in ((True, k), (False, d)) if n} == languages
    assert facts["duplicates"]["exact"]["documents"] == sum(row["exact.duplicate_of"] is not None for row in made)
    assert sum(facts["similarities"]["exact"]) == sum(row["exact.similarity"] is not None for row in made)

    cut = min(cut, len(made))
    parts: list[dict[str, Any]] = []
    for part in (whole.slice(0, cut), whole.slice(cut)):
        counted = PassFacts(LABELS, only, BOUNDS)
        counted.add(part)
        parts.append({})
        counted.finish(parts[-1])
    assert in_order(total(parts)) == in_order(facts)


def slow_place(value, edges, closed):
    inside = [low <= value if closed == "left" else low < value for low in edges[1:-1]]
    return sum(inside)


def test_a_run_counts_what_is_in_its_rows():
    tables = RunTables(made_run())
    for number, (stage, _) in enumerate(tables.passes):
        assert tables.files.facts(stage)["rules"] == counted_in_rows(tables, number)
    shown = signals(tables)
    rows = pa.concat_tables([pq.read_table(path) for path in tables.files.paths("signals", 0)])
    for reason, histogram in shown.items():
        bound = tables.bounds[reason]
        if reason.startswith("gopher_quality."):  # the first step: all documents reach it
            values = rows[bound.signal].drop_null().to_numpy().astype(float)
            inner = np.array(histogram.edges[1:-1])
            reach = (inner <= values[:, None]) if closed_side(bound) == "left" else (inner < values[:, None])
            expected = np.bincount(reach.sum(axis=1), minlength=len(histogram.edges) - 1)
            assert np.array_equal(np.sum(list(histogram.counts.values()), axis=0), expected), reason


@pytest.mark.parametrize("unit", ["tokens", "bytes"])
def test_the_shortest_and_the_longest_are_notes(unit):
    tables = RunTables(made_run())
    last, _ = tables.passes[-1]
    rows = pa.concat_tables([pq.read_table(path) for path in tables.files.paths("signals", len(tables.passes) - 1)])
    kept = [row[unit] for row in rows.to_pylist() if row["dropped_by"] is None]
    notes = [[int(part) for part in note.split(",")] for note in tables.files.stages[last].notes["lengths"]]
    at = 0 if unit == "tokens" else 4
    assert (min(note[at] for note in notes), max(note[at + 1] for note in notes)) == (min(kept), max(kept))
