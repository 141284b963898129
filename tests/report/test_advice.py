"""Every change of a recipe that is advised comes up here, is done as it says, and is checked and run then.

A new one has a name in `recipe.advice.Name`; without a case here a test fails.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.recipe.advice import Name, RecipeChange, strip_html
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.recipe.parts import RunSettings
from corpusmill.recipe.selection import ForSources
from made_run import prose

NAMES: tuple[str, ...] = get_args(Name)


def changed(recipe: Recipe, changes: Sequence[RecipeChange]) -> Recipe:
    """The recipe with what is advised, as a person would do it."""
    for change in changes:
        every = labels(recipe.steps)
        steps: list[Any] = [
            step if selection is None else ForSources(step, selection)
            for step, selection in zip(recipe.steps, recipe.selections)
        ]
        parameters = dict(change.parameters)
        if change.do == "write":
            recipe = replace(recipe, write=[*recipe.write, change.step])
            continue
        if change.do == "set":
            at = every.index(change.step)
            steps[at] = replace(
                recipe.steps[at], **{n: tuple(v) if isinstance(v, list) else v for n, v in parameters.items()}
            )
        elif change.do == "replace":
            steps[every.index(change.step)] = {change.by: parameters}
        else:
            moved: Any = {change.step: parameters} if change.do == "add" else steps.pop(every.index(change.step))
            left = every if change.do == "add" else [label for label in every if label != change.step]
            word, _, label = change.place.partition(" ")
            place = {"first": 0, "last": len(left)}.get(word)
            steps.insert(left.index(label) + (word == "below") if place is None else place, moved)
        recipe = replace(recipe, steps=steps, selections=())
    return recipe


@dataclass
class Case:
    """A corpus, and steps, that a change is advised of.

    check   of the audit that advises it
    """

    check: str
    texts: Sequence[str]
    steps: Sequence[Any] = ()
    urls: Sequence[str] = ()
    write: Sequence[Any] = ("jsonl",)
    more: Sequence[Any] = field(default_factory=list)  # sources


def good(documents, words=90):
    random = Random(3)
    return [prose(random, words) for _ in range(documents)]


WORDS = good(1)[0]
COPIES = [*good(20), *good(3)]
NEAR = [*good(20), *(f"{text} Once more, and in other words." for text in good(3))]
TAGS = [*good(10), *(f"<div class='x'><p>{text}</p></div>" for text in good(3))]
QUESTION = "which of these rivers runs from the mountain through the old garden to the silver sea"
SITES = [f"https://big.example/{i}" for i in range(8)] + [f"https://site{i}.example/x" for i in range(56)]
PACKED = ["tokenize/bpe", {"pack/one_per_row": {"length": 512}}]
TEMPLATE = [f"A page of the shop where you can buy all.\n{text}\n" for text in good(30)]
PLAIN = {"redact/pii": {"kinds": ["email", "ip"], "forms": "plain"}}
SPELLED = [*good(10), *(f"{text} Write to jane.doe [at] host [dot] example now." for text in good(3))]
MAILS = [*good(10), *(f"{text} Write to jane.doe@host.example or call +1 212 555 2368." for text in good(3))]

CASES: dict[str, Case] = {
    "strip html": Case("residual_html", TAGS),
    "decode entities": Case(
        "residual_html", [*good(10), *(f"{text} Fish &amp; chips." for text in good(3))], ["clean/html"]
    ),
    "find copies": Case("duplicates_found", COPIES, ["filter/url", *PACKED], write=["shards"]),
    "find near copies": Case("duplicates_left", NEAR, ["dedup/exact"]),
    "compare last": Case(
        "duplicates_left",
        [f"{text} {' '.join(f'{n}-{i}.' for n in range(60))}" for text in good(6) for i in range(2)],
        ["dedup/minhash", {"clean/replace": {"patterns": [["[0-9]+-[0-9]+\\.", ""]]}}],
    ),
    "lower the threshold": Case(
        "duplicates_left", NEAR, [{"dedup/minhash": {"threshold": 0.99, "bands": 2, "rows": 64}}]
    ),
    "count tokens": Case("chars_per_token", good(10)),
    "write rows": Case("utilisation", good(10), ["tokenize/bpe"], write=["jsonl"]),
    "pack better": Case("utilisation", good(60), PACKED, write=["shards"]),
    "redact personal data": Case("pii_left", MAILS, ["dedup/exact"]),
    "redact more kinds": Case("pii_left", MAILS, ["redact/pii"]),
    "redact more forms": Case("pii_left", SPELLED, [PLAIN]),
    "look for benchmarks": Case("contamination", good(10), ["dedup/exact"]),
    "drop benchmarks": Case(
        "contamination",
        [*good(5), f"{WORDS} {QUESTION} {WORDS}"],
        [{"decontaminate/ngrams": {"benchmarks": "benchmarks/*.jsonl", "action": "mark"}}],
    ),
    "leave out a domain": Case("domain_share", good(64), urls=SITES),
    "tell languages": Case("languages_vanished", good(5), ["dedup/exact"]),
    "drop stubs": Case("near_empty", [*good(10), "Next page", "Home"], ["dedup/exact"]),
    "drop giants": Case("very_long", [*good(10), " ".join(good(2500))]),
    "drop shared lines": Case("one_template", TEMPLATE),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    asked = {"question": QUESTION, "answer": "none", "id": "1"}
    (tmp_path / "benchmarks" / "q.jsonl").write_text(json.dumps(asked) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recipe_of(case: Case) -> Recipe:
    rows = [{"text": text} | ({"url": case.urls[i]} if case.urls else {}) for i, text in enumerate(case.texts)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    Path("documents.jsonl").write_text(lines, "utf-8")
    return Recipe(
        read={"jsonl": "documents.jsonl"}, steps=case.steps, write=case.write, run=RunSettings(executor="serial")
    )


def advised(recipe: Recipe, folder: str, check: str) -> tuple[Any, tuple[RecipeChange, ...]]:
    done = corpusmill.run(recipe, folder=folder, executor=Serial(), progress="off")
    found = corpusmill.audit(done)[check]
    assert all(str(change) in found.advice for change in found.changes)
    assert not found.changes or json.dumps([change.to_json() for change in found.changes])
    return done, found.changes


def test_every_change_that_is_advised_has_a_case():
    assert set(CASES) == set(NAMES)


@pytest.mark.parametrize("name", CASES)
def test_what_is_advised_can_be_done_keeps_documents_and_is_not_advised_again(here, name):
    case = CASES[name]
    recipe = recipe_of(case)
    before, changes = advised(recipe, "before", case.check)
    assert name in {change.name for change in changes}, changes
    better = changed(recipe, changes)
    corpusmill.check(better)
    after, again = advised(better, "after", case.check)
    assert after.waterfall.documents_out >= 0.5 * before.waterfall.documents_out
    assert not {change.name for change in again} & {change.name for change in changes}


def test_the_same_is_said_of_html_before_and_after_a_run(here):
    recipe = recipe_of(CASES["strip html"])
    (change,) = strip_html(recipe, ["jsonl"])
    (warning,) = corpusmill.check(recipe).warnings
    assert warning.endswith(f": {change}") and str(change) == "add clean/html as the first step"
    better = changed(recipe, [change])
    assert corpusmill.check(better).warnings == ()


PAGES = "demo://pages.warc.gz"


@pytest.mark.parametrize(
    ("read", "steps", "expected"),
    [
        ({"warc": PAGES}, ["extract/blocks"], []),
        ({"jsonl": "x"}, ["clean/html"], []),
        ({"jsonl": "x"}, ["clean/normalize"], ["add clean/html as the first step"]),
        (  # a document with a text passes an extraction unchanged
            [{"warc": PAGES}, {"jsonl": "x"}],
            ["extract/blocks"],
            ["add `clean/html: {only: [jsonl]}` as the first step"],
        ),
        (
            [{"warc": PAGES}, {"jsonl": "x"}],
            [{"extract/blocks": {"only": "warc"}}],
            ["add `clean/html: {only: [jsonl]}` as the first step"],
        ),
        (
            [{"jsonl": {"paths": "x", "source": "a"}}, {"jsonl": {"paths": "x", "source": "b"}}],
            [{"clean/html": {"only": "a"}}],
            ["add `clean/html: {only: [b]}` as the first step"],
        ),
    ],
)
def test_html_is_stripped_where_no_step_extracts_or_strips_it(read, steps, expected):
    recipe = Recipe(read=read, steps=steps)
    changes = strip_html(recipe, [source.source for source in recipe.read])
    assert list(map(str, changes)) == expected
    corpusmill.recipe.check_order(changed(recipe, changes))
