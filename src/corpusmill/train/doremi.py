"""Weights of the sources of a mixture from two small models: DoReMi (Xie et al. 2023, arXiv:2305.10429, Algorithm 1).

A reference model is trained with equal weights. Then a proxy model of the same size is trained with weights that
increase for the sources on which it is still worse than the reference: there is something left to learn. Sources that
cannot be learned, or are learned at once, lose weight. The result is the mean of the weights over the steps.

Departures from the paper: every batch holds the same number of rows of each source (the paper draws sources uniformly,
which is the same in expectation but misses sources in small batches); ids that do not occur are left out of the models'
vocabulary; a row holds documents of one source, separated by the attention mask.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.assets.extras import TORCH
from corpusmill.errors import InputError
from corpusmill.loader.columns import IGNORE
from corpusmill.loader.order import SampleOrder
from corpusmill.train.sources import TokenSource

try:
    import torch
except ImportError:
    raise TORCH.error("corpusmill.train.doremi") from None

from corpusmill.train.gpt import GPT, Shape, best_device, losses

Floats = NDArray[np.float64]
WARM_UP_SHARE = 0.06  # share of the steps over which the learning rate rises; the paper's
LAST_SHARE = 0.25  # share of the steps, at the end, over which losses are averaged


@dataclass(frozen=True, kw_only=True)
class MixtureSettings:
    """Training parameters.

    steps                  of each model
    length                 tokens in a row
    rows                   of each source in a batch
    step_size, smoothing   eta and c of the paper
    rate                   learning rate, which decays to a tenth
    width, layers, heads   of the models
    seed                   of initial weights and of the order of rows
    """

    steps: int = 1000
    length: int = 256
    rows: int = 4
    step_size: float = 1.0
    smoothing: float = 1e-3
    rate: float = 1e-3
    width: int = 128
    layers: int = 4
    heads: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.length < 2 or self.rows < 1:
            raise InputError(
                f"need steps >= 1, length >= 2 and rows >= 1, got {self.steps}, {self.length}, {self.rows}"
            )
        if self.step_size <= 0 or self.rate <= 0 or not 0 <= self.smoothing < 1:
            raise InputError(
                "need step_size > 0, rate > 0 and 0 <= smoothing < 1, got "
                f"{self.step_size}, {self.rate}, {self.smoothing}"
            )


@dataclass(frozen=True)
class Mixture:
    """The result of DoReMi.

    sources     names
    weights     (sources,) shares of the tokens, which sum to 1
    history     (steps, sources) the weights after each step; `weights` is their mean
    reference   (sources,) loss of the reference model over the last quarter of its steps, in nats per token …
    proxy       … and of the proxy model
    """

    sources: tuple[str, ...]
    weights: Floats
    history: Floats
    reference: Floats
    proxy: Floats

    def shares(self) -> dict[str, float]:
        """The weights for mix/sources, rounded to four decimal places so that they sum to 1."""
        parts = 10_000
        exact = self.weights * parts
        counts = np.floor(exact).astype(int)
        by_remainder = np.lexsort((np.arange(len(exact)), counts - exact))
        counts[by_remainder[: parts - counts.sum()]] += 1
        return {name: int(count) / parts for name, count in zip(self.sources, counts)}


def updated(weights: Floats, excess: Floats, step_size: float, smoothing: float) -> Floats:
    """The weights after a step: exponentiated gradient ascent, then mixed with equal weights.

    excess   (sources,) excess loss of the proxy over the reference in nats per token, clipped at 0 for each token
    """
    raised = np.log(weights) + step_size * excess
    raised = np.exp(raised - raised.max())
    return np.asarray((1 - smoothing) * raised / raised.sum() + smoothing / len(weights))


def learn(
    sources: Sequence[TokenSource],
    settings: MixtureSettings,
    device: str | None = None,
    on_step: Callable[[str, int, Mapping[str, float]], None] = lambda model, step, weights: None,
) -> Mixture:
    """Train both models and return the weights.

    device    a name of PyTorch's; by default a GPU if there is one, else the CPU
    on_step   called after each step with "reference" or "proxy", the number of steps done, and the weights

    The same sources and settings give the same weights on the same machine; on another the last digits may differ, as
    floating-point sums do. Raises InputError for fewer than two sources, or one with too few tokens.
    """
    where = torch.device(device) if device else best_device()
    names = tuple(source.name for source in sources)
    if len(sources) < 2:
        raise InputError(f"a mixture needs two sources or more, got {', '.join(names) or 'none'}")
    batches = Batches(sources, settings)
    equal = np.full(len(sources), 1 / len(sources))

    def model() -> GPT:
        torch.manual_seed(settings.seed)
        shape = Shape(
            vocabulary=len(batches.vocabulary),
            length=settings.length,
            width=settings.width,
            layers=settings.layers,
            heads=settings.heads,
        )
        gpt = GPT(shape)
        gpt.to(where)
        return gpt

    reference = model()
    optimiser = Optimiser(reference, settings)
    first = np.empty((settings.steps, len(sources)))
    for step in range(settings.steps):
        token_losses, targets = batches.losses(reference, step, where)
        mean = token_losses.sum((1, 2)) / targets
        optimiser.step(mean.mean())
        first[step] = mean.detach().cpu().numpy()
        on_step("reference", step + 1, dict(zip(names, equal.tolist())))

    reference.eval().requires_grad_(False)
    proxy = model()
    optimiser = Optimiser(proxy, settings)
    second, history, weights = np.empty_like(first), np.empty_like(first), equal
    for step in range(settings.steps):
        token_losses, targets = batches.losses(proxy, step, where)
        with torch.no_grad():
            reference_losses, _ = batches.losses(reference, step, where)
            excess = ((token_losses - reference_losses).clamp(min=0).sum((1, 2)) / targets).double().cpu().numpy()
        weights = updated(weights, excess, settings.step_size, settings.smoothing)
        mean = token_losses.sum((1, 2)) / targets
        optimiser.step((torch.tensor(weights, dtype=mean.dtype, device=where) * mean).sum())
        second[step], history[step] = mean.detach().cpu().numpy(), weights
        on_step("proxy", step + 1, dict(zip(names, weights.tolist())))

    last = slice(settings.steps - max(1, round(settings.steps * LAST_SHARE)), None)
    return Mixture(names, history.mean(0), history, first[last].mean(0), second[last].mean(0))


class Optimiser:
    """AdamW with linear warm-up and cosine decay of the learning rate."""

    def __init__(self, model: GPT, settings: MixtureSettings) -> None:
        self.model = model
        self.adam = torch.optim.AdamW(model.parameters(), settings.rate, betas=(0.9, 0.99), weight_decay=0.01)
        rise = max(1, round(WARM_UP_SHARE * settings.steps))

        def rate(step: int) -> float:
            if step < rise:
                return (step + 1) / rise
            progress = (step - rise) / max(1, settings.steps - rise)
            return 0.1 + 0.45 * (1 + float(np.cos(np.pi * progress)))

        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.adam, rate)

    def step(self, loss: Any) -> None:
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adam.step()
        self.schedule.step()


class Batches:
    """Rows of every source, in the order of `loader.order`: all rows of a source are used before any is repeated."""

    def __init__(self, sources: Sequence[TokenSource], settings: MixtureSettings) -> None:
        self.settings = settings
        self.sources = sources
        for source in sources:
            if len(source.tokens) <= settings.length:
                raise InputError(
                    f"{source.name}: has {len(source.tokens)} tokens, too few for a row of {settings.length}. Leave "
                    f"the "
                    "source out, or use shorter rows."
                )
        largest = max(int(source.tokens.max()) for source in sources) + 1
        used = sum(np.bincount(source.tokens, minlength=largest) for source in sources)
        self.vocabulary = np.flatnonzero(used)
        self.number = np.zeros(largest, np.int64)  # id -> its index in `vocabulary`
        self.number[self.vocabulary] = np.arange(len(self.vocabulary))
        self.orders = [
            SampleOrder(((len(source.tokens) - 1) // settings.length,), (1.0,), settings.seed) for source in sources
        ]

    def losses(self, model: GPT, step: int, device: Any) -> tuple[Any, Any]:
        """(sources, rows, length) loss of each token, 0 without a target; (sources,) the number of targets."""
        tokens, targets, positions = (torch.from_numpy(column).to(device) for column in self.at(step))
        token_losses = losses(model(tokens, positions), targets)
        shape = (len(self.sources), self.settings.rows, self.settings.length)
        return token_losses.view(shape), (targets.view(shape) != IGNORE).sum((1, 2)).clamp(min=1)

    def at(self, step: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(sources × rows, length) tokens, targets and position ids of a step."""
        rows, length = self.settings.rows, self.settings.length
        size = (len(self.sources) * rows, length)
        tokens, targets, positions = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
        samples = np.arange(step * rows, (step + 1) * rows)
        for i, (source, order) in enumerate(zip(self.sources, self.orders)):
            for j, row in enumerate(order.draw(samples).row.tolist()):
                at = i * rows + j
                ids = self.number[source.tokens[row * length : (row + 1) * length + 1]]
                first = source.first[row * length : (row + 1) * length + 1].copy()
                tokens[at] = ids[:-1]
                targets[at] = np.where(first[1:], IGNORE, ids[1:])
                first[0] = True
                indices = np.arange(length)
                positions[at] = indices - np.maximum.accumulate(np.where(first[:-1], indices, 0))
        return tokens, targets, positions


def card(mixture: Mixture, settings: MixtureSettings, tokens: Mapping[str, int]) -> dict[str, Any]:
    """The card of a mixture: all that is reported beside its weights.

    tokens   of each source, available to the models
    """
    rows = zip(mixture.sources, mixture.reference.tolist(), mixture.proxy.tolist(), mixture.history[-1].tolist())
    return {
        "method": "DoReMi, Xie et al. 2023, arXiv:2305.10429",
        "settings": asdict(settings),
        "sources": {
            name: {
                "tokens": tokens[name],
                "reference_loss": round(reference, 4),
                "proxy_loss": round(proxy, 4),
                "last_weight": round(last, 4),
            }
            for name, reference, proxy, last in rows
        },
    }
