"""Recipes that ship: listed, and written to a file. What someone can do who has only installed the package."""

import json

import pytest

from corpusmill.recipe import Recipe
from corpusmill.recipe.json_schema import recipe_schema
from corpusmill.recipe.shipped import DEMO_FILES, SCHEMA_FILE, names, shipped


def test_the_recipes_that_ship_are_listed(corpusmill):
    status, out, _ = corpusmill("new", "--list")
    assert status == 0
    for name in names():
        assert f"{name} " in out and shipped(name).summary in out
    assert corpusmill("new")[1] == out
    listed = json.loads(corpusmill("new", "--list", "--json")[1])["recipes"]
    assert [each["name"] for each in listed] == names()
    assert next(each["inputs"] for each in listed if each["name"] == "mix") == {"WEB": "wet", "BOOKS": "jsonl"}


@pytest.mark.parametrize("name", names())
def test_a_written_recipe_is_that_which_ships_on_other_files(corpusmill, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    recipe = shipped(name)
    for variable in recipe.inputs:
        monkeypatch.setenv(variable, f"'{variable}' \\ ${{.gz")
    given = [f"--input={variable.lower()}='{variable}' \\ ${{.gz" for variable in recipe.inputs]
    if len(given) == 1:
        given = [given[0].replace("input=", "", 1)]
    status, out, _ = corpusmill("new", name, "web 2.yaml", *given)
    assert status == 0 and "corpusmill check 'web 2.yaml'" in out and "Put" not in out
    made, of = Recipe.load("web 2.yaml"), Recipe.load(recipe.path)
    assert (made.name, made.read, made.steps, made.write) == ("web 2", of.read, of.steps, of.write)


TEXTS = {"a.jsonl": '{"text": "The river runs."}\n', "a.csv": "text\nThe river runs.\n", "a.txt": "The river runs.\n"}


@pytest.mark.parametrize("name", [name for name in names() if set(shipped(name).inputs.values()) == {"warc"}])
@pytest.mark.parametrize("file", [*TEXTS, "folder"])
def test_a_recipe_for_pages_reads_text_without_extraction(corpusmill, tmp_path, monkeypatch, name, file):
    monkeypatch.chdir(tmp_path)
    inside = tmp_path / "folder" / "inside" / "a.jsonl"
    inside.parent.mkdir(parents=True)
    for path, text in {**TEXTS, inside: TEXTS["a.jsonl"]}.items():
        (tmp_path / path).write_text(text)
    status, out, _ = corpusmill("new", name, "r.yaml", "--input", file)
    reader = {"folder": "jsonl", "a.txt": "text"}.get(file, file.partition(".")[2])
    assert status == 0 and f"It reads {file} by `{reader}` instead of `warc`, without extract/" in out
    monkeypatch.setenv("INPUT", file)
    steps = [step for step in Recipe.load(shipped(name).path).steps if "extract" not in type(step).__module__]
    made = Recipe.load("r.yaml")
    assert type(made.read[0].reader).__name__.lower() == f"{reader}reader" and list(made.steps) == steps
    assert corpusmill("check", "r.yaml")[0] in ((0, 2) if name == "fineweb2" else (0,))  # which needs ftfy


@pytest.mark.parametrize("name", ["minimal", "gopher", "c4"])
def test_a_recipe_for_text_names_those_for_pages(corpusmill, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    status, _, err = corpusmill("new", name, "--input", "crawl/*.warc.gz")
    assert status == 2 and "pages, which `warc` reads" in err and "fineweb, fineweb2, lesson" in err
    assert not list(tmp_path.iterdir())


def test_a_source_of_several_has_its_own_reader(corpusmill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = corpusmill("new", "mix", "--input", "web=w.parquet", "--input", "books=b.jsonl", "--json")
    assert status == 0 and json.loads(out)["readers"] == {"WEB": "parquet"}
    assert [type(source.reader).__name__ for source in Recipe.load("mix.yaml").read] == ["ParquetReader", "JsonlReader"]


def test_without_inputs_it_says_what_to_put_where(corpusmill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = corpusmill("new", "mix")
    assert status == 0 and "${WEB}" in out and "${BOOKS}" in out
    text = (tmp_path / "mix.yaml").read_text("utf-8")
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA_FILE.as_posix()}"
    status, _, err = corpusmill("check", "mix.yaml")
    assert status == 2 and "WEB is not set" in err
    monkeypatch.setenv("WEB", DEMO_FILES["wet"])
    monkeypatch.setenv("BOOKS", DEMO_FILES["jsonl"])
    assert corpusmill("check", "mix.yaml")[0] == 0


def test_a_file_is_never_overwritten_unless_asked(corpusmill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minimal.yaml").write_text("mine")
    status, _, err = corpusmill("new", "minimal")
    assert status == 2 and "minimal.yaml: exists already" in err and "--force" in err
    assert (tmp_path / "minimal.yaml").read_text() == "mine"
    assert corpusmill("new", "minimal", "--force")[0] == 0
    assert (tmp_path / "minimal.yaml").read_text("utf-8") == corpusmill("new", "minimal", "-")[1]


@pytest.mark.parametrize(
    "args, said",
    [
        (["finweb"], 'did you mean "fineweb"'),
        (["mix", "--input", "a.gz"], "--input web=PATH --input books=PATH"),
        (["minimal", "--input", "a", "--input", "b"], "[PATH, PATH]"),
        (["demo", "--input", "a"], "reads 0 inputs"),
        (["minimal", "no/such/folder.yaml"], "cannot be written"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_written(corpusmill, tmp_path, monkeypatch, args, said):
    monkeypatch.chdir(tmp_path)
    status, out, err = corpusmill("new", *args)
    assert (status, out) == (2, "") and said in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["fineweb", "fineweb.yaml"])
def test_to_run_a_recipe_by_its_name_is_to_be_sent_to_new(corpusmill, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    status, _, err = corpusmill("run", name)
    assert status == 2 and "corpusmill new fineweb" in err


def test_the_schema_is_printed_and_is_as_the_code_is_now(corpusmill):
    status, out, _ = corpusmill("new", "--schema")
    assert status == 0 and json.loads(out) == recipe_schema(), "run python docs/make_schema.py"
