"""Train a classifier of good and bad documents, and evaluate it on held-out ones."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.about import __version__
from corpusmill.errors import InputError, RecipeError
from corpusmill.models.quality import BITS, QualityModel, linear
from corpusmill.models.quality_score import LENGTHS, Linear, measure_shapes, room_for, train_epoch
from corpusmill.models.quality_shape import OF_LENGTH, SHAPE_FEATURES
from corpusmill.text.buffers import view
from corpusmill.text.hashing import hash64, hash128
from corpusmill.text.unicode import classes

THRESHOLDS = tuple(round(0.05 * i, 2) for i in range(1, 20))
MIN_DOCUMENTS = 2  # documents of each kind: one to train on, one to evaluate on
RIDGE = (
    20.0  # documents' worth of pull of the shape's weights towards 0: 238 labelled pages were best ranked by 10 to 30
)
SHAPE_BOUND = 4.0  # standard deviations beyond which a shape counts as no further away
NEWTON_STEPS = 50  # of Newton's method, at most; it takes about 6
INITIAL_SQUARES = 1e-3  # AdaGrad's sums start here, so that the first documents do not take full steps


@dataclass(frozen=True, kw_only=True)
class QualitySettings:
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
class LabelledTexts:
    """Documents of both kinds, each text once.

    repeated   documents left out as duplicates
    disputed   texts left out because they are both among the good and the bad
    """

    texts: pa.LargeStringArray
    good: NDArray[np.bool_]
    repeated: int
    disputed: int


@dataclass(frozen=True)
class HeldOutScores:
    """Evaluation on held-out documents.

    auc          the probability that a good document scores above a bad one; a tie counts half
    length_auc   the same with the number of bytes as the score
    words_auc    with the number of tokens
    shape_auc    with a model of statistics of characters, words and lines alone, without lengths of documents, made
                 from the same documents
    error        the standard error of `auc` (Hanley and McNeil 1982)
    table        by threshold: `good_kept` and `bad_kept`, shares of the documents that score at least that;
                 `precision`, the share of good ones among the kept if there are as many good as bad; `f1` of that and
                 `good_kept`
    """

    documents: int
    good: int
    auc: float
    length_auc: float
    words_auc: float
    shape_auc: float
    error: float
    table: tuple[Mapping[str, float], ...]


def train(
    good: pa.LargeStringArray, bad: pa.LargeStringArray, settings: QualitySettings, about: Mapping[str, Any]
) -> QualityModel:
    """A model that scores texts like `good` high and texts like `bad` low.

    about   copied to the card: the origin of the data, its licence

    The same texts give the same model, byte for byte, in any order. Both kinds have the same total weight, however many
    documents each has. The card has the model's scores on the held-out documents, which it is not trained on. Raises
    InputError if too few documents of a kind are left.
    """
    sets = together(good, bad)
    held_out = hold_out(sets, settings)
    learned = fit(sets.texts.filter(pa.array(~held_out)), sets.good[~held_out], settings)
    card = {
        **about,
        "kind": "quality",
        "corpusmill": __version__,
        "settings": asdict(settings),
        "documents": {
            "good": int(sets.good.sum()),
            "bad": int((~sets.good).sum()),
            "repeated": sets.repeated,
            "disputed": sets.disputed,
        },
    }
    judged = sets.texts.filter(pa.array(held_out))
    model = QualityModel({}, learned)
    shapes = shapes_of(judged)
    simple = fit_shape(shapes_of(sets.texts.filter(pa.array(~held_out))), sets.good[~held_out], length=False)
    metrics = judge(model.scores(judged), judged, sets.good[held_out], shapes[:, 0], simple.odds(shapes))
    return QualityModel({**card, "held_out": rounded(asdict(metrics))}, learned)


def together(good: pa.LargeStringArray, bad: pa.LargeStringArray) -> LabelledTexts:
    """Both kinds in one array, sorted by a hash of their text, so that the order of the input does not matter.

    Raises InputError if a kind has fewer than MIN_DOCUMENTS texts that the other does not have.
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
    keep = first & ~both[group] if groups else first
    sets = LabelledTexts(texts.take(pa.array(order[keep])), is_good[keep], int(len(keys) - groups), int(both.sum()))
    for kind, count, total in (("good", int(sets.good.sum()), len(good)), ("bad", int((~sets.good).sum()), len(bad))):
        if count < MIN_DOCUMENTS:
            why = f" ({sets.disputed} are in both kinds, {sets.repeated} are duplicates)" if total > count else ""
            raise InputError(
                f"{total} {kind} documents give {count} usable texts{why}; need at least {MIN_DOCUMENTS}. By "
                "default a text file is one document: use --documents paragraph or --documents line for one per "
                "paragraph or line."
            )
    return sets


def hold_out(sets: LabelledTexts, settings: QualitySettings) -> NDArray[np.bool_]:
    """(documents,) which are held out: of each kind the share with the lowest hashes, at least one and not all."""
    held_out = np.zeros(len(sets.good), bool)
    draw = hash64(sets.texts, settings.seed)
    for kind in (sets.good, ~sets.good):
        of_kind = np.flatnonzero(kind)
        count = min(max(round(settings.held_out * len(of_kind)), 1), len(of_kind) - 1)
        held_out[of_kind[np.argsort(draw[of_kind], kind="stable")[:count]]] = True
    return held_out


def fit(
    texts: pa.LargeStringArray,
    good: NDArray[np.bool_],
    settings: QualitySettings,
    importance: NDArray[np.float32] | None = None,
) -> Linear:
    """The weights: first of the shape, by ridge regression; then of the words, of what that leaves, by logistic
    regression with AdaGrad, one document at a time, in the order of hashes of the texts.

    importance   (documents,) weight of each; None: so that both kinds have the same
    """
    text = view(texts)
    importance = balanced(good) if importance is None else importance
    rows = np.empty(room_for(int(np.diff(text.offsets).max())), np.int32)
    shapes = shapes_of(texts)
    by_shape = fit_shape(shapes, good, settings.length, importance)
    weights = np.zeros(1 << settings.bits, np.float32)
    lengths, bias = np.zeros(LENGTHS, np.float32), np.zeros(1, np.float32)
    squares = np.full(len(weights) + LENGTHS + 1, INITIAL_SQUARES, np.float32)
    offset = by_shape.odds(shapes).astype(np.float32)
    for epoch in range(settings.epochs):
        order = np.argsort(hash64(texts, settings.seed + 1 + epoch), kind="stable")
        train_epoch(
            text, order, good, importance, offset, np.uint64(64 - settings.bits),
            settings.rate, settings.decay, settings.length,
            classes(), weights, lengths, bias, squares, rows,
        )  # fmt: skip
    return linear(weights, lengths, bias + np.float32(by_shape.bias), by_shape.weights)


def balanced(good: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(documents,) weights with which both kinds weigh the same, 1 on average."""
    share: NDArray[np.float64] = np.where(good, good.mean(), 1 - good.mean())
    return np.asarray(0.5 / share, np.float32)


def shapes_of(texts: pa.LargeStringArray) -> NDArray[np.float32]:
    """(documents, FEATURES) what texts look like; see `models.quality_shape`."""
    text = view(texts)
    shapes = np.empty((len(texts), SHAPE_FEATURES), np.float32)
    rows = np.empty(room_for(int(np.diff(text.offsets).max(initial=0))), np.int32)
    measure_shapes(text, np.uint64(64 - BITS[0]), classes(), rows, shapes)
    return shapes


@dataclass(frozen=True)
class ShapeModel:
    """A linear model of shapes.

    weights   (FEATURES, 3) float32: weight, low, high, see `quality_shape.weigh`
    """

    weights: NDArray[np.float32]
    bias: float

    def odds(self, shapes: NDArray[np.float32]) -> NDArray[np.float64]:
        """(documents,) log odds."""
        weight, low, high = self.weights.T.astype(np.float64)
        odds: NDArray[np.float64] = np.clip(shapes, low, high) @ weight + self.bias
        return odds


def fit_shape(
    shapes: NDArray[np.float32], good: NDArray[np.bool_], length: bool, importance: NDArray[np.float32] | None = None
) -> ShapeModel:
    """Logistic regression with a ridge, by Newton's method, on standardized features.

    length   whether features of a document's length take part
    """
    importance = balanced(good) if importance is None else importance
    mean = np.average(shapes, axis=0, weights=importance).astype(np.float64)
    spread = np.sqrt(np.average((shapes - mean) ** 2, axis=0, weights=importance)) + 1e-9
    x = np.concatenate(
        [np.clip((shapes - mean) / spread, -SHAPE_BOUND, SHAPE_BOUND), np.ones((len(shapes), 1))], axis=1
    )
    if not length:
        x[:, :OF_LENGTH] = 0
    ridge = np.full(SHAPE_FEATURES + 1, RIDGE)
    ridge[-1] = 1e-3
    weights = np.zeros(SHAPE_FEATURES + 1)
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        curve = (x * (importance * np.maximum(p * (1 - p), 1e-9))[:, None]).T @ x + np.diag(ridge)
        step = np.linalg.solve(curve, x.T @ (importance * (good - p)) - ridge * weights)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    of_feature = (weights[:-1] / spread).astype(np.float32)
    table = np.stack([of_feature, mean - SHAPE_BOUND * spread, mean + SHAPE_BOUND * spread], axis=1).astype(np.float32)
    return ShapeModel(table, float(weights[-1] - mean @ of_feature))


def judge(
    scores: NDArray[np.float32],
    texts: pa.LargeStringArray,
    good: NDArray[np.bool_],
    words: NDArray[Any],
    shape: NDArray[Any],
) -> HeldOutScores:
    """Evaluate scores. A text without tokens scores 0.

    words, shape   (documents,) scores of simple baselines
    """
    score = np.nan_to_num(scores, nan=0.0)
    rows = []
    for threshold in THRESHOLDS:
        keep = score >= np.float32(threshold)
        recall, fall = float(keep[good].mean()), float(keep[~good].mean())
        precision = recall / (recall + fall) if recall + fall else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        rows.append({"threshold": threshold, "good_kept": recall, "bad_kept": fall, "precision": precision, "f1": f1})
    length = np.diff(view(texts).offsets)
    area = auc(score, good)
    return HeldOutScores(
        documents=len(good),
        good=int(good.sum()),
        auc=area,
        length_auc=auc(length, good),
        words_auc=auc(words, good),
        shape_auc=auc(shape, good),
        error=auc_error(area, int(good.sum()), int((~good).sum())),
        table=tuple(rows),
    )


def unbeaten(held_out: Mapping[str, Any]) -> list[str]:
    """The simple baselines that a model does not beat on its held-out documents by more than chance gives, in words.

    held_out   of the model's card
    """
    baselines = {
        "length_auc": "the number of bytes alone",
        "words_auc": "the number of words alone",
        "shape_auc": "statistics of characters, words and lines alone",
    }
    return [
        f"{words} ({held_out[name]:.3f})"
        for name, words in baselines.items()
        if held_out["auc"] - held_out["error"] <= max(held_out[name], 1 - held_out[name])
    ]


def auc_error(area: float, good: int, bad: int) -> float:
    """The standard error of an area under the ROC curve: Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747.

    >>> round(auc_error(0.85, 120, 120), 3)
    0.025
    """
    q1, q2 = area / (2 - area), 2 * area * area / (1 + area)
    square = area * (1 - area) + (good - 1) * (q1 - area * area) + (bad - 1) * (q2 - area * area)
    return float(np.sqrt(max(square, 0.0) / (good * bad)))


def auc(scores: NDArray[Any], good: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: the probability that a good one scores above a bad one; a tie counts half.

    >>> auc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    _, group, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[group]
    n = int(good.sum())
    return float((rank[good].sum() - n * (n + 1) / 2) / (n * (len(good) - n)))


def rounded(value: Any) -> Any:
    """The numbers of a card, rounded to four decimal places."""
    if isinstance(value, Mapping):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value
