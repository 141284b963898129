"""The calls that carried out a run: when, for how long, where, by which command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from corpusmill.engine.work.pass_results import EXTRACT
from corpusmill.report.numbers import duration, size
from corpusmill.report.tables import RunTables

NO_VALUE = "–"


@dataclass(frozen=True)
class Calls:
    """The calls that did something of a run.

    seconds   of those whose end is recorded
    lost      those whose end is not recorded: they were killed, or are at work. They had the recipe of the run
    calls     as in run.json, the first one first
    """

    seconds: float
    lost: int
    calls: Sequence[Mapping[str, Any]]

    @property
    def last(self) -> Mapping[str, Any]:
        return self.calls[-1]

    @property
    def period(self) -> str:
        """From when to when."""
        return period(self.calls[0]["started"], self.last["ended"])


def calls(tables: RunTables) -> Calls | None:
    """None of a run by a version that kept no record of its calls."""
    records = tables.files.calls
    if not records:
        return None
    killed = [call for call in records if call["ended"] is None and call["fingerprint"] == tables.files.fingerprint]
    did = [call for call in records if call in killed or stages_of(tables, call)] or [records[-1]]
    return Calls(sum(call["seconds"] or 0.0 for call in did), sum(call["ended"] is None for call in did), did)


def stages_of(tables: RunTables, call: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """stage -> what a call did of it, where that is part of what the run has now, or may be.

    Equal work has one folder, in which units of several plans are. What reads the input shares them, if some of the
    input is the same; what comes after it, seldom.
    """
    parts = {}
    for stage, part in call.get("stages", {}).items():
        folder, plan = tables.files.plans.get(stage, (None, None))
        shared = part.get("plan") == plan or stage in (EXTRACT, tables.passes[0][0])
        if part.get("folder") == folder and shared and part.get("done") != 0:
            parts[stage] = part
    return parts


def period(first: str, last: str | None) -> str:
    """From when to when, as run.json has times; `last` is None where no end is recorded.

    >>> period("2026-11-22T15:35:33Z", "2026-11-22T15:38:50Z")
    '2026-11-22, 15:35 to 15:38 UTC'
    >>> period("2026-11-22T15:35:33Z", "2026-11-24T05:38:50Z")
    '2026-11-22, 15:35 to 2026-11-24, 05:38 UTC'
    """
    if last is None or last[:16] == first[:16]:
        return f"{minute(first)} UTC"
    until = minute(last)
    return f"{minute(first)} to {until.partition(', ')[2] if first[:10] == last[:10] else until} UTC"


def minute(time: str) -> str:
    """A time of a record, to the minute."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d, %H:%M")


def machine_in_words(machine: Mapping[str, Any]) -> str:
    """What a machine is, but for its name."""
    count, usable = machine.get("cpus"), machine.get("cpus_usable")
    cores = f"{count} CPUs" if count == usable else f"{usable} of {count} CPUs"
    parts = [f"{cores} ({machine.get('cpu')})"]
    if memory := machine.get("memory"):
        limit = machine.get("memory_limit")
        parts.append(f"{size(memory)} of memory" + (f", limited to {size(limit)}" if limit else ""))
    return " · ".join([*parts, str(machine.get("system"))])


def git_in_words(state: Mapping[str, Any] | None) -> str | None:
    """The state of a repository; None if there is none."""
    if not state:
        return None
    dirty = {True: "with uncommitted changes", False: "", None: "changes not known"}[state["dirty"]]
    dirty = dirty if state["tracked"] else "the file is not in it"
    path = f"{state['path']} of " if state["remote"] else f"{state['path']}, "
    return f"{path}{state['remote'] or 'no remote'}, commit {state['commit'][:12]}{', ' if dirty else ''}{dirty}"


def calls_table(run_calls: Calls) -> tuple[list[str], list[list[str]]]:
    """Head and rows, a call each."""
    head = ["begun (UTC)", "outcome", "units done", "elapsed", "workers", "host", "corpusmill", "recipe"]
    rows = []
    for call in run_calls.calls:
        units = sum(part.get("done", 0) for part in call["stages"].values()) if "stages" in call else None
        is_finished = call["outcome"] == "finished"
        rows.append(
            [
                minute(call["started"]),
                call["outcome"] or "no end recorded",
                f"{units:,}" if units is not None and is_finished else NO_VALUE,
                NO_VALUE if call["seconds"] is None else duration(call["seconds"]),
                f"{call['workers']}",
                call["machine"].get("host") or NO_VALUE,
                call["versions"]["corpusmill"],
                call["fingerprint"][:12],
            ]
        )
    return head, rows


def command_in_words(command: Sequence[str]) -> list[str]:
    """A command line, with the program by its name alone."""
    program = PurePath(command[0]).name if command else ""
    return ["corpusmill" if program in ("__main__.py", "corpusmill.exe") else program, *command[1:]]
