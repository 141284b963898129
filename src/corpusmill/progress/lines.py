"""Progress as plain lines, for logs."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from corpusmill.progress import words
from corpusmill.report.numbers import plural

if TYPE_CHECKING:
    from corpusmill.engine.drive.meter import StageProgress
    from corpusmill.store.units import Commit
    from corpusmill.store.work import Stage

LINE_SECONDS = 5.0  # seconds between two lines on one stage


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class ProgressLines:
    """A line for every stage that is done, and one every few seconds on how far the present one is."""

    def __init__(self, say: Callable[[str], None] = say, interval: float = LINE_SECONDS) -> None:
        self._say, self._every = say, interval
        self._next = 0.0  # when the next line on something that goes on is due
        self._first = True  # whether nothing was said of a stage yet
        self._before = 0  # stages that were done before this call, and of which nothing was said

    def __enter__(self) -> "ProgressLines":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def planned(self, stages: "Sequence[Stage]") -> None:
        self._say(f"{plural(len(stages), 'stage')}: {', '.join(stage.name for stage in stages)}")

    def compiling(self) -> None:
        self._say(words.COMPILING_LINE)
        self._wait()

    def compiled(self, kernels: int, total: int) -> None:
        if kernels == total or self._is_due():
            self._say(f"compiled {kernels} of {total} kernels")
            self._wait()

    def stage(self, stage: "Stage", units: int, done_before: int) -> None:
        if units and done_before == units:
            self._before += 1
            return
        if self._before:
            self._say(words.done_already(self._before))
            self._before = 0
        if done_before:
            self._say(f"{stage.name}: {done_before} of {units} units already done")
        elif self._first:
            self._say(f"{stage.name}: {words.count(units, 'unit')}")
        self._first = False
        self._wait()

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        pass

    def beat(self, progress: "StageProgress") -> None:
        if words.is_finished(progress):
            if not self._before:
                self._say(words.finished(progress))
        elif self._is_due():
            self._say(line(progress))
            self._wait()

    def note(self, message: str) -> None:
        self._say(message)

    def _is_due(self) -> bool:
        return time.monotonic() >= self._next

    def _wait(self) -> None:
        self._next = time.monotonic() + self._every


def line(progress: "StageProgress") -> str:
    """How far a stage is, and the run."""
    about = [
        words.units(progress),
        words.per_cent(progress.share),
        f"{progress.seconds:.0f} s",
        *words.rates(progress),
        *words.machine(progress),
        words.time_left(progress.left),
    ]
    run = f"run: stage {progress.number} of {progress.stages}, about {words.per_cent(progress.overall)}"
    of_run = words.time_left(progress.overall_left)
    return f"{progress.stage}: {', '.join(filter(None, about))}; {run}" + (f", {of_run}" if of_run else "")
