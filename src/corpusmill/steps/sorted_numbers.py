"""Sorted numbers without repeats."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sort_distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Sort numbers in place; returns the distinct ones. (np.unique hashes, from numpy 2.3 on, and takes 10 times as
    long for millions.)"""
    numbers.sort()
    new = np.ones(len(numbers), bool)
    new[1:] = numbers[1:] != numbers[:-1]
    return numbers[new]


def distinct_rows(pairs: NDArray[Any]) -> NDArray[Any]:
    """The same of (pairs, 2), as by np.unique along an axis, which compares rows as bytes."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[new]


def within(numbers: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Those of some sorted numbers."""
    first, last = np.searchsorted(numbers, [start, stop])
    return numbers[first:last]


def absent(numbers: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of the numbers are not among the others, which are sorted. (np.isin hashes, see above.)"""
    if not len(others):
        return np.ones(len(numbers), bool)
    at = np.searchsorted(others, numbers)
    at[at == len(others)] = 0  # greater than all, so not equal to the first
    different: NDArray[np.bool_] = others[at] != numbers
    return different
