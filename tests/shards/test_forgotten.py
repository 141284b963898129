"""Documents of finished shards that are forgotten: masked at once, then erased; nothing else moves."""

import shutil

import numpy as np
import pytest

from corpusmill.errors import ShardError
from corpusmill.loader import TokenLoader
from corpusmill.shards import open_shards
from corpusmill.shards.documents import documents
from corpusmill.shards.forgotten import FORGOTTEN_FILE, NO_DOCUMENTS, erase, read_forgotten, write_forgotten

GONE = (3, 4, 17)


@pytest.fixture
def folder(two_sources, tmp_path):
    return shutil.copytree(two_sources / "output" / "shards", tmp_path / "shards")


def batches(folder, **settings):
    return list(TokenLoader(folder, batch_size=4, epochs=1, drop_last=False, seed=5, **settings))


def slowly_masked(batch, gone, pad):
    """A batch whose documents are forgotten, token by token."""
    masked = {name: column.copy() for name, column in batch.items()}
    for row, column in np.ndindex(batch["doc_ids"].shape):
        if batch["doc_ids"][row, column] in gone:
            masked["doc_ids"][row, column], masked["tokens"][row, column] = -1, pad
            masked["targets"][row, column], masked["loss_mask"][row, column] = -100, False
    return masked


def same(left, right):
    return all(np.array_equal(left[name], right[name]) for name in left) and left.keys() == right.keys()


@pytest.mark.parametrize("how", ["listed", "erased"])
def test_batches_are_the_same_but_for_the_forgotten(folder, how):
    before = batches(folder)
    pad = open_shards(folder).index.pad_id
    state = TokenLoader(folder, seed=5).state_dict()
    if how == "listed":
        write_forgotten(folder, np.array(GONE), NO_DOCUMENTS)
    else:
        erase(folder, GONE)
    after = batches(folder)
    assert len(after) == len(before)
    assert all(same(slowly_masked(old, GONE, pad), new) for old, new in zip(before, after))
    assert not all(map(same, before, after))
    TokenLoader(folder, seed=5).load_state_dict(state)  # the same order
    assert not {piece.document for step in range(4) for piece in TokenLoader(folder, seed=5).trace(step)} & {*GONE}
    assert TokenLoader(folder, seed=5).served([3])  # what training has seen can still be asked


@pytest.mark.parametrize("how", ["listed", "erased"])
def test_readers_leave_them_out(folder, how):
    def held():
        shards = open_shards(folder)
        return {
            part.first + i: ids.tolist()
            for part in documents(shards, 100)
            for i, ids in enumerate(np.split(part.ids, np.cumsum(part.lengths)[:-1]))
        }

    before = held()
    erase(folder, GONE) if how == "erased" else write_forgotten(folder, np.array(GONE), NO_DOCUMENTS)
    assert held() == {number: ids for number, ids in before.items() if number not in GONE}
    shards = open_shards(folder)
    runs = shards.spans(0, len(shards))
    tokens = shards.tokens(0, len(shards))
    ends = [*runs.start[1:].tolist(), len(shards)]
    for start, stop, number in zip(runs.start.tolist(), ends, runs.document.tolist()):
        assert set(tokens[start:stop].tolist()) == {shards.index.pad_id} if number in GONE else True
    assert shards.verify() == []


def test_erasing_leaves_nothing_in_the_files_and_writes_no_other(folder):
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    changed = erase(folder, GONE)
    assert changed == ["00000.bin", "documents/00000.parquet", "forgotten.json", "index.json"]
    assert before["00000.idx"] == (folder / "00000.idx").read_bytes()
    ids = np.fromfile(folder / "00000.bin", np.uint16)
    runs = open_shards(folder).spans(0, len(ids))
    of = np.repeat(runs.document, np.diff(runs.start, append=len(ids)))
    assert set(ids[np.isin(of, GONE)].tolist()) == {open_shards(folder).index.pad_id}
    old = np.frombuffer(before["00000.bin"], np.uint16)
    assert np.array_equal(ids[~np.isin(of, GONE)], old[~np.isin(of, GONE)])
    assert erase(folder, GONE) == []  # nothing is left to do


def test_what_was_killed_between_tokens_and_index_is_completed(folder):
    index = (folder / "index.json").read_bytes()
    erase(folder, GONE)
    (folder / "index.json").write_bytes(index)
    write_forgotten(folder, np.array(GONE), NO_DOCUMENTS)
    erase(folder, GONE)
    assert open_shards(folder).verify() == []
    assert read_forgotten(folder)[1].tolist() == [*GONE]


def test_verify_finds_what_was_not_erased(folder):
    write_forgotten(folder, np.array(GONE), np.array(GONE))
    (problem,) = open_shards(folder).verify()
    assert "are of an erased document, and they are not all" in problem


def test_a_damaged_list_is_refused(folder):
    write_forgotten(folder, np.array(GONE), NO_DOCUMENTS)
    path = folder / FORGOTTEN_FILE
    path.write_text(path.read_text().replace("17", "18"))
    with pytest.raises(ShardError, match=r"not as it was written.*copy it again"):
        open_shards(folder)
    path.write_text("{")
    with pytest.raises(ShardError, match="cannot be read"):
        TokenLoader(folder)
