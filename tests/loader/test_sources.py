"""Rows by their number, for trainers with loaders of their own; files of other shards; and resuming, many times."""

import pickle
import shutil
from random import Random

import numpy as np
import pytest
from test_token_loader import made

from corpusmill.errors import ShardError
from corpusmill.loader import RowSource, TokenLoader
from corpusmill.loader.source import ROW_FIELDS

LENGTHS = np.random.default_rng(1).integers(1, 30, 60).tolist()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return made(tmp_path_factory.mktemp("a"), LENGTHS, per_shard=64)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """As many tokens and files, and other documents."""
    return made(tmp_path_factory.mktemp("b"), LENGTHS[::-1], per_shard=64, first=3000)


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name in found:
        assert found[name].tolist() == wanted[name].tolist(), name


def test_a_source_has_the_rows_of_the_shards_in_their_order(shards):
    source = RowSource(shards)
    rows = TokenLoader(shards, batch_size=1, shuffle=False).rows[0]
    assert len(source) == len(rows)
    everything = rows.read(np.arange(len(rows)))
    for number in (0, 7, len(source) - 1):
        same(source[number], {name: everything[name][number] for name in ROW_FIELDS})
    same(source[-1], source[len(source) - 1])
    with pytest.raises(IndexError, match=rf"row {len(source)} of {len(source)}"):
        source[len(source)]


def test_with_a_seed_it_has_the_order_of_the_loader_over_epochs(shards):
    size = len(RowSource(shards))
    source = RowSource(shards, seed=5, samples=3 * size, fields=("tokens", "targets"))
    loader = TokenLoader(shards, batch_size=4, seed=5, fields=("tokens", "targets"))
    for step in (0, 3, size // 2):
        batch = loader.at(step)
        for row in range(4):
            same(source[step * 4 + row], {name: column[row] for name, column in batch.items()})


def test_a_mixture_says_how_many_samples(shards, other):
    with pytest.raises(ShardError, match="say how many samples"):
        RowSource({shards: 0.7, other: 0.3}, seed=1)
    source = RowSource({shards: 0.7, other: 0.3}, seed=1, samples=10**12, fields=("tokens",))
    loader = TokenLoader({shards: 0.7, other: 0.3}, batch_size=1, seed=1, fields=("tokens",))
    assert len(source) == 10**12
    for number in (0, 1, 12_345, 10**12 - 1):
        same(source[number], {"tokens": loader.at(number)["tokens"][0]})


def test_beginnings_of_pieces_are_no_column_of_a_row(shards):
    with pytest.raises(ShardError, match='no field "cu_seqlens"'):
        RowSource(shards, fields=("tokens", "cu_seqlens"))


def test_a_source_is_sent_to_another_process_without_its_tokens(shards):
    source = RowSource(shards)
    rows = [source[number] for number in range(len(source))]  # all files are mapped by now
    sent = pickle.dumps(source)
    assert not any(path.read_bytes() in sent for path in shards.glob("*.bin"))
    again = pickle.loads(sent)
    same(again[5], rows[5])


def test_a_fingerprint_is_that_of_the_rows_and_not_of_their_place(shards, other, tmp_path):
    copied = shutil.copytree(shards, tmp_path / "copy")
    assert RowSource(copied).fingerprint() == RowSource(shards).fingerprint()
    different = [RowSource(other), RowSource(shards, 8), RowSource(shards, seed=1), RowSource(shards, samples=9)]
    assert len({RowSource(shards).fingerprint(), *(source.fingerprint() for source in different)}) == 5


def test_a_loader_names_a_missing_and_a_foreign_file(shards, other, tmp_path):
    TokenLoader(shards).check()
    folder = shutil.copytree(shards, tmp_path / "copy")
    assert (folder / "00002.bin").stat().st_size == (other / "00002.bin").stat().st_size

    shutil.copy(other / "00002.bin", folder)  # of the right size: nothing but its content tells
    with pytest.raises(
        ShardError, match=r"00002\.bin: token \d+ should end a document, and is \d+, not 50256: the file"
    ):
        TokenLoader(folder).check()
    shutil.copy(shards / "00002.bin", folder)

    shutil.copy(other / "00002.bin", folder / "00099.bin")
    with pytest.raises(ShardError, match=r"00099\.bin: index.json does not list it: it is of other shards"):
        TokenLoader(folder).check()
    (folder / "00099.bin").unlink()

    (folder / "00001.idx").rename(folder / "away")
    with pytest.raises(ShardError, match=r"00001\.idx: is missing, and index.json lists it"):
        TokenLoader(folder).check()
    (folder / "away").rename(folder / "00001.idx")
    TokenLoader(folder).check()

    (folder / "00003.bin").unlink()
    with pytest.raises(ShardError, match=r"00003\.bin: .*The index lists it"):
        TokenLoader(folder)


@pytest.mark.parametrize("packing", [("best_fit", 32), ("one_per_row", 32), ("concat", 5)])
def test_shards_of_every_packing_belong(tmp_path, packing):
    method, row = packing
    lengths = [1, 70, *LENGTHS, 40]  # longer than a row and a file, too
    TokenLoader(made(tmp_path, lengths, method, row, per_shard=64, remainder="pad")).check()


def test_a_loader_refuses_another_tokenizer(shards):
    loader = TokenLoader(shards)
    loader.check()
    with pytest.raises(ShardError, match="made with another tokenizer than this one: gpt2"):
        loader.check(lambda text: list(text.encode()))


@pytest.mark.filterwarnings("ignore:epochs=8 of")
def test_fifty_resumes_in_a_row_are_one_run(shards):
    """At random steps, over epochs, with another world size and batch size each time: the samples are those of one
    uninterrupted run, each once, in its order."""
    size = len(RowSource(shards))
    whole = TokenLoader(shards, batch_size=1, seed=3, epochs=8, fields=("tokens", "doc_ids"))
    wanted = [batch["tokens"][0].tolist() for batch in whole]
    random, found, state = Random(4), [], whole.state_dict() | {"samples": 0}
    for _ in range(50):
        world, batch_size = random.choice([1, 2, 3, 4]), random.choice([1, 2])
        steps = random.randint(1, max(1, 8 * size // 200))
        ranks = []
        for rank in range(world):
            loader = TokenLoader(shards, batch_size=batch_size, seed=3, rank=rank, world=world, epochs=8)
            loader.load_state_dict(state)
            ranks.append((loader, iter(loader)))
        for _ in range(steps):
            batches = [next(batches, None) for _, batches in ranks]
            if None in batches:
                break
            found += [row.tolist() for batch in batches for row in batch["tokens"]]
        state = pickle.loads(pickle.dumps(ranks[0][0].state_dict()))
    assert state["samples"] == len(found) > 2 * size
    assert found == wanted[: len(found)]
