"""Old names in recipes: answered for two minor versions, an error then, and known for good in what a run has recorded."""

import json

import pytest

import corpusmill
from corpusmill import Recipe
from corpusmill.about import __version__
from corpusmill.errors import RecipeError, RenamedWarning
from corpusmill.execute.serial import Serial
from corpusmill.recipe import renamed
from corpusmill.recipe.renamed import OPTIONS, RECIPE, Renamed

MAJOR, MINOR = map(int, __version__.split(".")[:2])
NOW = f"{MAJOR}.{MINOR}"
OLD = """\
origin: 7
read:
  json_lines: {paths: in.jsonl, origin: web}
steps:
  - dedup/identical: {compare: text}
  - dedup/exact
write: [lines]
run: {place: run}
"""
NEW = """\
seed: 7
read:
  jsonl: {paths: in.jsonl, source: web}
steps:
  - dedup/exact: {match: text}
  - dedup/exact
write: [jsonl]
run: {folder: run}
"""


def table(since):
    return tuple(
        Renamed(old, new, since)
        for old, new in {
            "recipe.origin": "seed",
            "run.place": "folder",
            "reader json_lines": "jsonl",
            "reader jsonl.origin": "source",
            "step dedup/identical": "dedup/exact",
            "step dedup/exact.compare": "match",
            "writer lines": "jsonl",
        }.items()
    )


@pytest.fixture
def since(monkeypatch):
    return lambda version: monkeypatch.setattr(renamed, "RECIPE", table(version))


def test_an_old_name_is_answered_with_a_warning_that_says_what_to_write(since):
    since(NOW)
    with pytest.warns(RenamedWarning) as told:
        assert Recipe.parse(OLD, "r.yaml") == Recipe.parse(NEW)
    gone = f"{MAJOR}.{MINOR + 2}"
    assert (
        f"r.yaml:5: dedup/exact.compare is called match since {NOW}, and will be removed in {gone}. Write match"
        in map(str, (warning.message for warning in told))
    )
    assert len({str(warning.message) for warning in told}) == len(table(NOW))


def test_a_setting_and_a_step_in_python_may_have_it_too(since):
    since(NOW)
    with pytest.warns(RenamedWarning, match=r"--set steps\.exact\.compare=folded"):
        recipe = Recipe.parse("read: {jsonl: a}\nsteps: [dedup/exact]", overrides="steps.exact.compare=folded")
    assert recipe.steps[0].match == "folded"
    with pytest.warns(RenamedWarning, match="dedup/identical is called dedup/exact"):
        assert Recipe(read={"jsonl": "in.jsonl"}, steps={"dedup/identical": {"match": "text"}}).steps[0].match == "text"


def test_two_names_of_one_thing_are_refused(since):
    since(NOW)
    with pytest.warns(RenamedWarning), pytest.raises(RecipeError, match=r"origin and seed are two names of one thing"):
        Recipe.parse("seed: 1\norigin: 2\nread: {jsonl: in.jsonl}\n")


def test_two_minor_versions_later_it_is_an_error_that_says_what_to_write(since):
    since(f"{MAJOR - 1}.0")
    with pytest.raises(RecipeError) as error:
        Recipe.parse(OLD, "r.yaml")
    assert [problem.line for problem in error.value.problems] == [1, 3, 3, 5, 5, 7, 8]
    assert "dedup/identical is called dedup/exact since" in str(error.value)
    assert not any(entry.is_removed() for entry in OPTIONS), "an option has no record to be read in: take the entry out"


def test_what_a_run_has_recorded_is_read_for_good(since, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"text": "one"}\n{"text": "one"}\n')
    corpusmill.run(Recipe.parse(NEW), executor=Serial(), progress=False)
    path = tmp_path / "run" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"recipe": OLD}))
    since(f"{MAJOR - 1}.0")
    history = corpusmill.open("run")
    assert [row.step for row in history.waterfall.rows] == ["exact", "exact_2"]
    assert Recipe.parse(OLD, recorded=True) == Recipe.parse(NEW)


@pytest.mark.parametrize("entry", RECIPE, ids=[entry.old for entry in RECIPE])
def test_a_new_name_is_one_that_there_is(entry):
    from corpusmill import read, steps, write

    kind, _, name = entry.old.partition(" ")
    part, _, parameter = name.partition(".")
    registry = {"reader": read, "step": steps, "writer": write}.get(kind)
    if registry and parameter:
        assert entry.new in vars(registry.find(part))["__dataclass_fields__"]
    elif registry:
        assert registry.find(entry.new)
