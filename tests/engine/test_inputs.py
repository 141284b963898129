"""How input files become units of the first pass."""

import bz2
import gzip
import json
import lzma
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.engine.plan.inputs import (
    MEGABYTE,
    SMALLEST,
    SourceFiles,
    find_inputs,
    grouped,
    plan_inputs,
    suffix,
    unit_bytes,
)
from corpusmill.read import END, FilePiece, expansion
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe.parts import Source
from corpusmill.storage import FileInfo, stat

TEXT = "".join(json.dumps({"text": f"line {i} " + "of words " * (i % 30)}) + "\n" for i in range(4000)).encode()


def file(name: str, size: int) -> FileInfo:
    return FileInfo(f"/{name}", name, size, "mtime:1")


def source(*sizes: int, expands: float = 1.0) -> SourceFiles:
    return SourceFiles(tuple(file(f"{i:04d}.jsonl", size) for i, size in enumerate(sizes)), {".jsonl": expands})


@pytest.mark.parametrize(
    ("megabytes", "unit_mb", "expected"),
    [
        (100_000, 128, 128),
        (24 * 128, 128, 128),
        (24 * 128 - 1, 128, 64),
        (475, 128, 16),
        (90, 128, 8),  # none below 4 MB of text, if there are fewer units then
        (1, 128, 8),
        (475, 2, 2),  # asked for
        (1, 1, 1),
    ],
)
def test_a_small_input_makes_many_units_and_a_large_one_large_ones(megabytes, unit_mb, expected):
    assert unit_bytes([source(megabytes * MEGABYTE)], unit_mb) == expected * MEGABYTE


def test_sizes_are_those_of_the_text_in_compressed_files():
    assert unit_bytes([source(1024 * MEGABYTE, expands=4.0)], 128) == 128 * MEGABYTE
    assert unit_bytes([source(1024 * MEGABYTE, expands=2.9)], 128) == 64 * MEGABYTE


@pytest.mark.parametrize(
    "pack", [None, gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress]
)
def test_how_much_a_file_expands_is_measured(tmp_path, pack):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(pack(TEXT) if pack else TEXT)
    assert expansion(stat(str(path))) == pytest.approx(len(TEXT) / path.stat().st_size, rel=0.2)


def test_expansion_of_columns(tmp_path):
    table = pa.table({"text": TEXT.decode().splitlines()})
    pq.write_table(table, tmp_path / "docs.parquet", compression="zstd")
    with pa.ipc.new_file(tmp_path / "docs.arrow", table.schema) as arrow:
        arrow.write_table(table)
    assert expansion(stat(str(tmp_path / "docs.parquet"))) > 2
    assert expansion(stat(str(tmp_path / "docs.arrow"))) == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd garbage", b"PAR1 garbage", b"ARROW1 garbage"]
)
def test_what_is_damaged_is_left_to_the_reader(tmp_path, content):
    (tmp_path / "docs").write_bytes(content)
    assert 0.1 <= expansion(stat(str(tmp_path / "docs"))) <= 100


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("a/b.warc.gz", ".warc.gz"),
        ("2024.05.jsonl.zst", ".jsonl.zst"),
        ("x.y/README", ""),
        ("part-1.parquet", ".parquet"),
    ],
)
def test_kinds_of_files_are_told_by_their_endings(name, ending):
    assert suffix(name) == ending


sizes = st.lists(st.integers(0, 40), max_size=60)


@given(sizes)
def test_units_hold_every_piece_once_in_order(sizes):
    pieces = [(0, FilePiece(file(f"{i}", size), 0, END, size), 1.0) for i, size in enumerate(sizes)]
    groups = list(grouped(pieces, 16))
    assert [piece for group in groups for piece in group] == [(index, piece) for index, piece, _ in pieces]
    for group in groups:
        assert len(group) == 1 or sum(piece.size for _, piece in group) <= 16


@given(st.lists(st.integers(1, 5), min_size=40, max_size=80), st.integers(0, 79), st.integers(1, 5))
def test_one_more_file_moves_its_neighbourhood_only(sizes, at, size):
    """Groups that share no file with the changed ones are as before: at most a few of many are made again."""
    names = [f"{random.Random(i).random()}" for i in range(len(sizes))]

    def groups(added: bool) -> set[tuple[str, ...]]:
        files = list(zip(names, sizes))
        if added:
            files.insert(min(at, len(files)), ("added", size))
        pieces = [(0, FilePiece(file(name, size), 0, END, size), 1.0) for name, size in files]
        return {tuple(piece.file.name for _, piece in group) for group in grouped(pieces, 16)}

    before, after = groups(False), groups(True)
    assert len(after - before) <= 12 and (len(after & before) >= len(before) // 3 or len(before) < 12)


def test_many_small_files_are_spread(tmp_path):
    for i in range(40):
        (tmp_path / f"{i:02d}.jsonl").write_bytes((TEXT * 2)[:700_000])
    sources = [Source(JsonlReader(), [str(tmp_path)])]
    units = list(plan_inputs(sources, find_inputs(sources), 128))
    assert 4 <= len(units) <= 7  # 28 MB, by 4 to 8 MB


def test_units_do_not_depend_on_where_a_file_is_cut_off_from_the_others(tmp_path):
    (tmp_path / "large.jsonl").write_bytes(TEXT * 30)
    sources = [Source(JsonlReader(), [str(tmp_path)])]
    units = list(plan_inputs(sources, find_inputs(sources), 128))
    assert len(units) == -(-(tmp_path / "large.jsonl").stat().st_size // SMALLEST)
    assert len({unit.content for unit in units}) == len(units)
