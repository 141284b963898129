"""What `corpusmill plan` says beside what the run then takes: python -m benchmarks.speed.planned --workload DIR

--input reads other JSON lines. Processor seconds are compared beside wall seconds, for a machine that others use, too.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from statistics import mean

from benchmarks.common import CRAWL, NO_FILTERS, Figure, Workload, heading, verdict
from corpusmill import run
from corpusmill.ops.estimate import Estimate, estimate
from corpusmill.recipe.model import Recipe
from corpusmill.store.run_folder import RunFolder

TIME, TOKENS, DISK = 0.20, 0.05, 0.10


def compare(name: str, recipe: Recipe, share: float, workers: int, scratch: Path, starts: int) -> list[Figure]:
    """Plan, run, and print both; then what plans of other samples are off by."""
    folder = scratch / name
    said: Estimate = estimate(recipe, share)
    began = time.perf_counter()
    done = run(recipe, folder=folder, workers=workers, progress=False)
    wall = time.perf_counter() - began
    cpu = sum(float(results.cpu.sum()) for results in RunFolder(str(folder)).results().values())
    files = {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    disk, tokens = sum(files.values()), done.waterfall.packed["tokens"]
    shutil.rmtree(folder)
    rows = [
        ("documents", said.documents.value, done.waterfall.documents_out, None),
        ("tokens", said.tokens.value, tokens, TOKENS),
        ("disk, MB", said.disk / 1e6, disk / 1e6, DISK),
        ("wall s", said.wall(workers), wall, TIME),
        ("CPU s of units", said.cpu, cpu, TIME),
    ]
    ranges = {"documents": said.documents, "tokens": said.tokens}
    print(f"\n## {name}: a sample of {said.sample_bytes / 1e6:.1f} of {said.bytes / 1e6:.0f} MB, {workers} workers\n")
    print("| | planned | range | run | off |\n|---|---:|---:|---:|---:|")
    for what, planned, actual, _ in rows:
        between = f"{ranges[what].low:,.0f} to {ranges[what].high:,.0f}" if what in ranges else ""
        print(f"| {what} | {planned:,.1f} | {between} | {actual:,.1f} | {planned / actual - 1:+.1%} |")
    if starts:
        truth = {what: actual for what, _, actual, _ in rows[:3]}
        others = [estimate(recipe, share, start=(i + 0.5) / starts) for i in range(starts)]
        print(f"\n{starts} other samples:\n")
        print("| | off by, mean | worst | on average | held by the range |\n|---|---:|---:|---:|---:|")
        for what, actual in truth.items():
            values = [getattr(one, what).value if what in ranges else one.disk / 1e6 for one in others]
            off = [value / actual - 1 for value in values]
            held = f"{sum(getattr(one, what).within(actual) for one in others)}" if what in ranges else ""
            print(f"| {what} | {mean(map(abs, off)):.1%} | {max(map(abs, off)):.1%} | {mean(off):+.1%} | {held} |")
    return [
        Figure(f"{name}: {what}, off by", abs(planned / max(actual, 1e-9) - 1), "", bar, "below")
        for what, planned, actual, bar in rows
        if bar is not None
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--input", help="other JSON lines, a pattern, instead of the workload")
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--starts", type=int, default=0, help="how many other samples to plan from")
    options = parser.parse_args()
    workload = Workload.open(options.workload)
    heading(options.input or workload, "benchmarks.speed.planned")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="corpusmill-planned-") as scratch:
        for name, steps in (("no filters", NO_FILTERS), ("a crawl", CRAWL)):
            text = workload.recipe(steps, name.replace(" ", "-"))
            if options.input:
                text = text.replace(json.dumps(str(workload.folder / "docs-*.jsonl")), json.dumps(options.input))
            parsed = Recipe.parse(text, overrides=[f"run.folder={scratch}/planned"])
            figures += compare(name, parsed, options.share, options.workers, Path(scratch), options.starts)
    return verdict(figures)


if __name__ == "__main__":
    raise SystemExit(main())
