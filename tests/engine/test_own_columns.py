"""Columns of the input survive in their types beside what steps add: `columns: keep`."""

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corpusmill
from corpusmill.engine.plan import inputs, own_columns
from corpusmill.engine.work import sources
from corpusmill.errors import InputError, RecipeError
from corpusmill.export.texts import write_texts
from corpusmill.read import ReadCounts
from corpusmill.read.parquet import ParquetReader
from corpusmill.recipe.rows import Rows
from corpusmill.report.run_files import RunFiles
from corpusmill.storage import stat
from corpusmill.write.parquet import ParquetWriter

DATA = Path(__file__).parents[1] / "data"
WORDS = "river stone winter garden the letter window market of silver morning that captain forest bridge".split()
QUESTION = json.loads((DATA / "benchmark.jsonl").read_text().splitlines()[0])
COUNT = 60
COPY, NEAR, ASKED = 20, 21, 22  # rows that steps drop
LEFT = [row for row in range(COUNT) if row not in (COPY, NEAR, ASKED)]


def prose(seed: int, words: int = 60) -> str:
    random = Random(seed)
    return " ".join(random.choice(WORDS) for _ in range(words)) + "."


def table() -> pa.Table:
    texts = [f"{prose(row)} Write to ann{row}@made.org." for row in range(COUNT)]
    texts[COPY] = texts[3]
    texts[NEAR] = texts[4].replace("Write", "Please write")
    texts[ASKED] = f"{prose(99)} {QUESTION['question']}"
    rows = range(COUNT)
    return pa.table(
        {
            "doc_id": pa.array(rows, pa.int64()),
            "content": texts,
            "attrs": pa.array([[("k", row), ("v", 2)] for row in rows], pa.map_(pa.string(), pa.int32())),
            "meta": [{"a": row, "b": [row, None], "c": {"d": "x"}} if row % 7 else None for row in rows],
            "tags": [["x", "y"][: row % 3] for row in rows],
            "score": pa.array([row / 3 for row in rows], pa.float32()),
            "when": pa.array(
                [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=row) for row in rows], pa.timestamp("us", "UTC")
            ),
            "ok": [row % 2 == 0 if row % 5 else None for row in rows],
            "blob": [bytes([row, 255]) for row in rows],
            "price": [Decimal(row) / 100 for row in rows],
            "a[0].*?": [f"odd {row}" for row in rows],
        }
    )


STEPS = f"""
  - decontaminate/ngrams: {{benchmarks: [{DATA / "benchmark.jsonl"}]}}
  - dedup/exact
  - dedup/minhash: {{threshold: 0.6}}
  - redact/pii
"""


def recipe(read: str, folder: Path, steps: str = "", write: str = "[parquet]", run: str = "executor: serial") -> str:
    steps = f"steps:\n{steps}" if steps else ""
    return f"name: own\nread:\n  - {read}\n{steps}\nwrite: {write}\nrun: {{folder: {folder}/run, {run}}}\n"


def carried_out(text: str, **settings: Any) -> corpusmill.Run:
    return corpusmill.run(corpusmill.Recipe.parse(text, "own.yaml"), **settings)


def output(run: corpusmill.Run, writer: str = "parquet") -> pa.Table:
    return pq.read_table(run.output / writer)


def digest(run: corpusmill.Run) -> dict[str, str]:
    files = sorted(path for path in run.output.rglob("*") if path.is_file())
    return {str(path.relative_to(run.output)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def save(folder: Path, data: pa.Table | None = None) -> Path:
    data = table() if data is None else data
    pq.write_table(data.slice(0, 35), folder / "a.parquet", row_group_size=8)
    pq.write_table(data.slice(35), folder / "b.parquet")
    return folder


def whole(folder: Path, **settings: Any) -> corpusmill.Run:
    write = '[{parquet: {signals: ["pii.*"]}}, {jsonl: {compression: none}}]'
    return carried_out(
        recipe(f"parquet: {{paths: {folder}/*.parquet, columns: keep}}", folder, STEPS, write), **settings
    )


def test_a_recipe_of_dedup_personal_data_and_decontamination_keeps_all_columns(tmp_path):
    save(tmp_path)
    run, given = whole(tmp_path), table().take(LEFT)
    written = output(run)
    assert written.schema.names == [*given.schema.names, "id", "source", "signals"]
    assert [written.schema.field(name).type for name in given.schema.names if name != "content"] == [
        field.type for field in given.schema if field.name != "content"
    ]
    for name in given.schema.names:
        if name != "content":
            assert written[name].to_pylist() == given[name].to_pylist(), name
    texts = [text.replace(f"ann{row}@made.org", "<EMAIL>") for row, text in zip(LEFT, given["content"].to_pylist())]
    assert written["content"].to_pylist() == texts
    assert [signals["pii.emails"] for signals in written["signals"].to_pylist()] == [1] * len(LEFT)

    lines = [orjson.loads(line) for line in (run.output / "jsonl/00000.jsonl").read_bytes().splitlines()]
    assert list(lines[1]) == [*given.schema.names, "id", "source"]
    assert {name: lines[1][name] for name in lines[1] if name not in ("content", "id", "source")} == {
        "doc_id": 1,
        "attrs": [["k", 1], ["v", 2]],
        "meta": {"a": 1, "b": [1, None], "c": {"d": "x"}},
        "tags": ["x"],
        "score": given["score"][1].as_py(),
        "when": "2024-01-01T01:00:00+00:00",
        "ok": False,
        "blob": base64.b64encode(b"\x01\xff").decode(),
        "price": "0.01",
        "a[0].*?": "odd 1",
    }

    in_memory = run.to_arrow()
    ours = ["id", "source", "file", "position", "tokens"]
    assert in_memory.schema.names == [*given.schema.names, *ours]
    assert in_memory.drop_columns(["content", *ours]).to_pylist() == given.drop_columns(["content"]).to_pylist()
    assert str(in_memory.schema.field("attrs").type) == "map<string, int32>"
    assert [document.text for document in run.documents()] == texts
    assert run.sql('select "columns.doc_id", dropped_by from documents where not kept order by 1').to_pylist() == [
        {"columns.doc_id": COPY, "dropped_by": "exact"},
        {"columns.doc_id": NEAR, "dropped_by": "minhash"},
        {"columns.doc_id": ASKED, "dropped_by": "ngrams"},
    ]

    exported = tmp_path / "exported"
    exported.mkdir()
    write_texts(Path(run.place), ParquetWriter(), exported, lambda done, total: None)
    assert pq.read_table(exported).drop_columns(["id", "source"]).equals(written.select(given.schema.names))


def test_how_the_work_is_cut_changes_no_byte(tmp_path, monkeypatch):
    one, many = tmp_path / "one", tmp_path / "many"
    for folder in (one, many):
        folder.mkdir()
        save(folder)
    expected = digest(whole(one))
    monkeypatch.setattr(sources, "ROWS", 7)
    monkeypatch.setattr(ReadCounts, "__init__", small_batches(ReadCounts.__init__))
    assert digest(whole(many)) == expected


def small_batches(init):
    def changed(self, *values, **named):
        init(self, *values, **named)
        self.batch_rows = min(self.batch_rows, 3)

    return changed


def test_neither_workers_nor_what_an_earlier_run_has_done_change_a_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "SMALLEST", 1 << 12)
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    for folder in (alone, shared):
        folder.mkdir()
        save(folder)
    expected = digest(whole(alone))
    read = f"parquet: {{paths: {shared}/*.parquet, columns: keep}}"
    carried_out(recipe(read, shared, STEPS, "[parquet]", "executor: serial"))
    write = '[{parquet: {signals: ["pii.*"]}}, {jsonl: {compression: none}}]'
    run = carried_out(recipe(read, shared, STEPS, write, "executor: processes, workers: 2"))
    assert digest(run) == expected
    assert run.units["pass-1"].done_before == len(RunFiles(run.place).stages["pass-1"]) > 1


def test_pages_in_a_column_are_extracted_and_the_others_are_kept(tmp_path):
    pages = pa.table(
        {"n": [1, 2], "page": [f"<html><body><p>{prose(n)}</p></body></html>" for n in range(2)], "b": [b"\xff", None]}
    )
    pq.write_table(pages, tmp_path / "a.parquet")
    read = f"parquet: {{paths: {tmp_path}/a.parquet, html: page, columns: keep}}"
    run = carried_out(recipe(read, tmp_path, "  - extract/blocks\n  - filter/keep_where: {condition: columns.n > 1}\n"))
    assert output(run).drop_columns(["id", "source"]).to_pylist() == [{"n": 2, "b": None, "text": prose(1)}]


def test_a_condition_may_use_columns_and_dropped_documents_have_theirs(tmp_path):
    save(tmp_path)
    read = f"parquet: {{paths: {tmp_path}/*.parquet, columns: [doc_id, score]}}"
    steps = "  - filter/keep_where: {condition: columns.score < 2}\n"
    run = carried_out(recipe(read, tmp_path, steps, run="executor: serial, measure_dropped: first"))
    assert output(run)["doc_id"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert output(run).schema.names == ["doc_id", "content", "score", "id", "source"]
    assert run.sql('select min("columns.doc_id") as least from documents where not kept').to_pylist() == [{"least": 6}]


JSON_ROWS = [
    {"id": 1, "text": prose(1), "url": "http://made.org/1", "meta": {"n": 1, "tags": ["a"]}, "score": 1},
    {"id": 2, "text": prose(2), "url": "http://made.org/2", "meta": {"n": 2, "tags": []}, "score": 2.5, "late": True},
    {"id": 3, "text": prose(3), "url": "http://made.org/3", "meta": None},
]


def lines_of(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_json_has_the_types_of_all_its_records(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines_of(*JSON_ROWS))
    run = carried_out(recipe(f"jsonl: {{paths: {tmp_path}/a.jsonl, columns: keep}}", tmp_path))
    written = output(run)
    assert written.schema.names == ["id", "text", "url", "meta", "score", "late", "source"]
    assert written.schema.field("id").type == pa.int64()
    assert written.schema.field("meta").type == pa.struct([("n", pa.int64()), ("tags", pa.list_(pa.string()))])
    assert written.schema.field("score").type == pa.float64()
    assert written.drop_columns(["source"]).to_pylist() == [
        {"late": None, "score": None} | JSON_ROWS[number] for number in range(3)
    ]
    ids = [document.id for document in run.documents()]
    assert all(len(own) == 32 for own in ids) and "metadata" not in written.schema.names


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "x"}, "the column \"id\": 'x' is not of its type, int64"),
        ({"id": 2.5}, 'the column "id": 2.5 is not of its type, int64'),
        ({"id": True}, 'the column "id": True is not of its type, int64'),
        ({"meta": {"n": 1, "more": 2}}, 'the column "meta": no record that types were found by has a column "more"'),
        ({"meta": {"tags": ["a", 1]}}, 'the column "meta": the column "tags": 1 is not of its type, string'),
        ({"later": 1}, 'no record that types were found by has a column "later"'),
    ],
)
def test_a_record_behind_those_that_types_were_found_by_may_not_fit(tmp_path, monkeypatch, row, problem):
    monkeypatch.setattr(own_columns, "WHOLE", 0)
    monkeypatch.setattr(own_columns, "HEAD", 1000)
    rest = [{"id": number, "text": prose(number)} for number in range(10, 200)]
    (tmp_path / "a.jsonl").write_text(lines_of(*JSON_ROWS, *rest, {"text": prose(7), **row}))
    read = f"jsonl: {{paths: {tmp_path}/a.jsonl, columns: keep}}"
    run = carried_out(recipe(read, tmp_path, run="executor: serial, error_budget: 1"))
    dead = [letter for path in RunFiles(run.place).paths("dead", 0) for letter in pq.read_table(path).to_pylist()]
    assert [letter["kind"] for letter in dead] == ["other_type"] and dead[0]["reason"].startswith(problem)
    assert len(output(run)) == 3 + len(rest)


def test_records_without_a_type_in_common_are_an_error_that_names_the_column(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines_of({"text": "a b", "k": 1}, {"text": "b c", "k": "x"}))
    with pytest.raises(
        InputError, match=r'a\.jsonl, offset \d+: the column "k" holds string, and int64 in records before'
    ):
        carried_out(recipe(f"jsonl: {{paths: {tmp_path}/a.jsonl, columns: keep}}", tmp_path))
    run = carried_out(recipe(f"jsonl: {{paths: {tmp_path}/a.jsonl, columns: [text]}}", tmp_path))
    assert output(run).schema.names == ["text", "id", "source"]


def test_types_of_files_are_promoted(tmp_path):
    pq.write_table(
        pa.table({"text": ["a b c"], "n": pa.array([1], pa.int32()), "s": [{"x": 1}]}), tmp_path / "a.parquet"
    )
    pq.write_table(pa.table({"body": ["d e f"], "n": [2], "s": [{"y": "z"}], "new": [True]}), tmp_path / "b.parquet")
    text = f"""
name: own
read:
  - parquet: {{paths: {tmp_path}/a.parquet, source: a, columns: keep}}
  - parquet: {{paths: {tmp_path}/b.parquet, source: b, text: body, columns: keep}}
  - jsonl: {{paths: {tmp_path}/c.jsonl, source: c}}
write: [parquet]
run: {{folder: {tmp_path}/run, executor: serial}}
"""
    (tmp_path / "c.jsonl").write_text(lines_of({"text": "g h i", "url": "http://made.org/", "more": 1}))
    written = output(carried_out(text))
    assert written.schema.field("n").type == pa.int64()
    assert written.drop_columns(["id", "date"]).to_pylist() == [
        {"text": "a b c", "n": 1, "s": {"x": 1, "y": None}, "new": None, "source": "a", "url": None, "metadata": None},
        {"text": "d e f", "n": 2, "s": {"x": None, "y": "z"}, "new": True, "source": "b", "url": None, "metadata": None},
        {"text": "g h i", "n": None, "s": None, "new": None, "source": "c", "url": "http://made.org/", "metadata": '{"more":1}'},
    ]  # fmt: skip


def test_types_without_anything_in_common_are_an_error_that_names_file_and_column(tmp_path):
    pq.write_table(pa.table({"text": ["a b c"], "k": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["d e f"], "k": [[1]]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r'b\.parquet: the column "k" holds list<.*>, and int64 in files before it'):
        carried_out(recipe(f"parquet: {{paths: {tmp_path}/*.parquet, columns: keep}}", tmp_path))


def test_a_value_that_the_common_type_cannot_hold_is_a_dead_letter(tmp_path):
    pq.write_table(pa.table({"text": ["a b c", "d e f"], "k": [2**60 + 1, 3]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["g h i"], "k": [0.5]}), tmp_path / "b.parquet")
    read = f"parquet: {{paths: {tmp_path}/*.parquet, columns: keep}}"
    run = carried_out(recipe(read, tmp_path, run="executor: serial, error_budget: 1"))
    (letter,) = [one for path in RunFiles(run.place).paths("dead", 0) for one in pq.read_table(path).to_pylist()]
    assert (letter["kind"], letter["position"]) == ("other_type", 0)
    assert letter["reason"].startswith('the column "k" cannot be kept as double, which all files have in common')
    assert output(run)["k"].to_pylist() == [3.0, 0.5]


def test_a_column_of_the_input_stands_before_ours_of_its_name(tmp_path):
    data = pa.table({"id": [7], "text": [f"{prose(1)} ann@made.org"], "source": [True], "signals": [1.5], "url": ["u"]})
    pq.write_table(data, tmp_path / "a.parquet")
    read = f"parquet: {{paths: {tmp_path}/a.parquet, columns: keep}}"
    write = (
        "[parquet, "
        "{jsonl: {compression: none, columns: {id: ours, columns.id: theirs, text: text, pii.emails: mails}}}]"
    )
    run = carried_out(recipe(read, tmp_path, "  - redact/pii\n", write))
    (row,) = output(run).to_pylist()
    assert row == {"id": 7, "text": f"{prose(1)} <EMAIL>", "source": True, "signals": 1.5, "url": "u"}
    (line,) = map(orjson.loads, (run.output / "jsonl/00000.jsonl").read_bytes().splitlines())
    assert (line["theirs"], line["mails"], len(line["ours"])) == (7, 1, 32)


def test_a_column_called_signals_and_our_signals_exclude_each_other(tmp_path):
    pq.write_table(pa.table({"text": ["a b c"], "signals": [1.5]}), tmp_path / "a.parquet")
    read = f"parquet: {{paths: {tmp_path}/a.parquet, columns: keep}}"
    with pytest.raises(RecipeError, match='parquet: a column "signals" of the input is kept, and `signals` would be'):
        carried_out(recipe(read, tmp_path, "  - redact/pii\n", '[{parquet: {signals: ["pii.*"]}}]'))


def test_a_column_cannot_have_the_name_of_the_text(tmp_path):
    pages = pa.table({"page": [f"<p>{prose(1)}</p>"], "text": [1]})
    pq.write_table(pages, tmp_path / "a.parquet")
    read = f"parquet: {{paths: {tmp_path}/a.parquet, html: page, columns: keep}}"
    with pytest.raises(
        InputError, match=r'a\.parquet: the column "text" is kept, and what is written under this name is'
    ):
        carried_out(recipe(read, tmp_path, "  - extract/blocks\n"))


def test_names_that_are_not_there_and_types_that_cannot_be_stored_are_errors(tmp_path):
    save(tmp_path)
    with pytest.raises(
        InputError, match=r'parquet: columns: there is no column "docid" in its files; did you mean "doc_id"'
    ):
        carried_out(recipe(f"parquet: {{paths: {tmp_path}/a.parquet, columns: [docid]}}", tmp_path))
    with pytest.raises(
        RecipeError, match=r"columns is keep, for all columns of the input, or a list of their names; got \(\)"
    ):
        ParquetReader(columns=())
    with pytest.raises(RecipeError, match=r'there is no column "doc_id".*as columns\.NAME'):
        ParquetWriter(columns=("doc_id",))
    odd = pa.table({"text": ["a b c"], "m": pa.array([None], pa.struct([]))})
    with pa.OSFile(str(tmp_path / "odd.arrow"), "wb") as file, pa.ipc.new_stream(file, odd.schema) as stream:
        stream.write_table(odd)
    with pytest.raises(InputError, match=r'odd\.arrow: the column "m" holds struct<>, which cannot be kept'):
        carried_out(recipe(f"arrow: {{paths: {tmp_path}/odd.arrow, columns: keep}}", tmp_path))


@pytest.mark.parametrize("kind", ["arrow", "pandas", "dicts", "datasets"])
def test_rows_in_memory_keep_their_columns(tmp_path, kind):
    data = table().drop_columns(["attrs", "price"])
    held: Any = data
    if kind == "pandas":
        held = data.to_pandas(types_mapper={pa.bool_(): pytest.importorskip("pandas").BooleanDtype()}.get)
    if kind == "datasets":
        held = pytest.importorskip("datasets").Dataset(data)
    if kind == "dicts":
        held = data.to_pylist()
    recipe = corpusmill.Recipe(
        name="own",
        read=Rows(held, columns="keep"),
        write=[ParquetWriter()],
        run=corpusmill.RunSettings(folder=str(tmp_path / "run"), executor="serial"),
    )
    written = output(corpusmill.run(recipe))
    assert written.drop_columns(["id", "source"]).to_pylist() == data.to_pylist()
    assert written.schema.field("doc_id").type == pa.int64()
    assert pa.types.is_timestamp(written.schema.field("when").type)


def test_documents_that_a_run_plants_have_no_such_columns(tmp_path):
    save(tmp_path)
    read = f"parquet: {{paths: {tmp_path}/*.parquet, columns: keep}}"
    text = recipe(read, tmp_path) + "canary: {made: 2, copies: [1, 2]}\n"
    written = output(carried_out(text))
    planted = [row for row in written.to_pylist() if row["source"] == "canary"]
    assert len(planted) == 6 and all(row["doc_id"] is None and row["content"] for row in planted)
    others = [row for row in written.to_pylist() if row["source"] != "canary"]
    assert [row["doc_id"] for row in others] == list(range(COUNT))


def test_signals_stay_with_their_documents_where_a_run_plants_some(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines_of(*({"text": f"{n} " + "x@made.org " * (n % 4)} for n in range(30))))
    read = f"jsonl: {{paths: {tmp_path}/a.jsonl}}"
    text = recipe(read, tmp_path, "  - annotate/pii\n", '[{parquet: {signals: ["pii.*"]}}]')
    rows = output(carried_out(text + "canary: {made: 2, copies: [1, 2]}\n")).to_pylist()
    found = [(row["signals"]["pii.emails"], row["text"].count("@")) for row in rows if row["source"] != "canary"]
    assert len(rows) == 36 and len(found) == 30 and all(signal == count for signal, count in found)


def test_csv_keeps_strings(tmp_path):
    (tmp_path / "a.csv").write_text("text,n,when\na b c,1,2024-01-01\n")
    run = carried_out(recipe(f"csv: {{paths: {tmp_path}/a.csv, columns: keep}}", tmp_path))
    assert output(run).drop_columns(["id", "source"]).to_pylist() == [{"text": "a b c", "n": "1", "when": "2024-01-01"}]


def test_no_row_of_a_table_becomes_values_for_its_columns(tmp_path):
    """Only what has a role does, or may have one inside."""
    save(tmp_path)
    reader = ParquetReader(columns="keep")
    assert reader.roles.converted(table().schema.names) == ["doc_id", "content", "meta"]
    types = reader.column_types(stat(str(tmp_path / "a.parquet")), 0)
    assert types is not None and types.text == "content" and types.schema.field("content").type == pa.null()
