"""python -m benchmarks.cluster; see the package."""

import argparse
import os
from pathlib import Path

from benchmarks.cluster import chaos, scheduling, whole
from benchmarks.common import Figure, Workload, heading, verdict

PARTS = ("whole", "same", "flat", "scaling", "chaos")

parser = argparse.ArgumentParser(prog="benchmarks.cluster", description=__doc__)
parser.add_argument("parts", nargs="*", metavar="PART", help=f"which; all if none is named: {', '.join(PARTS)}")
parser.add_argument("--workload", type=Path, default=Path("build/workload"))
parser.add_argument("--slice", action="store_true", help="a tenth of the workload; start-up then weighs more")
parser.add_argument("--nodes", type=int, nargs="*", default=[2, 4])
parser.add_argument("--units", type=int, default=100_000)
parser.add_argument("--kills", type=int, default=20)
parser.add_argument("--seed", type=int, default=20240229)

if __name__ == "__main__":
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    parts = given.parts or PARTS
    os.environ["RAY_AUTH_MODE"] = "disabled"  # of clusters on this machine, for minutes
    workload = Workload.open(given.workload)
    workload = workload.slice if given.slice else workload
    heading(workload, "benchmarks.cluster")
    figures: list[Figure] = []
    if "whole" in parts:
        figures += whole.whole(workload, given.nodes)
    if "same" in parts:
        figures += whole.same(workload.slice, given.nodes[:1])
    if "flat" in parts:
        figures += scheduling.flat(given.units)
    if "scaling" in parts:
        figures += scheduling.scaling()
    if "chaos" in parts:
        figures += chaos.chaos(given.kills, given.seed)
    raise SystemExit(verdict(figures))
