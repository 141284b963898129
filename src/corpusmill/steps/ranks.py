"""Where a line is drawn through all documents in an order of their own, each file of them sorted by itself.

A file has `keys` (documents,) uint64, rising; `documents` (documents,), which decide between equal keys, rising among
these; and `sums` (documents + 1,), the weights of the first documents. Looking for the line reads a few places of one
file at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Run = Mapping[str, NDArray[Any]]
Runs = Sequence[Callable[[], Run]]  # file by file, mapped anew with each call: there may be more than can be open
LARGEST = (1 << 64) - 1
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class RankLine(NamedTuple):
    """A place in the order: before the document that has this key and number."""

    key: int
    document: int

    def before(self, keys: NDArray[np.uint64], documents: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(documents,) which documents come before it."""
        key = np.uint64(self.key)
        return np.asarray((keys < key) | ((keys == key) & (documents < self.document)))


END = RankLine(LARGEST, np.iinfo(np.int64).max)  # behind all documents


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


def weight(runs: Runs) -> int:
    """Of all documents."""
    return sum(int(run["sums"][-1]) for run in opened(runs))


def line_at(runs: Runs, bound: float) -> RankLine:
    """Before the first document that, with all before it, weighs more than this; END if there is none."""
    if weight(runs) <= bound:
        return END

    def up_to(key: int) -> int:
        """The weight of all documents with this key or a smaller one."""
        return sum(int(run["sums"][int(np.searchsorted(run["keys"], np.uint64(key), "right"))]) for run in opened(runs))

    key = smallest_passing(0, LARGEST, lambda key: up_to(key) > bound)
    before, last = up_to(key - 1) if key else 0, 0
    tied: list[tuple[Callable[[], Run], slice]] = []
    for run, arrays in zip(runs, opened(runs)):
        tie = slice(*(int(np.searchsorted(arrays["keys"], np.uint64(key), side)) for side in SIDES))
        if tie.start < tie.stop:
            tied.append((run, tie))
            last = max(last, int(arrays["documents"][tie.stop - 1]))

    def with_ties(document: int) -> int:
        """The same of this document and those before it, of those that have the key."""
        total = before
        for run, tie in tied:
            arrays = run()
            end = tie.start + int(np.searchsorted(arrays["documents"][tie], document, "right"))
            total += int(arrays["sums"][end] - arrays["sums"][tie.start])
        return total

    return RankLine(key, smallest_passing(0, last, lambda document: with_ties(document) > bound))


def opened(runs: Runs) -> Iterator[Run]:
    """One file after the other."""
    return (run() for run in runs)


def smallest_passing(low: int, high: int, right: Callable[[int], bool]) -> int:
    """The smallest number from `low` to `high` that is right; all greater ones are, too, and `high` is."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if right(middle) else (middle + 1, high)
    return low
