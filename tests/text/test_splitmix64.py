"""The two places that spell the finaliser of SplitMix64 have the generator of Steele et al., and agree."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.loader import order
from corpusmill.shards import loss
from corpusmill.text import splitmix64

# The first numbers of the generator seeded with 1234567, as its authors' C code gives them.
FIRST = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def test_it_is_the_generator_of_the_paper():
    states = [(1234567 + i * splitmix64.GOLDEN) % 2**64 for i in range(1, 6)]
    assert splitmix64.mix64(np.array(states, np.uint64)).tolist() == FIRST


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_the_loader_agrees(numbers):
    values = np.array(numbers, np.uint64)
    assert loss.mix64(values).tolist() == splitmix64.mix64(values).tolist()
    assert order.GOLDEN == splitmix64.GOLDEN


def test_several_numbers_are_mixed_one_after_the_other():
    assert order.mixed(1234567) == FIRST[0]
    assert order.mixed(1234567, 0) == order.mixed(FIRST[0]) != order.mixed(0, 1234567)
    assert order.mixed(-1) == order.mixed(2**64 - 1)
