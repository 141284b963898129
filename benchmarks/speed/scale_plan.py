"""Plans and results of runs far larger than this machine: python -m benchmarks.speed.scale_plan

A recipe for a crawl (exact and near deduplication, a mix, tokens, shards, clean text) is planned and carried out on
input of which there is nothing but names: an executor commits each unit with made-up outputs, as large as those of a
real run, and makes only the small files that planners read (what verdicts say of each unit). Everything else is what
every run does: files are listed, units planned and given keys, plans and results written and read.

Printed: bytes of plans and results, the most memory of the driver, and for each stage the seconds that the driver took
beside the units: to plan it, to take note of each commit, and to record the results. And the seconds to read the
commits of the first pass one by one, as after an interruption.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from benchmarks.common import GIB, Figure, heading, row, table, verdict
from corpusmill import storage
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.listener import Silent
from corpusmill.engine.drive.session import Session
from corpusmill.engine.plan.inputs import SourceFiles
from corpusmill.engine.plan.lower import lower_inputs
from corpusmill.execute import Check, Failure, OnAside, OnCommit
from corpusmill.execute.task import StageTask
from corpusmill.ops.estimate import peak
from corpusmill.read import FilePiece, ReadCounts, split_bytes
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.parts import Source
from corpusmill.storage import FileInfo
from corpusmill.store.arrays import write_arrays
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from corpusmill.store.run_records import sealed
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Commit, Unit, UnitOutput
from corpusmill.store.work import Stage

TERABYTE = 10**12
SIZES = (5, 50)  # terabytes of text
FILE = 1 << 30  # bytes of a file, compressed
EXPANDS = 4.0
DOCUMENTS = 60_000  # of a unit, of 2 KB each
TOKENS = 28_000_000  # of a unit
MOST_PLANS, MOST_MEMORY, MOST_SECONDS = 100.0, 1.0, 30.0  # MB, GiB, s a stage; of the smaller size
RECIPE = """
name: scale-plan
read:
  - jsonl: {paths: none}
steps:
  - clean/normalize
  - filter/gopher_quality
  - dedup/exact
  - dedup/minhash
  - mix/sources: {weights: {jsonl: 1}}
  - tokenize/bpe: {tokenizer: gpt2}
  - pack/concat: {length: 2048}
write: [shards, jsonl]
"""
FILES = {  # stage, without numbers and labels -> its outputs
    "pass": ("docs", "signals", "dropped", "dead", "ids", "keys-exact", "keys-minhash", "keys-sources"),
    "shared": ("sharing", "asked"),
    "sketches": ("sketches",),
    "group": ("duplicates", "pairs"),
    "names": ("decided",),
    "links": ("members",),
    "shingles": ("shingles", "shingles-2"),
    "routes": ("routes",),
    "decide": ("decided",),
    "ranks": ("ranks",),
    "draw": ("drawn",),
    "verdicts": ("verdicts", "sites"),
    "emptied": (),
    "count": (),
    "tokens": ("tokens",),
    "epochs": ("docs", "tokens"),
    "shards": ("documents", "rows.bin", "rows.spans"),
    "jsonl": ("text",),
}


class MadeUp:
    """Commits units without doing them. `units` of a pass is how many verdicts are about."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.seconds = 0.0  # in which workers would be at work

    @classmethod
    def start(cls, workers: int, preload: Sequence[str]) -> Self:
        raise NotImplementedError

    def check(self, checks: Sequence[Check]) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit, on_aside: OnAside) -> list[Failure]:
        folder = task.run.stage(task.folder)
        commits = task.run.path / folder.name / "commits"
        commits.mkdir(parents=True, exist_ok=True)
        kind = next(kind for kind in FILES if kind in task.folder)
        for unit in units:
            began = time.perf_counter()
            commit = self.commit(kind, folder.name, unit, task)
            # As `StageFolder.commit`, without syncing.
            (commits / f"{commit.key}.json").write_bytes(sealed(commit.to_json()))
            self.seconds += time.perf_counter() - began
            on_commit(commit)
        return []

    def commit(self, kind: str, folder: str, unit: Unit, task: StageTask) -> Commit:
        outputs = {
            name: UnitOutput(
                f"{folder}/{name}/{unit.key}-0a1b2c3d.parquet", DOCUMENTS, 30 << 20, made_up(unit.key, name)
            )
            for name in FILES[kind]
        }
        notes: dict[str, int | str] = {}
        facts: dict[str, Any] = {}
        if kind == "pass":
            notes = {"text_groups": ",".join(["8000000"] * 16)}
            notes |= {name: DOCUMENTS * 16 for name in FILES[kind] if name.startswith("keys-")}
            facts = made_up_facts()
        if kind == "count":
            facts = {"totals": {"jsonl": {"documents": DOCUMENTS * self.units, "size": TOKENS * self.units}}}
        if kind == "tokens":
            notes = {"tokens": TOKENS, "longest": 100_000}
        if kind == "draw":
            notes = {"epochs": 1, "unit": "tokens"}
        if kind == "links":
            notes = {"clusters": self.units // 8 + 1}
            path = f"{folder}/candidates/{unit.key}-0a1b2c3d.arrays"
            file = task.run.new_file(path)
            digests = np.random.default_rng(0).integers(0, 256, (self.units, 16), np.uint8)
            write_arrays(file, {"digests": digests})
            outputs["candidates"] = UnitOutput(path, 0, file.stat().st_size, storage.checksum(file))
        if kind == "verdicts":
            about = unit.inputs.stop - unit.inputs.first
            notes = {"epochs": 1, "unit": "tokens", "units": about}
            path = f"{folder}/slices/{unit.key}-0a1b2c3d.arrays"
            file = task.run.new_file(path)
            digests = np.random.default_rng(0).integers(0, 256, (about, 16), np.uint8)
            write_arrays(file, {"offsets": np.arange(about + 1) * 1000, "digests": digests})
            outputs["slices"] = UnitOutput(path, about, file.stat().st_size, storage.checksum(file))
        return Commit(unit.key, "0a1b2c3d", outputs, facts, notes, 60.0)


def made_up(*parts: str) -> str:
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:32]


def made_up_facts() -> dict[str, Any]:
    """As large as those of a pass with these steps."""
    flow = dict.fromkeys(("documents_in", "documents_out", "bytes_in", "bytes_out", "tokens_in", "tokens_out"), 10**8)
    steps = {label: {"jsonl": flow} for label in ("normalize", "gopher_quality", "exact", "minhash", "sources")}
    return {"read": {"jsonl": {"records": DOCUMENTS, "documents": DOCUMENTS, "bytes": 32 << 20}}, "steps": steps}


def inputs(terabytes: int) -> SourceFiles:
    """Names of files that do not exist."""
    count = int(terabytes * TERABYTE / EXPANDS / FILE)
    names = (f"crawl/segment-{number // 640:05d}/part-{number:08d}.parquet" for number in range(count))
    files = tuple(FileInfo(f"s3://bucket/{name}", name, FILE, f"etag:{made_up(name)}") for name in names)
    return SourceFiles(files, {".parquet": EXPANDS})


@dataclass(frozen=True)
class Nowhere:
    """A reader whose files can be cut anywhere, and are not there."""

    suffixes = (".parquet",)

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        return [piece for file in files for piece in split_bytes(file, target_bytes)]

    def read(self, piece: FilePiece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class Timed(Silent):
    """Notes when each stage begins, not counting the seconds in which workers would be at work."""

    def __init__(self, workers: MadeUp) -> None:
        self.workers = workers
        self.began: list[tuple[str, int, float]] = []

    def now(self) -> float:
        return time.perf_counter() - self.workers.seconds

    def stage(self, stage: Stage, units: int, done: int) -> None:
        self.began.append((stage.name, units, self.now()))


def measure(terabytes: int, root: Path) -> None:
    """Prints a table, and a line of JSON: bytes of plans and results, bytes of memory, most seconds of a stage."""
    recipe = replace(Recipe.parse(RECIPE), read=(Source(Nowhere(), ["none"], "jsonl"),))
    source = inputs(terabytes)
    plan = lower_inputs(recipe, (source,))
    run = RunFolder(str(root))
    run.make()
    units = sum(1 for _ in plan.stages[0].units(Upstream(run)))
    workers = MadeUp(units)
    timed = Timed(workers)
    start = timed.now()
    carry_out(Session(run, plan, workers, timed))
    ends = [*(at for _, _, at in timed.began[1:]), timed.now()]
    print(f"## {terabytes} TB of text, {len(source.files):,} files\n")
    table("stage", "units", "seconds", "plans and results, MB")
    worst, held = 0.0, 0
    for (name, count, began), end in zip(timed.began, ends):
        (folder,) = root.glob(f"stages/{name}-????????")
        size = sum(path.stat().st_size for kind in ("plans", "results") for path in (folder / kind).iterdir())
        row(name, f"{count:,}", f"{end - began:.1f}", f"{size / 1e6:.1f}")
        worst, held = max(worst, end - began), held + size
    row("**all**", "", f"**{ends[-1] - start:.1f}**", f"**{held / 1e6:.1f}**")
    first = run.read(STAGES_RECORD)[0]
    again = time.perf_counter()
    stage = run.stage(first["folder"])
    stage.collect(stage.planned(first["plan"]) or ())
    print(f"\nAfter an interruption, the commits of pass-1 are read in {time.perf_counter() - again:.1f} s.")
    memory = peak()
    print(f"\nThe driver held {memory / GIB:.2f} GiB at most.\n")
    print(json.dumps([held, memory, worst]), file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terabytes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--scratch", type=Path, help="folder for what is made, 2 GB; a temporary one if not given")
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        measure(options.terabytes[0], options.part)
        return 0
    heading("made: plans and results by size of input", "benchmarks.speed.scale_plan")
    figures = []
    for terabytes in options.terabytes:
        root = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=options.scratch))
        try:
            held, memory, worst = in_a_process_of_its_own(terabytes, root)
        finally:
            shutil.rmtree(root, ignore_errors=True)
        if terabytes == SIZES[0]:
            figures = [
                Figure(f"{terabytes} TB: plans and results", held / 1e6, "MB", MOST_PLANS, "below"),
                Figure(f"{terabytes} TB: memory of the driver", memory / GIB, "GiB", MOST_MEMORY, "below"),
                Figure(f"{terabytes} TB: the slowest stage", worst, "s", MOST_SECONDS, "below"),
            ]
    return verdict(figures)


def in_a_process_of_its_own(terabytes: int, root: Path) -> tuple[int, int, float]:
    command = [sys.executable, "-m", "benchmarks.speed.scale_plan", "--terabytes", str(terabytes), "--part", str(root)]
    done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    held, memory, worst = json.loads(done.stderr.splitlines()[-1])
    return held, memory, worst


if __name__ == "__main__":
    raise SystemExit(main())
