"""How long until something happens: help, the first documents, and the very first run on a machine."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.common import CRAWL, Figure, Workload, row, table

HELP, FIRST, COMPILE = 0.5, 3.0, 60.0  # seconds
DOCUMENTS = 100


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Wall seconds from the start of the process; the first documents count when their commit is on disk."""
    scratch.mkdir(parents=True, exist_ok=True)
    recipe = write_input(workload, scratch)
    first_documents(recipe, scratch / "run", dict(os.environ))  # warms the cache
    print(f"## start-up: median of {runs}\n")
    table("until", "wall s")
    figures = [
        Figure("`corpusmill --help`", median(help_seconds() for _ in range(runs)), "s", HELP, "below"),
        Figure(
            f"first {DOCUMENTS} documents committed, kernels compiled before",
            median(first_documents(recipe, scratch / "run", dict(os.environ)) for _ in range(runs)),
            "s",
            FIRST,
            "below",
        ),
        Figure(
            f"first {DOCUMENTS} documents committed, empty cache (once)",
            first_documents(recipe, scratch / "run", {**os.environ, "CORPUSMILL_CACHE": str(scratch / "cache")}),
            "s",
            COMPILE,
            "below",
        ),
    ]
    for figure in figures:
        row(figure.name, f"{figure.value:.2f}")
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


def help_seconds() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "corpusmill.cli", "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def first_documents(recipe: Path, folder: Path, environment: dict[str, str]) -> float:
    """Seconds until the first unit of a run is committed."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder)]
    start = time.time()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return min(path.stat().st_mtime for path in folder.glob("stages/pass-1-*/commits/*.json")) - start
