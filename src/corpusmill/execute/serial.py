"""Units one after another in this process: the reference that every other executor must agree with."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

from corpusmill.execute import (
    PERMANENT_ERRORS,
    AtWork,
    Check,
    Failure,
    OnAside,
    OnCommit,
    OnPulse,
    WorkerStatus,
    ignored,
)
from corpusmill.execute.attempts import Attempts
from corpusmill.execute.failures import of_error
from corpusmill.execute.memory import resident
from corpusmill.execute.task import StageTask
from corpusmill.store.beats import EVERY, Beat
from corpusmill.store.units import AttemptPosition, Unit, now


@dataclass
class Serial:
    attempts: int = 3
    on_pulse: OnPulse | None = None
    _next_pulse: float = field(default=0.0, init=False, repr=False)  # units may be short

    @classmethod
    def start(cls, workers: int | None, preload: Sequence[str], address: str | None = None) -> Self:
        return cls()

    def check(self, checks: Sequence[Check]) -> None:
        for check in checks:
            check()

    def run(
        self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit, on_aside: OnAside = ignored
    ) -> list[Failure]:
        failures = []
        for unit in units:
            attempts = Attempts(task, unit, self.attempts)
            while attempts.failure is None:
                places: deque[AttemptPosition] = deque(maxlen=1)
                try:
                    commit = task.run_unit(unit, attempts.care, places.append, self._beats_of(unit))
                except PERMANENT_ERRORS:
                    raise
                except Exception as error:
                    if aside := attempts.ended(of_error(error), places[0] if places else None):
                        on_aside(unit, aside)
                    continue
                if commit:
                    on_commit(commit)
                    break
                attempts.probe_passed()
            else:
                failures.append(attempts.failure)
        return failures

    def close(self) -> None:
        pass

    def _beats_of(self, unit: Unit) -> Callable[[Beat], None] | None:
        on_pulse, started = self.on_pulse, now()
        if on_pulse is None:
            return None
        if started >= self._next_pulse:
            on_pulse(WorkerStatus(1, [AtWork(unit, 0.0)], resident([os.getpid()])))
            self._next_pulse = started + EVERY
        return lambda beat: on_pulse(WorkerStatus(1, [AtWork(unit, now() - started, beat)], resident([os.getpid()])))
