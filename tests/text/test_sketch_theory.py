"""Sketches err as theory says, and documents meet as often as the S-curve says, whatever their size.

All draws are seeded. That one of some 120 comparisons is off by four standard errors has odds of 1 in 130 for a right
implementation.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from corpusmill.text.sketch import band_keys, similarity, sketch

SHAPES = [(14, 8), (16, 7)]


class Case(NamedTuple):
    """Pairs of sets of which so many members are in the left one only, in both, in the right one only."""

    left: int
    both: int
    right: int
    pairs: int

    @property
    def union(self):
        return self.left + self.both + self.right

    @property
    def jaccard(self):
        return self.both / self.union

    def __str__(self):
        return f"{self.left + self.both} shingles at {self.jaccard:.2f}"


CASES = [
    *(Case(0, 1, right, 3000) for right in (1, 4)),  # a document of one shingle
    *(Case(*parts, 3000) for parts in ((1, 4, 0), (1, 4, 1), (2, 3, 2))),  # of 5
    *(Case(20 - both, both, 20 - both, 3000) for both in (18, 15, 13)),  # of 20
    *(Case(200 - both, both, 200 - both, 3000) for both in (178, 150, 133)),  # of 200
    *(Case(5000 - both, both, 5000 - both, 600) for both in (4444, 3750, 3333)),  # of 5,000
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "{} x {}".format(*shape))


@cache
def sketched(case, lanes, seed=0):
    """Sketches of both sides of all pairs."""
    members = np.random.default_rng(seed).integers(0, 2**64 - 1, (case.pairs, case.union), np.uint64, endpoint=True)
    left, right = members[:, : case.left + case.both], members[:, case.left :]
    return tuple(sketch(side.ravel(), np.arange(case.pairs + 1) * side.shape[1], lanes) for side in (left, right))


@cache
def agreed(case, lanes):
    """Which lanes agree when the sketch is made with dice in place of hashes: (pairs, lanes).

    Round after round every member of the union falls into a random lane. A lane that is empty takes one of those that
    fall into it, each with the same chance, and agrees if that is in both sets.
    """
    dice = np.random.default_rng(99)
    in_both = np.arange(case.union) < case.both
    rows = np.arange(case.pairs)[:, None]
    lanes_agree = np.full((case.pairs, lanes), -1, np.int8)
    while (lanes_agree < 0).any():
        taken = np.full_like(lanes_agree, -1)
        falls = dice.integers(0, lanes, (case.pairs, case.union))
        taken[rows, falls] = dice.permuted(np.broadcast_to(in_both, falls.shape), axis=1)
        lanes_agree = np.where(lanes_agree < 0, taken, lanes_agree)
    return lanes_agree.astype(bool)


def error_of_variance(values):
    """The standard error of the variance of a sample."""
    fourth = ((values - values.mean()) ** 4).mean()
    return np.sqrt((fourth - values.var() ** 2) / len(values))


@every_case
@every_shape
def test_estimates_are_right_on_average(case, shape):
    estimates = similarity(*sketched(case, shape[0] * shape[1]))
    assert abs(estimates.mean() - case.jaccard) < 4 * estimates.std() / np.sqrt(case.pairs)


@every_case
def test_estimates_vary_as_those_of_dice(case):
    lanes = 112
    estimates, diced = similarity(*sketched(case, lanes)), agreed(case, lanes).mean(axis=1)
    error = np.hypot(error_of_variance(estimates), error_of_variance(diced))
    assert abs(estimates.var() - diced.var()) < 4 * error


@every_case
def test_estimates_vary_no_more_than_those_of_independent_lanes(case):
    lanes = 112
    estimates = similarity(*sketched(case, lanes, seed=1))
    assert estimates.var() < case.jaccard * (1 - case.jaccard) / lanes + 4 * error_of_variance(estimates)


@pytest.mark.parametrize("case", [case for case in CASES if case.left + case.both == 5000], ids=str)
def test_lanes_of_a_large_document_are_draws_without_replacement(case):
    # The first round fills every lane, and a member is in one lane only: hypergeometric.
    lanes = 448
    estimates = similarity(*sketched(case, lanes))
    wanted = case.jaccard * (1 - case.jaccard) / lanes * (case.union - lanes) / (case.union - 1)
    assert abs(estimates.var() - wanted) < 4 * error_of_variance(estimates)


@every_case
@every_shape
def test_documents_meet_as_often_as_with_dice(case, shape):
    bands, rows = shape
    left, right = (band_keys(side, bands) for side in sketched(case, bands * rows))
    met = (left == right).any(axis=1).mean()
    diced = agreed(case, bands * rows).reshape(case.pairs, bands, rows).all(axis=2).any(axis=1).mean()
    both = (met + diced) / 2
    assert abs(met - diced) <= 4 * np.sqrt(2 * both * (1 - both) / case.pairs)


@every_case
@every_shape
def test_documents_meet_as_often_as_the_s_curve_says(case, shape):
    # Lanes that are draws without replacement agree more evenly: small documents meet up to 0.02 more often where the
    # curve is high, and up to 0.02 less often where it is low.
    bands, rows = shape
    left, right = (band_keys(side, bands) for side in sketched(case, bands * rows, seed=2))
    met = (left == right).any(axis=1).mean()
    curve = 1 - (1 - case.jaccard**rows) ** bands
    slack = 0.02 if case.left + case.both < 5000 else 0
    assert abs(met - curve) <= slack + 4 * np.sqrt(curve * (1 - curve) / case.pairs)


@pytest.mark.parametrize("size", [1, 5, 20, 200, 5000])
def test_equal_documents_always_meet_and_disjoint_ones_never(size):
    same, apart = (sketched(Case(size - both, both, size - both, 50), 112) for both in (size, 0))
    assert (similarity(*same) == 1).all()
    assert (similarity(*apart) == 0).all()
    keys = [band_keys(side, 14) for side in (*same, *apart)]
    assert (keys[0] == keys[1]).all()
    assert not (keys[2] == keys[3]).any()
