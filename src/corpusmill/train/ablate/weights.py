"""The weights of sources that a law of what their shares cost leads to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpusmill.train.ablate.experiment import allotted


@dataclass(frozen=True)
class ShareLaw:
    """What held-out text costs, by the shares of sources: a constant + the sum of slope * sqrt(share).

    The root, because the first bytes of a source teach more than the last ones.

    slopes   (sources,) below 0: models are better with the source
    """

    slopes: NDArray[np.float64]

    @classmethod
    def fitted(cls, shares: NDArray[np.float64], others: NDArray[np.float64], costs: NDArray[np.float64]) -> "ShareLaw":
        """The law of some models, by least squares.

        shares   (models, sources); others (models, factors) what else was varied; costs (models,)
        """
        columns = np.hstack([np.sqrt(shares), others, np.ones((len(costs), 1))])
        solved: NDArray[np.float64] = np.linalg.lstsq(columns, costs, rcond=None)[0]
        return cls(solved[: shares.shape[1]])

    @classmethod
    def of_all(cls, laws: Sequence["ShareLaw"]) -> "ShareLaw":
        """The mean of independent laws, each slope shrunk by what is noise in it: one that is no larger than its
        standard error is 0 (James and Stein 1961, positive part)."""
        slopes = np.array([law.slopes for law in laws])
        mean, variance = slopes.mean(axis=0), slopes.var(axis=0, ddof=1) / len(slopes)
        noise = np.divide(variance, mean**2, out=np.ones(len(mean)), where=mean != 0)
        return cls(mean * np.maximum(1 - noise, 0.0))


def best_weights(law: ShareLaw, before: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares that cost least.

    before   (sources,) shares, 1 in all
    limits   (sources,) the largest share of each, 1 in all or more
    returns  (sources,) 1 in all: in proportion to the squares of slopes below 0, up to the limits. Only what these
             sources cannot give is of those with a slope of 0, and then of the others, as they were before

    >>> thirds = np.array([1.0, 1.0, 1.0]) / 3
    >>> best_weights(ShareLaw(np.array([-2.0, -1.0, 0.5])), thirds, thirds * 3).tolist()
    [0.8, 0.2, 0.0]
    >>> best_weights(ShareLaw(np.array([-2.0, -1.0, 0.5])), thirds, np.array([0.5, 0.25, 1.0])).tolist()
    [0.5, 0.25, 0.25]
    """
    shares = allotted(np.minimum(law.slopes, 0.0) ** 2, limits, 1.0)
    for others in (law.slopes == 0, law.slopes > 0):
        left = 1 - shares.sum()
        if left > 0:
            shares += allotted(before * others, limits, left)
    return shares
