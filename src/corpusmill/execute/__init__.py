"""Where a run happens. An executor carries out the units of one stage and knows nothing of steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from corpusmill.units import Commit, Unit, Work


@dataclass(frozen=True)
class Failure:
    """A unit that failed in every attempt."""

    unit: int
    error: str  # the last line of the traceback
    traceback: str


Progress = Callable[[Commit], None]
Check = Callable[[], None]  # raises where a plan cannot be carried out


class Executor(Protocol):
    """Carries out units. `done` is called in the driver after each commit, in any order.

    Returns the units that failed in every attempt; the others are committed. An error that no second attempt can
    cure (a wrong recipe, a missing asset, a full disk) is raised at once. `check` calls each of these where units will
    run, and raises what they raise. `close` ends what it keeps for the next stage.
    """

    def check(self, checks: Sequence[Check]) -> None: ...

    def run(self, root: Path, stage: str, work: Work, units: list[Unit], done: Progress) -> list[Failure]: ...

    def close(self) -> None: ...
