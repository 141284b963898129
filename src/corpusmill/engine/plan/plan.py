"""A recipe with its inputs, as stages."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

from corpusmill.engine.plan.identity import Identity, identity
from corpusmill.engine.plan.inputs import SourceFiles
from corpusmill.engine.work.passes import Pass
from corpusmill.engine.work.signals import LeavesSignals, check_signals
from corpusmill.recipe.model import Recipe
from corpusmill.store.output import OutputFolder
from corpusmill.store.stage_folder import stage_folder
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Results, Unit
from corpusmill.store.work import Stage


@runtime_checkable
class Checkable(Protocol):
    """A work that can find out before anything runs that it cannot be done."""

    def check(self) -> None: ...


@runtime_checkable
class Publisher(Protocol):
    """A work whose outputs are what the recipe writes.

    `publish` gives them lasting names in the folder of output `name`; indexes come last.
    """

    def publish(self, name: str, output: OutputFolder, results: dict[str, Results]) -> None: ...


@runtime_checkable
class WritesSignals(Protocol):
    """A work that writes what the passes measured: patterns of the signals, none if it does not."""

    @property
    def wanted_signals(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class PassInfo:
    """What a report needs to know of a pass: its stage, the labels of its steps in order, and the sources of those that
    are for some sources only."""

    stage: str
    labels: tuple[str, ...]
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunPlan:
    """A recipe with its inputs, as stages.

    stages    in the order in which they run
    passes    those of the stages that carry documents through steps
    inputs    the files of each source, as they were found, and how they are cut into units
    """

    recipe: Recipe
    stages: tuple[Stage, ...]
    passes: tuple[PassInfo, ...]
    inputs: tuple[SourceFiles, ...]

    @property
    def first_pass(self) -> Pass:
        """The work of the first pass; the stage that extracts texts, where there is one, is a part of it."""
        return next(stage.work for stage in self.stages if isinstance(stage.work, Pass))

    @property
    def files(self) -> list[str]:
        """The paths of all input files."""
        return [file.path for source in self.inputs for file in source.files]

    @property
    def places(self) -> list[str]:
        """What the recipe names them by: files, folders, patterns."""
        return [path for source in self.recipe.read for path in source.paths]

    @property
    def checks(self) -> list[Callable[[], None]]:
        """What has to be called before anything runs; each can be sent to a worker, as the works can.

        They put no documents through every pass: seconds on a machine where kernels are not compiled yet. They raise
        RecipeError if a step asks for what no step before it leaves, or cannot work with it; MissingExtraError if a
        writer's library is not installed.
        """
        checks = [stage.work.check for stage in self.stages if isinstance(stage.work, Checkable)]
        writing = [
            (stage.name, stage.work.wanted_signals) for stage in self.stages if isinstance(stage.work, WritesSignals)
        ]
        if any(patterns for _, patterns in writing):
            passes = [stage.work for stage in self.stages if isinstance(stage.work, LeavesSignals)]
            checks.append(partial(check_signals, passes, writing))
        return checks

    def check(self) -> None:
        for check in self.checks:
            check()

    @cached_property
    def identities(self) -> dict[str, Identity]:
        """Stage -> what the fingerprint of its work is made of. Computed once: 0.1 s, most of it versions."""
        return {stage.name: identity(stage.work) for stage in self.stages}

    @property
    def assets(self) -> dict[str, str]:
        """Name -> digest of all models and lists that the stages read, as they were when these were identified."""
        return {name: digest for identity in self.identities.values() for name, digest in identity.assets.items()}

    def identity(self, stage: str) -> Identity:
        """What the fingerprint of a stage's work is made of."""
        return self.identities[stage]


def stages_record(plan: RunPlan) -> list[dict[str, Any]]:
    """The stages of a run as run.json has them, before any is planned."""
    fingerprints = ((stage.name, plan.identity(stage.name).fingerprint) for stage in plan.stages)
    return [{"stage": name, "folder": stage_folder(name, value), "plan": None} for name, value in fingerprints]


def unit_list(stage: Stage, upstream: Upstream) -> list[Unit]:
    """The units of a stage in order, with their keys."""
    planned = stage.units(upstream)
    return [Unit(number, unit_key(unit.content), unit.inputs) for number, unit in enumerate(planned)]


def unit_key(content: tuple[str, ...]) -> str:
    """20 hexadecimal digits: two units with the same key read the same."""
    text = "\0\0".join(content).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:20]
