"""Edges between buckets of documents by the highest of their quantiles, however many documents there are.

The values of a signal are keys (see `ordered`), in files that are sorted each by itself. One signal needs no more: its
edges are found by bisection. With several, a document's rank is the highest of its quantiles, which no file has. So
ranks are cut into cells by a grid of quantiles, for which each signal has its keys; documents are counted by cell, and
only in the cells that an edge is in are quantiles made of documents. What is held is a few numbers for each cell, the
distinct values and ranks of one cell, and a part of one file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.ranks import LARGEST

Keys = NDArray[np.uint64]
Runs = Sequence[Callable[[], Keys]]  # sorted keys of a signal, file by file, mapped anew with each call
Cells = Callable[[], Mapping[str, NDArray[Any]]]  # what `by_cell` gives, of one file

NONE = np.uint64(0)  # no key of a number
TOGETHER = 1 << 20  # values that wait until they are counted together


def quantile(upto: NDArray[np.int64], count: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """(values,) the share of values that are lower, and half of those that are equal.

    upto    (values,) how many are lower or equal
    count   (values,) how many are equal
    """
    share: NDArray[np.float64] = (upto - count / 2) / max(total, 1)
    return share


def counted(runs: Runs, keys: Keys, side: Literal["left", "right"]) -> NDArray[np.int64]:
    """(keys,) how many of all are lower than each key; on the right, those that are equal, too."""
    counts = np.zeros(len(keys), np.int64)
    for run in runs:
        counts += np.searchsorted(run(), keys, side)
    return counts


def least_reaching(runs: Runs, shares: NDArray[np.float64]) -> Keys:
    """(shares,) the smallest key whose quantile is each share at least; LARGEST if there is none.

    shares   rising, above 0 and below 1
    """
    total = sum(len(run()) for run in runs)
    lowest = np.full(len(shares), LARGEST, np.uint64)
    if not total:
        return lowest
    # First the smallest key up to which there are enough: a quantile is lower than that share by half of the equal.
    low = np.zeros(len(shares), np.uint64)
    while (low < lowest).any():
        middle = low + (lowest - low) // np.uint64(2)
        enough = counted(runs, middle, "right") / total >= shares
        low, lowest = np.where(enough, low, middle + np.uint64(1)), np.where(enough, middle, lowest)
    upto = counted(runs, lowest, "right")
    reached = quantile(upto, upto - counted(runs, lowest, "left"), total) >= shares
    after = np.full(len(shares), LARGEST, np.uint64)
    for run in runs:
        keys = run()
        at = np.searchsorted(keys, lowest, "right")
        inside = at < len(keys)
        after[inside] = np.minimum(after[inside], keys[at[inside]])
    return np.where(reached, lowest, after)


def by_cell(keys: Sequence[Keys], grid: Sequence[Keys]) -> dict[str, NDArray[Any]]:
    """Documents in the order of their cells: `starts` (cells + 1,) where each begins, and of each signal `keys0`, … the
    keys that are in the cell of the document, NONE where another signal has a higher quantile.

    keys   of each signal (documents,), NONE without a value; documents without any are left out
    grid   of each signal (cells - 1,), the keys at which the cells behind the first begin
    """
    own = [np.where(key == NONE, -1, np.searchsorted(edges, key, "right")) for key, edges in zip(keys, grid)]
    cell = own[0]
    for column in own[1:]:
        cell = np.maximum(cell, column)
    order = np.argsort(cell, kind="stable")
    order = order[np.searchsorted(cell[order], 0) :]
    starts = np.searchsorted(cell[order], np.arange(len(grid[0]) + 2))
    return {"starts": starts} | {
        f"keys{i}": np.where(part == cell, key, NONE)[order] for i, (key, part) in enumerate(zip(keys, own))
    }


def edges_by_cell(signals: Sequence[Runs], grid: Sequence[Keys], files: Sequence[Cells], buckets: int) -> list[Keys]:
    """Of each signal (buckets - 1,) the smallest key with which a document is in bucket 1, 2, … or a higher one;
    LARGEST where no key is enough.

    grid    see `by_cell`: the smallest keys whose quantile is 1 / cells, 2 / cells, … at least
    files   the documents, by cell
    """
    counts = np.zeros(len(grid[0]) + 1, np.int64)
    for file in files:
        counts += np.diff(file()["starts"])
    ends = np.cumsum(counts)
    documents = int(ends[-1])
    totals = [sum(len(run()) for run in runs) for runs in signals]
    edges = [np.full(buckets - 1, LARGEST, np.uint64) for _ in signals]
    number, content = -1, None
    for k in range(1, buckets):
        share = k / buckets
        # The highest quantile of a cell is that of its end or a little less; the first of the next one is above.
        for cell in np.flatnonzero((counts > 0) & (ends / max(documents, 1) >= share))[:2].tolist():
            if cell != number or content is None:
                number, content = cell, _Cell(cell, signals, grid, files, totals)
            final = quantile(ends[cell] - counts[cell] + np.cumsum(content.documents), content.documents, documents)
            first = int(np.searchsorted(final, share))
            if first < len(final):
                for edge, key in zip(edges, content.keys_from(content.ranks[first])):
                    edge[k - 1] = key
                break
    return edges


class _Cell:
    """The quantiles in a cell: of the values of each signal, and the ranks of the documents."""

    def __init__(
        self, cell: int, signals: Sequence[Runs], grid: Sequence[Keys], files: Sequence[Cells], totals: Sequence[int]
    ) -> None:
        self.values: list[Keys] = []
        self.quantiles: list[NDArray[np.float64]] = []
        self.ends: list[int] = []
        for runs, edges, total in zip(signals, grid, totals):
            low = edges[cell - 1] if cell else np.uint64(0)
            high = edges[cell] if cell < len(edges) else np.uint64(LARGEST)
            bounds = np.array([low, high], np.uint64)
            values, count = tally(keys[slice(*np.searchsorted(keys, bounds))] for keys in (run() for run in runs))
            before = int(counted(runs, bounds[:1], "left")[0])
            self.values.append(values)
            self.quantiles.append(quantile(before + np.cumsum(count), count, total))
            self.ends.append(int(high))
        self.ranks, self.documents = tally(self._ranks(cell, file) for file in files)

    def _ranks(self, cell: int, file: Cells) -> NDArray[np.float64]:
        arrays = file()
        rows = slice(*arrays["starts"][cell : cell + 2].tolist())
        rank = np.full(rows.stop - rows.start, -1.0)
        for i, (values, quantiles) in enumerate(zip(self.values, self.quantiles)):
            keys = arrays[f"keys{i}"][rows]
            has_value = keys != NONE
            rank[has_value] = np.maximum(rank[has_value], quantiles[np.searchsorted(values, keys[has_value])])
        return rank

    def keys_from(self, rank: float) -> list[int]:
        """Of each signal the smallest key whose quantile is this at least, or that of the next cell."""
        edges = []
        for values, quantiles, end in zip(self.values, self.quantiles, self.ends):
            at = int(np.searchsorted(quantiles, rank))
            edges.append(int(values[at]) if at < len(values) else end)
        return edges


def tally(parts: Iterable[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct numbers in all parts, sorted, and how often each is there.

    >>> [found.tolist() for found in tally([np.array([3, 1]), np.array([3])])]
    [[1, 3], [1, 2]]
    """
    waiting: list[tuple[NDArray[Any], NDArray[np.int64]]] = []
    size, limit = 0, TOGETHER
    for part in parts:
        waiting.append(_summed(part, np.ones(len(part), np.int64)))
        size += len(waiting[-1][0])
        if size > limit:
            waiting = [_summed(*map(np.concatenate, zip(*waiting)))]
            size = len(waiting[0][0])
            limit = 2 * max(size, TOGETHER)
    if not waiting:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    return _summed(*map(np.concatenate, zip(*waiting)))


def _summed(numbers: NDArray[Any], counts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not len(numbers):
        return numbers, counts
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    return numbers[first], np.add.reduceat(counts[order], first)
