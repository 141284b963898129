"""Does a second worker halve the time? Whole runs with one worker, with two, and on larger machines with 4, 8 …, in
turns."""

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
    counts = [1 << power for power in range((os.cpu_count() or 1).bit_length())]
    print(f"## workers beside one: whole runs of {workload.bytes / MB:,.0f} MB, median of {runs}\n")
    table(
        "", *(f"{count} worker{'s' * (count > 1)}, s" for count in counts), *(f"{count}: times" for count in counts[1:])
    )
    figures = []
    for name, steps in RECIPES:
        rounds = [[whole_run(workload, steps, scratch, count).wall for count in counts] for _ in range(runs)]
        shutil.rmtree(scratch)
        times = [median(walls[0] / walls[at] for walls in rounds) for at in range(1, len(counts))]
        row(name, *(f"{median(walls):.1f}" for walls in zip(*rounds)), *(f"{each:.2f}" for each in times))
        figures.append(Figure(f"two workers, {name}: whole run, beside one worker", times[0], "times", BAR))
    print()
    return figures
