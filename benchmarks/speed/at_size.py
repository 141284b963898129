"""From WARC to verified shards, at several sizes: python -m benchmarks.speed.at_size --warc DIR/*.warc.gz [--pages N …]

Crawls of these sizes are made of the real pages of --warc, see benchmarks/crawl.py. Each is run by the recipe that
ships for English web text, undisturbed; then again, killed twice on the way and continued. Both must write the same
bytes. The shards are verified.

Shown: pages a second of one core, memory, disk, the share of each stage, whether time grows in a straight line; and
what the made crawl and the real pages have in common: what each step drops, and how long the texts are that are kept.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.common import GIB, ROOT, Figure, heading, row, table, verdict
from benchmarks.crawl import build
from benchmarks.speed.whole_run import Measured, measured
from corpusmill.text import warming

GB = 1e9
SIZES = (50_000, 500_000)
BAR = 1.1  # the most seconds a page of any size, to the least
QUANTILES = (5, 25, 50, 75, 95)
RECIPE = ROOT / "src" / "corpusmill" / "recipes" / "web-en.yaml"
CRAWL, RUN = 14_000, 10_000  # bytes of disk for a page: of the crawl, unless it is there, and of each run over it


@dataclass(frozen=True)
class Shown:
    pages: int
    html: int
    gzip: int
    done: Measured
    verified: float  # seconds

    @property
    def per_core(self) -> float:
        return self.pages / self.done.cpu


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warc", type=Path, nargs="+", required=True, help="WARC files of real pages")
    parser.add_argument("--pages", type=int, nargs="+", default=SIZES, help="sizes; %(default)s")
    parser.add_argument("--out", type=Path, default=Path("build/crawl"), help="crawls are put at OUT-PAGES, and left")
    parser.add_argument("--seed", type=int, default=1, help="decides when runs are killed")
    parser.add_argument(
        "--kill-up-to", type=int, default=10**9, metavar="PAGES", help="the largest size that is killed"
    )
    parser.add_argument("--scratch", type=Path, help="folder for what runs write; a temporary one if not given")
    options = parser.parse_args()
    sizes = sorted(options.pages)
    free = shutil.disk_usage(options.scratch or tempfile.gettempdir()).free
    needed = sum(size * CRAWL for size in sizes if not (made(options.out, size) / "truth.json").is_file())
    needed += max(size * RUN * (1 + (size <= options.kill_up_to)) for size in sizes)
    if free < needed:
        raise SystemExit(f"{free / GB:.0f} GB are free, and {needed / GB:.0f} are needed")
    heading(
        f"crawls of {', '.join(f'{size:,}' for size in sizes)} pages made of {len(options.warc)} files",
        "benchmarks.speed.at_size",
    )
    warming.warm()
    scratch = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=options.scratch))
    shown, figures = [], []
    try:
        real = run([str(path) for path in options.warc], scratch / "real")
        for size in sizes:
            folder = made(options.out, size)
            truth = build(options.warc, size, folder, os.cpu_count() or 1)
            inputs = [str(folder / "crawl-*.warc.gz")]
            done = run(inputs, scratch / "quiet")
            verified = verify(scratch / "quiet" / "run")
            if size <= options.kill_up_to:
                times = killed(inputs, scratch / "killed", done.wall, random.Random(f"{options.seed} {size}"))
                same = digests(scratch / "killed" / "run") == digests(scratch / "quiet" / "run")
                figures.append(
                    Figure(f"{size:,} pages: the same bytes after kills at {times}", float(same), "", 1, digits=0)
                )
            shown.append(Shown(size, int(truth["html"]), int(truth["bytes"]), done, verified))
            show(shown[-1])
            if size == sizes[0]:
                compare(real, scratch / "real" / "run", done, scratch / "quiet" / "run", truth)
            for name in ("quiet", "killed"):
                shutil.rmtree(scratch / name, ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    line(shown)
    if len(shown) > 1:
        each = [one.done.cpu / one.pages for one in shown]
        figures.append(
            Figure("CPU seconds a page, most of any size to least", max(each) / min(each), "times", BAR, "below")
        )
    return verdict(figures)


def made(out: Path, size: int) -> Path:
    """Where the crawl of a size is."""
    return out.with_name(f"{out.name}-{size}")


def run(inputs: list[str], folder: Path) -> Measured:
    """The recipe on these files, in `folder`/run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return measured(written(inputs, folder), folder / "run")


def written(inputs: list[str], folder: Path) -> Path:
    recipe = folder / "recipe.yaml"
    text = RECIPE.read_text("utf-8").replace('"${INPUT}"', json.dumps([str(Path(path).absolute()) for path in inputs]))
    recipe.write_text(text, "utf-8")
    return recipe


def killed(inputs: list[str], folder: Path, wall: float, rng: random.Random) -> str:
    """The same, but that all its processes are killed (SIGKILL) in the first and in the second half, and it is begun
    again each time; after how many seconds that was."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recipe = written(inputs, folder)
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder / "run")]
    seconds = []
    with (folder / "log").open("w") as log:
        for _ in range(2):
            start = time.perf_counter()
            driver = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            try:
                driver.wait(wall * rng.uniform(0.15, 0.45))
                raise SystemExit(f"{recipe}: a run ended before it was killed:\n{(folder / 'log').read_text('utf-8')}")
            except subprocess.TimeoutExpired:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()
            seconds.append(time.perf_counter() - start)
        subprocess.run(command, stdout=log, stderr=log, check=True)
    return " and ".join(f"{one:.0f} s" for one in seconds)


def digests(folder: Path) -> dict[str, str]:
    """File of the output -> SHA-256."""
    files = sorted(path for path in (folder / "output").rglob("*") if path.is_file())
    if not files:
        raise SystemExit(f"{folder}: there is no output")
    found = {}
    for path in files:
        with path.open("rb") as stream:
            found[str(path.relative_to(folder))] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def verify(folder: Path) -> float:
    """Seconds of `corpusmill verify`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "corpusmill.cli", "verify", str(folder)], stdout=sys.stderr, check=True)
    return time.perf_counter() - start


def show(one: Shown) -> None:
    done = one.done
    size = f"{one.html / GB:.1f} GB of HTML, {one.gzip / GB:.1f} GB of WARC"
    print(f"## {one.pages:,} pages: {size}, {done.workers} workers\n")
    busy = sum(stage.busy for stage in done.stages.values())
    table("stage", "wall s", "units", "busy s", "share")
    for name, stage in done.stages.items():
        row(name, f"{stage.wall:.1f}", stage.units, f"{stage.busy:.1f}", f"{stage.busy / busy:.1%}")
    row("**all, with start, report and verification**", f"**{done.wall:.1f}**", "", f"{done.cpu:.0f} CPU s", "")
    flow = done.flow
    [dedup] = [row for row in flow.rows if row.step == "exact"]
    print(
        f"\n{one.per_core:,.0f} pages a CPU second, {one.pages / done.wall:,.0f} a second of the machine; "
        f"{flow.documents_in:,} documents in, {dedup.documents_in:,} of {dedup.bytes_in / GB:.3f} GB of text before "
        f"dedup, {flow.documents_out:,} of {flow.rows[-1].bytes_out / GB:.3f} GB out, "
        f"{flow.packed['tokens'] / 1e6:,.1f} M tokens; "
        f"peak over all processes {done.rss / GIB:.2f} GiB resident, {done.pss / GIB:.2f} GiB proportional; "
        f"{done.disk / GB:.2f} GB on disk. `corpusmill verify`: all verified, {one.verified:.1f} s\n"
    )


def line(shown: list[Shown]) -> None:
    print("## in a straight line\n")
    table("pages", "wall s", "CPU s", "CPU ms a page", "pages a CPU s", "GiB proportional", "GB on disk")
    for one in shown:
        done = one.done
        row(
            f"{one.pages:,}", f"{done.wall:,.0f}", f"{done.cpu:,.0f}", f"{1e3 * done.cpu / one.pages:.2f}",
            f"{one.per_core:,.0f}", f"{done.pss / GIB:.2f}", f"{done.disk / GB:.2f}",
        )  # fmt: skip
    print()


def compare(real: Measured, real_run: Path, made: Measured, made_run: Path, truth: dict[str, object]) -> None:
    """What the real pages and those made of them have in common."""
    print(f"## real pages and made ones: {real.flow.documents_in:,} and {made.flow.documents_in:,}\n")
    print(f"made: {truth['hosts']:,} sites, {truth['exact']:,} exact and {truth['near']:,} near copies\n")
    table("step", "real: dropped of what came", "made: dropped of what came")
    for ours, others in zip(real.flow.rows, made.flow.rows, strict=True):
        row(ours.step, *(f"{1 - one.documents_out / max(1, one.documents_in):.1%}" for one in (ours, others)))
    print()
    table("text, characters", *(f"{share} %" for share in QUANTILES))
    for name, folder in (("real", real_run), ("made", made_run)):
        row(name, *(f"{value:,.0f}" for value in lengths(folder)))
    print()


def lengths(folder: Path) -> list[float]:
    """Quantiles of the characters of what is kept."""
    pattern = str(folder / "output" / "parquet" / "*.parquet")
    shares = [share / 100 for share in QUANTILES]
    found = duckdb.execute("SELECT quantile_cont(length(text), ?) FROM read_parquet(?)", [shares, pattern]).fetchone()
    assert found is not None
    return list(found[0])


if __name__ == "__main__":
    sys.exit(main())
