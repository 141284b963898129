"""Parquet files of kilobytes that hold gigabytes: as many rows at a time as memory allows, or a dead letter."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import read_all

from corpusmill.read._parquet_pages import MAX_BATCH, TooLarge, rows_at_once
from corpusmill.read.parquet import ParquetReader
from corpusmill.storage import stat

ROWS = 256


def written(path, table, **settings):
    pq.write_table(table, path, write_statistics=False, **{"compression": "zstd", **settings})
    return path


def at_once(path):
    with path.open("rb") as file:
        return rows_at_once(file, 0, pq.ParquetFile(path).metadata.row_group(0).num_rows, ROWS)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "dictionary"])
def test_usual_files_are_read_as_many_rows_at_a_time_as_ever(tmp_path, version, codec, encoding):
    table = pa.table({"text": [f"The river {i} runs. " * 20 for i in range(800)], "n": [[i, None] for i in range(800)]})
    how = (
        {"use_dictionary": True}
        if encoding == "dictionary"
        else {"use_dictionary": False, "column_encoding": {"text": encoding}}
    )
    path = written(
        tmp_path / "a.parquet", table, data_page_version=version, compression=codec, data_page_size=4096, **how
    )
    assert at_once(path) == ROWS
    rows, dead, _ = read_all(ParquetReader(), stat(str(path)))
    assert [row["text"] for row in rows] == table["text"].to_pylist() and not dead


def test_a_long_value_that_each_row_repeats_is_decoded_for_a_few_rows(tmp_path):
    value = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array(["word " * 400_000]))
    path = written(
        tmp_path / "a.parquet", pa.table({"text": value}), dictionary_pagesize_limit=1 << 30, store_schema=False
    )
    assert path.stat().st_size < 5000 and at_once(path) == MAX_BATCH // 2_000_004


def test_what_values_begin_with_may_be_repeated_too(tmp_path):
    table = pa.table({"text": ["word " * 400_000] * 300})
    path = written(tmp_path / "a.parquet", table, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"})
    assert path.stat().st_size < 10_000 and at_once(path) < ROWS


@pytest.mark.parametrize("codec", ["zstd", "gzip", "brotli"])
def test_a_page_that_holds_far_more_than_its_bytes_is_not_read(tmp_path, codec):
    table = pa.table({"text": ["x" * (70 << 20), "y" * (70 << 20), "The river runs."]})
    path = written(tmp_path / "a.parquet", table, use_dictionary=False, compression=codec, row_group_size=2)
    rows, dead, _ = read_all(ParquetReader(), stat(str(path)))
    assert [row["text"] for row in rows] == ["The river runs."]
    assert [(letter["position"], letter["kind"]) for letter in dead] == [(0, "too_large")]
    assert "row group 0, rows 0 to 1: column text: a page of " in dead[0]["reason"]


def test_a_list_of_many_values_in_few_bytes_is_not_read(tmp_path):
    lists = pa.ListArray.from_arrays(pa.array([0, 20_000_000], pa.int32()), pa.nulls(20_000_000, pa.int8()))
    path = written(tmp_path / "a.parquet", pa.table({"text": ["The river runs."], "n": lists}))
    assert path.stat().st_size < 50_000
    with pytest.raises(TooLarge, match=r"column n.list.element: lists in \d+ bytes have 20000000 values"):
        at_once(path)


def test_heads_that_are_damaged_are_left_to_the_library(tmp_path):
    path = written(tmp_path / "a.parquet", pa.table({"text": ["The river runs."] * 50}), use_dictionary=False)
    content = path.read_bytes()
    for at in range(4, 40):
        for byte in (0, 0x15, 0x7F, 0xFF):
            path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
            read_all(ParquetReader(), stat(str(path)))
