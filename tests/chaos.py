"""Runs that are killed, most of them several times: in stages that are chosen, at a moment in each that is drawn, in one
of several ways."""

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
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent
PUBLISH, REPORT = "publish", "report"  # what follows the last stage; to read back is part of the report
GONE = 60.0  # seconds after which a process that is still there is taken for one that stays

LEASE = 2.0  # seconds, of workers that share a run
STOPPED = 3 * LEASE  # for which a zombie is stopped: its leases are lost

KILLS_OF_A_RUN = 6  # at most


@dataclass(frozen=True)
class Way:
    """One of killing a run.

    who      processes: "worker" is one of those that do units, "driver" the command itself, "one" the command with all
             its processes, "all" every command with all of theirs
    sent     the signal
    resumed  seconds after which they get SIGCONT; 0: never
    """

    who: str
    sent: int
    resumed: float = 0.0


# A terminal sends Ctrl-C to all of them.
KINDS = {
    "worker -9": Way("worker", signal.SIGKILL),
    "driver -9": Way("driver", signal.SIGKILL),
    "fork server -9": Way("fork server", signal.SIGKILL),
    "everything -9": Way("all", signal.SIGKILL),
    "driver TERM": Way("driver", signal.SIGTERM),
    "all INT": Way("all", signal.SIGINT),
}
OF_WORKERS = {
    "worker -9": Way("worker", signal.SIGKILL),
    "driver -9": Way("driver", signal.SIGKILL),
    "one -9": Way("one", signal.SIGKILL),
    "everything -9": Way("all", signal.SIGKILL),
    "one TERM": Way("one", signal.SIGTERM),  # as schedulers do: to all its processes
    "all INT": Way("all", signal.SIGINT),
    "zombie": Way("one", signal.SIGSTOP, STOPPED),
    "driver zombie": Way("driver", signal.SIGSTOP, 2 * STOPPED),
}


@dataclass(frozen=True)
class Executor:
    """What carries a run out, and how it is killed.

    command    one of the commands that carry out a recipe in a folder, all at the same time; by its number
    kinds      the ways in which it is killed
    ended      exit status of a command that was asked to end by SIGTERM
    commands   how many there are
    """

    command: Callable[[Path, Path, int], "subprocess.Popen[str]"]
    kinds: dict[str, Way]
    ended: int
    commands: int = 1


def command(*words: object) -> "subprocess.Popen[str]":
    """A command as a user starts one, in a session of its own. Ctrl-C must not be ignored here: what starts inherits
    that."""
    return subprocess.Popen(
        [sys.executable, "-m", "corpusmill.cli", *map(str, words)],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(recipe: Path, folder: Path, workers: int = 2) -> "subprocess.Popen[str]":
    """One run by processes of this machine."""
    return command("run", recipe, "--folder", folder, "--json", "--workers", workers)


def a_worker(recipe: Path, folder: Path, number: int) -> "subprocess.Popen[str]":
    """One of three that share a run."""
    options = ("--folder", folder, "--json", "--processes", 1, "--lease", LEASE, "--of", 3)
    return command("work", recipe, *options, "--index", number)


def serial(recipe: Path, folder: Path, _: int) -> "subprocess.Popen[str]":
    """One run in one process."""
    return command("run", recipe, "--folder", folder, "--json", "--set", "run.executor=serial")


EXECUTORS = {
    "processes": Executor(lambda recipe, folder, _: start(recipe, folder), KINDS, 143),
    "serial": Executor(serial, {kind: way for kind, way in KINDS.items() if way.who in ("driver", "all")}, 143),
    "work": Executor(a_worker, OF_WORKERS, 75, 3),
}


def processes(run: "subprocess.Popen[str]") -> dict[str, list[psutil.Process]]:
    """What a command consists of: driver, fork server, workers, the newest last; `one` has the resource tracker, too."""
    found: dict[str, list[psutil.Process]] = {"driver": [], "fork server": [], "worker": [], "one": []}
    try:
        driver = psutil.Process(run.pid)
        found["driver"].append(driver)
        children = driver.children(recursive=True)
        found["one"] = [driver, *children]
        own = driver.cmdline()
        for child in children:
            command = child.cmdline()
            if "multiprocessing.forkserver" in " ".join(command) or command == own:  # which may be a copy of the driver
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
    results = (folder / "stages" / last["folder"] / "results").glob(f"{last['plan']}-*.parquet")
    return PUBLISH if len(begun) == len(record) and any(results) else str(last["stage"])


def seconds_of_stages(runs: "list[subprocess.Popen[str]]", folder: Path) -> dict[str, float]:
    """How long a run is in each place, in order; it is carried out to its end."""
    times: dict[str, float] = {}
    before, since = "start", time.monotonic()
    while any(run.poll() is None for run in runs):
        if (now := place(folder)) != before:
            times[before] = times.get(before, 0.0) + time.monotonic() - since
            before, since = now, time.monotonic()
        time.sleep(0.002)
    for run in runs:
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


def kills(seed: int, count: int, places: list[str], kinds: Iterable[str]) -> list[list[Kill]]:
    """By run, in the order of places: every place in every way, in an order that is drawn; and again, until there are
    enough."""
    draw = random.Random(seed)
    drawn: list[Kill] = []
    while len(drawn) < count:
        pairs = [(where, kind) for where in places for kind in kinds]
        draw.shuffle(pairs)
        drawn += [Kill(len(drawn) + i, where, draw.random(), kind) for i, (where, kind) in enumerate(pairs)]
    drawn = drawn[:count]
    runs = []
    while drawn:
        size = draw.randint(1, KILLS_OF_A_RUN)
        runs.append(sorted(drawn[:size], key=lambda kill: (places.index(kill.place), kill.share)))
        drawn = drawn[size:]
    return runs


class Moment:
    """That of a kill: so long after its run has come to the place, or beyond it."""

    def __init__(self, kill: Kill, folder: Path, times: dict[str, float]) -> None:
        self._folder = folder
        self._places = [*times][[*times].index(kill.place) :]
        self._after = kill.share * times[kill.place]
        self._due: float | None = None

    def has_come(self) -> bool:
        if self._due is None and place(self._folder) in self._places:
            self._due = time.monotonic() + self._after
        return self._due is not None and time.monotonic() >= self._due


class Command:
    """One command of a run, which is started again when it has ended before the run did.

    may_end    the exit statuses that follow from what was done to it; None: any
    longest    seconds after which it is taken for one that hangs
    """

    def __init__(self, begin: Callable[[], "subprocess.Popen[str]"], ended: int, longest: float | None = None) -> None:
        self._begin, self._ended, self._longest = begin, ended, longest
        self.start()

    def start(self) -> None:
        self.process = self._begin()
        self.may_end: set[int] | None = {0}
        self._complete: bool | None = None

    def goes_on(self, why: object) -> None:
        """Start it again where it ended and its run did not."""
        if self.process.poll() is not None and not self.wait(why):
            self.start()
            self.is_at_work()

    def is_at_work(self) -> None:
        """Wait until it is: before, Python itself is loaded, and what a signal does then is not ours."""
        while self.process.poll() is None and not handles_signals(self.process.pid):
            time.sleep(0.01)

    def hit(self, way: Way) -> None:
        """What follows from a signal to it, or to processes of its own."""
        if way.who == "worker" or way.resumed:
            return  # what was lost is done by another one
        if way.sent == signal.SIGKILL:
            self.may_end = None
        elif self.may_end is not None:
            # It says that it was ended, and how to go on. Without a handler the system says -15. Python ends itself by
            # SIGINT, too, where Ctrl-C came inside an exec(), as libraries do when they define classes: -2, in shells 130.
            by_term, by_ctrl_c = {self._ended, -signal.SIGTERM}, {130, -signal.SIGINT}
            self.may_end |= by_term if way.sent == signal.SIGTERM else by_ctrl_c

    def wait(self, why: object) -> bool:
        """Wait for its end; whether the run is complete."""
        if self._complete is None:
            _, message = self.process.communicate(timeout=self._longest)
            status = self.process.returncode
            assert "Traceback" not in message, (why, message)
            assert self.may_end is None or status in self.may_end, (why, status, message)
            assert status not in (130, -signal.SIGINT) or "run the same command again to" in message, (why, message)
            self._complete = status == 0
        return self._complete


def carry_out(
    planned: list[Kill], executor: Executor, recipe: Path, folder: Path, times: dict[str, float]
) -> list[tuple[str, str]]:
    """Kill a run as often as planned and let it go on to its end; returns where it was hit each time, and how: "none" if
    it ended before."""

    def begin(number: int) -> Command:
        return Command(lambda: executor.command(recipe, folder, number), executor.ended)

    commands = [begin(number) for number in range(executor.commands)]
    hits, seen = [], set[psutil.Process]()
    for kill in planned:
        hit, kind, there = one_kill(kill, commands, executor, folder, times)
        hits.append((hit, kind))
        seen |= there
    complete = [command.wait(planned) for command in commands]
    if not all(complete):
        commands = [begin(number) for number in range(executor.commands)]
        complete = [command.wait(planned) for command in commands]
        assert all(complete), planned
    assert not [process for process in psutil.wait_procs(seen, GONE)[1] if not zombie(process)], planned
    return hits


def one_kill(
    kill: Kill, commands: list[Command], executor: Executor, folder: Path, times: dict[str, float]
) -> tuple[str, str, set[psutil.Process]]:
    """Where commands were hit, how, and all processes that they had."""
    moment = Moment(kill, folder, times)
    while True:
        for command in commands:
            command.goes_on(kill)
        if moment.has_come() or all(command.process.poll() is not None for command in commands):
            break
        time.sleep(0.002)
    for command in commands:
        command.is_at_work()
    every = [processes(command.process) for command in commands]
    # Of a run that is shared others may have come to its end.
    alive = [number for number, command in enumerate(commands) if command.process.poll() is None]
    number = alive[kill.number % len(alive)] if alive else kill.number % len(commands)
    there = every[number] | {"all": [process for one in every for process in one["one"]]}
    kind = kill.kind if there[executor.kinds[kill.kind].who] else "driver -9"  # it has no worker at the moment
    way = executor.kinds[kind]
    victims = there[way.who]
    hit = place(folder) if victims and commands[number].process.poll() is None else "none"
    if way.who == "worker":
        victims = [victims[int(kill.share * len(victims))]] if victims else []
    struck = commands if way.who == "all" else [commands[number]]
    for command in struck:
        command.hit(way)
    for sent in (way.sent, signal.SIGCONT) if way.resumed else (way.sent,):
        if sent == signal.SIGCONT:
            time.sleep(way.resumed)
        for victim in victims:
            if not send(victim, sent):
                hit = hit if way.who in ("one", "all") else "none"
    if way.who not in ("worker", "fork server") and not way.resumed:
        for command in struck:
            command.process.wait()
    return hit, kind, set(there["all"])


def handles_signals(pid: int) -> bool:
    """Whether a command has said what SIGTERM does; where nobody can know, it has two seconds to do so."""
    if not sys.platform.startswith("linux"):
        time.sleep(2)
        return True
    try:
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return True
    return bool(caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def send(process: psutil.Process, sent: int) -> bool:
    """Whether it was still there."""
    try:
        process.send_signal(sent)
    except psutil.Error:
        return False
    return True


def zombie(process: psutil.Process) -> bool:
    """Whether it has ended, and nobody has asked how."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def many(seed: int, count: int, recipe: Path, folder: Path, check: Any, name: str = "processes") -> str:
    """Kill runs until so many kills have hit something, two runs at a time where there are two cores; returns the table of
    what was hit, and how.

    name    of the executor
    check   is called with the folder of each run that was killed and came to its end
    """
    executor = EXECUTORS[name]
    (folder / "tmp").mkdir(parents=True)
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder / "tmp")  # what killed processes leave there goes with the folder
    ctrl_c = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background of a shell ignores it
    try:
        timed = [executor.command(recipe, folder / "timed", number) for number in range(executor.commands)]
        times = seconds_of_stages(timed, folder / "timed")
        check(folder / "timed")
        places = [where for where in times if where != "start"]
        hits: Counter[tuple[str, str]] = Counter()
        done = 0

        def one(planned: list[Kill], number: int) -> list[tuple[str, str]]:
            run = folder / f"run-{number}"
            hits = carry_out(planned, executor, recipe, run, times)
            check(run)
            return hits

        with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            missing = count
            while missing > 0:
                assert done < 5 * count, hits
                runs = kills(seed + done, missing, places, executor.kinds)
                hits.update(chain.from_iterable(pool.map(one, runs, range(done, done + len(runs)))))
                done += len(runs)
                missing = count - sum(number for (where, _), number in hits.items() if where != "none")
    finally:
        signal.signal(signal.SIGINT, ctrl_c)
        if before[1] is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before[1]
    return table(hits, [*times, "end", "none"], [*executor.kinds], f"{name}, seed {seed}, {done} runs")


def table(hits: Counter[tuple[str, str]], places: list[str], kinds: list[str], title: str) -> str:
    rows = [["killed in", *kinds, "all"]]
    for where in places:
        counts = [hits[where, kind] for kind in kinds]
        if sum(counts):
            rows.append([where, *map(str, counts), str(sum(counts))])
    rows.append(["all", *(str(sum(n for (_, k), n in hits.items() if k == kind)) for kind in kinds), str(hits.total())])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([r[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(r[1:], widths[1:]))]) for r in rows]
    return "\n".join([title, *lines])
