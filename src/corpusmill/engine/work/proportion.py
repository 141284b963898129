"""Tokens of a text at steps where it was another one."""

import numpy as np
from numpy.typing import NDArray


def in_proportion(tokens: NDArray[np.int64], size: NDArray[np.int64], full: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tokens of texts of `size` bytes, if texts of `full` bytes have so many: all (documents,) below 2**31. Halves are
    rounded up; of nothing there is nothing.

    >>> in_proportion(np.array([10, 10, 7]), np.array([100, 25, 9]), np.array([100, 100, 0])).tolist()
    [10, 3, 0]
    """
    divisor = np.maximum(full, 1)
    estimate: NDArray[np.int64] = (2 * tokens * size + divisor) // (2 * divisor)
    return np.where(full > 0, estimate, 0)
