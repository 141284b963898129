"""A crawl month more: what a run takes to which a tenth of input is added, beside a whole run of all of it."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.common import CRAWL, MB, NO_FILTERS, Figure, Workload, row, table

SHARE = 10  # one file in so many is added
BAR = 0.35  # of the seconds of a whole run


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Nine tenths of the workload, then all of it in the same folder, then all of it in a new one."""
    folder = scratch / "more-input"
    figures = []
    for name, steps in (("a crawl", CRAWL), ("no filters", NO_FILTERS)):
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "input").mkdir(parents=True)
        later = workload.files[-max(1, len(workload.files) // SHARE) :]
        recipe = folder / "recipe.yaml"
        recipe.write_text(Workload(folder / "input", (), 0, 0, "").recipe(steps, "months"), "utf-8")
        link(workload.files[: -len(later)], folder / "input")
        first, _ = timed(recipe, folder / "run")
        link(later, folder / "input")
        more, units = timed(recipe, folder / "run")
        whole, _ = timed(recipe, folder / "anew")
        added = sum(path.stat().st_size for path in later) / workload.bytes
        print(f"## a tenth more input, {name}: {workload.bytes / MB:,.0f} MB, of which {added:.0%} are added\n")
        table("stage", "units done", "units")
        for stage, counts in units.items():
            row(stage, counts["done_now"], counts["units"])
        print(f"\nbefore {first:.1f} s; with more {more:.1f} s; all from nothing {whole:.1f} s\n")
        figures.append(Figure(f"a tenth more, {name}: share of a whole run", more / whole, "", BAR, "below"))
        shutil.rmtree(folder)
    return figures


def link(files: tuple[Path, ...], folder: Path) -> None:
    for path in files:
        (folder / path.name).symlink_to(path.resolve())


def timed(recipe: Path, folder: Path) -> tuple[float, dict[str, dict[str, int]]]:
    """Seconds, and stage -> counts of units."""
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder), "--json"]
    start = time.perf_counter()
    done = subprocess.run([*command, "--workers", str(os.cpu_count() or 1)], stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - start, json.loads(done.stdout)["units"]
