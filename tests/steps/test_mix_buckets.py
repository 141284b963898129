"""mix/buckets: the curve keeps its promises, a published mix comes out, and shards hold what was planned."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill import Recipe, Source
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import RunSettings
from corpusmill.report.figures.mix import mixes
from corpusmill.report.tables import RunTables
from corpusmill.steps.annotate.bucket import Bucket
from corpusmill.steps.annotate.stats import Stats
from corpusmill.steps.mix._presets import TOPICS, preset
from corpusmill.steps.mix.buckets import OTHER, MixBuckets
from corpusmill.steps.mix.sources import Sources
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.tokenize.bytes import Bytes
from corpusmill.tokens.mixing import most_of_curve, upsampling
from corpusmill.write.shards import ShardsWriter

# Billions of tokens in the pool and in the mix of Dolma 3, of its README: what is there, and how often it is drawn.
POOL = {
    "common_crawl": 8140, "science_pdfs": 972, "stack_edu": 137, "finemath": 34.1, "arxiv": 21.4, "wikipedia": 3.69
}  # fmt: skip
EPOCHS = {
    "common_crawl": 0.55, "science_pdfs": 0.83, "stack_edu": 2.99, "finemath": 4.46, "arxiv": 2.37, "wikipedia": 0.68
}  # fmt: skip
# The topics of its web part: of all documents before the mix, the same README.
SCIENCE, GAMES, FASHION = "Science, Math, and Technology", "Games", "Fashion and Beauty"
NATURAL = {SCIENCE: 0.05, GAMES: 0.0367, FASHION: 0.0324}

sizes = st.lists(st.integers(0, 10**12), min_size=1, max_size=24).map(lambda some: np.array(some, np.int64))


@given(sizes, st.floats(0, 1), st.floats(0.1, 12), st.floats(0, 0.95))
def test_a_curve_gives_what_is_wanted_and_is_monotone_and_capped(there, part, cap, discard):
    wanted = part * most_of_curve(there, cap, discard)
    epochs = upsampling(there, wanted, cap, discard)
    assert there @ epochs == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert (np.diff(epochs) >= -1e-12).all() and (epochs <= cap).all() and (epochs >= 0).all()
    middle = (np.cumsum(there) - there / 2) / max(there.sum(), 1)
    assert not epochs[middle < discard].any()


def test_the_epochs_of_a_published_mix_come_out_of_its_pool():
    step = Sources(
        preset="dolma3", preset_sources=tuple((name, name) for name in POOL), budget=int(5.92931e12), max_epochs=5.0
    )
    quotas = step.plan({name: {"documents": 1, "size": int(size * 1e9)} for name, size in POOL.items()})
    assert {quota.source: round(quota.epochs, 2) for quota in quotas} == EPOCHS
    assert preset("dolma3")["common_crawl"] == 4510


def test_the_topics_of_a_published_mix_are_drawn_by_its_shares():
    step = MixBuckets(topic="classifier.label", preset="dolma3", budget=int(4.51e12))
    pool = 8.14e12
    totals = {name: {"documents": 10, "size": 0} for name in step.groups(())}
    for topic in TOPICS["dolma3"]:
        for k in range(20):
            totals[f"{topic}/{k}"]["size"] = int(NATURAL.get(topic, 0.04) * pool / 20)
    quotas = {quota.source: quota for quota in step.plan(totals)}
    total = sum(TOPICS["dolma3"].values())
    for topic, share in TOPICS["dolma3"].items():
        parts = [quotas[f"{topic}/{k}"] for k in range(20)]
        assert sum(part.wanted for part in parts) == pytest.approx(share / total * 4.51e12, rel=1e-6)
        assert not any(part.wanted for part in parts[:8]) and max(part.epochs for part in parts) <= 7
        assert [part.epochs for part in parts] == sorted(part.epochs for part in parts)
    assert quotas[OTHER].wanted == 0
    assert quotas[f"{SCIENCE}/19"].epochs > quotas[f"{GAMES}/19"].epochs > quotas[f"{FASHION}/19"].epochs


def test_a_topic_that_cannot_give_its_share_is_refused():
    step = MixBuckets(shares=(("web", 1.0), ("code", 3.0)), buckets=2, budget=1000, cap=2, discard=0)
    totals = {name: {"documents": 5, "size": 100} for name in step.groups(("web", "code"))}
    with pytest.raises(RecipeError, match="code is to give 750 and can give 400 tokens, with at most 2 copies"):
        step.plan(totals)
    with pytest.raises(RecipeError, match="how much of the mix is each topic"):
        MixBuckets(topic="classifier.label", budget=10)
    with pytest.raises(RecipeError, match='there are no topics of "dolma"; did you mean "dolma3"'):
        MixBuckets(topic="classifier.label", preset="dolma", budget=10)
    with pytest.raises(RecipeError, match=r'quality is a signal of an earlier step, as in .*got "score"'):
        MixBuckets(quality="score", budget=10)
    docs = pa.RecordBatch.from_pydict({"source": ["a"], "id": ["0" * 32], "tokens": [3]})
    with pytest.raises(RecipeError, match="has bucket 20, and 20 buckets end with 19"):
        MixBuckets(budget=10).keys(docs, {"bucket.bucket": pa.array([20])})
    with pytest.raises(RecipeError, match="a bucket is an integer"):
        MixBuckets(budget=10).keys(docs, {"bucket.bucket": pa.array([0.5])})


def test_a_run_draws_what_was_planned(tmp_path):
    """Longer documents are the better ones here: of 40 of each source, in 4 buckets of 10."""
    for source in ("web", "code"):
        rows = [{"id": f"{source}-{i}", "text": "word " * (i + 1)} for i in range(40)]
        (tmp_path / f"{source}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = [Source(JsonlReader(), str(tmp_path / f"{source}.jsonl"), source) for source in ("web", "code")]
    mix = MixBuckets(shares=(("web", 3), ("code", 1)), buckets=4, budget=6000, cap=4, discard=0.1, unit="bytes")
    steps = (Stats(), Bucket(by=("stats.words",), buckets=4), mix, Bytes(), Concat(length=64))
    recipe = Recipe(read=read, steps=steps, write=(ShardsWriter(),), run=RunSettings(unit_mb=1))
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    names = pq.read_table(next((done.shards / "documents").glob("*.parquet")))["id"].to_pylist()
    (drawn,) = mixes(RunTables(done.folder))
    assert [one.source for one in drawn.sources] == [
        OTHER,
        *(f"{name}/{k}" for name in ("code", "web") for k in range(4)),
    ]
    by_name = {one.source: one for one in drawn.sources}
    for source, wanted in (("web", 4500), ("code", 1500)):
        parts = [by_name[f"{source}/{k}"] for k in range(4)]
        assert sum(part.wanted for part in parts) == wanted
        assert all(part.wanted - 200 < part.drawn <= part.wanted for part in parts)
        assert sorted(part.epochs for part in parts) == [part.epochs for part in parts]
        assert parts[3].epochs <= 4 and parts[0].epochs < parts[3].epochs
    assert len(names) == sum(one.appearances for one in drawn.sources)
    assert max(Counter(names).values()) > 1
