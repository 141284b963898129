"""How much each source gives, and that exactly this is drawn: the arithmetic of a mix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.tokens.mixing import by_temperature, copies, fitting, largest_budget, normalised
from corpusmill.tokens.sampling import sampling_hash

lengths = st.lists(st.integers(1, 40), max_size=40).map(lambda sizes: np.array(sizes, np.int64))


def slow_fitting(sizes, room):
    """The definition: each in turn is taken if it fits."""
    taken = []
    for length in sizes:
        taken.append(length <= room)
        room -= length * taken[-1]
    return taken


@given(lengths, st.integers(0, 900))
def test_each_in_turn_is_taken_if_it_fits(sizes, room):
    assert fitting(sizes, room).tolist() == slow_fitting(sizes.tolist(), room)


@given(lengths.filter(len), st.integers(0, 5000), st.randoms(use_true_random=False))
def test_never_more_is_drawn_than_wanted_and_nothing_else_would_fit(sizes, wanted, random):
    order = np.array(random.sample(range(len(sizes)), len(sizes)))
    times = copies(sizes, order, wanted)
    drawn = int((sizes * times).sum())
    assert drawn <= wanted
    assert times.max() - times.min() <= 1, "no document comes again before all have come as often"
    once_less = sizes[times == times.min()] if wanted % sizes.sum() else sizes
    assert (once_less > wanted - drawn).all(), "a document that could come once more would still fit"


@given(lengths.filter(len), st.integers(0, 2000), st.integers(0, 2000))
def test_the_order_decides_and_not_the_place(sizes, wanted, seed):
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    order = np.argsort(sizes * 7 % 13, kind="stable")
    where = np.empty(len(sizes), np.int64)
    where[shuffled] = np.arange(len(sizes))
    before, after = copies(sizes, order, wanted), copies(sizes[shuffled], where[order], wanted)
    assert before[shuffled].tolist() == after.tolist()


def test_what_is_wanted_of_nothing_is_nothing():
    none = np.empty(0, np.int64)
    assert copies(none, none, 0).tolist() == []
    assert copies(np.array([3, 4]), np.array([1, 0]), 0).tolist() == [0, 0]
    assert copies(np.array([3, 4]), np.array([1, 0]), 7 * 3).tolist() == [3, 3]


def test_a_temperature_is_a_root():
    there = {"en": 10_000, "is": 100, "fo": 0}
    assert by_temperature(there, 1) == pytest.approx({"en": 100 / 101, "is": 1 / 101, "fo": 0})
    assert by_temperature(there, 2) == pytest.approx({"en": 10 / 11, "is": 1 / 11, "fo": 0})
    assert by_temperature(there, 1e9) == pytest.approx({"en": 0.5, "is": 0.5, "fo": 0})
    exponent = 0.3  # of mT5
    powers = [10_000**exponent, 100**exponent]
    assert by_temperature(there, 1 / exponent)["is"] == pytest.approx(powers[1] / sum(powers))


def test_the_largest_budget_is_that_of_the_scarcest_source():
    there, shares = {"web": 900, "wiki": 50, "none": 0}, normalised({"web": 3, "wiki": 1, "none": 0})
    once = dict.fromkeys(there, 1.0)
    assert largest_budget(there, shares, once) == 200
    assert largest_budget(there, shares, once | {"wiki": 4.0}) == 800
    assert largest_budget(there, shares, once | {"wiki": 100.0}) == 1200


@settings(max_examples=5)
@given(st.integers(0, 2**64 - 1))
def test_sampling_hashes_are_uniform_and_differ_by_purpose(seed):
    batch = docs(*["x"] * 4000)
    ids = batch["id"]
    one, other = sampling_hash(ids, seed, "mix"), sampling_hash(ids, seed)
    for drawn in (one, other):
        assert abs((drawn / 2**64).mean() - 0.5) < 0.03  # 6.6 standard deviations
    assert abs(np.corrcoef(one / 2**64, other / 2**64)[0, 1]) < 0.11  # 7 standard deviations
    assert sampling_hash(ids.slice(7, 1), seed, "mix")[0] == one[7]
