"""Can a recipe run? Everything that is wrong is found before a document is read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpusmill.recipe.lower import lower
from corpusmill.recipe.model import Recipe


@dataclass(frozen=True)
class Checked:
    """A recipe that can run, on what, and in which stages.

    recipe    with the overrides
    sources   source -> (files, bytes) that it reads
    passes    stage -> labels of the steps that documents go through in it; none where they are only read
    stages    all stages, in order
    """

    recipe: Recipe
    sources: dict[str, tuple[int, int]]
    passes: dict[str, tuple[str, ...]]
    stages: tuple[str, ...]


def check(recipe: Recipe | str | os.PathLike[str], *, overrides: Sequence[str] = ()) -> Checked:
    """Plan a recipe without running it.

    recipe      a Recipe, or the path of one in YAML
    overrides   changes to the recipe in the file: "steps.gopher_quality.min_words=30"

    Inputs are listed, not read; models, word lists and the writers' own conditions are checked. Raises RecipeError,
    InputError, AssetError or MissingExtraError, as `run` does before it reads anything.
    """
    if not isinstance(recipe, Recipe):
        recipe = Recipe.load(Path(recipe), overrides)
    plan = lower(recipe)
    plan.check()
    return Checked(
        recipe,
        {
            source.source: (len(files), sum(file.size for file in files))
            for source, files in zip(recipe.read, plan.inputs)
        },
        {info.stage: tuple(info.labels) for info in plan.passes},
        tuple(stage.name for stage in plan.stages),
    )
