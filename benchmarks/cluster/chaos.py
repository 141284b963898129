"""Runs on a cluster of two nodes that lose a worker, the driver, a node or the head, at moments that are drawn.

After each the run is started again, if it did not end by itself, until it comes to its end; what it wrote is compared
with the undisturbed run's.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.cluster.whole import digest
from benchmarks.common import ROOT, Figure, row, table
from made_cluster import Made, made

cluster = contextmanager(made)
RECIPE = ROOT / "tests" / "chaos.yaml"
KINDS = ("worker -9", "driver -9", "driver INT", "node TERM", "node -9", "head -9")
LONGEST = 300.0  # seconds after which a run is taken for one that hangs


def start(there: Made | None, folder: Path) -> "subprocess.Popen[str]":
    on = ["--set", "run.executor=ray", "--set", f"run.address={there.address}"] if there else ["--workers", "2"]
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(RECIPE), "--folder", str(folder), *on, "--json"]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def workers(there: Made) -> list[psutil.Process]:
    """The Ray workers of all nodes that carry out a unit, or wait for one."""
    raylets = [
        psutil.Process(node.all_processes["raylet"][0].process.pid) for node in there.nodes if node.all_processes
    ]
    below = [child for raylet in raylets if raylet.is_running() for child in raylet.children(recursive=True)]
    return [process for process in below if "ray::" in " ".join(process.cmdline())]


def hit(kind: str, there: Made, run: "subprocess.Popen[str]") -> bool:
    """Whether there was something to kill."""
    try:
        if run.poll() is not None:
            return False
        if kind == "worker -9":
            found = workers(there)
            for process in found[-1:]:
                process.kill()
            return bool(found)
        if kind.startswith("driver"):
            run.send_signal(signal.SIGKILL if kind == "driver -9" else signal.SIGINT)
        elif kind.startswith("node"):
            there.signal(there.nodes[-1], signal.SIGTERM if kind == "node TERM" else signal.SIGKILL)
        else:
            for name in ("gcs_server", "raylet"):
                os.kill(there.nodes[0].all_processes[name][0].process.pid, signal.SIGKILL)
        return True
    except (psutil.Error, ProcessLookupError):
        return False


def one(kind: str, after: float, folder: Path, seed: int) -> tuple[bool, int]:
    """Whether something was hit, and how often the run was started again."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    again = 0
    with cluster([0, 1, 1]) as there:
        run = start(there, folder)
        time.sleep(after)
        was = hit(kind, there, run)
        _, said = run.communicate(timeout=LONGEST)
        if run.returncode and kind == "head -9":  # its cluster has gone with it
            again += 1
    assert "Traceback" not in said or kind == "head -9", (kind, said[-3000:])
    while run.returncode:
        assert kind.startswith(("driver", "head")) or not was, (kind, said[-3000:])
        with cluster([0, 1, 1]) as there:
            run = start(there, folder)
            _, said = run.communicate(timeout=LONGEST)
        again += kind != "head -9"
        assert again < 4, said[-3000:]
    return was, again


def chaos(count: int, seed: int) -> list[Figure]:
    print(f"## {count} runs that lose something, two nodes (seed {seed})\n")
    draw = random.Random(seed)
    hits: Counter[str] = Counter()
    restarts: Counter[str] = Counter()
    different = 0
    scratch = Path(tempfile.mkdtemp(dir="/tmp", prefix="cmray-chaos-"))
    try:
        reference = start(None, scratch / "reference")
        assert reference.wait() == 0
        wanted = digest(scratch / "reference")
        started = time.monotonic()
        with cluster([0, 1, 1]) as there:
            started = time.monotonic()
            assert start(there, scratch / "timed").wait() == 0
            usual = time.monotonic() - started
        different += digest(scratch / "timed") != wanted
        for number in range(count):
            kind = KINDS[number % len(KINDS)]
            was, again = one(kind, usual * draw.uniform(0.25, 0.95), scratch / f"run-{number}", seed)
            hits[kind] += was
            restarts[kind] += again
            different += digest(scratch / f"run-{number}") != wanted
            shutil.rmtree(scratch / f"run-{number}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    table("killed", "runs hit", "started again")
    for kind in KINDS:
        row(kind, hits[kind], restarts[kind])
    print()
    return [Figure(f"outputs that differ, of {count} runs", different, "", 1, "below", 0)]
