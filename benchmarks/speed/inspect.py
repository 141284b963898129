"""The inspector on a run of a million documents: milliseconds of each question that its page asks, and its memory.

    python -m benchmarks.speed.inspect RUN [--rounds 20]

RUN is a finished run of the recipe that `python -m benchmarks.speed.inspect WORKLOAD --recipe` prints,
of a workload made with `--scale 4`. Every question is another one (page, value, document, threshold), so that
no answer is remembered; times are of whole answers over HTTP, as the page gets them, beside the processor time that the
server took for one, which says more where others use the machine.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode, urlsplit

import psutil

from benchmarks.common import CRAWL, GIB, Figure, Workload, heading, row, table, verdict

CLICK, SLIDER, MEMORY = 300.0, 100.0, 1.0  # ms, ms, GiB: what is wanted


class Server:
    """`corpusmill inspect` in a process of its own, and one connection to it, as a browser keeps it open."""

    def __init__(self, run: Path) -> None:
        command = [sys.executable, "-m", "corpusmill.cli", "inspect", str(run), "--no-browser"]
        begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        address = urlsplit(self.process.stdout.readline().strip())
        self.start = time.perf_counter() - begun
        self.path = address.path
        self.connection = http.client.HTTPConnection(address.netloc, timeout=600)

    def get(self, of: str, /, **given: object) -> tuple[float, Any]:
        return self._asked("GET", f"api/{of}?{urlencode(given)}", None)

    def post(self, name: str, asked: object) -> tuple[float, Any]:
        return self._asked("POST", f"api/{name}", json.dumps(asked))

    def _asked(self, method: str, name: str, body: str | None) -> tuple[float, Any]:
        begun = time.perf_counter()
        self.connection.request(method, f"{self.path}{name}", body)
        response = self.connection.getresponse()
        content = response.read()
        took = 1000 * (time.perf_counter() - begun)
        if response.status != 200:
            raise SystemExit(f"{name}: {response.status} {content[:300]!r}")
        return took, json.loads(content)

    @property
    def cpu(self) -> float:
        """Seconds of processors so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def memory(self) -> tuple[float, float]:
        """GiB resident now, and at most since the start, where the system keeps that."""
        now = psutil.Process(self.process.pid).memory_info().rss / GIB
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
            return now, int(status.partition("VmHWM:")[2].split()[0]) * 1024 / GIB
        except (OSError, IndexError):
            return now, now


def questions(server: Server, rounds: int) -> Iterator[tuple[str, float, list[float]]]:
    """(kind, bar in ms, milliseconds of each question), in the order of an evening's work."""
    draw = random.Random(17)
    first, about = server.get("run")
    yield "first page: the run and its filters", CLICK, [first]
    facets, signals = about["facets"], about["signals"]
    took, listed = server.get("documents")
    every = listed["documents"]

    def timed(kind: str, bar: float, ask: Callable[[int], float]) -> tuple[str, float, list[float]]:
        return kind, bar, [ask(i) for i in range(rounds)]

    def page(**given: object) -> float:
        return server.get("documents", **given)[0]

    def value(name: str) -> str:
        return str(draw.choice(facets[name])[0])

    yield timed("list: a page of all", CLICK, lambda i: page(page=draw.randrange(every // 25)))
    for name in ("outcome", "reason", "step", "domain", "source", "language"):
        if facets.get(name):
            yield timed(f"list: by {name}", CLICK, lambda i, name=name: page(**{name: value(name)}))  # type: ignore[misc]
    yield timed(
        "list: by a signal, sorted by it",
        CLICK,
        lambda i: page(signal=draw.choice(signals), low=draw.random(), sort="signal"),
    )
    yield timed("list: sorted by tokens", CLICK, lambda i: page(sort="-tokens", page=i))
    yield timed("list: part of an id or URL", CLICK, lambda i: page(name=f"{draw.randrange(4096):03x}"))
    kept = [each["id"] for i in range(4) for each in server.get("documents", outcome="kept", page=i)[1]["rows"]]
    gone = [each["id"] for i in range(4) for each in server.get("documents", outcome="dropped", page=i)[1]["rows"]]
    yield timed("a kept document, with its marks", CLICK, lambda i: server.get("document", id=draw.choice(kept))[0])
    yield timed("a dropped document, with its marks", CLICK, lambda i: server.get("document", id=draw.choice(gone))[0])
    reasons = dict(facets["reason"])
    of = next((reason for reason in ("minhash.near_copy", "exact.exact_copy") if reason in reasons), "")
    copies = server.get("documents", reason=of)[1]["rows"] if of else []
    if copies:
        yield timed("a duplicate pair", CLICK, lambda i: server.get("pair", id=draw.choice(copies)["id"])[0])

    def first_of_a_round(i: int) -> float:
        """Of a round that is asked for, the first text; then each of the others while one is read."""
        stage = about["stages"][0]
        took, drawn = server.get("round", stage=stage)
        one = drawn[i % len(drawn)]
        return took + server.get("text", stage=stage, **{name: one[name] for name in ("id", "file", "position")})[0]

    yield timed("blind review: a round and its first text", CLICK, first_of_a_round)
    for stage in about["with_thresholds"]:
        took, found = server.get("sliders", stage=stage)
        yield f"sliders of {stage}: the first time", CLICK, [took]
        sliders = found["sliders"]

        def move(i: int, stage: str = stage, sliders: list[Any] = sliders) -> float:
            moved = {
                each["key"]: draw.choice(each["edges"]) for each in draw.sample(sliders, min(len(sliders), 1 + i % 3))
            }
            return server.post("estimate", {"stage": stage, "moved": moved})[0]

        if sliders:
            yield timed(f"a slider of {stage}", SLIDER, move)
    words = ("the river", "garden", "License", "return", "zebra crossing")
    yield (
        "search in all texts, each the first time (no bar)",
        0,
        [page(text=word) for word in words[: max(2, rounds // 4)]],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run; with --recipe, of a workload")
    parser.add_argument("--recipe", action="store_true", help="print the recipe of the run, and end")
    parser.add_argument("--rounds", type=int, default=20, help="questions of each kind")
    options = parser.parse_args()
    if options.recipe:
        print(Workload.open(options.run).recipe(CRAWL, "inspected"))
        return 0
    heading(options.run.name, "benchmarks.speed.inspect")
    server = Server(options.run)
    figures = []
    try:
        print(f"Ready after {server.start:.1f} s, {server.memory[0]:.2f} GiB.\n")
        table("question", "median, ms", "worst, ms", "processor, ms each", "wanted, ms")
        spent = server.cpu
        for kind, bar, times in questions(server, options.rounds):
            each = 1000 * (server.cpu - spent) / len(times)
            row(kind, f"{median(times):.0f}", f"{max(times):.0f}", f"{each:.0f}", f"< {bar:g}" if bar else "–")
            spent = server.cpu
            if bar:
                figures.append(Figure(f"{kind}, median", median(times), "ms", bar, "below", 0))
                figures.append(Figure(f"{kind}, worst", max(times), "ms", bar, "below", 0))
        now, most = server.memory
        print(f"\nMemory: {now:.2f} GiB at the end, {most:.2f} at most. Load: {os.getloadavg()[0]:.1f}.\n")
        figures.append(Figure("memory at the end", now, "GiB", MEMORY, "below"))
        figures.append(Figure("memory at most", most, "GiB", MEMORY, "below"))
    finally:
        server.process.terminate()
        server.process.wait()
    return verdict(figures)


if __name__ == "__main__":
    raise SystemExit(main())
