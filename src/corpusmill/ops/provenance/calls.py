"""The calls that carried out a run, each with its time, machine and versions: the list `calls` of run.json, to which
every call adds itself."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from corpusmill.about import PACKAGE
from corpusmill.engine.drive.clock import Clock
from corpusmill.engine.drive.session import StageCounts
from corpusmill.errors import CorpusmillError
from corpusmill.execute import Executor
from corpusmill.ops.provenance import hidden_in
from corpusmill.ops.provenance.git import git_state
from corpusmill.ops.provenance.machine import machine
from corpusmill.recipe.model import Recipe
from corpusmill.store.run_folder import RUN, STAGES_RECORD, RunFolder
from corpusmill.store.units import now, peak_memory

FINISHED, FAILED, INTERRUPTED = "finished", "failed", "interrupted"
COMPILING_CLOCK = "compiling"  # for the clock: what is no stage of the run


class Call:
    """One call that carries out a run.

    clock   measures its stages

    Made when the call begins. `begin` and `end` write run.json.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self._since = now()
        self._record: dict[str, Any] = {"id": uuid.uuid4().hex, "started": _time(), "ended": None, "seconds": None}
        self._run: RunFolder | None = None
        self._described: dict[str, Any] = {}

    def begin(self, run: RunFolder, recipe: Recipe, executor: Executor, described: Mapping[str, Any]) -> None:
        """Write run.json, with this call behind the earlier ones.

        described   what `provenance.describe` says
        """
        hidden = hidden_in(recipe)
        self._record |= {
            "outcome": None,
            "command": described["command"],
            "fingerprint": described["fingerprint"],
            "workers": getattr(executor, "workers", 1),
            "executor": type(executor).__name__.lower(),
            "machine": machine(),
            "versions": {name: described["versions"][name] for name in ("corpusmill", "python")},
            "git": {
                "recipe": git_state(recipe.written.file, hidden) if recipe.written else None,
                "corpusmill": _code(hidden),
            },
        }
        self._run, self._described = run, dict(described)
        self._write()

    def end(
        self,
        outcome: str,
        counts: Mapping[str, StageCounts] | None = None,
        damaged: list[str] | None = None,
    ) -> None:
        """Write run.json, with what has become of this call; nothing if it has not begun.

        counts    stage -> its units; None where that is not known
        damaged   what was found damaged
        """
        if self._run is None:
            return
        self.clock.at("")
        compiling = self.clock.seconds.get(COMPILING_CLOCK, 0.0)
        self._record |= {
            "ended": _time(),
            "seconds": round(now() - self._since - compiling, 3),
            "compile_seconds": round(compiling, 3),
            "outcome": outcome,
            "peak_memory": peak_memory(),
            "stages": self._stages(self._run, counts or {}),
        }
        if damaged:
            self._described["damaged"] = damaged
        self._write()

    def failed(self, error: BaseException) -> None:
        """The same of a call that an error ends. Nothing of it is raised, and a folder that was removed stays so."""
        with suppress(CorpusmillError, OSError):
            if self._run is not None and self._run.exists():
                stopped = isinstance(error, KeyboardInterrupt | SystemExit)
                self.end(INTERRUPTED if stopped else FAILED)

    def _stages(self, run: RunFolder, counts: Mapping[str, StageCounts]) -> dict[str, dict[str, Any]]:
        """stage -> what this call did of it: its folder, plan and seconds; units, and workers that were at work, where
        the call has come to its end."""
        stages: dict[str, dict[str, Any]] = {}
        for entry in run.read(STAGES_RECORD):
            stage = entry["stage"]
            if stage not in self.clock.seconds:
                continue
            stages[stage] = {**entry, "seconds": round(self.clock.seconds[stage], 3)}
            del stages[stage]["stage"]
            if units := counts.get(stage):
                workers = min(self._record["workers"], units.done_now)
                stages[stage] |= {"units": units.units, "done": units.done_now, "workers": workers}
        return stages

    def _write(self) -> None:
        assert self._run
        calls = [call for call in earlier_calls(self._run) if call["id"] != self._record["id"]]
        self._run.write(RUN, {**self._described, "calls": [*calls, self._record]})


class SharedCall(Call):
    """One of several that carry out a run at the same time: each keeps its own record, and the one that publishes
    writes run.json with all of them.

    keep   writes the record of this call where no other call writes
    """

    def __init__(self, keep: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._keep = keep

    def _write(self) -> None:
        self._keep(self._record)


def write_calls(run: RunFolder, described: Mapping[str, Any], calls: Iterable[Mapping[str, Any]]) -> None:
    """Write run.json with the calls that it lists, and these in addition or in their place.

    described   what `provenance.describe` says
    """
    all_calls = {call["id"]: call for call in earlier_calls(run)} | {call["id"]: call for call in calls}
    ordered = sorted(all_calls.values(), key=lambda call: (call["started"], call["id"]))
    run.write(RUN, {**described, "calls": ordered})


def earlier_calls(run: RunFolder) -> list[dict[str, Any]]:
    """The calls that run.json lists, those of others that are at work among them; none where it cannot be read."""
    with suppress(CorpusmillError):
        calls = run.record().get("calls", [])
        if isinstance(calls, list) and all(isinstance(call, dict) and "id" in call for call in calls):
            return calls
    return []


def _code(hidden: Callable[[str], str]) -> dict[str, Any] | None:
    """The state of the repository that this package is from, if it is from one."""
    state = _loaded()
    return state and state | {name: state[name] and hidden(state[name]) for name in ("path", "remote")}


@lru_cache(maxsize=1)
def _loaded() -> dict[str, Any] | None:
    """Asked once: what is loaded does not change with its files."""
    state = git_state(PACKAGE / "__init__.py")
    return state if state and state["tracked"] else None


def _time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
