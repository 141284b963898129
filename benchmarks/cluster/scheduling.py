"""Many units without work: what driver and head hold, and what happens while nodes come and go."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import psutil

from benchmarks.cluster.works import Nothing, Number
from benchmarks.common import MB, Figure, row, table
from corpusmill.execute import WorkerStatus
from corpusmill.execute.ray import Ray
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.units import Commit, Unit, now
from made_cluster import Made, made

cluster = contextmanager(made)
FLAT = 32.0  # MB that a process may grow while nine tenths of the units are carried out
UNITS = 56  # of 0.6 seconds, while nodes come and go


def units(count: int) -> list[Unit]:
    return [Unit(number, f"{number:020x}", Number(number)) for number in range(count)]


@contextmanager
def task(wait: float = 0.0) -> Iterator[Nothing]:
    with tempfile.TemporaryDirectory() as folder:
        yield Nothing(RunFolder(folder), "nothing-0", None, wait=wait)  # type: ignore[arg-type]


def memory(there: Made) -> dict[str, float]:
    """MB of the driver and of the head's processes."""
    head = there.nodes[0].all_processes
    found = {"driver": psutil.Process()} | {
        name: psutil.Process(head[name][0].process.pid) for name in ("gcs_server", "raylet")
    }
    return {name: process.memory_info().rss / MB for name, process in found.items()}


def flat(count: int) -> list[Figure]:
    """Memory while so many units are carried out by two nodes; the head has no tasks."""
    print(f"## {count:,} units without work, two nodes, a head without tasks\n")
    table("units done", "driver, MB", "head: gcs_server, MB", "head: raylet, MB", "object stores, MB")
    seen: list[dict[str, float]] = []
    done = 0
    with cluster([0, 1, 1]) as there, task() as nothing, closing(Ray(there.address)) as executor:
        planned = units(count)

        def on_commit(_: Commit) -> None:
            nonlocal done
            done += 1
            if done % (count // 10) == 0:
                seen.append(memory(there) | {"stores": store_used()})
                if done // (count // 10) in (1, 4, 7, 10):
                    row(f"{done:,}", *(f"{value:.0f}" for value in seen[-1].values()))

        started = now()
        failures = executor.run(nothing, planned, on_commit)
        seconds = now() - started
    print(f"\n{count / seconds:,.0f} units a second.\n")
    assert not failures and done == count
    grown = {name: seen[-1][name] - seen[0][name] for name in seen[0]}
    return [
        Figure("memory of the driver, growth from 10 % of the units on", grown["driver"], "MB", FLAT, "below", 1),
        Figure("memory of the head's gcs_server, growth", grown["gcs_server"], "MB", FLAT, "below", 1),
        Figure("memory of the head's raylet, growth", grown["raylet"], "MB", FLAT, "below", 1),
    ]


def store_used() -> float:
    """MB in the object stores of all nodes now."""
    import ray

    name = "object_store_memory"
    return float(ray.cluster_resources().get(name, 0.0) - ray.available_resources().get(name, 0.0)) / MB


@dataclass
class Seen:
    """What pulses said while a cluster changed."""

    most: dict[str, int] = field(default_factory=dict)
    phase: str = "1 node"

    def __call__(self, pulse: WorkerStatus) -> None:
        self.most[self.phase] = max(self.most.get(self.phase, 0), len(pulse.at_work))


def scaling() -> list[Figure]:
    """One node, then four, then one, while units are carried out."""
    print("## Nodes that come and go: 1, 4, 1\n")
    seen = Seen()
    commits: list[str] = []
    with cluster([0, 1]) as there, task(0.6) as nothing, closing(Ray(there.address)) as executor:
        executor.on_pulse = seen

        def on_commit(commit: Commit) -> None:
            commits.append(commit.key)
            if len(commits) == 4:
                for _ in range(3):
                    there.add()
                seen.phase = "4 nodes"
            if len(commits) == 36:
                for node in there.nodes[2:]:
                    there.remove(node)  # with units on it
                time.sleep(2)
                seen.phase = "and 1 node"

        failures = executor.run(nothing, units(UNITS), on_commit)
    table("phase", "units at work at a time, at most")
    for phase, most in seen.most.items():
        row(phase, most)
    print()
    assert not failures
    return [
        Figure("units at a time on 1 node", seen.most["1 node"], "", 1, digits=0),
        Figure("units at a time after it grew to 4", seen.most["4 nodes"], "", 4, digits=0),
        Figure("units lost or done twice", abs(len(commits) - UNITS) + UNITS - len({*commits}), "", 1, "below", 0),
    ]
