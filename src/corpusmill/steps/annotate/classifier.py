"""What does a classifier of your choice say of a document?"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import pyarrow as pa

from corpusmill.assets import digest
from corpusmill.assets.extras import Extra
from corpusmill.errors import RecipeError
from corpusmill.models.classifier import TextClassifier as Scorer
from corpusmill.models.classifier import extra_of
from corpusmill.models.onnx_classifier import ClassifierSettings, resources_of
from corpusmill.steps import Columns
from corpusmill.store.units import Resources


@dataclass(frozen=True, kw_only=True)
class Classifier:
    """Score each document with a classifier: a transformer, a fastText model, or one of this package.

    `model` is a folder with `model.onnx`, `tokenizer.json` and `config.json`, as `optimum-cli export onnx --task
    text-classification` writes it; a repository of the Hugging Face hub with these, org/name; an .onnx file beside
    them; or a fastText .bin or .ftz, a .quality or a .toxicity file. Where there is no ONNX file, `model.safetensors`
    is read by PyTorch. These need the extra `onnx` or `transformers`.

    Signals, None for a text without words: `score`; of a model with several labels also `label`, the best; and one for
    each of `labels`, its name in lower case with _ for all but letters and digits: `Severe toxic` gives
    `classifier.severe_toxic`. `activation: auto` does what config.json says: softmax, sigmoid of each (`problem_type:
    multi_label_classification`), or the bare output of a regression, such as FineWeb-Edu's.

    A transformer reads `windows` windows of `window` tokens, special ones included: the first alone, as FineWeb-Edu
    does, or several, evenly spread over the document, whose scores are combined. It runs in a pass of its own, which
    sees what earlier steps have kept, in every worker of the run (`workers` bounds how many; on an accelerator one).
    Steps that judge by its signals follow in the same pass.

    With `batch: 1` windows have no padding; scores of larger batches are rounded to 4 digits, the last of which may
    differ on other hardware.

    Source: Penedo et al. 2024 (FineWeb-Edu), arXiv:2406.17557, section 4
    """

    model: str  # a folder, a repository of the Hugging Face hub, or a file
    labels: tuple[str, ...] = ()  # those whose scores are signals, too
    activation: Literal["auto", "none", "softmax", "sigmoid"] = "auto"  # of a model's outputs
    window: int = 512  # tokens
    overlap: int = 0  # tokens that a window shares with the next; Hugging Face calls this stride
    windows: int | None = 1  # of a longer document that are read; null: all
    combine: Literal["mean", "max"] = "mean"  # of the scores of several windows
    batch: int | None = None  # windows at a time; null: 1 on processors, 32 on accelerators
    provider: str = "auto"  # cpu, cuda, …; auto: an accelerator, where the installed library can use one
    threads: int = 1  # of each worker
    workers: int | None = None  # at a time, at most; null: as many as cores allow

    def __post_init__(self) -> None:
        for name in ("window", "windows", "batch", "threads", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise RecipeError(f"need {name} >= 1, got {value}")
        if not 0 <= self.overlap < self.window:
            raise RecipeError(f"need 0 <= overlap < window, got {self.overlap} and {self.window}")
        if self.workers is not None and self._scorer().kind != "transformer":
            raise RecipeError(f"workers is for transformers; {self.model} runs in all workers. Leave it out.")
        self._scorer()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return self._scorer().columns(docs["text"])

    @property
    def assets(self) -> tuple[str, ...]:
        return self._scorer().assets

    @property
    def extras(self) -> tuple[Extra, ...]:
        return (extra_of(self.model),) if self._scorer().kind == "transformer" else ()

    @property
    def own_pass(self) -> Resources | None:
        if self._scorer().kind != "transformer":
            return None
        return resources_of(extra_of(self.model), self.provider, self.threads, self.workers)

    def identity(self) -> Any:
        """What of it matters for results: not on how many cores it runs."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        settings = {name: value for name, value in values.items() if name not in ("workers", "threads")}
        return {"class": "annotate/classifier", **settings, "assets": [digest(name) for name in self.assets]}

    def _scorer(self) -> Scorer:
        settings = ClassifierSettings(
            window=self.window,
            overlap=self.overlap,
            windows=self.windows,
            combine=self.combine,
            activation=self.activation,
            batch=self.batch,
            provider=self.provider,
            threads=self.threads,
        )
        return Scorer(model=self.model, labels=self.labels, settings=settings)
