"""annotate/classifier: any kind of model by one name; an ONNX model judges each document by its text alone."""

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import corpusmill
from conftest import docs
from corpusmill import Recipe, Source
from corpusmill.engine.plan.identity import identity
from corpusmill.errors import AssetError, MissingExtraError, RecipeError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.models.onnx_classifier import ModelConfig, chosen
from corpusmill.read.jsonl import JsonlReader
from corpusmill.report.run_files import RunFiles
from corpusmill.steps.annotate.classifier import Classifier
from corpusmill.steps.annotate.quality import Quality
from corpusmill.steps.annotate.toxicity import AnnotateToxicity

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_onnx_classifier.py"
ENGLISH = "The harbour was quiet before the first boats came in."
GERMAN = "Der Hafen war still, bevor die ersten Boote kamen."
PROSE = "the river ran past the old mill and nobody in the village knew how far it went before it met the sea".split()
MENU = "home cart login menu share next price reply sort filter views posts size login cart home".split()


def texts_of(count, seed):
    rng = np.random.default_rng(seed)
    kinds = np.arange(count) % 2
    lengths = rng.integers(1, 120, count)
    return [" ".join(rng.choice(PROSE if kind else MENU, length)) for kind, length in zip(kinds, lengths)], kinds


# ------------------------------------------------------------- models of one file


def test_a_fasttext_model_gives_its_best_label_and_those_that_are_asked_for():
    found = Classifier(model="lid.176.ftz", labels=("en", "de")).signals(docs(ENGLISH, GERMAN, " \n", None))
    assert list(found) == ["label", "score", "en", "de"]
    assert found["label"].to_pylist() == ["en", "de", None, None]
    assert found["en"][0] == found["score"][0] and found["de"][1] == found["score"][1]
    assert found["en"][0].as_py() > 0.5 > found["de"][0].as_py()
    assert found["score"][2].as_py() is None
    assert Classifier(model="lid.176.ftz").own_pass is None


def test_models_of_our_own_give_the_score_of_their_own_steps():
    some = docs(ENGLISH, "You stupid idiot.", None)
    assert Classifier(model="quality-en").signals(some)["score"].equals(Quality().signals(some)["score"])
    assert Classifier(model="toxicity-en").signals(some)["score"].equals(AnnotateToxicity().signals(some)["score"])


def test_what_a_model_does_not_have_is_refused(tmp_path):
    with pytest.raises(RecipeError, match=r'"english" is not a label of lid.176.ftz'):
        Classifier(model="lid.176.ftz", labels=("english",))
    with pytest.raises(RecipeError, match="quality-en has one output"):
        Classifier(model="quality-en", labels=("good",))
    with pytest.raises(RecipeError, match="window is for transformers; quality-en reads whole documents"):
        Classifier(model="quality-en", window=128)
    with pytest.raises(RecipeError, match="workers is for transformers"):
        Classifier(model="quality-en", workers=1)
    with pytest.raises(RecipeError, match="need threads >= 1, got 0"):
        Classifier(model="quality-en", threads=0)
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(AssetError, match=r"not a classifier. One is a folder with model.onnx, tokenizer.json"):
        Classifier(model=str(tmp_path / "notes.txt"))


# ------------------------------------------------------------- folders that lack something


def test_a_folder_says_what_it_lacks_and_how_to_get_it(tmp_path):
    with pytest.raises(AssetError, match=r"has no model.onnx; it has nothing. A classifier is a folder with"):
        Classifier(model=str(tmp_path))
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(
        AssetError, match=r"may run code .* export it: optimum-cli export onnx --model .* --task text-classification"
    ):
        Classifier(model=str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "vocab.txt").write_bytes(b"")
    with pytest.raises(AssetError, match=r"has no tokenizer.json. It has the tokenizer in an older form"):
        Classifier(model=str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(AssetError, match="names no labels"):
        Classifier(model=str(tmp_path))


def test_a_repository_of_the_hub_that_is_not_here_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        AssetError,
        match=r"org/classifier: model.onnx or onnx/model.onnx or model.safetensors is not in the cache .* hf download",
    ):
        Classifier(model="org/classifier")


def test_a_repository_in_the_cache_of_the_hub_is_a_model(tmp_path, monkeypatch):
    snapshot = tmp_path / "models--org--cached" / "snapshots" / "abc"
    (snapshot / "onnx").mkdir(parents=True)
    (snapshot / "onnx" / "model.onnx").write_bytes(b"")
    (snapshot / "tokenizer.json").write_text("{}")
    (snapshot / "config.json").write_text('{"id2label": {"0": "ham", "1": "spam"}}')
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    step = Classifier(model="org/cached", labels=("spam",))
    assert step.assets == tuple(
        f"hf://org/cached/{name}" for name in ("onnx/model.onnx", "tokenizer.json", "config.json")
    )


@pytest.mark.parametrize(
    ("record", "activation"),
    [
        ({"id2label": {"0": "x"}}, "none"),
        ({"id2label": {"0": "x"}, "problem_type": "multi_label_classification"}, "sigmoid"),
        ({"id2label": {"0": "x", "1": "y"}}, "softmax"),
        ({"num_labels": 3, "problem_type": "regression"}, "none"),
    ],
)
def test_the_config_says_what_the_outputs_are(tmp_path, record, activation):
    (tmp_path / "config.json").write_text(json.dumps(record))
    assert ModelConfig.read(tmp_path / "config.json").activation == activation


def test_providers_are_named_without_their_ending():
    has = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    assert chosen("auto", has) == chosen("cuda", has) == has
    assert chosen("cpu", has) == chosen("auto", has[1:]) == has[1:]
    with pytest.raises(RecipeError, match='has no "cuba"; did you mean "cuda"'):
        chosen("cuba", has)


# ------------------------------------------------------------- ONNX models


@cache
def script():
    """scripts/make_onnx_classifier.py, or a skipped test."""
    pytest.importorskip("onnx", reason="needs onnx, to make a model")
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    spec = importlib.util.spec_from_file_location("make_onnx_classifier", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("onnx")
    script().make(made, *texts_of(80, seed=1))
    return made


def scored(folder, texts, **parameters):
    return Classifier(model=str(folder), labels=("good",), **parameters).signals(docs(*texts))["good"].to_numpy(False)


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "config.json").write_text('{"id2label": {"0": "x"}}')
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"corpusmill\[onnx\]"):
        Classifier(model=str(tmp_path)).signals(docs("a"))


def test_a_model_that_was_trained_and_exported_orders_documents(folder):
    texts, kinds = texts_of(40, seed=2)
    scores = scored(folder, texts)
    assert scores[kinds == 1].min() > scores[kinds == 0].max()
    found = Classifier(model=str(folder)).signals(docs(*texts, None, " "))
    assert list(found) == ["label", "score"]
    assert found["label"].to_pylist() == [("bad", "good")[kind] for kind in kinds] + [None, None]


def test_scores_are_those_of_the_model_run_by_hand(folder):
    """The definition: one text at a time, its first tokens, a softmax, four digits."""
    import onnxruntime
    from tokenizers import Tokenizer

    texts, _ = texts_of(30, seed=3)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(48)
    wanted = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids])
        logits = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0].astype(float)
        wanted.append(np.exp(logits[1]) / np.exp(logits).sum())
    assert scored(folder, texts, window=48) == pytest.approx(np.round(wanted, 4), abs=1e-6)


@pytest.mark.parametrize("batch", [1, 8])
def test_a_score_depends_on_the_text_alone(folder, batch):
    """Whatever the order, and however documents are cut into batches: to the last bit, before scores are rounded."""
    texts, _ = texts_of(37, seed=4)
    options = {"batch": batch, "window": 64, "windows": 3, "overlap": 8}
    whole = scored(folder, texts, **options)
    order = np.random.default_rng(0).permutation(len(texts))
    assert (scored(folder, [texts[i] for i in order], **options) == whole[order]).all()
    parts = [scored(folder, texts[i : i + 5], **options) for i in range(0, len(texts), 5)]
    assert (np.concatenate(parts) == whole).all()


def test_batches_and_threads_change_no_score(folder):
    texts, _ = texts_of(60, seed=5)
    alone = scored(folder, texts, window=64, batch=1)
    for parameters in ({"batch": 4}, {"batch": 32}, {"threads": 2}, {"batch": 8, "threads": 2}):
        assert (scored(folder, texts, window=64, **parameters) == alone).all(), parameters


def test_a_tokenizer_with_dropout_gives_one_score(folder, tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {word: number for number, word in enumerate(["[UNK]", *"abcdehr", "th", "the", "ha", "har"])}
    merges = [("t", "h"), ("th", "e"), ("h", "a"), ("ha", "r")]
    made = Tokenizer(models.BPE({**words, "t": 12}, merges, dropout=0.5, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    for name in ("model.onnx", "config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    made.save(str(tmp_path / "tokenizer.json"))
    assert len(set(scored(tmp_path, ["the hard heart " * 30] * 20, window=64))) == 1


def test_windows_of_a_long_document(folder):
    """Its beginning is menu, and the rest prose."""
    text = " ".join(MENU * 10 + PROSE * 40)
    first, mean, most = (
        scored(folder, [text], window=64, **kind)[0]
        for kind in ({}, {"windows": None}, {"windows": None, "combine": "max"})
    )
    assert first < 0.5 < mean < most
    pieces = scored(folder, [text], window=64, windows=4)[0]
    assert pieces == pytest.approx(mean, abs=0.2)
    many = " ".join(PROSE * 20_000)  # 2 MB: read for its beginning alone
    assert scored(folder, [many], window=64)[0] == scored(folder, [" ".join(PROSE * 50)], window=64)[0]


def test_a_regression_is_as_the_model_gives_it(folder, tmp_path):
    texts, kinds = texts_of(80, seed=1)
    script().make(tmp_path, texts, kinds * 5, labels=("quality",))
    found = Classifier(model=str(tmp_path)).signals(docs(*texts))
    assert list(found) == ["score"]
    assert found["score"].to_numpy()[kinds == 1].mean() == pytest.approx(5, abs=0.3)


def test_parts_that_do_not_fit_together_are_reported(folder, tmp_path):
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "config.json").write_text('{"id2label": {"0": "a", "1": "b", "2": "c"}}')
    with pytest.raises(AssetError, match=r"output of shape \[1, 2\] for 1 texts, and config.json has 3 labels"):
        Classifier(model=str(tmp_path)).signals(docs("a"))
    (tmp_path / "config.json").write_text('{"id2label": {"0": "a", "1": "b"}, "max_position_embeddings": 100}')
    with pytest.raises(RecipeError, match="window: 512 tokens are more than the 100 that"):
        Classifier(model=str(tmp_path)).signals(docs("a"))
    with pytest.raises(RecipeError, match='provider: the installed onnxruntime has no "tpu"'):
        Classifier(model=str(folder), provider="tpu").signals(docs("a"))
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(AssetError, match="onnxruntime cannot load it"):
        Classifier(model=str(tmp_path), window=64).signals(docs("a"))


def test_the_model_is_part_of_a_run_and_cores_are_not(folder, tmp_path):
    step = Classifier(model=str(folder))
    assert [Path(name).name for name in step.assets] == ["model.onnx", "tokenizer.json", "config.json"]
    print_ = identity(step).fingerprint
    assert identity(Classifier(model=str(folder), workers=1, threads=2)).fingerprint == print_
    assert identity(Classifier(model=str(folder), windows=2)).fingerprint != print_
    script().make(tmp_path, *texts_of(60, seed=9))
    assert (
        identity(Classifier(model=str(tmp_path))).to_json()["work"]["assets"]
        != identity(step).to_json()["work"]["assets"]
    )


def test_a_run_gives_the_same_with_other_workers_and_units(folder, tmp_path):
    texts, _ = texts_of(200, seed=6)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    found = []
    for name, workers, executor in (("one", None, Serial()), ("two", 1, Processes(2))):
        steps = [Classifier(model=str(folder), labels=("good",), window=64, workers=workers)]
        recipe = Recipe(read=[Source(JsonlReader(), str(tmp_path / "in.jsonl"))], steps=steps)
        try:
            done = corpusmill.run(recipe, folder=tmp_path / name, executor=executor, progress=False)
        finally:
            executor.close()
        files = RunFiles(done.place)
        assert [labels for _, labels in files.passes] == [(), ("classifier",)]
        table = pa.concat_tables(
            [pa.Table.from_batches([b]) for b in files.documents("signals", 1, ["id", "classifier.good"], 100)]
        )
        found.append(table.to_pydict())
    assert found[0] == found[1]
    assert found[0]["classifier.good"] == scored(folder, texts, window=64).tolist()
