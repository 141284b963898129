"""Which columns are written under which names, and what comes back of odd values."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.write import JsonlWriter, ParquetWriter


def measured(*texts: str, **columns):
    made = docs(*texts, **columns)
    for name, values in (
        ("a.count", range(len(texts))),
        ("a.share", [0.5] * len(texts)),
        ("b.label", ["é"] * len(texts)),
    ):
        made = made.append_column(name, pa.array(values))
    return made


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def written(tmp_path, batch, **settings):
    JsonlWriter(compression="none", **settings).write([batch], tmp_path / "a")
    ParquetWriter(**settings).write([batch], tmp_path / "b")
    return lines(tmp_path / "a"), pq.read_table(tmp_path / "b").to_pylist()


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (["text"], ["text"]),
        (["url", "text", "id"], ["url", "text", "id"]),
        (["a.*"], ["a.count", "a.share"]),
        (["b.label", "a.count", "text"], ["b.label", "a.count", "text"]),
        (["*.*", "id"], ["a.count", "a.share", "b.label", "id"]),
        ({"text": "content"}, ["content"]),
        ({"a.count": "n", "text": "text"}, ["n", "text"]),
        ([["text", "content"], ["id", "key"]], ["content", "key"]),
    ],
)
def test_both_formats_write_the_columns_asked_for_in_order(tmp_path, columns, names):
    batch = measured("one", "two")
    json_rows, table_rows = written(tmp_path, batch, columns=columns)
    assert [list(row) for row in json_rows] == [names] * 2 == [list(row) for row in table_rows]
    assert json_rows == table_rows


def test_the_defaults_are_the_document_and_all_signals_in_one(tmp_path):
    batch = measured("one", metadata=['{"k": [1]}'])
    json_rows, table_rows = written(tmp_path, batch, signals=["a.*", "b.none"])
    assert list(table_rows[0]) == ["id", "text", "source", "url", "date", "metadata", "signals"]
    assert sorted(json_rows[0]) == sorted(table_rows[0])
    assert json_rows[0]["signals"] == table_rows[0]["signals"] == {"a.count": 0, "a.share": 0.5}
    assert json_rows[0]["metadata"] == {"k": [1]} == json.loads(table_rows[0]["metadata"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["txt"], r'there is no column "txt"; did you mean "text"\? There are: id, text, source'),
        (["tokens"], 'there is no column "tokens"; it is called "token_count"'),
        ({"text": ""}, "columns: the name for text is empty"),
        ({"text": "x", "url": "x"}, 'columns: two columns would be named "x"'),
        (["id", "id"], 'columns: two columns would be named "id"'),
        ({"a.*": "x"}, r'columns: several signals may fit "a\.\*", and they cannot all be named "x"'),
        ([], "columns is empty; name those to write, or leave it out"),
        (["signals"], r"columns has \"signals\", and no signals are chosen; add signals: \[step\.\*\]"),
    ],
)
@pytest.mark.parametrize("cls", [JsonlWriter, ParquetWriter])
def test_columns_that_cannot_be_are_refused_with_what_there_is(cls, columns, message):
    with pytest.raises(RecipeError, match=message):
        cls(columns=columns)


def test_a_column_that_no_document_has_is_an_error_when_it_is_written(tmp_path):
    with pytest.raises(RecipeError, match="the documents have no column copies"):
        JsonlWriter(columns=("copies",)).write([docs("a")], tmp_path / "a")


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=30), min_size=1, max_size=5),
    per_group=st.integers(1, 3),
)
def test_every_text_comes_back_from_both_formats(tmp_path_factory, texts, per_group):
    folder = tmp_path_factory.mktemp("texts")
    batch = docs(*texts)
    JsonlWriter(compression="none").write([batch], folder / "a")
    ParquetWriter(rows_per_group=per_group).write([batch], folder / "b")
    assert (folder / "a").read_bytes().count(b"\n") == len(texts)  # U+2028 and the like end no line
    assert [json.loads(line)["text"] for line in (folder / "a").read_bytes().split(b"\n")[:-1]] == texts
    assert pq.read_table(folder / "b")["text"].to_pylist() == texts


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    )
)
def test_metadata_comes_back_as_it_was(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("metadata")
    JsonlWriter(compression="none").write([docs("a", metadata=[json.dumps({"k": value})])], folder / "a")
    assert lines(folder / "a")[0]["metadata"] == {"k": value}


def test_no_documents_make_a_file_that_can_be_read(tmp_path):
    empty = docs("a").slice(0, 0)
    for compression in ("none", "gz", "zst"):
        assert JsonlWriter(compression=compression).write([empty], tmp_path / compression).rows == 0
    assert (tmp_path / "none").read_bytes() == b""
    assert ParquetWriter(columns=("text",)).write([empty], tmp_path / "table").rows == 0
    assert pq.read_table(tmp_path / "table").column_names == ["text"]


def test_a_file_is_replaced_and_its_size_is_told(tmp_path):
    for texts in (["a" * 1000], ["b"]):
        facts = JsonlWriter(compression="none").write([docs(*texts)], tmp_path / "a")
        assert facts.bytes == (tmp_path / "a").stat().st_size and facts.rows == 1
    assert lines(tmp_path / "a")[0]["text"] == "b"
