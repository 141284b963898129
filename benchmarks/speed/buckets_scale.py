"""annotate/bucket by number of documents, up to 20 million: python -m benchmarks.speed.buckets_scale

What is made, and not timed: for every unit of documents the file of keys as a pass writes it, of two signals. One is
uniform; the other falls with it, is rounded to a hundredth, so that thousands of documents are equal, and is missing
for a tenth.

Timed are all stages of annotate/bucket as in every run, in a process of their own, by two workers.
"""

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.common import GIB, Figure, heading, row, table, verdict
from benchmarks.speed.scale import UNIT, Documents, carry_out_by_workers, made_and_watched, make
from benchmarks.speed.whole_run import wall_of
from corpusmill.engine.plan.plan import PassInfo, RunPlan
from corpusmill.engine.work.pass_parts import KeyRequest, write_keys
from corpusmill.recipe.model import Recipe
from corpusmill.schema import COUNTED
from corpusmill.steps.annotate.bucket import Bucket
from corpusmill.steps.keys import Keys, KeyStage
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.work import PlannedUnit, Stage

SIZES = (5_000_000, 10_000_000, 20_000_000)
STEP = Bucket(by=("quality.score", "perplexity.value"), lowest=("perplexity.value",))
MOST_GROWTH = 8.0  # bytes a document


@dataclass(frozen=True)
class Make:
    def run(self, inputs: Documents, io: UnitIO) -> None:
        random = np.random.default_rng(inputs.start)
        count = inputs.stop - inputs.start
        score = random.random(count)
        other = np.round(10 - score * 5 + random.normal(size=count), 2)
        other[random.random(count) < 0.1] = np.nan
        io.write("docs", pa.RecordBatch.from_pylist([], schema=COUNTED))
        keys = Keys(np.empty((count, 0), np.uint64), {"value0": score, "value1": other})
        write_keys(io, KeyRequest("bucket", STEP, 1, {}), [(keys, count)])


def plan(documents: int) -> RunPlan:
    units = [PlannedUnit(Documents(at, min(at + UNIT, documents)), (str(at),)) for at in range(0, documents, UNIT)]
    made = Stage("pass-1", Make(), (), lambda upstream: units)
    recipe = Recipe.parse("name: scale\nread:\n  - jsonl: {paths: none}\n")
    return RunPlan(recipe, (made, *STEP.stages(KeyStage("pass-1", "bucket", 1, ()))), (PassInfo("pass-1", ()),), ())


def measure(documents: int, root: Path) -> tuple[float, int, int]:
    """Seconds, and peak bytes over all processes: resident, and proportional. Prints a table of the stages."""
    command = [sys.executable, "-m", "benchmarks.speed.buckets_scale", "--folder", str(root)]
    wall, watch = made_and_watched([*command, "--documents", str(documents)])
    print(f"## {documents:,} documents\n")
    table("stage", "wall s", "units", "CPU s")
    buckets: dict[str, int] = {}
    for name, results in RunFolder(str(root)).results().items():
        if name != "pass-1":
            row(name, f"{wall_of(root / results.folder):.1f}", len(results), f"{results.cpu.sum():.1f}")
            buckets |= results.facts.get("buckets", {})
    row("**all, with start**", f"**{wall:.1f}**", "", f"{watch.cpu:.1f}")
    low, high = min(buckets.values()), max(buckets.values())
    print(
        f"\n{sum(buckets.values()):,} documents in {len(buckets)} buckets of {low:,} to {high:,}; "
        f"peak over all processes {watch.rss / GIB:.2f} GiB resident, {watch.pss / GIB:.2f} GiB proportional\n"
    )
    return wall, watch.rss, watch.pss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=SIZES, help="rising")
    parser.add_argument("--scratch", type=Path, help="folder for the made data, 2 GB; a temporary one if not given")
    parser.add_argument("--part", choices=("make", "stages"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        whole = plan(options.documents[0])
        make(whole, options.folder) if options.part == "make" else carry_out_by_workers(options.folder, whole)
        return 0
    heading("made: buckets of two signals by number of documents", "benchmarks.speed.buckets_scale")
    measured = []
    for documents in options.documents:
        root = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=options.scratch))
        try:
            measured.append(measure(documents, root))
        finally:
            shutil.rmtree(root, ignore_errors=True)
    if len(measured) < 2:
        return 0
    figures = []
    for place, name in ((1, "resident"), (2, "proportional")):
        growth = float(np.polyfit(options.documents, [one[place] for one in measured], 1)[0])
        figures.append(Figure(f"{name} memory by document, by least squares", growth, "bytes", MOST_GROWTH, "below"))
    return verdict(figures)


if __name__ == "__main__":
    raise SystemExit(main())
