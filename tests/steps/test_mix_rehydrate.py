"""Documents are drawn as often as the size of their cluster of copies says."""

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
from corpusmill.errors import AssetError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import RunSettings
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.mix.rehydrate import FINEWEB2, Rehydrate, times
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.write.shards import ShardsWriter

COPIES = {"a lonely text": 1, "a text that two have": 2, "a text of many": 6, "a text of all": 101}


def slow_times(size, weights):
    """As the example that FineWeb2 publishes: a list of all sizes up to the largest."""
    listed, expanded = dict(weights), [1]
    for i in range(1, max(listed) + 1):
        expanded.append(listed.get(i, expanded[-1]))
    return expanded[min(size, len(expanded) - 1)]


weights = st.dictionaries(st.integers(1, 40), st.integers(0, 9), min_size=1).map(lambda d: tuple(sorted(d.items())))


@given(st.lists(st.integers(1, 60), max_size=20), weights)
def test_weights_hold_from_their_size_up_to_the_next(sizes, given_weights):
    drawn = times(np.array(sizes, np.int64), given_weights)
    assert drawn.tolist() == [slow_times(size, given_weights) for size in sizes]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copies")
    rows = [{"id": f"{text}-{i}", "text": text} for text, n in COPIES.items() for i in range(n)]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder / "in.jsonl"


def drawn(corpus, folder, **parameters):
    steps = (Exact(), Rehydrate(cluster_size="exact.cluster_size", **parameters), Bpe(), Concat(length=16))
    read = [Source(JsonlReader(), str(corpus), "web")]
    recipe = Recipe(read=read, steps=steps, write=(ShardsWriter(tokens_per_shard=4096),), run=RunSettings(unit_mb=1))
    done = corpusmill.run(recipe, folder=folder, executor=Serial())
    paths = sorted((done.shards / "documents").glob("*.parquet"))
    found = Counter(name for path in paths for name in pq.read_table(path)["id"].to_pylist())
    return sorted(found.values())


def test_shards_hold_each_document_as_often_as_its_copies_say(corpus, tmp_path):
    assert drawn(corpus, tmp_path / "run") == [1, 2, 5, 8]
    assert drawn(corpus, tmp_path / "run", weights={1: 0, 2: 3, 100: 1}) == [1, 3, 3]


def test_weights_of_a_language_are_its_own(tmp_path):
    path = tmp_path / "weights.json"
    path.write_text('{"ita_Latn": {"1": 1, "2": 4}, "mlt_Latn": {"3": 7}}')
    step = Rehydrate(by_language=str(path), weights=((2, 2),))
    assert step.needs == ("minhash.cluster_size", "fineweb2.settings")
    docs = pa.record_batch({"text": pa.array(["a"] * 5, pa.large_string())})
    signals = {
        "minhash.cluster_size": pa.array([2, 2, 3, 2, None]),
        "fineweb2.settings": pa.array(["ita_Latn", "mlt_Latn", "mlt_Latn", "fra_Latn", None]),
    }
    assert step.keys(docs, signals).arrays["copies"].tolist() == [4, 1, 7, 2, 1]


@pytest.mark.parametrize("wrong", [{}, {0: 1}, {1: -1}, {1: 1.5}, {"two": 1}, {1: True}, 3, {1: 5000}, {1: 1, "1": 2}])
def test_wrong_weights_are_an_error(wrong):
    with pytest.raises(RecipeError, match="weights"):
        Rehydrate(weights=wrong)


def test_a_wrong_file_or_signal_is_an_error(tmp_path):
    path = tmp_path / "weights.json"
    for content in ("[1]", '{"ita_Latn": 3}', '{"ita_Latn": {"a": 1}}', "{"):
        path.write_text(content)
        with pytest.raises(AssetError, match=r"weights\.json"):
            Rehydrate(by_language=str(path))
    with pytest.raises(RecipeError, match="signal of an earlier step"):
        Rehydrate(cluster_size="minhash")
    docs = pa.record_batch({"text": pa.array(["a"], pa.large_string())})
    with pytest.raises(RecipeError, match="is an integer"):
        Rehydrate().keys(docs, {"minhash.cluster_size": pa.array([0.5])})
    assert FINEWEB2[0] == (1, 1)
