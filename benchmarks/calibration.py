"""How fast this machine is at this moment: a fixed loop, that nothing of the mill is in.

`python -m benchmarks.calibration` prints its wall and its CPU seconds. `calibrate` runs it in two processes at a time,
as a run has two workers: figures of a slower machine, or of a time in which it is busy, divided by the seconds of the
loop, are about those of a faster one.
"""

import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import xxhash

from benchmarks.common import ROOT

ROUNDS, WARM = 60, 4  # a third of a second; and before it
OF_THE_BARS = 0.335  # CPU seconds of the loop on the machine on which bars per second were set


class Seconds(NamedTuple):
    wall: float
    cpu: float


def loop(rounds: int) -> int:
    """Sorting, hashing, counting in Python: what memory, arithmetic and the interpreter take."""
    random = np.random.default_rng(0)
    numbers = random.integers(0, 1 << 63, 1 << 18, np.uint64)
    digest = 0
    for _ in range(rounds):
        ordered = np.sort(numbers)
        digest ^= xxhash.xxh3_64_intdigest(ordered.data)
        counts: dict[int, int] = {}
        for number in ordered[::8].tolist():
            counts[number & 1023] = counts.get(number & 1023, 0) + 1
        digest ^= len(counts)
        numbers = ordered ^ (ordered >> np.uint64(7)) * np.uint64(0x9E3779B97F4A7C15)
    return digest


def slowness() -> float:
    """How many times what it took on the machine of the bars the loop takes in this thread, now: a figure per second
    that is measured beside it is multiplied with that."""
    start = time.thread_time()
    loop(ROUNDS)
    return (time.thread_time() - start) / OF_THE_BARS


def calibrate() -> Seconds:
    """Of the loop: the mean of two processes that run it at the same time."""
    command = [sys.executable, "-m", "benchmarks.calibration"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    if any(process.returncode for process in both):
        raise SystemExit(f"{' '.join(command)} failed")
    walls, cpus = zip(*(map(float, text.split()) for text in said))
    return Seconds(sum(walls) / 2, sum(cpus) / 2)


if __name__ == "__main__":
    loop(WARM)
    begun = time.perf_counter(), time.process_time()
    loop(ROUNDS)
    print(time.perf_counter() - begun[0], time.process_time() - begun[1])
