"""annotate/bucket: the quantile of the highest quantile, by sorting; edges that it notes give the same buckets."""

import json
import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import corpusmill
from corpusmill import Recipe, Source
from corpusmill.errors import RecipeError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import JsonlReader
from corpusmill.report.run_files import RunFiles
from corpusmill.steps.annotate import _quantiles
from corpusmill.steps.annotate._quantiles import NONE, by_cell, edges_by_cell, least_reaching
from corpusmill.steps.annotate.bucket import Bucket, buckets_of, scores_of
from corpusmill.steps.ranks import ordered

value = st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0, 7.0, -3.0, math.nan]) | st.floats(-10, 10)
columns = st.integers(1, 25).flatmap(
    lambda n: st.lists(st.lists(value, min_size=n, max_size=n), min_size=1, max_size=3)
)


def slow_quantile(values):
    there = [v for v in values if not math.isnan(v)]
    return [
        None if math.isnan(v) else (sum(w < v for w in there) + 0.5 * sum(w == v for w in there)) / len(there)
        for v in values
    ]


def slow_buckets(scores, buckets):
    """The definition, read aloud."""
    quantiles = [slow_quantile(values) for values in scores]
    highest = [max((q for q in row if q is not None), default=math.nan) for row in zip(*quantiles)]
    return [-1 if q is None else min(math.floor(q * buckets), buckets - 1) for q in slow_quantile(highest)]


def edges_of(scores: list[NDArray[np.float64]], buckets: int) -> list[NDArray[np.float64]]:
    """For each score the (buckets - 1,) values from which on a document is in the bucket 1, 2, … or a higher one;
    infinite where no value is enough.

    scores   one (documents,) each, NaN where there is none

    The quantile of a value is the share of documents with a score that is lower, and half of those with the same. The
    highest of the quantiles of a document is its rank; bucket k begins where the quantile of the rank is k / buckets.
    """
    quantiles = [quantile(score) for score in scores]
    rank = np.full(len(scores[0]), np.nan)
    for each in quantiles:
        rank = np.fmax(rank, each)
    final = quantile(rank)
    edges = []
    ranked = np.sort(rank[~np.isnan(rank)])
    ends = np.sort(final[~np.isnan(final)])
    for score, each in zip(scores, quantiles):
        order = np.argsort(each, kind="stable")[: int((~np.isnan(each)).sum())]
        own = np.full(buckets - 1, np.inf)
        for k in range(1, buckets):
            first = int(np.searchsorted(ends, k / buckets))
            if first < len(ranked):
                at = int(np.searchsorted(each[order], ranked[first]))
                if at < len(order):
                    own[k - 1] = score[order[at]]
        edges.append(own)
    return edges


def quantile(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(documents,) the share of the values that are lower, and half of those that are equal; NaN of NaN."""
    there = ~np.isnan(values)
    _, place, count = np.unique(values[there], return_inverse=True, return_counts=True)
    share = np.full(len(values), np.nan)
    share[there] = ((np.cumsum(count) - count / 2) / max(int(there.sum()), 1))[place]
    return share


@given(columns, st.integers(2, 8))
def test_it_is_the_quantile_of_the_highest_quantile(scores, buckets):
    arrays = [np.array(values) for values in scores]
    assert buckets_of(arrays, edges_of(arrays, buckets)).tolist() == slow_buckets(scores, buckets)


ties = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, -3.0, math.inf, -math.inf, math.nan]) | st.floats(-10, 10)
many = st.tuples(st.integers(0, 60), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(st.lists(ties, min_size=shape[0], max_size=shape[0]), min_size=shape[1], max_size=shape[1])
)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(many, st.lists(st.integers(0, 60), max_size=3), st.integers(2, 24), st.integers(2, 40), st.integers(0, 20))
def test_units_find_the_edges_that_one_sort_of_all_finds(scores, cuts, buckets, cells, together):
    """Whatever the files, the cells and the parts that are counted at a time."""
    arrays = [np.array(values, np.float64) for values in scores]
    keys = [np.where(np.isnan(values), NONE, ordered(values)) for values in arrays]
    bounds = [0, *sorted(cuts), len(arrays[0])]
    parts = [[key[start:stop] for key in keys] for start, stop in pairwise(bounds)]
    runs = [[partial(np.sort, part[i][part[i] != NONE]) for part in parts] for i in range(len(keys))]
    grid = [least_reaching(each, np.arange(1, cells) / cells) for each in runs]
    files = [partial(by_cell, part, grid) for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_quantiles, "TOGETHER", together)
        found = edges_by_cell(runs, grid, files, buckets)
    wanted = edges_of(arrays, buckets)
    for each, edges in zip(found, wanted):
        assert scores_of(each).tolist() == edges.tolist()
    if len(runs) == 1:
        one = least_reaching(runs[0], np.arange(1, buckets) / buckets)
        assert scores_of(one).tolist() == wanted[0].tolist()


def test_buckets_are_of_about_equal_size_whatever_the_scales():
    """Two documents of the same quantile, by one score each, are equal, and stay together."""
    rng = np.random.default_rng(0)
    scores = [rng.random(1000), rng.lognormal(size=1000) * 50]
    found = buckets_of(scores, edges_of(scores, 20))
    assert np.abs(np.bincount(found, minlength=20) - 50).max() <= 2


@dataclass(frozen=True, kw_only=True)
class Said:
    """The words of a text as numbers, null where one is none."""

    def signals(self, docs):
        words = [text.split() for text in docs["text"].to_pylist()]
        number = [[float(w) if w != "none" else None for w in row] for row in words]
        return {name: pa.array([row[i] for row in number], pa.float64()) for i, name in enumerate("ab")}


def bucketed(folder, texts, executor, **parameters):
    folder.mkdir()
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    steps = [Said(), Bucket(by=("said.a", "said.b"), **parameters)]
    recipe = Recipe(read=[Source(JsonlReader(), str(folder / "in.jsonl"))], steps=steps)
    try:
        done = corpusmill.run(recipe, folder=folder / "run", executor=executor, progress=False)
    finally:
        executor.close()
    files = RunFiles(done.place)
    rows = [
        bucket for batch in files.documents("signals", 1, ["bucket.bucket"], 100) for bucket in batch[0].to_pylist()
    ]
    facts = dict(files.stages["bucket-verdicts"].facts)
    if "bucket-cut" in files.stages:
        facts |= files.stages["bucket-cut"].facts
    return rows, facts


def test_a_run_puts_each_document_into_its_bucket_and_edges_do_the_same_again(tmp_path):
    rng = np.random.default_rng(1)
    texts = [f"{a:.2f} {b:.1f}" for a, b in zip(rng.random(150), rng.normal(size=150))] + [
        "none none",
        "none 9",
        "0.5 none",
    ]
    scores = [[math.nan if w == "none" else float(w) for w in text.split()] for text in texts]
    signed = [[row[0] for row in scores], [-row[1] for row in scores]]
    rows, facts = bucketed(tmp_path / "one", texts, Serial(), buckets=4, lowest=("said.b",))
    assert [-1 if row is None else row for row in rows] == slow_buckets(signed, 4)
    assert rows[150] is None
    assert sum(facts["buckets"].values()) == len(texts) - 1
    edges = tuple((name, tuple(of.values())) for name, of in facts["edges"].items())
    again, _ = bucketed(tmp_path / "two", texts, Processes(2), buckets=4, lowest=("said.b",), edges=edges)
    assert again == rows


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"by": ()}, "by must name one signal or several"),
        ({"by": ("quality",)}, 'as in "quality.score", got "quality"'),
        ({"buckets": 1}, "need 2 <= buckets"),
        ({"lowest": ("a.b",)}, 'lowest has "a.b", which is not in by'),
        ({"edges": (("a.b", (0.5,)),), "buckets": 2}, "edges must be of all signals in by"),
        ({"edges": (("quality.score", (0.5,)),), "buckets": 3}, "3 buckets have 2 edges between them, got 1"),
        ({"edges": (("quality.score", (0.5, 0.1)),), "buckets": 3}, "must be rising"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        Bucket(**parameters)
