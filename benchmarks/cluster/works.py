"""Tasks for clusters. In a module of its own, because workers import it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from corpusmill.execute.task import StageTask
from corpusmill.store.beats import Beat
from corpusmill.store.units import USUAL, AttemptPosition, Commit, RetryPolicy, Unit


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class Nothing(StageTask):
    """Units that wait, and leave nothing but their answer: what is measured is what carries them out."""

    wait: float = 0.0

    def run_unit(
        self,
        unit: Unit,
        care: RetryPolicy = USUAL,
        at: Callable[[AttemptPosition], None] = lambda _: None,
        beat: Callable[[Beat], None] | None = None,
    ) -> Commit | None:
        time.sleep(self.wait)
        facts = {"sum": unit.inputs.value, "bins": dict.fromkeys(map(str, range(50)), 1)}
        return Commit(unit.key, "", {}, facts, {}, self.wait)
