"""Arrow files that are damaged, or lie: dead letters, and never more memory than was asked for."""

import io
import os
import random
import re
import struct
import sys
from contextlib import suppress

import made_arrow
import pyarrow as pa
import pytest
from reading import briefly, read_all, save

from corpusmill.errors import InputError
from corpusmill.read import expansion
from corpusmill.read.arrow import ArrowReader
from corpusmill.read.parquet import ParquetReader

MUTATIONS = 420
MANY = 120  # rows in three batches


def written(table: pa.Table, new=pa.ipc.new_file, rows: int = MANY // 3, **options) -> bytes:
    sink = io.BytesIO()
    with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, rows)
    return sink.getvalue()


def numbered_texts(count: int = MANY) -> pa.Table:
    return pa.table({"text": [f"text number {number}" for number in range(count)]})


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_mutated_files_are_read_without_a_crash(tmp_path):
    files = made_arrow.files()
    child = os.fork()
    if child == 0:  # what kills the process is a failure of the test, and not the end of all tests
        number = -1
        try:
            for number in range(MUTATIONS):
                data = made_arrow.mutated(files[list(files)[number % len(files)]], random.Random(number))
                file = save(tmp_path, "a.arrow", data)
                expansion(file)
                with suppress(InputError):  # the name or type of a column is another one
                    read_all(ArrowReader(), file, target=300 if number % 2 else 1 << 40)
        except BaseException as error:
            (tmp_path / "error").write_text(f"mutation {number}: {type(error).__name__}: {error}")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, (tmp_path / "error").read_text() if (tmp_path / "error").exists() else "the process was killed"


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize("target", [1, 1 << 40])
def test_the_batches_after_a_damaged_one_are_read(tmp_path, new, target):
    data = bytearray(written(numbered_texts(), new))
    at = data.index(
        struct.pack("<3i", 0, 14, 28)
    )  # where the texts of the second batch begin: those before are shorter
    data[at + 4 : at + 8] = struct.pack("<i", -5)
    rows, dead, _ = read_all(ArrowReader(), save(tmp_path, "a.arrow", bytes(data)), target=target)
    assert [row["position"] for row in rows] == [*range(40), *range(80, 120)]
    assert rows[-1]["text"] == "text number 119"
    assert briefly(dead) == [(40, "damaged", False)]
    assert dead[0]["reason"].startswith("record batch 1 is damaged, rows 40 to 79 are lost: ")


def test_every_kind_of_file_is_read_alike_whole_and_in_pieces(tmp_path):
    for name, data in made_arrow.files().items():
        file = save(tmp_path, f"{name}.arrow", data)
        whole, dead, _ = read_all(ArrowReader(), file)
        assert len(whole) == made_arrow.ROWS and not dead, name
        assert read_all(ArrowReader(), file, target=1)[0] == whole, name


def test_a_second_stream_in_a_file_is_not_lost_silently(tmp_path):
    data = written(numbered_texts(), pa.ipc.new_stream)
    rows, dead, _ = read_all(ArrowReader(), save(tmp_path, "a.arrow", data + data))
    assert len(rows) == MANY and briefly(dead) == [(MANY, "damaged", False)]
    assert "another one follows" in dead[0]["reason"]


@pytest.mark.parametrize("target", [1, 1 << 40])
def test_a_file_without_its_end_is_read_as_far_as_it_goes(tmp_path, target):
    data = written(numbered_texts())
    rows, dead, _ = read_all(
        ArrowReader(), save(tmp_path, "a.arrow", data[: data.index(b"text number 85")]), target=target
    )
    assert [row["position"] for row in rows] == list(range(80))
    assert briefly(dead) == [(80, "damaged", False)]
    assert "from row 80 on" in dead[0]["reason"] and "footer is missing" in dead[0]["reason"]


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize("claim", [1 << 40, 1 << 62, -7])
def test_a_batch_that_says_it_is_huge_is_refused_before_memory_is_taken(tmp_path, new, claim):
    table = pa.table({"text": ["x" * 5000 for _ in range(30)]})
    data = bytearray(written(table, new, 10, compression="zstd"))
    frames = [found.start() for found in re.finditer(rb"\x28\xb5\x2f\xfd", data)]  # offsets and texts, of each batch
    data[frames[3] - 8 : frames[3]] = struct.pack("<q", claim)  # before a frame is the size of what it holds
    before = pa.total_allocated_bytes()
    pool = pa.default_memory_pool()
    rows, dead, _ = read_all(ArrowReader(), save(tmp_path, "a.arrow", bytes(data)))
    assert [row["position"] for row in rows] == [*range(10), *range(20, 30)]
    assert briefly(dead) == [(10, "damaged", False)] and "it says " in dead[0]["reason"]
    assert pa.total_allocated_bytes() <= before + (1 << 20) and pool.max_memory() < 1 << 36


def test_few_bytes_that_stand_for_many_values_are_a_dead_letter(tmp_path):
    long = "y" * 10_000_000
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 8, pa.int8()), [long])
    many = pa.LargeListArray.from_arrays(
        [0, 1 << 34, (1 << 34) + 2], pa.Array.from_buffers(pa.null(), (1 << 34) + 2, [None])
    )
    file = save(tmp_path, "a.arrow", written(pa.table({"text": ["a", "b"], "nulls": many}), allow_64bit=True))
    rows, dead, _ = read_all(ArrowReader(), file)
    assert [row["metadata"] for row in rows] == ['{"nulls":[null,null]}'] and briefly(dead) == [(0, "too_large", False)]
    file = save(tmp_path, "b.arrow", written(pa.table({"text": [str(n) for n in range(8)], "shared": shared})))
    rows, dead, _ = read_all(ArrowReader(), file)
    assert len(rows) == 8 and not dead


def test_strings_within_values_that_are_not_utf8_get_replacement_characters(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"caf\xe9"], pa.binary()).buffers())
    table = pa.table(
        {
            "text": bad,
            "list": pa.ListArray.from_arrays([0, 1], bad),
            "struct": pa.StructArray.from_arrays([bad, pa.array([1])], ["a", "b"]),
            "shared": pa.DictionaryArray.from_arrays([0], bad),
        }
    )
    [row] = read_all(ArrowReader(), save(tmp_path, "a.arrow", written(table)))[0]
    assert row["text"] == "caf\ufffd"
    assert row["metadata"] == '{"list":["caf\ufffd"],"shared":"caf\ufffd","struct":{"a":"caf\ufffd","b":1}}'


def test_mutated_parquet_is_read_without_an_exception(tmp_path):
    import pyarrow.parquet as pq

    made = {}
    for name, table in made_arrow.tables().items():
        if name in ("plain", "large", "times"):
            sink = io.BytesIO()
            names = [field.name for field in table.schema if field.name not in ("step", "half")]
            pq.write_table(table.select(names), sink, row_group_size=4)
            made[name] = sink.getvalue()
    for number in range(90):
        data = made_arrow.mutated(made[list(made)[number % len(made)]], random.Random(number))
        with suppress(InputError):
            read_all(ParquetReader(), save(tmp_path, "a.parquet", data))
