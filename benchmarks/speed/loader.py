"""The loader from the page cache: tokens per second with all fields, beside what others do; memory; the order of
10**12.

--formats names the python of an environment with mosaicml-streaming, litdata and datasets, which `make interop` makes.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.common import MB, ROOT, Figure, Workload, row, table
from corpusmill.loader import FIELDS, TokenLoader
from corpusmill.loader.order import SampleOrder
from corpusmill.models.tokenizer import load
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder

TOKENS, PER_SHARD = 200_000_000, 50_000_000
LENGTH, BATCH = 2048, 8
READ = 50_000_000  # tokens a measurement
PEER_READ = 20_000_000
BAR = 150.0  # million tokens per second
FEW = ("tokens", "targets")
PEERS = ("litdata", "streaming", "datasets")


def run(workload: Workload, runs: int, scratch: Path, formats: Path | None = None) -> list[Figure]:
    del workload  # what tokens say does not matter, only where documents begin
    scratch.mkdir(parents=True, exist_ok=True)
    documents = make(scratch / "shards", TOKENS)
    flat = scratch / "train.bin"
    with flat.open("wb") as out:
        for shard in sorted((scratch / "shards").glob("*.bin")):
            out.write(shard.read_bytes())
    print(
        f"## loader: {TOKENS / 1e6:.0f} M tokens in {documents:,} documents, page cache, rows of {LENGTH}, "
        f"batch {BATCH}, one thread, median of {runs}\n"
    )
    table("loader", "fields", "M tokens / CPU s")
    figures, speeds = [], {}
    ways: tuple[tuple[str, str, Callable[[], Iterator[Any]]], ...] = (
        ("TokenLoader", "all of concat", lambda: iter(ours(scratch / "shards", FIELDS))),
        ("TokenLoader", "tokens, targets", lambda: iter(ours(scratch / "shards", FEW))),
        ("nanoGPT's get_batch, in NumPy", "tokens, targets across documents", lambda: nanogpt(flat)),
    )
    for name, fields, made in ways:
        speeds[name, fields] = median(speed(made(), READ) for _ in range(runs)) / 1e6
        row(name, fields, f"{speeds[name, fields]:,.0f}")
    figures.append(Figure("loader: all fields", speeds["TokenLoader", "all of concat"], "M tokens/s", BAR, digits=0))
    for peer in PEERS if formats else ():
        answer = of_peer(formats, peer, flat, scratch / peer)
        row(
            f"{peer} {answer.get('version', '')}",
            "tokens",
            f"{answer['cpu'] / 1e6:,.1f}" if "cpu" in answer else answer["why"],
        )
    print()
    return [*figures, *memory(scratch), *order()]


def make(folder: Path, tokens: int) -> int:
    """Shards of random ids, in documents of 600 tokens on average, of which the longest have 100,000."""
    random = np.random.default_rng(0)
    lengths = np.minimum(random.lognormal(6.0, 1.0, tokens // 600).astype(np.int64) + 2, 100_000)
    lengths = np.append(lengths, max(tokens - lengths.sum(), 1))
    ids = random.integers(0, 50_256, int(lengths.sum())).astype(np.uint16)
    ids[np.cumsum(lengths) - 1] = 50_256
    plan = plan_shards([lengths], "concat", LENGTH, PER_SHARD)
    write_folder(folder, plan, [UnitTokens(ids, lengths)], load("gpt2"))
    return len(lengths)


def ours(shards: Path, fields: tuple[str, ...]) -> TokenLoader:
    return TokenLoader(shards, LENGTH, BATCH, seed=1, fields=fields)


def nanogpt(flat: Path) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """What its `get_batch` does, with NumPy in the place of torch: random places, and targets across documents."""
    random = np.random.default_rng(1)
    while True:
        data = np.memmap(flat, dtype=np.uint16, mode="r")  # anew each time, as it does
        places = random.integers(0, len(data) - LENGTH, BATCH)
        x = np.stack([data[i : i + LENGTH].astype(np.int64) for i in places])
        y = np.stack([data[i + 1 : i + 1 + LENGTH].astype(np.int64) for i in places])
        yield x, y


def speed(batches: Iterator[Any], tokens: int) -> float:
    """Tokens a CPU second of this thread, after enough batches that all is loaded once."""
    for _ in range(200):
        next(batches)
    start = time.thread_time()
    for _ in range(tokens // (LENGTH * BATCH)):
        next(batches)
    return tokens / (time.thread_time() - start)


def of_peer(python: Path | None, which: str, flat: Path, folder: Path) -> dict[str, Any]:
    script = ROOT / "benchmarks" / "peers" / "loaders.py"
    words = [str(python), str(script), which, str(flat), str(folder), str(LENGTH), str(BATCH), str(PEER_READ)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"why": "could not be run: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:100]}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def memory(scratch: Path) -> list[Figure]:
    """Private memory of a process that reads a tenth of the shards, and of one that reads all; mapped files do not
    count, which the system takes back when it wants them."""
    make(scratch / "tenth", TOKENS // 10)
    used = [in_process(scratch / name) for name in ("tenth", "shards")]
    table("private memory of a process after 2,000 batches", "MB")
    for name, value in zip((f"{TOKENS // 10 / 1e6:.0f} M tokens", f"{TOKENS / 1e6:.0f} M tokens"), used):
        row(name, f"{value:.1f}")
    print()
    return [Figure("loader: private memory, ten times the data", used[1] / used[0], "times", 1.1, "below")]


def in_process(shards: Path) -> float:
    """MB."""
    code = (
        "import psutil, sys; from itertools import islice; from corpusmill.loader import TokenLoader\n"
        f"for _ in islice(TokenLoader({str(shards)!r}, {LENGTH}, {BATCH}, seed=1), 2000): pass\n"
        "print(psutil.Process().memory_full_info().uss)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / MB


def order() -> list[Figure]:
    """Memory that drawing from 10**12 rows takes, and what a draw costs, beside 10**6 rows."""
    table("order of so many rows", "memory, MB", "samples / CPU s")
    process = psutil.Process(os.getpid())
    figures = []
    for rows in (10**6, 10**12):
        samples = np.arange(1 << 20, dtype=np.int64) + rows // 3
        before, start = process.memory_info().rss, time.thread_time()
        drawn = SampleOrder((rows,), (1.0,), seed=1)
        for first in range(0, len(samples), 1 << 12):
            drawn.draw(samples[first : first + (1 << 12)])
        seconds, grown = time.thread_time() - start, (process.memory_info().rss - before) / MB
        row(f"10^{len(str(rows)) - 1}", f"{max(grown, 0):.1f}", f"{len(samples) / seconds:,.0f}")
        figures.append(Figure(f"loader: memory of the order of {rows:.0e} rows", max(grown, 0.0), "MB", 10.0, "below"))
    print()
    return figures[1:]
