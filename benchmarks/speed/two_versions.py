"""Is this version slower than another? Whole runs of both, in turns, on the same workload.

    python -m benchmarks.speed.two_versions --workload DIR --other CHECKOUT [--rounds 5]

The other version is a checkout, whose src/ is put before everything else; both run in this environment. Prints medians
of whole runs and of the first pass, and the median of the ratios of neighbouring runs: a machine that is busy with
other things for a while slows both down.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.common import CRAWL, NO_FILTERS, ROOT, Figure, Workload, heading, row, table, verdict

BAR = 1.0  # times the seconds of the other version
FIRST_PASS = re.compile(r"pass-1: (\d+)/\1 units, ([\d.]+) s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--other", type=Path, required=True, help="a checkout of the other version")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    workload = Workload.open(options.workload.resolve())
    heading(workload, "benchmarks.speed.two_versions")
    versions = {"other": options.other.resolve(), "this": ROOT}
    figures = []
    for name, steps in (("a crawl", CRAWL), ("no filters", NO_FILTERS)):
        seconds: dict[str, list[tuple[float, float]]] = {version: [] for version in versions}
        for number in range(options.rounds):
            for version in versions if number % 2 else reversed(versions):
                seconds[version].append(timed(versions[version], workload.recipe(steps, "whole")))
        print(f"## {name}: seconds, median of {options.rounds}\n")
        table("", "other", "this", "ratio of neighbouring runs, median")
        for part, title in enumerate(("whole run", "first pass")):
            other, this = ([run[part] for run in seconds[version]] for version in ("other", "this"))
            ratio = median(b / a for a, b in zip(other, this))
            row(title, f"{median(other):.1f}", f"{median(this):.1f}", f"{ratio:.3f}")
            figures.append(Figure(f"{name}, {title}: times the other version's", ratio, "", BAR, "below", 3))
        print()
    return verdict(figures)


def timed(checkout: Path, recipe: str) -> tuple[float, float]:
    """Wall seconds of a whole run, and of its first pass."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
        file = Path(folder) / "recipe.yaml"
        file.write_text(recipe, "utf-8")
        command = [sys.executable, "-m", "corpusmill.cli", "run", str(file), "--folder", f"{folder}/run"]
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "--workers", str(os.cpu_count() or 1)],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        wall = time.perf_counter() - start
        shutil.rmtree(f"{folder}/run")
        passed = FIRST_PASS.search(done.stderr)
        return wall, float(passed[2]) if passed else 0.0


if __name__ == "__main__":
    sys.exit(main())
