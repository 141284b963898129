"""Small pieces that are read together give the documents of each, in batches of the usual size."""

import json

import pyarrow as pa
import pytest

from corpusmill.ops.estimate.sampled_pieces import GroupReader, PieceGroup, joined
from corpusmill.read import BATCH_ROWS, ReadCounts
from corpusmill.read.jsonl import JsonlReader
from corpusmill.storage import expand


@pytest.fixture
def pieces(tmp_path):
    path = tmp_path / "web.jsonl"
    path.write_text("".join(json.dumps({"text": f"{i} " + "river " * (i % 7)}) + "\n" for i in range(9000)), "utf-8")
    return JsonlReader().split(expand((str(path),), ()), 4000)


def read(reader, pieces):
    counts = ReadCounts()
    batches = [batch for piece in pieces for batch in reader.read(piece, "web", counts)]
    return batches, counts


def test_documents_are_those_of_the_pieces_in_order(pieces):
    some = pieces[1::3]
    (alone, counts), (together, counts_together) = (
        read(JsonlReader(), some),
        read(GroupReader(JsonlReader()), [PieceGroup.from_pieces(some)]),
    )
    assert pa.Table.from_batches(together).equals(pa.Table.from_batches(alone))
    assert counts_together == counts and counts.documents > BATCH_ROWS
    assert len(alone) == len(some) > 10 * len(together)
    assert all(len(batch) <= BATCH_ROWS for batch in together)


def test_a_piece_by_itself_is_read_as_it_is(pieces):
    assert read(GroupReader(JsonlReader()), pieces[:1])[0] == read(JsonlReader(), pieces[:1])[0]


def test_pieces_are_joined_by_source(pieces):
    group = joined([(0, pieces[0]), (0, pieces[2]), (1, pieces[3])])
    assert [(source, one.parts) for source, one in group if isinstance(one, PieceGroup)] == [
        (0, (pieces[0], pieces[2])),
        (1, (pieces[3],)),
    ]
    assert group[0][1].size == pieces[0].size + pieces[2].size
