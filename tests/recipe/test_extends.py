"""Recipes that build on others: what they have is what is written out in full."""

import pytest

from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe, labels, shipped

BASE = """
name: base
seed: 3
read: {jsonl: "${NOT_SET}"}
steps:
  - filter/gopher_quality: {min_words: 50, max_words: 1000}
  - filter/c4
  - dedup/minhash
  - tokenize/bpe
  - pack/concat: {length: 512}
split: {validation: 0.01, by: domain}
write:
  - shards: {tokens_per_shard: 1000}
  - jsonl
run: {workers: 3, unit_mb: 16}
"""


@pytest.fixture
def written(tmp_path):
    def write(text, name="own.yaml", base=BASE):
        (tmp_path / "base.yaml").write_text(base)
        (tmp_path / name).write_text(text)
        return Recipe.load(tmp_path / name)

    return write


def full(**changes):
    """The base, written out with other lines."""
    text = BASE.replace("${NOT_SET}", "a.jsonl").replace("name: base", "name: own")
    for before, after in changes.values():
        assert before in text
        text = text.replace(before, after)
    return Recipe.parse(text)


READ = "extends: base.yaml\nread: {jsonl: a.jsonl}\n"


@pytest.mark.parametrize(
    ("changes", "before", "after"),
    [
        ("", "", ""),
        ("steps: {gopher_quality: {min_words: 30}}", "min_words: 50", "min_words: 30"),
        ("steps: {filter/gopher_quality: {max_words: null}}", "max_words: 1000", "max_words: null"),
        ("steps: {c4: null}", "  - filter/c4\n", ""),
        ("steps: {c4: {only: jsonl}}", "  - filter/c4\n", "  - filter/c4: {only: jsonl}\n"),
        ("steps: {after c4: [filter/fineweb, redact/pii]}", "  - dedup", "  - filter/fineweb\n  - redact/pii\n  - dedup"),
        ("steps: {before minhash: {dedup/exact: {}}, c4: null}", "  - filter/c4\n", "  - dedup/exact\n"),
        ("write: {shards: {tokens_per_shard: 2000}, after jsonl: parquet}", "1000}\n  - jsonl", "2000}\n  - jsonl\n  - parquet"),
        ("write: [shards]", "shards: {tokens_per_shard: 1000}\n  - jsonl", "shards"),
        ("split: {validation: 0.02}", "0.01", "0.02"),
        ("split: null", "split: {validation: 0.01, by: domain}\n", ""),
        ("seed: 4", "seed: 3", "seed: 4"),
        ("run: {workers: 1}", "workers: 3", "workers: 1"),
    ],
)  # fmt: skip
def test_a_change_is_that_line_of_the_other(written, changes, before, after):
    recipe, expected = written(READ + changes), full(change=(before, after))
    assert recipe == expected and recipe.fingerprint() == expected.fingerprint()
    assert Recipe.parse(recipe.dump()) == expected


def test_a_recipe_that_ships_is_extended_by_its_name(tmp_path):
    (tmp_path / "mine.yaml").write_text("extends: fineweb\nread: {jsonl: a.jsonl}\nsteps: {trafilatura: null}\n")
    recipe = Recipe.load(tmp_path / "mine.yaml")
    own = Recipe.parse(shipped.shipped("fineweb").text.replace("${INPUT}", "a.warc"))
    assert labels(recipe.steps) == [label for label in labels(own.steps) if label != "trafilatura"]
    assert recipe.name == "mine"


def test_settings_of_the_command_line_come_last(written, tmp_path):
    written(READ + "steps: {gopher_quality: {min_words: 30}}")
    recipe = Recipe.load(tmp_path / "own.yaml", ["gopher_quality.min_words=20"])
    assert recipe.steps[0].min_words == 20 and recipe.steps[0].max_words == 1000


def test_one_builds_on_another_that_builds_on_one(written, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "middle.yaml").write_text("extends: ../base.yaml\nsteps: {c4: null}\nread: {jsonl: b}\n")
    recipe = written("extends: inner/middle.yaml\nread: {jsonl: a.jsonl}\nsteps: {gopher_quality: {min_words: 30}}")
    assert recipe == full(a=("  - filter/c4\n", ""), b=("min_words: 50", "min_words: 30"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: finweb", 'own.yaml:1: extends: no recipe "finweb" ships; did you mean "fineweb"'),
        ("extends: other.yaml", "own.yaml:1: extends: .*other.yaml: there is no such file"),
        ("extends: own.yaml", "own.yaml:1: extends: these recipes extend each other: own.yaml → own.yaml"),
        ("extends: [a, b]", "own.yaml:1: extends names one recipe, a file or one that ships: .*; got a list"),
        (READ + "steps:\n  gopher_qualty: {min_words: 3}", r'own.yaml:4: base.yaml, which this recipe extends, has no step "gopher_qualty"; did you mean "gopher_quality"\? It has: gopher_quality, c4,'),
        (READ + "steps: {after minhas: redact/pii}", 'has no step "minhas"; did you mean "minhash"'),
        (READ + "write: {parquet: {level: 3}}", r"has no writer \"parquet\".*It has: shards, jsonl. To add one: `after jsonl: WRITER`"),
        (READ + "steps: {c4: 5}", "own.yaml:3: c4: a change is a mapping of parameters, or null to leave it out; got"),
        (READ + "steps: {c4: {min_word: 5}}", 'own.yaml:3: filter/c4 has no parameter "min_word"'),
        ("extends: base.yaml", "base.yaml:4: the environment variable NOT_SET is not set"),
        ("extend: base.yaml", 'has no key "extend"; did you mean "extends"'),
    ],
)  # fmt: skip
def test_what_cannot_be_extended_or_changed_says_where_and_what_there_is(written, text, message):
    with pytest.raises(RecipeError, match=message):
        written(text)


def test_a_circle_is_named(written, tmp_path):
    (tmp_path / "b.yaml").write_text("extends: own.yaml\n")
    with pytest.raises(RecipeError, match=r"these recipes extend each other: own.yaml → b.yaml → own.yaml"):
        written("extends: b.yaml\n")


def test_merge_keys_take_what_another_mapping_has():
    text = """
read: {jsonl: a.jsonl}
steps:
  - filter/gopher_quality: &bounds {min_words: 30, max_words: 900}
  - filter/gopher_quality: {<<: *bounds, max_words: 800}
  - filter/gopher_quality: {<<: [{min_words: 1}, *bounds]}
"""
    first, second, third = Recipe.parse(text).steps
    assert (second.min_words, second.max_words) == (30, 800) and first.max_words == 900
    assert (third.min_words, third.max_words) == (1, 900)
    with pytest.raises(RecipeError, match="<string>:1: << takes a mapping, or a list of mappings"):
        Recipe.parse("read: {jsonl: {<<: 5, paths: a}}")


def test_the_command_prints_it_in_full(written, tmp_path, corpusmill):
    written(READ + "steps: {c4: null}")
    status, out, _ = corpusmill("recipe", tmp_path / "own.yaml")
    assert status == 0 and Recipe.parse(out) == full(change=("  - filter/c4\n", ""))
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    status, out, _ = corpusmill("check", tmp_path / "own.yaml", "--set", f"read.jsonl.paths={tmp_path}/a.jsonl")
    assert status == 0 and "extends base.yaml" in out and "gopher_quality" in out and "c4" not in out
