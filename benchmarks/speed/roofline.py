"""What a run costs beside the least that it could: python -m benchmarks --workload DIR roofline

Every bare part is a library or a kernel alone, on the same texts in memory, in one process: what any honest program has
to do with these parts, and no more. So a document is tokenised once, its text is written once and read back once, and
nothing is spent on ids, reasons, facts, checksums, fsync, commits, the start of processes, report or verification. What
the recipe promises is in: every document is measured by every rule, and what is dropped is written too. FineWeb's rules
come after C4 and judge what it leaves: a second pass over these texts is the product's, as the lines could be counted
where they are cut.

Parts are measured on the slice of the workload (a tenth, copies together with what they are copies of) and scaled by
bytes to the whole. Their sum, divided by the workers, is the wall time of a program that does nothing else and never
waits; the figure is how many times that a whole run takes. Beside the parts stand the busy seconds of the run's stages,
which are wall seconds of its workers: on a busy machine they grow, CPU seconds of the parts do not.
"""

import math
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.common import MB, Figure, Workload, row, table
from benchmarks.samples import read
from benchmarks.speed.whole_run import RECIPES, Measured, whole_run
from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.execute.memory import keep_memory
from corpusmill.models.tokenizer import load
from corpusmill.read import BATCH_ROWS
from corpusmill.recipe.names import labels
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder
from corpusmill.steps import CorpusStep, Pack, Tokenize, measures
from corpusmill.steps.clean.normalize import Normalize
from corpusmill.steps.dedup._candidates import certain_bounds
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.filter.language import FilterLanguage
from corpusmill.steps.filter.url import FilterUrl
from corpusmill.steps.redact.pii import RedactPii
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.tables import TableWriter
from corpusmill.text.buckets import candidate_pairs, in_ways, jaccard, no_leaders, pairs_of, settle, shared
from corpusmill.text.c4 import clean_lines
from corpusmill.text.stats import document_stats

BARS = {"a crawl": 1.9, "no filters": 2.3}  # times the sum of the parts by worker
FIRST, COPIES, SHARDS = "the first pass", "copies", "tokens and shards"
LENGTH, PER_SHARD = 2048, 100_000_000
Column = list[pa.Array]  # texts, in batches


@dataclass(frozen=True)
class Part:
    """
    where   the stages of the run that do this, among more
    text    bytes of text that it is given
    """

    name: str
    where: str
    text: int
    work: Callable[[], object]


@dataclass(frozen=True)
class Material:
    """What the parts of a recipe are given, made by its steps, and by a whole run, on the slice.

    data     the slice
    came     step -> the documents that come to it, in batches of the reader
    after    the texts at the end of the first pass, and those of its documents that are kept
    folder   the run's
    """

    data: Workload
    came: dict[str, list[pa.RecordBatch]]
    after: Column
    kept: list[pa.RecordBatch]
    folder: Path

    @staticmethod
    def of(data: Workload, steps: str, folder: Path) -> "Material":
        recipe = data.parse(steps, "roofline")
        named = [
            (label, step)
            for label, step in zip(labels(recipe.steps), recipe.steps)
            if not isinstance(step, CorpusStep | Tokenize | Pack)
        ]
        came: dict[str, list[pa.RecordBatch]] = {label: [] for label, _ in named}
        after, kept = [], []
        for docs in (docs for file in data.files for docs in read(file)):
            batch = Batch(docs)
            for index, (label, step) in enumerate(named):
                came[label].append(batch.docs)
                batch.apply(index, label, step)
            after.append(batch.docs["text"])
            kept.append(batch.docs.filter(pa.array(batch.dropped == KEPT)))
        whole_run(data, steps, folder)
        return Material(data, came, after, kept, folder / "run")

    def tables(self, output: str) -> pa.Table:
        """All that the first pass of the run wrote of an output."""
        results = RunFolder(str(self.folder)).results()["pass-1"]
        return pa.concat_tables(
            pq.read_table(self.folder / path, use_threads=False) for path in results[output].paths.to_pylist()
        )

    @cached_property
    def output(self) -> pa.Array:
        """(documents,) of the documents that the first pass keeps, whether they are in the run's shards."""
        here = pa.concat_arrays([docs["id"] for docs in self.kept])
        tables = sorted((self.folder / "output" / "shards" / "documents").glob("*.parquet"))
        ids = pa.concat_tables(pq.read_table(path, columns=["id"]) for path in tables)
        return pc.is_in(here, value_set=ids["id"].combine_chunks())


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Both recipes; the run of median wall time of each."""
    keep_memory()  # as workers do
    workers = os.cpu_count() or 1
    data = workload.slice
    scale = workload.bytes / data.bytes
    figures = []
    for name, steps in RECIPES:
        folder = scratch / "roofline"
        material = Material.of(data, steps, folder / "slice")
        spent = {part: cpu_seconds(part.work, runs) * scale for part in parts(material, folder)}
        shutil.rmtree(folder)
        done = sorted((whole_run(workload, steps, folder) for _ in range(runs)), key=lambda one: one.wall)[runs // 2]
        shutil.rmtree(folder)
        figures.append(show(name, workload, spent, scale, done, workers))
    return figures


def show(name: str, workload: Workload, spent: dict[Part, float], scale: float, done: Measured, workers: int) -> Figure:
    print(f"## roofline, {name}: {workload.bytes / MB:,.0f} MB, {workers} workers\n")
    print(f"- bare parts: CPU seconds of one process, measured on {1 / scale:.1%} of the workload, scaled to all of it")
    print("- MB/s of the text that the part is given; of the run: busy seconds of the stages that do this and more\n")
    table("part", "bare, CPU s", "MB/s", "run, busy s")
    total = sum(spent.values())
    for where in (FIRST, COPIES, SHARDS):
        here = {part: seconds for part, seconds in spent.items() if part.where == where}
        for part, seconds in here.items():
            row(part.name, f"{seconds:.2f}", f"{part.text * scale / MB / seconds:,.0f}" if seconds else "", "")
        busy = sum(stage.busy for title, stage in done.stages.items() if place(title) == where)
        row(f"**{where}**", f"**{sum(here.values()):.2f}**", "", f"**{busy:.2f}**")
    outside = done.wall - sum(stage.wall for stage in done.stages.values())
    row("start, between stages, publication, report, verification (wall s)", "0", "", f"{outside:.2f}")
    row("**sum; CPU seconds of the run**", f"**{total:.2f}**", "", f"**{done.cpu:.2f}**")
    row("**sum / workers; wall seconds of the run**", f"**{total / workers:.2f}**", "", f"**{done.wall:.2f}**")
    times = done.wall / (total / workers)
    print(
        f"\n{times:.2f} times by wall time; {done.cpu / total:.2f} times by CPU seconds, on which others weigh less\n"
    )
    return Figure(f"roofline, {name}: wall, of the bare parts by worker", times, "times", BARS[name], "below")


def place(stage: str) -> str:
    if stage == "pass-1":
        return FIRST
    return SHARDS if stage in ("tokens", "shards") else COPIES


def cpu_seconds(work: Callable[[], object], runs: int) -> float:
    """CPU seconds of this process and all its threads, median of the runs, after one that loads what is loaded once."""
    work()
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return median(seconds)


def parts(material: Material, scratch: Path) -> list[Part]:
    """The parts that a recipe has, in order. They write into `scratch`."""
    return [*first_pass(material, scratch), *copies_and_shards(material, scratch)]


def first_pass(material: Material, scratch: Path) -> list[Part]:
    came = material.came
    text = bytes_of([docs["text"] for docs in came["normalize"]])
    found = reading(material, text)
    for_each: dict[str, tuple[str, Callable[[pa.RecordBatch], object]]] = {
        "normalize": ("clean/normalize", Normalize().transform),
        "language": ("language by lid.wide, 3 windows of 200 characters", FilterLanguage().signals),
        "url": ("filter/url", FilterUrl().signals),
        "gopher_quality": ("Gopher, repetition, FineWeb, C4", rules),
        "pii": ("redact/pii, e-mail and IP", RedactPii().transform),
    }
    for label, (name, work) in for_each.items():
        if label in came:
            given = bytes_of([docs["text"] for docs in came[label]])
            found.append(Part(name, FIRST, given, each(work, came[label])))
    kept = material.kept
    size = bytes_of([docs["text"] for docs in kept])
    found.append(Part("keys of dedup/exact and dedup/minhash", FIRST, size, each(keys, kept)))
    dropped = lost(material)
    found.append(
        Part(
            "tokens counted of what is dropped, copies too", FIRST, bytes_of(dropped), each(load("gpt2").count, dropped)
        )
    )
    for output, name in (("docs", "documents"), ("dropped", "dropped documents"), ("signals", "signals")):
        found.append(writing(material.tables(output), f"write {name}, Parquet as the run has it", scratch))
    return found


def reading(material: Material, text: int) -> list[Part]:
    """From files in the page cache to columns of texts and URLs."""
    files = material.data.files
    contents = [file.read_bytes() for file in files]
    lines = [line for content in contents for line in content.split(b"\n") if line]
    records = [orjson.loads(line) for line in lines]

    def columns() -> None:
        for first in range(0, len(records), BATCH_ROWS):
            batch = records[first : first + BATCH_ROWS]
            pa.array([record["text"] for record in batch], pa.large_string())
            pa.array([record["url"] for record in batch], pa.string())

    def parse() -> None:
        for line in lines:
            orjson.loads(line)

    return [
        Part("files from the page cache", FIRST, text, each(Path.read_bytes, list(files))),
        Part("split into lines", FIRST, text, each(lambda content: content.split(b"\n"), contents)),
        Part("JSON, by orjson", FIRST, text, parse),
        Part("columns of Arrow", FIRST, text, columns),
    ]


def rules(docs: pa.RecordBatch) -> None:
    measures.stats(document_stats(docs["text"]))
    clean_lines(docs["text"])


def keys(docs: pa.RecordBatch) -> None:
    Exact().keys(docs, {})
    Minhash().keys(docs, {})


def lost(material: Material) -> Column:
    """The texts, as they are at the end of the first pass, of all documents that the run does not keep."""
    ids = pa.concat_arrays([docs["id"] for docs in material.kept]).filter(material.output)
    first = next(iter(material.came.values()))
    return [text.filter(pc.invert(pc.is_in(docs["id"], value_set=ids))) for docs, text in zip(first, material.after)]


def writing(rows: pa.Table, name: str, scratch: Path) -> Part:
    batches = rows.combine_chunks().to_batches(max_chunksize=BATCH_ROWS)
    text = bytes_of([batch["text"] for batch in batches]) if "text" in rows.schema.names else rows.nbytes

    def work() -> None:
        with TableWriter(scratch / "written.parquet", rows.schema) as table:
            for batch in batches:
                table.write(batch)

    return Part(name, FIRST, text, work)


def copies_and_shards(material: Material, scratch: Path) -> list[Part]:
    stored = scratch / "docs.parquet"
    docs = material.tables("docs")
    with TableWriter(stored, docs.schema) as table:
        for batch in docs.to_batches():
            table.write(batch)
    texts = pa.concat_arrays([docs["text"] for docs in material.kept])
    size = bytes_of([texts])
    exact = [Exact().keys(docs, {}) for docs in material.kept]
    near = [Minhash().keys(docs, {}) for docs in material.kept]
    hashes = np.concatenate([one.bands for one in exact])[:, 0]
    low = np.concatenate([one.payload["low"] for one in exact])
    bands, sketches = (np.concatenate(side) for side in zip(*((one.bands, one.arrays["sketch"]) for one in near)))

    def grouped() -> None:
        shared(hashes ^ low * np.uint64(0x9E3779B97F4A7C15))
        near_copies(bands, sketches, texts)

    output = texts.filter(material.output)
    given = [output.slice(first, BATCH_ROWS) for first in range(0, len(output), BATCH_ROWS)]
    tokenizer = load("gpt2")
    units = [UnitTokens(*tokenizer.encode_documents(batch)) for batch in given]
    written = bytes_of(given)

    def shards() -> None:
        plan = plan_shards([unit.lengths for unit in units], "concat", LENGTH, PER_SHARD)
        write_folder(scratch / "shards", plan, units, tokenizer)

    def read_back() -> None:
        for _ in pq.ParquetFile(stored).iter_batches(BATCH_ROWS, columns=["text"], use_threads=False):
            pass

    return [
        Part("texts of the kept read back, once", COPIES, size, read_back),
        Part("group keys, n-grams of candidates, exact similarity, verdicts", COPIES, size, grouped),
        Part("encode what goes out", SHARDS, written, each(tokenizer.encode_documents, given)),
        Part("pack, write shards", SHARDS, written, shards),
    ]


def near_copies(bands: NDArray[np.uint64], sketches: NDArray[np.uint64], texts: pa.Array) -> NDArray[np.int32]:
    """(documents,) what each is a duplicate of, or -1: the kernels of dedup/minhash on arrays, in one go.

    bands      (documents, bands) keys
    sketches   (documents, words), see `sketch.packed`
    """
    step = Minhash()
    lanes = math.prod(step.shape)
    low, high = certain_bounds(step.threshold, lanes)
    found = []
    for band in range(bands.shape[1]):
        bucket, _ = shared(np.ascontiguousarray(bands[:, band]))
        met = np.flatnonzero(bucket >= 0)
        met = met[np.argsort(bucket[met], kind="stable")]
        leads, mask, _ = candidate_pairs(
            bucket[met], met, met, sketches, lanes, low, high, no_leaders(sketches.shape[1])
        )
        rows, leader = pairs_of(mask)
        first = np.searchsorted(bucket[met[leads]], bucket[met[rows]])
        found.append(np.stack([met[leads][first + leader], met[rows]], axis=1))
    earlier, later = np.concatenate(found).astype(np.uint64).T
    packed = np.unique(np.sort(later << np.uint64(32) | earlier))
    pairs = np.stack([packed & np.uint64(0xFFFFFFFF), packed >> np.uint64(32)], axis=1).astype(np.int64)
    documents, at = np.unique(pairs, return_inverse=True)
    at = at.reshape(-1, 2)
    one, other = (np.ascontiguousarray(at[:, side]) for side in (0, 1))
    of_candidates = texts.take(pa.array(documents))
    similarity, _ = jaccard(one, other, *in_ways([shingling.hashes(of_candidates) for shingling in step.shinglings]))
    kept_for, score = np.full(len(documents), -1, np.int32), np.zeros(len(documents))
    earlier, later = (np.ascontiguousarray(at[:, side], np.int32) for side in (0, 1))
    settle(later, earlier, similarity, step.threshold, kept_for, score)
    return kept_for


def each(work: Callable[[Any], object], given: list[Any]) -> Callable[[], None]:
    def done() -> None:
        for one in given:
            work(one)

    return done


def bytes_of(texts: Column) -> int:
    return sum(pc.sum(pc.binary_length(text)).as_py() or 0 for text in texts)
