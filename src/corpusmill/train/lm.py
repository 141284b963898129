"""Train an n-gram language model: interpolated modified Kneser-Ney smoothing.

Chen and Goodman 1999, "An empirical study of smoothing techniques for language modeling", section 3: n-grams of the
highest order are counted by occurrences, those of lower orders by the number of distinct words before them (by
occurrences if they begin a sentence); each order has three discounts, from the counts of counts; the discounted mass is
given to the next lower order, and finally to all words uniformly, including the unknown word.

Words that are too rare are replaced by the unknown word, and share its probability equally, so that a text full of
unknown words is improbable.

n-grams are pruned after the discounts are computed, and their mass is given to the lower order as well, so that
probabilities add up to 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.about import __version__
from corpusmill.errors import InputError
from corpusmill.models.ngram import MAX_ORDER, NgramModel, built
from corpusmill.models.ngram_keys import END, START, UNKNOWN, extend
from corpusmill.steps.annotate.perplexity import sentences
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.hashing import xxh64
from corpusmill.text.lowlevel import NO_BITS, load8

U = np.uint64
SPACE = 32
Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class LmSettings:
    """Training parameters.

    order       words of the longest n-grams
    min_count   rarer words are replaced by the unknown word
    prune       n-grams of three words or more with at most this count are left out, unless a longer one needs them
    prune_from  the least words of those: 2 makes a much smaller model
    """

    order: int = 3
    min_count: int = 2
    prune: int = 1
    prune_from: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.order <= MAX_ORDER:
            raise InputError(f"order must be from 1 to {MAX_ORDER}, got {self.order}")
        if self.min_count < 1 or self.prune < 0 or self.prune_from < 2:
            raise InputError(
                f"need min_count >= 1, prune >= 0 and prune_from >= 2, got {self.min_count}, {self.prune} and "
                f"{self.prune_from}"
            )


def train(texts: pa.LargeStringArray, settings: LmSettings, about: Mapping[str, Any]) -> NgramModel:
    """A model of the sentences of texts, which are their lines.

    about   copied to the card: paths of the data, its licence

    Memory: about 60 bytes per word and order. Raises InputError if there are no words.
    """
    folded, _ = sentences(texts)
    words = np.empty(int(_words(view(folded), np.empty(0, U))), U)
    _words(view(folded), words)
    if len(words) <= 2 * len(folded) or not len(folded):
        raise InputError("there are no words to train on in these texts")
    names, numbers, counts = np.unique(words, return_inverse=True, return_counts=True)
    rare = (counts < settings.min_count) & ~np.isin(names, np.array([START, END]))
    unknown = max(1, int(rare.sum()))  # words that share the probability of the unknown word
    words = np.where(rare[numbers], UNKNOWN, words)
    del names, numbers, counts
    orders = _orders(words, settings.order)
    _adjust(orders)
    discounts = [_discounts(ngrams.counts) for ngrams in orders]
    _prune(orders, settings.prune, settings.prune_from)
    _probabilities(orders, discounts)
    keys, logs, backs = ([getattr(ngrams, name) for ngrams in orders] for name in ("keys", "log", "back"))
    for ngrams, log in zip(orders, logs):
        log[: len(ngrams.unknown)][ngrams.unknown] -= np.float32(np.log10(unknown))
    if not np.isin(extend(NO_BITS, UNKNOWN), keys[0], kind="sort"):
        keys[0] = np.append(keys[0], extend(NO_BITS, UNKNOWN))
        logs[0] = np.append(logs[0], np.float32(np.log10(orders[0].uniform)))
        backs[0] = np.append(backs[0], np.float32(0))
    card = {
        **about,
        "corpusmill": __version__,
        "smoothing": "interpolated modified Kneser-Ney",
        "sentences": len(folded),
        "words": len(words) - 2 * len(folded),
        "min_count": settings.min_count,
        "unknown": unknown,
        "prune": settings.prune,
        "ngrams": [len(part) for part in keys],
        "discounts": [[round(float(d), 6) for d in three] for three in discounts],
    }
    return NgramModel(settings.order, built(keys, logs, backs), card)


@dataclass
class NgramOrder:
    """The n-grams of one order, sorted by key.

    keys     (n-grams,)
    suffix   key without the first word; 0 for single words
    context  key without the last word; 0 for single words
    starts   whether the first word is <s>
    unknown  whether the last word is the unknown one
    counts   occurrences, then as `_adjust` defines them

    `_probabilities` computes the others.
    """

    keys: Words
    suffix: Words
    context: Words
    starts: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    counts: NDArray[np.int64]
    before_pruning: tuple[Words, NDArray[np.int64]] | None = None  # contexts and counts
    probability: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    weight: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # back-off weight, as a context
    uniform: float = 0.0  # of single words: the probability of each without any occurrence

    @property
    def log(self) -> NDArray[np.float32]:
        return np.log10(self.probability).astype(np.float32)

    @property
    def back(self) -> NDArray[np.float32]:
        weight = self.weight if len(self.weight) else np.ones(len(self.keys))
        return np.log10(weight).astype(np.float32)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        for name in ("keys", "suffix", "context", "starts", "unknown", "counts"):
            setattr(self, name, getattr(self, name)[mask])


def _orders(words: Words, order: int) -> list[NgramOrder]:
    orders = []
    keys = np.zeros(len(words), U)  # of the n - 1 words that end at each position; 0 across the beginning of a sentence
    for n in range(1, order + 1):
        longer = _extended(words, keys, n)
        ends = np.flatnonzero(longer)
        if n == 1:
            ends = np.flatnonzero(words != START)
        unique, first, counts = np.unique(longer[ends], return_index=True, return_counts=True)
        at = ends[first]
        context = keys[at - 1] if n > 1 else np.zeros(len(at), U)
        suffix = keys[at] if n > 1 else np.zeros(len(at), U)
        starts = words[at - n + 1] == START
        orders.append(NgramOrder(unique, suffix, context, starts, words[at] == UNKNOWN, counts))
        keys = longer
    return orders


@kernel
def _extended(words: Words, keys: Words, n: int) -> Words:
    """The keys of the n words that end at each position; 0 if the sentence has fewer up to there."""
    out = np.zeros(len(words), U)
    for at in range(n - 1, len(words)):
        if n == 1:
            out[at] = extend(NO_BITS, words[at])
        elif keys[at] != NO_BITS and words[at - n + 2] != START:
            out[at] = extend(keys[at], words[at - n + 1])
    return out


@kernel
def _words(text: TextBuffer, out: Words) -> int:
    """Write the words of all sentences as hashes, with <s> and </s>; returns how many. An empty `out` only counts."""
    count = 0
    for s in range(len(text.offsets) - 1):
        at, end = text.offsets[s], text.offsets[s + 1]
        if len(out):
            out[count] = START
        count += 1
        while True:
            while at < end and load8(text.data, at) == SPACE:
                at += 1
            if at == end:
                break
            begin = at
            while at < end and load8(text.data, at) != SPACE:
                at += 1
            if len(out):
                out[count] = xxh64(text.data, begin, at, NO_BITS)
            count += 1
        if len(out):
            out[count] = END
        count += 1
    return count


def _adjust(orders: list[NgramOrder]) -> None:
    """Count the n-grams of lower orders by the distinct words before them, except those that begin a sentence."""
    for lower, higher in pairwise(orders):
        before = np.bincount(np.searchsorted(lower.keys, higher.suffix), minlength=len(lower.keys))
        lower.counts = np.where(lower.starts, lower.counts, before)


def _discounts(counts: NDArray[np.int64]) -> tuple[float, float, float]:
    """For counts of 1, 2, and 3 or more; 0.5, 1 and 1.5 if the counts of counts are too small for the formula."""
    n1, n2, n3, n4 = (int((counts == n).sum()) for n in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return 0.5, 1.0, 1.5
    y = n1 / (n1 + 2 * n2)
    discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if not all(0 < d < n for n, d in enumerate(discounts, 1)):
        return 0.5, 1.0, 1.5
    return discounts


def _prune(orders: list[NgramOrder], max_count: int, first: int) -> None:
    """Remove rare n-grams of `first` words and more, but not parts of longer ones that are kept."""
    needed = np.empty(0, U)
    for n in range(len(orders), first - 1, -1):
        ngrams = orders[n - 1]
        ngrams.before_pruning = ngrams.context, ngrams.counts
        ngrams.keep((ngrams.counts > max_count) | np.isin(ngrams.keys, needed, kind="sort"))
        needed = np.union1d(ngrams.suffix, ngrams.context)


def _probabilities(orders: list[NgramOrder], discounts: list[tuple[float, float, float]]) -> None:
    start = extend(NO_BITS, START)
    for n, (ngrams, discount) in enumerate(zip(orders, discounts), 1):
        context, counts = ngrams.before_pruning or (ngrams.context, ngrams.counts)
        contexts, where = np.unique(context, return_inverse=True)
        total = np.bincount(where, counts)
        context_index = np.searchsorted(contexts, ngrams.context)
        share = (ngrams.counts - np.array(discount)[np.minimum(ngrams.counts, 3) - 1]) / total[context_index]
        leftover = 1 - np.bincount(context_index, share, len(contexts))  # of each context, for the lower order
        if n == 1:
            ngrams.uniform = float(leftover[0]) / (
                len(ngrams.keys) + (not np.isin(extend(NO_BITS, UNKNOWN), ngrams.keys, kind="sort"))
            )
            ngrams.probability = share + ngrams.uniform
            continue
        lower = orders[n - 2]
        ngrams.probability = (
            share + leftover[context_index] * lower.probability[np.searchsorted(lower.keys, ngrams.suffix)]
        )
        if n == 2:
            # <s> is the context of a first word, but never a next word, so its own probability is never used.
            lower.keys = np.append(lower.keys, start)
            lower.probability = np.append(lower.probability, 1.0)
        lower.weight = np.ones(len(lower.keys))
        if not len(lower.keys):
            continue
        order = np.argsort(lower.keys)
        positions = order[np.minimum(np.searchsorted(lower.keys, contexts, sorter=order), len(order) - 1)]
        is_context = lower.keys[positions] == contexts
        lower.weight[positions[is_context]] = leftover[is_context]


def warm_up() -> None:
    """Compile the kernels."""
    train(pa.array(["a b a b\na c b b a"], pa.large_string()), LmSettings(min_count=1, order=2, prune=0), {})
