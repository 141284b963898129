"""A Ray cluster of two nodes on this machine, for the tests that need one."""

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parent.parent
STORE = 80 << 20  # bytes
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@dataclass
class Made:
    """A cluster that grows and shrinks."""

    ray: Any
    folder: str
    nodes: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.ray.gcs_address)

    def add(self, cpus: int = 1, wait: bool = True, gpus: int = 0) -> Any:
        head = {"include_dashboard": False, "temp_dir": self.folder} if self.ray.head_node is None else {}
        node = self.ray.add_node(wait, num_cpus=cpus, num_gpus=gpus, object_store_memory=STORE, **head)
        self.nodes.append(node)
        return node

    def signal(self, node: Any, number: int) -> None:
        """Send a signal to the raylet of a node."""
        os.kill(node.all_processes["raylet"][0].process.pid, number)

    def remove(self, node: Any) -> None:
        self.nodes.remove(node)
        self.ray.remove_node(node, allow_graceful=False)


def made(cpus: list[int]) -> Iterator[Made]:
    """A cluster with these processors on its nodes, of which the first is the head."""
    os.environ.update(QUIET)
    from ray.cluster_utils import Cluster

    before, ours = (signal.getsignal(signal.SIGTERM), threading.current_thread() is threading.main_thread())
    folder = tempfile.mkdtemp(prefix="cmray-", dir="/tmp")  # names of sockets are short
    # Ray writes the cluster's address there, and makes the folder only for a cluster without one of its own.
    Path(folder, "ray").mkdir()
    ray_tmpdir = pytest.MonkeyPatch()
    ray_tmpdir.setenv("RAY_TMPDIR", folder)
    cluster = Made(Cluster(shutdown_at_exit=False), folder)
    try:
        for count in cpus:
            cluster.add(count)
        yield cluster
    finally:
        started = [p for node in cluster.nodes for each in node.all_processes.values() for p in each]
        pids = [psutil.Process(p.process.pid) for p in started if psutil.pid_exists(p.process.pid)]
        below = [child for process in pids for child in process.children(recursive=True)]
        cluster.ray.shutdown()
        for process in psutil.wait_procs(below, 5)[1]:
            process.kill()
        ray_tmpdir.undo()
        shutil.rmtree(folder, ignore_errors=True)
        if ours:
            signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Made]:
    """Two nodes of one processor; workers find the modules of the tests. Ray takes a seventh of a core while it waits, so
    a cluster ends with the module that needs it."""
    pytest.importorskip("ray")
    paths = [
        ROOT / "src",
        ROOT / "tests",
        ROOT / "tests" / "execute",
        *os.environ.get("PYTHONPATH", "").split(os.pathsep),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        yield from made([1, 1])
