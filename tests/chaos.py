"""Runs that are killed: in a stage that is chosen, at a moment in it that is drawn, in one of several ways."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent
PUBLISH, REPORT = "publish", "report"  # what follows the last stage; to read back is part of the report
GONE = 60.0  # seconds after which a process that is still there is taken for one that stays

# kind -> which processes get which signal. A terminal sends Ctrl-C to all of them.
KINDS = {
    "worker -9": ("worker", signal.SIGKILL),
    "driver -9": ("driver", signal.SIGKILL),
    "fork server -9": ("fork server", signal.SIGKILL),
    "everything -9": ("all", signal.SIGKILL),
    "driver TERM": ("driver", signal.SIGTERM),
    "all INT": ("all", signal.SIGINT),
}


def start(recipe: Path, folder: Path, workers: int = 2) -> "subprocess.Popen[str]":
    """A run as a user starts one, in a session of its own. Ctrl-C must not be ignored here: what starts inherits that."""
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder), "--json"]
    return subprocess.Popen(
        [*command, "--workers", str(workers)],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def processes(run: "subprocess.Popen[str]") -> dict[str, list[psutil.Process]]:
    """What a run consists of: driver, fork server, workers, the newest last; `all` has the resource tracker, too."""
    found: dict[str, list[psutil.Process]] = {"driver": [], "fork server": [], "worker": [], "all": []}
    try:
        driver = psutil.Process(run.pid)
        found["driver"].append(driver)
        children = driver.children(recursive=True)
        found["all"] = [driver, *children]
        for child in children:
            command = " ".join(child.cmdline())
            if "multiprocessing.forkserver" in command:
                found["fork server" if child.ppid() == run.pid else "worker"].append(child)
    except psutil.Error:  # it ended meanwhile
        pass
    return found


def stages(folder: Path) -> list[dict[str, Any]]:
    """The stages of a run by its own record, with the `plan` of those that have begun."""
    try:
        record: list[dict[str, Any]] = json.loads((folder / "stages.json").read_bytes())
        return record
    except (OSError, ValueError):
        return []


def place(folder: Path) -> str:
    """The stage that a run is in, or what follows the stages; "start" before the first, "end" after all."""
    record = stages(folder)
    begun = [entry for entry in record if entry["plan"]]
    if not begun:
        return "start"
    if (folder / "report.html").exists():
        return "end"
    if (folder / "waterfall.json").exists():
        return REPORT
    last = begun[-1]
    results = folder / "stages" / last["folder"] / "results" / f"{last['plan']}.parquet"
    return PUBLISH if len(begun) == len(record) and results.exists() else str(last["stage"])


def seconds_of_stages(run: "subprocess.Popen[str]", folder: Path) -> dict[str, float]:
    """How long a run is in each place, in order; it is carried out to its end."""
    times: dict[str, float] = {}
    before, since = "start", time.monotonic()
    while run.poll() is None:
        if (now := place(folder)) != before:
            times[before] = time.monotonic() - since
            before, since = now, time.monotonic()
        time.sleep(0.002)
    _, message = run.communicate()
    assert run.returncode == 0, message
    return {name: seconds for name, seconds in times.items() if name != "end"}


def files(folder: Path) -> list[str]:
    """All files of a run's folder; the name of the attempt that wrote one is left out, so an orphan occurs twice."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [re.sub(r"/([0-9a-f]{20})-[0-9a-z]+", r"/\1", name) for name in names]


@dataclass(frozen=True)
class Kill:
    """One to come: in which place, which share of the usual time after it began, and in which way."""

    number: int
    place: str
    share: float
    kind: str


def kills(seed: int, count: int, places: list[str]) -> Iterator[Kill]:
    """Every place in every way, in an order that is drawn; and again, until there are enough."""
    draw = random.Random(seed)
    number = 0
    while number < count:
        pairs = [(where, kind) for where in places for kind in KINDS]
        draw.shuffle(pairs)
        for where, kind in pairs[: count - number]:
            yield Kill(number, where, draw.random(), kind)
            number += 1


def carry_out(kill: Kill, recipe: Path, folder: Path, times: dict[str, float]) -> tuple[str, str]:
    """Kill a run and let it go on to its end; returns where it was hit, and how: "none" if it ended before."""
    order = [*times]
    run = start(recipe, folder)
    due: float | None = None
    while run.poll() is None:
        now = place(folder)
        if due is None and now in order and order.index(now) >= order.index(kill.place):
            due = time.monotonic() + kill.share * times[kill.place]
        if due is not None and time.monotonic() >= due:
            break
        time.sleep(0.002)
    there = processes(run)
    kind = kill.kind if there[KINDS[kill.kind][0]] else "driver -9"  # it has no worker at the moment
    which, how = KINDS[kind]
    victims = there[which]
    hit = place(folder) if victims and run.poll() is None else "none"
    for victim in victims[-1:] if which == "worker" else victims:
        try:
            victim.send_signal(how)
        except psutil.Error:
            hit = hit if which == "all" else "none"
    _, message = run.communicate()
    assert "Traceback" not in message, (kill, message)
    if which == "driver" and how == signal.SIGTERM:
        # 143 is right: the run says that it was ended, and how to go on. Without a handler the system says -15.
        assert run.returncode in (0, 143, -signal.SIGTERM), (kill, run.returncode, message)
    elif how == signal.SIGINT:
        assert run.returncode in (0, 130), (kill, run.returncode, message)
        assert run.returncode == 0 or "run the same command again to continue" in message, (kill, message)
    elif which == "worker":
        assert run.returncode == 0, (kill, message)  # what it did is done by another one
    assert not [process for process in psutil.wait_procs(there["all"], GONE)[1] if not zombie(process)], kill
    if run.returncode:
        run = start(recipe, folder)
        _, message = run.communicate()
        assert run.returncode == 0, (kill, message)
        assert "Traceback" not in message, (kill, message)
    return hit, kind


def zombie(process: psutil.Process) -> bool:
    """Whether it has ended, and nobody has asked how."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def many(seed: int, count: int, recipe: Path, folder: Path, check: Any) -> str:
    """Kill so many runs, two at a time where there are two cores; returns the table of what was hit, and how.

    check   is called with the folder of each run that was killed and came to its end
    """
    (folder / "tmp").mkdir(parents=True)
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder / "tmp")  # what killed processes leave there goes with the folder
    ctrl_c = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background of a shell ignores it
    try:
        times = seconds_of_stages(start(recipe, folder / "timed"), folder / "timed")
        check(folder / "timed")
        planned = list(kills(seed, count, [name for name in times if name != "start"]))

        def one(kill: Kill) -> tuple[str, str]:
            hit = carry_out(kill, recipe, folder / f"run-{kill.number}", times)
            check(folder / f"run-{kill.number}")
            return hit

        with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            hits = Counter(pool.map(one, planned))
    finally:
        signal.signal(signal.SIGINT, ctrl_c)
        if before[1] is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before[1]
    return table(hits, [*times, "end", "none"], seed)


def table(hits: Counter[tuple[str, str]], places: list[str], seed: int) -> str:
    rows = [["killed in", *KINDS, "all"]]
    for where in places:
        counts = [hits[where, kind] for kind in KINDS]
        if sum(counts):
            rows.append([where, *map(str, counts), str(sum(counts))])
    rows.append(["all", *(str(sum(n for (_, k), n in hits.items() if k == kind)) for kind in KINDS), str(hits.total())])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([r[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(r[1:], widths[1:]))]) for r in rows]
    return "\n".join([f"seed {seed}", *lines])
