"""Texts are extracted once: a change behind the extraction does not repeat it, and a run in which they are stored gives
what one gives that extracts them in its first pass."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import corpusmill
from corpusmill.engine.plan.lower import lower
from corpusmill.errors import BudgetError, DocumentError
from corpusmill.execute.serial import Serial
from corpusmill.recipe import Recipe
from corpusmill.report.explain import explain
from corpusmill.report.run_files import RunFiles
from corpusmill.report.samples import dead_letters
from corpusmill.report.tables import RunTables
from corpusmill.report.what_if import what_if
from corpusmill.store.tables import read_table
from made_pdf import made_pdf

ROOT = Path(__file__).parents[2]
# Steps before the extraction, one of them for the sources that have text alone; an extraction that is not the last one;
# a condition on a signal of before it; and a dedup.
RECIPE = """
read:
  - warc: {paths: demo://pages.warc.gz, source: pages}
  - jsonl: {paths: demo://extra.jsonl.gz, source: extra}
steps:
  - filter/url
  - clean/normalize: {only: extra}
  - extract/resiliparse: {only: pages}
  - clean/normalize
  - extract/blocks
  - filter/keep_where: {condition: "bytes > 300 and (url.domain is null or url.domain <> 'thelongshelf.example')"}
  - filter/gopher_quality
  - redact/pii
  - dedup/exact
  - filter/c4
  - tokenize/bpe
  - pack/concat: {length: 256}
write: [shards, jsonl]
run: {unit_mb: 1}
"""
COSTS = ("seconds", "memory", "cpu")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Carry out the recipe with changes; one folder for each."""
    place = tmp_path_factory.mktemp("runs")

    def carry_out(*changes, folder=None):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(ROOT)
            name = folder or "-".join(changes).replace("/", "_") or "as it is"
            recipe = Recipe.parse(RECIPE, overrides=list(changes))
            return corpusmill.run(recipe, folder=place / name, executor=Serial(), progress=False)

    return carry_out


def stored(files, kind, number):
    return pa.concat_tables(read_table(path) for path in files.paths(kind, number))


def waterfall(done):
    return json.loads((Path(done.folder) / "waterfall.json").read_text())


@pytest.mark.parametrize("measured", ["all", "first", "none"])
def test_a_run_that_stores_them_gives_what_one_gives_that_does_not(run, measured):
    setting = f"run.measure_dropped={measured}"
    once, whole = run(setting), run(setting, "run.store_extracted=false")
    outputs = [path for path in (Path(whole.folder) / "output").rglob("*") if path.is_file()]
    assert len(outputs) > 3
    for path in outputs:
        assert (Path(once.folder) / path.relative_to(whole.folder)).read_bytes() == path.read_bytes()
    assert waterfall(once) == waterfall(whole)
    of_once, of_whole = RunFiles(once.folder), RunFiles(whole.folder)
    assert of_once.passes == of_whole.passes
    for number, (stage, _) in enumerate(of_whole.passes):
        for kind in ("docs", "signals", "dropped"):
            assert stored(of_once, kind, number).equals(stored(of_whole, kind, number)), (stage, kind)
        letters = [stored(files, "dead", number).sort_by([("position", "ascending")]) for files in (of_once, of_whole)]
        assert letters[0].equals(letters[1])
        assert of_once.facts(stage) == of_whole.facts(stage)
    assert "extract" in of_once.stages and "extract" not in of_whole.stages


def test_another_threshold_behind_the_extraction_does_not_repeat_it(run):
    def units(done):
        return {name: (counts.done_before, counts.done_now) for name, counts in done.units.items()}

    first = units(run(folder="changed"))
    many = first["extract"][1]
    assert many > 1 and first["pass-1"] == (0, many)
    behind = units(run("steps.gopher_quality.min_words=200", folder="changed"))
    assert behind["extract"] == (many, 0)
    assert behind["pass-1"] == (0, many)
    before = units(run("steps.url.max_soft_words=0", folder="changed"))
    assert before["extract"] == (0, many)


@pytest.mark.parametrize(
    "change", ["url.max_soft_words=0", "keep_where.condition=url.domain is not null", "gopher_quality.min_words=200"]
)
def test_what_if_is_a_run_with_another_threshold_before_and_behind_it(run, change):
    answer = what_if(run().folder, [change])
    real = waterfall(run(f"steps.{change}"))["steps"]
    assert answer.stage == "pass-1" and answer.kept[0] != answer.kept[1]
    for row in answer.after:
        other = next(step for step in real if step["step"] == row.step)
        for name in ("documents_in", "documents_out", "bytes_in", "bytes_out", "reasons"):
            assert getattr(row, name) == other[name], (row.step, name)


def test_a_step_behind_it_sees_signals_of_before_it(run):
    tables = RunTables(run().folder)
    table = stored(tables.files, "signals", 0)
    shelved = pc.equal(table["url.domain"], "thelongshelf.example")
    reasons = table.filter(shelved)["reasons"].to_pylist()
    assert len(reasons) > 3 and all("keep_where" in why for why in reasons)


@dataclass(frozen=True, kw_only=True)
class Careful:
    """An extraction of the user's own, that fails on some."""

    extracts: ClassVar[bool] = True

    def transform(self, docs):
        if any("bad" in text for text in docs["text"].to_pylist()):
            raise DocumentError("a bad page")
        return docs


@dataclass(frozen=True, kw_only=True)
class Late:
    """A filter that fails on some."""

    least: int = 1
    threshold_parameters: ClassVar[tuple[str, ...]] = ("least",)

    def reasons(self, docs, signals):
        if any("late" in text for text in docs["text"].to_pylist()):
            raise DocumentError("too late")
        return pa.nulls(len(docs), pa.string())


@pytest.fixture
def small(tmp_path):
    texts = ["one", "bad", "two", "too late", "bad again", "three"]
    lines = [json.dumps({"text": text}) for text in texts]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, "{no json"]) + "\n", "utf-8")
    recipe = Recipe.parse(f"read: {{jsonl: {tmp_path}/in.jsonl}}\nsteps: [clean/normalize]\nwrite: [jsonl]")
    return replace(recipe, steps=[Careful(), Late()], selections=[None, None])


def test_what_is_lost_before_and_behind_it_is_counted_once(small, tmp_path):
    recipe = replace(small, run=replace(small.run, error_budget=4))
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial(), progress=False)
    flow = done.waterfall
    (read,) = flow.read.values()
    assert (read["records"], read["documents"], read["dead"]) == (7, 6, {"bad_json": 1})
    assert [(row.documents_in, row.failed, row.documents_out) for row in flow.rows] == [(6, 2, 4), (4, 1, 3)]
    letters = stored(RunFiles(done.folder), "dead", 0)
    steps = letters["step"].to_pylist()
    assert sorted(steps) == sorted([*["careful"] * 2, "late", next(step for step in steps if "json" in step)])
    lost = next(letter for letter in letters.to_pylist() if letter["step"] == "careful")
    (history,) = explain(done.folder, lost["id"])
    assert history.lost and history.lost.reason == "a bad page"
    with pytest.raises(BudgetError, match="4 of 7 records"):
        less = replace(small, run=replace(small.run, error_budget=3))
        corpusmill.run(less, folder=tmp_path / "less", executor=Serial(), progress=False)
    with pytest.raises(BudgetError, match="3 of 7 records"):
        less = replace(small, run=replace(small.run, error_budget=2))
        corpusmill.run(less, folder=tmp_path / "less still", executor=Serial(), progress=False)
    assert (
        len(dead_letters(RunTables(tmp_path / "less still"), 9)) == 3
    )  # of the stage that extracts: no pass has begun


def test_the_reader_may_be_what_extracts(tmp_path):
    """Of PDF. The stage has no steps then."""
    pytest.importorskip("pypdfium2")
    for name, line in (("a", "A long river runs to the sea."), ("b", "Short.")):
        (tmp_path / f"{name}.pdf").write_bytes(made_pdf([(50, 700, line)]))
    recipe = Recipe.parse(f"read: {{pdf: {tmp_path}/*.pdf}}\nsteps: [filter/basic: {{min_words: 3}}]\nwrite: [jsonl]")
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial(), progress=False)
    assert list(done.units)[:2] == ["extract", "pass-1"]
    assert done.waterfall.documents_in == 2 and done.waterfall.documents_out == 1


def stages(recipe):
    return [stage.name for stage in lower(recipe).stages]


def test_there_is_no_stage_for_it_where_nothing_extracts_or_nothing_follows(small):
    assert stages(small)[:2] == ["extract", "pass-1"]
    assert stages(replace(small, run=replace(small.run, store_extracted=False)))[0] == "pass-1"
    assert stages(replace(small, steps=[Late()], selections=[None]))[0] == "pass-1"
    assert stages(replace(small, steps=[Late(), Careful()]))[0] == "pass-1"
