"""Tables and filters of keys."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.compile import kernel
from corpusmill.text.sets import FILTER, filter_of, find, may_have, slots_for, table_of

keys_of = st.lists(st.integers(0, 2**64 - 1), max_size=40, unique=True)


@kernel
def look_up(table, keys, slots):
    for i in range(len(keys)):
        slots[i] = find(table, len(table) - 1, keys[i])


@kernel
def ask(filter_, shift, keys, answers):
    for i in range(len(keys)):
        answers[i] = may_have(filter_, shift, keys[i])


@given(keys_of)
@settings(max_examples=50)
def test_each_key_is_in_its_slot_with_its_value(numbers):
    keys = np.array([number or 1 for number in numbers], np.uint64)
    keys = np.unique(keys)
    values = np.arange(10, 10 + len(keys), dtype=np.int32)
    table, of_slot = table_of(keys, values)
    slots = np.empty(len(keys), np.int64)
    look_up(table, keys, slots)
    assert (table[slots] == keys).all() and (of_slot[slots] == values).all()
    assert np.count_nonzero(table) == len(keys) and (of_slot[table == 0] == 0).all()


def test_the_key_0_counts_as_1():
    table, of_slot = table_of(np.array([0], np.uint64), np.array([7], np.int8))
    assert of_slot[table == 1].tolist() == [7]
    assert of_slot.dtype == np.int8


def test_of_equal_keys_the_last_value_stays():
    table, of_slot = table_of(np.array([5, 5], np.uint64), np.array([1, 2], np.int32))
    assert of_slot[table == 5].tolist() == [2]


@pytest.mark.parametrize(("keys", "slots"), [(0, 16), (1, 16), (8, 16), (9, 32), (16, 32), (17, 64), (1000, 2048)])
def test_a_table_is_at_most_half_full(keys, slots):
    assert slots_for(keys) == slots


@given(keys_of)
@settings(max_examples=50)
def test_a_filter_has_all_of_its_keys(numbers):
    keys = np.array(numbers, np.uint64)
    shift, filter_ = filter_of(keys)
    answers = np.zeros(len(keys), bool)
    ask(filter_, shift, keys, answers)
    assert answers.all()
    assert len(filter_) * 64 >= FILTER * len(keys) and not len(filter_) & (len(filter_) - 1)


def test_a_filter_rejects_nearly_all_others():
    random = np.random.default_rng(1)
    keys, others = random.integers(0, 2**63, (2, 4000)).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    shift, filter_ = filter_of(keys)
    answers = np.zeros(len(others), bool)
    ask(filter_, shift, others, answers)
    assert answers.mean() < 1 / 40
