"""Time and memory to the first batch of made shards: 10 to 10,000 of them, and up to 10^12 rows. For Linux.

    python -m benchmarks.speed.first_batch

Each case is a process of its own. Of 10 to 10,000 shards the rows of each are the same few, so that the files are small
and real, and everything is opened as in training: one folder; the same without `index.entries`, as earlier versions
wrote it; a mixture of two (here the same by two names); three stages of such mixtures. Processor seconds are those of
the process, memory what its peak grows by. "All there" is the listing that finds a missing file, between the first
batch and the second. 10^12 rows do not fit a disk: the order is computed for that many, of the first eight samples and
the last eight, which is all that depends on their number. Beside it what a shuffled list of the rows takes, as
`numpy.random.permutation` makes it, where it fits.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SHARDS = (10, 100, 1_000, 10_000)
ROWS = (10**3, 10**6, 10**9, 10**12)
LENGTH, PER_SHARD = 64, 8  # tokens in a row, rows in a shard
REPEATS = 5

# Not ru_maxrss, in which a child begins with what its parent had.
PEAK = """
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
"""
FOLDER = """
import json, sys, time
from corpusmill.loader import TokenLoader
from corpusmill.loader.stages import StageLoader
kind, one, other = sys.argv[1:]
mixture = {one: 0.75, other: 0.25}
stages = [{"name": f"s{i}", "tokens": 10**6, "shards": mixture, "batch": 8} for i in range(3)]
before = peak()
begin, cpu = time.perf_counter(), time.process_time()
if kind == "stages":
    loader = StageLoader(stages, seed=1)
else:
    loader = TokenLoader(mixture if kind == "mixture" else one, batch_size=8, seed=1)
opened, opened_cpu = time.perf_counter(), time.process_time()
next(iter(loader))
done = time.perf_counter()
after = peak()
for each in getattr(loader, "loaders", [loader]):
    each.check_there()
there = time.perf_counter()
print(json.dumps([opened - begin, opened_cpu - cpu, done - opened, (after - before) / 1024, there - done]))
"""
KINDS = ("folder", "earlier folder", "mixture", "stages")
ORDER = """
import json, sys, time
import numpy as np
from corpusmill.loader.order import Order
rows = int(sys.argv[1])
order = Order((rows,), (1.0,), 1)
before = peak()
begin = time.perf_counter()
order.draw(np.arange(8))
first = time.perf_counter() - begin
begin = time.perf_counter()
order.draw(np.arange(rows - 8, rows))
last = time.perf_counter() - begin
after = peak()
print(json.dumps([first, last, (after - before) / 1024]))
"""
LISTED = """
import json, sys, time
import numpy as np
before = peak()
begin = time.perf_counter()
np.random.default_rng(1).permutation(int(sys.argv[1]))
print(json.dumps([time.perf_counter() - begin, 0, (peak() - before) / 1024]))
"""


def main() -> None:
    print("                 shards   rows of 64   open      processor   first batch   memory      all there")
    with tempfile.TemporaryDirectory() as place:
        folders = {shards: made(Path(place) / str(shards), shards) for shards in SHARDS}
        for kind in KINDS:
            for shards, folder in folders.items():
                mapped, away = folder / "index.entries", folder / "away"
                if kind == "earlier folder" and mapped.exists():
                    mapped.rename(away)
                opened, cpu, batch, memory, there = median(FOLDER, kind, str(folder), f"{folder}/.")
                if away.exists():
                    away.rename(mapped)
                print(
                    f"{kind:>14}   {shards:>6,}   {shards * PER_SHARD:>10,}   {1e3 * opened:5.1f} ms   "
                    f"{1e3 * cpu:6.1f} ms   {1e3 * batch:8.1f} ms   {memory:6.1f} MiB   {1e3 * there:6.1f} ms",
                    flush=True,
                )
    print("\nrows                  8 first     8 last      memory     a shuffled list of them")
    for rows in ROWS:
        first, last, memory = median(ORDER, str(rows))
        listed = "does not fit"
        if rows <= 10**7:
            took, _, more = median(LISTED, str(rows))
            listed = f"{1e3 * took:8.1f} ms, {more:6.1f} MiB"
        print(f"{rows:>17,}   {1e3 * first:5.1f} ms   {1e3 * last:6.1f} ms   {memory:6.1f} MiB   {listed}", flush=True)


def made(folder: Path, shards: int) -> Path:
    """A folder of so many shards."""
    import numpy as np

    from corpusmill.models.tokenizer import load
    from corpusmill.shards.pack import UnitTokens
    from corpusmill.shards.plan import plan_shards
    from corpusmill.shards.writer import write_folder

    folder.mkdir()
    each = PER_SHARD * LENGTH
    ids = np.tile(np.append(np.arange(31), 50_256).astype(np.uint16), shards * each // 32)
    lengths = np.full(len(ids) // 32, 32, np.int64)
    plan = plan_shards([lengths], "concat", LENGTH, each, "keep")
    write_folder(folder, plan, [UnitTokens(ids, lengths)], load("gpt2"))
    return folder


def median(program: str, *arguments: str) -> list[float]:
    """Of several processes, after one that warms the file system."""
    found = []
    for _ in range(REPEATS + 1):
        done = subprocess.run(
            [sys.executable, "-c", PEAK + program, *arguments], capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout))
    return [sorted(column)[REPEATS // 2] for column in zip(*found[1:])]


if __name__ == "__main__":
    main()
