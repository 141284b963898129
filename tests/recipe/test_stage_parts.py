"""Stages of training, canaries, selections and settings of runs as values: what each refuses, and what it says."""

import math
from typing import Any

import pytest

from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe, RunSettings, Selection, Source, TrainingStage
from corpusmill.recipe.canaries import MAX_CANARIES, Canary, canaries
from corpusmill.recipe.parts import home
from corpusmill.recipe.rows import Rows, is_in_memory
from corpusmill.recipe.selection import applied
from corpusmill.recipe.stages import new_folders, outline, training_record
from corpusmill.recipe.training_stage import SignalBounds
from corpusmill.steps.pack.best_fit import BestFit
from corpusmill.steps.pack.concat import Concat
from corpusmill.tokens.sampling import share_of

STAGE: dict[str, Any] = {"name": "pretrain", "tokens": "2B", "batch": 8}


@pytest.mark.parametrize(("tokens", "budget"), [(2000, 2000), ("2B", 2 * 10**9), ("1.5T", 15 * 10**11), (1e3, 1000)])
def test_budgets_in_every_spelling(tokens, budget):
    assert TrainingStage(**{**STAGE, "tokens": tokens}).budget == budget


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tokens": "x"}, "tokens is a number from 1, as 2000000000, 2B or 1.5T; got 'x'"),
        ({"tokens": 0}, "tokens is a number from 1"),
        ({"tokens": 1 << 60}, "tokens is a number from 1"),
        ({"batch": 0}, "batch is a number of rows from 1, got 0"),
        ({"length": 0}, "length is a number of tokens from 1, got 0"),
        ({"name": "a/b"}, "the name of a stage is that of a folder, which 'a/b' cannot be"),
        ({"name": ""}, "the name of a stage is that of a folder"),
        ({"name": ".hidden"}, "the name of a stage is that of a folder"),
        ({"name": "x" * 101}, "the name of a stage is that of a folder"),
        ({"mix": {"web": 0}}, "mix is {source: weight}, with weights above 0; got {'web': 0}"),
        ({"mix": {"web": math.inf}}, "with weights above 0"),
        ({"mix": {"web": math.nan}}, "with weights above 0"),
        ({"length": 8, "pack": Concat(length=8)}, "give the length in pack: pack/concat: {length: 8}"),
    ],
)
def test_a_stage_that_cannot_be(values, message):
    with pytest.raises(RecipeError) as error:
        TrainingStage(**{**STAGE, **values})
    assert message in str(error.value)


@pytest.mark.parametrize(("low", "high"), [(None, None), (2.0, 1.0)])
def test_bounds_that_bound_nothing_or_everything(low, high):
    with pytest.raises(RecipeError, match="where: "):
        SignalBounds(min=low, max=high)
    assert SignalBounds(min=1.0, max=1.0)


RECIPE = """\
read: [jsonl: {paths: w.jsonl, source: web}, jsonl: {paths: c.jsonl, source: code}]
steps: [tokenize/bpe, pack/concat: {length: 64}]
write: shards
stages:
  - {name: pretrain, tokens: 1M, batch: 16}
  - {name: anneal, tokens: 64k, batch: 4, mix: {web: 3, code: 1}, length: 32}
  - {name: long, tokens: 64k, batch: 2, pack: {pack/best_fit: {length: 256}}}
"""


def test_stages_share_the_shards_that_they_read_alike():
    recipe = Recipe.parse(RECIPE)
    assert [folder.name for folder in new_folders(recipe)] == ["anneal-web", "anneal-code", "long"]
    record = training_record(recipe)
    assert record is not None
    assert [stage["shards"] for stage in record["stages"]] == [
        {"output/shards": 1.0},
        {"output/anneal-web": 3, "output/anneal-code": 1},
        {"output/long": 1.0},
    ]
    assert [stage["length"] for stage in record["stages"]] == [64, 32, 256]


def test_an_outline_says_each_stage_in_a_line():
    lines = list(map(str, outline(Recipe.parse(RECIPE))))
    assert lines[0] == "pretrain: 976 steps from 0 on, of 16 rows of 64 tokens: all 100%"
    assert lines[1] == "anneal: 500 steps from 976 on, of 4 rows of 32 tokens: web 75%, code 25%"
    assert lines[2].startswith("long: 125 steps from 1,476 on, of 2 rows of 256 tokens")


def test_a_recipe_without_stages_has_no_record():
    assert training_record(Recipe(read={"jsonl": "x"})) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mix: {web: 3, code: 1}", "mix: {wbe: 3}", 'stage "anneal": there is no source "wbe"; did you mean "web"?'),
        ("name: long", "name: anneal", 'another stage is named "anneal"; give this one a name of its own'),
        ("steps: [tokenize/bpe, pack/concat: {length: 64}]\nwrite: shards\n", "", "a stage is of tokens, and no step makes"),
        ("steps: [tokenize/bpe, pack/concat: {length: 64}]\nwrite: shards", "steps: tokenize/bpe", "give it length, or pack"),
        ("pack: {pack/best_fit: {length: 256}}", "pack: tokenize/bpe", 'pack of a stage is a step pack/…, got "tokenize/bpe"'),
        ("pack: {pack/best_fit: {length: 256}}", "pack: [x]", "a step is a name, or a name with its parameters; got a list"),
        ("batch: 2,", "batch: two,", 'stage "long": batch must be a whole number, got text "two"'),
        ("batch: 2,", "", 'stage "long" needs a value for "batch": a whole number'),
        ("batch: 2,", "batch: 2, btch: 3,", 'stage "long" has no parameter "btch"; did you mean "batch"?'),
    ],
)  # fmt: skip
def test_stages_of_a_recipe_that_cannot_be(old, new, message):
    assert RECIPE.count(old) == 1
    with pytest.raises(RecipeError) as error:
        Recipe.parse(RECIPE.replace(old, new), "web.yaml")
    assert message in str(error.value)


def test_a_stage_of_python_may_hold_steps():
    recipe = Recipe(read={"jsonl": "x"}, stages={**STAGE, "pack": BestFit(length=64)})
    assert recipe.stages == (TrainingStage(**STAGE, pack=BestFit(length=64)),)
    with pytest.raises(RecipeError, match=r"stages\[0\] is not a stage; write TrainingStage"):
        Recipe(read={"jsonl": "x"}, stages=["pretrain"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "give a text, or a number of strings to be made"),
        ({"text": "x", "made": 3}, "give a text, or a number of strings to be made"),
        ({"text": "  "}, "the text is empty"),
        ({"text": "x", "copies": (1, 2)}, "a text has one number of copies, got [1, 2]"),
        ({"made": 1, "copies": (1, 1)}, "copies are numbers from 1, each once, got [1, 1]"),
        ({"made": 1, "copies": 0}, "copies are numbers from 1, each once, got [0]"),
        ({"made": 1, "copies": ()}, "copies are numbers from 1, each once, got []"),
        ({"made": -1}, "need made >= 0"),
        ({"made": 1, "digits": 0}, "1 <= digits <= 100"),
        ({"made": 1, "format": "no place"}, "the format has {} once, for the number"),
        ({"made": 1, "format": "{} {}"}, "the format has {} once, for the number"),
        ({"made": 50, "digits": 3}, "50 numbers of 3 digits are easily guessed; use more digits"),
    ],
)
def test_canaries_that_cannot_be(values, message):
    with pytest.raises(RecipeError) as error:
        Canary(**values)
    assert message in str(error.value)


def test_canaries_are_made_of_the_seed_alone():
    entries = [Canary(made=2, copies=(1, 3)), Canary(text="planted", source="web")]
    planted = canaries(entries, 7, ["web"])
    assert [canary.name for canary in planted] == [
        "canary-1-1-1",
        "canary-1-1-2",
        "canary-1-3-1",
        "canary-1-3-2",
        "canary-2",
    ]
    assert planted == canaries(entries, 7, ["web"])
    assert {c.text for c in planted[:4]}.isdisjoint(c.text for c in canaries(entries, 8, ["web"])[:4])
    assert planted[2].names == ["canary-1-3-1/1", "canary-1-3-1/2", "canary-1-3-1/3"]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([Canary(text="x", source="wbe")], 'there is no source "wbe"; did you mean "web"? There are: web.'),
        (
            [Canary(text="one"), Canary(text="one of two")],
            'canary-1 ("one") is in the text of another; they must differ',
        ),
        ([Canary(text="same"), Canary(text="same")], "is in the text of another"),
        ([Canary(made=MAX_CANARIES + 1)], "10,001 strings; 10,000 at most can be planted"),
    ],
)
def test_canaries_that_could_not_be_told_apart(entries, message):
    with pytest.raises(RecipeError) as error:
        canaries(entries, 0, ["web"])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("selection", "sources"),
    [
        (None, None),
        (Selection(only="*"), None),
        (Selection(except_="nothing"), None),
        (Selection(only=["b", "a"]), ("a", "b")),
        (Selection(except_="?"), ("cc",)),
        (Selection(only="A"), ()),
    ],
)
def test_the_sources_that_a_step_applies_to(selection, sources):
    assert applied(selection, ["a", "b", "cc"]) == sources


@pytest.mark.parametrize("text", ["1%", "0.01", " 1 % ", "1.0%"])
def test_shares_in_every_spelling(text):
    assert share_of(text, "sample") == 0.01


@pytest.mark.parametrize("value", ["0", "101%", "x", "", "%", "nan", "inf", -1, 1.5])
def test_what_is_no_share(value):
    with pytest.raises(RecipeError, match=r"sample is a share above 0 and up to 1, as in 1% or 0\.01; got"):
        share_of(value, "sample")


@pytest.mark.parametrize(
    ("values", "words", "name"),
    [
        ({}, "", ""),
        ({"limit": 1}, "the first 1 document of each source", "-limit-1"),
        ({"limit": 1000}, "the first 1,000 documents of each source", "-limit-1000"),
        ({"sample": "1%"}, "a sample of 1 % of the documents", "-sample-1pct"),
        ({"limit": 5, "sample": 0.5}, "the first 5 documents of each source, in a sample of 50 % of the documents", "-limit-5-sample-50pct"),
        ({"sample": 1.0}, "", ""),
    ],
)  # fmt: skip
def test_runs_on_some_documents_are_named_for_them(values, words, name):
    run = RunSettings(**values)
    assert (run.limited, run.limited_name) == (words, name)
    assert Recipe(read={"jsonl": "x"}, name="web", run=run).folder == f"runs/web{name}"


def test_the_home_folder_is_written_out(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert [home(path) for path in ("~", "~/x", "~you/x", "a/~")] == ["/home/me", "/home/me/x", "~you/x", "a/~"]


@pytest.mark.parametrize(
    "data", [[{"text": "a"}, "b"], ({"text": "a"}, "b"), lambda: iter([{"text": "a"}, "b"]), {"text": ["a", "b"]}]
)
def test_rows_of_every_shape(data):
    assert list(Rows(data)) == [{"text": "a"}, {"text": "b"}]


def test_strings_are_in_the_column_that_is_asked_for():
    assert list(Rows(["a"], text="body")) == [{"body": "a"}] and list(Rows(["a"], html="page")) == [{"page": "a"}]


@pytest.mark.parametrize("data", ["docs.jsonl", b"x", 3, None])
def test_what_holds_no_rows(data):
    with pytest.raises(RecipeError, match="rows are "):
        Rows(data)
    assert not is_in_memory(data)


def test_a_source_of_whole_data_sets_alone_has_a_subset():
    from corpusmill.read.jsonl import Jsonl

    with pytest.raises(RecipeError, match="subset is of whole data sets of the Hugging Face hub"):
        Source(Jsonl(), "x.jsonl", subset="en")
    assert Source(Jsonl(), "~/x.jsonl").paths[0].endswith("/x.jsonl")
