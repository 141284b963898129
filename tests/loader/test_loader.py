"""The loader: batches are a function of the step, and targets never leave their document."""

import subprocess
import sys

import numpy as np
import pytest

from corpusmill import loader
from corpusmill.errors import ShardError
from corpusmill.loader import TokenLoader
from corpusmill.models.tokenizer import load
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder
from corpusmill.store.run_folder import RUN, RunFolder

EOS = 50_256
LENGTHS = [3, 6, 2, 9, 1, 4]  # 25 tokens


def made(folder, method, row, lengths=LENGTHS):
    ids = np.arange(sum(lengths)).astype(np.uint16)
    ids[np.cumsum(lengths) - 1] = EOS
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    write_folder(folder, plan_shards([units[0].lengths], method, row, 2 * row), units, load("gpt2"))
    return loader.open(folder), ids


def test_batches_in_order_are_the_data(tmp_path):
    data, ids = made(tmp_path, "concat", 4)
    assert data.steps(batch_size=3) == 3
    batches = [data.batch(step, 3) for step in range(3)]
    assert [len(b["tokens"]) for b in batches] == [3, 3, 1]
    tokens = np.concatenate([b["tokens"].ravel() for b in batches])
    assert tokens.tolist() == [*ids.tolist(), EOS, EOS, EOS]
    documents = np.concatenate([b["doc_ids"].ravel() for b in batches])
    assert documents.tolist() == [*np.repeat(range(6), LENGTHS).tolist(), -1, -1, -1]


@pytest.mark.parametrize("length", [1, 3, 4, 7, 25, 40])
def test_targets_are_the_next_token_of_the_same_document(tmp_path, length):
    data, ids = made(tmp_path, "concat", 4)
    targets = np.concatenate([data.batch(s, 2, length)["targets"].ravel() for s in range(data.steps(2, length))])
    ends = set((np.cumsum(LENGTHS) - 1).tolist())
    want = [loader.IGNORE if i in ends else int(ids[i + 1]) for i in range(len(ids))]
    assert targets[:25].tolist() == want
    assert (targets[25:] == loader.IGNORE).all()


def test_a_document_that_continues_in_the_next_row_leads_there(tmp_path):
    data, _ = made(tmp_path, "best_fit", 4, [9, 3])
    batch = data.batch(0, 4)
    assert batch["doc_ids"].tolist() == [[0] * 4, [0] * 4, [0, -1, -1, -1], [1, 1, 1, -1]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 0, 1, 2], [0, 1, 2, 0]]
    ignore = loader.IGNORE
    assert batch["targets"].tolist() == [[1, 2, 3, 4], [5, 6, 7, EOS], [ignore] * 4, [10, EOS, ignore, ignore]]


def test_padding_after_a_document_by_itself_is_masked(tmp_path):
    data, _ = made(tmp_path, "one_per_row", 4, [5, 2])
    batch = data.batch(0, 3)
    assert batch["doc_ids"].tolist() == [[0] * 4, [0, -1, -1, -1], [1, 1, -1, -1]]
    assert batch["loss_mask"].tolist() == [[True] * 4, [False] * 4, [True, False, False, False]]
    assert (batch["tokens"][batch["doc_ids"] < 0] == EOS).all()


def test_a_batch_is_int64_and_the_callers_own(tmp_path):
    data, _ = made(tmp_path, "concat", 4)
    batch = data.batch(0, 2)
    assert {name: array.dtype.name for name, array in batch.items()} == {
        **dict.fromkeys(("tokens", "targets", "position_ids", "doc_ids"), "int64"),
        "loss_mask": "bool",
        "cu_seqlens": "int32",
    }
    batch["tokens"][:] = 0
    assert data.batch(0, 2)["tokens"].any()


def test_steps_end_with_the_data(tmp_path):
    data, _ = made(tmp_path, "concat", 4)
    with pytest.raises(ShardError, match="no step 4; with 2 rows of 4 tokens per step, one epoch has 4 steps"):
        data.batch(4, 2)


def test_whole_documents_keep_their_row_length(tmp_path):
    data, _ = made(tmp_path, "best_fit", 6)
    with pytest.raises(ShardError, match=r"packed into rows of 6 tokens \(best_fit\), so rows of 8 would cut them"):
        data.batch(0, 2, 8)


def test_a_training_loop_needs_numpy_only():
    code = "import corpusmill.loader, sys; print(sorted({'pyarrow', 'numba', 'tokenizers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_folder_of_a_run_is_taken_for_its_shards(two_sources):
    inside = two_sources / "output" / "shards"
    assert RunFolder(str(two_sources)).output("shards") == str(inside)
    assert np.array_equal(loader.open(two_sources).batch(0, 2)["tokens"], loader.open(inside).batch(0, 2)["tokens"])
    assert TokenLoader(two_sources, batch_size=2).shards[0].folder == inside


def test_a_run_without_shards_is_refused_as_one(tmp_path):
    (tmp_path / RUN).write_text("{}", "utf-8")
    with pytest.raises(ShardError, match="this run has no training shards"):
        loader.open(tmp_path)


def test_loaders_are_shown_in_a_line_and_as_a_table(two_sources):
    data, batches = loader.open(two_sources), TokenLoader(two_sources, batch_size=2, seed=5)
    rows = data.steps(1)
    assert repr(data).endswith(f"tokens of gpt2, {rows:,} rows of 32>")
    assert repr(batches) == (
        f"<TokenLoader of {two_sources} ({rows:,} rows): batches of 2 rows of 32 tokens, seed 5, 0 samples taken>"
    )
    assert "<td" in data._repr_html_() and "100.0 %" in batches._repr_html_()
