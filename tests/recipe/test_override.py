"""`--set`: the same as if it were written in the recipe, in every section."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe
from corpusmill.recipe.override import settings as as_settings

WEB = """\
name: web
read:
  - jsonl: {paths: web.jsonl, source: web}
  - text: notes.txt
steps:
  - filter/gopher_quality: {min_words: 30}
  - filter/url
  - filter/gopher_quality
  - tokenize/bpe
  - pack/concat: {length: 64}
write:
  - shards
  - jsonl
stages:
  - {name: pretrain, tokens: 2B, batch: 64}
  - {name: anneal, tokens: 1B, batch: 8}
run: {executor: serial}
"""


@pytest.mark.parametrize(
    ("setting", "old", "new"),
    [
        ("name=other", "name: web\n", "name: other\n"),
        ("seed=7", "name: web\n", "name: web\nseed: 7\n"),
        ("run.workers=3", "{executor: serial}", "{executor: serial, workers: 3}"),
        ("run.executor=processes", "{executor: serial}", "{executor: processes}"),
        ("gopher_quality.min_words=31", "min_words: 30", "min_words: 31"),
        ("steps.gopher_quality.min_words=31", "min_words: 30", "min_words: 31"),
        ("steps.gopher_quality_2.min_words=5", "filter/gopher_quality\n", "filter/gopher_quality: {min_words: 5}\n"),
        ("url.only=web", "filter/url\n", "filter/url: {only: web}\n"),
        ("url.only=[web, text]", "filter/url\n", "filter/url: {only: [web, text]}\n"),
        ("steps.concat.length=128", "length: 64", "length: 128"),
        ("read.web.paths=*.gz", "paths: web.jsonl", 'paths: "*.gz"'),
        ("read.text.paths=[a, b]", "text: notes.txt", "text: [a, b]"),
        ("read.text.exclude=a", "text: notes.txt", "text: {paths: notes.txt, exclude: a}"),
        ("write.shards.tokens_per_shard=4096", "- shards\n", "- shards: {tokens_per_shard: 4096}\n"),
        ("stages.anneal.batch=16", "batch: 8", "batch: 16"),
        ("stages.pretrain.mix={web: 3, text: 1}", "batch: 64", "batch: 64, mix: {web: 3, text: 1}"),
        ("stages.pretrain.mix.web=2", "batch: 64", "batch: 64, mix: {web: 2}"),
        ("gopher_quality.min_words = 31", "min_words: 30", "min_words: 31"),
    ],
)  # fmt: skip
def test_a_setting_is_the_same_as_if_it_were_written(setting, old, new):
    assert WEB.count(old) == 1
    assert Recipe.parse(WEB, overrides=setting) == Recipe.parse(WEB.replace(old, new))


def test_later_settings_see_what_earlier_ones_have_changed():
    recipe = Recipe.parse(WEB, overrides=["read.web.source=pages", "read.pages.paths=p.jsonl", "url.only=pages"])
    assert (recipe.read[0].source, recipe.read[0].paths) == ("pages", ("p.jsonl",))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("run.workers", "a setting is KEY=VALUE, as in run.workers=4"),
        ("=4", "a setting is KEY=VALUE"),
        ("run..workers=4", "a setting is KEY=VALUE"),
        ("run=4", "the key must be run.PARAMETER, as in run.workers=4"),
        ("name.x=4", "the key must be name alone"),
        ("read.web=x", "the key must be read.NAME.PARAMETER, as in read.web.paths=value"),
        ("steps.url=x", "the key must be steps.NAME.PARAMETER, as in steps.gopher_quality.parameter=value"),
        ("stages.anneal=x", "the key must be stages.NAME.PARAMETER, as in stages.pretrain.batch=64"),
        ("read.wbe.paths=x", 'the recipe has no source "wbe"; did you mean "web"? It has: web, text.'),
        ("steps.gofer_quality.min_words=1", 'has no step "gofer_quality"; did you mean "gopher_quality"? It has: '),
        ("write.parquet.columns=x", 'the recipe has no writer "parquet". It has: shards, jsonl.'),
        ("stages.aneal.batch=1", 'the recipe has no stage "aneal"; did you mean "anneal"? It has: pretrain, anneal.'),
        ("gofer_quality.min_words=1", 'a recipe has no key "gofer_quality"; did you mean "gopher_quality"?'),
        ("min_words=1", "say whose min_words this is: gopher_quality.min_words=1"),
        ("workers=4", "say whose workers this is: run.workers=4"),
        ("gopher_quality.min_word=1", 'has no parameter "min_word"; did you mean "min_words"?'),
        ("gopher_quality.min_words.low=1", '"min_words" is the number 30, which has no "low" inside; set all of it'),
        ("stages.anneal.batch.x=1", '"batch" is the number 8, which has no "x" inside; set all of it'),
        ("run.workers=[", "not YAML"),
        ("run.workers={a: 1}", "run: workers must be a whole number or null, got a mapping with the keys a"),
    ],
)
def test_a_setting_that_names_nothing_says_what_there_is(setting, message):
    with pytest.raises(RecipeError) as error:
        Recipe.parse(WEB, "web.yaml", setting)
    assert message in str(error.value) and f"--set {setting}" in str(error.value)


def test_a_recipe_without_a_section_has_nothing_to_set_in_it():
    for section, kind in (("steps", "step"), ("write", "writer"), ("stages", "stage")):
        with pytest.raises(RecipeError, match=f'the recipe has no {kind} "x". It has none.'):
            Recipe.parse("read: {jsonl: x}", overrides=f"{section}.x.y=1")


def test_all_settings_are_looked_at():
    with pytest.raises(RecipeError) as error:
        Recipe.parse(WEB, overrides=["a.b=1", "c.d=2", "run.workers=x"])
    assert len(str(error.value).splitlines()) == 3


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20))
def test_values_of_a_mapping_are_not_read_again(name):
    try:
        assert Recipe.parse("read: {jsonl: x}", overrides={"name": name}).name == name
    except RecipeError as error:
        assert "name of a recipe is that of its folder" in str(error) or "not allowed in YAML" in str(error)


@pytest.mark.parametrize("value", ["007", "true", "null", "${HOME}", "a: b", '"', "[x"])
def test_texts_of_a_mapping_stay_text(value):
    assert Recipe.parse(WEB, overrides={"read.text.root": value}).read[1].root == value


def test_settings_as_they_are_taken():
    assert as_settings(["a=1", "b=2"]) == ["a=1", "b=2"]
    assert as_settings({"run.workers": None, "a.b": [1, "x"]}) == ["run.workers=null", 'a.b=[1, "x"]']
