"""A whole run, from JSON lines to verified training shards: seconds by stage, memory of all its processes, disk, and
what tokens cost at that speed."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import orjson
import pyarrow as pa

from benchmarks.common import CRAWL, GIB, MB, NO_FILTERS, Figure, Workload, row, table, watching
from corpusmill.models.tokenizer import load
from corpusmill.ops.unused import remove_intermediate
from corpusmill.report.waterfall import Waterfall
from corpusmill.store.run_folder import RunFolder

RESIDENT, PROPORTIONAL = 2.0, 1.2  # GiB, over all processes
DISK = 1.5  # times the text that comes in
RECIPES = (("a crawl", CRAWL), ("no filters", NO_FILTERS))
CORE_HOUR = 0.04  # USD


@dataclass(frozen=True)
class StageSeconds:
    """
    wall    from its plan to its results
    busy    of its units, summed over workers
    """

    wall: float
    units: int
    busy: float


@dataclass(frozen=True)
class Measured:
    """A whole run, from the start of the process to its end.

    cpu     seconds, of all its processes
    rss     peak bytes over all its processes, shared pages counted in each
    pss     the same, shared pages counted once
    disk    bytes of the files in its folder when it ends, those under two names counted once
    kept    the same with `run.keep: output`
    """

    workers: int
    wall: float
    cpu: float
    rss: int
    pss: int
    disk: int
    kept: int
    flow: Waterfall
    stages: dict[str, StageSeconds]

    @property
    def text(self) -> int:
        """Bytes of text that came in."""
        return self.flow.rows[0].bytes_in

    @property
    def tokens_out(self) -> int:
        """Tokens in the shards, EOS included."""
        return int(self.flow.packed["tokens"])

    @property
    def core_hours(self) -> float:
        """Of the machine: a core that waits is paid for, too."""
        return self.wall * self.workers / 3600


def run(
    workload: Workload, runs: int, scratch: Path, big: Workload | None = None, price: float = CORE_HOUR
) -> list[Figure]:
    """The recipe for a crawl, and one without filters, in which every stage has all of the workload to do."""
    figures, measured = [], []
    for data in (workload, *([big] if big else [])):
        for name, steps in RECIPES:
            done = whole_run(data, steps, scratch / "whole")
            show(name, data, done)
            shutil.rmtree(scratch / "whole")
            measured.append((f"{name}, {data.bytes / MB:,.0f} MB", data, done))
            figures += figures_of(*measured[-1][::2])
    cost(measured, price)
    return figures


def whole_run(workload: Workload, steps: str, folder: Path, workers: int | None = None) -> Measured:
    """Runs the recipe in a process of its own, in `folder`/run, which is emptied before and left.

    workers   one for each core, if not given
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recipe = folder / "recipe.yaml"
    recipe.write_text(workload.recipe(steps, "whole"), "utf-8")
    done = measured(recipe, folder / "run", workers)
    remove_intermediate(RunFolder(str(folder / "run")))
    return replace(done, kept=bytes_on_disk(folder / "run"))


def measured(recipe: Path, folder: Path, workers: int | None = None) -> Measured:
    """Runs the recipe in a process of its own, in `folder`, which is left; what it prints is in a file `log` beside it.
    `kept` is as `disk`."""
    workers = workers or os.cpu_count() or 1
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder)]
    start = time.perf_counter()
    log = folder.with_name("log")
    with log.open("w") as stream:
        driver = subprocess.Popen([*command, "--workers", str(workers)], stdout=stream, stderr=stream)
        with watching(driver.pid, own=True) as watch:
            status = driver.wait()
    wall = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {status}:\n{log.read_text('utf-8')}")
    flow = Waterfall.from_json(json.loads((folder / "waterfall.json").read_bytes()))
    stages = {
        name: StageSeconds(wall_of(folder / results.folder), len(results), float(results.seconds.sum()))
        for name, results in RunFolder(str(folder)).results().items()
    }
    disk = bytes_on_disk(folder)
    return Measured(workers, wall, watch.cpu, watch.rss, watch.pss, disk, disk, flow, stages)


def wall_of(stage: Path) -> float:
    """Seconds from a stage's plan to its results."""
    ends = [max(path.stat().st_mtime for path in (stage / kind).iterdir()) for kind in ("plans", "results")]
    return ends[1] - ends[0]


def bytes_on_disk(folder: Path) -> int:
    """Of all files; one with several names, as an output that is published is, counts once."""
    found = [file.stat() for file in folder.rglob("*") if file.is_file()]
    return sum({(file.st_dev, file.st_ino): file.st_size for file in found}.values())


def show(name: str, workload: Workload, done: Measured) -> None:
    print(f"## whole run, {name}: {workload.bytes / MB:,.0f} MB, {done.workers} workers\n")
    table("stage", "wall s", "units", "busy s")
    for stage, seconds in done.stages.items():
        row(stage, f"{seconds.wall:.1f}", seconds.units, f"{seconds.busy:.1f}")
    row("**all, with start, report and verification**", f"**{done.wall:.1f}**", "", "")
    print(
        f"\n{workload.bytes / MB / done.wall:.1f} MB/s, {done.cpu:.0f} CPU s; {done.flow.documents_in:,} documents in, "
        f"{done.flow.documents_out:,} out; peak over all processes {done.rss / GIB:.2f} GiB resident, "
        f"{done.pss / GIB:.2f} GiB proportional; {done.disk / MB:,.0f} MB on disk, {done.kept / MB:,.0f} with "
        f"`keep: output`, for {done.text / MB:,.0f} MB of text\n"
    )


def figures_of(name: str, done: Measured) -> list[Figure]:
    name = f"whole run, {name}"
    return [
        Figure(f"{name}: wall", done.wall, "s"),
        Figure(f"{name}: peak resident memory, all processes", done.rss / GIB, "GiB", RESIDENT, "below"),
        Figure(f"{name}: peak proportional memory, all processes", done.pss / GIB, "GiB", PROPORTIONAL, "below"),
        Figure(f"{name}: disk, of the text that comes in", done.disk / done.text, "times"),
        Figure(f"{name}: the same with `keep: output`", done.kept / done.text, "times", DISK, "below"),
    ]


def cost(measured: Sequence[tuple[str, Workload, Measured]], price: float) -> None:
    """Tokens a core-hour, and what 10**12 of them cost, counted by what comes in and by what goes out."""
    print("## what tokens cost\n")
    print(f"- assumed, not measured: a core-hour costs {price:g} USD (--core-hour-price)")
    print(
        "- core-hours are wall time times workers, so waiting cores are paid for; no storage, no traffic, no download"
    )
    print("- assumed: more input costs as much per token as this, with the same share of documents dropped")
    print("- tokens are GPT-2's: of the input, as many to the byte as the slice of this workload has before any step;")
    print("  of the output, what the shards hold, EOS included\n")
    table(
        "whole run", "M tokens in", "M tokens out", "core-hours", "M in / core-hour", "M out / core-hour",
        "USD / 10^12 in", "USD / 10^12 out",
    )  # fmt: skip
    for name, workload, done in measured:
        tokens = tokens_in(workload), done.tokens_out
        row(
            name, *(f"{count / 1e6:,.1f}" for count in tokens), f"{done.core_hours:.4f}",
            *(f"{count / 1e6 / done.core_hours:,.0f}" for count in tokens),
            *(f"{price * done.core_hours * 1e12 / count:,.0f}" for count in tokens),
        )  # fmt: skip
    print()


@cache
def tokens_in(workload: Workload) -> int:
    """Tokens of the workload's texts as they come, without EOS; counted on its slice, and scaled by bytes of files."""
    part = workload.slice
    texts = (orjson.loads(line)["text"] for file in part.files for line in file.read_bytes().splitlines())
    counted = load("gpt2").count(pa.array(texts, pa.large_string()))
    return round(int(counted.sum()) * workload.bytes / part.bytes)
