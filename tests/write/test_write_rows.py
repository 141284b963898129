"""Writers of packed rows: Parquet holds the same rows as the native shards."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.shards.pack import UnitTokens, pack
from corpusmill.shards.plan import plan_shards
from corpusmill.write.parquet_tokens import ParquetTokensWriter
from corpusmill.write.shards import ShardsWriter

PAD = 65_000


def packed(lengths, method, row, remainder="keep"):
    ids = np.arange(sum(lengths)).astype(np.uint16)
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    (shard,) = plan_shards([units[0].lengths], method, row, 1000, remainder).shards
    return pack(shard, units, PAD)


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 20), min_size=1, max_size=15),
    row=st.integers(1, 9),
    per_group=st.integers(1, 30),
    method=st.sampled_from(["concat", "best_fit", "one_per_row"]),
    remainder=st.sampled_from(["keep", "pad"]),
)
def test_parquet_and_native_shards_hold_the_same_rows(tmp_path_factory, lengths, row, per_group, method, remainder):
    folder = tmp_path_factory.mktemp("rows")
    shard = packed(lengths, method, row, remainder)
    ShardsWriter().write_rows(shard, {".bin": folder / "a.bin", ".idx": folder / "a.idx"})
    facts = ParquetTokensWriter(tokens_per_group=per_group, position_ids=True).write_rows(
        shard, {".parquet": folder / "a.parquet"}
    )
    native = np.fromfile(folder / "a.bin", np.uint16).tolist()
    rows = pq.read_table(folder / "a.parquet").to_pylist()
    assert facts.rows == len(rows) == shard.report.rows
    assert [token for r in rows for token in r["input_ids"]] == native
    assert all(len(r["input_ids"]) == row for r in rows[:-1])

    starts = np.cumsum(lengths) - lengths
    for r in rows:
        at = 0
        for document, length, offset in zip(r["documents"], r["lengths"], r["offsets"], strict=True):
            # A token's value is its place in the stream, so it shows its document, and its position there.
            first = int(starts[document]) + offset
            assert r["input_ids"][at : at + length] == list(range(first, first + length))
            assert offset + length <= lengths[document]
            assert r["position_ids"][at : at + length] == list(range(length))
            at += length
        assert r["input_ids"][at:] == [PAD] * (len(r["input_ids"]) - at)
        assert r["position_ids"][at:] == list(range(len(r["input_ids"]) - at))


def test_row_groups_hold_whole_rows(tmp_path):
    shard = packed([7, 9, 4], "concat", 4)
    ParquetTokensWriter(tokens_per_group=9).write_rows(shard, {".parquet": tmp_path / "a.parquet"})
    file = pq.ParquetFile(tmp_path / "a.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [2, 2, 1]
    assert str(file.schema_arrow.field("input_ids").type.value_type) == "uint16"


@pytest.mark.parametrize("writer", [ShardsWriter(), ParquetTokensWriter()])
def test_a_shard_is_100_million_tokens_unless_asked(writer):
    assert writer.tokens_per_shard == 100_000_000
