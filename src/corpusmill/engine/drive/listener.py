"""What shows the progress of a run."""

import contextlib
from collections.abc import Iterator
from typing import Protocol

from corpusmill.engine.drive.meter import Meter
from corpusmill.execute import Executor, ReportsStatus, WorkerStatus
from corpusmill.store.units import Commit
from corpusmill.store.work import Stage


class ProgressListener(Protocol):
    """Called as a run goes on, to show its progress. Every method is called from the driver only.

    compiling   kernels are compiled now, which takes a minute or two
    stage       a stage begins: it has so many units, of which some are done already
    commit      a unit of the stage is done
    note        a line for people

    One that is a `meter.BeatListener` as well is also called with the progress inside units.
    """

    def compiling(self) -> None: ...
    def stage(self, stage: Stage, units: int, done: int) -> None: ...
    def commit(self, stage: Stage, commit: Commit) -> None: ...
    def note(self, message: str) -> None: ...


class Silent:
    """Shows nothing."""

    def compiling(self) -> None:
        pass

    def stage(self, stage: Stage, units: int, done: int) -> None:
        pass

    def commit(self, stage: Stage, commit: Commit) -> None:
        pass

    def note(self, message: str) -> None:
        pass


@contextlib.contextmanager
def listening_to(executor: Executor, listener: ProgressListener, meter: Meter | None = None) -> Iterator[None]:
    """Meanwhile, note what units wait for, and hand the meter what workers do, if the executor reports it."""
    if not isinstance(executor, ReportsStatus):
        yield
        return
    missing = ""

    def hear(pulse: WorkerStatus) -> None:
        nonlocal missing
        if pulse.waits_for and pulse.waits_for != missing:
            listener.note(f"no unit can run: the cluster has no {pulse.waits_for}. Waiting for one; Ctrl-C ends this")
        missing = pulse.waits_for
        if meter is not None:
            meter.pulse(pulse)

    executor.on_pulse = hear
    try:
        yield
    finally:
        executor.on_pulse = None
