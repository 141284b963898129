"""Which documents are in which file of text."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import docs
from corpusmill.engine.work.documents import documents_of
from corpusmill.engine.work.text_files import TextFilePart, megabytes_of, text_files
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.tables import TableWriter
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Results
from corpusmill.write.jsonl import JsonlWriter
from corpusmill.write.parquet import ParquetWriter

MILLION = 1_000_000
UNITS = ((MILLION, 2 * MILLION), (), (3 * MILLION, 10, 10))


def results(*units):
    """Results of a pass whose units have row groups with so many bytes of text."""
    notes = {"text_groups": [",".join(map(str, groups)) for groups in units]}
    return Results(
        "pass-1",
        "",
        tuple(map(str, range(len(units)))),
        {},
        {},
        notes,
        np.zeros(len(units)),
        np.zeros(len(units), np.int64),
        np.zeros(len(units)),
    )


def numbers(files):
    """The files as (unit, first, stop)."""
    return [[(part.unit, part.first, part.stop) for part in file.parts] for file in files]


def test_small_units_share_a_file():
    assert numbers(text_files(megabytes_of(JsonlWriter()), results(*UNITS))) == [[(0, 0, 2), (1, 0, 0), (2, 0, 3)]]


def test_all_in_one_file():
    assert numbers(text_files(megabytes_of(JsonlWriter(single_file=True, mb_per_file=1)), results(*UNITS))) == [
        [(0, 0, 2), (1, 0, 0), (2, 0, 3)]
    ]


def test_files_end_with_the_row_group_that_fills_them():
    assert numbers(text_files(megabytes_of(ParquetWriter(mb_per_file=1)), results(*UNITS))) == [
        [(0, 0, 1)],
        [(0, 1, 2)],
        [(1, 0, 0), (2, 0, 1)],
        [(2, 1, 3)],
    ]
    assert numbers(text_files(megabytes_of(ParquetWriter(mb_per_file=5)), results(*UNITS))) == [
        [(0, 0, 2), (1, 0, 0), (2, 0, 1)],
        [(2, 1, 3)],
    ]


@pytest.mark.parametrize("writer", [JsonlWriter(), JsonlWriter(single_file=True), JsonlWriter(mb_per_file=1)], ids=repr)
def test_without_documents_there_is_one_empty_file(writer):
    assert numbers(text_files(megabytes_of(writer), results(()))) == [[(0, 0, 0)]]


def test_a_writer_of_ones_own_need_not_know_of_files():
    assert numbers(text_files(megabytes_of(OwnWriter()), results((100 * MILLION,), (100 * MILLION,), (5,)))) == [
        [(0, 0, 1), (1, 0, 1)],
        [(2, 0, 1)],
    ]


class OwnWriter:
    suffix = ".own"

    def write(self, batches, path):
        raise NotImplementedError


@pytest.mark.parametrize(("first", "stop"), [(0, 4), (1, 3), (2, 2)])
def test_a_part_is_its_row_groups_and_how_often_they_are_drawn(tmp_path, first, stop):
    with TableWriter(tmp_path / "docs.parquet", docs("").schema, rows=1) as table:
        for size in (5, 6, 7, 8):
            table.write(docs("x" * size))
    # The signals are of all documents; only four of them are kept.
    dropped_by = [None, "url", None, None, "url", None]
    pq.write_table(pa.table({"dropped_by": dropped_by, "mix.copies": [1, 9, 2, 3, 9, 4]}), tmp_path / "signals.parquet")
    part, files = (
        TextFilePart("docs.parquet", "docs.parquet", "signals.parquet", first, stop),
        Upstream(RunFolder(str(tmp_path))),
    )
    drawn = [row for batch in documents_of(part, "mix.copies", files) for row in batch.to_pylist()]
    assert [(len(row["text"]), row["copies"]) for row in drawn] == [(5, 1), (6, 2), (7, 3), (8, 4)][first:stop]
    plain = [row for batch in documents_of(part, None, files) for row in batch.to_pylist()]
    assert plain == [{name: value for name, value in row.items() if name != "copies"} for row in drawn]
