"""What the benchmarks share: the workload, a heading with machine and versions, recipes, medians, bars.

Everything is printed as Markdown, so that the output of `python -m benchmarks` is what RESULTS.md holds.
"""

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Literal

import psutil

from corpusmill.recipe.model import Recipe

ROOT = Path(__file__).parent.parent
MB, GIB = 1e6, 1 << 30

# What is done to a crawl: parse, clean, name the language, the rules of the field, personal data, copies, tokens.
CRAWL = """
  - clean/normalize
  - filter/language: {languages: [en]}
  - filter/url
  - filter/gopher_quality
  - filter/gopher_repetition
  - filter/c4
  - filter/fineweb
  - redact/pii
  - dedup/exact
  - dedup/minhash
  - tokenize/bpe: {tokenizer: gpt2}
  - pack/concat: {length: 2048}
"""

# The workload is heavy on code and markup: those rules leave little for the stages after them. Here everything is kept.
NO_FILTERS = """
  - clean/normalize
  - dedup/exact
  - dedup/minhash
  - tokenize/bpe: {tokenizer: gpt2}
  - pack/concat: {length: 2048}
"""


@dataclass(frozen=True)
class Workload:
    """A folder made by benchmarks/workload.py."""

    folder: Path
    files: tuple[Path, ...]
    bytes: int
    documents: int
    digest: str  # SHA-256 over the SHA-256 of each file, in order

    @classmethod
    def open(cls, folder: Path) -> "Workload":
        """Raises SystemExit if the folder does not hold a workload, or not all of it."""
        truth = folder / "truth.json"
        if not truth.is_file():
            raise SystemExit(f"{folder}: no workload here. Make one: python -m benchmarks.workload --out {folder}")
        said = json.loads(truth.read_bytes())
        named = {Path(name).name: file for name, file in said["files"].items()}
        named = {name: file for name, file in named.items() if name.startswith("docs-")}
        for name, file in named.items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != file["bytes"]:
                raise SystemExit(f"{path}: truth.json says {file['bytes']} bytes. Make the workload again.")
        digest = hashlib.sha256("".join(file["sha256"] for file in named.values()).encode()).hexdigest()
        files = tuple(folder / name for name in named)
        return cls(folder, files, sum(file["bytes"] for file in named.values()), said["documents"], digest)

    @property
    def slice(self) -> "Workload":
        """A tenth of it, copies together with what they are copies of."""
        folder = self.folder / "slice"
        said = json.loads((folder / "truth.json").read_bytes())
        files = {Path(name).name: file for name, file in said["files"].items()}
        paths = tuple(folder / name for name in files)
        return Workload(folder, paths, sum(file["bytes"] for file in files.values()), said["documents"], self.digest)

    def __str__(self) -> str:
        return (
            f"{self.documents:,} documents in {len(self.files)} files, {self.bytes / MB:,.0f} MB of JSON lines, "
            f"sha256 {self.digest[:16]}"
        )

    def recipe(self, steps: str, name: str) -> str:
        """A recipe in YAML that reads the workload and writes training shards."""
        return (
            f"name: {name}\nread:\n  - jsonl: {{paths: {json.dumps(str(self.folder / 'docs-*.jsonl'))}, source: web}}\n"
            f"steps:{steps}write:\n  - shards\n"
        )

    def parse(self, steps: str, name: str) -> Recipe:
        return Recipe.parse(self.recipe(steps, name))


@dataclass(frozen=True)
class Figure:
    """What was measured, and what was wanted."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    wants: Literal["at least", "below"] = "at least"
    digits: int = 2  # after the point

    @property
    def passes(self) -> bool:
        if self.bar is None:
            return True
        return self.value >= self.bar if self.wants == "at least" else self.value < self.bar


def heading(data: object, module: str = "benchmarks") -> None:
    """Machine, versions, data, commit, command."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "pyarrow", "gigatoken", "orjson"))
    memory = psutil.virtual_memory().total / GIB
    print("# Results\n")
    print(f"- machine: {processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}")
    print(f"- software: Python {platform.python_version()}, {packages}")
    print(f"- data: {data}")
    print(f"- commit: {commit()}")
    print(f"- command: `python -m {module} {shlex.join(sys.argv[1:])}`")
    print(f"- load before: {os.getloadavg()[0]:.1f}\n", flush=True)


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def commit() -> str:
    """The commit that is checked out, and whether files differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no", "src") else ""
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + changed


def table(*columns: str) -> None:
    print("| " + " | ".join(columns) + " |")
    print("|---" + "|---:" * (len(columns) - 1) + "|")


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def verdict(figures: list[Figure]) -> int:
    """Print what was measured beside what was wanted; 1 if anything was missed, for the exit status."""
    print("## What was wanted\n")
    table("figure", "measured", "wanted", "")
    for figure in figures:
        if figure.bar is not None:
            wanted = f"{figure.wants} {figure.bar:g} {figure.unit}".strip()
            row(
                figure.name,
                f"{figure.value:.{figure.digits}f} {figure.unit}".strip(),
                wanted,
                "met" if figure.passes else "MISSED",
            )
    return 0 if all(figure.passes for figure in figures) else 1


def thread_seconds(work: Callable[[], object], runs: int) -> float:
    """CPU seconds of this thread, median of the runs, after one that loads all that is loaded once."""
    work()
    seconds = []
    for _ in range(runs):
        start = time.thread_time()
        work()
        seconds.append(time.thread_time() - start)
    return median(seconds)


@dataclass
class Watch:
    """What a process and all its descendants use: the sums over them, sampled, so short-lived peaks can be missed.

    memory  whether `rss` and `pss` are looked at
    rss     peak bytes of resident memory; pages that processes share are counted in each
    pss     peak bytes of proportional memory; pages that n processes share count 1/n in each
    cpu     seconds of user and system time of the descendants, as far as they were seen
    """

    pid: int
    every: float  # seconds
    memory: bool
    rss: int = 0
    pss: int = 0
    _cpu: dict[tuple[int, float], float] = field(default_factory=dict)

    @property
    def cpu(self) -> float:
        return sum(self._cpu.values())

    def sample(self, own: bool) -> None:
        """Look once; `own` counts the memory of the process itself, too."""
        rss = pss = 0
        root = psutil.Process(self.pid)
        for process in [*([root] if own else []), *root.children(recursive=True)]:
            try:
                if self.memory:
                    memory = Path(f"/proc/{process.pid}/smaps_rollup").read_text("ascii").split()
                    rss += int(memory[memory.index("Rss:") + 1]) << 10
                    pss += int(memory[memory.index("Pss:") + 1]) << 10
                times = process.cpu_times()
                if process.pid != os.getpid():
                    self._cpu[process.pid, process.create_time()] = times.user + times.system
            except (psutil.Error, OSError, ValueError):
                continue  # it has ended
        self.rss, self.pss = max(self.rss, rss), max(self.pss, pss)


@contextmanager
def watching(pid: int, own: bool, every: float = 0.1, memory: bool = True) -> Iterator[Watch]:
    """A Watch that samples in a thread of this process until the block ends.

    memory   whether to look at it, for which the system goes through all pages of a process and holds it up
    """
    watch, stop = Watch(pid, every, memory), threading.Event()

    def look() -> None:
        while not stop.wait(watch.every):
            try:
                watch.sample(own)
            except psutil.NoSuchProcess:
                return

    before = psutil.Process(pid).children(recursive=True) if pid == os.getpid() else []
    spent = sum(sum(process.cpu_times()[:2]) for process in before)
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        stop.set()
        thread.join()
        watch._cpu[-1, 0.0] = -spent
