"""Has it become slower? python -m benchmarks.quick --workload DIR [--write]

A handful of figures on the slice of the workload, in less than three minutes on two cores: the first pass, whole runs,
tokens, the loader, near copies, a run of 100 documents. They are compared with those of benchmarks/quick.json, which
`--write` writes. Before each, a fixed loop is timed (benchmarks/calibration.py), and the figure is taken in units of
it, so that another machine, or the same at a busy time, gives about the same ratio. About: what takes 25 % more is
reported, and the exit status is 1; what takes less more is not seen here, but by `make bench` on a quiet machine.

Kernels are compiled before the time is taken; on a machine that has not run any, that takes minutes.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal

from benchmarks.calibration import Seconds, calibrate
from benchmarks.common import MB, ROOT, Workload, commit, heading, processor, row, table
from benchmarks.peers import dedup
from benchmarks.samples import read
from benchmarks.speed import loader, map_pass, startup
from benchmarks.speed.whole_run import RECIPES, whole_run
from corpusmill.loader import FIELDS
from corpusmill.models.tokenizer import load
from corpusmill.text import warming

COMMITTED = ROOT / "benchmarks" / "quick.json"
WORSE = 1.25  # times what the committed figure says it takes
BUSY = 1.0  # load
WORKERS = 2
ROUNDS, LIMIT = 3, 160.0  # at most; seconds after which no further round begins
TOKENS, READ = 20_000_000, 10_000_000  # in the shards that the loader reads, and of those read


@dataclass(frozen=True)
class Reading:
    """
    unit    "s", or something per second
    clock   which seconds these are
    """

    name: str
    value: float
    unit: str
    clock: Literal["wall", "cpu"]

    def in_loops(self, seconds: Seconds) -> float:
        """What it takes, in units of the loop: for so much work, if the value is a speed."""
        took = self.value if self.unit == "s" else 1 / self.value
        return took / (seconds.wall if self.clock == "wall" else seconds.cpu)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="make these the committed figures")
    options = parser.parse_args()
    workload = Workload.open(options.workload)
    committed = None if options.write else read_committed(COMMITTED, workload)
    heading(f"the slice of: {workload}", "benchmarks.quick")
    load_before = os.getloadavg()[0]
    warming.warm()
    begun = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="corpusmill-"))
    try:
        measured = rounds(workload.slice, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    done = min(map(len, measured.values()))
    print(f"median of {done} rounds, {time.monotonic() - begun:.0f} s in all\n")
    if committed is None:
        write(COMMITTED, workload, measured, load_before)
        print(f"written to {COMMITTED.relative_to(ROOT)}: {len(measured)} figures")
        return 0
    return compare(committed, measured)


def rounds(part: Workload, scratch: Path) -> dict[str, list[tuple[Reading, Seconds]]]:
    """name -> what each round gave, and the loop before it. All figures once, then again while there is time."""
    begun = time.monotonic()
    prepared = prepare(part, scratch)
    measured: dict[str, list[tuple[Reading, Seconds]]] = {}
    for _ in range(ROUNDS):
        start = time.monotonic()
        for measure in prepared:
            seconds = calibrate()
            for reading in measure():
                measured.setdefault(reading.name, []).append((reading, seconds))
        now = time.monotonic()
        if now - begun + (now - start) > LIMIT:
            break
    return measured


def prepare(part: Workload, scratch: Path) -> tuple[Callable[[], Iterator[Reading]], ...]:
    texts = [docs["text"] for file in part.files for docs in read(file)]
    tokenizer = load("gpt2")
    loader.make(scratch / "shards", TOKENS)
    first = scratch / "first"
    first.mkdir()
    recipe = startup.write_input(part, first)
    size = part.bytes / MB

    def first_pass(name: str, steps: str) -> Iterator[Reading]:
        wall, *_ = map_pass.once(part, steps, WORKERS, scratch / "map")
        yield Reading(f"first pass, {name}", size / wall, "MB/s", "wall")

    def whole(name: str, steps: str) -> Iterator[Reading]:
        done = whole_run(part, steps, scratch / "whole", WORKERS)
        yield Reading(f"whole run, {name}", done.wall, "s", "wall")
        yield Reading(f"whole run, {name}, CPU seconds", done.cpu, "s", "cpu")

    def tokens() -> Iterator[Reading]:
        start = time.process_time()
        for batch in texts:
            tokenizer.encode_documents(batch)
        yield Reading("tokens, GPT-2, one core", size / (time.process_time() - start), "MB/s", "cpu")

    def loads() -> Iterator[Reading]:
        speed = loader.speed(iter(loader.ours(scratch / "shards", FIELDS)), READ)
        yield Reading("loader, all fields, one core", speed / 1e6, "M tokens/s", "cpu")

    def copies() -> Iterator[Reading]:
        yield Reading("near copies, until decided", dedup.ourselves(part, scratch, WORKERS).known, "s", "wall")

    def start() -> Iterator[Reading]:
        _, wall = startup.small_run(recipe, first / "run", dict(os.environ))
        yield Reading(f"whole run of {startup.DOCUMENTS} documents", wall, "s", "wall")

    by_recipe = (partial(measure, *recipe) for recipe in RECIPES for measure in (first_pass, whole))
    return *by_recipe, tokens, loads, copies, start


def read_committed(path: Path, workload: Workload) -> dict[str, Any]:
    """Raises SystemExit if there are none, or they are of other documents."""
    if not path.is_file():
        raise SystemExit(
            f"{path}: there are no committed figures to compare with. Write them: make bench-quick WRITE=1"
        )
    said: dict[str, Any] = json.loads(path.read_bytes())
    if said["workload"] != workload.digest:
        raise SystemExit(
            f"{path}: figures of the workload {said['workload'][:16]}, and {workload.folder} is "
            f"{workload.digest[:16]}. Make the workload again, or write new figures: make bench-quick WRITE=1"
        )
    return said


def write(
    path: Path, workload: Workload, measured: dict[str, list[tuple[Reading, Seconds]]], load_before: float
) -> None:
    loops = [seconds for taken in measured.values() for _, seconds in taken]
    figures = {
        name: {
            "unit": taken[0][0].unit,
            "value": float(f"{median(reading.value for reading, _ in taken):.4g}"),
            "in_loops": float(f"{loops_of(taken):.5g}"),
        }
        for name, taken in measured.items()
    }
    said = {
        "note": "in_loops is what is compared: seconds, or seconds per unit of work, by those of the loop in "
        "calibration.py at that time. Written by `make bench-quick WRITE=1`.",
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "load_before": round(load_before, 1),
        "commit": commit(),
        "workload": workload.digest,
        "loop_seconds": {clock: round(median(getattr(one, clock) for one in loops), 4) for clock in Seconds._fields},
        "figures": figures,
    }
    path.write_text(json.dumps(said, indent=2) + "\n", "utf-8")


def loops_of(taken: list[tuple[Reading, Seconds]]) -> float:
    return median(reading.in_loops(seconds) for reading, seconds in taken)


def compare(committed: dict[str, Any], measured: dict[str, list[tuple[Reading, Seconds]]]) -> int:
    """Print each figure beside the committed one; 1 if one takes WORSE times as much, for the exit status."""
    print(f"committed: {committed['commit']}, on {committed['machine']}, load before {committed['load_before']:g}")
    if committed["load_before"] > BUSY:
        print("**that machine was busy: what is slow now may not be seen.** On a quiet one: make bench-quick WRITE=1")
    print()
    table("figure", "committed", "now", "takes, times the committed", "")
    worse = []
    for name, taken in measured.items():
        now, unit = median(reading.value for reading, _ in taken), taken[0][0].unit
        known = committed["figures"].get(name)
        if known is None:
            row(name, "–", f"{now:,.4g} {unit}", "–", "new")
            continue
        ratio = loops_of(taken) / known["in_loops"]
        worse += [name] if ratio > WORSE else []
        row(
            name,
            f"{known['value']:,.4g} {unit}",
            f"{now:,.4g} {unit}",
            f"{ratio:.2f}",
            "WORSE" if ratio > WORSE else "",
        )
    print()
    missing = sorted(set(committed["figures"]) - set(measured))
    for name in missing:
        print(f"no longer measured: {name}")
    for name in worse:
        print(f"worse by more than {WORSE - 1:.0%}: {name}")
    print("the ratio is of loops, not of the two columns: the machine's own speed is taken out of it")
    return 1 if worse or missing else 0


if __name__ == "__main__":
    sys.exit(main())
