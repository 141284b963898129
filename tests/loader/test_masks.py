"""Masks of attention against their definition, token by token."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.loader.masks import block_mask, longest, pieces

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=6)


def positions(lengths):
    return np.array([[i for length in lengths for i in range(length)]])


@settings(max_examples=40, deadline=None)
@given(LENGTHS)
def test_a_token_attends_to_the_earlier_tokens_of_its_piece_alone(lengths):
    piece = [number for number, length in enumerate(lengths) for _ in range(length)]
    mask = block_mask(positions(lengths))[0]
    for query in range(len(piece)):
        for key in range(len(piece)):
            assert mask[query, key] == (key <= query and piece[key] == piece[query])


@settings(max_examples=40, deadline=None)
@given(LENGTHS)
def test_pieces_are_numbered_in_their_order_in_the_row(lengths):
    assert pieces(positions(lengths))[0].tolist() == [n for n, length in enumerate(lengths) for _ in range(length)]


def test_rows_do_not_share_pieces():
    both = np.concatenate([positions([2, 2]), positions([4])])
    assert pieces(both).tolist() == [[0, 0, 1, 1], [0, 0, 0, 0]]


def test_the_longest_piece():
    assert longest(np.array([0, 3, 4, 10], np.int32)) == 6
