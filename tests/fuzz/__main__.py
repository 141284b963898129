"""python -m fuzz: so many minutes of cases, in turn for every target; then a table, and 1 if a case failed.

Time is shared: the next case is one of the target that has had the least. Everything follows from the seed but which
cases there is time for.
"""

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from fuzz.case import BEGUN, DONE, SECONDS, Outcome, save, serve, signature, targets

KEPT = Path(__file__).parent / "kept"  # inputs that failed once, and must not again
SAVED = 3  # inputs of one kind of failure that are kept
SLOW_START = 600.0  # seconds that a process may take to import, to compile, and to make what its cases share


@dataclass
class Tally:
    """What became of a target's cases."""

    seconds: float = 0.0  # of the clock, for its share
    ended: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)  # signature -> cases
    slowest: float = 0.0
    memory: int = 0


@dataclass
class Child:
    process: BaseProcess
    pipe: Connection
    work: Path
    job: tuple[Any, ...] = ()
    since: float = 0.0
    begun: bool = False  # whether the case runs, and is not still being made


class Fuzz:
    """The processes, the cases that they have, and what became of those before."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options = options
        self.work = work
        self.into = Path(options.failures)
        self.tally = {name: Tally() for name in options.targets}
        self.next = Counter[str]()
        self.first: list[tuple[Any, ...]] = [(name, "plain") for name in options.targets]
        self.first += [
            (path.parent.name, str(path)) for path in sorted(KEPT.glob("*/*")) if path.parent.name in self.tally
        ]
        self.context = multiprocessing.get_context("spawn")
        self.children = [self.start(i) for i in range(options.jobs)]
        self.end = time.monotonic() + options.minutes * 60

    def start(self, number: int) -> Child:
        work = self.work / f"process-{number}"
        work.mkdir(parents=True, exist_ok=True)
        here, there = self.context.Pipe()
        process = self.context.Process(target=serve, args=(there, work, self.work / "base"), daemon=True)
        process.start()
        there.close()
        return Child(process, here, work)

    def cases(self, name: str) -> bool:
        """Whether a target may have one more case."""
        most = self.options.cases
        return most is None or self.next[name] < most

    def assign(self, child: Child) -> None:
        """The next case. What nothing is wrong with, and what failed once, comes first, whatever time there is."""
        child.job = ()
        if self.first:
            child.job = self.first.pop(0)
        else:
            left = [name for name in self.tally if self.cases(name)]
            if not left or time.monotonic() > self.end:
                return
            # Of those under way, too, so that processes do not all take the same.
            busy = Counter(other.job[0] for other in self.children if other.job)
            name = min(left, key=lambda name: (self.tally[name].seconds + busy[name], busy[name]))
            child.job = (name, self.options.seed, self.next[name])
            self.next[name] += 1
        child.since, child.begun = time.monotonic(), False
        try:
            child.pipe.send(child.job)
        except OSError:  # it died between two cases, of what the first of them left
            self.died(child, "the process died after a case")

    def run(self) -> None:
        (self.work / "base").mkdir(exist_ok=True)
        for child in self.children[:1]:  # the first makes what all share
            self.assign(child)
        while True:
            for child in self.children:
                if not child.job and not (self.first and self.warming()):
                    self.assign(child)
            busy = {child.pipe: child for child in self.children if child.job}
            if not busy:
                break
            for pipe in wait([*busy], timeout=0.2):
                self.answer(busy[pipe])  # type: ignore[index]
            for child in busy.values():
                limit = 3 * SECONDS if child.begun else SLOW_START
                if child.job and time.monotonic() - child.since > limit:
                    child.process.kill()
                    child.process.join()
                    what = f"did not end in {3 * SECONDS:.0f} s" if child.begun else "the case was not made in time"
                    self.died(child, what)
        for child in self.children:
            child.pipe.close()
            child.process.join(5)
            child.process.kill()

    def warming(self) -> bool:
        return any(child.job and child.job[1:] == ("plain",) for child in self.children)

    def answer(self, child: Child) -> None:
        try:
            outcome = child.pipe.recv()
        except (EOFError, OSError):
            child.process.join()
            code = child.process.exitcode or 0
            what = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            self.died(child, f"the process died of {what}\n{(child.work / 'crash.txt').read_text()[-4000:]}")
            return
        if outcome == BEGUN:
            child.since, child.begun = time.monotonic(), True
        elif outcome == DONE:
            child.job = ()
        else:
            self.count(child, outcome)
            child.since, child.begun = time.monotonic(), False

    def died(self, child: Child, why: str) -> None:
        self.count(child, Outcome("failed", why, time.monotonic() - child.since))
        self.children[self.children.index(child)] = self.start(int(child.work.name.rpartition("-")[2]))

    def count(self, child: Child, outcome: Outcome) -> None:
        name, *how = child.job
        tally = self.tally[name]
        if how != ["plain"]:
            tally.seconds += time.monotonic() - child.since
        tally.ended[outcome.how] += 1
        tally.slowest = max(tally.slowest, outcome.seconds)
        tally.memory = max(tally.memory, outcome.memory)
        if outcome.how == "failed":
            kind = signature(name, outcome.why)
            tally.failures[kind] += 1
            if tally.failures[kind] <= SAVED:
                folder = save(outcome, name, child.work / "input", self.into)
                print(
                    f"FAILED {kind}\n  {outcome.why.splitlines()[0][:200]}\n  again: make fuzz REPLAY={folder}",
                    flush=True,
                )

    def table(self) -> str:
        rows = [("target", "cases", "refused", "failures", "kinds", "slowest", "peak memory")]
        for name, tally in self.tally.items():
            cases, failed = tally.ended.total(), tally.ended["failed"]
            seen = (str(cases), str(tally.ended["refused"]), str(failed), str(len(tally.failures)))
            rows.append((name, *seen, f"{tally.slowest:.2f} s", f"{tally.memory >> 20} MiB"))
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(
            "  ".join([r[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(r[1:], widths[1:]))]) for r in rows
        )


def options(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"one of {', '.join(targets())}; default: all")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--cases", type=int, help="cases of each target, at most")
    parser.add_argument("--seed", type=int, help="default: drawn, and printed")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    parser.add_argument("--failures", default="build/fuzz", help="where inputs that fail are written")
    parser.add_argument("--replay", help="the folder of an input that failed: do it again")
    given = parser.parse_args(words)
    given.targets = given.targets or [*targets()]
    if unknown := [name for name in given.targets if name not in targets()]:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(targets())}")
    given.seed = int.from_bytes(os.urandom(4), "big") if given.seed is None else given.seed
    given.failures = str(Path(given.failures).absolute())
    return given


def main() -> int:
    given = options()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        if given.replay:
            path = Path(given.replay).absolute()
            said = (path / "what.txt").read_text("utf-8") if (path / "what.txt").exists() else ""
            name = said.partition("target: ")[2].partition("\n")[0] or path.parent.name
            given.targets, given.jobs, given.minutes = [name], 1, 0.0
            fuzz = Fuzz(given, Path(folder))
            fuzz.first = [(name, str(path / "files" if (path / "files").is_dir() else path))]
        else:
            print(f"seed {given.seed}, {given.minutes:g} minutes, {given.jobs} processes", flush=True)
            fuzz = Fuzz(given, Path(folder))
        fuzz.run()
        print(fuzz.table())
    failed = sum(len(tally.failures) for tally in fuzz.tally.values())
    if failed:
        print(f"{failed} kinds of failures; their inputs are in {given.failures}, each with how to do it again")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
