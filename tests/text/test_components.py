"""Connected components are those that plain Python finds, of a whole graph and a range at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.components import absorb, join, roots

NODES = 24
edges = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=40)


def slow_roots(nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    """The smallest node of each one's component: every edge carries it on, until nothing changes."""
    smallest = list(range(nodes))
    for _ in range(nodes):
        for one, other in edges:
            smallest[one] = smallest[other] = min(smallest[one], smallest[other])
    return smallest


@settings(max_examples=100, derandomize=True, deadline=None)
@given(edges)
def test_components_of_a_whole_graph(edges):
    parent = np.arange(NODES, dtype=np.int32)
    one, other = (np.array([edge[side] for edge in edges], np.int64) for side in (0, 1))
    join(parent, one, other)
    assert roots(parent).tolist() == slow_roots(NODES, edges)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(edges, st.integers(1, NODES))
def test_components_a_range_at_a_time(edges, size):
    """From the last range to the first: what joins two nodes before a range is left to theirs."""
    waiting = [(max(edge), min(edge)) for edge in edges] + [(node, node) for node in range(NODES)]
    up: dict[int, int] = {}
    weights = []
    for start in range((NODES - 1) // size * size, -1, -size):
        mine = [edge for edge in waiting if edge[0] >= start]
        waiting = [edge for edge in waiting if edge[0] < start]
        parent, outside, weight = np.full(size, -1, np.int32), np.full(size, -1, np.int64), np.zeros(size, np.int64)
        nodes, lower = (np.array([edge[side] for edge in mine], np.int64) for side in (0, 1))
        one, other = absorb(nodes, lower, np.ones(len(mine), np.int32), start, parent, outside, weight)
        assert (one > other).all() and (one < start).all()
        waiting += zip(one.tolist(), other.tolist())
        weights.append(int(weight.sum()))
        for place, root in enumerate(roots(parent).tolist()):
            if root >= 0:
                up[start + place] = int(outside[root]) if outside[root] >= 0 else start + root
    label: dict[int, int] = {}
    for node in range(NODES):
        label[node] = node if up[node] == node else label[up[node]]
    assert [label[node] for node in range(NODES)] == slow_roots(NODES, edges)
    assert sum(weights) >= len(edges) + NODES
