"""Quality classifiers: our own linear models, and fastText models.

A file of our own holds arrays (`arrays.write_arrays`): `weights` float16, `lengths`, `bias` and `shape` float32, and
`card`, JSON in UTF-8 with the model's training data and evaluation, and a checksum of the others. Files of format 1
have no `shape`, and are read as ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError, RecipeError, did_you_mean
from corpusmill.models.fasttext import FastText
from corpusmill.models.fasttext_file import FASTTEXT_MAGIC as FASTTEXT
from corpusmill.models.fasttext_file import read_labels
from corpusmill.models.model_file import read_model, write_model, wrong_value
from corpusmill.models.quality_score import LENGTHS, Linear, score_texts
from corpusmill.models.quality_shape import SHAPE_FEATURES
from corpusmill.store.arrays import MAGIC, map_arrays
from corpusmill.text.array_types import Float32s
from corpusmill.text.buffers import view
from corpusmill.text.unicode import classes

QUALITY_EN = "quality-en"  # ships; scripts/train_quality.py makes it
FORMAT = 2  # changes if the same file would give other scores
FIRST = 1  # the format without a shape
PARTS = {"weights": np.float16, "lengths": np.float32, "bias": np.float32, "shape": np.float32}
QUALITY_ADVICE = "`corpusmill train quality` makes them; a fastText classifier is a .bin or .ftz."
BITS = (10, 26)  # minimum and maximum of log2(weights)


@dataclass(frozen=True)
class QualityModel:
    """A linear model over words and pairs of words; see `quality_score`.

    card   the model card of the file
    """

    card: Mapping[str, Any]
    linear: Linear

    @classmethod
    def load(cls, path: Path) -> "QualityModel":
        """Raises AssetError if the file is not a quality model, is damaged, or has a format that this version cannot
        read."""
        first = _is_of_the_first_format(path)
        parts = {part: kind for part, kind in PARTS.items() if part != "shape" or not first}
        card, arrays = read_model(path, "quality", FIRST if first else FORMAT, parts, QUALITY_ADVICE)
        bits = max(BITS[0], min(len(arrays["weights"]).bit_length() - 1, BITS[1])) if arrays["weights"].ndim else 0
        shapes = {"weights": (1 << bits,), "lengths": (LENGTHS,), "bias": (1,), "shape": NO_SHAPE.shape}
        for part, array in arrays.items():
            if array.shape != shapes[part]:
                raise wrong_value(path, f"the shape of the array {part}", list(array.shape), list(shapes[part]))
        if checksum(arrays) != card.get("checksum"):
            raise AssetError(f"{path}: the weights are not those that were written: damaged. Get or train it again.")
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise wrong_value(path, "a weight", "infinite, or none", "a number")
        weights, lengths, bias = (arrays[part] for part in ("weights", "lengths", "bias"))
        return cls(card, linear(weights, lengths, bias, arrays.get("shape", NO_SHAPE)))

    def save(self, path: Path) -> None:
        """Write the model atomically."""
        arrays: dict[str, NDArray[Any]] = {
            "weights": self.linear.weights.astype(np.float16),
            "lengths": self.linear.lengths,
            "bias": np.array([self.linear.bias], np.float32),
            "shape": self.linear.shape,
        }
        write_model(path, FORMAT, {**self.card, "checksum": checksum(arrays)}, arrays)

    def scores(self, texts: pa.LargeStringArray) -> Float32s:
        """(documents,) the probability that each is good, 0 to 1; NaN for a text without tokens."""
        scores = np.empty(len(texts), np.float32)
        if len(texts):
            score_texts(view(texts), self.linear, classes(), scores)
        return scores


NO_SHAPE = np.zeros((SHAPE_FEATURES, 3), np.float32)


def linear(weights: NDArray[Any], lengths: Float32s, bias: Float32s, shape: Float32s = NO_SHAPE) -> Linear:
    """A model as the kernels take it. Weights are rounded to float16, as in files."""
    rounded = weights.astype(np.float16).astype(np.float32)
    own, looks = np.array(lengths, np.float32), np.array(shape, np.float32)
    for array in (rounded, own, looks):
        array.flags.writeable = False
    return Linear(rounded, own, np.float32(bias[0]), np.uint64(65 - len(weights).bit_length()), looks)


def _is_of_the_first_format(path: Path) -> bool:
    """Whether a file has all parts but the shape; what is wrong with others, their reader says."""
    try:
        return set(map_arrays(path)) == {"card", *PARTS} - {"shape"}
    except Exception:
        return False


def checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = xxhash.xxh3_128()
    for part in PARTS:
        if part in arrays:
            digest.update(np.ascontiguousarray(arrays[part]).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """Scores texts with a model: the name of one that ships, or the path of our own or of a fastText `.bin` or `.ftz`.

    good   the label of a fastText model that means good; None for a model of our own

    Raises AssetError if the model does not exist, and RecipeError if it does not have the label.
    """

    model: str = QUALITY_EN
    good: str | None = None

    def __post_init__(self) -> None:
        path = assets.locate(self.model)
        if not path.is_file():
            raise AssetError(f"{path}: is a folder; a quality model is a file")
        if not is_fasttext(path):
            if self.good is not None:
                raise RecipeError(
                    f'good: "{self.good}" is for a fastText model; {self.model} needs none. Leave it out.'
                )
            assets.load(self.model, QualityModel.load)
            return
        labels = assets.load(self.model, read_labels)
        if self.good is None:
            raise RecipeError(
                f"{self.model}: set `good` to the label that means good, as in good: {labels[0]}. It has "
                f"{list_labels(labels)}."
            )
        if self.good not in labels:
            suggestion = did_you_mean(self.good, labels) or "."
            raise RecipeError(
                f'good: "{self.good}" is not a label of {self.model}{suggestion} It has {list_labels(labels)}.'
            )

    def scores(self, texts: pa.LargeStringArray) -> pa.Array:
        """(documents,) float32, 0 to 1; null for a text without words."""
        if self.good is None:
            probabilities = assets.load(self.model, QualityModel.load).scores(texts)
            return pa.array(probabilities, mask=np.isnan(probabilities))
        model = assets.load(self.model, FastText.load)
        labels, scores = model.predict(texts, len(model.labels))
        score = np.where(labels == model.labels.index(self.good), scores, 0).sum(axis=1, dtype=np.float32)
        return pa.array(np.minimum(score, np.float32(1)), mask=labels[:, 0] < 0)


def is_fasttext(path: Path) -> bool:
    """Whether a file is a fastText model, by its first bytes. Raises AssetError if it is neither that nor one of
    ours."""
    with path.open("rb") as file:
        start = file.read(len(MAGIC))
    if start[:4] == FASTTEXT.to_bytes(4, "little"):
        return True
    if start == MAGIC:
        return False
    raise AssetError(
        f"{path}: neither a quality model of `corpusmill train quality` nor a fastText .bin or .ftz (it begins "
        f"{start!r})"
    )


def list_labels(labels: list[str]) -> str:
    """All labels, or the first few of many."""
    return ", ".join(labels) if len(labels) <= 12 else f"{', '.join(labels[:12])} and {len(labels) - 12} more"
