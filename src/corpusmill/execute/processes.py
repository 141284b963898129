"""Units in processes of this machine.

Own workers on a fork server, not `concurrent.futures`: when a worker dies there, all pending work is lost, and
`multiprocessing.Pool` can hang. Here the driver knows which worker has which unit, so a worker that is killed costs
one more attempt of one unit. Workers hold a lifeline to the driver and die with it.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Self

from corpusmill.errors import RunError
from corpusmill.execute import (
    PERMANENT_ERRORS,
    AtWork,
    Check,
    Failure,
    OnAside,
    OnCommit,
    OnPulse,
    UnitQueue,
    WorkerStatus,
    cpus,
    ignored,
    warm_start,
)
from corpusmill.execute.attempts import Attempts
from corpusmill.execute.failures import OUT_OF_MEMORY, Ended, of_error, of_exit
from corpusmill.execute.memory import forget_peak, give_memory_back, keep_memory, low_memory, resident
from corpusmill.execute.serial import Serial
from corpusmill.execute.task import StageTask
from corpusmill.store.beats import EVERY, Beat
from corpusmill.store.units import AttemptPosition, Commit, RetryPolicy, Unit, now


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
    job: Attempts | None = None
    at: AttemptPosition | None = None  # where it said last that it is, in this attempt
    beat: Beat | None = None  # how far it said last that it is, in this attempt
    since: float = 0.0  # when this attempt began

    def send(self, task: StageTask, unit: Unit, care: RetryPolicy, pulses: bool) -> None:
        with contextlib.suppress(OSError):  # it died while idle: what is read from its pipe next will say so
            if self.task is not task:
                self.pipe.send(task)
                self.task = task
            self.pipe.send((unit, care, pulses))


class Processes:
    """`workers` processes; a unit gets `attempts` attempts, whether it raises or its worker dies.

    preload   modules that the fork server imports once, so that workers start with them in memory

    Workers stay for the next stage until `close`. With `on_pulse` set, they say how far they are.
    """

    on_pulse: OnPulse | None = None

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
    def start(cls, workers: int | None, preload: Sequence[str], address: str | None = None) -> Self:
        return cls(workers or cpus.usable(), preload=preload)

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
            if self._script and not hasattr(sys.modules["__main__"], "__file__"):
                raise RunError(
                    "A step of this recipe is defined in a notebook or at a prompt, which workers cannot import. Write "
                    "it into a file (a cell that begins with %%writefile my_steps.py) and import it from there; or run "
                    'everything in this process, with RunSettings(executor="serial").'
                )
            if self._script:
                raise RunError(
                    "A step of this recipe is defined in the script that was started, and workers could not import it. "
                    'Put what the script does under `if __name__ == "__main__":`, or the step into a module of its own.'
                )

    def run(
        self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit, on_aside: OnAside = ignored
    ) -> list[Failure]:
        return self.run_feed(task, [*reversed(units)], on_commit, on_aside)

    def run_feed(
        self, task: StageTask, feed: UnitQueue, on_commit: OnCommit, on_aside: OnAside = ignored
    ) -> list[Failure]:
        """`run` of units that come one by one: until there is none, and those that there were are done."""
        self._import_script_for(task)
        at_a_time = task.needs.at_a_time(self.workers)
        self._keep_workers(at_a_time)
        retries: list[Attempts] = []
        failures: list[Failure] = []
        pulses = self.on_pulse is not None
        next_pulse = 0.0

        def assign(worker: _Worker) -> None:
            worker.job = retries.pop() if retries else Attempts(task, feed.pop(), self.attempts) if feed else None
            worker.at, worker.beat, worker.since = None, None, now()
            if worker.job is None:
                with contextlib.suppress(OSError):
                    worker.pipe.send(None)
                return
            worker.send(task, worker.job.unit, worker.job.care, pulses)

        try:
            for worker in list(self._workers.values()):
                assign(worker)
            while feed and len(self._workers) < at_a_time:
                assign(self._spawn())
            while busy := [pipe for pipe, worker in self._workers.items() if worker.job]:
                if pulses and now() >= next_pulse:
                    self._pulse()
                    next_pulse = now() + EVERY
                    idle = [worker for worker in self._workers.values() if not worker.job]
                    while idle and (retries or feed):  # of a feed that had none before
                        assign(idle.pop())
                for pipe in wait(busy, EVERY if pulses else None):
                    assert isinstance(pipe, Connection)
                    worker = self._workers[pipe]
                    assert worker.job
                    job, answer = worker.job, self._answer(worker)
                    if isinstance(answer, AttemptPosition):
                        worker.at = answer
                        continue
                    if isinstance(answer, Beat):
                        worker.beat = answer
                        continue
                    if isinstance(answer, Commit):
                        on_commit(answer)
                    elif isinstance(answer, BaseException):
                        raise answer
                    else:
                        if answer is None:
                            job.probe_passed()
                        elif aside := job.ended(answer, worker.at):
                            on_aside(job.unit, aside)
                        if job.failure:
                            failures.append(job.failure)
                        else:
                            retries.append(job)
                        if isinstance(answer, Ended) and answer.kind == OUT_OF_MEMORY:
                            self._retire(worker)
                    if pipe in self._workers:
                        assign(worker)
                    if len(self._workers) < at_a_time and (retries or feed):
                        assign(self._spawn())
        except BaseException:
            self.close()
            raise
        if task.needs.keeps:
            self._keep_workers(0)
        return failures

    def attempt(
        self, task: StageTask, unit: Unit, care: RetryPolicy, on_beat: Callable[[Beat], None] | None = None
    ) -> tuple[Any, AttemptPosition | None]:
        """One attempt at a unit in a worker: its answer, see `_answer`, and where it was last, if it said so.

        A worker that has the task in memory is taken, if there is one.
        """
        worker = next((worker for worker in self._workers.values() if worker.task is task), None) or self._spawn()
        worker.send(task, unit, care, on_beat is not None)
        at: AttemptPosition | None = None
        while isinstance(answer := self._answer(worker), AttemptPosition | Beat):
            if isinstance(answer, AttemptPosition):
                at = answer
            elif on_beat:
                on_beat(answer)
        return answer, at

    def _keep_workers(self, limit: int) -> None:
        """End workers that have nothing to do, until there are at most so many."""
        for worker in list(self._workers.values())[limit:]:
            worker.pipe.close()
            self._retire(worker)

    def close(self) -> None:
        """Send the workers home; one that is in the middle of a unit is stopped, and the unit is not committed."""
        for worker in self._workers.values():
            worker.pipe.close()
            if worker.job:
                worker.process.terminate()
        for worker in list(self._workers.values()):
            self._retire(worker)
        for end in self._lifeline or ():
            end.close()
        self._lifeline = None

    def _pulse(self) -> None:
        if self.on_pulse:
            at_work = [
                AtWork(worker.job.unit, now() - worker.since, worker.beat)
                for worker in self._workers.values()
                if worker.job
            ]
            memory = resident(worker.process.pid or 0 for worker in self._workers.values())
            self.on_pulse(WorkerStatus(self.workers, at_work, memory))

    def _import_script_for(self, work: Any) -> None:
        """Have workers import the script that was started if they need something of it."""
        if not self._script and warm_start.is_of_script(work):
            self.close()  # those that are there have not
            self._script = True

    def _spawn(self) -> _Worker:
        if self._lifeline is None:
            self._lifeline = self._context.Pipe(duplex=False)
        own_end, child_end = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(child_end, self._lifeline[0]), daemon=True)
        with sigint_blocked(), contextlib.nullcontext() if self._script else warm_start.script_hidden():
            process.start()
        child_end.close()
        self._workers[own_end] = _Worker(process, own_end)
        return self._workers[own_end]

    def _answer(self, worker: _Worker) -> Any:
        """A commit, None if records were tried, where or how far it is, an error to raise, or how the attempt ended
        without."""
        try:
            return worker.pipe.recv()
        except (EOFError, OSError):
            self._retire(worker)
            return of_exit(worker.process.exitcode)

    def _retire(self, worker: _Worker) -> None:
        """Forget a worker that has ended, or is about to."""
        worker.process.join(5)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        self._workers.pop(worker.pipe, None)


@contextlib.contextmanager
def sigint_blocked() -> Iterator[None]:
    """Keep Ctrl-C from a worker that starts, and from the fork server, which starts with the first one: they would end
    with a traceback."""
    if os.name == "nt":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it would unblock the signal, if the worker had to start it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, lifeline: Connection) -> None:
    """The life of a worker: work and units in, commits or errors out, until the driver hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver to handle
    threading.Thread(target=_die_with, args=(lifeline,), daemon=True).start()
    one_thread()
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
            with contextlib.suppress(OSError):  # the driver may be gone: the next `recv` says so
                pipe.send(message.passed())
            continue
        if isinstance(message, StageTask):
            task = message
            continue
        assert task
        unit, care, pulses = message
        forget_peak()
        try:
            with low_memory() if task.needs.grows else contextlib.nullcontext():
                answer: Any = task.run_unit(unit, care, pipe.send, pipe.send if pulses else None)
        except PERMANENT_ERRORS as error:
            answer = error
        except Exception as error:
            answer = of_error(error)
        try:
            pipe.send(answer)
        except OSError:
            return
        if isinstance(answer, Ended) and answer.kind == OUT_OF_MEMORY:
            return  # what it holds, and how it lies in memory, is left to nobody


def _die_with(lifeline: Connection) -> None:
    """The driver holds the other end and never writes: the end of the file is the end of the driver."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)


def one_thread() -> None:
    """Workers share the cores by being many, so each has one thread."""
    for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        os.environ[variable] = "false" if variable == "TOKENIZERS_PARALLELISM" else "1"
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
