"""Columns that hold pages, in every format with columns."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import briefly, read_all

from corpusmill.errors import InputError, RecipeError
from corpusmill.read.arrow import ArrowReader
from corpusmill.read.csv import CsvReader
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.parquet import ParquetReader
from corpusmill.recipe.model import Recipe
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.storage import stat

PAGE = '<html><head><meta charset="latin-1"></head><body><p>Größe, \x1b$ &amp; more</p></body></html>'
ROWS = [
    {"page": PAGE, "url": "http://a.org/1", "text": "not this", "n": "1"},
    {"page": " ", "url": "http://a.org/2", "text": "nor this", "n": "2"},
]


def jsonl(folder):
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return JsonlReader, stat(str(folder / "a.jsonl"))


def table(folder):
    with (folder / "a.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    return CsvReader, stat(str(folder / "a.csv"))


def parquet(folder):
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "a.parquet")
    return ParquetReader, stat(str(folder / "a.parquet"))


def ipc(folder):
    made = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_file(str(folder / "a.arrow"), made.schema) as file:
        file.write_table(made)
    return ArrowReader, stat(str(folder / "a.arrow"))


formats = pytest.mark.parametrize("write", [jsonl, table, parquet, ipc])


@formats
def test_a_column_of_pages_is_extracted_like_a_file_of_one(tmp_path, write):
    reader, file = write(tmp_path)
    rows, dead, _ = read_all(reader(html="page"), file)
    (row,) = rows
    assert (row["text"], row["raw"], row["url"]) == (None, PAGE.encode(), "http://a.org/1")
    assert json.loads(row["metadata"]) == {"text": "not this", "n": "1"}
    assert briefly(dead)[0][1:] == ("empty_page", True)
    # Its characters are known: neither <meta> nor an escape of another charset counts.
    assert Resiliparse().page_text(row["raw"], row["charset"]) == "Größe, \x1b$ & more"


@formats
def test_a_column_that_is_not_there_is_an_error_before_anything_runs(tmp_path, write):
    reader, file = write(tmp_path)
    with pytest.raises(InputError, match=r'no column "pages" for the page; did you mean "page"\? It has: page, url'):
        reader(html="pages").split([file], 1 << 20)
    with pytest.raises(
        RecipeError, match=r'text names the column "text" and html the column "page".* leave one of them'
    ):
        reader(html="page", text="text")


def test_pages_may_be_bytes_whose_charset_is_to_be_found(tmp_path):
    page = "<p>Été à l’œuvre: déjà vu. </p>".encode("cp1252")
    made = pa.table({"page": pa.array([page, None], pa.binary()), "n": [1, 2]})
    pq.write_table(made, tmp_path / "a.parquet")
    file = stat(str(tmp_path / "a.parquet"))
    rows, dead, _ = read_all(ParquetReader(html="page", keep=()), file)
    assert (rows[0]["raw"], rows[0]["charset"], rows[0]["metadata"]) == (page, None, None)
    assert briefly(dead) == [(1, "empty_page", True)]
    with pytest.raises(InputError, match=r'the column "n" holds int64, not pages. Columns with pages: page\.'):
        ParquetReader(html="n").split([file], 1 << 20)
    rows, dead, _ = read_all(ParquetReader(text="page", keep=()), file)  # as UTF-8, which these are not
    assert not rows and briefly(dead) == [(0, "bad_encoding", False), (1, "empty_text", True)]


def test_pages_in_a_column_need_an_extractor():
    recipe = "read: {jsonl: {paths: a.jsonl, html: page}}\nsteps: [clean/normalize]\nwrite: jsonl\n"
    with pytest.raises(RecipeError, match="jsonl gives HTML pages, and no step extracts their text"):
        Recipe.parse(recipe, "a.yaml", ())
