"""What the guide shows works as it says."""

import re
from pathlib import Path
from typing import Any

import pytest

from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe

GUIDE = (Path(__file__).parents[2] / "docs/guide/recipes.md").read_text("utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_a_recipe_of_the_guide_is_a_recipe(text, monkeypatch):
    for name in ("CORPUS", "MIN_WORDS", "WORKERS"):
        monkeypatch.delenv(name, raising=False)
    recipe = Recipe.parse(text)
    assert Recipe.parse(recipe.dump()) == recipe


@pytest.mark.parametrize("text", blocks("python"))
def test_python_of_the_guide_runs(text):
    # A dataclass asks the module that it says it is from.
    names: dict[str, Any] = {"__name__": __name__}
    exec(text, names)


def test_the_problems_in_the_guide_are_reported_as_shown_there():
    (wrong,), (said,) = blocks("yaml error"), blocks("text")
    with pytest.raises(RecipeError) as error:
        Recipe.parse(wrong, "web.yaml")
    assert str(error.value) == said.rstrip()


def test_settings_of_the_guide_change_its_first_recipe():
    first = blocks("yaml")[0]
    quoted = r"--set (?:'([^']+)'|(\S+))"
    settings = [one or other for one, other in re.findall(quoted, "".join(blocks("bash")))]
    assert len(settings) == 3
    for setting in settings:
        assert Recipe.parse(first, overrides=[setting]) != Recipe.parse(first)
