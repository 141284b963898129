"""Runs into a bucket that lose their processes or their store: python -m benchmarks.store --kills 50.

Each run is hit once, at a moment drawn from the time that an undisturbed one takes. Where it did not come to its end by
itself it is started again, and what it has written is compared with the undisturbed run's: every byte, and that no file
is left behind. The server keeps everything in memory, so a store that goes away is its front, the proxy: while it is
down every connection breaks; a store that is full takes nothing more; a store that hangs is the server, stopped.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import chaos
import store_server as faults
from corpusmill import storage
from store_server import Fault, Proxy, environment

RECIPE = chaos.ROOT / "tests" / "chaos.yaml"
AGAIN = 4  # starts of a run until it must be through
DOWN = (1.0, 40.0)  # seconds for which a store is away: some are waited for, some end the run
GONE = 300.0  # seconds after which a run is taken for one that hangs


@dataclass(frozen=True)
class Way:
    """Who is hit: processes of a command, with a signal and when they go on; or the store, with what it then does."""

    who: str = ""
    sent: int = 0
    resumed: float = 0.0
    store: Callable[[], Fault] | None = None


WAYS = {
    "driver -9": Way("driver", signal.SIGKILL),
    "worker -9": Way("worker", signal.SIGKILL),
    "everything -9": Way("one", signal.SIGKILL),
    "driver TERM": Way("driver", signal.SIGTERM),
    "zombie": Way("one", signal.SIGSTOP, chaos.STOPPED),
    "store down": Way(store=lambda: Fault(faults.cut)),
    "store full": Way(store=lambda: Fault(faults.refuse(507, "InsufficientStorage"), _writes)),
    "store hangs": Way("store", signal.SIGSTOP),
}


def _writes(request: faults.Request) -> bool:
    return request.kind in ("put", "copy", "part")


def start(place: str, workers: int) -> "list[subprocess.Popen[str]]":
    """One command with two processes, or so many workers that share the run."""
    if not workers:
        return [chaos.command("run", RECIPE, "--folder", place, "--json", "--workers", 2)]
    options = ("--folder", place, "--json", "--workers", 1, "--lease", chaos.LEASE, "--of", workers)
    return [chaos.command("work", RECIPE, *options, "--index", index) for index in range(workers)]


def left(place: str) -> dict[str, str]:
    """Every file of the run: those for people with their checksum, the others by name, without the attempt's; but not
    the records of workers: no lock of a bucket says that nobody is at work any more, so they stay."""
    found = {}
    for name in sorted(name for name in storage.list_tree(place) if not name.startswith("workers/")):
        for_people = name.startswith("output/") or name == "waterfall.json"
        sum_ = storage.checksum(storage.join(place, name)) if for_people else ""
        found[re.sub(r"/([0-9a-f]{20})-[0-9a-z]+", r"/\1", name)] = str(sum_)
    return found


def hit(way: Way, runs: "list[subprocess.Popen[str]]", number: int, proxy: Proxy, away: float) -> bool:
    """Whether there was something to hit; returns when what is stopped goes on."""
    victim = runs[number % len(runs)]
    if victim.poll() is not None:
        return False
    if way.store:
        proxy.faults.append(way.store())
        time.sleep(away)
        proxy.faults.clear()
        return True
    if way.who == "store":
        proxy.pause(away)
        return True
    found = chaos.processes(victim)[way.who]
    for process in found[-1:] if way.who == "worker" else found:
        chaos.send(process, way.sent)
    if way.resumed:
        time.sleep(way.resumed)
        for process in found:
            chaos.send(process, signal.SIGCONT)
    return bool(found)


def through(place: str, workers: int, runs: "list[subprocess.Popen[str]]") -> int:
    """Wait for the end of a run, and start it again until it comes to it; returns how often."""
    for again in range(AGAIN + 1):
        said = [run.communicate(timeout=GONE)[1] for run in runs]
        assert "Traceback" not in "".join(said), said
        if not any(run.returncode for run in runs):
            return again
        runs = start(place, workers)
    raise SystemExit(f"{place} does not come to its end: {said}")


def many(count: int, seed: int, scheme: str) -> bool:
    """Hit so many runs, and print the table; whether all gave the same bytes."""
    draw = random.Random(seed)
    hits: Counter[tuple[str, str]] = Counter()
    others = 0
    with tempfile.TemporaryDirectory() as folder, faults.serving(scheme) as proxy:
        os.environ |= environment(proxy.endpoint) | {"CORPUSMILL_NODE_CACHE": folder, "TMPDIR": folder}
        wanted, times = {}, {}
        for workers in (0, 3):
            place = f"{proxy.root}/undisturbed/{workers}"
            began = time.monotonic()
            through(place, workers, start(place, workers))
            times[workers] = time.monotonic() - began
            wanted[workers] = left(place)
        assert _output(wanted[0]) == _output(wanted[3])
        ways = [(kind, workers) for kind in WAYS for workers in (0, 3)]
        for number in range(count):
            if not number % len(ways):
                draw.shuffle(ways)
            kind, workers = ways[number % len(ways)]
            place = f"{proxy.root}/hit/{number}"
            runs = start(place, workers)
            time.sleep(draw.random() * times[workers])
            was = hit(WAYS[kind], runs, number, proxy, draw.choice(DOWN))
            again = through(place, workers, runs)
            there = left(place)
            same = there == wanted[workers]
            others += not same
            ended = f"started {again} times more" if same else "other bytes or files"
            hits[kind if was else "ended before", ended] += 1
            print(f"    {number} {kind}, {workers or 'no'} workers: {ended}", file=sys.stderr)
            for name, sum_ in sorted(set(there.items()) ^ set(wanted[workers].items())):
                print(f"        {name} {sum_} {'is new' if name in there else 'is missing'}", file=sys.stderr)
            storage.remove_tree(place)
    columns = sorted({how for _, how in hits})
    print(f"{count} runs into a bucket, seed {seed}\n\n| hit | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for kind in [*WAYS, "ended before"]:
        print(f"| {kind} | {' | '.join(str(hits[kind, how]) for how in columns)} |")
    return not others


def _output(files: dict[str, str]) -> dict[str, str]:
    return {name: sum_ for name, sum_ in files.items() if sum_}
