"""annotate/bucket: the quantile of the highest quantile, by sorting; edges that it notes give the same buckets."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill import Recipe, Source
from corpusmill.errors import RecipeError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import Jsonl
from corpusmill.report.run_files import RunFiles
from corpusmill.steps.annotate.bucket import Bucket, buckets_of, edges_of

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


@given(columns, st.integers(2, 8))
def test_it_is_the_quantile_of_the_highest_quantile(scores, buckets):
    arrays = [np.array(values) for values in scores]
    assert buckets_of(arrays, edges_of(arrays, buckets)).tolist() == slow_buckets(scores, buckets)


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
    recipe = Recipe(read=[Source(Jsonl(), str(folder / "in.jsonl"))], steps=steps)
    try:
        done = corpusmill.run(recipe, folder=folder / "run", executor=executor, progress=False)
    finally:
        executor.close()
    files = RunFiles(done.place)
    rows = [
        bucket for batch in files.documents("signals", 1, ["bucket.bucket"], 100) for bucket in batch[0].to_pylist()
    ]
    return rows, files.stages["bucket-verdicts"].facts


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
