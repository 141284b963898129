"""Small and packed inputs: do they make enough units for all cores? Beside one worker, of the same recipe."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import zstandard

from benchmarks.common import CRAWL, MB, Figure, Workload, row, table
from corpusmill.store.run_folder import WATERFALL

BAR = 1.7  # times as fast with two workers as with one
PACKED, SMALL, SMALL_MB = 6, 40, 0.67


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """The same recipe over inputs that would be one unit, or a few, if units were sized by compressed bytes."""
    if (os.cpu_count() or 1) < 2:
        print("small inputs: left out, this machine has one core\n")
        return []
    figures = []
    print("## small and packed inputs: a crawl recipe\n")
    table(
        "input", "MB on disk", "units of pass-1", "1 worker, s", "2 workers, s", "times as fast", "workers busy",
        "documents / s per core",
    )  # fmt: skip
    for name, reader, make in (
        (f"{PACKED} files of zstd", "jsonl", packed),
        (f"{SMALL} files of {SMALL_MB} MB", "jsonl", small),
        ("WARC, gzipped by record", "warc", pages),
    ):
        folder = scratch / "small"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "input").mkdir(parents=True)
        make(workload, folder / "input")
        size = sum(path.stat().st_size for path in (folder / "input").iterdir())
        recipe = folder / "recipe.yaml"
        extract = "\n  - extract/resiliparse" if reader == "warc" else ""
        recipe.write_text(
            f"name: small\nread:\n  - {reader}: {{paths: {json.dumps(str(folder / 'input' / '*'))}, source: web}}\n"
            f"steps:{extract}{CRAWL}write:\n  - shards\n",
            "utf-8",
        )
        one, _, _, by_core = timed(recipe, folder, 1)
        two, units, busy, _ = timed(recipe, folder, 2)
        row(
            name, f"{size / MB:.1f}", units, f"{one:.1f}", f"{two:.1f}", f"{one / two:.2f}", f"{busy:.0%}",
            f"{by_core:,.0f}",
        )  # fmt: skip
        figures.append(Figure(f"{name}: pass-1, two workers beside one", one / two, "times", BAR))
        shutil.rmtree(folder)
    print()
    return figures


def timed(recipe: Path, folder: Path, workers: int) -> tuple[float, int, float, float]:
    """Of pass-1: wall seconds, units, the share of these seconds for which its workers were busy, and the documents
    that came in for each second that a worker was busy."""
    from benchmarks.speed.whole_run import wall_of
    from corpusmill.report.waterfall import Waterfall
    from corpusmill.store.run_folder import RunFolder

    shutil.rmtree(folder / "run", ignore_errors=True)
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder / "run"), "--json"]
    subprocess.run(
        [*command, "--workers", str(workers)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    results = RunFolder(str(folder / "run")).results()["pass-1"]
    wall, busy = wall_of(folder / "run" / results.folder), float(results.seconds.sum())
    flow = RunFolder(str(folder / "run")).read(WATERFALL)
    assert flow
    return wall, len(results), busy / (wall * workers), Waterfall.from_json(flow).documents_in / busy


def packed(workload: Workload, folder: Path) -> None:
    """Files that cannot be divided: half of the workload, zstd."""
    for i, path in enumerate(workload.files[:PACKED]):
        content = path.read_bytes()[: workload.bytes // (2 * PACKED)]
        content = content[: content.rfind(b"\n") + 1]
        (folder / f"{i}.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(content))


def small(workload: Workload, folder: Path) -> None:
    """Many small files."""
    lines = io.BytesIO(workload.files[0].read_bytes())
    for i in range(SMALL):
        (folder / f"{i:02}.jsonl").write_bytes(b"".join(lines.readlines(int(SMALL_MB * MB))))


def pages(workload: Workload, folder: Path) -> None:
    """WARC files, gzipped by record."""
    for path in sorted((workload.folder / "warc").glob("*.warc.gz")):
        (folder / path.name).symlink_to(path.resolve())
