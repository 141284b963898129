"""How long a run takes with more workers: python -m benchmarks.simulate.many_cores --workload DIR

A whole run is carried out here. Its trace, the seconds of each unit and what the driver adds to each stage, is then
scheduled on 1 to 16 workers: a stage begins when the one before it has ended, and each worker that is free takes the
next unit. Start, end, and the driver's part of each stage are taken to be as long with any number of workers. What
cores do to each other (caches, memory, disk) is not in it.
"""

import argparse
import heapq
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import Figure, Workload, heading, row, table, verdict
from benchmarks.speed.whole_run import RECIPES, whole_run
from corpusmill.store.run_folder import RunFolder

WORKERS = (1, 2, 4, 8, 16)
BAR = 10.0  # times as fast with 16 workers as with one


@dataclass(frozen=True)
class Trace:
    """
    units     stage -> seconds of each of its units
    driver    stage -> seconds of the stage beyond those of its units
    outside   seconds before the first stage, between stages and behind the last
    """

    units: dict[str, list[float]]
    driver: dict[str, float]
    outside: float

    def seconds(self, workers: int) -> float:
        """Of the whole run."""
        return self.outside + sum(self.driver[stage] + makespan(units, workers) for stage, units in self.units.items())

    @property
    def constant(self) -> float:
        """Seconds that no worker shortens: the driver's, and of stages of one unit."""
        alone = sum(sum(units) for units in self.units.values() if len(units) == 1)
        return self.outside + sum(self.driver.values()) + alone


def makespan(seconds: Sequence[float], workers: int) -> float:
    """Until the last unit has ended, where whoever is free takes the next.

    >>> makespan([3, 1, 1, 1], 2), makespan([], 2)
    (3.0, 0.0)
    """
    free = [0.0] * workers
    for unit in seconds:
        heapq.heapreplace(free, free[0] + unit)
    return max(free)


def trace(workload: Workload, steps: str, workers: int, scratch: Path) -> Trace:
    done = whole_run(workload, steps, scratch, workers)
    units = {name: results.seconds.tolist() for name, results in RunFolder(str(scratch / "run")).results().items()}
    driver = {name: max(done.stages[name].wall - makespan(each, workers), 0.0) for name, each in units.items()}
    return Trace(units, driver, done.wall - sum(stage.wall for stage in done.stages.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2, help="with which the run is carried out")
    options = parser.parse_args()
    workload = Workload.open(options.workload)
    heading(workload, "benchmarks.simulate.many_cores")
    table("", *(f"{count}, s" for count in WORKERS), *(f"{count}: times" for count in WORKERS[1:]), "constant, s")
    figures = []
    for name, steps in RECIPES:
        with tempfile.TemporaryDirectory() as folder:
            found = trace(workload, steps, options.workers, Path(folder))
        walls = [found.seconds(count) for count in WORKERS]
        times = [walls[0] / wall for wall in walls]
        row(name, *(f"{wall:.1f}" for wall in walls), *(f"{each:.2f}" for each in times[1:]), f"{found.constant:.1f}")
        figures.append(Figure(f"{name}: {WORKERS[-1]} workers beside one, simulated", times[-1], "times", BAR))
    verdict(figures)


if __name__ == "__main__":
    main()
