"""Units in processes of this machine.

Own workers on a fork server, not `concurrent.futures`: when a worker dies there, all pending work is lost, and
`multiprocessing.Pool` can hang. Here the driver knows which worker has which unit, so a worker that is killed costs
one more attempt of one unit. Workers hold a lifeline to the driver and die with it.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from corpusmill.execute import Failure, Progress
from corpusmill.execute.commits import last_line, run_unit
from corpusmill.execute.serial import INCURABLE
from corpusmill.units import Commit, Unit, Work


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    job: tuple[Unit, int] | None = None  # the unit and which attempt it is


@dataclass(frozen=True)
class Processes:
    """`workers` processes; a unit gets `attempts` attempts, whether it raises or its worker dies.

    preload   modules that the fork server imports once, so that workers start with them in memory
    """

    workers: int
    attempts: int = 3
    preload: Sequence[str] = ()

    def run(self, root: Path, stage: str, work: Work, units: list[Unit], done: Progress) -> list[Failure]:
        context = multiprocessing.get_context("spawn" if os.name == "nt" else "forkserver")
        if self.preload and os.name != "nt":
            context.set_forkserver_preload(list(self.preload))
        todo = [(unit, 1) for unit in reversed(units)]
        failures: list[Failure] = []
        lifeline, kept_open = context.Pipe(duplex=False)
        staff: dict[Connection, _Worker] = {}

        def hire() -> None:
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, lifeline, root, stage, work), daemon=True)
            process.start()
            there.close()
            staff[here] = _Worker(process, here)
            assign(staff[here])

        def assign(worker: _Worker) -> None:
            worker.job = todo.pop() if todo else None
            if worker.job:
                try:
                    worker.pipe.send(worker.job[0])
                except OSError:  # it died while idle: what is read from its pipe next will say so
                    pass

        try:
            for _ in range(min(self.workers, len(todo))):
                hire()
            while busy := [pipe for pipe, worker in staff.items() if worker.job]:
                for pipe in wait(busy):
                    assert isinstance(pipe, Connection)
                    worker = staff[pipe]
                    assert worker.job
                    unit, attempt = worker.job
                    try:
                        answer: Any = pipe.recv()
                    except (EOFError, OSError):
                        worker.process.join()
                        del staff[pipe]
                        code = worker.process.exitcode
                        answer = (f"its worker died with exit status {code}{_why(code)}", "")
                    if isinstance(answer, Commit):
                        done(answer)
                    elif isinstance(answer, BaseException):
                        raise answer
                    elif attempt < self.attempts:
                        todo.append((unit, attempt + 1))
                    else:
                        failures.append(Failure(unit.number, *answer))
                    if pipe in staff:
                        assign(worker)
                    if todo and len(staff) < self.workers:
                        hire()
            return failures
        finally:
            kept_open.close()
            lifeline.close()
            for worker in staff.values():
                worker.pipe.close()
                if worker.job:
                    worker.process.terminate()
            for worker in staff.values():
                worker.process.join(5)
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join()


def _why(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return " (killed; often because memory ran out: try fewer workers, or a smaller unit_mb)"
    return ""


def _serve(pipe: Connection, lifeline: Connection, root: Path, stage: str, work: Work) -> None:
    """The life of a worker: units in, commits or errors out, until the driver hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver to handle
    threading.Thread(target=_die_with, args=(lifeline,), daemon=True).start()
    _one_thread()
    while True:
        try:
            unit = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: Any = run_unit(root, stage, work, unit)
        except INCURABLE as error:
            answer = error
        except Exception as error:
            answer = (last_line(error), traceback.format_exc())
        try:
            pipe.send(answer)
        except OSError:
            return


def _die_with(lifeline: Connection) -> None:
    """The driver holds the other end and never writes: the end of the file is the end of the driver."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)


def _one_thread() -> None:
    """Workers share the cores by being many, so each has one thread."""
    for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        os.environ[variable] = "false" if variable == "TOKENIZERS_PARALLELISM" else "1"
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
