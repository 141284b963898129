"""Progress as bars, for a terminal."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from corpusmill.progress import words

if TYPE_CHECKING:
    from corpusmill.engine.drive.meter import StageProgress
    from corpusmill.store.units import Commit
    from corpusmill.store.work import Stage

LONGEST_BAR, SHORTEST_BAR = 30, 5
BESIDE_BAR = 52  # columns that the rest of a line takes
MAX_STAGE_NAME = 16


class Bars:
    """A bar for the run and one for its present stage, with rates; above them a line for each stage that is done.

    What is shown is drawn anew when something is said, and not by a thread of its own: at the end of a run the driver
    is at work in Arrow and DuckDB. While kernels are compiled, nothing is said for seconds, and a thread does it.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._live: Live | None = None
        self._before = 0  # stages that were done before this call
        self._kernels = (0, 0)
        self._began = time.monotonic()

    def __enter__(self) -> "Bars":
        self._show("starting …")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def planned(self, stages: "Sequence[Stage]") -> None:
        self._show(f"starting {len(stages)} stages …")

    def compiling(self) -> None:
        self._stop()
        self._began = time.monotonic()
        self._live = self._new_live(auto_refresh=True)
        self._live.start()

    def compiled(self, kernels: int, total: int) -> None:
        self._kernels = (kernels, total)
        if kernels == total:
            self._stop()

    def stage(self, stage: "Stage", units: int, done_before: int) -> None:
        if units and done_before == units:
            self._before += 1
            return
        if self._before:
            self.note(words.done_already(self._before))
            self._before = 0

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        pass

    def beat(self, progress: "StageProgress") -> None:
        if self._before:
            return
        if words.is_finished(progress):
            self.note(words.finished(progress))
        is_last = words.is_finished(progress) and progress.number == progress.stages
        self._show(words.FINISHING_LINE if is_last else view(progress, self.console.width))

    def note(self, message: str) -> None:
        self.console.print(message, markup=False, highlight=False)

    def _show(self, shown: RenderableType) -> None:
        if self._live is None:
            self._live = self._new_live(auto_refresh=False)
            self._live.start()
        self._live.update(Text(shown, no_wrap=True) if isinstance(shown, str) else shown, refresh=True)

    def _new_live(self, auto_refresh: bool) -> Live:
        return Live(
            self._compiling() if not auto_refresh else None,
            console=self.console,
            auto_refresh=auto_refresh,
            transient=True,  # the lines above remain
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),  # else results would go to stderr
            get_renderable=self._compiling if auto_refresh else None,
        )

    def _compiling(self) -> RenderableType:
        compiled, total = self._kernels
        seconds = words.duration(time.monotonic() - self._began)
        line = f"{words.COMPILING_LINE}\n{compiled} of {total} kernels, {seconds}"
        text = Text(line, no_wrap=True, overflow="ellipsis")
        return Group(text, ProgressBar(total or 1, compiled, width=_bar(self.console.width)))

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def view(progress: "StageProgress", width: int) -> RenderableType:
    """Two bars, and the rates below, in at most `width` columns."""
    bar = _bar(width)
    stage = progress.stage
    if len(stage) > MAX_STAGE_NAME:
        stage = f"{stage[: MAX_STAGE_NAME - 1]}…"
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(width=bar)
    for _ in range(3):
        table.add_column(no_wrap=True, justify="right")
    for name, share, units, seconds_left in (
        ("run", progress.overall, f"stage {progress.number} of {progress.stages}", progress.overall_left),
        (stage, progress.share, words.units(progress), progress.left),
    ):
        progress_bar = ProgressBar(1.0, share, width=bar)
        table.add_row(name, progress_bar, words.per_cent(share), units, words.time_left(seconds_left))
    about = [*words.rates(progress), *words.machine(progress), words.duration(progress.seconds)]
    return Group(table, *(Text(line, "dim", no_wrap=True) for line in _packed(about, width)))


def _bar(width: int) -> int:
    return max(SHORTEST_BAR, min(LONGEST_BAR, width - BESIDE_BAR))


def _packed(parts: Sequence[str], width: int) -> list[str]:
    """The parts in as few lines as they fit in."""
    lines = [""]
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines[-1] else part
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part[:width])
    return lines
