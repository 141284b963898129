"""The first pass of a recipe, where the whole input is read: MB/s of input, with a worker per core."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.common import CRAWL, MB, NO_FILTERS, Figure, Workload, row, table, watching
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.listener import Silent
from corpusmill.engine.drive.session import Session
from corpusmill.engine.plan.lower import lower
from corpusmill.execute.processes import Processes
from corpusmill.store.run_folder import RunFolder

BAR = 15.0  # MB/s


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Parse, clean, language, URL, Gopher, C4, FineWeb, PII, keys of copies, token counts; then without the filters."""
    workers = os.cpu_count() or 1
    print(f"## map pass: {workers} workers, median of {runs}\n")
    table("steps", "wall s", "CPU s", "MB/s", "MB per CPU s", "kept")
    figures = []
    for name, steps in (("a crawl", CRAWL), ("no filters", NO_FILTERS)):
        walls, cpus, kept = zip(*(once(workload, steps, workers, scratch / f"map-{i}") for i in range(runs)))
        wall, cpu, size = median(walls), median(cpus), workload.bytes / MB
        row(name, f"{wall:.1f}", f"{cpu:.1f}", f"{size / wall:.1f}", f"{size / cpu:.1f}", f"{kept[0]:.1%}")
        figures.append(Figure(f"map pass, {name}", size / wall, "MB/s", BAR))
    print()
    return figures


def once(workload: Workload, steps: str, workers: int, folder: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds of the workers, share of the documents that the pass keeps."""
    plan = lower(workload.parse(steps, "map"))
    first = replace(plan, stages=plan.stages[:1])
    executor = Processes(workers, preload=("corpusmill.engine.preload",))
    try:
        with watching(os.getpid(), own=False) as watch:
            start = time.perf_counter()
            run = RunFolder(str(folder))
            run.make()
            results = carry_out(Session(run, first, executor, Silent())).results[first.stages[0].name]
            wall = time.perf_counter() - start
            watch.sample(own=False)
        read = results.facts["read"]["web"]["documents"]
        return wall, watch.cpu, int(results["docs"].rows.sum()) / read
    finally:
        executor.close()
        shutil.rmtree(folder, ignore_errors=True)
