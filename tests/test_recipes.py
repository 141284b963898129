"""Every recipe that ships can run: once, small, on the demo's data, and its account adds up."""

import gzip
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpusmill import assets
from corpusmill.execute.serial import Serial
from corpusmill.recipe import Recipe, shipped
from corpusmill.report.page import write_page
from corpusmill.runs import run
from corpusmill.shards.reader import open_shards
from corpusmill.write.parquet import Parquet
from corpusmill.write.shards import Shards

ROOT = Path(__file__).parents[1]
RECIPES = [shipped.shipped(name) for name in shipped.names()]
OTHERS = {"WIKIPEDIA": ROOT / "demo" / "prose" / "articles.txt", "GITHUB": ROOT / "demo" / "*.py"}
BROKEN = ["run.error_budget=0.05"]  # more than 1 % of the first records of extra.jsonl.gz are broken on purpose
FIRST = 150  # records of the demo's files are enough for each rule of a recipe to meet something

# Steps that must have dropped a document of the demo: a recipe in which one does nothing has lost its point.
AT_WORK = {
    "minimal": {"basic", "exact"},
    "gopher": {"language", "gopher_quality"},
    "c4": {"language", "c4"},
    "fineweb": {"language", "gopher_quality", "fineweb"},
    "fineweb2": {"fineweb2"},  # the pages of the demo are English, which has no settings
    "refinedweb": {"language", "gopher_quality", "refinedweb_lines"},
    "web-en": {"language", "gopher_quality", "keep_where", "ngrams", "exact", "minhash"},  # nothing in it is toxic
    "tokenturbine": {"code", "language", "basic"},
    "lesson": {"language", "basic", "top", "exact", "minhash"},
    "pretraining-at-scale": {"url", "language", "basic", "keep_where", "exact", "minhash", "ngrams", "sources"},
    "hf-packaging": {"basic", "lines", "paragraph"},
    "wet-lab": {"language", "gopher_quality", "minhash"},
    "mix": {"language", "minhash", "sources"},
}


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> dict[str, Path]:
    """reader -> the beginning of the demo's file for it."""
    folder = tmp_path_factory.mktemp("small")
    crawl = assets.demo_path("demo://")
    with gzip.open(crawl / "extra.jsonl.gz", "rb") as file, (folder / "extra.jsonl").open("wb") as out:
        out.writelines(line for line, _ in zip(file, range(FIRST)))
    for name in ("pages.warc.gz", "pages.warc.wet.gz"):
        shutil.copy(crawl / name, folder / name)
    return {"jsonl": folder / "extra.jsonl", "warc": folder / "pages.warc.gz", "wet": folder / "pages.warc.wet.gz"}


@pytest.fixture
def given(small, monkeypatch):
    """What recipes are tried on: those of one source on its beginning, others on the demo's files."""

    def give(recipe):
        some = small if len(recipe.inputs) == 1 else shipped.DEMO
        for variable, reader in recipe.inputs.items():
            monkeypatch.setenv(variable, str(OTHERS.get(variable) or some[reader]))

    return give


@pytest.mark.parametrize("made", RECIPES, ids=[made.name for made in RECIPES])
def test_a_recipe_that_ships_has_no_problem(made, given):
    given(made)
    recipe = Recipe.load(made.path)
    assert recipe.name == made.name
    assert Recipe.parse(recipe.dump()) == recipe


@pytest.mark.parametrize("name", AT_WORK)
def test_a_recipe_runs_and_its_account_adds_up(name, given, tmp_path):
    made = shipped.shipped(name)
    given(made)
    recipe = Recipe.load(made.path)
    done = run(made.path, overrides=BROKEN, folder=tmp_path / "run", executor=Serial())

    done.waterfall.check()
    rows = done.waterfall.rows
    stay = rows[-1].documents_out
    assert sum(sum(row.reasons.values()) for row in rows) == done.waterfall.documents_in - stay > 0
    assert {row.step for row in rows if row.reasons} >= AT_WORK[name]
    assert stay > 10
    assert done.checked and not any(checked.problems for checked in done.checked)
    if any(isinstance(writer, Shards) for writer in recipe.write):
        assert done.shards is not None
        assert open_shards(done.shards).verify() == []
    if any(isinstance(writer, Parquet) for writer in recipe.write):
        files = (done.output / "parquet").rglob("*.parquet")
        assert sum(pq.read_metadata(file).num_rows for file in files) == stay


def test_copies_are_compared_and_none_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setenv("INPUT", shipped.DEMO["jsonl"])
    done = run(shipped.shipped("compare-dedup").path, folder=tmp_path / "run", executor=Serial())
    assert done.waterfall.documents_in == done.waterfall.documents_out > 0
    page = Path(write_page(done.folder)).read_text("utf-8")
    assert 'id="duplicates"' in page and 'id="repeated"' in page


def test_every_recipe_is_run_here_or_is_the_demo():
    assert set(shipped.names()) == {*AT_WORK, "compare-dedup", "demo"}
