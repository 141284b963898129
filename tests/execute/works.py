"""Works for the tests of executors. In a module of its own, because workers import it."""

import errno
import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from corpusmill.errors import AssetError


@dataclass(frozen=True)
class Square:
    """Writes the square of its input. Units listed in `raises` fail always, in `dies` and `stumbles` the first time."""

    raises: tuple[int, ...] = ()
    dies: tuple[int, ...] = ()
    stumbles: tuple[int, ...] = ()
    incurable: tuple[int, ...] = ()
    seconds: float = 0.0

    def run(self, unit, io):
        time.sleep(self.seconds)
        first = not (io.root / f"tried-{unit.number}").exists()
        (io.root / f"tried-{unit.number}").touch()
        io.write_arrays("squares", 1, value=np.array([unit.inputs[0] ** 2]))
        if unit.number in self.raises:
            raise ValueError(f"unit {unit.number} is cursed")
        if unit.number in self.incurable:
            raise AssetError("no such model")
        if first and unit.number in self.stumbles:
            raise ValueError("once only")
        if first and unit.number in self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        io.facts["sum"] = unit.inputs[0]


@dataclass(frozen=True)
class FillsTheDisk:
    def run(self, unit, io):
        raise OSError(errno.ENOSPC, "No space left on device")


@dataclass(frozen=True)
class Plan:
    """A check that passes, fails, or kills the worker that it is called in."""

    outcome: str
    driver: int

    def check(self):
        if self.outcome == "fails":
            raise AssetError("no such model")
        if self.outcome == "kills" and os.getpid() != self.driver:
            os.kill(os.getpid(), signal.SIGKILL)
