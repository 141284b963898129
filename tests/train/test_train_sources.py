"""The tokens of each source of some shards, where documents of several stand in the same rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import InputError, ShardError
from corpusmill.models.tokenizer import load
from corpusmill.shards import open_shards
from corpusmill.shards.layout import INDEX, ShardIndex, table_name
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder
from corpusmill.storage import checksum
from corpusmill.train.sources import read_sources


def made(folder, lengths, sources, method="concat", row=8, per_shard=24):
    """Shards with a table of documents, which only a run writes otherwise."""
    ids = np.arange(sum(lengths)).astype(np.uint16)
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    write_folder(folder, plan_shards([units[0].lengths], method, row, per_shard), units, load("gpt2"))
    (folder / "documents").mkdir()
    index = ShardIndex.read(folder / INDEX)
    entries = []
    for entry in index.shards:
        mine = slice(entry.first_document, entry.first_document + entry.documents)
        path = folder / table_name(entry.number)
        pq.write_table(pa.table({"source": sources[mine], "tokens": lengths[mine]}), path)
        entries.append(entry.__class__(**(vars(entry) | {"table_xxh3_128": checksum(path)})))
    (folder / INDEX).write_bytes(ShardIndex(**(vars(index) | {"shards": tuple(entries)})).to_bytes())
    return folder


def slow_sources(folder, sources):
    """Token by token, as the shards say of each by itself."""
    shards = open_shards(folder)
    tokens_of: dict[Any, Any] = {}
    before: dict[Any, Any] = {}
    for token in range(len(shards)):
        place = shards.document_at(token)
        if place is not None:
            name = sources[place.document]
            first = before.get(name) != (place.document, place.offset - 1)
            tokens_of.setdefault(name, []).append((int(shards.tokens(token, token + 1)[0]), first))
            before[name] = place.document, place.offset
    return tokens_of


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from("abc")), min_size=1, max_size=14),
    st.sampled_from(["concat", "best_fit"]),
)
def test_each_token_is_its_sources_and_documents_keep_their_beginnings(tmp_path_factory, documents, method):
    lengths, sources = (list(column) for column in zip(*documents))
    folder = made(tmp_path_factory.mktemp("shards") / "x", lengths, sources, method)
    tokens_of = {s.name: list(zip(s.tokens.tolist(), s.first.tolist())) for s in read_sources([str(folder)], 10**9)}
    assert tokens_of == slow_sources(folder, sources)


def test_of_a_large_source_some_documents_are_taken_whole(tmp_path):
    folder = made(tmp_path / "x", [5] * 400, ["big"] * 390 + ["small"] * 10, per_shard=400)
    by_name = {source.name: source for source in read_sources([str(folder)], 500)}
    assert len(by_name["small"].tokens) == 50 and 350 < len(by_name["big"].tokens) < 650
    starts = by_name["big"].tokens[by_name["big"].first]
    assert (starts % 5 == 0).all() and len(starts) * 5 == len(by_name["big"].tokens)
    again = {source.name: source for source in read_sources([str(folder)], 500, seed=1)}
    assert by_name["big"].tokens.tolist() != again["big"].tokens.tolist()


def test_the_same_source_in_two_folders_is_one_and_a_folder_can_be_named(tmp_path):
    one, two = made(tmp_path / "x", [4, 4], ["a", "b"]), made(tmp_path / "y", [6], ["a"])
    assert {s.name: len(s.tokens) for s in read_sources([str(one), str(two)], 100)} == {"a": 10, "b": 4}
    assert {s.name: len(s.tokens) for s in read_sources([str(one), f"b={two}"], 100)} == {"a": 4, "b": 10}


def test_ambiguous_sources_are_refused(tmp_path):
    units = [UnitTokens(np.arange(4).astype(np.uint16), np.array([4]))]
    write_folder(tmp_path / "x", plan_shards([units[0].lengths], "concat", 8, 24), units, load("gpt2"))
    with pytest.raises(ShardError, match=r"without tables of documents.*NAME="):
        read_sources([str(tmp_path / "x")], 100)
    assert [s.name for s in read_sources([f"all={tmp_path / 'x'}"], 100)] == ["all"]
    with pytest.raises(InputError, match="given twice"):
        read_sources([f"a={tmp_path / 'x'}", f"b={tmp_path / 'x'}"], 100)
