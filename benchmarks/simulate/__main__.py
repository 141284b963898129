"""What failures cost: python -m benchmarks.simulate [--picture FILE.svg]

100,000 units of the first pass on 1,000 workers, with times as they were measured (benchmarks/simulate/units.json), and
what goes wrong on clusters. Prints each beside what is reckoned without a simulation, where that can be.
"""

import argparse
import json
import math
import random
from pathlib import Path

from benchmarks.simulate.scheduler import Cluster, Outcome, simulate

UNITS, WORKERS = 100_000, 1_000
HOUR = 3600.0
MEASURED = json.loads((Path(__file__).parent / "units.json").read_text("utf-8"))
CASES = {
    "nothing fails": Cluster(WORKERS),
    "a worker dies once in 24 hours": Cluster(WORKERS, 24 * HOUR),
    "once in an hour": Cluster(WORKERS, HOUR),
    "once in 10 minutes": Cluster(WORKERS, HOUR / 6),
    "once in an hour, leases of 30 minutes": Cluster(WORKERS, HOUR, lease=HOUR / 2),
    "spot: once in an hour, nine of ten with notice": Cluster(WORKERS, HOUR, notice=0.9),
    "1 % of workers 10 times slower": Cluster(WORKERS, slow=0.01, slower=10),
    "the same, and units begun again at the end": Cluster(WORKERS, slow=0.01, slower=10, steal=True),
}


def times(seed: int, units: int = UNITS) -> list[float]:
    """Seconds of units: measured ones, drawn again and again, as long as a unit of 128 MB takes."""
    chance = random.Random(seed)
    measured = MEASURED["seconds"]
    scale = MEASURED["full_unit_bytes"] / MEASURED["unit_bytes"]
    return [chance.choice(measured) * scale for _ in range(units)]


def reckoned(seconds: list[float], cluster: Cluster) -> float | None:
    """The makespan that it should have about, with many more units than workers; None where slow workers are.

    Attempts are begun again from nothing when a worker ends, so a unit of t seconds takes (e^(t/L) - 1) L of a worker
    on average, where lives are exponential with mean L; each end leaves its worker away for a while. The last round is
    half a unit longer than the mean. Where a worker is likely to die without notice in the time of a lease at the
    end, the last unit waits for a lease.
    """
    if cluster.slow:
        return None
    life = cluster.mean_life
    each = [math.expm1(t / life) * (life + cluster.back) for t in seconds] if life else seconds
    makespan = sum(each) / cluster.workers + sum(seconds) / len(seconds) / 2
    deaths = cluster.workers * (1 - cluster.notice) * min(cluster.lease, makespan) / life if life else 0.0
    return makespan + (cluster.lease if deaths > 1 else 0.0)


def run(seed: int) -> list[tuple[str, Cluster, Outcome, float | None]]:
    seconds = times(seed)
    return [(name, one, simulate(seconds, one, seed), reckoned(seconds, one)) for name, one in CASES.items()]


def picture(outcomes: list[tuple[str, Cluster, Outcome, float | None]]) -> str:
    """Bars of worker seconds: useful, wasted, the rest idle or away."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {40 * len(outcomes) + 50}" font-family="sans-serif" '
        'font-size="13"><rect width="100%" height="100%" fill="#fff"/>'
    ]
    for row, (name, _, one, _) in enumerate(outcomes):
        y, whole = 40 * row + 10, one.makespan * one.workers
        useful, wasted = 380 * one.useful / whole, 380 * one.wasted / whole
        lines += [
            f'<text x="300" y="{y + 18}" text-anchor="end">{name}</text>',
            f'<rect x="310" y="{y}" width="380" height="26" fill="#ddd"/>',
            f'<rect x="310" y="{y}" width="{useful:.1f}" height="26" fill="#2a7f62"/>',
            f'<rect x="{310 + useful:.1f}" y="{y}" width="{wasted:.1f}" height="26" fill="#c0504d"/>',
            f'<text x="698" y="{y + 18}">{one.efficiency:.1%}</text>',
        ]
    y = 40 * len(outcomes) + 30
    lines.append(f'<text x="310" y="{y}">green: useful; red: done twice or lost; grey: idle or away</text></svg>')
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    outcomes = run(options.seed)
    print(f"{UNITS:,} units, {WORKERS:,} workers, seed {options.seed}\n")
    print("| what goes wrong | minutes | reckoned | efficiency | done twice or lost | ends | units begun again |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, _, one, closed in outcomes:
        beside = "" if closed is None else f"{closed / 60:.1f}"
        lost = one.wasted / (one.useful + one.wasted)
        print(
            f"| {name} | {one.makespan / 60:.1f} | {beside} | {one.efficiency:.1%} | {lost:.2%} | {one.ends:,} | "
            f"{one.doubled:,} |"
        )
    if options.picture:
        options.picture.write_text(picture(outcomes), "utf-8")


if __name__ == "__main__":
    main()
