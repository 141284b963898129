"""Units in processes of this machine.

Own workers on a fork server, not `concurrent.futures`: when a worker dies there, all pending work is lost, and
`multiprocessing.Pool` can hang. Here the driver knows which worker has which unit, so a worker that is killed costs
one more attempt of one unit. Workers hold a lifeline to the driver and die with it.
"""

import contextlib
import os
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Self

from corpusmill.errors import RunError
from corpusmill.execute import PERMANENT_ERRORS, Check, Failure, OnCommit, warm_start
from corpusmill.execute.failures import last_line
from corpusmill.execute.memory import forget_peak, give_memory_back, keep_memory, low_memory
from corpusmill.execute.serial import Serial
from corpusmill.unit_io import StageTask
from corpusmill.units import Commit, Unit


@dataclass(frozen=True)
class _Checks:
    checks: tuple[Check, ...]

    def passed(self) -> bool:
        try:
            Serial().check(self.checks)
        except Exception:
            return False
        return True


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    task: StageTask | None = None  # as last sent
    job: tuple[Unit, int] | None = None  # the unit and which attempt it is


class Processes:
    """`workers` processes; a unit gets `attempts` attempts, whether it raises or its worker dies.

    preload   modules that the fork server imports once, so that workers start with them in memory

    Workers stay for the next stage until `close`.
    """

    def __init__(self, workers: int, attempts: int = 3, preload: Sequence[str] = ()) -> None:
        self.workers = workers
        self.attempts = attempts
        self._context = warm_start.context()
        if preload:
            warm_start.start(preload)
        self._workers: dict[Connection, _Worker] = {}
        self._lifeline: tuple[Connection, Connection] | None = None
        self._script = False  # whether workers import the script that was started, which has steps of the recipe

    @classmethod
    def start(cls, workers: int, preload: Sequence[str]) -> Self:
        return cls(workers, preload=preload)

    def check(self, checks: Sequence[Check]) -> None:
        self._import_script_for(checks)
        worker = next(iter(self._workers.values()), None) or self._spawn()
        try:
            worker.pipe.send(_Checks(tuple(checks)))
            passed = worker.pipe.recv()
        except Exception:  # they cannot be sent, or the worker died of them
            self.close()
            passed = False
        if not passed:  # here they fail with all that they have to say
            Serial().check(checks)
            if self._script:
                raise RunError(
                    "A step of this recipe is defined in the script that was started, and workers could not import it. "
                    'Put what the script does under `if __name__ == "__main__":`, or the step into a module of its own.'
                )

    def run(self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit) -> list[Failure]:
        self._import_script_for(task)
        todo = [(unit, 1) for unit in reversed(units)]
        failures: list[Failure] = []

        def assign(worker: _Worker) -> None:
            worker.job = todo.pop() if todo else None
            if worker.job is None:
                with contextlib.suppress(OSError):
                    worker.pipe.send(None)
                return
            try:
                if worker.task is not task:
                    worker.pipe.send(task)
                    worker.task = task
                worker.pipe.send(worker.job[0])
            except OSError:  # it died while idle: what is read from its pipe next will say so
                pass

        try:
            for worker in list(self._workers.values()):
                assign(worker)
            while todo and len(self._workers) < self.workers:
                assign(self._spawn())
            while busy := [pipe for pipe, worker in self._workers.items() if worker.job]:
                for pipe in wait(busy):
                    assert isinstance(pipe, Connection)
                    worker = self._workers[pipe]
                    assert worker.job
                    unit, attempt = worker.job
                    answer = self._answer(worker)
                    if isinstance(answer, Commit):
                        on_commit(answer)
                    elif isinstance(answer, BaseException):
                        raise answer
                    elif attempt < self.attempts:
                        todo.append((unit, attempt + 1))
                    else:
                        failures.append(Failure(unit, *answer))
                    if pipe in self._workers:
                        assign(worker)
                    if todo and len(self._workers) < self.workers:
                        assign(self._spawn())
        except BaseException:
            self.close()
            raise
        return failures

    def close(self) -> None:
        """Send the workers home; one that is in the middle of a unit is stopped, and the unit is not committed."""
        for worker in self._workers.values():
            worker.pipe.close()
            if worker.job:
                worker.process.terminate()
        for worker in self._workers.values():
            worker.process.join(5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()
        for end in self._lifeline or ():
            end.close()
        self._lifeline = None

    def _import_script_for(self, work: Any) -> None:
        """Have workers import the script that was started if they need something of it."""
        if not self._script and warm_start.is_of_script(work):
            self.close()  # those that are there have not
            self._script = True

    def _spawn(self) -> _Worker:
        if self._lifeline is None:
            self._lifeline = self._context.Pipe(duplex=False)
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._lifeline[0]), daemon=True)
        with _sigint_blocked(), contextlib.nullcontext() if self._script else warm_start.script_hidden():
            process.start()
        there.close()
        self._workers[here] = _Worker(process, here)
        return self._workers[here]

    def _answer(self, worker: _Worker) -> Any:
        """A commit, an error to raise, or why the attempt failed, with a traceback."""
        try:
            return worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            del self._workers[worker.pipe]
            code = worker.process.exitcode
            return (f"its worker died with exit status {code}{_why(code)}", "")


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Keep Ctrl-C from the fork server, which starts with the first worker and would end with a traceback."""
    if os.name == "nt":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _why(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return " (killed; often because memory ran out: try fewer workers, or a smaller unit_mb)"
    return ""


def _serve(pipe: Connection, lifeline: Connection) -> None:
    """The life of a worker: work and units in, commits or errors out, until the driver hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver to handle
    threading.Thread(target=_die_with, args=(lifeline,), daemon=True).start()
    _one_thread()
    keep_memory()
    task: StageTask | None = None
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            return
        if message is None:  # there is nothing to do for now
            give_memory_back()
            continue
        if isinstance(message, _Checks):
            pipe.send(message.passed())
            continue
        if isinstance(message, StageTask):
            task = message
            continue
        assert task
        forget_peak()
        try:
            with low_memory() if task.needs.grows else contextlib.nullcontext():
                answer: Any = task.run_unit(message)
        except PERMANENT_ERRORS as error:
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
