"""Small GPTs of bytes, many trained at once.

The models of a design are the GPT of `train.gpt`, with the same initial weights; their weights are in one tensor for
each parameter, with the model as the first dimension, and `vmap` carries all of them out together. Each has its own
rows to read, its own norm of gradients and its own state of the optimiser, so none depends on which others are trained
beside it.

All models of a group read rows in one random order, each leaving out what is not in its mix. So what two of them have
in common they read at about the same time, and their difference is that of their mixes.

On a CPU a group is trained by one thread: the same text and seed give the same bytes on the same machine, with any
number of threads or of models at a time. On an accelerator the last digits may differ from one time to another.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.assets.extras import TORCH
from corpusmill.execute import cpus
from corpusmill.loader.columns import IGNORE
from corpusmill.train.ablate.experiment import MAX_EPOCHS, Costs

try:
    import torch
    from torch.func import functional_call, vmap
except ImportError:
    raise TORCH.error("corpusmill ablate --models gpt") from None

from corpusmill.train.gpt import GPT, Attend, Shape, losses

END = 256  # in place of a byte: before and after each document
PASSES = math.ceil(MAX_EPOCHS) + 1  # over a part, at most
WARM_UP, LOWEST = 0.1, 0.1  # of the steps; of the learning rate, at the end of its decay
JUDGED_BYTES = 512  # at a time
_INITIAL = Lock()  # PyTorch's seed is one for all threads

Weights = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class GptModels:
    """GPTs as a kind of models: see `experiment.ModelKind`.

    width, layers, heads   of each
    length                 bytes in a row
    rows                   in a step
    rate                   learning rate, which rises over WARM_UP of the steps and falls as a cosine to LOWEST
    models_at_once         in one tensor
    budget                 bytes that a model reads
    judged                 bytes of held-out text of a group, but no more than a model reads
    device                 a name of PyTorch's
    bf16                   products of matrices in 16 bits
    """

    width: int = 64
    layers: int = 2
    heads: int = 2
    length: int = 128
    rows: int = 1
    rate: float = 5e-3
    models_at_once: int = 32
    budget: int = 100_000
    judged: int = 64 << 10
    device: str = "cpu"
    bf16: bool = False

    @property
    def shape(self) -> Shape:
        return Shape(vocabulary=END + 1, length=self.length, width=self.width, layers=self.layers, heads=self.heads)

    @property
    def about(self) -> str:
        parameters = sum(weight.numel() for weight in GPT(self.shape).parameters())
        return f"GPTs of {parameters:,} parameters, by {self.device}"

    @property
    def groups_at_once(self) -> int:
        return cpus.usable() if self.device == "cpu" else 1

    def models(self, factors: int) -> int:
        return max(64, 2 << factors.bit_length())

    def held_out(self, budget: int) -> int:
        return min(self.judged, budget)

    def costs(
        self,
        judged: Sequence[pa.LargeStringArray],
        parts: Sequence[pa.LargeStringArray],
        budget: int,
        random: np.random.Generator,
    ) -> Costs:
        return GroupModels(self, judged, parts, budget, random)


def for_device(device: str) -> GptModels:
    """The kind for a device: with a CPU of two cores a run of any size takes half an hour at most; with an accelerator
    about ten minutes, if it does 40 TFLOPS on models of this size (reckoned, not measured)."""
    if device == "cpu":
        return GptModels()
    return GptModels(
        width=192,
        layers=6,
        heads=6,
        length=256,
        rows=16,
        rate=2e-3,
        models_at_once=32,
        budget=2_000_000,
        judged=256 << 10,
        device=device,
        bf16=True,
    )


@dataclass(frozen=True)
class TokenRows:
    """Documents in rows of bytes, each document between two ENDs; what is left of the last row has no targets.

    tokens, targets, positions   (rows, length)
    """

    tokens: NDArray[np.int16]
    targets: NDArray[np.int16]
    positions: NDArray[np.int16]

    @classmethod
    def packed(cls, texts: pa.LargeStringArray, length: int) -> "TokenRows":
        documents = [np.frombuffer(text.encode(), np.uint8).astype(np.int16) for text in texts.to_pylist()]
        end = np.array([END], np.int16)
        tokens = np.concatenate([np.empty(0, np.int16), *(part for each in documents for part in (end, each))])
        targets = np.concatenate([np.empty(0, np.int16), *(part for each in documents for part in (each, end))])
        rows = -(-len(tokens) // length)
        missing = rows * length - len(tokens)
        tokens = np.pad(tokens, (0, missing), constant_values=END).reshape(rows, length)
        targets = np.pad(targets, (0, missing), constant_values=IGNORE).reshape(rows, length)
        indices = np.arange(length)
        begins = np.where((tokens == END) | (indices == 0), indices, 0)
        positions = (indices - np.maximum.accumulate(begins, axis=1)).astype(np.int16)
        return cls(tokens, targets, positions)

    @classmethod
    def joined(cls, parts: Sequence["TokenRows"], length: int) -> "TokenRows":
        empty = np.empty((0, length), np.int16)
        columns = zip(*((part.tokens, part.targets, part.positions) for part in parts))
        return cls(*(np.concatenate([empty, *column]) for column in columns)) if parts else cls(empty, empty, empty)

    def tensors(self, chosen: NDArray[np.int64], device: str) -> list[Any]:
        """Tokens, targets and positions of some rows: (*chosen.shape, length) each."""
        columns = (self.tokens, self.targets, self.positions)
        return [torch.from_numpy(column[chosen].astype(np.int64)).to(device) for column in columns]


class GroupModels:
    """The models of a group of documents, any of its mixes: an `experiment.Costs`."""

    def __init__(
        self,
        kind: GptModels,
        judged: Sequence[pa.LargeStringArray],
        parts: Sequence[pa.LargeStringArray],
        budget: int,
        random: np.random.Generator,
    ) -> None:
        self.kind = kind
        by_part = [TokenRows.packed(texts, kind.length) for texts in parts]
        by_target = [TokenRows.packed(texts, kind.length) for texts in judged]
        self.rows, self.judged = (TokenRows.joined(each, kind.length) for each in (by_part, by_target))
        self.part = np.repeat(np.arange(len(by_part)), [len(each.tokens) for each in by_part])
        self.target = np.repeat(np.arange(len(by_target)), [len(each.tokens) for each in by_target])
        self.targets = len(by_target)
        self.steps = max(1, round(budget / (kind.rows * kind.length)))
        # All passes over all rows in a random order. A model reads those that are in its mix.
        order = np.argsort(random.random(PASSES * len(self.part)), kind="stable")
        self.turn, self.row = np.divmod(order, max(len(self.part), 1))
        self.seed = int(random.integers(1 << 62))

    def __call__(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.kind.device == "cpu":
            torch.set_num_threads(1)  # in this thread, and others that are new: each has a group of its own
        parts = np.array_split(times, math.ceil(len(times) / self.kind.models_at_once))
        return np.concatenate([self.judge(self.train(part)) for part in parts])

    def read(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """(steps × rows) the rows that a model reads, in order: from the beginning again if there are too few.

        times   (parts,) how often it reads each part
        """
        wanted = self.steps * self.kind.rows
        mix = self.row[self.turn < times[self.part[self.row]]]
        return np.resize(mix, wanted) if len(mix) else np.zeros(wanted, np.int64)

    def train(self, times: NDArray[np.float64]) -> Weights:
        """Parameter -> (models, …) of models that have read parts so often, (models, parts)."""
        kind = self.kind
        chosen = np.array([self.read(each) for each in times]).reshape(len(times), self.steps, kind.rows)
        model = self.untrained()
        weights = {
            name: weight.detach().expand(len(times), *weight.shape).clone().requires_grad_()
            for name, weight in model.named_parameters()
        }
        optimiser = torch.optim.AdamW(weights.values(), kind.rate, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

        def mean_loss(weights: Weights, tokens: Any, targets: Any, positions: Any) -> Any:
            nats = _nats(model, kind, weights, tokens, targets, positions)
            return nats.sum() / (targets != IGNORE).sum().clamp(min=1)

        of_all = vmap(mean_loss)
        for step in range(self.steps):
            for group in optimiser.param_groups:
                group["lr"] = kind.rate * schedule(step / self.steps)
            # The losses' sum has the gradient of each model's own loss: no weight is in two of them.
            of_all(weights, *self.rows.tensors(chosen[:, step], kind.device)).sum().backward()
            _clip(list(weights.values()))
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return weights

    def untrained(self) -> GPT:
        with _INITIAL, torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            model: GPT = GPT(self.kind.shape).to(self.kind.device)
            return model

    def judge(self, weights: Weights) -> NDArray[np.float64]:
        """(models, targets) bits of the held-out text."""
        model = self.untrained()

        def row_nats(weights: Weights, tokens: Any, targets: Any, positions: Any) -> Any:
            return _nats(model, self.kind, weights, tokens, targets, positions).sum(1)

        of_all = vmap(row_nats, in_dims=(0, None, None, None))
        nats = [np.zeros((len(next(iter(weights.values()))), 0))]
        with torch.no_grad():
            for rows in _slices(len(self.target), max(1, JUDGED_BYTES // self.kind.length)):
                nats.append(of_all(weights, *self.judged.tensors(rows, self.kind.device)).double().cpu().numpy())
        by_row = np.concatenate(nats, axis=1)
        sums = [by_row[:, self.target == target].sum(axis=1) for target in range(self.targets)]
        return np.stack(sums, axis=1) / math.log(2)


def schedule(done: float) -> float:
    """The share of the learning rate after this share of the steps.

    >>> [round(schedule(done), 3) for done in (0.0, 0.1, 0.55, 1.0)]
    [0.01, 1.0, 0.55, 0.1]
    """
    if done < WARM_UP:
        return max(done / WARM_UP, 0.01)
    return LOWEST + (1 - LOWEST) * 0.5 * (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP)))


def _nats(model: GPT, kind: GptModels, weights: Weights, tokens: Any, targets: Any, positions: Any) -> Any:
    """(rows, length) the loss of one model for each byte."""
    with torch.autocast(kind.device, torch.bfloat16, enabled=kind.bf16):
        logits = functional_call(model, dict(weights), (tokens, positions, within_documents(positions)))
    return losses(logits.float(), targets)


def within_documents(position_ids: Any) -> Attend:
    """The attention of `gpt.within_documents`, written out: `vmap` would carry out the fused one model by model."""
    piece = (position_ids == 0).cumsum(dim=1)
    mask = (piece[:, :, None] == piece[:, None, :]).tril()[:, None]

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        return scores.masked_fill(~mask, -math.inf).softmax(-1).to(v.dtype) @ v

    return attend


def _clip(weights: Sequence[Any]) -> None:
    """The gradients of each model to a norm of 1 at most."""
    # Added one by one: PyTorch's sum of a column depends on how many columns there are.
    squares = sum(weight.grad.flatten(1).square().sum(1) for weight in weights)
    scale = (1 / (squares.sqrt() + 1e-6)).clamp(max=1.0)
    for weight in weights:
        weight.grad.mul_(scale.view(-1, *[1] * (weight.dim() - 1)))


def _slices(length: int, size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, length, size):
        yield np.arange(start, min(start + size, length))
