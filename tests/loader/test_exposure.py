"""Which steps serve a document: the inverse of what the loader draws, against looking at every step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_token_loader import made

from corpusmill.errors import ShardError
from corpusmill.loader import TokenLoader
from corpusmill.loader.order import Permutation, SampleOrder


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000), st.integers(0, 2**64 - 1))
def test_the_inverse_of_a_permutation_takes_every_number_back(size, key):
    order = Permutation(size, key)
    places = np.arange(size)
    assert np.array_equal(order.inverse(order(places)), places)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 400), st.floats(0.05, 5)), min_size=1, max_size=4),
    st.integers(0, 9),
    st.booleans(),
    st.integers(0, 2),
)
def test_samples_of_rows_are_those_that_draw_them(sources, seed, shuffle, epoch):
    order = SampleOrder(tuple(rows for rows, _ in sources), tuple(weight for _, weight in sources), seed, shuffle)
    for source, (rows, _) in enumerate(sources):
        if order.shares[source] == 0:
            continue
        samples = order.samples(source, np.arange(rows), epoch)
        drawn = order.compute(samples)
        assert drawn.source.tolist() == [source] * rows
        assert drawn.row.tolist() == list(range(rows)) and drawn.epoch.tolist() == [epoch] * rows


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(1, 14), min_size=1, max_size=14),
    st.sampled_from([("concat", 3), ("concat", 4), ("best_fit", 4)]),
    st.integers(1, 3),
    st.integers(1, 2),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=2),
)
def test_served_is_what_every_step_traces(tmp_path_factory, lengths, packing, batch, world, skips):
    method, length = packing
    folder = made(tmp_path_factory.mktemp("shards"), lengths, method)
    skip = [(first, first + size) for first, size in skips]
    ranks = [TokenLoader(folder, length, batch, 5, rank, world, skip=skip) for rank in range(world)]
    rows = len(ranks[0].rows[0])
    wanted = set(range(len(lengths)))
    expected = {
        (step, rank, piece.row, piece.sample, piece.epoch, piece.document)
        for step in range(2 * rows + 1)
        for rank, loader in enumerate(ranks)
        for piece in loader.trace(step)
        if piece.epoch < 2
    }
    found = ranks[0].served(wanted, epochs=2)
    assert {tuple(one)[:-1] for one in found} == expected
    assert len(found) == len(expected) and found == sorted(found)


def test_documents_that_are_not_there_are_an_error(tmp_path):
    folder = made(tmp_path / "a", [5, 6])
    loader = TokenLoader(folder, 4)
    with pytest.raises(ShardError, match="no document 2; the shards hold 0 to 1"):
        loader.served([2])
    other = made(tmp_path / "b", [7])
    mixed = TokenLoader([folder, other], 4)
    with pytest.raises(ShardError, match="say which source"):
        mixed.served([0])
    with pytest.raises(ShardError, match="has no source x"):
        mixed.served([0], source="x")
    assert {one.source for one in mixed.served([0], source=str(other))} == {str(other)}
