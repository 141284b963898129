"""Which documents are in which file of text."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import docs
from corpusmill.recipe.text_files import Part, text_files
from corpusmill.recipe.writing import documents_of
from corpusmill.tables import TableWriter
from corpusmill.units import UnitIO
from corpusmill.write.jsonl import Jsonl
from corpusmill.write.parquet import Parquet


def unit(folder, number, *groups):
    """A unit's documents, a row group for each number of bytes of text."""
    path = folder / f"{number}.parquet"
    with TableWriter(path, docs("").schema, rows=1) as table:
        for size in groups:
            table.write(docs("".join(chr(97 + i * i % 26) for i in range(size))))
    return path.name, f"{number}.signals"


@pytest.fixture
def units(tmp_path):
    million = 1_000_000
    return [unit(tmp_path, 0, million, 2 * million), unit(tmp_path, 1), unit(tmp_path, 2, 3 * million, 10, 10)]


def numbers(files):
    """The files as (unit, first, stop)."""
    return [[(int(part.docs[0]), part.first, part.stop) for part in file] for file in files]


def test_a_file_a_unit_unless_asked(tmp_path, units):
    assert numbers(text_files(Jsonl(), units, tmp_path)) == [[(0, 0, 2)], [(1, 0, 0)], [(2, 0, 3)]]


def test_all_in_one_file(tmp_path, units):
    assert numbers(text_files(Jsonl(single_file=True), units, tmp_path)) == [[(0, 0, 2), (1, 0, 0), (2, 0, 3)]]


def test_files_end_with_the_row_group_that_fills_them(tmp_path, units):
    assert numbers(text_files(Parquet(mb_per_file=1), units, tmp_path)) == [
        [(0, 0, 1)],
        [(0, 1, 2)],
        [(1, 0, 0), (2, 0, 1)],
        [(2, 1, 3)],
    ]
    assert numbers(text_files(Parquet(mb_per_file=5), units, tmp_path)) == [
        [(0, 0, 2), (1, 0, 0), (2, 0, 1)],
        [(2, 1, 3)],
    ]
    assert len(text_files(Parquet(mb_per_file=99), units, tmp_path)) == 1


@pytest.mark.parametrize("writer", [Jsonl(), Jsonl(single_file=True), Jsonl(mb_per_file=1)], ids=repr)
def test_without_documents_there_is_one_empty_file(tmp_path, writer):
    assert numbers(text_files(writer, [unit(tmp_path, 1)], tmp_path)) == [[(1, 0, 0)]]


def test_a_writer_of_ones_own_need_not_know_of_files(tmp_path, units):
    assert len(text_files(pa, units, tmp_path)) == 3


@pytest.mark.parametrize(("first", "stop"), [(0, 4), (1, 3), (2, 2)])
def test_a_part_is_its_row_groups_and_how_often_they_are_drawn(tmp_path, first, stop):
    docs_name, signals_name = unit(tmp_path, 0, 5, 6, 7, 8)
    # The signals are of all documents; only four of them are kept.
    dropped_by = [None, "url", None, None, "url", None]
    pq.write_table(pa.table({"dropped_by": dropped_by, "mix.copies": [1, 9, 2, 3, 9, 4]}), tmp_path / signals_name)
    part, io = Part(docs_name, signals_name, first, stop), UnitIO(tmp_path, "", 0, "")
    drawn = [row for batch in documents_of(part, "mix.copies", io) for row in batch.to_pylist()]
    assert [(len(row["text"]), row["copies"]) for row in drawn] == [(5, 1), (6, 2), (7, 3), (8, 4)][first:stop]
    plain = [row for batch in documents_of(part, None, io) for row in batch.to_pylist()]
    assert plain == [{name: value for name, value in row.items() if name != "copies"} for row in drawn]
