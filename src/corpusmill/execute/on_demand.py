"""An executor that is started when there is something to do: a run that is finished needs none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpusmill.execute import Check, Executor, Failure, OnAside, OnCommit, OnPulse, ReportsStatus

if TYPE_CHECKING:
    from corpusmill.execute.task import StageTask
    from corpusmill.store.units import Unit


@dataclass
class OnDemand:
    """Starts the executor at the first unit, and has it call the checks before that."""

    begin: Callable[[], Executor]
    checks: Sequence[Check] = ()
    on_pulse: OnPulse | None = None
    started: Executor | None = None

    def check(self, checks: Sequence[Check]) -> None:
        self.checks = checks

    def run(self, task: "StageTask", units: Sequence["Unit"], on_commit: OnCommit, on_aside: OnAside) -> list[Failure]:
        if not units:
            return []
        if self.started is None:
            self.started = self.begin()
            _hand_on(self.started, self.on_pulse)
            self.started.check(self.checks)
        _hand_on(self.started, self.on_pulse)
        return self.started.run(task, units, on_commit, on_aside)

    def close(self) -> None:
        if self.started is not None:
            self.started.close()


def _hand_on(executor: Executor, on_pulse: OnPulse | None) -> None:
    if isinstance(executor, ReportsStatus):
        executor.on_pulse = on_pulse
