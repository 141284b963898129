"""Runs on a cluster of two nodes that lose a worker, the driver, a node or the head, up to six times each, in stages
that are chosen and at moments in them that are drawn.

A driver that was killed is started again, a node that was lost is followed by a new one, a head by a new cluster; what
the run wrote when it has come to its end is compared with the undisturbed run's.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

import chaos as kills
from benchmarks.cluster.whole import digest
from benchmarks.common import ROOT, Figure
from made_cluster import Made, made

cluster = contextmanager(made)
RECIPE = ROOT / "tests" / "chaos.yaml"
# Who is killed by a signal to a node is one of Ray's processes.
KINDS = {
    "worker -9": kills.Way("worker", signal.SIGKILL),
    "driver -9": kills.Way("driver", signal.SIGKILL),
    "driver INT": kills.Way("driver", signal.SIGINT),
    "node TERM": kills.Way("node", signal.SIGTERM),
    "node -9": kills.Way("node", signal.SIGKILL),
    "head -9": kills.Way("head", signal.SIGKILL),
}
TERMINATED = 143  # exit status of a command that was asked to end by SIGTERM, which none is here
LONGEST = 300.0  # seconds after which a run is taken for one that hangs
# Seconds for which a driver waits for a head that is gone, a minute if not set: nothing happens then.
HEAD_GONE = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}


def start(there: Made | None, folder: Path) -> "subprocess.Popen[str]":
    on = ["--set", "run.executor=ray", "--set", f"run.address={there.address}"] if there else ["--workers", "2"]
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(RECIPE), "--folder", str(folder), *on, "--json"]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def workers(there: Made) -> list[psutil.Process]:
    """The Ray workers of all nodes that carry out a unit, or wait for one: not Ray's agents, with which a node ends."""
    raylets = [
        psutil.Process(node.all_processes["raylet"][0].process.pid) for node in there.nodes if node.all_processes
    ]
    below = [child for raylet in raylets if raylet.is_running() for child in raylet.children(recursive=True)]
    names = ((process, " ".join(process.cmdline())) for process in below)
    return [process for process, name in names if name.startswith("ray::") and "Agent" not in name]


def hit(way: kills.Way, there: Made, run: "subprocess.Popen[str]") -> bool:
    """Whether there was something to kill."""
    try:
        if run.poll() is not None:
            return False
        if way.who == "worker":
            found = workers(there)
            for process in found[-1:]:
                process.send_signal(way.sent)
            return bool(found)
        if way.who == "driver":
            run.send_signal(way.sent)
        elif way.who == "node":
            there.signal(there.nodes[-1], way.sent)
        else:
            for name in ("gcs_server", "raylet"):
                os.kill(there.nodes[0].all_processes[name][0].process.pid, way.sent)
        return True
    except (psutil.Error, ProcessLookupError):
        return False


def replace(there: Made) -> None:
    """A new node for the one that was asked to end, or killed, when its raylet is gone."""
    node = there.nodes[-1]
    node.all_processes["raylet"][0].process.wait(kills.GONE)
    there.remove(node)
    there.add(1)


class Clusters:
    """One at a time, for runs one after the other."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.new()

    def new(self) -> None:
        self.close()
        self.now = self._open.enter_context(cluster([0, 1, 1]))

    def close(self) -> None:
        self._open.close()


class Run:
    """One on a cluster, until it is complete."""

    def __init__(self, folder: Path, clusters: Clusters) -> None:
        self._folder = folder
        self._clusters = clusters
        self.starts = 0

    def __enter__(self) -> "Run":
        self.command = kills.Command(self._start, TERMINATED, LONGEST)
        return self

    def __exit__(self, *_: object) -> None:
        self.command.process.kill()

    def _start(self) -> "subprocess.Popen[str]":
        self.starts += 1
        return start(self._clusters.now, self._folder)

    def comes_to(self, kill: kills.Kill, times: dict[str, float]) -> None:
        """Wait for the moment of a kill, or for the end of the run."""
        moment = kills.Moment(kill, self._folder, times)
        while not moment.has_come():
            self.command.goes_on(kill)
            if self.command.process.poll() is not None:
                return
            time.sleep(0.01)

    def lose(self, kill: kills.Kill) -> str:
        """Where the run was hit, or "none"."""
        way, run = KINDS[kill.kind], self.command.process
        where = kills.place(self._folder)
        there = self._clusters.now
        if not hit(way, there, run):
            return "none"
        if way.who == "node":
            replace(there)
        elif way.who == "driver":
            self.command.hit(way)
            run.wait(LONGEST)
        elif way.who == "head":  # its cluster has gone with it, and Ray may say so in its own way
            run.communicate(timeout=LONGEST)
            self._clusters.new()
            self.command.start()
            self.command.is_at_work()
        return where

    def end(self, planned: list[kills.Kill]) -> None:
        if not self.command.wait(planned):
            self.command.start()
            assert self.command.wait(planned), planned


def chaos(count: int, seed: int) -> list[Figure]:
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    hits: Counter[tuple[str, str]] = Counter()
    different = starts = 0
    scratch = Path(tempfile.mkdtemp(dir="/tmp", prefix="cmray-chaos-"))
    os.environ.update(HEAD_GONE)
    clusters = Clusters()
    try:
        reference = start(None, scratch / "reference")
        assert reference.wait() == 0
        wanted = digest(scratch / "reference")
        times = kills.seconds_of_stages([start(clusters.now, scratch / "timed")], scratch / "timed")
        different += digest(scratch / "timed") != wanted
        runs = kills.kills(seed, count, [where for where in times if where != "start"], KINDS)
        for planned in runs:
            folder = scratch / f"run-{planned[0].number}"
            with Run(folder, clusters) as run:
                for kill in planned:
                    run.comes_to(kill, times)
                    hits[run.lose(kill), kill.kind] += 1
                    print(time.strftime("%H:%M:%S"), kill, file=sys.stderr)
                run.end(planned)
            starts += run.starts
            same = digest(folder) == wanted
            different += not same
            print("the same bytes" if same else "OTHER BYTES", file=sys.stderr, flush=True)
            shutil.rmtree(folder)
    finally:
        clusters.close()
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"## {count} kills, two nodes\n")
    print(kills.table(hits, [*times, "end", "none"], [*KINDS], f"seed {seed}, {len(runs)} runs, {starts} starts"))
    print()
    return [Figure(f"outputs that differ, of {len(runs)} runs killed {count} times", different, "", 1, "below", 0)]
