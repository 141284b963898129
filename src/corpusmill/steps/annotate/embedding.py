"""Where in the space of a model is a document?"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.assets import digest
from corpusmill.assets.extras import Extra
from corpusmill.errors import RecipeError
from corpusmill.models import onnx_encoder
from corpusmill.models.classifier import extra_of, files_of, located
from corpusmill.models.onnx_classifier import ClassifierSettings, resources_of
from corpusmill.models.onnx_encoder import Pooling
from corpusmill.steps import Columns
from corpusmill.store.units import Resources


@dataclass(frozen=True, kw_only=True)
class Embedding:
    """Embed each document with an encoder, such as those of sentence-transformers.

    `model` is as for `annotate/classifier`: a folder or a repository of the Hugging Face hub with `model.onnx` or
    `onnx/model.onnx`, `tokenizer.json` and `config.json`, or `model.safetensors` in place of the first. The output
    `sentence_embedding` is taken if it has one, or else `pooling` makes a vector of its first output: the mean over the
    tokens, or the first token, as the model's card says.

    Signal: `vector`, a list of float32 of length 1, rounded to 4 digits; None for a text without words. So the dot
    product of two is their cosine, in `corpusmill sql`: array_cosine_similarity. Of a long document `windows` of
    `window` tokens are read, the first alone or several, evenly spread, and the vector is the direction of their sum.

    It runs in a pass of its own, in every worker (`workers` bounds how many; on an accelerator one).

    Source: Reimers, Gurevych 2019 (Sentence-BERT), arXiv:1908.10084, section 3
    """

    model: str  # a folder, a repository of the Hugging Face hub, or a file
    pooling: Pooling = "mean"  # of the vectors of tokens
    prefix: str = ""  # put before each text, if the model wants one: "passage: "
    window: int = 512  # tokens
    windows: int | None = 1  # of a longer document that are read; null: all
    batch: int | None = None  # windows at a time; null: 1 on processors, 32 on accelerators
    provider: str = "auto"  # cpu, cuda, …; auto: an accelerator, where the installed library can use one
    threads: int = 1  # of each worker
    workers: int | None = None  # at a time, at most; null: as many as cores allow

    def __post_init__(self) -> None:
        for name in ("window", "windows", "batch", "threads", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise RecipeError(f"need {name} >= 1, got {value}")

    def signals(self, docs: pa.RecordBatch) -> Columns:
        texts = docs["text"]
        if self.prefix:
            rows = (text and not text.isspace() and f"{self.prefix}{text}" for text in texts.to_pylist())
            texts = pa.array([row or None for row in rows], pa.large_string())
        settings = ClassifierSettings(
            window=self.window, windows=self.windows, batch=self.batch, provider=self.provider, threads=self.threads
        )
        encoder = onnx_encoder.load(located(self.model), settings, self.pooling)
        vectors = encoder.vectors(texts)
        kind = pa.list_(pa.float32())
        return {"vector": pa.array([None if np.isnan(row[:1]).any() or not len(row) else row for row in vectors], kind)}

    @property
    def assets(self) -> tuple[str, ...]:
        return files_of(self.model)

    @property
    def extras(self) -> tuple[Extra, ...]:
        return (extra_of(self.model),)

    @property
    def own_pass(self) -> Resources | None:
        return resources_of(extra_of(self.model), self.provider, self.threads, self.workers)

    def identity(self) -> Any:
        """What of it matters for results: not on how many cores it runs."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        settings = {name: value for name, value in values.items() if name not in ("workers", "threads")}
        return {"class": "annotate/embedding", **settings, "assets": [digest(name) for name in self.assets]}
