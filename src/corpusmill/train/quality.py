"""Train a classifier of good and bad documents, and evaluate it on held-out ones."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import corpusmill
from corpusmill.errors import InputError, RecipeError
from corpusmill.models.quality import BITS, QualityModel, linear
from corpusmill.models.quality_score import LENGTHS, room_for, train_epoch
from corpusmill.text.buffers import view
from corpusmill.text.hashing import hash64, hash128
from corpusmill.text.unicode import classes

THRESHOLDS = tuple(round(0.05 * i, 2) for i in range(1, 20))
LEAST = 2  # documents of each kind: one to train on, one to evaluate on
SQUARED = 1e-3  # AdaGrad's sums start here, so that the first documents do not take full steps


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Training parameters.

    bits       2**bits weights; 18 are 0.5 MB. More for more data: 22 for gigabytes
    epochs     passes over the documents
    rate       step of AdaGrad (Duchi et al. 2011)
    decay      weight decay
    length     use the length of documents as a feature, too
    held_out   share of the documents of each kind that is held out for evaluation
    seed       of the order of documents, and of the choice of held-out ones
    """

    bits: int = 18
    epochs: int = 8
    rate: float = 0.05
    decay: float = 1e-6
    length: bool = True
    held_out: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if not BITS[0] <= self.bits <= BITS[1]:
            raise RecipeError(f"bits must be from {BITS[0]} to {BITS[1]}, got {self.bits}")
        if self.epochs < 1 or not self.rate > 0 or not self.decay >= 0:
            raise RecipeError(
                f"need epochs >= 1, rate > 0 and decay >= 0, got {self.epochs}, {self.rate} and {self.decay}"
            )
        if not 0 < self.held_out < 1:
            raise RecipeError(f"held_out must be between 0 and 1, got {self.held_out}")


@dataclass(frozen=True)
class Sets:
    """Documents of both kinds, each text once.

    repeated   documents left out as duplicates
    disputed   texts left out because they are both among the good and the bad
    """

    texts: pa.LargeStringArray
    good: NDArray[np.bool_]
    repeated: int
    disputed: int


@dataclass(frozen=True)
class Scores:
    """Evaluation on held-out documents.

    auc          the probability that a good document scores above a bad one; a tie counts half
    length_auc   the same with the number of bytes as the score
    table        by threshold: `good_kept` and `bad_kept`, shares of the documents that score at least that;
                 `precision`, the share of good ones among the kept if there are as many good as bad; `f1` of that and
                 `good_kept`
    """

    documents: int
    good: int
    auc: float
    length_auc: float
    table: tuple[Mapping[str, float], ...]


def train(
    good: pa.LargeStringArray, bad: pa.LargeStringArray, settings: Settings, about: Mapping[str, Any]
) -> QualityModel:
    """A model that scores texts like `good` high and texts like `bad` low.

    about   copied to the card: the origin of the data, its licence

    The same texts give the same model, byte for byte, in any order. Both kinds have the same total weight, however many
    documents each has. The card has the model's scores on the held-out documents, which it is not trained on. Raises
    InputError if too few documents of a kind are left.
    """
    sets = together(good, bad)
    held = hold_out(sets, settings)
    learned = fit(sets.texts.filter(pa.array(~held)), sets.good[~held], settings)
    card = {
        **about,
        "kind": "quality",
        "corpusmill": corpusmill.__version__,
        "settings": asdict(settings),
        "documents": {
            "good": int(sets.good.sum()),
            "bad": int((~sets.good).sum()),
            "repeated": sets.repeated,
            "disputed": sets.disputed,
        },
    }
    judged = sets.texts.filter(pa.array(held))
    model = QualityModel({}, learned)
    metrics = judge(model.scores(judged), judged, sets.good[held])
    return QualityModel({**card, "held_out": rounded(asdict(metrics))}, learned)


def together(good: pa.LargeStringArray, bad: pa.LargeStringArray) -> Sets:
    """Both kinds in one array, sorted by a hash of their text, so that the order of the input does not matter.

    Raises InputError if a kind has fewer than LEAST texts that the other does not have.
    """
    texts = pa.concat_arrays([good, bad])
    is_good = np.arange(len(texts)) < len(good)
    keys = hash128(texts)
    order = np.lexsort((~is_good, keys[:, 1], keys[:, 0]))
    keys, is_good = keys[order], is_good[order]
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    group = np.cumsum(first) - 1
    groups = int(first.sum())
    both = np.minimum(np.bincount(group, is_good, groups), np.bincount(group, ~is_good, groups)) > 0
    kept = first & ~both[group] if groups else first
    sets = Sets(texts.take(pa.array(order[kept])), is_good[kept], int(len(keys) - groups), int(both.sum()))
    for kind, count, given in (("good", int(sets.good.sum()), len(good)), ("bad", int((~sets.good).sum()), len(bad))):
        if count < LEAST:
            why = f" ({sets.disputed} are in both kinds, {sets.repeated} are duplicates)" if given > count else ""
            raise InputError(
                f"{given} {kind} documents give {count} usable texts{why}; need at least {LEAST}. By default a text "
                f"file "
                f"is one document: use --documents paragraph or --documents line for one per paragraph or line."
            )
    return sets


def hold_out(sets: Sets, settings: Settings) -> NDArray[np.bool_]:
    """(documents,) which are held out: of each kind the share with the lowest hashes, at least one and not all."""
    held = np.zeros(len(sets.good), bool)
    draw = hash64(sets.texts, settings.seed)
    for kind in (sets.good, ~sets.good):
        of_kind = np.flatnonzero(kind)
        count = min(max(round(settings.held_out * len(of_kind)), 1), len(of_kind) - 1)
        held[of_kind[np.argsort(draw[of_kind], kind="stable")[:count]]] = True
    return held


def fit(texts: pa.LargeStringArray, good: NDArray[np.bool_], settings: Settings) -> Any:
    """The weights: logistic regression by AdaGrad, one document at a time, in the order of hashes of the texts."""
    text = view(texts)
    share = np.where(good, good.mean(), 1 - good.mean())
    importance = (0.5 / share).astype(np.float32)
    weights = np.zeros(1 << settings.bits, np.float32)
    lengths, bias = np.zeros(LENGTHS, np.float32), np.zeros(1, np.float32)
    squares = np.full(len(weights) + LENGTHS + 1, SQUARED, np.float32)
    rows = np.empty(room_for(int(np.diff(text.offsets).max())), np.int32)
    for epoch in range(settings.epochs):
        order = np.argsort(hash64(texts, settings.seed + 1 + epoch), kind="stable")
        train_epoch(
            text, order, good, importance, np.uint64(64 - settings.bits),
            settings.rate, settings.decay, settings.length,
            classes(), weights, lengths, bias, squares, rows,
        )  # fmt: skip
    return linear(weights, lengths, bias)


def judge(scores: NDArray[np.float32], texts: pa.LargeStringArray, good: NDArray[np.bool_]) -> Scores:
    """Evaluate scores. A text without tokens scores 0."""
    score = np.nan_to_num(scores, nan=0.0)
    rows = []
    for threshold in THRESHOLDS:
        kept = score >= np.float32(threshold)
        recall, fall = float(kept[good].mean()), float(kept[~good].mean())
        precision = recall / (recall + fall) if recall + fall else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        rows.append({"threshold": threshold, "good_kept": recall, "bad_kept": fall, "precision": precision, "f1": f1})
    length = np.diff(view(texts).offsets)
    return Scores(len(good), int(good.sum()), auc(score, good), auc(length, good), tuple(rows))


def auc(scores: NDArray[Any], good: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: the probability that a good one scores above a bad one; a tie counts half.

    >>> auc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = int(good.sum())
    return float((rank[good].sum() - n * (n + 1) / 2) / (n * (len(good) - n)))


def rounded(value: Any) -> Any:
    """The numbers of a card, rounded to four decimal places."""
    if isinstance(value, Mapping):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value
