"""Writers of documents: what they write can be read, and does not depend on how it arrived."""

import gzip
import json
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill import write
from corpusmill.errors import RecipeError
from corpusmill.write.jsonl import JsonlWriter
from corpusmill.write.parquet import ParquetWriter

WRITERS = [
    ParquetWriter(),
    ParquetWriter(rows_per_group=3),
    ParquetWriter(bytes_per_group=20),
    JsonlWriter(),
    JsonlWriter(compression="gz"),
    JsonlWriter(compression="none"),
]


def batch(count):
    """Documents with all that a document may have, and one with as little as there may be."""
    texts = [f"text {i} é\n" * (i % 5) for i in range(count)]
    rest = [
        {"url": f"http://a.org/{i}", "date": "2026-01-02", "metadata": json.dumps({"b": i, "a": "ü"})}
        for i in range(count)
    ]
    columns = {
        name: [row[name] if i % 3 else None for i, row in enumerate(rest)] for name in ("url", "date", "metadata")
    }
    made = docs(*texts, **columns)
    return made.append_column("token_count", pa.array(range(count), pa.int64()))


def expected(documents):
    keep = [name for name in (*write.COLUMNS, "token_count") if name in documents.schema.names]
    return documents.select(keep).to_pylist()


def read_lines(writer, path):
    data = path.read_bytes()
    if writer.compression == "gz":
        data = gzip.decompress(data)
    elif writer.compression == "zst":
        data = zstandard.ZstdDecompressor().stream_reader(data).read()
    return data.decode().removesuffix("\n").split("\n")


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 20), max_size=4))
@pytest.mark.parametrize("writer", WRITERS, ids=repr)
def test_the_file_does_not_depend_on_the_batches(tmp_path_factory, writer, cuts):
    folder = tmp_path_factory.mktemp("write")
    documents = batch(20)
    edges = sorted([0, 20, *cuts])
    whole = writer.write([documents], folder / "whole")
    parts = writer.write([documents.slice(a, b - a) for a, b in pairwise(edges)], folder / "parts")
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()
    assert whole == parts == write.WriteFacts(20, (folder / "whole").stat().st_size)


def test_big_lines_do_not_depend_on_the_batches_either(tmp_path):
    documents = docs(*(f"{i} " * 200_000 for i in range(8)))
    for writer in (JsonlWriter(), JsonlWriter(compression="gz", level=1)):
        writer.write([documents], tmp_path / "whole")
        writer.write([documents.slice(i, 1) for i in range(8)], tmp_path / "parts")
        assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("documents", [batch(20), batch(0), docs("no", "count")], ids=["20", "none", "uncounted"])
def test_parquet_gives_back_the_documents(tmp_path, documents):
    ParquetWriter().write([documents], tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == expected(documents)


def test_parquet_without_batches_is_an_empty_table(tmp_path):
    assert ParquetWriter().write([], tmp_path / "a.parquet").rows == 0
    assert pq.read_table(tmp_path / "a.parquet").column_names == list(write.COLUMNS)


def test_row_groups_end_with_the_document_that_fills_them(tmp_path):
    ParquetWriter(bytes_per_group=10).write([docs("x" * 4, "x" * 6, "x" * 30, "x", "x")], tmp_path / "a.parquet")
    meta = pq.ParquetFile(tmp_path / "a.parquet").metadata
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [2, 1, 2]


@pytest.mark.parametrize("compression", ["none", "gz", "zst"])
def test_every_line_has_all_keys_null_where_unknown(tmp_path, compression):
    writer = JsonlWriter(compression=compression)
    documents = docs("a\u2028b", "c", url=[None, "http://a.org"], metadata=['{"z": [1, null], "a": {}}', None])
    assert writer.write([documents], tmp_path / "a").rows == 2
    first, second = documents["id"].to_pylist()
    assert (tmp_path / "a").read_bytes()[:2] == {"none": b'{"', "gz": b"\x1f\x8b", "zst": b"\x28\xb5"}[compression]
    lines = read_lines(writer, tmp_path / "a")
    assert lines[0].startswith(f'{{"date":null,"id":"{first}","metadata":{{"a":{{}},"z":[1,null]}},"source":"made",')
    lines = [json.loads(line) for line in lines]
    unknown = {"date": None, "metadata": None}
    assert lines[1] == {"id": second, "source": "made", "text": "c", "url": "http://a.org"} | unknown
    assert lines[0]["text"] == "a\u2028b"


def test_gzip_does_not_say_when_it_was_written(tmp_path):
    JsonlWriter(compression="gz").write([docs("a")], tmp_path / "a")
    flags, *time = (tmp_path / "a").read_bytes()[3:8]
    assert (flags, time) == (0, [0, 0, 0, 0])


def test_names_lead_to_writers():
    assert write.names() == [
        "dclm",
        "dolma",
        "jsonl",
        "litdata",
        "mds",
        "megatron",
        "olmo",
        "parquet",
        "parquet_tokens",
        "redpajama",
        "shards",
        "tokenized",
    ]
    for name in write.names():
        writer = write.find(name)()
        kinds = (write.DocumentWriter, write.RowWriter, write.TokenWriter)
        assert sum(isinstance(writer, kind) for kind in kinds) == 1
    with pytest.raises(RecipeError, match='there is no writer "parket"; did you mean "parquet"'):
        write.find("parket")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JsonlWriter(compression="xz"), 'compression must be one of none, gz, zst, got "xz"'),  # type: ignore[arg-type]
        (lambda: JsonlWriter(level=0), "level must be in 1 to 9, got 0"),
        (lambda: ParquetWriter(rows_per_group=0), "need rows_per_group >= 1"),
        (lambda: JsonlWriter(mb_per_file=0), "need mb_per_file >= 1, got 0"),
        (lambda: write.find("megatron")(tokens_per_shard=0), "need tokens_per_shard >= 1, got 0"),
        (lambda: write.find("mds")(tokens_per_shard=2**30), "need tokens_per_shard in 1 to 536870912"),
        (lambda: write.find("litdata")(tokens_per_shard=0), "need tokens_per_shard in 1 to 536870912"),
        (lambda: write.find("shards")(tokens_per_shard=0), "need tokens_per_shard >= 1, got 0"),
        (lambda: write.find("parquet_tokens")(tokens_per_group=0), "need tokens_per_shard >= 1 and tokens_per_group"),
    ],
)
def test_bad_parameters_fail_when_the_writer_is_made(make, message):
    with pytest.raises(RecipeError, match=message):
        make()
