"""A recipe in Python takes its parts as values, and as YAML has them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpusmill import Recipe, Rows, RunSettings, Source, for_sources
from corpusmill.errors import RecipeError
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.text import TextReader
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.language import FilterLanguage
from corpusmill.write.shards import ShardsWriter

TABLE = pa.table({"text": ["One."]})


def test_steps_and_writers_are_written_as_in_yaml():
    made = Recipe(
        read={"jsonl": "a.jsonl"},
        steps=[
            "dedup/exact",
            {"filter/gopher_quality": {"min_words": 30}},
            {"filter/language": {"only": "jsonl"}},
            Exact(),
            "tokenize/bpe",
            {"pack/concat": {"length": 32}},
        ],
        write=["jsonl", {"shards": {"tokens_per_shard": 1000}}],
    )
    assert made.steps[:4] == (Exact(), GopherQuality(min_words=30), FilterLanguage(), Exact())
    assert made == Recipe.parse(made.dump())
    assert made.write[1] == ShardsWriter(tokens_per_shard=1000)
    assert made.selections[2] == for_sources(FilterLanguage(), only="jsonl").selection
    assert Recipe(read={"jsonl": "a"}, steps="dedup/exact").steps == (Exact(),)


def test_sources_are_written_as_in_yaml_or_are_documents():
    def read(given: object) -> list[object]:
        return [
            (type(source).__name__, source.source, None if isinstance(source, Rows) else source.paths)
            for source in Recipe(read=given).read
        ]

    jsonl = [("Source", "jsonl", ("a.jsonl",))]
    assert read({"jsonl": "a.jsonl"}) == read([{"jsonl": Path("a.jsonl")}]) == read({"jsonl": ["a.jsonl"]}) == jsonl
    assert read(Source(JsonlReader(), Path("a.jsonl"))) == read([Source(JsonlReader(), "a.jsonl")]) == jsonl
    assert read({"jsonl": {"paths": "a", "source": "web"}}) == [("Source", "web", ("a",))]
    assert (
        read([{"text": {"paths": "a.txt"}}]) == read(Source(TextReader(), "a.txt")) == [("Source", "text", ("a.txt",))]
    )
    assert read({"web": TABLE, "books": [{"text": "x"}]}) == [("Rows", "web", None), ("Rows", "books", None)]
    assert read(TABLE) == read([{"text": "One."}, {"text": "Two."}]) == read([TABLE]) == [("Rows", "rows", None)]
    assert read({"web": Source(JsonlReader(), "a.jsonl")}) == [("Source", "web", ("a.jsonl",))]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"steps": ["dedup/exakt", {"filter/gopher_quality": {"min_word": 3}}]}, 'there is no step "dedup/exakt"; did you mean "dedup/exact"?'),
        ({"steps": ["dedup/exakt", {"filter/gopher_quality": {"min_word": 3}}]}, 'steps\\[1\\]: filter/gopher_quality has no parameter "min_word"'),
        ({"steps": [{"dedup/exact": {}, "dedup/minhash": {}}]}, "a step is one name with its parameters"),
        ({"steps": [{"filter/gopher_quality": {"min_words": object()}}]}, "cannot be written in a recipe"),
        ({"steps": [Exact]}, "steps\\[0\\] is the class Exact; it must be an instance: Exact\\(\\)"),
        ({"steps": [len]}, "steps\\[0\\] is the function len; say what it does: corpusmill.as_filter\\(len\\)"),
        ({"steps": [lambda document: True]}, "steps\\[0\\] is a lambda; say what it does: corpusmill.as_filter\\(lambda"),
        ({"write": ["jsnol"]}, 'no writer "jsnol"; did you mean "jsonl"'),
        ({"read": "a.jsonl"}, "read: a.jsonl is a path; say what it holds"),
        ({"read": "a.csv"}, "as in read={\"csv\": 'a.csv'}"),
        ({"read": ["a.jsonl"]}, "read\\[0\\] is a.jsonl: for a path say what it holds"),
        ({"read": {"jsnol": ["a.jsonl"]}}, 'no reader "jsnol"; did you mean "jsonl"'),
        ({"read": []}, "at least one source"),
        ({"read": [5]}, "read\\[0\\] is not a source"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(parts, message):
    with pytest.raises(RecipeError, match=message):
        Recipe(**{"read": {"jsonl": "a"}, **parts})


def test_overrides_are_a_string_a_list_or_a_mapping():
    text = "read: {jsonl: a}\nsteps: [filter/gopher_quality, filter/language]\n"
    one = Recipe.parse(text, overrides="steps.gopher_quality.min_words=30")
    assert one == Recipe.parse(text, overrides=["steps.gopher_quality.min_words=30"])
    assert one == Recipe.parse(text, overrides={"steps.gopher_quality.min_words": 30})
    several = {"name": "007", "steps.language.languages": ("en", "no"), "read.jsonl.paths": Path("a${b}.jsonl")}
    made = Recipe.parse(text, overrides=several)
    assert (made.name, made.steps[1].languages, made.read[0].paths) == ("007", ("en", "no"), ("a${b}.jsonl",))
    with pytest.raises(RecipeError, match='no parameter "min_word"'):
        Recipe.parse(text, overrides={"steps.gopher_quality.min_word": 30})


def test_a_path_of_pathlib_is_taken_for_a_folder(tmp_path):
    assert RunSettings(folder=tmp_path / "x").folder == str(tmp_path / "x")


def test_a_recipe_is_shown_in_a_line_and_as_yaml_in_a_notebook():
    made = Recipe(name="x", read={"web": TABLE, "jsonl": "a"}, steps=["dedup/exact"], write="jsonl")
    assert repr(made) == "<Recipe x: web, jsonl → exact → jsonl>"
    assert made._repr_html_() == "<p><strong>&lt;Recipe x: web, jsonl → exact → jsonl&gt;</strong></p>"
    assert "<pre>read:\n  - jsonl: a\n</pre>" in Recipe(read={"jsonl": "a"})._repr_html_()


def test_settings_of_a_run_are_a_value_or_as_in_yaml():
    settings: Any = {"unit_mb": 8, "sample": "1%"}
    wrong: Any = {"worker": 2}
    number: Any = 5
    assert Recipe(read={"jsonl": "a.jsonl"}, run=settings) == Recipe(
        read={"jsonl": "a.jsonl"}, run=RunSettings(**settings)
    )
    with pytest.raises(RecipeError, match=r'no parameter "worker"; did you mean "workers"'):
        Recipe(read={"jsonl": "a.jsonl"}, run=wrong)
    with pytest.raises(RecipeError, match="run must be a mapping of settings, got the number 5"):
        Recipe(read={"jsonl": "a.jsonl"}, run=number)
