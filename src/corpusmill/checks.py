"""Can a recipe run, and what would a run do? Everything that is wrong is found before a document is read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpusmill.engine.changes import Preview, preview
from corpusmill.engine.lower import lower
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, remarks
from corpusmill.run_folder import RunFolder


@dataclass(frozen=True)
class Checked:
    """A recipe that can run, on what, and in which stages.

    recipe    with the overrides
    sources   source -> (files, bytes) that it reads
    passes    stage -> labels of the steps that documents go through in it; none where they are only read
    only      label -> what the recipe says of the sources of a step: "only web, wiki", "except code"
    stages    all stages, in order
    workers   processes that a run would start
    ahead     units of a run, and what of it is done already in its folder
    remarks   (label, what a step says about its parameters); a warning begins with "warning: "
    """

    recipe: Recipe
    sources: dict[str, tuple[int, int]]
    passes: dict[str, tuple[str, ...]]
    only: dict[str, str]
    stages: tuple[str, ...]
    workers: int
    ahead: Preview
    remarks: tuple[tuple[str, str], ...] = ()


def check(recipe: Recipe | str | os.PathLike[str], *, overrides: Sequence[str] = ()) -> Checked:
    """Plan a recipe without running it.

    recipe      a Recipe, or the path of one in YAML
    overrides   changes to the recipe in the file: "steps.gopher_quality.min_words=30"

    Inputs are listed, and a few looked into for their compression; models, word lists and the writers' own conditions
    are checked. Raises RecipeError, InputError, AssetError or MissingExtraError, as `run` does before it reads
    anything.
    """
    if not isinstance(recipe, Recipe):
        recipe = Recipe.load(Path(recipe), overrides)
    plan = lower(recipe)
    plan.check()
    return Checked(
        recipe,
        {source.source: (len(found.files), found.size) for source, found in zip(recipe.read, plan.inputs)},
        {info.stage: tuple(info.labels) for info in plan.passes},
        {label: str(one) for label, one in zip(labels(recipe.steps), recipe.selections) if one},
        tuple(stage.name for stage in plan.stages),
        recipe.run.workers or os.cpu_count() or 1,
        preview(RunFolder(recipe.folder), plan),
        tuple(remarks(recipe.steps)),
    )
