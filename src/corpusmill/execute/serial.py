"""Units one after another in this process: the reference that every other executor must agree with."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpusmill.errors import AssetError, InputError, MissingExtraError, RecipeError, StorageError
from corpusmill.execute import Check, Failure, Progress
from corpusmill.execute.commits import last_line, run_unit
from corpusmill.units import Unit, Work

INCURABLE = (
    RecipeError,
    InputError,
    AssetError,
    MissingExtraError,
    StorageError,
)  # a second attempt would fail the same way


@dataclass(frozen=True)
class Serial:
    attempts: int = 3

    def check(self, checks: Sequence[Check]) -> None:
        for check in checks:
            check()

    def run(self, root: Path, stage: str, work: Work, units: list[Unit], done: Progress) -> list[Failure]:
        failures = []
        for unit in units:
            for attempt in range(1, self.attempts + 1):
                try:
                    done(run_unit(root, stage, work, unit))
                    break
                except INCURABLE:
                    raise
                except Exception as error:
                    if attempt == self.attempts:
                        failures.append(Failure(unit.number, last_line(error), traceback.format_exc()))
        return failures

    def close(self) -> None:
        pass
