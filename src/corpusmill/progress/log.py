"""The log of a run: what its progress says in lines, with the time, in a file of its folder."""

import contextlib
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from corpusmill.about import __version__
from corpusmill.engine.drive.meter import BeatListener
from corpusmill.errors import CorpusmillError
from corpusmill.hidden import masked
from corpusmill.progress.lines import ProgressLines
from corpusmill.store.run_folder import LOG, RunFolder

if TYPE_CHECKING:
    from corpusmill.engine.drive.listener import ProgressListener
    from corpusmill.engine.drive.meter import StageProgress
    from corpusmill.store.units import Commit
    from corpusmill.store.work import Stage

LINE_SECONDS = 60.0  # seconds between two lines on one stage


class RunLog:
    """Passes everything on to what shows the progress, and appends lines on it to LOG in the run's folder.

    The lines wait until `begin` says that the folder is the run's. Those of a folder on this machine are written at
    once, others at the end. What cannot be written ends no run.
    """

    def __init__(self, shown: "ProgressListener") -> None:
        self._shown = shown
        self._lines = ProgressLines(self.write, LINE_SECONDS)
        self._waiting: list[str] = []
        self._run: RunFolder | None = None

    def __enter__(self) -> "RunLog":
        self.write(f"corpusmill {__version__}, process {os.getpid()} on {platform.node()}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            self.write(f"{kind.__name__}: {error}" if str(error) else kind.__name__)
        if self._run is not None:
            self._flush()

    def begin(self, run: RunFolder) -> None:
        self._run = run
        if run.is_local:
            self._flush()

    def write(self, line: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._waiting += [f"{now} {each}\n" for each in masked(line).splitlines()]
        if self._run is not None and self._run.is_local:
            self._flush()

    def _flush(self) -> None:
        assert self._run is not None
        with contextlib.suppress(OSError, CorpusmillError):
            self._run.append(LOG, "".join(self._waiting).encode())
        self._waiting = []

    def planned(self, stages: "Sequence[Stage]") -> None:
        self._lines.planned(stages)
        if isinstance(self._shown, BeatListener):
            self._shown.planned(stages)

    def compiling(self) -> None:
        self._lines.compiling()
        self._shown.compiling()

    def compiled(self, kernels: int, of: int) -> None:
        self._lines.compiled(kernels, of)
        if isinstance(self._shown, BeatListener):
            self._shown.compiled(kernels, of)

    def stage(self, stage: "Stage", units: int, done: int) -> None:
        self._lines.stage(stage, units, done)
        self._shown.stage(stage, units, done)

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        self._shown.commit(stage, commit)

    def beat(self, progress: "StageProgress") -> None:
        self._lines.beat(progress)
        if isinstance(self._shown, BeatListener):
            self._shown.beat(progress)

    def note(self, message: str) -> None:
        self._lines.note(message)
        self._shown.note(message)
