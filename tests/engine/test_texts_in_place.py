"""A last pass that changes no text leaves texts where they are: everything is as if it had written them again."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from corpusmill.engine.plan import lower
from corpusmill.engine.work.pass_documents import ROW, read_documents
from corpusmill.execute.serial import Serial
from corpusmill.export import export
from corpusmill.recipe.model import Recipe
from corpusmill.report import samples
from corpusmill.report.tables import RunTables
from corpusmill.report.views import sql
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.tables import TableWriter
from corpusmill.store.unit_io import Upstream

WORDS = "river stone winter garden the letter window market of silver morning captain forest bridge".split()
STEPS = {
    "nothing else": "  - dedup/exact\n  - dedup/minhash\n",
    "a filter after it": "  - dedup/exact\n  - filter/gopher_quality: {min_words: 20}\n",
    "a source alone": "  - dedup/exact: {only: [odd]}\n",
    "a mix": "  - dedup/exact\n  - mix/sources: {weights: {even: 2, odd: 1}}\n",
}


def documents(folder: Path) -> None:
    random = Random(7)
    texts = [" ".join(random.choices(WORDS, k=random.randrange(2, 90))) for _ in range(300)]
    texts += [f"<p>{text}</p>    and\u00a0 spaces" for text in texts[:40]] + texts[:90] + ["", "\ufffd broken"]
    random.shuffle(texts)
    for name, part in (("even", texts[::2]), ("odd", texts[1::2])):
        lines = [json.dumps({"text": text, "page": number}) for number, text in enumerate(part)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def run(folder: Path, name: str, steps: str) -> RunTables:
    recipe = Recipe.parse(
        f"name: made\nread:\n"
        f"  - jsonl: {{paths: {folder}/even.jsonl, source: even}}\n  - jsonl: {{paths: {folder}/odd.jsonl, source: odd}}\n"
        f"steps:\n  - clean/normalize\n{steps}"
        f"  - tokenize/bpe: {{tokenizer: gpt2}}\n  - pack/concat: {{length: 64}}\n"
        f"write:\n  - jsonl\n  - parquet\n  - shards\n"
    )
    return RunTables(corpusmill.run(recipe, folder=folder / name, executor=Serial()).place)


def outputs(tables: RunTables) -> dict[str, bytes]:
    folder = Path(tables.folder) / "output"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_time(page: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in page.items() if "seconds" not in name}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_everything_is_as_if_texts_were_written_again(tmp_path, monkeypatch, steps):
    documents(tmp_path)
    here = run(tmp_path, "here", steps)
    monkeypatch.setattr(lower, "_texts_in_place", lambda passes: False)
    copied = run(tmp_path, "copied", steps)
    last = len(here.passes) - 1
    assert last == 1
    assert "text" not in pq.read_schema(here.files.paths("docs", last)[0]).names
    assert "text" in pq.read_schema(copied.files.paths("docs", last)[0]).names
    assert outputs(here) == outputs(copied)
    assert here.files.waterfall() == copied.files.waterfall()
    one, other = ({stage: tables.files.facts(stage) for stage, _ in tables.passes} for tables in (here, copied))
    for key in ("steps", "reasons", "texts"):  # HTML is looked for in the texts that a pass writes
        assert {k: v for stage in one.values() for k, v in stage.get(key, {}).items()} == {
            k: v for stage in other.values() for k, v in stage.get(key, {}).items()
        }
    assert samples.kept_documents(here, 20) == samples.kept_documents(copied, 20)
    assert samples.dropped_documents(here, None, 400) == samples.dropped_documents(copied, None, 400)
    query = "SELECT id, text FROM texts ORDER BY id, text"
    assert sql(here, query) == sql(copied, query)
    for tables, name in ((here, "1"), (copied, "2")):
        export(Path(tables.folder), "jsonl", tmp_path / name)
    assert {p.name: p.read_bytes() for p in (tmp_path / "1").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "2").iterdir()
    }


def test_a_pass_that_changes_texts_writes_them(tmp_path):
    documents(tmp_path)
    tables = run(tmp_path, "run", "  - dedup/exact\n  - redact/pii\n")
    assert "text" in pq.read_schema(tables.files.paths("docs", 1)[0]).names


@settings(max_examples=40)
@given(st.lists(st.booleans(), max_size=60), st.integers(1, 9), st.integers(1, 9), st.data())
def test_read_documents(tmp_path_factory, kept, group, rows, data):
    """Its slow twin takes the rows one by one."""
    folder = tmp_path_factory.mktemp("made")
    texts = pa.record_batch({"text": [f"text {n}" for n in range(len(kept))], "id": [str(n) for n in range(len(kept))]})
    at = [n for n, keep in enumerate(kept) if keep]
    docs = pa.record_batch({"id": pa.array([str(n) for n in at], pa.string()), ROW: pa.array(at, pa.int64())})
    for name, table in (("texts", texts), ("docs", docs)):
        with TableWriter(folder / name, table.schema, rows=group) as writer:
            writer.write(table)
    count = pq.ParquetFile(folder / "docs").metadata.num_row_groups
    first = data.draw(st.integers(0, count))
    stop = data.draw(st.integers(first, count))
    files = Upstream(RunFolder(str(folder)))
    read = read_documents(files, "docs", "texts", ["text", "id"], rows, range(first, stop))
    assert [tuple(row.values()) for batch in read for row in batch.to_pylist()] == [
        (f"text {n}", str(n)) for n in at[first * group : stop * group]
    ]
