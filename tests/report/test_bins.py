"""Bins fit the threshold that they are drawn around, and count each value once."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.engine.work.bins import closed_side, count, edges_around
from corpusmill.report.bins import Histogram, octaves
from corpusmill.steps.verdict import Bound

THRESHOLDS = [0.0, 0.01, 0.1, 0.9, 2.0, 10.0, 50.0, 100_000.0]
thresholds = st.sampled_from(THRESHOLDS)
values = st.lists(st.floats(0, 200) | st.integers(0, 200).map(float) | thresholds, min_size=1, max_size=40)
drops = st.sampled_from(["<", "<=", ">", ">="])
COMPARE = {"<": float.__lt__, "<=": float.__le__, ">": float.__gt__, ">=": float.__ge__}


@given(values, thresholds, drops, st.booleans())
def test_what_a_bound_drops_and_what_it_passes_are_never_in_one_bin(numbers, threshold, drop, whole):
    numbers = [*(float(round(value)) for value in numbers)] if whole else [*numbers, threshold]
    bound = Bound("step.signal", drop, threshold)
    edges, _ = edges_around(bound, whole)
    assert list(edges) == sorted(set(edges)) and threshold in edges
    at = edges.index(threshold)
    counts = count(np.array(numbers), edges, closed_side(bound))
    assert counts.sum() == len(numbers)
    below, above = int(counts[:at].sum()), int(counts[at:].sum())
    assert (below if "<" in drop else above) == sum(COMPARE[drop](value, threshold) for value in numbers)


@given(values, st.sampled_from(["left", "right"]))
def test_a_count_is_the_count(numbers, closed):
    edges = [5.0, 10.0, 50.0, 51.0]

    def holds(value, i):
        low = -math.inf if i == 0 else edges[i]
        high = math.inf if i == 2 else edges[i + 1]
        return low <= value < high if closed == "left" else low < value <= high

    assert count(np.array(numbers), edges, closed).tolist() == [sum(holds(v, i) for v in numbers) for i in range(3)]


def test_no_number_is_in_no_bin():
    assert count(np.array([np.nan, 1.0]), [0.0, 1.0, 2.0], "left").tolist() == [0, 1]


def test_octaves_grow_by_about_the_root_of_two():
    edges = octaves(1e6)
    assert edges[:12] == (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45)
    assert all(1.3 < b / a < 1.52 for a, b in pairwise(edges[4:]))
    assert {2.0**k for k in range(20)} <= set(edges)


@pytest.mark.parametrize("counts, edges", [((0, 3, 0, 1, 0), (1, 2, 3, 4)), ((0, 0, 0, 0, 0), (0, 1, 2, 3, 4, 5))])
def test_empty_bins_at_the_ends_are_cut_off(counts, edges):
    assert Histogram((0, 1, 2, 3, 4, 5), {"kept": counts}, False, 4).trimmed().edges == edges
