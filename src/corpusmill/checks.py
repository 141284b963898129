"""Can a recipe run, and what would a run do? Everything that is wrong is found before a document is read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.display import table
from corpusmill.engine.changes import Preview, preview
from corpusmill.engine.inputs import SourceFiles
from corpusmill.engine.lower import lower
from corpusmill.engine.stored_rows import given, stored, with_inputs
from corpusmill.read import ReadCounts
from corpusmill.recipe.load import Overrides
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, remarks
from corpusmill.recipe.order import gives_pages
from corpusmill.report.figures.markup import STEP, in_words
from corpusmill.run_folder import RunFolder
from corpusmill.steps.markup import is_markup
from corpusmill.storage import FileInfo, is_local

LEAST = 1 << 20  # bytes of a piece that a sample begins with
PIECES = 16  # that a file is cut into at most
T = TypeVar("T")


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
    warnings  what is probably wrong, judged by a sample of the input where it is local
    """

    recipe: Recipe
    sources: dict[str, tuple[int, int]]
    passes: dict[str, tuple[str, ...]]
    only: dict[str, str]
    stages: tuple[str, ...]
    workers: int
    ahead: Preview
    remarks: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counted = [*self._counts(), (len(self.stages), "stage"), (len(self.warnings), "warning")]
        return f"<Checked {self.recipe.name}: {', '.join(_counted(*each) for each in counted if each[0])}>"

    def _repr_html_(self) -> str:
        files, size = (_counted(*each) for each in self._counts())
        rows = [["read", f"{', '.join(self.sources)}: {files}, {size}"]]
        rows += [[stage, " → ".join(steps) or "read only, no steps"] for stage, steps in self.passes.items()]
        rows += [["stages", " → ".join(self.stages)], *(["warning", each] for each in self.warnings)]
        return table(f"{self.recipe.name}: can run", ["", ""], rows)

    def _counts(self) -> list[tuple[int, str]]:
        files, size = map(sum, zip(*self.sources.values()))
        return [(files, "file"), (size, "byte")]


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def check(recipe: Recipe | str | os.PathLike[str], *, inputs: Any = None, overrides: Overrides = ()) -> Checked:
    """Plan a recipe without running it.

    recipe, inputs, overrides   as `run` takes them. Documents in memory are written into the folder of the run, where
                                `run` finds them

    Inputs are listed, and a few looked into: for their compression, and local ones for HTML in their texts. Models,
    word lists and the writers' own conditions are checked. Raises RecipeError, InputError, AssetError or
    MissingExtraError, as `run` does before it reads anything.
    """
    recipe = with_inputs(given(recipe, overrides), inputs)
    recipe = stored(recipe, RunFolder(recipe.folder))
    plan = lower(recipe)
    RunFolder(recipe.folder).refuse_if_unusable(plan.files, plan.places)
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
        tuple(warnings(recipe, plan.inputs)),
    )


def warnings(recipe: Recipe, inputs: Sequence[SourceFiles]) -> list[str]:
    """A sentence for each source whose texts hold HTML that clean/html does not strip, by a sample of its documents."""
    if STEP in labels(recipe.steps):
        return []
    counted = []
    for source, found in zip(recipe.read, inputs):
        if not gives_pages(source.reader):
            texts = sample(source.reader, source.source, found.files)
            counted.append((source.source, len(texts), pc.sum(is_markup(texts)).as_py() or 0))
    return in_words(counted, "before the first step, in a sample of the input")


def sample(reader: Any, source: str, files: Sequence[FileInfo]) -> pa.LargeStringArray:
    """The texts of the first batch of each of a few pieces: none of remote files."""
    local = _spread([file for file in files if file.size and is_local(file.path)])
    pieces = _spread([piece for file in local for piece in reader.split([file], max(LEAST, file.size // PIECES))])
    batches = [next(iter(reader.read(piece, source, ReadCounts())), None) for piece in pieces]
    texts = [batch["text"] for batch in batches if batch is not None]
    return pc.drop_null(pa.concat_arrays([*texts, pa.array([], pa.large_string())]))


def _spread(things: Sequence[T]) -> list[T]:
    """The first, the middle and the last one."""
    return [things[at] for at in sorted({0, len(things) // 2, len(things) - 1})] if things else []
