"""Documents come back from shards whole, once, in order, however they were packed."""

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.errors import ShardError
from corpusmill.models.tokenizer import load
from corpusmill.shards import open_shards
from corpusmill.shards.documents import documents
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.token_range import TokenRange
from corpusmill.shards.writer import write_folder

EOS = 50_256


def made(lengths):
    return [[(7 * d + i) % 50_000 for i in range(n - 1)] + [EOS] for d, n in enumerate(lengths)]


def shards_of(folder, lengths, method, row, per_shard, remainder="keep"):
    ids = np.array([token for document in made(lengths) for token in document], np.uint16)
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    plan = plan_shards([unit.lengths for unit in units], method, row, per_shard, remainder)
    write_folder(folder, plan, units, load("gpt2"))
    return open_shards(folder)


def split(block):
    return [part.tolist() for part in np.split(block.ids, np.cumsum(block.lengths)[:-1])]


@settings(max_examples=80, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 25), min_size=1, max_size=15),
    method=st.sampled_from(["concat", "best_fit", "one_per_row"]),
    row=st.integers(1, 9),
    per_shard=st.integers(1, 30),
    remainder=st.sampled_from(["keep", "pad"]),
    block=st.integers(1, 40),
)
@example(lengths=[25], method="concat", row=1, per_shard=3, remainder="keep", block=1)  # through many shards
def test_every_document_once_in_order(tmp_path_factory, lengths, method, row, per_shard, remainder, block):
    shards = shards_of(tmp_path_factory.mktemp("s"), lengths, method, row, per_shard, remainder)
    blocks = list(documents(shards, block))
    assert [document for part in blocks for document in split(part)] == made(lengths)
    assert [part.first for part in blocks] == np.cumsum([0, *(len(b.lengths) for b in blocks[:-1])]).tolist()
    # Only documents that are joined from several shards may make a block larger than its last document requires.
    assert all(len(b.ids) - b.lengths[-1] - b.lengths[0] < block for b in blocks)


def test_a_last_document_without_its_end_is_read_as_far_as_it_goes(tmp_path):
    shards = shards_of(tmp_path, [3, 4], "concat", 5, 5, "drop")
    assert [document for block in documents(shards) for document in split(block)] == [made([3])[0], made([3, 4])[1][:2]]


def test_a_shard_that_is_missing_from_the_order_is_reported(tmp_path):
    shards = shards_of(tmp_path, [4, 4, 4], "concat", 4, 4)
    index = json.loads((tmp_path / "index.json").read_text())
    index["shards"][1]["spans_xxh3_128"] = index["shards"][2]["spans_xxh3_128"]
    (tmp_path / "index.json").write_text(json.dumps(index))
    (tmp_path / "00001.idx").write_bytes((tmp_path / "00002.idx").read_bytes())
    with pytest.raises(ShardError, match="documents from 1 on were expected in shard 1"):
        list(documents(open_shards(shards.folder)))


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 25), min_size=1, max_size=9),
    rows=st.tuples(st.integers(0, 6), st.integers(1, 6)),
    at_once=st.integers(1, 4),
)
def test_a_stretch_is_the_rows_that_it_names(tmp_path_factory, lengths, rows, at_once):
    shards = shards_of(tmp_path_factory.mktemp("s"), lengths, "concat", 4, 8, "pad")
    first, count = rows
    start = min(first * 4, len(shards) - 4)
    tokens = TokenRange(shards, start, min(start + count * 4, len(shards)))
    got = np.concatenate(list(tokens.chunks(at_once)))
    assert got.tolist() == shards.tokens(tokens.start, tokens.stop).tolist()
    assert (tokens.size, tokens.row, tokens.dtype) == (len(got), 4, np.dtype(np.uint16))
    expected = shards.spans(tokens.start, tokens.stop)
    assert [column.tolist() for column in tokens.spans] == [column.tolist() for column in expected]
