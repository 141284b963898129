"""Does a second worker halve the time? Whole runs with one worker and with two, in turns."""

import os
import shutil
from pathlib import Path
from statistics import median

from benchmarks.common import MB, Figure, Workload, row, table
from benchmarks.speed.whole_run import RECIPES, whole_run

BAR = 1.85  # times as fast with two workers as with one


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Both recipes; the median of the ratios of neighbouring runs, so that a slow time of the machine is shared."""
    if (os.cpu_count() or 1) < 2:
        print("two workers: left out, this machine has one core\n")
        return []
    print(f"## two workers beside one: whole runs of {workload.bytes / MB:,.0f} MB, median of {runs}\n")
    table("", "1 worker, s", "2 workers, s", "times as fast")
    figures = []
    for name, steps in RECIPES:
        pairs = [[whole_run(workload, steps, scratch, workers).wall for workers in (1, 2)] for _ in range(runs)]
        shutil.rmtree(scratch)
        one, two = (median(walls) for walls in zip(*pairs))
        times = median(one / two for one, two in pairs)
        row(name, f"{one:.1f}", f"{two:.1f}", f"{times:.2f}")
        figures.append(Figure(f"two workers, {name}: whole run, beside one worker", times, "times", BAR))
    print()
    return figures
