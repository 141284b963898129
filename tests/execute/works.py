"""Works for the tests of executors. In a module of its own, because workers import it."""

import errno
import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from corpusmill.errors import AssetError


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class Square:
    """Writes the square of its input. Inputs listed in `raises` fail always, in `dies` and `stumbles` the first time;
    in `leaves` somebody ends the worker then, with notice."""

    raises: tuple[int, ...] = ()
    dies: tuple[int, ...] = ()
    stumbles: tuple[int, ...] = ()
    permanent: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()
    seconds: float = 0.0

    def run(self, inputs, io):
        time.sleep(self.seconds)
        tried = io.run.path / f"tried-{inputs.value}"
        first = not tried.exists()
        tried.touch()
        io.write_arrays("squares", 1, value=np.array([inputs.value**2]))
        if inputs.value in self.raises:
            raise ValueError(f"{inputs.value} is cursed")
        if inputs.value in self.permanent:
            raise AssetError("no such model")
        if first and inputs.value in self.stumbles:
            raise ValueError("once only")
        if first and inputs.value in self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        if first and inputs.value in self.leaves:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        io.facts["sum"] = inputs.value
        io.notes["value"] = inputs.value


@dataclass(frozen=True)
class FillsTheDisk:
    def run(self, inputs, io):
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
