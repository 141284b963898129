"""Every address of the inspector answers in words, whatever the run is like. Recipes that ship are in test_recipes.py."""

import json
import re
import shutil
from random import Random

import pytest

from corpusmill.errors import ResumeError
from corpusmill.execute import ignored
from corpusmill.execute.serial import Serial
from corpusmill.ops.runs import run
from corpusmill.recipe import shipped
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.parts import RunSettings
from corpusmill.report.tables import RunTables
from inspected import TOKEN, Walk, asking
from made_run import made_corpus, made_run, prose

pytest.importorskip("starlette", reason="the extra inspect is not installed")
DEDUP = ["filter/gopher_quality", "dedup/minhash"]
PACKED = [*DEDUP, "redact/pii", "tokenize/bpe", {"pack/concat": {"length": 32}}]


def carried_out(folder, texts, steps=(), write=(), **settings):
    documents = folder / "documents.jsonl"
    documents.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    recipe = Recipe(read={"jsonl": str(documents)}, steps=steps, write=write, run=RunSettings(**settings))
    return run(recipe, folder=folder / "run", executor=Serial(), progress="off")


def made(documents):
    random = Random(3)
    return [prose(random) for _ in range(documents)]


@pytest.mark.parametrize(
    ("texts", "recipe", "with_thresholds"),
    [
        # The pass after the dedup has a rule that is off, and no other.
        (made(20), {"steps": [*DEDUP, "redact/pii"]}, ["pass-1"]),
        (made(20), {"steps": [*DEDUP, {"redact/pii": {"max_spans": 3}}]}, ["pass-1", "pass-2"]),
        (made(20), {"steps": ["dedup/exact"]}, []),
        (made(5), {}, []),  # no steps, and nothing is written
        (made(5), {"write": ["jsonl"]}, []),
        (made(1), {"steps": PACKED, "write": ["shards"]}, ["pass-1"]),
        ([""], {"steps": PACKED, "write": ["shards", "jsonl"]}, ["pass-1"]),  # no documents
        ([""], {}, []),
        (made(20), {"steps": [{"filter/basic": {"min_characters": 10**6}}, *DEDUP]}, ["pass-1"]),  # all are dropped
        (made(20), {"steps": [{"filter/gopher_quality": {"max_mean_word_length": float("inf")}}]}, ["pass-1"]),
        (made(20), {"steps": PACKED, "write": ["shards"], "limit": 7, "measure_dropped": "first"}, ["pass-1"]),
        (made(20), {"steps": DEDUP, "measure_dropped": "none", "dropped_text": "none"}, ["pass-1"]),
    ],
)
def test_every_address_answers_of_every_kind_of_run(tmp_path, texts, recipe, with_thresholds):
    done = carried_out(tmp_path, texts, **recipe)
    assert Walk(done.folder).all()["with_thresholds"] == with_thresholds


def test_every_address_answers_of_the_demo(tmp_path):

    limited = ["run.limit=60", "run.error_budget=1.0"]
    done = run(shipped.shipped("demo").path, overrides=limited, folder=tmp_path / "run", executor=Serial())
    assert "pass-1" in Walk(done.folder).all()["with_thresholds"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("inf"), "without NaN or infinity"),
        (float("nan"), "without NaN or infinity"),
        ("", 'a threshold must be a finite number, or null to switch the rule off; got ""'),
        (True, "a threshold must be a finite number, or null to switch the rule off; got true"),
        ([], r"a threshold must be a finite number, or null to switch the rule off; got \[\]"),
        (1e308, "an integer threshold must fit in 64 bits; got 1e"),
        (10**30, "an integer threshold must fit in 64 bits; got 1e"),
    ],
)
def test_a_threshold_that_is_none_is_refused_in_words(value, said):
    from corpusmill.inspect.app import Inspector, app

    ask = asking(app(Inspector(RunTables(made_run())), TOKEN))
    moved = {"moved": {"gopher_quality.min_words": value}}
    for name in ("exact", "recipe"):
        status, _, content = ask(f"/{TOKEN}/api/{name}", moved)
        assert status == 400 and re.search(said, json.loads(content)["error"])


def test_thresholds_that_are_infinite_are_refused_from_python_too():
    from corpusmill.errors import InputError
    from corpusmill.inspect.thresholds import Thresholds

    thresholds = Thresholds(RunTables(made_run()))
    for value in (float("inf"), float("nan")):
        for ask in (thresholds.exact, thresholds.recipe, lambda moved: thresholds.estimate("pass-1", moved)):
            with pytest.raises(InputError, match="finite number"):
                ask({"gopher_quality.min_words": value})


def test_a_run_that_is_gone_is_said_in_words(tmp_path, capsys):
    from corpusmill.inspect.app import Inspector, app

    folder = shutil.copytree(made_run(), tmp_path / "run")
    inspector = Inspector(RunTables(folder))
    ask = asking(app(inspector, TOKEN))
    row = json.loads(ask(f"/{TOKEN}/api/documents")[2])["rows"][0]
    for file in folder.glob("stages/pass-*/[ds]*/*.parquet"):
        file.unlink()
    inspector.read_ahead()  # in a thread, whose errors would be printed
    for name, about in (
        ("sliders", {"stage": "pass-1"}),
        ("document", {"id": row["id"]}),
        ("documents", {"text": "x"}),
    ):
        status, _, content = ask(f"/{TOKEN}/api/{name}", **about)
        assert status == 410 and "was it run again, or moved?" in json.loads(content)["error"], content
    assert ask(f"/{TOKEN}/documents.jsonl", text="x")[0] == 410
    assert "Traceback" not in "".join(capsys.readouterr())


def test_a_run_that_was_interrupted_is_refused_in_words(tmp_path, corpusmill):
    class Stopped(Serial):
        def run(self, task, units, on_commit, on_aside=ignored):
            if task.folder.startswith("pass-2"):
                raise KeyboardInterrupt
            return super().run(task, units, on_commit, on_aside)

    with pytest.raises(KeyboardInterrupt):
        run(made_corpus(), folder=tmp_path / "run", executor=Stopped(), progress="off")
    with pytest.raises(ResumeError):
        from corpusmill.inspect.app import Inspector

        Inspector(RunTables(tmp_path / "run"))
    code, out, err = corpusmill("inspect", tmp_path / "run", "--no-browser")
    assert code == 1 and "is not finished" in err + out
