"""Connected components: union-find with the smallest number as the root, of all of a graph or of a range of nodes."""

import numpy as np

from corpusmill.text.array_types import Int32s, Int64s
from corpusmill.text.compile import kernel


def join(parent: Int32s, first: Int64s, second: Int64s) -> None:
    """Add edges between nodes.

    parent   (nodes,) of each a node of its component with a number that is not larger; arange to begin with. Changed
    """
    _join(parent, first, second)


@kernel
def _join(parent: Int32s, first: Int64s, second: Int64s) -> None:
    for i in range(len(first)):
        a, b = first[i], second[i]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b


def roots(parent: Int32s) -> Int32s:
    """(nodes,) the smallest node of each one's component; -1 where `parent` is."""
    root = np.empty(len(parent), np.int32)
    _roots(parent, root)
    return root


@kernel
def _roots(parent: Int32s, root: Int32s) -> None:
    for i in range(len(parent)):  # parents are smaller, so theirs are known
        root[i] = parent[i] if parent[i] == i or parent[i] < 0 else root[parent[i]]


def absorb(
    nodes: Int64s, lower: Int64s, weights: Int32s, start: int, parent: Int32s, outside: Int64s, weight: Int64s
) -> tuple[Int64s, Int64s]:
    """Add edges to a range of nodes that begins with the node `start`.

    nodes, lower   (edges,) a node of the range, and one that is not greater, in the range or before it
    weights        (edges,) added to the weight of the node
    parent         (range,) as of `join`, by place in the range; -1: there has been no edge of the node. Changed
    outside        (range,) of a root, the smallest node before the range that its component is known to be joined to;
                   -1: none. Changed
    weight         (range,) changed
    returns        (edges,) each, edges between nodes before the range, the greater first: of components that are joined
                   to two of them
    """
    greater, lesser = np.empty(len(nodes), np.int64), np.empty(len(nodes), np.int64)
    size = int(_absorb(nodes, lower, weights, start, parent, outside, weight, greater, lesser))
    return greater[:size], lesser[:size]


@kernel
def _absorb(
    nodes: Int64s,
    lower: Int64s,
    weights: Int32s,
    start: int,
    parent: Int32s,
    outside: Int64s,
    weight: Int64s,
    greater: Int64s,
    lesser: Int64s,
) -> int:
    size = 0
    for i in range(len(nodes)):
        a = nodes[i] - start
        weight[a] += weights[i]
        if parent[a] < 0:
            parent[a] = a
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        out = lower[i]
        if out >= start:
            b = out - start
            if parent[b] < 0:
                parent[b] = b
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            if a == b:
                continue
            if b < a:
                a, b = b, a
            parent[b] = a
            out = outside[b]
        joined = outside[a]
        if out < 0 or out == joined:
            continue
        if joined < 0:
            outside[a] = out
        else:
            greater[size], lesser[size] = max(joined, out), min(joined, out)
            outside[a] = min(joined, out)
            size += 1
    return size


def warm_up() -> None:
    """Compile the kernels."""
    numbers = np.arange(2)
    parent = np.arange(2, dtype=np.int32)
    join(parent, numbers[:1], numbers[1:])
    roots(parent)
    weights = np.zeros(2, np.int32)
    state = np.full(2, -1, np.int32), np.full(2, -1, np.int64), np.zeros(2, np.int64)
    absorb(numbers, numbers, weights, 0, *state)
