"""Encoders of texts in ONNX, such as sentence-transformers': a vector of each text, of length 1."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.model_file import DAMAGE
from corpusmill.models.onnx_classifier import (
    OFFSET_POSITIONS,
    ClassifierSettings,
    ModelFiles,
    OnnxModel,
    Window,
    opened,
)
from corpusmill.text.array_types import Float32s, Float64s

Pooling = Literal["mean", "cls"]
POOLED = "sentence_embedding"  # an output that is a vector of the text already
DIGITS = 4  # after the decimal point: hides what differs between batches and processors


@dataclass(frozen=True, eq=False)
class OnnxEncoder(OnnxModel):
    """An encoder. Made by `load`.

    output   the name of the output that is read
    """

    pooling: Pooling
    output: str

    def vectors(self, texts: pa.LargeStringArray) -> Float32s:
        """(documents, width) unit vectors, the direction of the sum of those of the windows; NaN for a text without
        words."""
        windows, rows = self.cut(texts)
        found: Float64s | None = None
        for numbers, length in self.batches(windows):
            part = self._pooled([windows[number] for number in numbers], length)
            if found is None:
                found = np.zeros((len(windows), part.shape[1]))
            found[numbers] = part
        width = 0 if found is None else found.shape[1]
        vectors = np.full((len(texts), width), np.nan)
        first = np.flatnonzero(np.diff(np.array([-1, *rows])))
        if found is not None:
            vectors[np.array(rows)[first]] = _units(np.add.reduceat(_units(found), first))
        return np.round(vectors, DIGITS).astype(np.float32)

    def _pooled(self, windows: Sequence[Window], length: int) -> Float64s:
        """(windows, width) of a batch."""
        (output,) = self.run(windows, length, [self.output])
        given = np.asarray(output[: len(windows)], np.float64)
        if given.ndim == 2:
            return given
        if given.ndim != 3:
            raise AssetError(
                f"{self.files.model}: the output {self.output} has the shape {list(output.shape)}; that of an encoder "
                "is (texts, tokens, width) or (texts, width)"
            )
        if self.pooling == "cls":
            return np.asarray(given[:, 0])
        return np.stack([part[: len(window.ids)].mean(axis=0) for part, window in zip(given, windows)])


def _units(vectors: Float64s) -> Float64s:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def load(files: ModelFiles, settings: ClassifierSettings, pooling: Pooling) -> OnnxEncoder:
    """The model, loaded once per process and content.

    Raises MissingExtraError without onnxruntime, AssetError if the parts are not those of an encoder, RecipeError for a
    provider that there is not, or a window that the model does not take.
    """
    parts = [*files[:3], *files.weights]
    return assets.of_files(parts, (settings, pooling), partial(_loaded, files, settings, pooling))


def _loaded(files: ModelFiles, settings: ClassifierSettings, pooling: Pooling) -> OnnxEncoder:
    session, tokenizer, batch, pad = opened(files, settings, _positions(files.config), "annotate/embedding", "encoder")
    names = [node.name for node in session.get_outputs()]
    output = POOLED if POOLED in names else names[0]
    model = OnnxEncoder(files, settings, session, tokenizer, batch, pad, pooling, output)
    model.vectors(pa.array(["a"], pa.large_string()))  # what does not fit together says so before documents are read
    return model


def _positions(path: Path) -> int | None:
    """Tokens that the model takes at most, if its config.json says so."""
    try:
        record = json.loads(path.read_text("utf-8"))
        positions = record.get("max_position_embeddings")
        return int(positions) - (2 if record.get("model_type") in OFFSET_POSITIONS else 0) if positions else None
    except DAMAGE as error:
        raise AssetError(f"{path}: not the config.json of a model ({type(error).__name__}: {error})") from error
