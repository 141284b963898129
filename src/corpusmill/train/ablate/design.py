"""Which models are trained: a fractional factorial design over stages, sources and buckets, all varied at once.

Each factor has two levels: a stage drops documents or not, a source or bucket is read or not. The columns are those of
a Hadamard matrix, and again with all levels exchanged (Box and Wilson 1951, fold-over): levels are balanced, each pair
of factors has all four combinations equally often, and no effect of a factor is mixed with one of two others together.
What three others do together may be mixed with it, so columns and their signs are drawn anew for each experiment: then
it is noise between experiments, and no bias.
"""

import numpy as np
from numpy.typing import NDArray

SPREAD = 2.0  # a source's weight is multiplied with a random number from 1 / SPREAD to SPREAD


def levels(models: int, factors: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """(models, factors) which factors are on in each model. The number of models is a power of 2, more than twice the
    number of factors."""
    half = models // 2
    matrix = np.ones((1, 1), np.int64)
    while len(matrix) < half:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    chosen = matrix[:, 1 + random.permutation(half - 1)[:factors]] * random.choice([-1, 1], factors)
    return np.concatenate([chosen, -chosen]) > 0


def multipliers(models: int, sources: int, random: np.random.Generator) -> NDArray[np.float64]:
    """(models, sources) of the weights of sources."""
    drawn: NDArray[np.float64] = SPREAD ** random.uniform(-1, 1, (models, sources))
    return drawn
