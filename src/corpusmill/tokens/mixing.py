"""How many tokens each source contributes to a mixture, and how often each document is drawn."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from corpusmill.text.array_types import Bools, Float64s, Int64s

HALVINGS = 200  # of an interval that has the power of a curve
LARGEST_POWER = 1e6


class Quota(NamedTuple):
    """The contribution of a source, in tokens or another unit of the mixture.

    documents   in the source
    there       tokens in the source
    share       of all tokens drawn
    wanted      tokens to draw; if more than `there`, documents are repeated
    """

    source: str
    documents: int
    there: int
    share: float
    wanted: int

    @property
    def epochs(self) -> float:
        """How often each token is drawn, on average."""
        return self.wanted / self.there if self.there else 0.0


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights as shares that sum to 1. At least one weight must be above 0."""
    total = sum(weights.values())
    return {source: weight / total for source, weight in weights.items()}


def by_temperature(available: Mapping[str, int], temperature: float) -> dict[str, float]:
    """Shares proportional to tokens ** (1 / temperature).

    At 1 shares are proportional to size, at infinity they are equal. XLM-R (Conneau et al. 2020, arXiv:1911.02116,
    section 3.1) and mT5 (Xue et al. 2021, arXiv:2010.11934, section 3.2) use an exponent of 0.3, a temperature of 3.33.

    >>> by_temperature({"en": 8100, "is": 100}, 2)
    {'en': 0.9, 'is': 0.1}
    """
    largest = max(available.values(), default=0)
    return normalised(
        {source: (tokens / largest) ** (1 / temperature) if tokens else 0 for source, tokens in available.items()}
    )


def largest_budget(available: Mapping[str, int], shares: Mapping[str, float], epochs: Mapping[str, float]) -> int:
    """The most tokens that can be drawn without repeating any source more than `epochs` times."""
    return int(min(epochs[source] * available[source] / share for source, share in shares.items() if share))


def most_of_curve(tokens: Int64s, cap: float, discard: float) -> float:
    """The most tokens that `upsampling` can give."""
    return float((tokens * (_above(tokens, discard) > 0)).sum() * cap) if tokens.any() else 0.0


def upsampling(tokens: Int64s, target: float, cap: float, discard: float) -> Float64s:
    """(buckets,) how often each bucket is drawn on average: 0 or more, never less than a worse one, at most `cap`.

    tokens    (buckets,) tokens of each, from the lowest quality up
    target    tokens to draw, at most `most_of_curve`: tokens @ the result, to 1e-9 of them
    discard   the share of all tokens, from the lowest quality up, that is not drawn

    The middle of a bucket is at the share x of all tokens; it is drawn cap * ((x - discard) / (1 - discard)) ** p
    times, with the power p >= 0 that gives `target`.

    >>> upsampling(np.array([100, 100, 100, 100]), 200, 2.0, 0.5).round(3).tolist()
    [0.0, 0.0, 0.5, 1.5]
    """
    above = _above(tokens, discard)
    if target <= 0 or not above.any():
        return np.zeros(len(tokens))
    with np.errstate(divide="ignore"):
        logs = np.log(above)

    def curve(power: float) -> Float64s:
        if not math.isfinite(cap):  # of a sample: whatever comes out
            return np.asarray((above > 0) * target / (tokens * (above > 0)).sum())
        return np.asarray(np.where(above > 0, cap * np.exp(power * np.where(above > 0, logs, 0.0)), 0.0))

    low, high = 0.0, 1.0
    while tokens @ curve(high) > target and high < LARGEST_POWER:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tokens @ curve(middle) > target else (low, middle)
    draws = curve(high)
    drawn = float(tokens @ draws)
    # What floating point leaves, never above the cap.
    return np.minimum(draws * (target / drawn), cap) if drawn else draws


def _above(tokens: Int64s, discard: float) -> Float64s:
    """(buckets,) where the middle of each is between `discard`, 0, and the best, 1."""
    total = max(int(tokens.sum()), 1)
    middle = (np.cumsum(tokens) - tokens / 2) / total
    return np.asarray(np.clip((middle - discard) / (1 - discard), 0, None))


def copies(lengths: Int64s, order: Int64s, target: int) -> Int64s:
    """(documents,) how often each document of a source is drawn.

    lengths   (documents,) tokens of each, 1 or more
    order     (documents,) the documents in the order in which they are drawn
    target    tokens to draw, 0 or more; 0 if there are no documents

    All documents are drawn as many whole times as fit; for the rest, each document in turn is drawn once more if it
    fits. So never more than `target` is drawn, and the shortfall is smaller than every document that was not drawn once
    more.
    """
    full, remainder = divmod(target, max(int(lengths.sum()), 1))
    times = np.full(len(lengths), full, np.int64)
    times[order[fitting(lengths[order], remainder)]] += 1
    return times


def fitting(lengths: Int64s, capacity: int) -> Bools:
    """(documents,) which documents are taken, if each in turn is taken that fits into the remaining room."""
    chosen = np.zeros(len(lengths), bool)
    start = 0
    while start < len(lengths):
        ends = np.cumsum(lengths[start:])
        count = int(np.searchsorted(ends, capacity, "right"))
        chosen[start : start + count] = True
        capacity -= int(ends[count - 1]) if count else 0
        fits = lengths[start + count :] <= capacity
        if not fits.any():
            break
        start += count + int(np.argmax(fits))
    return chosen
