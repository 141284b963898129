"""annotate/embedding: a vector of each text, by its text alone."""

import json
from typing import Any

import duckdb
import numpy as np
import onnx
import pytest

import corpusmill
from conftest import docs
from corpusmill.errors import AssetError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.report.tables import RunTables
from corpusmill.report.views import sql
from corpusmill.steps import Embedding
from made_encoder import FOLDER, WORDS, make

pytest.importorskip("onnxruntime")

TEXT = "the river ran past the old mill"


def vectors(*texts, **settings):
    parameters: dict[str, Any] = {"model": str(FOLDER), "window": 64} | settings
    return Embedding(**parameters).signals(docs(*texts))["vector"].to_pylist()


def tokens(text):
    """(tokens, width) those of the table, with the first and last one of the template."""
    model = onnx.load(FOLDER / "model.onnx")
    table = onnx.numpy_helper.to_array(model.graph.initializer[0])
    return table[[WORDS.index(word) for word in ("[CLS]", *text.split(), "[SEP]")]].astype(np.float64)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_the_model_of_the_tests_is_what_its_module_makes(tmp_path):
    made = make(tmp_path)
    assert all((made / path.name).read_bytes() == path.read_bytes() for path in FOLDER.iterdir())


def test_a_vector_is_the_mean_of_the_tokens_or_the_first_one(tmp_path):
    mean, none, empty = vectors(TEXT, None, " \n")
    assert none is empty is None
    assert np.allclose(mean, unit(tokens(TEXT).mean(axis=0)), atol=6e-5)
    (first,) = vectors(TEXT, pooling="cls")
    assert np.allclose(first, unit(tokens(TEXT)[0]), atol=6e-5)
    (pooled,) = vectors(TEXT, model=str(make(tmp_path, pooled=True)))
    assert np.allclose(pooled, unit(tokens(TEXT).max(axis=0)), atol=6e-5)
    assert vectors("river", prefix="the old ") == vectors("the old river")
    assert vectors(None, " ", prefix="the old ") == [None, None]


def test_windows_are_put_together():
    (both,) = vectors("the river ran past", window=4, windows=None)
    expected = unit(tokens("the river").mean(axis=0)) + unit(tokens("ran past").mean(axis=0))
    assert np.allclose(both, unit(expected), atol=6e-5)
    assert vectors("the river ran past", window=4) == vectors("the river")


def test_batches_make_no_difference():
    texts = [" ".join(WORDS[4 : 5 + number % 16]) for number in range(60)]
    alone = vectors(*texts, batch=1)
    for batch in (7, 32):
        assert np.abs(np.array(vectors(*texts, batch=batch)) - np.array(alone)).max() <= 1e-4
    assert [vectors(text, batch=7)[0] for text in texts[:5]] == vectors(*texts, batch=7)[:5]


def test_vectors_are_in_the_output_of_a_run_and_in_sql(tmp_path):
    lines = [json.dumps({"id": f"{number}", "text": text}) for number, text in enumerate([TEXT, "the sea", TEXT, ""])]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        f"name: vectors\nread: [{{jsonl: {{paths: {tmp_path}/in.jsonl}}}}]\n"
        f"steps: [{{annotate/embedding: {{model: {FOLDER}, window: 64}}}}]\n"
        "write: [{parquet: {columns: [id, text, embedding.vector]}}]\n"
    )
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    (file,) = (done.output / "parquet").rglob("*.parquet")
    similar = duckdb.sql(
        f"SELECT list_cosine_similarity(a.vector, b.vector) FROM (SELECT \"embedding.vector\" AS vector, text FROM '{file}') a, "
        f"(SELECT \"embedding.vector\" AS vector, text FROM '{file}') b WHERE a.text = b.text"
    ).fetchall()
    assert len(similar) == 5 and all(value == pytest.approx(1, abs=1e-3) for (value,) in similar)
    found = sql(RunTables(done.folder), "SELECT len(embedding.vector) FROM documents")
    assert {row[0] for row in found.rows} == {8}


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(AssetError, match=r"has no model\.onnx"):
        _ = Embedding(model=str(tmp_path)).assets
    with pytest.raises(RecipeError, match="need window >= 1, got 0"):
        Embedding(model=str(FOLDER), window=0)
    with pytest.raises(RecipeError, match="window: 128 tokens are more than the 64"):
        vectors(TEXT, window=128)
