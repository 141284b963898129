"""What writers make of a whole run: signals of every pass, streams without rows, names, and rows for a training loop."""

import json
import shutil
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill import Recipe, loader, run
from corpusmill.engine.work.signals import signals_of_kept
from corpusmill.errors import InputError, RecipeError, ShardError
from corpusmill.execute.serial import Serial
from corpusmill.export import export
from corpusmill.loader import TokenLoader
from corpusmill.models.tokenizer import load
from corpusmill.ops.checks import check
from corpusmill.ops.verify import verify_folder
from corpusmill.report.tables import RunTables
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.unit_io import Upstream
from made_run import prose

STEPS = """
name: written
read: [jsonl: {folder}/*.jsonl]
steps:
  - filter/basic: {{min_words: 10, max_repeat_ratio: null, max_special_char_ratio: null}}
  - dedup/exact
  - test_written:FailsOn
  - annotate/script
  - tokenize/bpe
"""
RECIPE = (
    STEPS
    + """
write:
  - shards: {{tokens_per_shard: 700, name: "train_{{:05d}}"}}
  - tokenized: {{name: all.parquet, single_file: true, keep_text: true, signals: [basic.*]}}
  - tokenized: {{format: jsonl, max_length: 50, windows: true, overlap: 10}}
  - jsonl: {{single_file: true, compression: none, name: cleaned, signals: ["script.*", basic.words]}}
  - parquet: {{columns: {{id: doc_id, text: content, basic.words: words, token_count: tokens}}}}
"""
)


@dataclass(frozen=True, kw_only=True)
class FailsOn:
    """Fails on documents with a word in it, so that a later pass has fewer documents than the one before kept."""

    word: str = "wagon kitchen"

    def signals(self, docs):
        if any(self.word in text for text in docs["text"].to_pylist()):
            raise ValueError("as it should")
        return {"length": pa.array([len(text) for text in docs["text"].to_pylist()], pa.int32())}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("written"), Random(8)
    for name in "ab":
        texts = [prose(random, random.choice([4, 20, 60, 300])) for _ in range(30)]
        texts[7] += " wagon kitchen."
        texts[12] = texts[3]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return folder


@pytest.fixture(scope="module")
def done(corpus):
    recipe = Recipe.parse(RECIPE.format(folder=corpus) + "run: {error_budget: 5}\n")
    return run(recipe, folder=corpus / "run", executor=Serial())


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def reference(texts):
    """Ids of each text with EOS, by the reference tokenizer."""
    tokenizer = load("gpt2", engine="tokenizers")
    return [tokenizer.encode_documents(pa.array([text], pa.large_string()))[0].tolist() for text in texts]


def test_signals_are_those_of_the_document_whatever_fell_out_between(done):
    documents = lines(done.output / "jsonl" / "cleaned.jsonl")
    assert len(documents) == done.waterfall.documents_out
    assert done.waterfall.rows[2].failed == 2, "one document of each file"
    for document in documents:
        assert document["signals"]["basic.words"] == len(document["text"].split())
    assert {name.partition(".")[0] for name in documents[0]["signals"]} == {"basic", "script"}
    table = pq.read_table(done.output / "parquet" / "00000.parquet")
    assert table.column_names == ["doc_id", "content", "words", "tokens"]
    assert table["words"].to_pylist() == [document["signals"]["basic.words"] for document in documents]
    assert table["content"].to_pylist() == [document["text"] for document in documents]


def test_documents_are_written_with_the_ids_of_the_reference(done):
    table = pq.read_table(done.output / "tokenized" / "all.parquet")
    want = reference(table["text"].to_pylist())
    assert table["input_ids"].to_pylist() == want
    assert table["token_count"].to_pylist() == [len(ids) for ids in want]
    windows = [row for path in sorted((done.output / "tokenized_2").glob("*.jsonl")) for row in lines(path)]
    by_id = dict(zip(table["id"].to_pylist(), want))
    for row in windows:
        assert row["input_ids"] == by_id[row["id"]][row["offset"] : row["offset"] + 50]
    assert max(row["token_count"] for row in windows) == 50


def test_a_stream_is_cut_at_exactly_so_many_tokens(done):
    texts = [document["text"] for document in lines(done.output / "jsonl" / "cleaned.jsonl")]
    stream = [token for ids in reference(texts) for token in ids]
    files = sorted((done.output / "shards").glob("*.bin"))
    assert [path.name for path in files][:2] == ["train_00000.bin", "train_00001.bin"]
    found = [np.memmap(path, np.uint16, "r").tolist() for path in files]
    assert [len(part) for part in found[:-1]] == [700] * (len(found) - 1) and 0 < len(found[-1]) <= 700
    assert [token for part in found for token in part] == stream
    with pytest.raises(ShardError, match="rows have no length"):
        loader.open(done.shards).batch(step=0, batch_size=1)
    with pytest.raises(ShardError, match="seq_len=2048"):
        TokenLoader(done.shards)
    batch = loader.open(done.shards, seq_len=64).batch(step=1, batch_size=4)
    assert batch["tokens"].ravel().tolist() == stream[256:512]
    assert len(TokenLoader(done.shards, seq_len=64, batch_size=2, epochs=1, drop_last=False)) == -(-len(stream) // 128)
    place = loader.open(done.shards, seq_len=64).shards.document_at(700)
    assert place.shard == 1 and place.row is None


def test_the_stream_is_exported_to_formats_without_rows(done, tmp_path):
    made = export(done.folder, "nanogpt", tmp_path / "nanogpt", val_fraction=0.0)
    shards = sorted((done.output / "shards").glob("*.bin"))
    assert (made.folder / "train.bin").read_bytes() == b"".join(path.read_bytes() for path in shards)
    with pytest.raises(InputError, match="without rows, and this format has rows"):
        export(done.folder, "parquet_tokens", tmp_path / "rows")


def test_an_export_is_what_the_run_wrote(done, tmp_path):
    how: Any = {"name": "all", "single_file": True, "keep_text": True, "signals": ["basic.*"]}
    made = export(done.folder, "tokenized", tmp_path / "tokenized", **how)
    assert (made.folder / "all.parquet").read_bytes() == (done.output / "tokenized" / "all.parquet").read_bytes()
    with pytest.raises(RecipeError, match=r'no step makes the signal "basic\.word"; did you mean "basic\.words"'):
        export(done.folder, "jsonl", tmp_path / "jsonl", signals=["basic.word"])


def test_everything_is_read_back(done, tmp_path):
    formats = {found.folder.name: (found.format, found.problems) for found in done.checked}
    assert formats == {
        "shards": ("shards", ()),
        "tokenized": ("parquet", ()),
        "tokenized_2": ("jsonl", ()),
        "jsonl": ("jsonl", ()),
        "parquet": ("parquet", ()),
    }
    for name in ("tokenized", "tokenized_2"):
        shutil.copytree(done.output / name, tmp_path / name)
        (tmp_path / name / ".SHA256SUMS").unlink()
    table = pq.read_table(tmp_path / "tokenized" / "all.parquet")
    at = table.column_names.index("token_count")
    table = table.set_column(at, "token_count", pa.array([1, *table["token_count"].to_pylist()[1:]]))
    pq.write_table(table, tmp_path / "tokenized" / "all.parquet")
    assert "its token_count says 1" in verify_folder(tmp_path / "tokenized").problems[1]
    path = tmp_path / "tokenized_2" / "00000.jsonl"
    path.write_text(path.read_text().replace('"token_count":50', '"token_count":51', 1))
    assert "its token_count says 51" in verify_folder(tmp_path / "tokenized_2").problems[1]
    path.write_text('{"torn":')
    assert "cannot be read" in verify_folder(tmp_path / "tokenized_2").problems[1]


def test_the_report_says_what_was_written(done):
    from corpusmill.report.page.packing import section

    written = done.waterfall.written
    assert written["shards"]["documents"] == done.waterfall.documents_out == written["tokenized"]["rows"]
    assert written["tokenized_2"]["rows"] > written["tokenized_2"]["documents"]
    assert not done.waterfall.packed
    assert "written without packing" in "".join(map(str, section(RunTables(done.folder))))


def test_a_new_name_or_column_repeats_the_writing_alone(done, corpus, tmp_path):
    shutil.copytree(done.folder, tmp_path / "run")
    text = RECIPE.format(folder=corpus).replace("name: cleaned", "name: clean").replace("text: content", "text: body")
    again = run(Recipe.parse(text + "run: {error_budget: 5}\n"), folder=tmp_path / "run", executor=Serial())
    assert {stage for stage, counts in again.units.items() if counts.done_now} == {"jsonl", "parquet"}
    assert [path.name for path in (again.output / "jsonl").glob("*.jsonl")] == ["clean.jsonl"]


def test_an_unknown_signal_is_found_before_anything_runs(corpus, tmp_path):
    text = STEPS.format(folder=corpus) + "write:\n  - jsonl: {signals: [PATTERNS]}\n"
    with pytest.raises(
        RecipeError, match=r'jsonl: no step makes the signal "basic\.wrds"; did you mean "basic\.words"'
    ):
        check(Recipe.parse(text.replace("PATTERNS", "basic.wrds")))
    with pytest.raises(RecipeError, match="there is no mix/sources"):
        check(Recipe.parse(STEPS.format(folder=corpus) + "write:\n  - jsonl: {columns: [id, copies]}\n"))
    check(Recipe.parse(text.replace("PATTERNS", "script.*, exact.duplicate_of")))


def test_documents_with_one_address_are_not_confused(tmp_path):
    about = {"source": ["a"] * 4, "file": ["f"] * 4, "position": [0, 0, 5, 7]}
    first = pa.table({**about, "dropped_by": pa.array([None] * 4, pa.string()), "one.x": [1, 2, 3, 4]})
    pq.write_table(first, tmp_path / "1.parquet")
    later = first.take(pa.array([0, 1, 3])).drop_columns(["one.x"]).append_column("two.y", pa.array([10, 20, 40]))
    later = later.set_column(3, "dropped_by", pa.array([None, None, None], pa.string()))
    pq.write_table(later, tmp_path / "2.parquet")
    found = signals_of_kept(["1.parquet", "2.parquet"], ["*"], Upstream(RunFolder(str(tmp_path))))
    assert found.to_pydict() == {"one.x": [1, 2, 4], "two.y": [10, 20, 40]}


ROWS = """
  - pack/{packing}
write:
  - shards
  - parquet_tokens: {{columns: [input_ids, labels, attention_mask, position_ids], single_file: true, name: train}}
"""


@pytest.mark.parametrize("packing", ["concat: {length: 64}", "best_fit: {length: 64}"])
def test_rows_for_a_training_loop_have_one_length(corpus, tmp_path, packing):
    text = STEPS.format(folder=corpus) + ROWS.format(packing=packing) + "run: {error_budget: 5}\n"
    done = run(Recipe.parse(text), folder=tmp_path / "run", executor=Serial())
    table = pq.read_table(done.output / "parquet_tokens" / "train.parquet")
    rows = loader.open(done.shards).batch(0, 10_000)
    assert table["input_ids"].type.list_size == 64 and len(table) == len(rows["tokens"])
    padding = rows["doc_ids"] == -1
    assert np.array_equal(table["input_ids"].to_pylist(), rows["tokens"])
    assert np.array_equal(table["labels"].to_pylist(), np.where(padding, -100, rows["tokens"]))
    assert np.array_equal(table["attention_mask"].to_pylist(), ~padding)
    assert np.array_equal(np.array(table["position_ids"].to_pylist())[~padding], rows["position_ids"][~padding])
    assert padding.any()
    how: Any = {
        "columns": ["input_ids", "labels", "attention_mask", "position_ids"],
        "single_file": True,
        "name": "train",
    }
    made = export(done.folder, "parquet_tokens", tmp_path / "out", **how)
    assert (made.folder / "train.parquet").read_bytes() == (
        done.output / "parquet_tokens" / "train.parquet"
    ).read_bytes()
    labels = table["labels"].to_pylist()
    labels[1][5] += 1
    damaged = table.set_column(1, "labels", pa.array(labels, table["labels"].type))
    (made.folder / ".SHA256SUMS").unlink()
    pq.write_table(damaged, made.folder / "train.parquet")
    assert "row 1 has a label that is neither" in verify_folder(made.folder).problems[1]


def test_full_rows_and_a_short_last_row_are_a_conflict(corpus):
    text = STEPS.format(folder=corpus) + ROWS.format(packing="concat: {length: 64, remainder: keep}")
    with pytest.raises(RecipeError, match="remainder: keep leaves a short last row"):
        check(Recipe.parse(text))
