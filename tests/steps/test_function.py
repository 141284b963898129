"""Plain functions as steps."""

import json
import os
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import corpusmill
import own_functions
from corpusmill.engine.plan.identity import identity
from corpusmill.errors import RecipeError
from corpusmill.recipe.fingerprint import code_version, step_fingerprint
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
        ("own_functions.keep", "is not the name of a function; it is written own_functions:keep"),
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


def at_least(words):
    return lambda document: len(document.text.split()) >= words


def test_a_function_without_a_name_is_known_by_its_code_and_what_it_takes_from_around_it():
    versions = [code_version(at_least(words)) for words in (3, 3, 4)]
    assert versions[0] == versions[1] != versions[2]
    first, second = (
        corpusmill.as_filter(lambda document: True),
        corpusmill.as_filter(lambda document: False),
    )  # one line
    assert code_version(first.code[0]) != code_version(second.code[0])
    assert first.name == "lambda" and not first.is_importable and own_functions.decorated.is_importable


@pytest.mark.parametrize("value", [{"b", "a"}, {"a": [1.5, None]}, "word", at_least, re.compile("x"), json, (1, 2)])
def test_what_a_function_takes_may_be_any_value_that_can_be_compared(value):
    assert len(code_version(lambda document: document.text == value)) == 64


def test_a_value_that_cannot_be_compared_is_named():
    with (
        Path(os.devnull).open() as file,
        pytest.raises(RecipeError, match=r"lambda>: file: a value of the type TextIOWrapper"),
    ):
        code_version(lambda document: file)


def test_functions_may_name_each_other():
    def even(document):
        return not document or odd(document[1:])

    def odd(document):
        return document and even(document[1:])

    assert code_version(even) != code_version(odd)


def test_what_is_no_function_is_no_step_of_one():
    with pytest.raises(RecipeError, match="a value of the type partial cannot be a step: it has no source"):
        corpusmill.as_filter(partial(at_least, 3))


NOTEBOOK = """
import sys
import corpusmill

LEAST = int(sys.argv[1])
BAD = {"spam", "eggs"}

def words(text):
    return text.split()

def no_spam(document):
    return not BAD & set(words(document.text))

rows = [{"text": "The river runs to the sea."}, {"text": "spam and eggs"}, {"text": None}, {"text": "too short"}]
done = corpusmill.run(corpusmill.Recipe(
    read=rows, steps=[corpusmill.as_filter(no_spam), corpusmill.as_filter(lambda d: len(words(d.text)) >= LEAST),
                      corpusmill.as_map(lambda d: d.text.upper())],
    write=["jsonl"]))
print([row.reasons for row in done.waterfall.rows], [d.text for d in done.documents()], done.units["pass-1"].done_now)
"""


def test_a_notebook_needs_no_settings_for_its_own_functions(tmp_path):
    """`python -c` has no file that others could import, as a notebook."""

    def cell(least, code=NOTEBOOK):
        command = [sys.executable, "-c", code, str(least)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "no_spam, lambda: defined in this program or notebook" in done.stderr
        return done.stdout.strip()

    kept = "[{'no_spam': 1}, {'lambda': 1}, {}] ['THE RIVER RUNS TO THE SEA.']"
    assert cell(3) == f"{kept} 1"
    assert cell(3) == f"{kept} 0"  # a second process finds it done
    assert cell(2).startswith("[{'no_spam': 1}, {}, {}] ['THE RIVER RUNS TO THE SEA.', 'TOO SHORT'] 1")
    assert cell(3, NOTEBOOK.replace("text.split()", "text.split(None)")).endswith(" 1")  # of what it calls
    assert cell(3, NOTEBOOK.replace('eggs"}', 'river"}')).startswith("[{'no_spam': 2}")  # of what it names


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


def test_a_message_speaks_python_where_the_caller_does(tmp_path):
    code = """
import corpusmill
try:
    corpusmill.run(corpusmill.Recipe(read={"jsonl": "d.jsonl"}, write=["jsonl"]))
except corpusmill.errors.BudgetError as error:
    print(error)
    code, _, last = str(error).split("`")[1].partition("; ")
    exec(code)
    print([letter["kind"] for letter in eval(last)])
"""
    (tmp_path / "d.jsonl").write_text('{"text": 5}\n' + '{"text": "one"}\n' * 9)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "run.error_budget allows none. Look at them with `from corpusmill" in done.stdout
    assert "RunSettings(error_budget=0.1)" in done.stdout and "--set" not in done.stdout
    assert done.stdout.endswith("['no_text']\n")
