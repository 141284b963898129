"""Does a gigabyte cost the same in 1, 4 and 16 of them? python -m benchmarks.speed.linear --out build/workload

Whole runs of both recipes on workloads of these sizes, which benchmarks/workload.py makes beside --out, named after
their scale: what is not there is made first and removed after, unless --keep is given. The largest takes most of two
hours to make, and 60 GB of disk: it asks for that before it begins. `--scales 2 8` leaves it out. Where the packages
that workloads are made of are not to be had, `--slice` makes them of the slice of one, see copies.py.
"""

import argparse
import contextlib
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.common import GIB, Figure, Workload, heading, row, table, verdict
from benchmarks.speed import copies
from benchmarks.speed.whole_run import RECIPES, Measured, whole_run
from benchmarks.workload import build, fetch
from corpusmill.text import warming

GB, OF_SCALE_1 = 1e9, 0.472  # GB of JSON lines
SCALES = (2, 8, 32)  # 1, 4 and 16 GB
# Bytes on disk for each of the workload: with drafts, while it is made; when it is made; of a run.
MAKING, HELD, RUNNING = 2.2, 1.2, 2.6
BAR = 1.05  # the most seconds per GB of any size, to the least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/workload"), help="workloads are put at OUT-SCALE")
    parser.add_argument("--packages", type=Path, default=Path("build/packages"), help="where packages are kept")
    parser.add_argument("--slice", type=Path, help="make workloads of this slice of one, and of no packages")
    parser.add_argument("--repeated", action="store_true", help="with --slice: half of the input is copies")
    parser.add_argument("--workers", type=int, help="one for each core, if not given")
    parser.add_argument("--scales", type=float, nargs="+", default=SCALES, help="of the workload: 2 is 1 GB")
    parser.add_argument("--runs", type=int, default=1, help="of which the median is taken")
    parser.add_argument("--keep", action="store_true", help="leave the workloads that were made")
    parser.add_argument("--scratch", type=Path, help="folder for what runs write; a temporary one if not given")
    options = parser.parse_args()
    check_disk(options.out, options.scales, options.scratch)
    heading(f"workloads of scale {', '.join(f'{scale:g}' for scale in options.scales)}", "benchmarks.speed.linear")
    warming.warm()
    seconds: dict[str, dict[str, float]] = {name: {} for name, _ in RECIPES}
    scratch = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=options.scratch))
    try:
        for scale in sorted(options.scales):
            folder = options.out.with_name(f"{options.out.name}-{scale:g}")
            made = not (folder / "truth.json").is_file()
            if made:
                with contextlib.redirect_stdout(sys.stderr):
                    if options.slice:
                        copies.build(options.slice.glob("docs-*.jsonl"), folder, scale, options.repeated)
                    else:
                        build(fetch(options.packages), folder, int(scale), processes=2)
            workload = Workload.open(folder)
            for name, steps in RECIPES:
                done = [whole_run(workload, steps, scratch, options.workers) for _ in range(options.runs)]
                seconds[name][f"{workload.bytes / GB:.2f} GB"] = show(name, workload, done)
                shutil.rmtree(scratch / "run")
            if made and not options.keep:
                shutil.rmtree(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict([figure(name, by_size) for name, by_size in seconds.items()])


def check_disk(out: Path, scales: list[float], scratch: Path | None) -> None:
    """Raises SystemExit if the largest workload, or its run, does not fit."""
    largest = max(scales) * OF_SCALE_1
    made = (out.with_name(f"{out.name}-{max(scales):g}") / "truth.json").is_file()
    making, running = nearest(out.absolute()), nearest(Path(scratch or tempfile.gettempdir()))
    needed = {making: 0.0 if made else largest * MAKING}
    beside = 0.0 if made or making.stat().st_dev != running.stat().st_dev else HELD
    needed[running] = max(needed.get(running, 0.0), largest * (RUNNING + beside))
    for folder, size in needed.items():
        free = shutil.disk_usage(folder).free / GB
        if free < size:
            raise SystemExit(
                f"{folder}: {free:.0f} GB are free, and {size:.0f} are needed for {largest:.0f} GB of input. Name "
                f"another disk (--out, --scratch), or leave the largest out: --scales "
                f"{' '.join(f'{scale:g}' for scale in sorted(scales)[:-1]) or 1}"
            )


def nearest(folder: Path) -> Path:
    """The folder, or the one above it that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def show(name: str, workload: Workload, done: list[Measured]) -> float:
    """Seconds per GB."""
    wall, size = median(one.wall for one in done), workload.bytes / GB
    print(f"## {name}: {size:.2f} GB, {done[0].workers} workers, median of {len(done)}\n")
    table("wall s", "s / GB", "CPU s / GB", "peak proportional GiB", "disk, of the text")
    row(
        f"{wall:.1f}", f"{wall / size:.2f}", f"{median(one.cpu for one in done) / size:.2f}",
        f"{max(one.pss for one in done) / GIB:.2f}", f"{done[0].disk / done[0].text:.2f} times",
    )  # fmt: skip
    print()
    return wall / size


def figure(name: str, by_size: dict[str, float]) -> Figure:
    title = f"linear, {name}: seconds per GB at {', '.join(by_size)}, most to least"
    return Figure(title, max(by_size.values()) / min(by_size.values()), "times", BAR, "below", 3)


if __name__ == "__main__":
    sys.exit(main())
