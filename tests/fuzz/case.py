"""One case in a process of its own, which does many, one after the other: so a process that dies is noticed."""

import faulthandler
import hashlib
import importlib
import json
import os
import re
import shutil
import sys
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

SECONDS = 10.0  # of the processor, so that a busy machine fails nothing; of the clock, three times as many
MEMORY = 512 << 20  # bytes above what the process had before the case
MARGIN = 4 << 30  # of address space: an attack on memory fails before the machine does
BEGUN, DONE = "begun", "done"  # what a process says at the beginning of a case, and at the end of what it was given
MODULES = os.environ.get(
    "FUZZ_MODULES", "archives readings sources wording folders pages models"
).split()  # the variable is for tests of this

Files = dict[str, bytes]


class Wrong(Exception):
    """A promise does not hold."""


class Target(Protocol):
    """What is attacked.

    name      of the target
    prepare   whatever all cases of a process share; `base` is a folder that all processes share
    plain     the files that nothing is wrong with, which must be right
    make      the files of a case
    check     what becomes of the files, which are in `folder`: "right", or "refused" for an error that is meant for
              users. Raises Wrong, or whatever else the code raises that is not meant for them
    """

    name: str

    def prepare(self, base: Path) -> None: ...
    def plain(self) -> list[Files]: ...
    def make(self, random: Random) -> Files: ...
    def check(self, folder: Path) -> str: ...


class Outcome(NamedTuple):
    """How a case ended: "right", "refused" or "failed", and then why; seconds; bytes above what there was before."""

    how: str
    why: str = ""
    seconds: float = 0.0
    memory: int = 0


def targets() -> dict[str, Target]:
    """All targets by name, in the order of the table."""
    made = [target for name in MODULES for target in importlib.import_module(f"fuzz.{name}").targets()]
    return {target.name: target for target in made}


def serve(pipe: Connection, work: Path, base: Path) -> None:
    """The life of a process: cases in, outcomes out. A case is (target, seed, number), or (target, its folder), or all
    those that nothing is wrong with: (target, "plain")."""
    known, ready = targets(), set()
    crash = (work / "crash.txt").open("w+")
    faulthandler.enable(crash)
    os.chdir(work)
    limited = False
    while True:
        try:
            name, *how = pipe.recv()
        except (EOFError, OSError):
            return
        target = known[name]
        try:
            if name not in ready:
                target.prepare(base)
                ready.add(name)
                if not limited:
                    limited = True
                    _limit()
            if how == ["plain"]:
                cases = target.plain()
            else:
                cases = [_saved(Path(how[0])) if len(how) == 1 else target.make(Random(f"{how[0]}/{name}/{how[1]}"))]
        except BaseException:
            pipe.send(Outcome("failed", f"the case cannot be made: {traceback.format_exc()}"))
            cases = []
        for files in cases:
            pipe.send(BEGUN)  # from here on the time counts
            outcome = run(target, files, work)
            if how == ["plain"] and outcome.how != "right":
                outcome = outcome._replace(how="failed", why=outcome.why or "what nothing is wrong with was refused")
            pipe.send(outcome)
            if outcome.how == "failed":  # its files are looked at before others take their place
                break
        pipe.send(DONE)


def run(target: Target, files: Files, work: Path) -> Outcome:
    folder = work / "input"
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    before = _forget_peak()
    began = time.process_time()
    try:
        how, why = target.check(folder), ""
    except BaseException as error:
        why = f"{type(error).__name__}: {str(error)[:500]}\n{_trace(error)}"
        how = "failed"
    seconds, memory = time.process_time() - began, _peak() - before
    if how != "failed" and seconds > SECONDS:
        how, why = "failed", f"took {seconds:.1f} s"
    if memory > MEMORY:
        how, why = "failed", why or f"took {memory >> 20} MiB"
    return Outcome(how, why, seconds, memory)


def _trace(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    return "".join(lines)[-6000:]


def _saved(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def signature(target: str, why: str) -> str:
    """What cases that fail for one reason have in common: the error, and where in the code it was."""
    places = re.findall(r'File ".*?corpusmill/(?!fuzz)(.*?)", line (\d+)', why)
    first = re.sub(r"[\d']+", "N", why.partition("\n")[0])[:60]
    return f"{target}: {first} {':'.join(places[-1]) if places else ''}"


def save(outcome: Outcome, target: str, files: Path, into: Path) -> Path:
    """Keep the files of a case that failed; returns the folder."""
    digest = hashlib.sha256(json.dumps([target, outcome.why]).encode())
    for path in sorted(files.rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    folder = into / f"{target}-{digest.hexdigest()[:8]}"
    if not folder.exists():
        shutil.copytree(files, folder / "files")
        text = f"target: {target}\nagain:  make fuzz REPLAY={folder}\n\n{outcome.why}\n"
        (folder / "what.txt").write_text(text, "utf-8", "backslashreplace")
    return folder


# ------------------------------------------------------------------ memory


def _limit() -> None:
    """A limit of address space far above the one that is measured, so that a bomb does not take the machine along."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        now = _status("VmSize")
        if now:
            resource.setrlimit(resource.RLIMIT_AS, (now + MARGIN, now + MARGIN))


def _forget_peak() -> int:
    """Bytes in memory now; the peak begins anew. Where the system cannot do that, the peak is that of all cases."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS") or _peak()


def _peak() -> int:
    if peak := _status("VmHWM"):
        return peak
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(name: str) -> int:
    with suppress(OSError):
        found = re.search(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())
        return int(found[1]) << 10 if found else 0
    return 0


def as_text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()
