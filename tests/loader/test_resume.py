"""Any interruption, any number of ranks, any stride of workers: the same batches in the same order."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import ShardError
from corpusmill.loader import RowSource, TokenLoader
from corpusmill.models.tokenizer import load
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder


def write(folder, lengths, first):
    tokenizer = load("gpt2")
    ids = (first + np.arange(sum(lengths))).astype(np.uint16)
    ids[np.cumsum(lengths) - 1] = tokenizer.eos_id
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    write_folder(folder, plan_shards([units[0].lengths], "concat", 4, 24), units, tokenizer)
    return str(folder)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    root = tmp_path_factory.mktemp("sources")
    return {write(root / "web", [5, 1, 14, 3, 9, 2, 40, 6], 0): 3, write(root / "code", [7, 7, 8, 30], 2000): 1}


def tokens(batches, count):
    return [batch["tokens"].tolist() for batch in islice(batches, count)]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 3), st.integers(0, 2))
def test_a_loader_resumes_at_every_state(sources, steps, batch_size, seed, prefetch):
    loader = TokenLoader(sources, batch_size=batch_size, seed=seed)
    before = tokens(loader, steps)
    state = loader.state_dict()
    after = tokens(loader, 5)
    resumed = TokenLoader(sources, batch_size=batch_size, seed=seed, prefetch=prefetch)
    resumed.load_state_dict(state)
    assert tokens(resumed, 5) == after
    assert tokens(TokenLoader(sources, batch_size=batch_size, seed=seed), steps + 5) == before + after


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 20))
def test_ranks_share_one_order_and_resume_with_another_number(sources, world, batch_size, taken):
    flat = [row for batch in tokens(TokenLoader(sources, batch_size=1), 60) for row in batch]
    state = {**TokenLoader(sources).state_dict(), "samples": taken}
    rows = []
    ranks = [TokenLoader(sources, batch_size=batch_size, rank=rank, world=world) for rank in range(world)]
    for rank in ranks:
        rank.load_state_dict(state)
    for batches in islice(zip(*ranks), 3):
        rows += [row for batch in batches for row in batch["tokens"].tolist()]
    assert rows == flat[taken : taken + len(rows)]


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 5), st.integers(1, 3))
def test_workers_that_take_turns_see_the_steps_of_one(sources, workers, batch_size):
    loader = TokenLoader(sources, batch_size=batch_size)
    streams = [loader.stream(worker * batch_size, stride=workers) for worker in range(workers)]
    interleaved = [next(streams[step % workers])[1]["tokens"].tolist() for step in range(9)]
    assert interleaved == [loader.at(step)["tokens"].tolist() for step in range(9)]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write(tmp_path_factory.mktemp("one"), [5, 1, 14, 3, 9, 2, 6], 0)  # ten rows of four tokens


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 2), st.integers(0, 2), st.integers(0, 3))
def test_without_drop_last_every_row_is_taken_and_all_ranks_have_as_many_steps(
    source, batch_size, world, epochs, prefetch, taken
):
    """Rows are taken once; of a last step with fewer rows than ranks, ranks share them. A state of any step goes on
    there, and `at`, `served` and workers agree."""
    settings = {"batch_size": batch_size, "seed": 4, "epochs": epochs, "drop_last": False}
    ranks = [TokenLoader(source, rank=r, world=world, prefetch=prefetch, **settings) for r in range(world)]
    by_rank = [[batch["tokens"].tolist() for batch in rank] for rank in ranks]
    flat = [row for batch in tokens(TokenLoader(source, batch_size=1, seed=4), 10 * epochs) for row in batch]
    steps = -(-len(flat) // (batch_size * world))
    assert {len(rank) for rank in ranks} == {len(batches) for batches in by_rank} == {steps}
    left = len(flat) - (steps - 1) * batch_size * world
    in_order = [row for step in zip(*by_rank) for batch in step for row in batch]
    if left >= world:
        assert in_order == flat
    else:
        assert in_order[: len(flat) - left] == flat[: len(flat) - left] and len(in_order) == len(flat) - left + world
        assert [row for row in flat[len(flat) - left :] if row not in in_order[len(flat) - left :]] == []
    assert all(len(batch) for batches in by_rank for batch in batches)
    assert {rank.state_dict()["samples"] for rank in ranks} == {len(flat)}
    for rank, batches in zip(ranks, by_rank):
        assert [rank.at(step)["tokens"].tolist() for step in range(steps)] == batches
        state = {**rank.state_dict(), "samples": min(taken * batch_size * world, len(flat))}
        again = TokenLoader(source, rank=rank.rank, world=world, **settings)
        again.load_state_dict(state)
        if taken < steps:
            assert tokens(again, steps) == batches[taken:]
        streams = [rank.stream(worker * batch_size * world, stride=3) for worker in range(3)]
        stepped = [[batch["tokens"].tolist() for _, batch in stream] for stream in streams]
        assert [stepped[step % 3][step // 3] for step in range(steps)] == batches
        assert sum(map(len, stepped)) == steps
    traced = {
        (step, rank.rank, piece.row, piece.sample, piece.document)
        for rank in ranks
        for step in range(steps)
        for piece in rank.trace(step)
    }
    served = ranks[0].served(range(7))
    assert {(s.step, s.rank, s.row, s.sample, s.document) for s in served} == traced


def test_rows_that_fill_no_step_are_left_out_with_a_warning_of_how_many(source):
    with pytest.warns(
        UserWarning, match=r"has 20 rows, and a step takes batch_size 3 × world 2 = 6 rows. Left out .*: 2\."
    ):
        loader = TokenLoader(source, batch_size=3, world=2, epochs=2)
    assert len(loader) == len(list(loader)) == 3
    assert {exposure.step for exposure in loader.served(range(7))} == {0, 1, 2}
    TokenLoader(source, batch_size=3, rank=1, world=2, epochs=2)  # one process says it for all


@pytest.mark.parametrize("drop_last", [True, False])
def test_epochs_without_a_step_are_an_error(source, drop_last):
    skip = [] if drop_last else [(0, 10)]
    with pytest.raises(ShardError, match="there is no batch") as error:
        TokenLoader(source, batch_size=16, epochs=1, drop_last=drop_last, skip=skip)
    assert ("drop_last=False" in str(error.value)) == drop_last


def test_a_loader_at_its_end_says_so(source):
    loader = TokenLoader(source, batch_size=5, epochs=1)
    assert len(list(loader)) == 2
    with pytest.warns(UserWarning, match="all batches of epochs=1.* loader.samples = 0"):
        assert list(loader) == []
    loader.samples = 0
    assert len(list(loader)) == 2


def test_a_weight_that_is_rounded_to_nothing_is_said(sources):
    web, code = sources
    with pytest.warns(UserWarning, match=r"code is never drawn: its weight is 4e-05 of all.*rounded to 1/10,000"):
        TokenLoader({web: 1, code: 4e-5})
    assert TokenLoader({web: 1, code: 6e-5}).order.shares == (9999, 1)


def test_skipped_ranges_are_left_out_and_the_rest_keeps_its_order(sources):
    plain = [row for batch in tokens(TokenLoader(sources, batch_size=1), 30) for row in batch]
    skipping = TokenLoader(sources, batch_size=1, skip=[(3, 5), (4, 8), (20, 21)])
    rows = [row for batch in tokens(skipping, 20) for row in batch]
    assert rows == [row for n, row in enumerate(plain) if not (3 <= n < 8 or n == 20)][:20]


def test_a_source_by_numbers_is_the_order_of_the_loader(sources):
    loader, rows = TokenLoader(sources, batch_size=1, seed=4), RowSource(sources, seed=4, samples=25)
    assert [rows[n]["tokens"].tolist() for n in range(25)] == [loader.at(n)["tokens"][0].tolist() for n in range(25)]
    assert rows[-1]["tokens"].tolist() == rows[24]["tokens"].tolist()
    with pytest.raises(IndexError, match="row 25 of 25"):
        rows[25]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, r"with samples, seed, data; got one without samples, seed, data"),
        ([1], r"got one \[1\]"),
        ({"samples": -1, "seed": 0, "data": []}, "samples of the state must be a whole number of 0 or more"),
        ({"samples": 0, "seed": "0", "data": []}, "seed of the state must be a whole number"),
        ({"samples": 0, "seed": 0, "data": 3}, "data of the state must be a list"),
        ({"samples": 0, "seed": 1, "data": []}, "seed was 1, is 0; data was"),
    ],
)
def test_a_foreign_state_is_refused_and_changes_nothing(sources, state, message):
    loader = TokenLoader(sources)
    next(iter(loader))
    before = loader.state_dict()
    with pytest.raises(ShardError, match=message):
        loader.load_state_dict(state)
    assert loader.state_dict() == before
