"""Units one after another in this process: the reference that every other executor must agree with."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from corpusmill.execute import PERMANENT_ERRORS, Check, Failure, OnAside, OnCommit, ignored
from corpusmill.execute.attempts import Attempts
from corpusmill.execute.failures import of_error
from corpusmill.unit_io import StageTask
from corpusmill.units import At, Unit


@dataclass(frozen=True)
class Serial:
    attempts: int = 3

    @classmethod
    def start(cls, workers: int, preload: Sequence[str]) -> Self:
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
                places: deque[At] = deque(maxlen=1)
                try:
                    commit = task.run_unit(unit, attempts.care, places.append)
                except PERMANENT_ERRORS:
                    raise
                except Exception as error:
                    if aside := attempts.ended(of_error(error), places[0] if places else None):
                        on_aside(unit, aside)
                    continue
                if commit:
                    on_commit(commit)
                    break
                attempts.tried()
            else:
                failures.append(attempts.failure)
        return failures

    def close(self) -> None:
        pass
