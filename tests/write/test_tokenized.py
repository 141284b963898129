"""Documents with their token ids: bounds, windows, and the columns and names that a user asks for."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.recipe.model import Recipe
from corpusmill.write import file_name, find
from corpusmill.write._names import stem
from corpusmill.write.tokenized import cut_into_windows

EOS = 9
# By their names, as a recipe has them: Python's lists and dicts will do where they are annotated as tuples.
Jsonl, Parquet, ParquetTokens, Shards, Tokenized = map(
    find, ("jsonl", "parquet", "parquet_tokens", "shards", "tokenized")
)


def batch(tokens):
    """Documents with these ids, EOS at the end of each, and two signals."""
    made = docs(*(f"text {i}" for i in range(len(tokens))))
    ids = pa.array([[*some, EOS] for some in tokens], pa.list_(pa.uint16()))
    made = made.append_column("input_ids", ids)
    made = made.append_column("language.label", pa.array(["en"] * len(tokens), pa.string()))
    return made.append_column("language.score", pa.array([0.5] * len(tokens), pa.float32()))


def slow_rows(tokens, writer):
    """What the docstring of Tokenized says, read aloud: (document, offset, ids) of each row."""
    for number, some in enumerate(tokens):
        ids = [*some, EOS] if writer.eos else list(some)
        if writer.max_document_tokens and len(ids) > writer.max_document_tokens:
            if writer.too_long == "empty":
                yield number, 0, []
            continue
        if not writer.windows:
            yield number, 0, ids[: writer.max_length]
            continue
        at = 0
        while True:
            yield number, at, ids[at : at + writer.max_length]
            if at + writer.max_length >= len(ids):
                break
            at += writer.max_length - writer.overlap


@given(
    tokens=st.lists(st.lists(st.integers(0, 8), max_size=12), max_size=8),
    cut=st.integers(0, 8),
    max_length=st.none() | st.integers(1, 6),
    overlap=st.integers(0, 5),
    windows=st.booleans(),
    most=st.none() | st.integers(1, 10),
    too_long=st.sampled_from(["empty", "drop"]),
    eos=st.booleans(),
)
def test_rows_are_those_of_the_definition(
    tmp_path_factory, tokens, cut, max_length, overlap, windows, most, too_long, eos
):
    windows = windows and max_length is not None
    how = {"max_length": max_length, "windows": windows, "overlap": min(overlap, max_length - 1) if windows else 0}
    how |= {"max_document_tokens": most, "too_long": too_long, "eos": eos}
    folder = tmp_path_factory.mktemp("tokenized")
    documents = batch(tokens)
    parts = [documents.slice(0, cut), documents.slice(cut)]
    writer = Tokenized(**how)
    facts = writer.write(parts, folder / "a.parquet")
    ids = documents["id"].to_pylist()
    want = [(ids[number], offset, row) for number, offset, row in slow_rows(tokens, writer)]
    found = pq.read_table(folder / "a.parquet").to_pylist()
    assert [(row["id"], row.get("offset", 0), row["input_ids"]) for row in found] == want
    assert [row["token_count"] for row in found] == [len(row) for _, _, row in want]
    assert facts.rows == len(want) and facts.counts["tokens"] == sum(len(row) for _, _, row in want)
    Tokenized(format="jsonl", **how).write(parts, folder / "a.jsonl")
    lines = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    assert [(row["id"], row.get("offset", 0), row["input_ids"]) for row in lines] == want
    writer.write([documents], folder / "whole.parquet")
    assert (folder / "whole.parquet").read_bytes() == (folder / "a.parquet").read_bytes()


def test_what_is_left_out_is_counted(tmp_path):
    how = {"max_length": 3, "max_document_tokens": 5, "too_long": "drop"}
    counts = Tokenized(**how).write([batch([[1], [1, 2, 3, 4], [1] * 9])], tmp_path / "a").counts
    assert counts == {
        "documents": 2,
        "tokens": 5,
        "shortened_documents": 1,
        "left_out_tokens": 2,
        "too_long_documents": 1,
        "too_long_tokens": 10,
    }


def test_a_document_of_exactly_the_window_is_one_row():
    windows = cut_into_windows(np.array([4, 5, 0]), 4, 1)
    assert [column.tolist() for column in windows] == [[0, 1, 1, 2], [0, 0, 3, 0], [4, 4, 2, 0]]


@pytest.mark.parametrize("compression", ["zstd", "snappy"])
def test_parquet_is_compressed_as_asked_and_typed(tmp_path, compression):
    Tokenized(compression=compression, keep_text=True).write([batch([[1, 2]])], tmp_path / "a")
    file = pq.ParquetFile(tmp_path / "a")
    assert file.metadata.row_group(0).column(0).compression == compression.upper()
    names = ["id", "input_ids", "token_count", "source", "url", "date", "text"]
    assert file.schema_arrow.names == names
    assert file.schema_arrow.field("input_ids").type == pa.list_(pa.field("element", pa.uint16()))


# ------------------------------------------------------------------- columns and signals


def test_columns_are_chosen_ordered_and_renamed(tmp_path):
    documents = batch([[1], [2]])
    Parquet(columns={"text": "content", "language.score": "score", "id": "doc_id"}).write([documents], tmp_path / "a")
    table = pq.read_table(tmp_path / "a")
    assert table.column_names == ["content", "score", "doc_id"] and table["score"].type == pa.float32()
    assert table["content"].to_pylist() == ["text 0", "text 1"]
    Jsonl(compression="none", columns=["url", "language.*", "id"]).write([documents], tmp_path / "b")
    assert list(json.loads((tmp_path / "b").read_text().splitlines()[0])) == [
        "url",
        "language.label",
        "language.score",
        "id",
    ]


def test_signals_are_one_object_or_one_struct(tmp_path):
    documents = batch([[1]])
    Jsonl(compression="none", signals=["language.s*"]).write([documents], tmp_path / "a")
    assert json.loads((tmp_path / "a").read_text())["signals"] == {"language.score": 0.5}
    Parquet(signals=["*"]).write([documents], tmp_path / "b")
    assert pq.read_table(tmp_path / "b")["signals"].type == pa.struct(
        [("language.label", pa.string()), ("language.score", pa.float32())]
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Jsonl(columns=["txt"]), 'no column "txt"; did you mean "text"'),
        (lambda: Jsonl(columns={"text": "a", "id": "a"}), 'two columns would be named "a"'),
        (lambda: Jsonl(columns=["signals"]), "no signals are chosen"),
        (lambda: Jsonl(columns=["id"], signals=["a.*"]), 'leaves out "signals"'),
        (lambda: Jsonl(columns={"a.*": "b"}), 'cannot all be named "b"'),
        (lambda: Jsonl(signals=["language"]), "language.*"),
        (lambda: Jsonl(columns=[]), "columns is empty"),
        (lambda: Jsonl(name="a.jsonl", single_file=True), r"the files end in \.jsonl\.zst"),
        (lambda: Jsonl(name="a"), r'"a_{:05d}" for a_00000'),
        (lambda: Parquet(name="a/b", single_file=True), "no folder"),
        (lambda: Shards(name="{:05d}_{}"), "one place for the number"),
        (lambda: Tokenized(compression="gz"), "parquet can be compressed with zstd, snappy, none"),
        (lambda: Tokenized(windows=True), "windows need max_length"),
        (lambda: Tokenized(overlap=3, max_length=9), "add windows: true"),
        (lambda: Tokenized(overlap=9, windows=True, max_length=9), "0 <= overlap < max_length"),
        (lambda: Tokenized(windows=True, max_length=9, keep_text=True), "once for each"),
        (lambda: Tokenized(columns=["id"], keep_text=True), "name text in columns"),
        (lambda: Tokenized(columns=["offset"]), "offset is of windows"),
        (lambda: ParquetTokens(columns=["input_id"]), 'did you mean "input_ids"'),
        (lambda: ParquetTokens(columns=["labels", "labels"]), "each column once"),
        (lambda: ParquetTokens(columns=["labels"], position_ids=True), "columns leaves it out"),
    ],
)
def test_what_cannot_be_written_is_refused_when_the_writer_is_made(make, message):
    with pytest.raises(RecipeError, match=message):
        make()


def test_names_may_have_the_ending_of_the_files():
    assert file_name(Shards(name="train_{:05d}.bin"), 3, ".idx") == "train_00003.idx"
    assert file_name(Parquet(name="all.parquet", single_file=True), 0, ".parquet") == "all.parquet"
    assert stem(None, ".bin", False) is None and file_name(Shards(), 3, ".bin") == "00003.bin"


@pytest.mark.parametrize("columns", ["[id, text, language.label]", "{text: content, id: doc_id}"])
def test_columns_survive_a_recipe(columns):
    text = f"read: [jsonl: x]\nwrite:\n  - jsonl: {{columns: {columns}}}\n"
    recipe = Recipe.parse(text)
    assert Recipe.parse(recipe.dump()) == recipe
    assert recipe.fingerprint() != Recipe.parse(text.replace("text", "url")).fingerprint()
