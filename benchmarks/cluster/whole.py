"""The common workload on a local pool and on clusters: the same bytes, and the CPU seconds of all processes."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import median

from benchmarks.cluster.scheduling import store_used
from benchmarks.common import CRAWL, MB, ROOT, Figure, Workload, row, table, watching
from corpusmill import run, storage
from corpusmill.execute import Failure, OnAside, OnCommit, ignored
from corpusmill.execute.ray import Ray
from corpusmill.execute.task import StageTask
from corpusmill.execute.warm_start import ENGINE_PRELOAD
from corpusmill.store.units import Commit, Unit, now
from made_cluster import made
from store_server import BUCKET, environment, serving

cluster = contextmanager(made)
TIMES = 1.2  # CPU seconds beside the local pool's
ROUNDS = 3  # of the whole workload, in turns
MESSAGE = 1.0  # MB through Ray a unit
STORE = 200.0  # MB


@dataclass(frozen=True)
class Ran:
    digest: str
    seconds: float
    cpu: float


def digest(folder: Path | str) -> str:
    """Over all that the run wrote for people."""
    output = storage.join(str(folder), "output")
    if storage.is_local(output):
        root = Path(output)
        names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    else:
        names = sorted(storage.list_tree(output))
    lines = (f"{name} {sha256(storage.read_bytes(storage.join(output, name))).hexdigest()}" for name in names)
    return sha256("\n".join(lines).encode()).hexdigest()


Way = Callable[[Path, str], list[list[str]]]  # the words of the commands that carry out a recipe in a folder


def alone(*words: str) -> Way:
    """One `corpusmill run`."""
    return lambda recipe, folder: [["run", str(recipe), "--folder", folder, *words, "--json"]]


def together(count: int) -> Way:
    """So many workers that share a run, of one process each."""
    return lambda recipe, folder: [
        ["work", str(recipe), "--folder", folder, "--processes", "1", "--of", str(count), "--index", str(i), "--json"]
        for i in range(count)
    ]


def carry_out(recipe: Path, folder: Path | str, way: Way) -> Ran:
    """One run from the command line; CPU seconds are of everything below this process, a cluster among it."""
    if storage.is_local(str(folder)):
        shutil.rmtree(folder, ignore_errors=True)
    started = now()
    with watching(os.getpid(), own=False, memory=False) as watch:
        calls = [
            subprocess.Popen(
                [sys.executable, "-m", "corpusmill.cli", *words],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for words in way(recipe, str(folder))
        ]
        for call, (_, said) in [(call, call.communicate()) for call in calls]:
            if call.returncode:
                raise SystemExit(f"the run failed: {said[-2000:]}")
    return Ran(digest(folder), now() - started, watch.cpu)


@dataclass
class Sizes:
    """MB that pass through Ray: of all messages together, and of the largest unit, there and back."""

    total: float = 0.0
    largest: float = 0.0
    units: int = 0
    stored: float = 0.0  # in the object stores at a time, at most


class Weighed(Ray):
    """Weighs what it sends and what comes back, as Ray pickles it."""

    sizes: Sizes

    def run(
        self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit, on_aside: OnAside = ignored
    ) -> list[Failure]:
        sizes = self.sizes
        sent = {unit.key: weight(unit) for unit in units}
        sizes.total += weight(task) + sum(sent.values())
        sizes.units += len(units)

        def weighed(commit: Commit) -> None:
            back = weight(commit)
            sizes.total += back
            sizes.largest = max(sizes.largest, sent[commit.key] + back)
            sizes.stored = max(sizes.stored, store_used())
            on_commit(commit)

        return super().run(task, units, weighed, on_aside)


def weight(message: object) -> float:
    import ray.cloudpickle

    return len(ray.cloudpickle.dumps(message)) / MB


def messages(workload: Workload, recipe: Path, folder: Path) -> list[Figure]:
    """What passes through Ray."""
    with cluster([0, 1, 1]) as made_here:
        executor = Weighed(made_here.address, preload=(ENGINE_PRELOAD,))
        executor.sizes = sizes = Sizes()
        run(recipe, folder=folder, executor=executor, progress=False)
    print(
        f"\nThrough Ray, 2 nodes: {sizes.units} units, {sizes.total:.2f} MB in all, {sizes.largest:.3f} MB for the "
        f"unit with most; in the object stores {sizes.stored:.2f} MB at a time, at most.\n"
    )
    return [
        Figure("through Ray for a unit, at most", sizes.largest, "MB", MESSAGE, "below", 3),
        Figure("in Ray's object stores at a time", sizes.stored, "MB", STORE, "below", 2),
    ]


@contextmanager
def on_ray(nodes: int) -> Iterator[Way]:
    with cluster([0, *[1] * nodes]) as made_here:
        yield alone("--set", "run.executor=ray", "--set", f"run.address={made_here.address}")


Made = Callable[[], AbstractContextManager[Way]]
Row = tuple[str, Made, str]


def there(way: Way) -> Made:
    """A way for which nothing is made."""
    return lambda: nullcontext(way)


def compared(
    rows: Sequence[Row], recipe: Path, folder: Path, crowded: Sequence[str] = (), rounds: int = 1
) -> list[Figure]:
    """Carry out a recipe in each of these ways, the first of which is a local pool's, in turns, and print what it took:
    medians, and that of the rounds' ratios.

    rows      what it is called; makes the way; "" or the place of the run, if it is not `folder`
    crowded   those that have more nodes than there are cores: their CPU seconds have no bar
    """
    table("carried out by", "seconds", "CPU seconds", "times the pool's", "in each round", "bytes")
    carry_out(recipe, folder, alone("--workers", "2", "--limit", "10"))  # compiles what is not compiled
    ran: dict[str, list[Ran]] = {title: [] for title, _, _ in rows}
    for _ in range(rounds):
        for title, make, place in rows:
            with make() as way:
                ran[title].append(carry_out(recipe, place or folder, way))
    local = ran[rows[0][0]]
    figures: list[Figure] = []
    for title, each in ran.items():
        times = [one.cpu / pool.cpu for one, pool in zip(each, local)]
        others = sum(one.digest != local[0].digest for one in each)
        row(
            title,
            f"{median(one.seconds for one in each):.1f}",
            f"{median(one.cpu for one in each):.1f}",
            f"{median(times):.2f}",
            ", ".join(f"{one:.2f}" for one in times),
            "OTHERS" if others else "the same",
        )
        bar = None if title in crowded else TIMES
        figures += [
            Figure(f"outputs of {title} that differ", float(others), "", 1, "below", 0),
            Figure(f"CPU seconds of {title}, times the pool's", median(times), "", bar, "below"),
        ]
    shutil.rmtree(folder)
    print()
    return figures


def whole(workload: Workload, clusters: Sequence[int]) -> list[Figure]:
    """CPU seconds beside a local pool's; and what passes through Ray."""
    print(f"## {workload}\n")
    rows: list[Row] = [
        ("2 processes", there(alone("--workers", "2")), ""),
        ("three workers", there(together(3)), ""),
        *((f"Ray, {nodes} nodes", partial(on_ray, nodes), "") for nodes in clusters),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        recipe, folder = Path(scratch) / "recipe.yaml", Path(scratch) / "run"
        recipe.write_text(workload.recipe(CRAWL, "cluster"))
        crowded = [f"Ray, {nodes} nodes" for nodes in clusters if nodes > (os.cpu_count() or 1)]
        figures = compared(rows, recipe, folder, crowded, ROUNDS)
        return figures + (messages(workload, recipe, folder) if clusters else [])


def same(workload: Workload, clusters: Sequence[int]) -> list[Figure]:
    """The bytes of every executor, of any number of workers, on a disk and in a bucket."""
    print(f"## One checksum: {workload}\n")
    rows: list[Row] = [
        *((f"{n} processes", there(alone("--workers", str(n))), "") for n in (2, 1, 5, 16)),
        ("serial", there(alone("--set", "run.executor=serial")), ""),
        ("three workers", there(together(3)), ""),
        *((f"Ray, {nodes} nodes", partial(on_ray, nodes), "") for nodes in clusters),
        ("2 processes into S3", there(alone("--workers", "2")), f"s3://{BUCKET}/alone"),
        ("three workers into S3", there(together(3)), f"s3://{BUCKET}/together"),
    ]
    with tempfile.TemporaryDirectory() as scratch, serving() as proxy:
        os.environ |= environment(proxy.endpoint) | {"CORPUSMILL_NODE_CACHE": scratch}
        recipe, folder = Path(scratch) / "recipe.yaml", Path(scratch) / "run"
        recipe.write_text(workload.recipe(CRAWL, "same"))
        return [figure for figure in compared(rows, recipe, folder) if "outputs" in figure.name]
