import math

import numpy as np
import pytest

from corpusmill.inspect.accuracy import Accuracy, Side, ratio_interval
from corpusmill.report.figures.sampled import Share


@pytest.mark.parametrize(
    ("kept", "dropped"),
    [
        ((2200, 100, 0.9), (1281, 100, 0.1)),
        ((500, 100, 0.95), (1500, 100, 0.03)),
        ((300, 100, 0.9), (3000, 100, 0.01)),
        ((10_000, 400, 0.6), (10_000, 400, 0.5)),
    ],
)
def test_the_intervals_hold_the_true_values_nineteen_times_of_twenty(kept, dropped):
    """By drawing anew: good documents are binomial on each side."""
    random, draws = np.random.default_rng(7), 2000
    (kept_all, kept_drawn, kept_good), (dropped_all, dropped_drawn, dropped_good) = kept, dropped
    recall = kept_all * kept_good / (kept_all * kept_good + dropped_all * dropped_good)
    held = np.zeros(2)
    for good in random.binomial([kept_drawn, dropped_drawn], [kept_good, dropped_good], (draws, 2)).tolist():
        accuracy = Accuracy("x", Side(kept_all, kept_drawn, good[0]), Side(dropped_all, dropped_drawn, good[1]))
        (_, (low, high)), (_, (low_recall, high_recall)) = accuracy.precision, accuracy.recall
        held += low <= kept_good <= high, low_recall <= recall <= high_recall
    assert (abs(held / draws - 0.95) < 0.03).all(), held / draws


@pytest.mark.parametrize(
    ("kept", "dropped", "recall"),
    [
        (Side(100, 10, 10), Side(100, 10, 0), 1.0),
        (Side(100, 10, 0), Side(100, 10, 10), 0.0),
        (Side(300, 10, 5), Side(100, 10, 5), 0.75),
        (Side(100, 10, 5), Side(0, 0, 0), 1.0),  # nothing was dropped
        (Side(0, 0, 0), Side(100, 10, 5), None),
        (Side(100, 10, 5), Side(100, 0, 0), None),  # nobody has looked at what was dropped
        (Side(100, 10, 0), Side(100, 10, 0), None),  # nothing good was found
    ],
)
def test_recall_at_its_edges(kept, dropped, recall):
    accuracy = Accuracy("x", kept, dropped)
    found = accuracy.recall
    assert (found and found[0]) == (recall if recall is None else pytest.approx(recall))
    if found:
        low, high = found[1]
        assert 0 <= low <= found[0] <= high <= 1
    assert (accuracy.precision is None) == (not kept.marked)


def test_a_ratio_has_no_upper_bound_where_its_lower_part_may_be_zero():
    assert ratio_interval(Share(5, 10), Share(0, 10))[1] == math.inf
    assert ratio_interval(Share(0, 10), Share(5, 10))[0] == 0
