"""`rules: [...]`: only the rules that are named are on."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill import steps
from corpusmill.errors import RecipeError
from corpusmill.recipe.model import Recipe
from corpusmill.steps.clean.refinedweb_lines import RefinedwebLines
from corpusmill.steps.filter.basic import Basic
from corpusmill.steps.filter.c4 import C4
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.gopher_repetition import GopherRepetition
from corpusmill.steps.filter.url import FilterUrl
from corpusmill.steps.verdict import rules_of

WITH_RULES = [steps.find(name) for name in steps.names() if hasattr(steps.find(name), "SWITCHES")]


def off(step: Any) -> set[str]:
    return {rule for rule in step.SWITCHES if getattr(step, rule) is None or getattr(step, rule) in (False, ())}


def test_the_families_with_several_rules_have_them():
    assert {cls.__name__ for cls in WITH_RULES} == {
        *(
            "Basic",
            "C4",
            "Fineweb",
            "GopherQuality",
            "GopherRepetition",
            "RefinedwebLines",
            "FilterToxicity",
            "FilterUrl",
            "Fineweb2",
        )
    }


@pytest.mark.parametrize("cls", WITH_RULES)
def test_a_switch_is_a_parameter_and_every_rule_is_a_switch(cls):
    fields = {field.name for field in dataclasses.fields(cls)}
    assert {rule.parameter for rule in rules_of(cls)} <= set(cls.SWITCHES) <= fields
    assert "rules" in fields


@pytest.mark.parametrize("cls", WITH_RULES)
@given(data=st.data())
def test_those_named_keep_their_defaults_and_all_others_are_off(cls, data):
    default = cls()
    on = [rule for rule in cls.SWITCHES if rule not in off(default)]
    chosen = data.draw(st.lists(st.sampled_from(on), min_size=1, unique=True))
    step = cls(rules=tuple(chosen))
    assert {rule: getattr(step, rule) for rule in chosen} == {rule: getattr(default, rule) for rule in chosen}
    assert off(step) == set(cls.SWITCHES) - set(chosen)
    assert step == cls(rules=tuple(reversed(chosen))) and hash(step) == hash(cls(rules=tuple(chosen)))


def test_thresholds_may_be_set_beside():
    step = GopherRepetition(rules=("max_top_2_gram_chars", "max_top_3_gram_chars"), max_top_2_gram_chars=0.5)
    assert step.max_top_2_gram_chars == 0.5 and step.max_top_3_gram_chars == 0.18
    assert len(off(step)) == 11
    assert Basic(rules=("min_characters",), min_characters=100).min_characters == 100


def test_parts_that_are_no_bounds_can_be_named_too():
    c4 = C4(rules=("policy", "min_sentences"))
    assert (c4.policy, c4.min_sentences, c4.terminal_punctuation, c4.min_words_per_line) == (True, 5, False, None)
    url = FilterUrl(rules=("hard_words",))
    assert url.hard_words == "url/hard_words" and url.sub_words == () and url.max_soft_words is None
    lines = RefinedwebLines(rules=("numeric",))
    assert lines.numeric and not lines.counters and lines.max_words_removed is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rules": ("max_top_2_gram",)}, 'there is no rule "max_top_2_gram"; did you mean "max_top_2_gram_chars"'),
        ({"rules": ()}, "rules is empty, so nothing would be judged. Name some of: max_duplicate_paragraphs,"),
        (
            {"rules": ("max_duplicate_lines",), "max_duplicate_line_chars": 0.5},
            "max_duplicate_line_chars is set, and is",
        ),
        (
            {"rules": ("max_duplicate_lines",), "max_duplicate_lines": None},
            "max_duplicate_lines, and it is switched off",
        ),
    ],
)
def test_what_contradicts_the_list_is_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        GopherRepetition(**parameters)


def test_a_rule_without_a_default_needs_a_bound_beside():
    with pytest.raises(RecipeError, match="rules has max_repeat_ratio, and it has no default: write a value beside it"):
        Basic(rules=("max_repeat_ratio",))


RECIPE = "read: {jsonl: x.jsonl}\nsteps:\n  - filter/gopher_quality: "


def test_in_a_recipe_even_a_default_that_is_not_named_is_refused():
    with pytest.raises(
        RecipeError, match="<string>:3: filter/gopher_quality: max_words is set, and is not one of rules"
    ):
        Recipe.parse(RECIPE + "{rules: [min_words], max_words: 100000}")
    Recipe.parse(RECIPE + "{rules: [min_words], max_words: null}")


def test_a_dumped_recipe_names_the_rules_and_no_nulls():
    recipe = Recipe.parse(RECIPE + "{rules: [max_words, min_words], min_words: 20}")
    assert recipe.dump().endswith("filter/gopher_quality: {min_words: 20, rules: [min_words, max_words]}\n")
    assert Recipe.parse(recipe.dump()) == recipe
    assert recipe.steps[0] == GopherQuality(rules=("min_words", "max_words"), min_words=20)


def test_what_if_can_ask_for_other_rules(tmp_path: Path):
    import corpusmill
    from corpusmill.execute.serial import Serial
    from corpusmill.report.what_if import what_if

    (tmp_path / "in.jsonl").write_text('{"text": "the end"}\n{"text": "of to and with the"}\n', "utf-8")
    said = f"read: {{jsonl: {tmp_path}/in.jsonl}}\nsteps:\n  - filter/gopher_quality: {{rules: [min_stop_words]}}\n"
    folder = str(tmp_path / "run")
    done = corpusmill.run(Recipe.parse(said), folder=folder, executor=Serial())
    assert dict(done.waterfall.rows[0].reasons) == {"min_stop_words": 1}
    before, after = what_if(folder, ["gopher_quality.rules=[min_words]"]).kept
    assert (before.documents, after.documents) == (1, 0)
