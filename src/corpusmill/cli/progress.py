"""The progress of a run, on stderr: lines for logs, bars for a terminal."""

import time
from typing import TYPE_CHECKING, Any

from corpusmill.cli.common import say
from corpusmill.report.numbers import size

if TYPE_CHECKING:
    from corpusmill.units import Commit, Stage


def bytes_read(commit: "Commit") -> int:
    """Bytes of input that a unit read; 0 if it reads what another unit wrote."""
    return sum(source.get("bytes", 0) for source in commit.facts.get("read", {}).values())


class Plain:
    """A line per stage and one every few seconds, for logs."""

    EVERY = 5.0  # seconds

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def compiling(self) -> None:
        say("compiling the text kernels for this machine (once, up to a minute) …")

    def stage(self, stage: "Stage", units: int, done: int) -> None:
        self.units, self.done, self.read = units, done, 0
        self.started = self.printed = time.monotonic()
        if done:
            say(f"{stage.name}: {done} of {units} units already done")

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        self.done += 1
        self.read += bytes_read(commit)
        at = time.monotonic()
        if self.done == self.units or at - self.printed >= self.EVERY:
            self.printed = at
            rate = f", {size(self.read / max(at - self.started, 1e-9))}/s of input" if self.read else ""
            say(f"{stage.name}: {self.done}/{self.units} units, {at - self.started:.1f} s{rate}")

    def note(self, message: str) -> None:
        say(message)


class Bars:
    """Progress bars with rate and remaining time, for a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.progress = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[rate]}"),
            console=Console(stderr=True),
        )
        self.task: Any = None
        self.read = 0
        self.started = 0.0

    def __enter__(self) -> "Bars":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def compiling(self) -> None:
        self.progress.console.print("compiling the text kernels for this machine (once, up to a minute) …")

    def stage(self, stage: "Stage", units: int, done: int) -> None:
        self.read, self.started = 0, time.monotonic()
        self.task = self.progress.add_task(stage.name, total=units, completed=done, rate="")

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        self.read += bytes_read(commit)
        elapsed = max(time.monotonic() - self.started, 1e-9)
        self.progress.update(self.task, advance=1, rate=f"{size(self.read / elapsed)}/s" if self.read else "")

    def note(self, message: str) -> None:
        self.progress.console.print(message)
