"""The order of samples is one function of the seed: for every rank, world size, interruption and mixture the same."""

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import ShardError
from corpusmill.loader import FIELDS, IGNORE, TokenLoader
from corpusmill.loader.arguments import machine_memory
from corpusmill.loader.masks import block_mask
from corpusmill.loader.order import SAMPLES_PER_CYCLE, Permutation, SampleOrder
from corpusmill.loader.rows import ShardRows
from corpusmill.models.tokenizer import load
from corpusmill.shards import open_shards
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder

EOS = 50_256


def made(folder, lengths, method="concat", row=4, per_shard=8, remainder="keep", first=0):
    ids = (first + np.arange(sum(lengths))).astype(np.uint16)
    ids[np.cumsum(lengths) - 1] = EOS
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    write_folder(folder, plan_shards([units[0].lengths], method, row, per_shard, remainder), units, load("gpt2"))
    return folder


def slow_rows(folder, length):
    """Every row token by token, from what the shards say of each single token."""
    shards = open_shards(folder)
    size = len(shards)
    places = [shards.document_at(i) for i in range(size)]
    where = [(place.document, place.offset) if place else (-1, 0) for place in places]
    tokens = shards.tokens(0, size).tolist()
    rows = []
    for start in range(0, size, length):
        row: dict[str, list[Any]] = {name: [] for name in FIELDS if name != "cu_seqlens"} | {"begins": []}
        for i in range(start, start + length):
            document, offset = where[i] if i < size else (-1, 0)
            row["tokens"].append(tokens[i] if i < size else EOS)
            row["doc_ids"].append(document)
            leads = i + 1 < size and document >= 0 and where[i + 1] == (document, offset + 1)
            row["targets"].append(tokens[i + 1] if leads else IGNORE)
            row["loss_mask"].append(leads)
            before = where[i - 1] if start < i <= size else None
            if i >= size and start < i:
                before = (-1, 0) if i > size else where[i - 1]
            goes_on = before is not None and (before == (document, offset - 1) if document >= 0 else before[0] == -1)
            row["position_ids"].append(row["position_ids"][-1] + 1 if goes_on else 0)
            if not goes_on:
                row["begins"].append(i - start)
        rows.append(row)
    return rows


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
    st.sampled_from(
        [
            ("concat", 1),
            ("concat", 3),
            ("concat", 4),
            ("concat", 7),
            ("concat", 30),
            ("best_fit", 4),
            ("one_per_row", 4),
        ]
    ),
    st.sampled_from(["keep", "pad", "drop"]),
    st.data(),
)
def test_batches_say_of_every_token_what_the_shards_say(tmp_path_factory, lengths, packing, remainder, data):
    method, length = packing
    folder = made(tmp_path_factory.mktemp("shards"), lengths, method, remainder=remainder)
    if not len(open_shards(folder)):
        return
    rows = slow_rows(folder, length)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=6))
    batch = ShardRows(open_shards(folder), length).read(np.array(chosen))
    for name in ("tokens", "doc_ids", "targets", "loss_mask", "position_ids"):
        assert batch[name].tolist() == [rows[i][name] for i in chosen], name
    begins = [n * length + at for n, i in enumerate(chosen) for at in rows[i]["begins"]]
    assert batch["cu_seqlens"].tolist() == [*begins, len(chosen) * length]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 2**64 - 1))
def test_a_permutation_has_every_number_once(size, key):
    permuted = Permutation(size, key)(np.arange(size))
    assert sorted(permuted.tolist()) == list(range(size))


def test_a_permutation_looks_random_and_its_size_costs_nothing():
    places = np.arange(100_000)
    permuted = Permutation(10**12, 7)(places)
    assert len(np.unique(permuted)) == len(places) and permuted.min() >= 0 and permuted.max() < 10**12
    # Uniform: mean and correlation of neighbours within five standard errors.
    share = permuted / 10**12
    assert abs(share.mean() - 0.5) < 5 * (1 / 12) ** 0.5 / len(places) ** 0.5
    assert abs(np.corrcoef(share[1:], share[:-1])[0, 1]) < 5 / len(places) ** 0.5
    assert (Permutation(10**12, 8)(places) != permuted).mean() > 0.999


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    lengths = np.random.default_rng(1).integers(1, 30, 60).tolist()
    return made(tmp_path_factory.mktemp("a"), lengths, per_shard=64)


def ids(batch):
    return batch["tokens"][:, :2].tolist()  # a row is known by how it begins


def test_every_world_size_takes_the_same_samples_in_the_same_order(shards):
    one = [row for batch in islice(TokenLoader(shards, batch_size=24, seed=3), 4) for row in ids(batch)]
    for world, batch in ((1, 24), (2, 12), (3, 8), (8, 3)):
        ranks = [islice(TokenLoader(shards, batch_size=batch, seed=3, rank=r, world=world), 4) for r in range(world)]
        rows = [row for step in zip(*ranks, strict=True) for part in step for row in ids(part)]
        assert rows == one


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 6)), min_size=1, max_size=5),
    st.integers(0, 3),
)
def test_going_on_with_another_world_neither_repeats_nor_leaves_out(shards, legs, prefetch):
    """Each leg: world size, batch, steps. Its ranks start from the state that the leg before left."""
    state, rows = None, []
    for world, batch, steps in legs:
        ranks = [
            TokenLoader(shards, batch_size=batch, seed=5, rank=r, world=world, prefetch=prefetch) for r in range(world)
        ]
        for rank in ranks:
            if state:
                rank.load_state_dict(state)
        running: list[Any] = [iter(rank) for rank in ranks]
        for _ in range(steps):
            for one in running:
                rows += ids(next(one))
        for one in running:
            one.close()
        state = ranks[0].state_dict()
    single = TokenLoader(shards, batch_size=len(rows), seed=5)
    assert rows == ids(single.at(0))
    assert state["samples"] == len(rows)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_the_state_counts_a_batch_as_soon_as_it_is_given_out(shards, prefetch):
    running = TokenLoader(shards, batch_size=2, seed=1, prefetch=prefetch)
    batches: Any = iter(running)
    next(batches)
    state = running.state_dict()
    assert state["samples"] == 2
    second = next(batches)
    batches.close()
    again = TokenLoader(shards, batch_size=2, seed=1)
    again.load_state_dict(state)
    assert ids(next(iter(again))) == ids(second)


def test_every_row_once_an_epoch_and_another_order_in_the_next(shards):
    rows = len(ShardRows(open_shards(shards)))
    running = TokenLoader(shards, batch_size=1, seed=2, epochs=2)
    assert len(running) == 2 * rows
    drawn = [running.drawn(step) for step in range(2 * rows)]
    first, second = ([int(d.row[0]) for d in drawn[part]] for part in (slice(rows), slice(rows, None)))
    assert sorted(first) == sorted(second) == list(range(rows)) and first != second
    assert len(list(running)) == 2 * rows
    assert [int(TokenLoader(shards, batch_size=1, shuffle=False).drawn(i).row[0]) for i in range(3)] == [0, 1, 2]


def test_ranges_that_are_skipped_are_left_out_and_nothing_else(shards):
    plain = TokenLoader(shards, batch_size=1, seed=4)
    skipping = TokenLoader(shards, batch_size=1, seed=4, skip=[(3, 5), (4, 8), (10, 11)])
    wanted = [i for i in range(20) if not (3 <= i < 8 or i == 10)]
    assert [ids(skipping.at(n)) for n in range(len(wanted))] == [ids(plain.at(i)) for i in wanted]
    with pytest.raises(ShardError, match="first < end"):
        TokenLoader(shards, skip=[(5, 5)])


def test_a_mixture_holds_every_source_as_its_weight_says(shards, tmp_path):
    other = made(tmp_path / "b", [9] * 40, first=20_000)
    mixed = TokenLoader(
        {shards: 0.7, other: 0.3}, batch_size=SAMPLES_PER_CYCLE // 2, seed=1, fields=("tokens", "sources")
    )
    source = np.concatenate([mixed.drawn(step).source for step in range(4)])
    assert [np.bincount(source[i : i + SAMPLES_PER_CYCLE]).tolist() for i in (0, SAMPLES_PER_CYCLE)] == [
        [7000, 3000]
    ] * 2
    assert np.abs(np.bincount(source[:1000]) / 1000 - [0.7, 0.3]).max() < 0.05
    batch = mixed.at(1)
    from_other = (batch["tokens"] >= 20_000) & (batch["tokens"] < EOS)
    assert (from_other.any(axis=1) == (batch["sources"] == 1)).all()
    # All rows of a source are used before any is repeated.
    for i, rows in enumerate(mixed.order.rows):
        drawn = mixed.order.draw(np.arange(2 * SAMPLES_PER_CYCLE))
        mine = drawn.row[drawn.source == i]
        assert sorted(mine[:rows].tolist()) == list(range(rows))


def test_a_mixture_says_the_same_of_its_rows_as_each_source_alone(shards, tmp_path):
    other = made(tmp_path / "b", [9] * 40, first=20_000)
    mixed = TokenLoader([shards, other], batch_size=16, seed=1)
    batch, drawn = mixed.at(3), mixed.drawn(3)
    sources = [ShardRows(open_shards(folder)) for folder in (shards, other)]
    singles = [sources[s].read(np.array([r])) for s, r in zip(drawn.source, drawn.row, strict=True)]
    for name in FIELDS[:-1]:
        assert batch[name].tolist() == [one[name][0].tolist() for one in singles]
    begins = [n * 4 + at for n, one in enumerate(singles) for at in one["cu_seqlens"][:-1].tolist()]
    assert batch["cu_seqlens"].tolist() == [*begins, 64]


def test_the_trace_names_the_document_of_every_token(shards):
    running = TokenLoader(shards, batch_size=6, seed=9, rank=1, world=2)
    for step in range(5):
        batch = running.at(step)
        told = np.full(batch["doc_ids"].shape, -1)
        for piece in running.trace(step):
            told[piece.row, piece.start : piece.start + piece.length] = piece.document
        assert told.tolist() == batch["doc_ids"].tolist()


def test_no_token_attends_across_documents(shards):
    batch = TokenLoader(shards, seq_len=32, batch_size=4, seed=1).at(0)
    mask = block_mask(batch["position_ids"])
    for row in range(4):
        for i in range(32):
            seen = np.flatnonzero(mask[row, i])
            assert seen.max() == i and set(batch["doc_ids"][row, seen]) == {batch["doc_ids"][row, i]}
            assert len(seen) == batch["position_ids"][row, i] + 1


def test_what_cannot_be_is_refused(shards, tmp_path):
    with pytest.raises(ShardError, match="seq_len must be a whole number of 1 or more, got 0"):
        TokenLoader(shards, seq_len=0)
    with pytest.raises(ShardError, match="rank must be a whole number up to 1, got 2: the ranks of world=2 are 0 to 1"):
        TokenLoader(shards, rank=2, world=2)
    with pytest.raises(ShardError, match='no field "token"; did you mean "tokens"'):
        TokenLoader(shards, fields=["token"])
    state = TokenLoader(shards, seed=1).state_dict()
    with pytest.raises(ShardError, match="seed was 1, is 2"):
        TokenLoader(shards, seed=2).load_state_dict(state)
    with pytest.raises(ShardError, match="another order of samples: data was"):
        TokenLoader(shards, seq_len=8, seed=1).load_state_dict(state)
    other = made(tmp_path / "b", [9] * 4)
    text = (other / "index.json").read_text("utf-8")
    (other / "index.json").write_text(text.replace('"tokenizer_sha256": "', '"tokenizer_sha256": "0'), "utf-8")
    with pytest.raises(ShardError, match="different tokenizers cannot be mixed"):
        TokenLoader([shards, other])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number of 1 or more, got 0"),
        ({"batch_size": -1}, "batch_size must be a whole number of 1 or more, got -1"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of 1 or more, got 2.5"),
        ({"batch_size": True}, "batch_size must be a whole number of 1 or more, got True"),
        ({"batch_size": 1 << 40}, "batch_size must be a whole number up to 1073741824"),
        ({"world": 0}, "world must be a whole number of 1 or more, got 0"),
        ({"world": "2"}, "world must be a whole number of 1 or more, got '2'"),
        ({"rank": -1}, "rank must be a whole number of 0 or more, got -1"),
        ({"rank": 1}, "rank must be a whole number up to 0, got 1: the ranks of world=1 are 0 to 0"),
        ({"seed": "x"}, "seed must be a whole number, got 'x'"),
        ({"seed": None}, "seed must be a whole number, got None"),
        ({"seq_len": 4.0}, "seq_len must be a whole number of 1 or more, got 4.0"),
        ({"seq_len": -4}, "seq_len must be a whole number of 1 or more, got -4"),
        ({"prefetch": -1}, "prefetch must be a whole number of 0 or more, got -1"),
        ({"prefetch": 0.5}, "prefetch must be a whole number of 0 or more, got 0.5"),
        ({"epochs": 0}, "epochs must be a whole number of 1 or more, got 0"),
        ({"epochs": float("inf")}, "epochs must be a whole number of 1 or more, got inf"),
        ({"shuffle": "false"}, "shuffle must be True or False, got 'false'"),
        ({"verify": 1}, "verify must be True or False, got 1"),
        ({"fields": "tokens"}, "fields is a list of names, .* got 'tokens'"),
        ({"fields": [1]}, r"fields is a list of names, .* got \[1\]"),
        ({"skip": (3, 5)}, r"skip is a list of ranges \(first, end\), got \(3, 5\)"),
        ({"skip": [("a", 5)]}, "skip must be a whole number of 0 or more, got 'a'"),
        ({"seq_len": 10**9}, r"8 rows of 1,000,000,000 tokens needs 245\.9 GiB of memory, .* Set the number of rows"),
        (
            {"seq_len": 10**12, "batch_size": 1, "fields": ["tokens"]},
            r"needs 7,450\.6 GiB of memory; this machine has .* GiB",
        ),
    ],
)
def test_an_argument_that_cannot_be_is_refused_by_its_name(shards, settings, message):
    if "this machine" in message and machine_memory() is None:
        pytest.skip("the system does not say how much memory there is")
    with pytest.raises(ShardError, match=message):
        TokenLoader(shards, **settings)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (7, "path is a folder of shards, a list of them, or {folder: weight}; got 7"),
        ([7], r"path is a folder of shards, .* got \[7\]"),
        ([], "a mixture needs one folder or more"),
        ({"a": "x"}, "each with a weight above 0, got {'a': 'x'}"),
        ({"a": float("nan")}, "each with a weight above 0"),
    ],
)
def test_a_path_that_names_no_folders_is_refused(path, message):
    with pytest.raises(ShardError, match=message):
        TokenLoader(path)


def test_numbers_of_numpy_are_numbers(shards):
    given: dict[str, Any] = {"batch_size": np.int32(2), "seed": np.uint64(2**63), "shuffle": np.True_}
    loader = TokenLoader(shards, **given)
    assert json.loads(json.dumps(loader.state_dict()))["seed"] == 2**63


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": -5}, "samples of the state must be a whole number of 0 or more, got -5"),
        ({"samples": "x"}, "samples of the state must be a whole number of 0 or more, got 'x'"),
        ({"samples": 8.0}, "samples of the state must be a whole number of 0 or more, got 8.0"),
        ({"samples": 10**30}, "samples of the state must be a whole number up to"),
        ({"samples": None}, "samples of the state must be a whole number of 0 or more, got None"),
        ({"seed": "1"}, "seed of the state must be a whole number, got '1'"),
        ({"seed": 2}, "another order of samples: seed was 2, is 1"),
        ({"data": None}, "data of the state must be a list as state_dict.. returned it, got None"),
        ({"data": [1]}, r"another order of samples: data was \[1\], is "),
    ],
)
def test_a_state_is_checked_field_by_field_and_changes_nothing_if_it_is_wrong(shards, change, message):
    loader = TokenLoader(shards, seed=1)
    loader.samples = 16
    with pytest.raises(ShardError, match=message):
        loader.load_state_dict(loader.state_dict() | change)
    assert loader.samples == 16


@pytest.mark.parametrize(
    ("state", "lacks"), [({}, "without samples, seed, data"), ([], r"got one \[\]"), (None, "None")]
)
def test_a_state_of_something_else_is_none(shards, state, lacks):
    with pytest.raises(ShardError, match=f"a state is what state_dict.. returned, .*{lacks}"):
        TokenLoader(shards).load_state_dict(state)


@pytest.mark.parametrize("step", [-1, 1.5, "0", 1 << 62])
def test_a_step_is_a_number_from_0(shards, step):
    for ask in (TokenLoader(shards).at, TokenLoader(shards).drawn, TokenLoader(shards).trace):
        with pytest.raises(ShardError, match="step must be a whole number"):
            ask(step)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="limits the memory of a process as Linux does")
def test_where_memory_runs_out_an_error_says_how_much_was_needed(shards):
    code = f"""
import resource
from corpusmill.errors import ShardError
from corpusmill.loader import TokenLoader
loader = TokenLoader({str(shards)!r}, seq_len=1 << 20, batch_size=64)
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    loader.at(0)
except ShardError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "64 rows of 1,048,576 tokens needs 2.1 GiB of memory, more than there is." in said


def test_shares_add_up():
    assert SampleOrder((1, 1, 1), (1, 1, 1), 0).shares == (3334, 3333, 3333)
    assert sum(SampleOrder((5, 5, 5), (0.1, 0.25, 0.65), 0).shares) == SAMPLES_PER_CYCLE
