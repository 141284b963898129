"""The JSON Schema of recipes says what the loader says, as far as a schema can."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from test_recipe_dump import recipes

from corpusmill import read, steps, write
from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe, shipped
from corpusmill.recipe.json_schema import recipe_schema
from corpusmill.recipe.tree import read_scalar

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, of the extra dev")
SCHEMA = recipe_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
READ = "read: {jsonl: docs.jsonl}\n"


def value(text: str) -> Any:
    """A recipe as an editor sees it: YAML 1.2, before variables are replaced."""
    return _value(yaml.compose(text, Loader=yaml.BaseLoader))


def _value(node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return read_scalar(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    return {key.value: _value(item) for key, item in node.value}


def problems(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(value(text))]


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", shipped.names())
def test_a_recipe_that_ships_is_valid(name):
    assert problems(shipped.shipped(name).path.read_text("utf-8")) == []


@settings(max_examples=20, deadline=None)
@given(recipes())
def test_what_the_loader_accepts_is_valid(recipe):
    assert problems(recipe.dump()) == []


@pytest.mark.parametrize(
    "text",
    [
        "read: {jsonl: [a.jsonl, b/*.jsonl]}",
        "read: [{jsonl: {paths: a, source: x}}, {warc: {paths: [b]}}]",
        "read: {'my_module:Reader': {paths: a}}",
        READ + "steps: filter/basic",
        READ + "steps: [filter/basic, 'my_module:Step', {'my_module:Other': {low: 1}}]",
        READ + "steps: [{filter/basic: }]",
        READ + "steps: [{filter/basic: {min_words: null, max_digit_ratio: 1}}]",
        READ + 'steps: [{filter/basic: {min_words: "${MIN_WORDS:-30}"}}]',
        READ + "steps: [{filter/function: my_module:is_good}]",
        READ + "steps: [{filter/c4: {only: docs}}, {filter/fineweb: {except: [docs]}}]",
        READ + "steps: [{mix/sources: {weights: {a: 0.5, b: 2}, budget: 500k}}]",
        READ + "steps: [{mix/sources: {weights: [[a, 1]], budget: 500000}}]",
        READ + "write: [shards, {jsonl: {columns: {text: body}}}]\nrun: {workers: 2, error_budget: 100}",
        "extends: fineweb\nsteps: {c4: null, gopher_quality: {min_words: 30}, after minhash: [redact/pii]}",
        "extends: ../base.yaml\nread: {jsonl: a}\nsteps: [filter/basic]\nwrite: {shards: {tokens_per_shard: 1000}}",
        READ + "split: {validation: 0.01, by: domain}",
        READ + "run: {workers: null, error_budget: 0.05}\nseed: 18446744073709551615",
    ],
)
def test_short_forms_are_valid(text):
    assert problems(text) == []


WRONG = """
steps: []
read: jsonl
read: {}
read: []
read: {jsnl: a}
read: {jsonl: {source: a}}
read: {jsonl: {paths: 5}}
read: {jsonl: {paths: []}}
read: {jsonl: {paths: a, txt: b}}
read: {jsonl: a, warc: b}
read: {jsonl: a}; stps: []
read: {jsonl: a}; name: 5
read: {jsonl: a}; name: a/b
read: {jsonl: a}; seed: -1
read: {jsonl: a}; seed: one
read: {jsonl: a}; steps: [filter/basics]
read: {jsonl: a}; steps: [gopher_quality]
read: {jsonl: a}; steps: [{filter/basic: {min_word: 3}}]
read: {jsonl: a}; steps: [{filter/basic: {min_words: many}}]
read: {jsonl: a}; steps: [{filter/basic: {min_words: 1.5}}]
read: {jsonl: a}; steps: [{filter/basic: {min_words: -1}}]
read: {jsonl: a}; steps: [{filter/basic: {max_digit_ratio: 1.5}}]
read: {jsonl: a}; steps: [{filter/basic: {rules: [min_wrds]}}]
read: {jsonl: a}; steps: [{filter/basic: [min_words]}]
read: {jsonl: a}; steps: [{filter/basic: {}, filter/c4: {}}]
read: {jsonl: a}; steps: [{filter/language: {languages: en}}]
read: {jsonl: a}; steps: [{dedup/minhash: {unit: word}}]
read: {jsonl: a}; steps: [{dedup/minhash: {threshold: 0}}]
read: {jsonl: a}; steps: [{dedup/minhash: {mark: maybe}}]
read: {jsonl: a}; steps: [{filter/c4: {only: a, except: b}}]
read: {jsonl: a}; steps: [filter/keep_where, 5]
read: {jsonl: a}; write: [shard]
read: {jsonl: a}; write: [{jsonl: {compression: gzip}}]
read: {jsonl: a}; steps: {c4: null}
read: {jsonl: a}; split: {validation: 0.1, by: site}
extends: [fineweb]
extends: fineweb; steps: {c4: 5}
read: {jsonl: a}; run: {worker: 2}
read: {jsonl: a}; run: {workers: 0}
read: {jsonl: a}; run: {executor: slurm}
read: {jsonl: a}; run: {dropped_text: some}
""".strip().splitlines()


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_wrong_for_both(line):
    text = line.replace("; ", "\n")
    assert problems(text)
    with pytest.raises(RecipeError):
        Recipe.parse(text)


def test_every_name_and_every_parameter_has_its_place_and_most_a_description():
    known = {"reader": read, "step": steps, "writer": write}
    said = total = 0
    for kind, registry in known.items():
        definition = SCHEMA["$defs"][kind]
        mapping = definition if "properties" in definition else definition["anyOf"][-1]
        assert list(mapping["properties"]) == registry.names()
        for schema in mapping["properties"].values():
            assert re.match(r"\w", schema["description"])
            said += sum("description" in parameter for parameter in schema["properties"].values())
            total += len(schema["properties"])
    assert said / total > 0.5
