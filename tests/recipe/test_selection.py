"""Which sources of a recipe a step is for."""

from dataclasses import dataclass, replace

import pytest

from corpusmill.errors import RecipeError
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import Recipe, Selection, Source, for_sources
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.url import FilterUrl

READ = "read:\n" + "".join(f"  - jsonl: {{paths: x, source: {name}}}\n" for name in ("web-a", "web-b", "wiki", "code"))
SOURCES = ("web-a", "web-b", "wiki", "code")


def parse(*steps: str, overrides: tuple[str, ...] = ()) -> Recipe:
    return Recipe.parse(READ + "steps:\n" + "".join(f"  - {step}\n" for step in steps), "web.yaml", overrides)


@pytest.mark.parametrize(
    ("said", "selection", "sources"),
    [
        ("only: wiki", Selection(only=["wiki"]), ("wiki",)),
        ("only: [code, wiki]", Selection(only=["code", "wiki"]), ("wiki", "code")),
        ('only: ["web-*"]', Selection(only="web-*"), ("web-a", "web-b")),
        ("except: code", Selection(except_="code"), ("web-a", "web-b", "wiki")),
        ('except: ["web-?", wiki]', Selection(except_=("web-?", "wiki")), ("code",)),
    ],
)
def test_a_step_names_its_sources_or_those_that_it_is_not_for(said, selection, sources):
    recipe = parse(f"filter/gopher_quality: {{min_words: 30, {said}}}", "filter/url")
    assert recipe.steps == (GopherQuality(min_words=30), FilterUrl())
    assert recipe.selections == (selection, None)
    assert selection.filter(SOURCES) == sources
    assert Recipe.parse(recipe.dump()) == recipe


def test_python_says_the_same():
    steps = [for_sources(GopherQuality(min_words=30), only=["web-*"]), FilterUrl()]
    recipe = Recipe(read=[Source(JsonlReader(), ["x"], name) for name in SOURCES], steps=steps)
    assert recipe == parse('filter/gopher_quality: {min_words: 30, only: "web-*"}', "filter/url")
    assert replace(recipe, seed=1).selections == recipe.selections
    with pytest.raises(RecipeError, match="the recipe has 1 steps, and selections for 2"):
        replace(recipe, steps=[FilterUrl()])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "filter/url: {only: wbe-a}",
            '7: filter/url has "wbe-a" in "only", and the recipe has no such source; did you',
        ),
        ("filter/url: {only: [wiki, Code]}", 'filter/url has "Code" in "only", and the recipe has no such source; did'),
        ('filter/url: {except: ["*-c"]}', "no such source. It has: web-a, web-b, wiki, code."),
        ("filter/url: {only: wiki, except: code}", 'filter/url takes "only" or "except", not both'),
        ("filter/url: {only: []}", "need the name of a source; leave them out for all sources"),
        ('filter/url: {only: ["", wiki]}', "need the name of a source; leave them out for all sources"),
        ('filter/url: {except: "*"}', "filter/url applies to no source: except * leaves none; remove the step"),
        ("filter/url: {only: 3}", "filter/url: only must be text or a list of text or null, got the number 3"),
        ("tokenize/bpe: {only: wiki}", 'tokenize/bpe makes the tokens of all sources, so it takes no "only"'),
        ("mix/sources: {temperature: 2, except: wiki}", 'mix/sources draws from all sources, so it takes no "except"'),
        ("test_selection:Named: {only: wiki}", 'test_selection:Named has a parameter "only", which every step takes'),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(step, message):
    with pytest.raises(RecipeError) as error:
        parse(step)
    assert message in str(error.value)


def test_packing_is_for_all_sources():
    with pytest.raises(RecipeError, match='pack/concat makes the tokens of all sources, so it takes no "only"'):
        parse("tokenize/bpe", "pack/concat: {only: wiki}")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A step with a parameter of a name that is taken."""

    only: str = ""
    needs = ()

    def reasons(self, docs, signals):
        raise NotImplementedError


PAGES = "read:\n  - warc: {paths: x, source: web}\n  - html: {paths: x, source: site}\n  - jsonl: {paths: x}\nsteps:\n"


def test_pages_must_be_extracted_in_each_source():
    Recipe.parse(PAGES + "  - extract/resiliparse: {only: web}\n  - extract/trafilatura: {only: site}")
    Recipe.parse(PAGES + "  - filter/gopher_quality: {only: jsonl}\n  - extract/resiliparse: {except: jsonl}")
    with pytest.raises(RecipeError) as error:
        Recipe.parse(PAGES + "  - extract/resiliparse: {only: web}", "web.yaml")
    assert str(error.value).startswith("web.yaml:3: html gives HTML pages, and no step extracts their text")
    said = "reads text, and read/html gives HTML pages, which have none before extract/resiliparse; "
    said += 'move it below extract/resiliparse, or name the other sources in "only"'
    with pytest.raises(RecipeError, match=said):
        Recipe.parse(PAGES + "  - filter/gopher_quality: {only: [jsonl, site]}\n  - extract/resiliparse", "web.yaml")


def test_a_setting_chooses_other_sources_and_null_all():
    step = "filter/url: {only: wiki}"
    assert parse(step, overrides=("steps.url.only=[wiki, code]",)).selections == (Selection(only=("wiki", "code")),)
    assert parse(step, overrides=("steps.url.only=null", "steps.url.except=wiki")).selections == (
        Selection(except_="wiki"),
    )
    assert parse(step, overrides=("steps.url.only=null",)).selections == (None,)


def test_what_is_chosen_is_in_the_fingerprint_and_how_it_is_said_is_not():
    prints = {
        said: parse(f"filter/url: {{{said}}}").fingerprint()
        for said in ("", "only: '*'", "only: 'w*'", "except: code", "only: [wiki, web-b, web-a]", "only: wiki")
    }
    assert prints[""] == prints["only: '*'"]
    assert prints["only: 'w*'"] == prints["except: code"] == prints["only: [wiki, web-b, web-a]"]
    assert len(set(prints.values())) == 3
