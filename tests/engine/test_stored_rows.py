"""Documents in memory: written once into the folder of the run, whatever they are held in."""

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import corpusmill
from corpusmill import Recipe, Rows, RunSettings
from corpusmill.engine.plan.stored_rows import lines, stored, with_inputs
from corpusmill.errors import InputError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.read import ReadCounts, whole_file
from corpusmill.read.jsonl import JsonlReader
from corpusmill.storage import stat
from corpusmill.store.run_folder import RunFolder

ROWS: list[dict[str, Any]] = [
    {"text": "The river runs to the sea.", "lang": "en", "n": 1},
    {"text": "The river runs to the sea.", "lang": None, "n": 2},
    {"text": "Winter comes early.", "lang": "en", "n": 3},
]


def written(data: Any, **columns: Any) -> bytes:
    return b"".join(lines(Rows(data, "web", **columns)))


def recipe(data: Any, folder: Path, **more: Any) -> Recipe:
    return Recipe(read={"web": data}, steps=["dedup/exact"], run=RunSettings(folder=str(folder)), **more)


def test_the_same_rows_are_the_same_file_whatever_holds_them():
    rows = pa.Table.from_pylist(ROWS)
    held = [
        iter(ROWS),
        (row for row in ROWS),
        lambda: iter(ROWS),
        rows,
        rows.to_batches(max_chunksize=1),
        rows.to_batches()[0],
        pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches()),
        duckdb.sql("FROM rows"),
        {name: rows[name].to_pylist() for name in rows.column_names},
    ]
    assert {written(data) for data in held} == {written(ROWS)}


@pytest.mark.parametrize("library", ["pandas", "polars", "datasets"])
def test_frames_and_data_sets_are_too(library):
    module = pytest.importorskip(library)
    frames = {
        "pandas": lambda: [module.DataFrame(ROWS), module.DataFrame([ROWS[0], *ROWS]).iloc[1:]],  # an index from 1 on
        "polars": lambda: [module.DataFrame(ROWS), module.LazyFrame(ROWS)],
        "datasets": lambda: [
            module.Dataset.from_list(ROWS),
            module.Dataset.from_list(ROWS[::-1]).select([2, 1, 0]),
            module.Dataset.from_list(ROWS).to_iterable_dataset(),
            module.DatasetDict(a=module.Dataset.from_list(ROWS[:1]), b=module.Dataset.from_list(ROWS[1:])),
        ],
    }
    assert {written(data) for data in frames[library]()} == {written(ROWS)}


def test_strings_are_texts():
    assert written(["One.", "Two."]) == written(pa.array(["One.", "Two."])) == b'{"text":"One."}\n{"text":"Two."}\n'
    assert written(["One."], text="body") == b'{"body":"One."}\n'


def test_values_that_json_has_not_become_text_or_null(tmp_path):
    day = datetime.date(2024, 5, 1)
    row = {
        "text": "a\ud800",
        "day": day,
        "cost": decimal.Decimal("1.50"),
        "big": 10**30,
        "raw": b"\xff",
        "nan": float("nan"),
    }
    (tmp_path / "rows.jsonl").write_bytes(written([row]))
    (batch,) = JsonlReader().read(whole_file(stat(str(tmp_path / "rows.jsonl"))), "web", ReadCounts())
    assert batch["text"].to_pylist() == ["a\ufffd"]
    kept = {"big": 1e30, "cost": "1.50", "day": "2024-05-01", "nan": None, "raw": "\ufffd"}
    assert json.loads(batch["metadata"][0].as_py()) == kept


@pytest.mark.parametrize(
    ("data", "columns", "message"),
    [
        ([*ROWS, {"text": float("nan")}], {}, 'source "web": row 3: the column "text" holds float (nan), not text'),
        ([{"text": 5}], {}, 'row 0: the column "text" holds int (5), not text'),
        ([{"body": "x"}], {"text": "boddy"}, 'row 0: there is no column "boddy" for the text; did you mean "body"?'),
        ([{"story": "x"}], {}, 'row 0: none of its columns is called text, content, body'),
        ([{"text": "x"}, 5], {}, 'source "web": row 1 is an int; a row is a dict of columns, or a string'),
        ([{"text": "x", "model": object()}], {}, 'row 0: the column "model" cannot be kept as metadata: builtins.object'),
        ([{"page": b"\xe9"}], {"html": "page"}, 'row 0: the page in "page" is not UTF-8'),
    ],
)  # fmt: skip
def test_what_is_no_document_is_refused_with_its_row(data, columns, message):
    with pytest.raises(InputError) as error:
        written(data, **columns)
    assert message in str(error.value)


def test_what_holds_no_rows_is_refused(tmp_path):
    with pytest.raises(RecipeError, match=r"for files write Source\(JsonlReader\(\), paths\)"):
        Rows("docs.jsonl")
    with pytest.raises(RecipeError, match="got int"):
        Rows(5)
    used = iter(ROWS)
    list(used)
    with pytest.raises(
        InputError, match=r'source "web": there are no rows\. It can be read only once: was it read before'
    ):
        stored(recipe(used, tmp_path), RunFolder(str(tmp_path)))
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {".lock", ".corpusmill"}


def test_a_run_has_nothing_to_do_for_the_same_rows_and_does_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = corpusmill.run(recipe(ROWS, Path("run")), executor=Serial())
    assert (first.waterfall.documents_in, first.waterfall.documents_out) == (3, 2)
    (file,) = Path("run/inputs").glob("web-*/rows.jsonl")
    assert f"run/inputs/{file.parent.name}/rows.jsonl" in RunFolder("run").record()["recipe"]
    file.unlink()  # written again, it is the same file
    again = corpusmill.run(recipe(pa.Table.from_pylist(ROWS), Path("run")), executor=Serial())
    assert [counts.done_now for counts in again.units.values()] == [0] * len(again.units)
    other = corpusmill.run(recipe(ROWS[1:], Path("run")), executor=Serial())
    assert other.waterfall.documents_in == 2
    assert other.units["pass-1"].done_now == 1
    assert sorted(row.text for row in other.documents()) == sorted(row["text"] for row in ROWS[1:])


def test_an_aborted_write_leaves_nothing(tmp_path):
    def rows() -> Any:
        yield from ROWS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stored(recipe(rows, tmp_path), RunFolder(str(tmp_path)))
    assert list((tmp_path / "inputs").iterdir()) == []


def test_rows_take_the_place_of_a_source_of_a_recipe_in_yaml(tmp_path):
    path = tmp_path / "web.yaml"
    path.write_text("read: {jsonl: {paths: none.jsonl, source: web, text: body}}\nsteps: [dedup/exact]\n", "utf-8")
    rows = [{"body": row["text"]} for row in ROWS]
    for inputs in ({"web": rows}, rows, {"web": Rows(ROWS)}):
        done = corpusmill.run(path, inputs=inputs, folder=tmp_path / "run", executor=Serial())
        assert done.waterfall.documents_out == 2
    assert corpusmill.check(path, inputs=rows, overrides={"run.folder": str(tmp_path / "run")}).sources["web"][0] == 1
    two = Recipe.parse("read: [{jsonl: {paths: a, source: a}}, {jsonl: {paths: b, source: b}}]")
    with pytest.raises(RecipeError, match=r"the recipe has 2 sources: inputs=\{.a.: …\} says which one it is"):
        with_inputs(two, rows)
    with pytest.raises(RecipeError, match='no source "c"'):
        with_inputs(two, {"c": rows})
    with pytest.raises(RecipeError, match=r'for files write overrides=\{"read\.a\.paths": …\}'):
        with_inputs(two, {"a": "docs.jsonl"})
    assert with_inputs(two, {"b": rows}).read[0] == two.read[0]


def test_a_recipe_with_rows_says_why_it_is_not_in_yaml(tmp_path):
    with pytest.raises(RecipeError, match=r'the source "web" is in memory: corpusmill\.run writes it'):
        recipe(ROWS, tmp_path).dump()
    assert repr(Rows(ROWS)) == "<Rows rows: list, 3 rows>"
