"""Sequence classifiers in ONNX: a folder with `model.onnx`, `tokenizer.json` and `config.json`, as Hugging Face's
optimum exports them and many repositories of the hub hold them.

A text is cut into windows of tokens. What the model computes for a window must depend on that window alone, or the
score of a document would depend on its neighbours in a batch. Alone it does, by construction, with `batch: 1`: each
window is computed by itself, in its own length. In larger batches padding and other shapes of matrices change the last
digits of floating-point sums, so every batch has a shape that follows from the length of its windows: this is padded
to a multiple of PAD_TO, and the rows to `batch`. Scores are rounded to SCORE_DIGITS digits, which hides what is left
between one batch size and another, and between processors. A dynamically quantized model takes its scales from all of a
batch: for it, only `batch: 1` is right.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.assets.extras import ONNX, TRANSFORMERS, Extra
from corpusmill.errors import AssetError, RecipeError, did_you_mean
from corpusmill.models import torch_session
from corpusmill.models.model_file import DAMAGE, wrong_value
from corpusmill.models.token_engines import native
from corpusmill.store.units import Resources
from corpusmill.text.array_types import Float32s, Float64s

Activation = Literal["auto", "none", "softmax", "sigmoid"]
Combine = Literal["mean", "max"]
SCORE_DIGITS = 4  # after the decimal point
PAD_TO = 32  # tokens
MAX_LABELS = 1 << 16
CHARS_PER_TOKEN = 16  # characters of a text that are tokenized for each token of a window, at first
PADDING = ("[PAD]", "<pad>", "<|pad|>", "<|endoftext|>", "</s>")
BATCH = 32  # windows at a time on an accelerator
CLASSIFIES = "ForSequenceClassification"  # how the names of architectures end that have labels
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
CPU = "CPUExecutionProvider"
# Taken without being named, where the installed build of onnxruntime has one: who has such a build wants it.
ACCELERATORS = ("CUDAExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider", "DmlExecutionProvider")
# Models whose positions begin behind the padding token: they take fewer tokens than they have positions.
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")


class ModelFiles(NamedTuple):
    """Where the parts of a model are."""

    model: Path
    tokenizer: Path
    config: Path
    weights: tuple[Path, ...] = ()  # outside of `model`, which finds them beside itself


class Window(NamedTuple):
    """Tokens of a text, those of the tokenizer's template included: [CLS] … [SEP]."""

    ids: Sequence[int]
    types: Sequence[int]


@dataclass(frozen=True)
class ModelConfig:
    """What the `config.json` of a model says.

    labels      in the order of the model's outputs
    activation  turns its outputs into scores
    positions   tokens that it takes at most; None: it does not say
    """

    labels: tuple[str, ...]
    activation: Activation
    positions: int | None

    @classmethod
    def read(cls, path: Path) -> "ModelConfig":
        """Raises AssetError if the file names no labels."""
        try:
            record = json.loads(path.read_text("utf-8"))
            id2label = {int(number): str(label) for number, label in (record.get("id2label") or {}).items()}
            # transformers leaves out what is its default: two labels.
            is_classifier = any(str(name).endswith(CLASSIFIES) for name in record.get("architectures") or ())
            count = len(id2label) or int(record.get("num_labels", 2 if is_classifier else 0))
            if count > MAX_LABELS:
                raise wrong_value(path, "num_labels", f"{count:,}", f"at most {MAX_LABELS:,}")
            labels = tuple(id2label[number] if id2label else f"LABEL_{number}" for number in range(count))
            positions = record.get("max_position_embeddings")
            offset = 2 if record.get("model_type") in OFFSET_POSITIONS else 0
            positions = int(positions) - offset if positions else None
        except DAMAGE as error:
            raise AssetError(f"{path}: not the config.json of a model ({type(error).__name__}: {error})") from error
        if not labels:
            raise AssetError(
                f'{path}: names no labels. A classifier has "id2label": {{"0": "bad", "1": "good"}} there, one for '
                "each output; is this a model for something else?"
            )
        return cls(labels, _activation(record.get("problem_type"), len(labels)), positions)


def _activation(problem: str | None, labels: int) -> Activation:
    """As Hugging Face's pipelines decide: a single output is a regression unless the model says what it is."""
    by_problem: dict[str | None, Activation] = {
        "regression": "none",
        "single_label_classification": "softmax",
        "multi_label_classification": "sigmoid",
    }
    return by_problem.get(problem, "none" if labels == 1 else "softmax")


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings:
    """How texts are put through a model; see `steps.annotate.classifier`, whose parameters these are."""

    window: int = 512
    overlap: int = 0
    windows: int | None = 1
    combine: Combine = "mean"
    activation: Activation = "auto"
    batch: int | None = None
    provider: str = "auto"
    threads: int = 1


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model of windows of tokens that is loaded."""

    files: ModelFiles
    settings: ClassifierSettings
    session: Any
    tokenizer: Any  # cuts at `settings.window`
    batch: int
    pad: int  # the id of padding, which the model does not look at

    def cut(self, texts: pa.LargeStringArray) -> tuple[list[Window], list[int]]:
        """The windows of all texts that have words, and the text that each is of."""
        windows: list[Window] = []
        rows: list[int] = []
        for row, text in enumerate(texts.to_pylist()):
            if text and not text.isspace():
                of_text = self._windows(text)
                windows += of_text
                rows += [row] * len(of_text)
        return windows, rows

    def _windows(self, text: str) -> list[Window]:
        """The windows of a text that are read: all, or as many as the settings say, evenly spread from its beginning to
        its end; the first, if it is one."""
        limit = self.settings.windows
        characters = CHARS_PER_TOKEN * self.settings.window
        while limit == 1 and characters < len(text):  # not the whole of a book for its beginning
            cut = text.rfind(" ", characters // 2, characters) + 1 or characters
            encoding = self.tokenizer.encode(text[:cut])
            if encoding.overflowing:
                return [Window(encoding.ids, encoding.type_ids)]
            characters *= 4
        encoding = self.tokenizer.encode(text)
        if limit == 1 or not encoding.overflowing:
            return [Window(encoding.ids, encoding.type_ids)]
        windows = [Window(part.ids, part.type_ids) for part in (encoding, *encoding.overflowing)]
        if limit is None or len(windows) <= limit:
            return windows
        return [windows[i * (len(windows) - 1) // (limit - 1)] for i in range(limit)]

    def batches(self, windows: Sequence[Window]) -> Iterator[tuple[list[int], int]]:
        """The windows of each batch, and the tokens that they are padded to: windows of one length together."""
        lengths = [len(window.ids) for window in windows]
        if self.batch > 1:
            lengths = [-(-length // PAD_TO) * PAD_TO for length in lengths]
            lengths = [min(length, self.settings.window) for length in lengths]
        order = sorted(range(len(windows)), key=lengths.__getitem__)
        at = 0
        while at < len(order):
            length, stop = lengths[order[at]], at + 1
            while stop < len(order) and stop - at < self.batch and lengths[order[stop]] == length:
                stop += 1
            yield order[at:stop], length
            at = stop

    def run(self, windows: Sequence[Window], length: int, names: Sequence[str] | None = None) -> list[Any]:
        """What the model gives for a batch: rows that are missing in it repeat the last one.

        names   of its outputs; None: all
        """
        ids = np.full((self.batch, length), self.pad, np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for row in range(self.batch):
            window = windows[min(row, len(windows) - 1)]
            size = len(window.ids)
            ids[row, :size], types[row, :size], mask[row, :size] = window.ids, window.types, 1
        inputs = dict(zip(INPUTS, (ids, mask, types, np.broadcast_to(np.arange(length), ids.shape))))
        try:
            given: list[Any] = self.session.run(
                names, {node.name: inputs[node.name] for node in self.session.get_inputs()}
            )
        except Exception as error:  # the library has no class for it
            raise AssetError(f"{self.files.model}: the model fails on {length} tokens: {error}") from error
        return given


@dataclass(frozen=True, eq=False)
class OnnxClassifier(OnnxModel):
    """A classifier. Made by `load`."""

    config: ModelConfig

    def scores(self, texts: pa.LargeStringArray) -> Float32s:
        """(documents, labels) scores, NaN for a text without words."""
        windows, rows = self.cut(texts)
        outputs = self._outputs(windows)
        scores = np.full((len(texts), outputs.shape[1]), np.nan, np.float64)
        first = np.flatnonzero(np.diff(np.array([-1, *rows])))
        if len(first):
            sums = np.add.reduceat(outputs, first) / np.diff([*first, len(rows)])[:, None]
            scores[np.array(rows)[first]] = (
                sums if self.settings.combine == "mean" else np.maximum.reduceat(outputs, first)
            )
        return np.round(scores, SCORE_DIGITS).astype(np.float32)

    def _outputs(self, windows: Sequence[Window]) -> Float64s:
        """(windows, labels) what the model says of each, after the activation."""
        outputs = np.empty((len(windows), len(self.config.labels)))
        for rows, length in self.batches(windows):
            outputs[rows] = self._run([windows[row] for row in rows], length)
        kind = self.config.activation if self.settings.activation == "auto" else self.settings.activation
        if kind == "sigmoid":
            return 1 / (1 + np.exp(-outputs))
        if kind == "softmax":
            powers = np.exp(outputs - outputs.max(axis=1, keepdims=True, initial=-np.inf))
            shares: Float64s = powers / powers.sum(axis=1, keepdims=True)
            return shares
        return outputs

    def _run(self, windows: Sequence[Window], length: int) -> Float64s:
        """(windows, labels) outputs."""
        outputs = self.run(windows, length)[0]
        if outputs.shape != (self.batch, len(self.config.labels)):
            raise AssetError(
                f"{self.files.model}: gives an output of shape {list(outputs.shape)} for {self.batch} texts, and "
                f"{self.files.config.name} has {len(self.config.labels)} labels: not a classifier of texts, or not the "
                "config.json of this model."
            )
        used: Float64s = np.asarray(outputs[: len(windows)], np.float64)
        return used


def load(files: ModelFiles, settings: ClassifierSettings) -> OnnxClassifier:
    """The model, loaded once per process and content.

    Raises MissingExtraError without onnxruntime, AssetError if the parts are not those of a classifier, RecipeError
    for a provider that there is not, or a window that the model does not take.
    """
    return assets.of_files([*files[:3], *files.weights], settings, partial(_loaded, files, settings))


def _loaded(files: ModelFiles, settings: ClassifierSettings) -> OnnxClassifier:
    config = ModelConfig.read(files.config)
    parts = opened(files, settings, config.positions, "annotate/classifier", "classifier")
    model = OnnxClassifier(files, settings, *parts, config)
    model.scores(pa.array(["a"], pa.large_string()))  # what does not fit together says so before documents are read
    return model


def opened(
    files: ModelFiles, settings: ClassifierSettings, positions: int | None, user: str, head: torch_session.Head
) -> tuple[Any, Any, int, int]:
    """Session, tokenizer, windows at a time and the id of padding of a model. Raises as `load` does.

    positions   tokens that the model takes at most
    user        what needs the extra, for its error
    head        what is above the layers of a model of PyTorch
    """
    if positions is not None and settings.window > positions:
        raise RecipeError(f"window: {settings.window} tokens are more than the {positions} that {files.model} takes")
    if files.model.name.endswith(torch_session.WEIGHTS):
        session: Any = torch_session.opened(files.model.parent, head, settings.provider, settings.threads, user)
    else:
        session = _session(files, settings, user)
    unknown = [node.name for node in session.get_inputs() if node.name not in INPUTS]
    if unknown:
        raise AssetError(f"{files.model}: has an input {unknown[0]!r}; a model of texts takes {', '.join(INPUTS[:3])}")
    batch = settings.batch or (BATCH if session.get_providers()[0] != CPU else 1)
    tokenizer = _tokenizer(files, settings)
    pads = (tokenizer.token_to_id(token) for token in PADDING)
    return session, tokenizer, batch, next((pad for pad in pads if pad is not None), 0)


def _session(files: ModelFiles, settings: ClassifierSettings, user: str) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ONNX.error(user) from None
    providers = chosen(settings.provider, onnxruntime.get_available_providers())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings.threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it plans memory for one shape of input, and windows have many
    options.use_deterministic_compute = True
    options.log_severity_level = 3  # errors alone
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        # Its fallback is to the same providers, and prints.
        session = onnxruntime.InferenceSession(str(files.model), options, providers=providers, enable_fallback=0)
    except Exception as error:  # the library has no class for it
        raise AssetError(f"{files.model}: onnxruntime cannot load it: {error}") from error
    if settings.provider != "auto" and session.get_providers()[0] != providers[0]:
        raise AssetError(f"{files.model}: {providers[0]} cannot run it on this machine; use provider: auto, or cpu")
    return session


def _tokenizer(files: ModelFiles, settings: ClassifierSettings) -> Any:
    tokenizer = native(files.tokenizer.read_text("utf-8", "replace"), files.tokenizer)
    if getattr(tokenizer.model, "dropout", None):
        tokenizer.model.dropout = None  # or a document would have another score each time
    capacity = settings.window - tokenizer.num_special_tokens_to_add(False)
    if settings.overlap >= capacity:
        raise RecipeError(f"overlap: {settings.overlap} leaves nothing of a window of {capacity} tokens; use less")
    tokenizer.no_padding()
    tokenizer.enable_truncation(settings.window, stride=settings.overlap)
    return tokenizer


def chosen(provider: str, available: Sequence[str]) -> list[str]:
    """What onnxruntime is to use, the processor last.

    provider   "auto", or a name with or without "ExecutionProvider", in any case

    Raises RecipeError if the installed build of onnxruntime does not have it.
    """
    if provider == "auto":
        return [*[name for name in ACCELERATORS if name in available][:1], CPU]
    short = {name.removesuffix("ExecutionProvider").lower(): name for name in available}
    key = provider.lower().removesuffix("executionprovider")
    if key not in short:
        suggestion = did_you_mean(key, list(short)) or "."
        raise RecipeError(
            f'provider: the installed onnxruntime has no "{provider}"{suggestion} It has {", ".join(sorted(short))}; '
            "others come with other builds of it, such as onnxruntime-gpu."
        )
    return list(dict.fromkeys([short[key], CPU]))


def resources_of(extra: Extra, provider: str, threads: int, workers: int | None) -> Resources:
    """What a unit of a pass needs that runs a model which needs this extra; on an accelerator one worker at a time."""
    fast = not provider.lower().startswith("cpu")
    if provider == "auto":
        fast = torch_session.has_accelerator() if extra == TRANSFORMERS else _has_accelerator()
    workers = workers or (1 if fast else None)
    return Resources(cpus=threads, accelerators=float(fast), workers=workers, keeps=True)


def _has_accelerator() -> bool:
    """Whether the installed onnxruntime may use one."""
    try:
        import onnxruntime
    except ImportError:
        return False
    return bool(set(ACCELERATORS) & set(onnxruntime.get_available_providers()))
