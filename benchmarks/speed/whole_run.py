"""A whole run, from JSON lines to verified training shards: seconds by stage, and the memory of all its processes."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.common import CRAWL, GIB, MB, NO_FILTERS, Figure, Workload, row, table, watching
from corpusmill.report.waterfall import Waterfall
from corpusmill.run_folder import RunFolder

BAR = 2.0  # GiB of resident memory, over all processes


def run(workload: Workload, runs: int, scratch: Path, big: Workload | None = None) -> list[Figure]:
    """The recipe for a crawl, and one without filters, in which every stage has all of the workload to do."""
    figures = []
    for data in (workload, *([big] if big else [])):
        for name, steps in (("a crawl", CRAWL), ("no filters", NO_FILTERS)):
            figures += once(data, name, steps, scratch / "whole")
    return figures


def wall_of(stage: Path) -> float:
    """Seconds from a stage's plan to its results."""
    ends = [max(path.stat().st_mtime for path in (stage / kind).iterdir()) for kind in ("plans", "results")]
    return ends[1] - ends[0]


def once(workload: Workload, name: str, steps: str, folder: Path) -> list[Figure]:
    workers = os.cpu_count() or 1
    size = f"{workload.bytes / MB:,.0f} MB"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recipe = folder / "recipe.yaml"
    recipe.write_text(workload.recipe(steps, "whole"), "utf-8")
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder / "run")]
    start = time.perf_counter()
    with (folder / "log").open("w") as log:
        driver = subprocess.Popen([*command, "--workers", str(workers)], stdout=log, stderr=log)
        with watching(driver.pid, own=True) as watch:
            status = driver.wait()
    wall = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {status}:\n{(folder / 'log').read_text('utf-8')}")
    print(f"## whole run, {name}: {size}, {workers} workers\n")
    table("stage", "wall s", "units", "busy s")
    for stage, results in RunFolder(str(folder / "run")).results().items():
        seconds = wall_of(folder / "run" / results.folder)
        row(stage, f"{seconds:.1f}", len(results), f"{results.seconds.sum():.1f}")
    flow = Waterfall.from_json(json.loads((folder / "run" / "waterfall.json").read_bytes()))
    disk = sum(file.stat().st_size for file in (folder / "run").rglob("*") if file.is_file()) / MB
    row("**all, with start, report and verification**", f"**{wall:.1f}**", "", "")
    print(
        f"\n{workload.bytes / MB / wall:.1f} MB/s, {watch.cpu:.0f} CPU s; {flow.documents_in:,} documents in, "
        f"{flow.documents_out:,} out; peak over all processes {watch.rss / GIB:.2f} GiB resident, "
        f"{watch.pss / GIB:.2f} GiB proportional; {disk:,.0f} MB on disk\n"
    )
    shutil.rmtree(folder)
    return [
        Figure(f"whole run, {name}, {size}: wall", wall, "s"),
        Figure(f"whole run, {name}, {size}: peak memory, all processes", watch.rss / GIB, "GiB", BAR, "below"),
    ]
