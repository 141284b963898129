"""Plain functions as steps."""

import json
import pickle

import pytest

import corpusmill
import own_functions
from corpusmill.engine.plan.identity import identity
from corpusmill.errors import RecipeError
from corpusmill.recipe.fingerprint import step_fingerprint
from corpusmill.report.figures.functions import time_in_functions
from corpusmill.report.samples import dead_letters
from corpusmill.report.tables import RunTables
from corpusmill.steps.filter.function import FilterFunction as Filter
from corpusmill.steps.functions import Document
from corpusmill.steps.map.function import MapFunction as Map
from corpusmill.store.run_folder import RunFolder

TEXTS = ["a plain document", "two http http links", "an odd one", "a document of a good deal more letters"]


def run(folder, *steps, **settings):
    lines = [json.dumps({"text": text, "n": number}) for number, text in enumerate(TEXTS)]
    (folder / "docs.jsonl").write_text("\n".join(lines), "utf-8")
    (folder / "recipe.yaml").write_text(
        "read: {jsonl: {paths: " + json.dumps(str(folder / "docs.jsonl")) + "}}\n"
        "steps: [" + ", ".join(steps) + "]\nwrite: {jsonl: {compression: none}}\nrun: {error_budget: 1}\n",
        "utf-8",
    )
    return corpusmill.run(folder / "recipe.yaml", folder=folder / "run", **settings)


def texts(done):
    files = sorted(done.output.glob("jsonl/*.jsonl"))
    return [json.loads(line)["text"] for file in files for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_drops_documents_and_another_changes_them(tmp_path, workers):
    done = run(
        tmp_path,
        "filter/function: own_functions:few_links",
        'map/function: {function: "own_functions:louder"}',
        workers=workers,
    )
    assert texts(done) == [TEXTS[0].upper(), TEXTS[2].upper(), TEXTS[3].upper()]
    assert done.waterfall.rows[0].reasons == {"links": 1}
    assert [label for label, _, _ in time_in_functions(RunFolder(done.place))] == ["function", "function_2"]


def test_a_document_that_a_function_cannot_process_is_a_dead_letter(tmp_path):
    done = run(tmp_path, "filter/function: own_functions:odd")
    assert texts(done) == TEXTS[:2]
    assert done.waterfall.rows[0].reasons == {"odd": 1}
    [letter] = dead_letters(RunTables(done.place), 5)
    assert "ValueError: an odd document" in str(letter)


def test_a_function_that_says_nothing_ends_the_run_with_what_to_return(tmp_path):
    with pytest.raises(
        RecipeError, match="forgets must return True to keep a document, False to drop it, or the reason"
    ):
        run(tmp_path, "filter/function: own_functions:forgets")
    with pytest.raises(RecipeError, match="forgets must return the new text of a document, a string; it returned None"):
        run(tmp_path, "map/function: own_functions:forgets")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("own_functions", "is not the name of a function; it is written module:name"),
        ("own_functions:nobody", "cannot import the function"),
        ("no_such_module:good", "No module named"),
        ("own_functions:NOT_A_FUNCTION", "is not a function, but a value of the type int"),
        ("pathlib:Path", "is not a function, but a class"),
    ],
)
def test_what_is_no_function_is_refused(name, said):
    with pytest.raises(RecipeError, match=said):
        Filter(function=name)


def test_what_is_decorated_is_a_step_and_can_be_called():
    step = own_functions.decorated
    assert step == Filter(function="own_functions:decorated")
    document = Document(
        dict.fromkeys(("id", "source", "file", "position", "url", "date", "metadata"), None) | {"text": "x"}
    )
    assert step(document) and pickle.loads(pickle.dumps(step))(document)


def test_what_workers_could_not_import_is_refused():
    with pytest.raises(RecipeError, match="a lambda cannot be a step"):
        corpusmill.as_filter(lambda document: True)

    def inside(document):
        return document.text

    with pytest.raises(RecipeError, match=r"inside.* cannot be a step"):
        corpusmill.as_map(inside)


def test_the_source_of_the_function_is_part_of_what_the_step_is(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    prints = []
    for number in range(2):
        name = f"changing_{number}"
        (tmp_path / f"{name}.py").write_text(
            f"def good(document):\n    return len(document.text) > {number}\n", "utf-8"
        )
        step = Map(function=f"{name}:good")
        [code] = [found for module, found in identity(step).code.items() if module.startswith("changing")]
        prints.append((code, step_fingerprint(step)))
    assert prints[0][0] != prints[1][0] and prints[0][1] != prints[1][1]
