"""Recipes made in Python."""

from typing import Any

import pytest
from recipe_parts import Everything, KeepShort, Lines

from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe, RunSettings, Source


def test_sequences_become_tuples_so_that_equal_recipes_are_equal():
    one = Recipe(read=[Source(Lines(), ["a"])], steps=[KeepShort(max_words=1)], write=[])
    two = Recipe(read=(Source(Lines(), ("a",), "lines"),), steps=(KeepShort(max_words=1, share=0.5),))
    assert one == two
    assert hash(one) == hash(two)


def test_a_path_alone_is_one_path():
    assert Source(Lines(), "abc").paths == ("abc",)


def test_the_folder_is_named_for_the_recipe_unless_it_is_given():
    source = Source(Lines(), "x")
    assert Recipe(read=[source], name="web").folder == "runs/web"
    assert Recipe(read=[source], name="web", run=RunSettings(folder="there")).folder == "there"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"read": []}, "a recipe needs at least one source to read"),
        ({"read": [Lines()]}, r"read\[0\] is not a source; write Source\(Lines\(…\), paths\)"),
        ({"read": [Source(Lines(), "a"), Source(Lines(), "b")]}, r'read\[1\]: another source is named "lines"'),
        (
            {"steps": [KeepShort(max_words=1), Everything]},
            r"steps\[1\] is the class Everything; it must be an instance: Everything\(\)",
        ),
        ({"steps": ["filter/ulr"]}, r'steps\[0\]: there is no step "filter/ulr"; did you mean "filter/url"'),
        ({"write": [3]}, r"write\[0\] must be a frozen dataclass, got 3"),
        ({"name": ""}, "the name of a recipe is that of its folder, which '' cannot be"),
        ({"name": "../x"}, "is that of its folder"),
        ({"seed": 2**64}, r"need a seed from 0 to 2\*\*64 - 1, got 18446744073709551616"),
    ],
)
def test_refuses_parts_that_cannot_be_one(parts: dict[str, Any], message):
    with pytest.raises(RecipeError, match=message):
        Recipe(**{"read": [Source(Lines(), "x")], **parts})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "need workers >= 1"),
        ({"executor": "serail"}, 'there is no executor "serail"; did you mean "serial"'),
        ({"executor": "x"}, 'there is no executor "x". Use one of: processes, ray, serial'),
        ({"error_budget": float("nan")}, "error_budget is a share"),
    ],
)
def test_refuses_settings_that_cannot_be(settings, message):
    with pytest.raises(RecipeError, match=message):
        RunSettings(**settings)
