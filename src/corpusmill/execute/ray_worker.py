"""What happens in a Ray worker: it finds out, once, whether its node fits, and carries out attempts at units.

An attempt with care, and a unit whose process is to end with its stage, has a process of its own below the Ray worker.
So where an attempt was when it died, and what it died of, is known here and goes back with the answer: neither a
message for each step nor a connection to the driver is needed for it.
"""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from corpusmill import storage
from corpusmill.errors import ClusterError, StorageError
from corpusmill.execute import PERMANENT_ERRORS, Check, versions
from corpusmill.execute.failures import Ended, of_error
from corpusmill.execute.memory import forget_peak, give_memory_back, keep_memory, low_memory
from corpusmill.execute.processes import Processes, one_thread
from corpusmill.execute.serial import Serial
from corpusmill.execute.task import StageTask
from corpusmill.store.beats import Beat
from corpusmill.store.units import AttemptPosition, RetryPolicy, Unit

BEAT_NAMESPACE = b"corpusmill"  # the name space of Ray's table of keys and values in which units say how far they are


@dataclass(frozen=True)
class Job:
    """What every worker of a run is told.

    session   its name; what has been found out for one session holds for it
    folder    the driver's working folder: relative names are below it
    versions  what the driver has, see `versions.here`
    preload   modules to import first
    place     the run's folder; "" before it is known
    probe     the full name of a file that the driver has written there, and `content` is in it
    """

    session: str
    folder: str
    versions: dict[str, str]
    preload: tuple[str, ...]
    place: str = ""
    probe: str = ""
    content: bytes = b""


@dataclass(frozen=True)
class GivenBack:
    """The attempt was stopped because its node is about to go: it is nobody's fault, and counts for nothing."""


@dataclass(frozen=True)
class AttemptOutcome:
    """What became of an attempt: a commit, None if records were tried, how it ended without, GivenBack, or an error
    that no other attempt can cure; and where it was, if that is known."""

    result: Any
    at: AttemptPosition | None = None


class _Leaving(BaseException):
    """SIGTERM."""


@dataclass
class _Process:
    """What this process knows."""

    fits: set[tuple[str, str]] = field(default_factory=set)  # sessions and places
    stage: tuple[bytes, StageTask, tuple[str, ...]] | None = None
    pool: Processes | None = None
    of_stage: bytes = b""  # whose pool it is


_process = _Process()


def fit(job: Job) -> ClusterError | None:
    """Make this process ready, once: what is wrong with its node, if it can carry out no units of this run."""
    if (job.session, job.place) in _process.fits:
        return None
    problem = _problem(job)
    if problem is not None:
        return ClusterError(f"node {socket.gethostname()} ({_address()}): {problem}")
    _process.fits |= {(job.session, ""), (job.session, job.place)}
    return None


def _problem(job: Job) -> str | None:
    if differences := versions.differences(job.versions, versions.installed_versions()):
        return (
            f"it has {', '.join(differences)}. Its units would write other bytes, so it is refused: install the same "
            "versions on every node"
        )
    with contextlib.suppress(OSError):  # all names may be URLs
        os.chdir(job.folder)
    if job.probe and (why := _does_not_see(job)):
        return why
    if (job.session, "") not in _process.fits:
        one_thread()
        keep_memory()
        _load(job.preload)
    return None


def _does_not_see(job: Job) -> str | None:
    """Why the run's folder here is not the driver's."""
    try:
        if storage.read_bytes(job.probe) == job.content:
            storage.write_atomic(f"{job.probe}-{os.getpid()}", b"")
            storage.remove(f"{job.probe}-{os.getpid()}")
            return None
        reason = "has another content here"
    except (OSError, StorageError) as error:
        reason = f"{type(error).__name__}: {error}"
    except Exception as error:
        reason = str(error)
    return (
        f"it does not see the run folder {job.place} as the driver does ({reason}). Every node must see it under the "
        "same name: use a folder on a shared disk, or an object store (s3://bucket/run)"
    )


def _load(modules: Sequence[str]) -> None:
    """Import modules, and compile their kernels if nobody on this node has: one process, while the others wait."""
    for module in modules:
        import_module(module)
    from corpusmill.text import warming
    from corpusmill.text.compile import cache_folder

    needed = warming.imported_kernels()
    if warming.is_warm(needed):
        return
    from filelock import FileLock

    folder = cache_folder()
    with FileLock(folder.with_name("warming.lock")) if folder else contextlib.nullcontext():
        warming.warm(needed)


def passed(job: Job, checks: Sequence[Check]) -> ClusterError | str | None:
    """What is wrong with this node, or the error of a check; None if all pass."""
    if (wrong := fit(job)) is not None:
        return wrong
    try:
        Serial().check(checks)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def attempt(job: Job, stage: Sequence[Any], unit: Unit, care: RetryPolicy, beats: bool) -> AttemptOutcome:
    """One attempt at a unit.

    stage   a reference to a StageTask and the versions of the user's modules in it, in a list: it is fetched once
    beats   whether to say how far it is
    """
    if (wrong := fit(job)) is not None:
        return AttemptOutcome(wrong)
    try:
        with _notice():
            task = _stage(stage[0])
            if isinstance(task, ClusterError):
                return AttemptOutcome(task)
            with _beat_writer(job, unit, beats) as beat:
                if care != RetryPolicy(care.aside) or task.needs.keeps:
                    return _run_in_child(stage[0].binary(), task, unit, care, beat, job.preload)
                return AttemptOutcome(_run_in_process(task, unit, care, beat))
    except _Leaving:
        _end_pool()
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM)).start()  # when the answer is on its way
        return AttemptOutcome(GivenBack())


def _stage(reference: Any) -> "StageTask | ClusterError":
    cached = _process.stage
    if cached is None or cached[0] != reference.binary():
        import ray

        task, modules = ray.get(reference)
        if differences := versions.differences(modules, versions.of_modules(tuple(modules))):
            return ClusterError(
                f"node {socket.gethostname()} ({_address()}): it has another version of your own modules: "
                f"{', '.join(differences)}. It is refused: put the same files on every node"
            )
        cached = _process.stage = (reference.binary(), task, ())
        if _process.of_stage != cached[0]:
            _end_pool()
    return cached[1]


def _run_in_process(task: StageTask, unit: Unit, care: RetryPolicy, beat: Any) -> Any:
    forget_peak()
    try:
        with low_memory() if task.needs.grows else contextlib.nullcontext():
            return task.run_unit(unit, care, lambda at: None, beat)
    except PERMANENT_ERRORS as error:
        return error
    except Exception as error:
        return of_error(error)


def _run_in_child(
    name: bytes, task: StageTask, unit: Unit, care: RetryPolicy, beat: Any, preload: tuple[str, ...]
) -> AttemptOutcome:
    """In a process of its own, where the task can be sent to one: what was defined in a notebook cannot."""
    import pickle

    try:
        pickle.dumps(task)
    except Exception:
        return AttemptOutcome(_run_in_process(task, unit, care, beat))
    give_memory_back()
    if _process.pool is None:
        _process.pool, _process.of_stage = Processes(1, preload=preload), name
    result, at = _process.pool.attempt(task, unit, care, beat)
    if not task.needs.keeps or isinstance(result, Ended):
        _end_pool()
    return AttemptOutcome(result, at)


def _end_pool() -> None:
    if _process.pool is not None:
        _process.pool.close()
        _process.pool = None


@contextlib.contextmanager
def _notice() -> Iterator[None]:
    """Inside, SIGTERM stops the attempt; what it has written are orphans."""

    def leave(number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise _Leaving

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _beat_writer(job: Job, unit: Unit, beats: bool) -> Iterator[Any]:
    """What a unit calls to say how far it is; None if nobody listens."""
    if not beats:
        yield None
        return
    from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_put

    name = f"{job.session}/{unit.key}".encode()

    def say(beat: Beat) -> None:
        with contextlib.suppress(Exception):
            _internal_kv_put(name, repr(tuple(vars(beat).values())).encode(), namespace=BEAT_NAMESPACE)

    say(Beat())
    try:
        yield say
    finally:
        with contextlib.suppress(Exception):
            _internal_kv_del(name, namespace=BEAT_NAMESPACE)


def _address() -> str:
    import ray

    return str(ray.util.get_node_ip_address())
