"""The order of samples: a permutation of every size, undone by its inverse; mixtures in exact proportion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.loader.order import SAMPLES_PER_BLOCK, SAMPLES_PER_CYCLE, Permutation, SampleOrder, mixed

SIZES = st.integers(0, 700)
KEYS = st.integers(0, 2**64 - 1)


@settings(max_examples=60, deadline=None)
@given(SIZES, KEYS)
def test_a_permutation_gives_every_number_once_and_its_inverse_undoes_it(size, key):
    numbers = np.arange(size)
    order = Permutation(size, key)(numbers)
    assert sorted(order.tolist()) == numbers.tolist()
    assert Permutation(size, key).inverse(order).tolist() == numbers.tolist()


@pytest.mark.parametrize("size", [2**40 + 1, 2**61, 2**62])
def test_a_permutation_of_any_size_stays_within_it(size):
    numbers = np.array([0, 1, size // 2, size - 2, size - 1])
    order = Permutation(size, 7)(numbers)
    assert (order >= 0).all() and (order < size).all()
    assert Permutation(size, 7).inverse(order).tolist() == numbers.tolist()


def test_another_key_or_size_is_another_order():
    numbers = np.arange(100)
    orders = [Permutation(size, key)(numbers).tolist() for size, key in ((100, 1), (100, 2), (101, 1))]
    assert orders[0] != orders[1] and orders[0] != orders[2]


def test_mixing_depends_on_every_number_and_on_their_order():
    assert len({mixed(), mixed(0), mixed(0, 0), mixed(1, 2), mixed(2, 1), mixed(1, 2, 3)}) == 6
    assert mixed(-1) == mixed(2**64 - 1)


ROWS = st.lists(st.integers(1, 40), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.data())
def test_every_sample_is_found_again_by_its_source_row_and_epoch(rows, data):
    weights = data.draw(st.lists(st.floats(0.1, 10), min_size=len(rows), max_size=len(rows)))
    order = SampleOrder(tuple(rows), tuple(weights), data.draw(st.integers(0, 5)), data.draw(st.booleans()))
    numbers = np.array(data.draw(st.lists(st.integers(0, 30_000), min_size=1, max_size=20)))
    drawn = order.draw(numbers)
    for number, source, row, epoch in zip(numbers.tolist(), *(column.tolist() for column in drawn)):
        assert order.samples(source, np.array([row]), epoch).tolist() == [number]


@settings(max_examples=15, deadline=None)
@given(ROWS, st.integers(0, 3))
def test_blocks_and_single_samples_are_drawn_alike(rows, seed):
    order = SampleOrder(tuple(rows), (1.0,) * len(rows), seed)
    numbers = np.array([0, 5, SAMPLES_PER_BLOCK - 1, SAMPLES_PER_BLOCK, SAMPLES_PER_CYCLE, 3 * SAMPLES_PER_CYCLE + 1])
    for together, alone in zip(order.draw(numbers), order.compute(numbers)):
        assert together.tolist() == alone.tolist()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.001, 1000), min_size=2, max_size=6))
def test_shares_of_a_cycle_add_up_and_are_within_one_sample_of_the_weights(weights):
    shares = SampleOrder((1,) * len(weights), tuple(weights), 0).shares
    assert sum(shares) == SAMPLES_PER_CYCLE
    for share, weight in zip(shares, weights):
        assert abs(share - SAMPLES_PER_CYCLE * weight / sum(weights)) < 1


def test_a_cycle_holds_every_source_as_often_as_its_share_says():
    order = SampleOrder((7, 11, 13), (5, 3, 2), 3)
    for cycle in (0, 4):
        source = order.draw(np.arange(cycle * SAMPLES_PER_CYCLE, (cycle + 1) * SAMPLES_PER_CYCLE)).source
        assert np.bincount(source).tolist() == [5000, 3000, 2000]


def test_every_epoch_of_a_source_holds_each_row_once():
    order = SampleOrder((5, 3), (1, 1), 2)
    drawn = order.draw(np.arange(2 * SAMPLES_PER_CYCLE))
    for source, size in enumerate((5, 3)):
        for epoch in range(4):
            rows = drawn.row[(drawn.source == source) & (drawn.epoch == epoch)]
            assert sorted(rows.tolist()) == list(range(size))


def test_without_shuffling_rows_come_in_order():
    drawn = SampleOrder((4,), (1.0,), 9, shuffle=False).draw(np.arange(10))
    assert drawn.row.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert drawn.epoch.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
