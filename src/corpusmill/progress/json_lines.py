"""Progress for programs: a JSON object a line."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from corpusmill.progress.lines import say

if TYPE_CHECKING:
    from corpusmill.engine.drive.meter import StageProgress
    from corpusmill.store.units import Commit
    from corpusmill.store.work import Stage


class JsonLines:
    """One object a line, flushed; `event` says which:

    planned    `stages`: names
    compiling  kernels are compiled now; `compiled`: `kernels` are, `of` so many
    stage      `stage` begins, with `units`, of which `done` were done before
    progress   the fields of `engine.meter.StageProgress`, about twice a second
    commit     a unit of `stage` is done: its `key`, `seconds` and `memory` (bytes)
    note       `message`, for people
    end        `completed`: whether the run came to its end
    """

    def __init__(self, say: Callable[[str], None] = say) -> None:
        self._say = say

    def __enter__(self) -> "JsonLines":
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._event("end", completed=error is None)

    def planned(self, stages: "Sequence[Stage]") -> None:
        self._event("planned", stages=[stage.name for stage in stages])

    def compiling(self) -> None:
        self._event("compiling")

    def compiled(self, kernels: int, total: int) -> None:
        self._event("compiled", kernels=kernels, of=total)

    def stage(self, stage: "Stage", units: int, done_before: int) -> None:
        self._event("stage", stage=stage.name, units=units, done=done_before)

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        self._event("commit", stage=stage.name, key=commit.key, seconds=commit.seconds, memory=commit.memory)

    def beat(self, progress: "StageProgress") -> None:
        self._event("progress", **{name: _short(value) for name, value in asdict(progress).items()})

    def note(self, message: str) -> None:
        self._event("note", message=message)

    def _event(self, event: str, **about: Any) -> None:
        self._say(json.dumps({"event": event, **about}, ensure_ascii=True))


def _short(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
