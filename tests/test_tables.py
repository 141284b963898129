from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.store.tables import TableWriter

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.large_string())])


def write(path, texts, cuts, **limits):
    batch = pa.RecordBatch.from_pydict({"id": list(range(len(texts))), "text": texts}, schema=SCHEMA)
    edges = [0, *sorted(cut % (len(texts) + 1) for cut in cuts), len(texts)]
    with TableWriter(path, SCHEMA, **limits) as writer:
        for start, stop in pairwise(edges):
            writer.write(batch.slice(start, stop - start))
    return path.read_bytes()


@settings(max_examples=40)
@given(st.lists(st.text(max_size=20) | st.none(), max_size=30), st.lists(st.integers(0, 100), max_size=6))
def test_the_file_does_not_depend_on_the_batches(tmp_path_factory, texts, cuts):
    folder = tmp_path_factory.mktemp("tables")
    limits = {"rows": 7, "size": 40}
    assert write(folder / "a", texts, [], **limits) == write(folder / "b", texts, cuts, **limits)
    assert pq.read_table(folder / "a")["text"].to_pylist() == texts


@pytest.mark.parametrize(
    ("texts", "groups"),
    [
        (["x"] * 8, [3, 3, 2]),  # three rows a group
        (["x" * 9, "x", "x", "x"], [2, 2]),  # the row that brings a group to 10 bytes is its last
        (["x" * 50, "y" * 50], [1, 1]),
        ([], []),
    ],
)
def test_row_groups_are_cut_by_rows_and_by_bytes_of_text(tmp_path, texts, groups):
    write(tmp_path / "t", texts, [], rows=3, size=10)
    found = pq.ParquetFile(tmp_path / "t").metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == groups
