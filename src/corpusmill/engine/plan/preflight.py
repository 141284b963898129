"""Whatever can be found wrong before anything runs, in one round: `check` and `run` refuse with the same words.

A recipe that is right is planned as fast as ever. Only where something is wrong is everything else looked at that may
be wrong, too: sources, steps, models, the folder.
"""

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from corpusmill import assets, storage
from corpusmill.assets import extras
from corpusmill.assets.extras import RAY, Extra, NeedsExtras
from corpusmill.engine.plan.earlier_runs import refuse_itself
from corpusmill.engine.plan.identity import parts_of
from corpusmill.engine.plan.inputs import NOTHING, SourceFiles, find_source
from corpusmill.engine.plan.look import FILES, MANY, SourceSample, is_ours, look
from corpusmill.engine.plan.lower import lower_inputs
from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.plan.selections import selects
from corpusmill.engine.plan.usable_folder import refuse_if_unusable
from corpusmill.engine.work.batch import Batch
from corpusmill.engine.work.passes import Pass
from corpusmill.errors import (
    CorpusmillError,
    InputError,
    MissingExtraError,
    Problem,
    RecipeError,
    StorageError,
    of_problems,
    together,
)
from corpusmill.read import Describes
from corpusmill.recipe.load import LoadedParts, read_parts, read_text
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.recipe.order import check_order
from corpusmill.recipe.override import Overrides
from corpusmill.recipe.parts import Sections, Source
from corpusmill.recipe.tree import Position
from corpusmill.steps import AsksModel, ComparesWithEarlierRuns, Pack, ReadsAssets, Tokenize, UsesCode
from corpusmill.steps.functions import OfFunction
from corpusmill.storage import refuse_alike
from corpusmill.store.run_folder import RunFolder

NOT_LEFT = "no step before it leaves that"  # as a pass says it
Places = Mapping[str, Sequence[Position]]  # section -> where each of its parts is written


@dataclass(frozen=True)
class PreflightResult:
    """A recipe that can run.

    seen          what was seen of each source
    read_as       (source, what was found out about its format, where the recipe leaves that open)
    warnings      what is probably wrong with the input, or forgotten in the recipe
    passed_over   (source, a sentence about what is in its folders or fits its patterns and is not read)
    """

    plan: RunPlan
    seen: tuple[SourceSample, ...]
    read_as: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    passed_over: tuple[tuple[str, str], ...]


@dataclass
class Findings:
    """Errors that are raised together in the end, each with the place in the recipe that it is about.

    places    asked for them when there is something to say: to read a recipe of 1,000 sources again takes a second
    lacking   section and index of parts whose libraries are not installed
    """

    places: Callable[[], Places]
    errors: list[CorpusmillError] = field(default_factory=list)
    lacking: frozenset[tuple[str, int]] = frozenset()

    @contextmanager
    def about(self, section: str = "", index: int = 0) -> Iterator[None]:
        """Keep the error of what is done inside; it is about this part of the recipe, if any."""
        try:
            yield
        except CorpusmillError as error:
            self.add(error, section, index)

    def add(self, error: CorpusmillError, section: str = "", index: int = 0) -> None:
        places = self.places().get(section, ())
        self.errors.append(_at(error, places[index] if index < len(places) else None))

    def check(self) -> None:
        """Raises what was found; an error of one kind if all of it is of that kind, else a RecipeError."""
        if self.errors:
            raise together(self.errors)


def _at(error: CorpusmillError, at: Position | None) -> CorpusmillError:
    """An error with the place that it is about. What could not be reached is a matter of the input: nothing ran."""
    kind = InputError if isinstance(error, StorageError) else type(error)
    if at is None and kind is type(error):
        return error
    placed = [
        problem if problem.file or at is None else Problem(problem.message, at.file, at.line)
        for problem in error.problems
    ]
    result = of_problems(placed, kind)
    result.__cause__ = error
    return result


def load(recipe: Recipe | str | os.PathLike[str], overrides: Overrides = (), folder: RunFolder | None = None) -> Recipe:
    """The recipe, or the one in a file, see `Recipe.load`. If that is wrong, the error also says what is wrong with the
    input, the models and the folder, as far as the rest of the recipe names them."""
    if isinstance(recipe, Recipe):
        if overrides:
            raise RecipeError("overrides are for the file of a recipe; change a Recipe with dataclasses.replace")
        return recipe
    try:
        return Recipe.load(recipe, overrides)
    except RecipeError as error:
        path = Path(recipe)
        try:
            parts = read_parts(read_text(path), str(path), overrides, path.stem)
        except RecipeError:
            raise error from None
        findings = Findings(lambda: parts.places, [error])
        _look_further(parts, findings, folder)
        findings.check()
        raise


def _look_further(parts: LoadedParts, findings: Findings, folder: RunFolder | None) -> None:
    """What is wrong with those parts of a recipe that can be looked at alone."""
    sections = parts.sections
    folder = folder or RunFolder(sections.run.folder or f"runs/{sections.name}")
    lacking = _look_for_extras(sections, folder, findings)
    inputs = [
        NOTHING if ("read", index) in lacking or selects(source) else _files_of(source, index, findings)
        for index, source in enumerate(sections.read)
    ]
    budget = sections.run.error_budget
    samples, _ = _look_at(sections.read, inputs, budget, findings)
    files = [file.path for source_files in inputs for file in source_files.files]
    with findings.about():
        refuse_if_unusable(folder, files, [path for source in sections.read for path in source.paths])
    try:
        recipe = Recipe(**sections._replace(write=[])._asdict())
    except RecipeError:  # two sources of one name, or none: that is reported
        for index, step in enumerate(sections.steps):
            if ("steps", index) not in lacking:
                with findings.about("steps", index):
                    check_assets(step)
        return
    _importable(recipe, findings)
    _put_through(recipe, tuple(inputs), samples, findings, _fits(recipe), is_whole=False)


def _fits(recipe: Recipe) -> bool:
    try:
        check_order(recipe)
    except RecipeError:
        return False
    return True


def ready(recipe: Recipe, folder: RunFolder, thorough: bool = False, sends: bool = True) -> PreflightResult:
    """The plan of a recipe, if it can run.

    thorough   put no documents through every pass, load its models, and put the first documents of each source through
               steps of the user's own. A run has its workers do so; without it, this is done only if something else is
               wrong
    sends      whether what the recipe is made of is sent to other processes, if its executor does so

    Raises RecipeError, InputError, AssetError or MissingExtraError with all that is wrong.
    """
    findings = Findings(cache(lambda: _places(recipe)))
    lacking = _look_for_extras(recipe, folder, findings)
    with findings.about():
        check_order(recipe)
    fits = not findings.errors
    with findings.about():
        refuse_itself(recipe, folder)
    with findings.about():
        refuse_alike(path for source in recipe.read for path in source.paths)
    inputs = tuple(
        NOTHING if ("read", index) in lacking else _files_of(source, index, findings)
        for index, source in enumerate(recipe.read)
    )
    if not findings.errors and not any(source.size for source in inputs):
        names = (file.path for source in inputs for file in source.files)
        findings.add(InputError("all input files are empty: " + ", ".join(names)[:500]))
    # In a run, workers read what a reader that is not ours reads: it may end its process.
    looked_into = [
        source_files if thorough or is_ours(source.reader) else NOTHING
        for source, source_files in zip(recipe.read, inputs)
    ]
    samples, warnings = _look_at(recipe.read, looked_into, recipe.run.error_budget, findings)
    plan = lower_inputs(recipe, inputs) if fits and not lacking else RunPlan(recipe, (), (), inputs)
    with findings.about():
        refuse_if_unusable(folder, plan.files, plan.places)
        if not folder.is_local and not lacking:
            folder.exists()  # whether its store can be reached
    for index, step in enumerate(recipe.steps):
        if isinstance(step, AsksModel):
            with findings.about("steps", index):
                step.server.check(needs_answers=not folder.is_local)
    if sends:
        _importable(recipe, findings)
    if thorough or findings.errors:
        _put_through(recipe, inputs, samples, findings, fits)
    findings.check()
    passed_over = [(source.source, files.passed_over) for source, files in zip(recipe.read, inputs)]
    said = tuple((source, sentence) for source, sentence in passed_over if sentence)
    return PreflightResult(plan, samples, tuple(_read_as(recipe, inputs)), (*warnings, *_idle_steps(recipe)), said)


def _idle_steps(recipe: Recipe) -> Iterator[str]:
    """A warning if nothing is written: of a recipe in Python, whose kept documents can be read from the run, if it has
    steps that only writers need."""
    idle = [name_of(step) for step in recipe.steps if isinstance(step, Tokenize | Pack)]
    if recipe.write or recipe.stages or not (idle or recipe.written):
        return
    because = f", and {' and '.join(idle)} {'does' if len(idle) == 1 else 'do'} nothing" if idle else ""
    yield (
        f"the recipe has no `write:`, so a run writes no output{because}. Add `write: [shards]` for rows of "
        "tokens, or `write: [jsonl]` for the text of the kept documents"
    )


def _read_as(recipe: Recipe, inputs: Sequence[SourceFiles]) -> Iterator[tuple[str, str]]:
    """Judged by the first file of a source; others may be another way."""
    for source, source_files in zip(recipe.read, inputs):
        first = next((file for file in source_files.files if file.size), None)
        if isinstance(source.reader, Describes) and first and (description := source.reader.describe(first)):
            yield source.source, description


def _places(recipe: Recipe) -> Places:
    """Where the parts of a recipe are written, if it was loaded and is as it was written."""
    if recipe.written is None:
        return {}
    recipe_text = recipe.written
    return read_parts(recipe_text.text, recipe_text.file, recipe_text.overrides, recipe.name).places


def _look_for_extras(recipe: Recipe | Sections, folder: RunFolder, findings: Findings) -> frozenset[tuple[str, int]]:
    """The parts of a recipe, by section and number, whose libraries are not installed; each is a finding, and the last
    one is a command that installs all of them."""
    needed: list[tuple[str, str, int, Extra]] = []
    for section in ("read", "steps", "write"):
        for index, part in enumerate(getattr(recipe, section)):
            component = part.reader if isinstance(part, Source) else part
            needed += [(name_of(component), section, index, extra) for extra in extras.missing(component)]
            places = part.paths if isinstance(part, Source) else _against(component)
            needed += [(path, section, index, extra) for path in places for extra in storage.extras_of(path)]
    parts = [part for part in parts_of(recipe.stages) if isinstance(part, NeedsExtras)]
    needed += [(name_of(part), "", 0, extra) for part in parts for extra in part.extras]
    needed += [(folder.place, "", 0, extra) for extra in storage.extras_of(folder.place)]
    needed += [("run.executor: ray", "", 0, RAY)] if recipe.run.executor == "ray" else []
    findings.lacking = frozenset((section, index) for _, section, index, extra in needed if extra.missing)
    errors = [(extra.error(user), section, index) for user, section, index, extra in needed if extra.missing]
    for error, section, index in errors:
        findings.add(error, section, index)
    missing = list(dict.fromkeys(extra.name for *_, extra in needed if extra.missing))
    if len(missing) > 1:
        findings.errors.append(of_problems([Problem(f"all of them: {extras.command(missing)}")], MissingExtraError))
    return findings.lacking


def _against(step: Any) -> Sequence[str]:
    places = step.against if isinstance(step, ComparesWithEarlierRuns) else ()
    return (places,) if isinstance(places, str) else places


def _files_of(source: Source, index: int, findings: Findings) -> SourceFiles:
    try:
        return find_source(source)
    except CorpusmillError as error:
        findings.add(error, "read", index)
        return NOTHING


def _look_at(
    sources: Sequence[Source], inputs: Sequence[SourceFiles], budget: float, findings: Findings
) -> tuple[tuple[SourceSample, ...], list[str]]:
    samples, warnings = [], []
    max_files = FILES if len(sources) <= MANY else 1
    for index, (source, source_files) in enumerate(zip(sources, inputs)):
        samples.append(SourceSample())
        with findings.about("read", index):
            samples[-1], new_warnings = look(source, source_files.files, budget, max_files)
            warnings += new_warnings
    return tuple(samples), warnings


def check_assets(step: Any) -> None:
    """Raises AssetError if a file that a step reads is missing."""
    for name in step.assets if isinstance(step, ReadsAssets) else ():
        assets.digest(name)


def _importable(recipe: Recipe, findings: Findings) -> None:
    """Whether workers can be sent the steps, readers and writers that are a user's own."""
    if recipe.run.executor == "serial" or (recipe.run.executor == "processes" and only_here(recipe)):
        return
    components = [
        *(("read", index, source.reader) for index, source in enumerate(recipe.read)),
        *(("steps", index, step) for index, step in enumerate(recipe.steps)),
        *(("write", index, writer) for index, writer in enumerate(recipe.write)),
    ]
    for section, index, component in components:
        if ":" in name_of(component) and type(component).__module__ != "__main__":
            try:
                pickle.dumps(component)
            except Exception as error:
                findings.add(
                    RecipeError(
                        f"{name_of(component)} cannot be sent to workers: {type(error).__name__}: {error}. Define the "
                        "class at the top level of a module, with parameters that can be pickled."
                    ),
                    section,
                    index,
                )


def only_here(recipe: Recipe) -> list[str]:
    """The names of functions and classes in a recipe that no other process can import."""
    parts = [*(source.reader for source in recipe.read if isinstance(source, Source)), *recipe.steps, *recipe.write]
    names = [part.name for part in parts if isinstance(part, OfFunction) and not part.is_importable]
    if not hasattr(sys.modules["__main__"], "__file__"):  # a notebook, or a prompt
        names += [type(part).__name__ for part in parts if type(part).__module__ == "__main__"]
    return list(dict.fromkeys(names))


def _put_through(
    recipe: Recipe,
    inputs: tuple[SourceFiles, ...],
    samples: Sequence[SourceSample],
    findings: Findings,
    fits: bool,
    is_whole: bool = True,
) -> None:
    """What the steps say of no documents, and those of the user's own of the first ones.

    One that fails is left out then, to hear of those after it; what they say of its absence is not kept.

    fits      whether the parts fit together, so that it can be tried
    is_whole  whether these are all steps of the recipe, and none was left out because its parameters are wrong
    """
    remaining = recipe
    where = list(range(len(recipe.steps)))
    step_labels = labels(recipe.steps)
    removed: list[str] = []
    for index, step in enumerate(recipe.steps):
        before = len(findings.errors)
        with findings.about("steps", index):
            if ("steps", index) not in findings.lacking:
                check_assets(step)
        if len(findings.errors) > before or ("steps", index) in findings.lacking:
            removed.append(step_labels[index])
            where.remove(index)
    while fits and (where or not removed):
        remaining = replace(
            recipe,
            steps=[recipe.steps[index] for index in where],
            selections=[recipe.selections[index] for index in where],
        )
        try:
            if removed:
                check_order(remaining)
            plan = lower_inputs(remaining, inputs)
        except CorpusmillError:  # of what is gone
            return
        errors = _errors(plan, samples)
        blamed = set()
        for error in errors:
            label = next((label for label in labels(remaining.steps) if _is_about(error, label)), None)
            if findings.lacking and isinstance(error, MissingExtraError):
                continue
            if any(f"{name}." in str(error) for name in removed) or (not is_whole and NOT_LEFT in str(error)):
                continue
            index = where[labels(remaining.steps).index(label)] if label else 0
            findings.add(error, "steps" if label else "", index)
            if label:
                blamed.add(index)
        if not blamed:
            return
        removed += [step_labels[index] for index in blamed]
        where = [index for index in where if index not in blamed]


def _errors(plan: RunPlan, samples: Sequence[SourceSample]) -> list[CorpusmillError]:
    """What goes wrong with no documents in every pass; if nothing does, with the first ones in the user's own steps."""
    errors = [error for check in plan.checks if (error := _error_of(check)) is not None]
    first = plan.first_pass
    own = [label for label, step in first.chain.whole_chain.steps if _is_own(step)] if not errors else []
    own_errors = (_error_of(partial(_try_own, first, label, samples)) for label in own)
    return [*errors, *(error for error in own_errors if error is not None)]


def _is_own(step: Any) -> bool:
    return isinstance(step, UsesCode) or ":" in name_of(step)


def _try_own(work: Pass, own: str, samples: Sequence[SourceSample]) -> None:
    """Put documents through the steps of a pass up to one of the user's own.

    Raises RecipeError if that one returns what it must not, or fails on all of them.
    """
    only = work.chain.sources_of
    total = failed = 0
    reason = ""
    for docs in (docs for sample in samples for docs in sample.batches if len(docs)):
        source = docs["source"][0].as_py()
        batch = Batch(docs)
        for index, (label, step) in enumerate(work.chain.whole_chain.steps):
            if source in only.get(label, (source,)):
                before = len(batch.docs)
                try:
                    batch.apply(index, label, step)
                except RecipeError as error:
                    raise error if _is_about(error, label) else RecipeError(f"{label}: {error}") from error
                if label == own:
                    total, failed = total + before, failed + before - len(batch.docs)
                    reason = reason or next((sample.reason for sample in batch.failed if sample.step == own), "")
            else:
                batch.skip_step({})
            if label == own:
                break
    if failed and failed == total:
        raise RecipeError(f"{own}: fails on every document of a sample ({failed}): {reason}")


def _error_of(check: Callable[[], None]) -> CorpusmillError | None:
    try:
        check()
    except CorpusmillError as error:
        return error
    return None


def _is_about(error: CorpusmillError, label: str) -> bool:
    return str(error).startswith((f"{label}:", f"{label} ", f"{label}."))
