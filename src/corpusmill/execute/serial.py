"""Units one after another in this process: the reference that every other executor must agree with."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from corpusmill.execute import PERMANENT_ERRORS, Check, Failure, OnCommit
from corpusmill.execute.failures import last_line
from corpusmill.unit_io import StageTask
from corpusmill.units import Unit


@dataclass(frozen=True)
class Serial:
    attempts: int = 3

    @classmethod
    def start(cls, workers: int, preload: Sequence[str]) -> Self:
        return cls()

    def check(self, checks: Sequence[Check]) -> None:
        for check in checks:
            check()

    def run(self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit) -> list[Failure]:
        failures = []
        for unit in units:
            for attempt in range(1, self.attempts + 1):
                try:
                    on_commit(task.run_unit(unit))
                    break
                except PERMANENT_ERRORS:
                    raise
                except Exception as error:
                    if attempt == self.attempts:
                        failures.append(Failure(unit, last_line(error), traceback.format_exc()))
        return failures

    def close(self) -> None:
        pass
