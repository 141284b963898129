"""A recipe that is written and read again is the same recipe."""

import dataclasses
import types
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from recipe_parts import Everything, KeepShort, Letters, Lines, Rows, Window

from corpusmill import read, steps, write
from corpusmill.errors import CorpusmillError
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import Recipe, RunSettings, Source, name_of
from corpusmill.recipe.order import gives_pages
from corpusmill.recipe.values import is_required, parameters
from corpusmill.steps import Pack, Tokenize
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.mix.buckets import MixBuckets
from corpusmill.steps.mix.rehydrate import Rehydrate
from corpusmill.steps.mix.sources import Sources
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.write import AddsTokens, DocumentWriter

WORDS = "no 0755 1e-3 1:30 2024-01-01 null ~ ~/x # *.gz << ${X} $${ ' \" [a] { - true 0o17 !x &x % @ = ? : a:b -x ,"
BREAKS = ["", " a ", "a: b", "# x", "- x", "a\nb", "\t", "é\u2028", "\x85", "\ufeff", "\r", "\0", "\N{GRINNING FACE}"]
tricky = st.sampled_from(WORDS.split() + BREAKS)
text = tricky | st.text(max_size=12)
whole = st.integers(-(2**63), 2**63 - 1)
number = st.floats(allow_nan=False)


def value_of(want: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation."""
    origin, args = get_origin(want), get_args(want)
    simple = {int: whole, float: number, bool: st.booleans(), str: text, type(None): st.none(), Path: text.map(Path)}
    if want in simple:
        return simple[want]
    if origin in (Union, types.UnionType):
        return st.one_of([value_of(option) for option in args])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple and args[1:] == (Ellipsis,):
        return st.lists(value_of(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(value_of(arg) for arg in args))
    if origin is frozenset:
        return st.frozensets(value_of(args[0]), max_size=3)
    if want is Window:
        return st.builds(Window, low=st.floats(0, 0.4), high=st.floats(0.5, 1))
    if isinstance(want, type) and dataclasses.is_dataclass(want):
        return made(want)
    return st.dictionaries(value_of(args[0]), value_of(args[1]), max_size=3)


MIXES = (MixBuckets, Rehydrate, Sources)


@st.composite
def made(draw: st.DrawFn, cls: type[Any]) -> Any:
    """A step with some parameters drawn; with the others alone where the class refuses what was drawn."""
    wanted = parameters(cls)
    must = [field.name for field in dataclasses.fields(cls) if field.init and is_required(field)]
    chosen = draw(st.sets(st.sampled_from(sorted(wanted)), max_size=3)) if wanted else set()
    drawn = {name: draw(value_of(wanted[name])) for name in sorted(chosen | set(must))}
    for parameters_ in (drawn, {name: value for name, value in drawn.items() if name in must}):
        try:
            return cls(**parameters_)
        except (CorpusmillError, ValueError, TypeError):
            continue
    return KeepShort(max_words=1)


@cache
def shipped(registry: Any) -> list[type[Any]]:
    return [registry.find(name) for name in registry.names()]


def anything(registry: Any, *own: type[Any]) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: st.sampled_from([*shipped(registry), *own]).flatmap(made))


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Recipes of all that ships and some of one's own."""
    of_text = anything(read, Lines).filter(lambda reader: not gives_pages(reader))
    readers = draw(st.lists(of_text, min_size=1, max_size=3))
    tokens: list[Any] = draw(st.sampled_from([[], [Bpe()], [Bpe(), Concat()], [Letters(), Rows()]]))
    names = draw(st.lists(text.filter(lambda name: name and "\0" not in name), min_size=3, max_size=3, unique=True))
    sources = tuple(names[: len(readers)])
    on_text = anything(steps, Everything, KeepShort).filter(
        lambda step: (
            not isinstance(step, Tokenize | Pack | Rehydrate)
            and (bool(tokens) or getattr(step, "unit", None) != "tokens")
            and not (isinstance(step, Sources | MixBuckets) and step.incompatibility(sources, bool(tokens)))
        )
    )
    writers: st.SearchStrategy[Any] = anything(write).filter(
        lambda writer: len(tokens) == 2 or (isinstance(writer, DocumentWriter) and not isinstance(writer, AddsTokens))
    )
    paths = st.lists(text.filter(bool), min_size=1, max_size=3)
    drawn = draw(st.lists(on_text, max_size=4)) + draw(st.lists(made(Rehydrate), max_size=1))
    mixes = [step for step in drawn if isinstance(step, MIXES)][:1]  # a recipe has one, after all that change texts
    return Recipe(
        name=draw(st.sampled_from(["recipe", "no", "web 2", "é"])),
        seed=draw(st.sampled_from([0, 7, 2**64 - 1])),
        read=[Source(reader, draw(paths), name) for reader, name in zip(readers, names)],
        steps=[step for step in drawn if not isinstance(step, MIXES)] + mixes + tokens,
        write=draw(st.lists(writers, max_size=2)),
        run=RunSettings(
            workers=draw(st.none() | st.integers(1, 9)),
            folder=draw(st.none() | st.just("runs/no")),
            error_budget=draw(st.sampled_from([0, 100, 0.5, 1.0])),
        ),
    )


@settings(max_examples=60, deadline=None)
@given(recipes())
def test_a_dumped_recipe_reads_back_equal(recipe):
    again = Recipe.parse(recipe.dump())
    assert again == recipe
    assert again.dump() == recipe.dump()
    resolved = Recipe.parse(recipe.dump(resolved=True))
    assert resolved == recipe and resolved.fingerprint() == recipe.fingerprint()


@settings(max_examples=60, deadline=None)
@given(made(Everything))
def test_a_parameter_of_any_type_reads_back_equal(step):
    recipe = Recipe(read=[Source(Lines(), "x")], steps=[step])
    again = Recipe.parse(recipe.dump())
    assert again == recipe
    assert again.fingerprint() == recipe.fingerprint()


def test_writes_only_parameters_that_differ_from_their_default():
    recipe = Recipe(
        name="web",
        read=[
            Source(JsonlReader(), "a.jsonl"),
            Source(Lines(), ["b", "c"]),
            Source(JsonlReader(text="body"), ["d"], "forum"),
        ],
        steps=[GopherQuality(min_words=30, max_words=100_000), GopherQuality(), Everything(words=("no",), maybe=None)],
        run=RunSettings(workers=2, error_budget=1),
    )
    assert recipe.dump() == (
        "name: web\n"
        "read:\n"
        "  - jsonl: a.jsonl\n"
        "  - recipe_parts:Lines: [b, c]\n"
        "  - jsonl: {paths: d, source: forum, text: body}\n"
        "steps:\n"
        "  - filter/gopher_quality: {min_words: 30}\n"
        "  - filter/gopher_quality\n"
        "  - recipe_parts:Everything: {words: ['no'], maybe: null}\n"
        "run:\n"
        "  workers: 2\n"
        "  error_budget: 1\n"
    )


@pytest.mark.parametrize(
    "path", sorted((Path(steps.__file__).parents[1] / "recipes").glob("*.yaml")), ids=lambda path: path.stem
)
def test_a_resolved_recipe_has_every_parameter(path, monkeypatch):
    for name in ("INPUT", "WET", "WEB", "BOOKS", "WIKIPEDIA", "GITHUB", "MIX", "OWN"):  # which some of them ask for
        monkeypatch.setenv(name, "docs.jsonl")
    recipe = Recipe.load(path)
    said = yaml.safe_load(recipe.dump(resolved=True))
    things = {"read": [source.reader for source in recipe.read], "steps": recipe.steps, "write": recipe.write}
    parts = [section for section in things if things[section]]
    assert list(said) == ["name", "seed", *parts, *(["split"] if recipe.split else []), "run"]
    for section, made in things.items():
        for thing, entry in zip(made, said.get(section, []), strict=True):
            own = entry if isinstance(entry, dict) else {entry: {}}
            assert list(own) == [name_of(thing)]
            missing = parameters(type(thing)).keys() - own[name_of(thing)].keys()
            assert all(thing.rules and name not in thing.rules for name in missing), "only rules that are switched off"
    assert said["run"].keys() == parameters(RunSettings).keys()


def test_a_resolved_recipe_does_the_same_where_defaults_have_changed(monkeypatch):
    recipe = Recipe(read=[Source(JsonlReader(), "x")], steps=[GopherQuality()])
    short, resolved = recipe.dump(), recipe.dump(resolved=True)
    monkeypatch.setitem(GopherQuality.__init__.__kwdefaults__, "min_words", 7)
    assert Recipe.parse(short) != recipe and Recipe.parse(resolved) == recipe


def test_one_is_not_taken_for_a_default_of_true_or_one_half():
    assert "count_or_share: 10.0" in Recipe(read=[Source(Lines(), "x")], steps=[Everything(count_or_share=10.0)]).dump()


@pytest.mark.parametrize("word", ["no", "on", "0755", "1:30", "2024-01-01", "1e3", "0o17", "null", "yes"])
def test_readers_of_yaml_1_1_see_the_same_text(word):
    text = Recipe(read=[Source(Lines(), "x")], steps=[Everything(word=word)]).dump()
    assert yaml.safe_load(text)["steps"][0]["recipe_parts:Everything"] == {"word": word}
