"""Rules of the loss against their definition, token by token."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.shards.loss import (
    HASH_BASE,
    LONGEST_PREFIX,
    LossRule,
    begins_prefix,
    goldfish,
    prefix_length,
)

M64 = (1 << 64) - 1


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def slow_goldfish(tokens, positions, k, h):
    """The token of each place and the h - 1 before it, in Python's integers."""
    dropped = []
    for place in range(len(tokens)):
        window = tokens[max(0, place - h + 1) : place + 1]
        value = 0
        for back, token in enumerate(reversed(window)):
            value = (value + (token + 1) * pow(HASH_BASE, -back, 1 << 64)) & M64
        dropped.append(positions[place] >= h - 1 and mix(value) % k == 0)
    return dropped


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 60_000), min_size=1, max_size=12), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_goldfish_is_a_hash_of_the_last_tokens(pieces, k, h):
    tokens = [token for piece in pieces for token in piece]
    positions = [i for piece in pieces for i in range(len(piece))]
    got = goldfish(np.array(tokens, np.uint16), np.array(positions), k, h)
    if len(tokens) > h:
        assert got.tolist() == slow_goldfish(tokens, positions, k, h)


def test_the_same_passage_lacks_the_same_tokens_wherever_it_is():
    passage = list(range(100, 160))
    text = [1, 2, 3, *passage, 9, 9, *passage, 5]
    dropped = goldfish(np.array(text), np.arange(len(text)), 4, 6).tolist()
    first, second = dropped[3:63], dropped[65:125]
    assert first[5:] == second[5:] and 5 <= sum(first) <= 30


RULE = LossRule(begin=(7,), end=(9, 9))


@pytest.mark.parametrize(
    ("ids", "length"),
    [
        ([7, 1, 2, 9, 9, 5], 5),
        ([7, 9, 9], 3),
        ([7, 9, 9, 9, 9], 3),
        ([7, 1, 9, 1, 9], 0),
        ([8, 9, 9], 0),
        ([7], 0),
        ([], 0),
        ([7, *[1] * (LONGEST_PREFIX - 3), 9, 9], LONGEST_PREFIX),
        ([7, *[1] * (LONGEST_PREFIX - 2), 9, 9], 0),
    ],
)
def test_the_length_of_a_prefix(ids, length):
    assert prefix_length(np.array(ids, np.int64), RULE) == length


def test_places_at_which_a_prefix_begins():
    ids = np.array([7, 1, 7, 7, 2])
    assert list(begins_prefix(ids, np.array([0, 1, 2, 3, 4, 5]), RULE)) == [0, 2, 3]
    assert list(begins_prefix(ids, np.array([3, 4]), LossRule(begin=(7, 2), end=(1,)))) == [3]


@pytest.mark.parametrize(
    "rule", [LossRule(), LossRule((1, 2)), RULE, LossRule(k=4, h=13), LossRule((1,), (2,), (3,), 4, 5)]
)
def test_a_rule_is_the_same_after_json(rule):
    assert LossRule.from_json(rule.to_json()) == rule


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ([], TypeError),
        (None, TypeError),
        ({"other": 1}, TypeError),
        ({"without": [-1]}, ValueError),
        ({"without": [1.5]}, ValueError),
        ({"without": [True]}, ValueError),
        ({"without": 3}, TypeError),
        ({"k": 3}, ValueError),
        ({"h": 3}, ValueError),
    ],
)
def test_a_record_that_is_no_rule_is_refused(record, error):
    with pytest.raises(error):
        LossRule.from_json(record)
