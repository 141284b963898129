"""Contracts of stages: what is done with each unit, and which units there are."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Resources

Inputs_contra = TypeVar("Inputs_contra", contravariant=True)


class Work(Protocol[Inputs_contra]):
    """What a stage does with each of its units: a frozen dataclass, picklable, sent to a worker once a stage.

    `run` reads what `inputs` and the results of earlier stages name, and writes outputs by name. Equal work on equal
    content writes equal bytes. A class may also have what `Checked`, `Publisher` and `Described` say.
    """

    def run(self, inputs: Inputs_contra, io: UnitIO) -> None: ...


@dataclass(frozen=True)
class PlannedUnit:
    """A unit to come: its inputs, and the content that they stand for.

    content   texts that together change whenever anything changes that the unit reads: checksums, names, numbers. What
              the work itself says is not repeated
    """

    inputs: Any
    content: tuple[str, ...]


Planner = Callable[[Upstream], Iterable[PlannedUnit]]


@dataclass(frozen=True)
class Stage:
    """A list of units to come.

    name     short: "pass-1", "minhash-group"
    work     what is done with each unit
    after    the stages whose results the plan and the units look at
    units    the plan, made when all of `after` is complete: a pure function of their results
    needs    resources of one unit
    reads    of stages in `after`, the outputs of which it reads files, and of these the arrays, none for all of a file;
             of a stage that is not named, all outputs
    """

    name: str
    work: Work[Any]
    after: tuple[str, ...]
    units: Planner = field(compare=False)
    needs: Resources = field(default_factory=Resources)
    reads: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
