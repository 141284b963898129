"""Classifiers of any kind that this package reads, by one name: ONNX folders, fastText models, and models of our own.

What a name means depends on what is there: a folder or a repository of the hub has a transformer; a file is a
fastText model, or one of `corpusmill train quality`, or of scripts/make_toxicity.py.
"""

import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.assets import hub
from corpusmill.assets.extras import ONNX, TRANSFORMERS, Extra
from corpusmill.errors import AssetError, RecipeError, did_you_mean
from corpusmill.models import onnx_classifier
from corpusmill.models.fasttext import FastText
from corpusmill.models.fasttext_file import FASTTEXT_MAGIC as FASTTEXT
from corpusmill.models.fasttext_file import read_labels
from corpusmill.models.model_file import DAMAGE
from corpusmill.models.onnx_classifier import ClassifierSettings, ModelConfig, ModelFiles
from corpusmill.models.quality import QualityModel, list_labels
from corpusmill.models.tokenizer_name import is_hub_name
from corpusmill.models.torch_session import WEIGHTS
from corpusmill.models.toxicity import TOXICITY_EN, ToxicityModel
from corpusmill.store.arrays import MAGIC, map_arrays
from corpusmill.text.array_types import Float32s

Kind = Literal["transformer", "fasttext", "quality", "toxicity"]
MODEL_FILES = ("model.onnx", "onnx/model.onnx", WEIGHTS)  # in a folder, in order of preference
REQUIRED_FILES = ("tokenizer.json", "config.json")
WEIGHT_FILES = ("model.onnx_data", "model.onnx.data")  # weights outside of a large model
PICKLED = "pytorch_model.bin"
EXPORT = "optimum-cli export onnx --model {0} --task text-classification {1}"


@dataclass(frozen=True, kw_only=True)
class TextClassifier:
    """Scores texts with a model.

    model      see `steps.annotate.classifier`
    labels     those whose scores have columns of their own
    settings   how a transformer is run

    Raises AssetError if the model is not there or incomplete; RecipeError for labels that it does not have, and for
    settings that are of transformers alone.
    """

    model: str
    labels: tuple[str, ...] = ()
    settings: ClassifierSettings = field(default_factory=ClassifierSettings)

    def __post_init__(self) -> None:
        if self.kind != "transformer":
            self._refuse_settings()
        labels = self.known_labels
        if self.labels and len(labels) < 2:
            raise RecipeError(f"labels: {self.model} has one output, the score; leave them out")
        for label in self.labels:
            if label not in labels:
                suggestion = did_you_mean(label, labels) or "."
                raise RecipeError(
                    f'labels: "{label}" is not a label of {self.model}{suggestion} It has {list_labels(labels)}.'
                )
        names = [column_of(label) for label in self.labels]
        twice = [name for name in names if names.count(name) > 1 or name in ("label", "score", "")]
        if twice:
            raise RecipeError(f'labels: the column of a label would be "{twice[0]}", which is another one')

    def _refuse_settings(self) -> None:
        for setting in fields(ClassifierSettings):
            if getattr(self.settings, setting.name) != setting.default:
                raise RecipeError(
                    f"{setting.name} is for transformers; {self.model} reads whole documents on one core. Leave it out."
                )

    @property
    def kind(self) -> Kind:
        return kind_of(self.model)

    @property
    def known_labels(self) -> list[str]:
        """The labels of the model; of one with a single output, one or none."""
        if self.kind == "transformer":
            return list(_config(self.model).labels)
        return list(assets.load(self.model, read_labels)) if self.kind == "fasttext" else []

    @property
    def assets(self) -> tuple[str, ...]:
        """The files of the model."""
        return files_of(self.model) if self.kind == "transformer" else (self.model,)

    def columns(self, texts: pa.LargeStringArray) -> dict[str, pa.Array]:
        """`score`, float32; of a model with several labels `label`, the best one, whose score that is, and a column for
        each of `labels`. Null for a text without words."""
        if self.kind == "quality":
            quality = assets.load(self.model, QualityModel.load).scores(texts)
            return {"score": pa.array(quality, mask=np.isnan(quality))}
        if self.kind == "toxicity":
            toxic = assets.load(self.model, ToxicityModel.load).score(texts).documents
            return {"score": pa.array(toxic, mask=np.isnan(toxic))}
        scores = self._scores(texts)
        none = np.isnan(scores[:, 0])
        if scores.shape[1] == 1:
            return {"score": pa.array(scores[:, 0], mask=none)}
        labels = self.known_labels
        best = np.nan_to_num(scores).argmax(axis=1)
        columns = {
            "label": pa.array(labels, pa.string()).take(pa.array(best, mask=none)),
            "score": pa.array(scores[np.arange(len(scores)), best], mask=none),
        }
        for label in self.labels:
            columns[column_of(label)] = pa.array(np.ascontiguousarray(scores[:, labels.index(label)]), mask=none)
        return columns

    def _scores(self, texts: pa.LargeStringArray) -> Float32s:
        """(documents, labels), NaN for a text without words."""
        if self.kind == "transformer":
            return onnx_classifier.load(located(self.model), self.settings).scores(texts)
        model = assets.load(self.model, FastText.load)
        labels, probabilities = model.predict(texts, len(model.labels))
        scores = np.zeros((len(texts), len(model.labels)), np.float32)
        rows, places = np.nonzero(labels >= 0)
        scores[rows, labels[rows, places]] = np.minimum(probabilities[rows, places], np.float32(1))
        scores[labels[:, 0] < 0] = np.nan
        return scores


def column_of(label: str) -> str:
    """The name of the column of a label.

    >>> column_of("Severe toxic"), column_of("LABEL_1"), column_of("Arts & Entertainment")
    ('severe_toxic', 'label_1', 'arts_entertainment')
    """
    return re.sub(r"\W+", "_", label.lower()).strip("_")


def kind_of(model: str) -> Kind:
    """Raises AssetError if there is no such model, or it is of no known kind."""
    if model == TOXICITY_EN:
        return "toxicity"
    if _is_repository(model) or model.endswith((".onnx", WEIGHTS)):
        return "transformer"
    path = assets.locate(model)
    if path.is_dir():
        return "transformer"
    return assets.load(model, _kind_of_file)


def _kind_of_file(path: Path) -> Kind:
    with path.open("rb") as file:
        start = file.read(len(MAGIC))
    if start[:4] == FASTTEXT.to_bytes(4, "little"):
        return "fasttext"
    if start == MAGIC:
        return "toxicity" if _parts(path) >= {"words", "kinds"} else "quality"
    raise AssetError(
        f"{path}: not a classifier. One is a folder with {', '.join((MODEL_FILES[0], *REQUIRED_FILES))}; a fastText "
        f".bin or .ftz; or a model of `corpusmill train quality`. (It begins {start!r}.)"
    )


def _parts(path: Path) -> set[str]:
    try:
        return set(map_arrays(path))
    except DAMAGE:
        return set()  # its reader says so


def _is_repository(model: str) -> bool:
    """Whether this names a repository of the hub, and not a file in it or on this machine."""
    if model.startswith(hub.HUB_SCHEME):
        return not hub.parse(model)[1]
    exists = model in assets.manifest() or os.path.exists(os.path.expanduser(model))  # noqa: PTH110, PTH111
    return not exists and is_hub_name(model)


def files_of(model: str) -> tuple[str, ...]:
    """The assets of a transformer: its file, tokenizer.json, config.json, and the weights beside it if there are some.

    Raises AssetError, with what to do about it, if one is missing.
    """
    if model.startswith(hub.HUB_SCHEME) or _is_repository(model):
        repo, path = hub.parse(model if model.startswith(hub.HUB_SCHEME) else hub.HUB_SCHEME + model)
        weight_names = [name for folder in ("", "onnx/") for name in (folder + data for data in WEIGHT_FILES)]
        snapshot, name = hub.locate(
            repo, [path] if path else MODEL_FILES, (*REQUIRED_FILES, *weight_names, f"{path}_data")
        )
        root, first = snapshot.folder, f"{hub.HUB_SCHEME}{repo}/"
        for part in REQUIRED_FILES:
            hub.locate(repo, [part])
    else:
        located = assets.locate(model)
        root, first, name = _folder_of(located)
    if missing := [part for part in (name, *REQUIRED_FILES) if not (root / part).is_file()]:
        raise AssetError(f"{model}: has no {missing[0]}{_advice(model, root, missing[0])}")
    weights = (str(Path(name).with_name(data).as_posix()) for data in (*WEIGHT_FILES, f"{Path(name).name}_data"))
    parts = dict.fromkeys((name, *REQUIRED_FILES, *(data for data in weights if (root / data).is_file())))
    return tuple(f"{first}{part}" for part in parts)


def _folder_of(located: Path) -> tuple[Path, str, str]:
    """The folder of a model on this machine, the beginning of its paths as assets, and the model's file in it."""
    if located.is_dir():
        name = next((name for name in MODEL_FILES if (located / name).is_file()), MODEL_FILES[0])
        return located, f"{located.as_posix()}/", name
    root = located.parent if (located.parent / REQUIRED_FILES[0]).is_file() else located.parent.parent
    return root, f"{root.as_posix()}/", located.relative_to(root).as_posix()


def _advice(model: str, root: Path, missing: str) -> str:
    if missing in MODEL_FILES and (root / PICKLED).is_file():
        return f". It has {PICKLED}, which may run code when it is read; export it: {EXPORT.format(model, 'FOLDER')}"
    if missing == REQUIRED_FILES[0] and (root / "vocab.txt").is_file():
        return (
            '. It has the tokenizer in an older form; write the newer one: python -c "from transformers import '
            f"AutoTokenizer; AutoTokenizer.from_pretrained('{model}').save_pretrained('{model}')\""
        )
    names = ", ".join(sorted(path.name for path in root.iterdir())[:10]) if root.is_dir() else ""
    return (
        f"; it has {names or 'nothing'}. A classifier is a folder with {', '.join((MODEL_FILES[0], *REQUIRED_FILES))}."
    )


def extra_of(model: str) -> Extra:
    """What a transformer needs: it is in ONNX, or of PyTorch."""
    return TRANSFORMERS if files_of(model)[0].endswith(WEIGHTS) else ONNX


def located(model: str) -> ModelFiles:
    """Where the parts of a transformer are on this machine. Raises as `files_of` does."""
    path, tokenizer, config, *weights = map(assets.locate, files_of(model))
    return ModelFiles(path, tokenizer, config, tuple(weights))


def _config(model: str) -> ModelConfig:
    return assets.load(files_of(model)[2], ModelConfig.read)
