"""Where a line is drawn through all documents in an order of their own, each file of them sorted by itself.

A file has `keys` (documents,) uint64, rising; `documents` (documents,), which decide between equal keys, rising among
these; and `sums` (documents + 1,), the weights of the first documents. Looking for the line reads a few places of each
file, and holds none.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Run = dict[str, NDArray[Any]]
LARGEST = (1 << 64) - 1
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class Line(NamedTuple):
    """A place in the order: before the document that has this key and number."""

    key: int
    document: int

    def before(self, keys: NDArray[np.uint64], documents: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(documents,) which documents come before it."""
        key = np.uint64(self.key)
        return np.asarray((keys < key) | ((keys == key) & (documents < self.document)))


END = Line(LARGEST, np.iinfo(np.int64).max)  # behind all documents


def ordered(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """(values,) numbers in the same order; NaN as the largest."""
    values = np.where(np.isnan(values), np.inf, values) + 0.0  # one zero
    bits = values.view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def run_of(keys: NDArray[np.uint64], documents: NDArray[np.int64], weights: NDArray[np.int64]) -> Run:
    """The arrays of a file, of documents by rising number."""
    order = np.argsort(keys, kind="stable")
    sums = np.append(0, np.cumsum(weights[order]))
    return {"keys": keys[order], "documents": documents[order], "sums": sums}


def line_at(runs: Sequence[Run], bound: float) -> Line:
    """Before the first document that, with all before it, weighs more than this; END if there is none."""
    if sum(int(run["sums"][-1]) for run in runs) <= bound:
        return END

    def up_to(key: int) -> int:
        """The weight of all documents with this key or a smaller one."""
        ends = (int(np.searchsorted(run["keys"], np.uint64(key), "right")) for run in runs)
        return sum(int(run["sums"][end]) for run, end in zip(runs, ends))

    key = least(0, LARGEST, lambda key: up_to(key) > bound)
    before = up_to(key - 1) if key else 0
    ties = [slice(*(int(np.searchsorted(run["keys"], np.uint64(key), side)) for side in SIDES)) for run in runs]
    some = [(run, tie) for run, tie in zip(runs, ties) if tie.start < tie.stop]

    def weight(document: int) -> int:
        """The same of this document and those before it, of those that have the key."""
        found = before
        for run, tie in some:
            end = tie.start + int(np.searchsorted(run["documents"][tie], document, "right"))
            found += int(run["sums"][end] - run["sums"][tie.start])
        return found

    last = max(int(run["documents"][tie.stop - 1]) for run, tie in some)
    return Line(key, least(0, last, lambda document: weight(document) > bound))


def least(low: int, high: int, right: Callable[[int], bool]) -> int:
    """The smallest number from `low` to `high` that is right; all greater ones are, too, and `high` is."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if right(middle) else (middle + 1, high)
    return low
