"""How much each source gives to a mix, and which documents make it up."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.tokens.packing import Int64s


class Quota(NamedTuple):
    """What a source is to give, in tokens, or in what else the mix counts.

    documents   that it has
    there       tokens of these
    share       of all that is drawn
    wanted      tokens to draw; beyond `there`, documents come again
    """

    source: str
    documents: int
    there: int
    share: float
    wanted: int

    @property
    def epochs(self) -> float:
        """How often its tokens come, on average."""
        return self.wanted / self.there if self.there else 0.0


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights as shares, whose sum is 1. At least one weight must be above 0."""
    total = sum(weights.values())
    return {source: weight / total for source, weight in weights.items()}


def by_temperature(available: Mapping[str, int], temperature: float) -> dict[str, float]:
    """Shares that are in proportion to tokens ** (1 / temperature).

    1 leaves the sources as large as they are, infinity makes them equal. XLM-R (Conneau et al. 2020, arXiv:1911.02116,
    section 3.1) and mT5 (Xue et al. 2021, arXiv:2010.11934, section 3.2) have an exponent of 0.3, so a temperature of
    3.33.

    >>> by_temperature({"en": 8100, "is": 100}, 2)
    {'en': 0.9, 'is': 0.1}
    """
    most = max(available.values(), default=0)
    return normalised(
        {source: (tokens / most) ** (1 / temperature) if tokens else 0 for source, tokens in available.items()}
    )


def largest_budget(available: Mapping[str, int], shares: Mapping[str, float], epochs: Mapping[str, float]) -> int:
    """The most tokens that can be drawn so that no source comes more than `epochs` times."""
    return int(min(epochs[source] * available[source] / share for source, share in shares.items() if share))


def copies(lengths: Int64s, order: Int64s, wanted: int) -> Int64s:
    """(documents,) how often each document of a source is drawn.

    lengths   (documents,) tokens of each, 1 or more
    order     (documents,) the documents in the order in which they are drawn
    wanted    tokens to draw, 0 or more; 0 where there are no documents

    All documents come as often as they can all come; for the rest, each document in turn is taken once more if it fits.
    So never more is drawn than wanted, and less by less than the tokens of any document that could come once more.
    """
    full, rest = divmod(wanted, max(int(lengths.sum()), 1))
    times = np.full(len(lengths), full, np.int64)
    times[order[fitting(lengths[order], rest)]] += 1
    return times


def fitting(lengths: Int64s, room: int) -> NDArray[np.bool_]:
    """(documents,) which are taken, if each in turn is taken that fits into the room that is left."""
    taken = np.zeros(len(lengths), bool)
    start = 0
    while start < len(lengths):
        ends = np.cumsum(lengths[start:])
        count = int(np.searchsorted(ends, room, "right"))
        taken[start : start + count] = True
        room -= int(ends[count - 1]) if count else 0
        fits = lengths[start + count :] <= room
        if not fits.any():
            break
        start += count + int(np.argmax(fits))
    return taken
