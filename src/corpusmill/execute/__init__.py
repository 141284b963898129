"""Where a run happens: an executor carries out the units of one stage. It knows neither steps nor formats.

    executor = execute.find("processes").start(workers=4, preload=[])
    executor.check(checks)                                   # raises what workers cannot do
    failures = executor.run(task, units, on_commit, on_aside)
    executor.close()

What is carried out, and what happens where it ends without a commit:

    task            StageTask: the one function that every executor calls for a unit
    attempts        how the next attempt at a unit is made, by how the last ones ended
    failures        how an attempt ended, in words
    termination     SIGTERM and SIGHUP end a run as Ctrl-C does

The executors that a recipe can name, each in the module of its name:

    serial          one unit after the other in this process; the reference for all others
    processes       workers on a fork server; `warm_start` starts that early, `memory` and `cpus` are what workers share
    ray             tasks of a Ray cluster; `ray_cluster` connects to it, `ray_worker` is what happens on its nodes,
                    `versions` what all nodes must have alike

Around them:

    on_demand       starts an executor at the first unit
    leasing         shares the units with other drivers of the same run; `announce` tells them that this one lives
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, Self, TypeVar, runtime_checkable

from corpusmill.errors import (
    AssetError,
    BudgetError,
    ClusterError,
    InputError,
    MissingExtraError,
    ModelServerError,
    RecipeError,
    StorageError,
    did_you_mean,
)

if TYPE_CHECKING:  # `warm_start` is imported before everything else, and must not wait for these
    from corpusmill.execute.task import StageTask
    from corpusmill.store.beats import Beat
    from corpusmill.store.units import Commit, QuarantinedRecord, Unit

T = TypeVar("T")
# A second attempt would fail the same way.
PERMANENT_ERRORS = (
    RecipeError, InputError, AssetError, BudgetError, ClusterError, MissingExtraError, ModelServerError, StorageError,
)  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """A unit that failed in every attempt."""

    unit: "Unit"
    error: str  # the last line of the traceback
    traceback: str


OnCommit = Callable[["Commit"], None]
OnAside = Callable[["Unit", "QuarantinedRecord"], None]
Check = Callable[[], None]  # raises where a plan cannot be carried out


@dataclass(frozen=True)
class AtWork:
    """A unit that a worker has: for how many seconds, and what it said last of how far it is."""

    unit: "Unit"
    seconds: float
    beat: "Beat | None" = None


@dataclass(frozen=True)
class WorkerStatus:
    """What all workers do at this moment.

    workers     how many there may be
    memory      bytes that those that run have in memory now, together; None where the system does not say
    waits_for   what no unit can run without, and is not there: "node with a processor"; "" if nothing is missing
    """

    workers: int
    at_work: Sequence[AtWork]
    memory: int | None = None
    waits_for: str = ""


OnPulse = Callable[[WorkerStatus], None]


class Executor(Protocol):
    """Carries out units. `on_commit` is called in the driver after each commit, in any order, and `on_aside` where a
    record that ends every attempt at a unit has been set aside, see `attempts`.

    Returns the units that failed in every attempt; the others are committed. A permanent error (a wrong recipe, a
    missing asset, a full disk) is raised at once. `check` calls each of these where units will run, and raises what
    they raise. `close` ends what it keeps for the next stage.
    """

    def check(self, checks: Sequence[Check]) -> None: ...

    def run(
        self, task: "StageTask", units: Sequence["Unit"], on_commit: OnCommit, on_aside: OnAside
    ) -> list[Failure]: ...

    def close(self) -> None: ...


class NamedExecutor(Executor, Protocol):
    """One that a recipe can name."""

    @classmethod
    def start(cls, workers: int | None, preload: Sequence[str], address: str | None = None) -> Self:
        """An executor whose workers import these modules first.

        workers   how many, at most; None: as many as there are processors
        address   of a cluster, for executors that have one
        """
        ...


@runtime_checkable
class ReportsStatus(Protocol):
    """An executor that says while units are at work what its workers do: it calls `on_pulse` in the driver about twice
    a second, if that is set."""

    on_pulse: OnPulse | None


class UnitQueue(Protocol):
    """Units that are not known beforehand, because others take some of them: its length is 0 while there is none."""

    def __len__(self) -> int: ...
    def pop(self) -> "Unit": ...


@runtime_checkable
class SharedExecutor(Protocol):
    """An executor that does the units of a stage together with other drivers of the same run. While it does, it calls
    `on_elsewhere`, if that is set, with the key of each unit that it finds done by another.

    `once` returns what `there` finds, or what `make` makes; of all drivers one makes it, and the others wait until it
    is there.
    """

    on_elsewhere: Callable[[str], None] | None

    def once(self, folder: str, name: str, look_up: Callable[[], T | None], make: Callable[[], T]) -> T: ...


EXECUTORS = ("processes", "ray", "serial")  # as a recipe names them: a module of this folder each


def ignored(unit: "Unit", aside: "QuarantinedRecord") -> None:
    """An `on_aside` for callers that do not listen."""


def check_name(name: str) -> None:
    """Raises RecipeError if there is no such executor, naming the nearest."""
    if name not in EXECUTORS:
        hint = did_you_mean(name, EXECUTORS) or "."
        raise RecipeError(f'there is no executor "{name}"{hint} Use one of: {", ".join(EXECUTORS)}.')


def find(name: str) -> type[NamedExecutor]:
    """The class behind an executor's name. Raises RecipeError if there is none, naming the nearest."""
    check_name(name)
    executor: type[NamedExecutor] = getattr(import_module(f"{__name__}.{name}"), name.title())
    return executor
