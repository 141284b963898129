"""What the name of a classifier stands for, and its settings, labels and columns."""

import json
import re

import numpy as np
import pytest

from corpusmill.assets.extras import ONNX, TRANSFORMERS
from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.classifier import TextClassifier, column_of, extra_of, files_of, kind_of
from corpusmill.models.model_file import write_model
from corpusmill.models.onnx_classifier import CPU, ClassifierSettings, ModelConfig, chosen
from corpusmill.models.quality import Scorer, is_fasttext, list_labels
from text_strategies import strings


@pytest.fixture
def folder(tmp_path):
    for name, content in (
        ("model.onnx", b"x"),
        ("tokenizer.json", b"{}"),
        ("config.json", b'{"id2label": {"0": "bad", "1": "good"}}'),
    ):
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("label", "column"),
    [
        ("Severe toxic", "severe_toxic"),
        ("LABEL_1", "label_1"),
        ("Arts & Entertainment", "arts_entertainment"),
        ("__x__", "x"),
        ("!", ""),
        ("Ä-b", "ä_b"),
    ],
)
def test_columns_of_labels(label, column):
    assert column_of(label) == column


def test_kinds_of_what_is_there(folder, tmp_path):
    assert kind_of(str(folder)) == "transformer" and kind_of("toxicity-en") == "toxicity"
    assert kind_of("x/y.onnx") == "transformer"
    assert kind_of("lid.176.ftz") == "fasttext" and kind_of("quality-en") == "quality"
    write_model(tmp_path / "own", 1, {}, {"words": np.zeros(1), "kinds": np.zeros(1)})
    assert kind_of(str(tmp_path / "own")) == "toxicity"


def test_what_is_no_classifier(tmp_path):
    (tmp_path / "other").write_bytes(b"no model")
    with pytest.raises(
        AssetError, match=r"other: not a classifier. One is a folder with model.onnx, tokenizer.json, config.json"
    ):
        kind_of(str(tmp_path / "other"))
    with pytest.raises(AssetError):
        kind_of(str(tmp_path / "missing"))


def test_files_of_a_folder_with_weights_outside(folder):
    assert files_of(str(folder)) == tuple(
        f"{folder.as_posix()}/{name}" for name in ("model.onnx", "tokenizer.json", "config.json")
    )
    (folder / "model.onnx_data").write_bytes(b"")
    assert files_of(str(folder))[-1].endswith("/model.onnx_data")
    assert files_of(str(folder / "model.onnx"))[0].endswith("/model.onnx")


def test_a_model_in_a_folder_of_its_own(folder):
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert (
        files_of(str(folder))[0]
        == files_of(str(folder / "onnx" / "model.onnx"))[0]
        == f"{folder.as_posix()}/onnx/model.onnx"
    )


def test_a_model_of_pytorch_is_taken_where_there_is_none_in_onnx(folder):
    (folder / "model.safetensors").write_bytes(b"")
    assert files_of(str(folder))[0].endswith("/model.onnx") and extra_of(str(folder)) == ONNX
    (folder / "model.onnx").unlink()
    assert files_of(str(folder))[0].endswith("/model.safetensors") and extra_of(str(folder)) == TRANSFORMERS


@pytest.mark.parametrize(
    ("missing", "other", "advice"),
    [
        ("model.onnx", "pytorch_model.bin", "which may run code when it is read; export it: optimum-cli export onnx"),
        ("tokenizer.json", "vocab.txt", "It has the tokenizer in an older form"),
        ("config.json", "readme", "it has model.onnx, readme, tokenizer.json. A classifier is a folder with"),
    ],
)
def test_a_missing_part_says_what_to_do(folder, missing, other, advice):
    (folder / missing).unlink()
    (folder / other).write_bytes(b"")
    with pytest.raises(AssetError, match=re.escape(advice)) as error:
        files_of(str(folder))
    assert f"has no {missing}" in str(error.value)


def config(path, **content):
    path.write_text(json.dumps(content))
    return ModelConfig.read(path)


def test_what_a_configuration_says(tmp_path):
    path = tmp_path / "config.json"
    assert config(path, id2label={"1": "b", "0": "a"}) == ModelConfig(("a", "b"), "softmax", None)
    assert config(path, num_labels=1).activation == "none" and config(path, num_labels=2).labels == (
        "LABEL_0",
        "LABEL_1",
    )
    assert config(path, num_labels=3, problem_type="multi_label_classification").activation == "sigmoid"
    assert config(path, num_labels=1, problem_type="single_label_classification").activation == "softmax"
    assert config(path, num_labels=2, problem_type="other").activation == "softmax"
    assert config(path, architectures=["BertForSequenceClassification"]).labels == ("LABEL_0", "LABEL_1")
    assert config(path, num_labels=2, max_position_embeddings=512).positions == 512
    assert config(path, architectures=["BertForSequenceClassification"]).labels == ("LABEL_0", "LABEL_1")
    assert config(path, num_labels=2, max_position_embeddings=514, model_type="roberta").positions == 512


@pytest.mark.parametrize(
    "content",
    ["", "[]", "3", '{"id2label": 3}', '{"id2label": {"x": "a"}}', '{"id2label": {"1": "a"}}', '{"num_labels": []}'],
)
def test_a_damaged_configuration(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(AssetError, match=r"config.json: not the config.json of a model"):
        ModelConfig.read(tmp_path / "config.json")


def test_a_configuration_without_labels(tmp_path):
    with pytest.raises(AssetError, match="names no labels"):
        config(tmp_path / "config.json", id2label={})


@pytest.mark.parametrize(
    ("provider", "available", "expected"),
    [
        ("auto", [CPU], [CPU]),
        ("auto", ["CUDAExecutionProvider", CPU], ["CUDAExecutionProvider", CPU]),
        ("auto", ["TensorrtExecutionProvider", CPU], [CPU]),
        ("cpu", ["CUDAExecutionProvider", CPU], [CPU]),
        ("CUDA", ["CUDAExecutionProvider", CPU], ["CUDAExecutionProvider", CPU]),
        ("CpuExecutionProvider", [CPU], [CPU]),
    ],
)
def test_providers(provider, available, expected):
    assert chosen(provider, available) == expected


def test_a_provider_that_is_not_there():
    with pytest.raises(RecipeError, match=re.escape('has no "cda"; did you mean "cuda"? It has cpu, cuda;')):
        chosen("cda", ["CUDAExecutionProvider", CPU])


def test_settings_of_onnx_models_are_refused_for_others():
    with pytest.raises(RecipeError, match="window is for transformers; quality-en reads whole documents"):
        TextClassifier(model="quality-en", settings=ClassifierSettings(window=64))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("english",), 'labels: "english" is not a label of lid.176.ftz'),
        (("en", "en"), 'labels: the column of a label would be "en", which is another one'),
    ],
)
def test_labels_that_a_model_lacks_or_that_collide(labels, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        TextClassifier(model="lid.176.ftz", labels=labels)


def test_a_model_with_one_output_has_no_labels():
    with pytest.raises(RecipeError, match="quality-en has one output, the score; leave them out"):
        TextClassifier(model="quality-en", labels=("good",))


def test_columns_of_each_kind():
    text = strings("The mill grinds the corn of the village, and it has done so for a hundred years.", "", None)
    columns = TextClassifier(model="lid.176.ftz", labels=("en", "de")).columns(text)
    assert columns["label"].to_pylist() == ["en", None, None]
    assert columns["score"].to_pylist()[0] == columns["en"].to_pylist()[0] > columns["de"].to_pylist()[0] >= 0
    assert columns["de"].to_pylist()[1:] == [None, None]
    for model in ("quality-en", "toxicity-en"):
        ((name, scores),) = TextClassifier(model=model).columns(text).items()
        assert name == "score" and 0 <= scores.to_pylist()[0] <= 1 and scores.to_pylist()[1:] == [None, None]


def test_a_scorer_needs_the_label_that_means_good(tmp_path):
    with pytest.raises(RecipeError, match=r"lid.176.ftz: set `good` to the label that means good"):
        Scorer(model="lid.176.ftz")
    with pytest.raises(RecipeError, match=r'good: "english" is not a label of lid.176.ftz'):
        Scorer(model="lid.176.ftz", good="english")
    with pytest.raises(RecipeError, match='good: "en" is for a fastText model; quality-en needs none'):
        Scorer(good="en")
    with pytest.raises(AssetError, match="is a folder; a quality model is a file"):
        Scorer(model=str(tmp_path))
    scores = Scorer(model="lid.176.ftz", good="en").scores(strings("The mill by the river grinds the corn.", None))
    assert scores.to_pylist()[0] > 0.5 and scores.to_pylist()[1] is None


def test_files_are_known_by_their_first_bytes(tmp_path):
    (tmp_path / "x").write_bytes(b"PK\x03\x04")
    with pytest.raises(AssetError, match=r"x: neither a quality model .* nor a fastText .bin or .ftz \(it begins b'PK"):
        is_fasttext(tmp_path / "x")


def test_many_labels_are_cut_short():
    assert list_labels(["a", "b"]) == "a, b"
    assert list_labels([str(i) for i in range(14)]).endswith("11 and 2 more")


def test_a_file_of_a_model_of_toxicity_is_known_by_its_arrays(tmp_path):
    from made_models import arrays_file, toxicity_arrays

    (tmp_path / "own.toxicity").write_bytes(arrays_file({"format": 2}, toxicity_arrays()))
    classifier = TextClassifier(model=str(tmp_path / "own.toxicity"))
    assert classifier.kind == "toxicity" and classifier.columns(strings("one river"))["score"].to_pylist() == [0.5]
