"""Progress in one cell of a notebook, which is drawn over as the run goes on."""

import html
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corpusmill.progress import words

if TYPE_CHECKING:
    from corpusmill.engine.drive.meter import StageProgress
    from corpusmill.store.units import Commit
    from corpusmill.store.work import Stage


class Notebook:
    """Bars while the run is at work; what was done, and notes, when it has ended."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._stages: list[str] = []  # a line for each that this call has done
        self._notes: list[str] = []
        self._at: StageProgress | None = None
        self._said = "starting …"
        self._before = 0  # stages that were done before this call
        self._began = time.monotonic()

    def __enter__(self) -> "Notebook":
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        self._handle = display(self._bundle(self._running()), raw=True, display_id=True)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        ended = "stopped" if error else "done"
        seconds = words.duration(time.monotonic() - self._began)
        self._update(f"{ended}: {words.count(len(self._stages), 'stage')} in {seconds}", is_open=False)

    def planned(self, stages: "Sequence[Stage]") -> None:
        self._say(f"starting {len(stages)} stages …")

    def compiling(self) -> None:
        self._say(words.COMPILING_LINE)

    def compiled(self, kernels: int, total: int) -> None:
        self._say("starting …" if kernels == total else f"{words.COMPILING_LINE} {kernels} of {total} kernels")

    def stage(self, stage: "Stage", units: int, done_before: int) -> None:
        self._before = self._before + 1 if units and done_before == units else 0

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        pass

    def beat(self, progress: "StageProgress") -> None:
        if self._before:
            return
        if words.is_finished(progress):
            self._stages.append(words.finished(progress))
        self._at = progress
        self._update(self._running())

    def note(self, message: str) -> None:
        self._notes.append(message)
        self._update(self._running())

    def _say(self, line: str) -> None:
        self._said = line
        self._update(self._running())

    def _running(self) -> str:
        return self._said if self._at is None else ""

    def _update(self, head: str, is_open: bool = True) -> None:
        if self._handle is not None:
            self._handle.update(self._bundle(head, is_open), raw=True)

    def _bundle(self, head: str, is_open: bool = True) -> dict[str, str]:
        """The cell as HTML and as text: while the run is at work its bars, then its stages, folded."""
        lines = [head] if head else []
        shown = [f"<div>{html.escape(head)}</div>"] if head else []
        if self._at is not None and is_open:
            about = [*words.rates(self._at), *words.machine(self._at)]
            of_run = f"stage {self._at.number} of {self._at.stages}"
            shown += [_bar("run", self._at.overall, of_run, self._at.overall_left)]
            shown += [_bar(self._at.stage, self._at.share, words.units(self._at), self._at.left)]
            shown += [f"<div>{html.escape(' · '.join(about))}</div>"]
            lines += [f"{of_run}: {self._at.stage}, {words.per_cent(self._at.share)}", " · ".join(about)]
        elif self._stages:
            inside = html.escape("\n".join(self._stages))
            shown = [f"<details><summary>{html.escape(head)}</summary><pre>{inside}</pre></details>"]
            lines += self._stages
        shown += [f"<div>{html.escape(note)}</div>" for note in self._notes]
        body = "".join(shown)
        return {"text/html": f'<div style="font-size: 90%">{body}</div>', "text/plain": "\n".join(lines + self._notes)}


def _bar(name: str, share: float, detail: str, seconds_left: float | None) -> str:
    about = html.escape(", ".join(filter(None, (words.per_cent(share), detail, words.time_left(seconds_left)))))
    return f'<div><progress max="1" value="{share:.4f}"></progress> {html.escape(name)}: {about}</div>'
