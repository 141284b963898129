"""How long until something happens: help, a whole run of 100 documents, the very first run on a machine, and what the
commands cost that compute nothing."""

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import psutil

from benchmarks.calibration import OF_THE_BARS, calibrate
from benchmarks.common import CRAWL, Figure, Workload, row, table

HELP, WHOLE, COMPILE = 0.15, 1.5, 60.0  # seconds
NOTHING = 1.0  # seconds of CPU: well below
WHOLE_CPU = {"a recipe of seven lines": 1.2, "a crawl": 2.0}  # CPU seconds, of the machine of the bars
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl.h: what a command leaves behind becomes a child of this process
DOCUMENTS = 100
SHORT = """
read: {{jsonl: {input}}}
steps:
  - filter/gopher_quality
  - dedup/minhash
write: {{jsonl: {{}}}}
run: {{folder: {folder}}}
"""


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Wall seconds from the start of the process; the first documents count when their commit is on disk."""
    scratch.mkdir(parents=True, exist_ok=True)
    recipe = write_input(workload, scratch)
    small_run(recipe, scratch / "run", dict(os.environ))  # warms the cache
    firsts, wholes = zip(*(small_run(recipe, scratch / "run", dict(os.environ)) for _ in range(runs)))
    cold, _ = small_run(recipe, scratch / "run", {**os.environ, "CORPUSMILL_CACHE": str(scratch / "cache")})
    print(f"## start-up: median of {runs}\n")
    table("until", "wall s")
    figures = [
        Figure("`corpusmill --help`", median(help_seconds() for _ in range(runs)), "s", HELP, "below"),
        Figure(f"first {DOCUMENTS} documents committed, kernels compiled before", median(firsts), "s"),
        Figure(f"{DOCUMENTS} documents, a whole run, kernels compiled before", median(wholes), "s", WHOLE, "below"),
        Figure(f"first {DOCUMENTS} documents committed, empty cache (once)", cold, "s", COMPILE, "below"),
    ]
    for figure in figures:
        row(figure.name, f"{figure.value:.2f}")
    print("\n")
    short = scratch / "short.yaml"
    short.write_text(SHORT.format(input=scratch / "docs-0000.jsonl", folder=scratch / "short"), "utf-8")
    figures += whole_runs({"a recipe of seven lines": short, "a crawl": recipe}, runs, scratch / "whole")
    cpu_seconds("run", short)
    table("of a recipe of seven lines", "CPU s")
    computed_nothing = [
        Figure("`corpusmill check`", median(cpu_seconds("check", short) for _ in range(runs)), "s", NOTHING, "below"),
        Figure(
            "`corpusmill run` of a finished run",
            median(cpu_seconds("run", short) for _ in range(runs)),
            "s",
            NOTHING,
            "below",
        ),
    ]
    for figure in computed_nothing:
        row(figure.name, f"{figure.value:.2f}")
    figures += computed_nothing
    print()
    shutil.rmtree(scratch)
    return figures


def write_input(workload: Workload, scratch: Path) -> Path:
    with workload.files[0].open("rb") as file:
        lines = [file.readline() for _ in range(DOCUMENTS)]
    (scratch / "docs-0000.jsonl").write_bytes(b"".join(lines))
    recipe = scratch / "recipe.yaml"
    recipe.write_text(Workload(scratch, (), 0, DOCUMENTS, "").recipe(CRAWL, "first"), "utf-8")
    return recipe


def whole_runs(recipes: dict[str, Path], runs: int, folder: Path) -> list[Figure]:
    """Whole runs of the documents, in turns: CPU seconds of all processes, beside those of the calibration loop."""
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in recipes}
    for _ in range(runs):
        for name, recipe in recipes.items():
            shutil.rmtree(folder, ignore_errors=True)
            loop = calibrate().cpu
            seconds = cpu_seconds("run", recipe, "--folder", str(folder))
            measured[name].append((seconds, seconds / loop))
    table(f"CPU time of a whole run of {DOCUMENTS} documents", "CPU s", "times the loop")
    figures = []
    for name, taken in measured.items():
        seconds, loops = (median(column) for column in zip(*taken))
        row(name, f"{seconds:.2f}", f"{loops:.1f}")
        figures.append(Figure(f"{DOCUMENTS} documents, {name}", loops * OF_THE_BARS, "CPU s", WHOLE_CPU[name], "below"))
    print()
    return figures


def cpu_seconds(verb: str, recipe: Path, *options: str) -> float:
    """User and system time of a command and of all processes that it starts, those that outlive it, too; POSIX."""
    if libc := ctypes.CDLL(None) if sys.platform == "linux" else None:
        libc.prctl(SUBREAPER, 1, 0, 0, 0)
    own = _children()  # servers of other benchmarks
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "corpusmill.cli", verb, str(recipe), *options]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    while libc and (left := _children() - own):
        for child in left:  # the server that workers come from, which ends after the command
            os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def help_seconds() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "corpusmill.cli", "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def small_run(recipe: Path, folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds from the start of a run until its first unit is committed, and until it ends."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder)]
    begun, start = time.time(), time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    whole = time.perf_counter() - start
    return min(path.stat().st_mtime for path in folder.glob("stages/pass-1-*/commits/*.json")) - begun, whole
