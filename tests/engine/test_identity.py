"""What makes a stage's work another one, and how that is said."""

import importlib.metadata
import shutil
from pathlib import Path
from typing import Any

import pytest

import corpusmill
from corpusmill import about
from corpusmill.about import PACKAGE, closure
from corpusmill.engine.plan import identity as module
from corpusmill.engine.plan.changes import changes, differences, preview
from corpusmill.engine.plan.identity import identity
from corpusmill.engine.plan.lower import lower
from corpusmill.execute.serial import Serial
from corpusmill.recipe.model import Recipe
from corpusmill.store.run_folder import RunFolder

RECIPE = """
name: small
read:
  - jsonl: {{paths: "{folder}/docs.jsonl"}}
steps:
  - clean/normalize
  - filter/gopher_quality: {{min_words: {min_words}}}
  - dedup/exact
write: [jsonl]
"""


def recipe(folder: Path, min_words: int = 1) -> Recipe:
    if not (folder / "docs.jsonl").exists():
        (folder / "docs.jsonl").write_text("".join(f'{{"text": "the text of {i} and that"}}\n' for i in range(9)))
    return Recipe.parse(RECIPE.format(folder=folder, min_words=min_words))


def forget() -> None:
    for cached in (about.closure, about.imports, about.file_of, module._installed, module._source_digest):
        cached.cache_clear()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package's sources, which may be edited."""
    copy = tmp_path / "corpusmill"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "data"))
    monkeypatch.setattr(module, "PACKAGE", copy)
    monkeypatch.setattr(about, "PACKAGE", copy)
    forget()
    yield copy
    forget()


def fingerprints(plan) -> dict[str, str]:
    forget()
    return {stage.name: identity(stage.work).fingerprint for stage in plan.stages}


def changed_by(plan, package: Path, name: str) -> set[str]:
    """The stages whose work is another one after an edit of a source."""
    before = fingerprints(plan)
    path = package / name
    path.write_text(path.read_text() + "\n# edited\n")
    after = fingerprints(plan)
    return {stage for stage in before if before[stage] != after[stage]}


@pytest.mark.parametrize(
    ("source", "stages"),
    [
        ("write/mds.py", set()),
        ("write/jsonl.py", {"jsonl"}),
        ("steps/filter/c4.py", set()),
        ("steps/filter/gopher_quality.py", {"pass-1"}),
        ("text/spans.py", {"pass-1", "pass-2"}),
        ("text/buckets.py", {"pass-1", "pass-2", "exact-group", "exact-names"}),
        ("report/waterfall.py", set()),
        ("cli/run.py", set()),
        ("engine/work/documents.py", {"jsonl"}),
    ],
)
def test_an_edit_changes_the_work_that_can_reach_it(tmp_path, package, source, stages):
    plan = lower(recipe(tmp_path))
    assert changed_by(plan, package, source) == stages


def test_the_closure_follows_imports_and_leaves_out_those_for_types():
    reached = closure("corpusmill.steps.dedup.exact")
    assert {"corpusmill.steps.corpus", "corpusmill.text.hashing", "corpusmill.store.tables"} <= reached
    assert not any(name.startswith(("corpusmill.cli", "corpusmill.report", "corpusmill.engine")) for name in reached)


def test_a_library_that_is_upgraded_makes_its_stages_again_and_says_so(tmp_path, monkeypatch):
    run = RunFolder(str(tmp_path / "run"))
    corpusmill.run(recipe(tmp_path), folder=run.place, executor=Serial())
    assert changes(run, lower(recipe(tmp_path))) == []
    version = importlib.metadata.version
    monkeypatch.setattr(module, "version", lambda name: "99.1" if name == "orjson" else version(name))
    forget()
    try:
        changed = changes(run, lower(recipe(tmp_path)))
    finally:
        forget()
    assert {change.stage for change in changed} == {"pass-1", "jsonl"}
    assert f"pass-1 is made again: orjson {version('orjson')} is now 99.1" in map(str, changed)


def test_a_changed_parameter_is_named(tmp_path):
    run = RunFolder(str(tmp_path / "run"))
    corpusmill.run(recipe(tmp_path), folder=run.place, executor=Serial())
    changed = changes(run, lower(recipe(tmp_path, min_words=3)))
    assert [str(change) for change in changed] == ["pass-1 is made again: gopher_quality.min_words was 1, is 3"]


def test_what_there_is_to_do_is_known_before(tmp_path):
    run = RunFolder(str(tmp_path / "run"))
    plan = lower(recipe(tmp_path))
    ahead = preview(run, plan)
    assert (ahead.units, ahead.done, ahead.finished) == (1, 0, False)
    corpusmill.run(recipe(tmp_path), folder=run.place, executor=Serial())
    ahead = preview(run, plan)
    assert (ahead.units, ahead.done, ahead.finished, ahead.changes) == (1, 1, True, ())


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ([["a", {"n": 1}]], [["a", {"n": 2}]], ["a.n was 1, is 2"]),
        ([["a", {}]], [["a", {}], ["b", {}]], ["b is new"]),
        ([["a", {}], ["b", {}]], [["b", {}]], ["a was removed"]),
        ([["a", {}], ["b", {}]], [["b", {}], ["a", {}]], ["the steps are in another order"]),
    ],
)
def test_steps_are_compared_by_their_labels(before, now, said):
    made: dict[str, Any] = {"libraries": {}, "code": {}}
    assert differences({"work": {"steps": before}} | made, {"work": {"steps": now}} | made) == said


def test_code_that_changed_is_named():
    made = {"work": {}, "libraries": {"numpy": "2.0"}}
    before, now = {"code": {"corpusmill.text.c4": "1"}}, {"code": {"corpusmill.text.c4": "2"}}
    assert differences(made | before, made | now) == ["the code of corpusmill.text.c4 changed"]
