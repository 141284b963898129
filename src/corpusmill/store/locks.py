"""Locks on a run's folder: one driver of its own, or several workers that share the run."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from typing import IO

from corpusmill import storage, system
from corpusmill.errors import RefusedFolder, StorageError
from corpusmill.store.run_folder import LOCK, RunFolder

MAX_TIDYING = 30.0  # seconds that a worker may take to tidy up behind the others


@contextlib.contextmanager
def only_driver(run: RunFolder) -> Iterator[None]:
    """Hold the folder: two drivers at once would remove each other's unfinished files.

    Object stores have no locks: there nothing unfinished is ever removed, and two drivers do some units twice.
    """
    with _only_holder(run) if run.is_local else contextlib.nullcontext():
        storage.remove_unfinished(run.place)  # of a driver that was killed
        yield
        if run.is_local:
            storage.remove_unfinished(run.place)  # of workers that were


@contextlib.contextmanager
def _only_holder(run: RunFolder) -> Iterator[None]:
    with _lock_file(run) as file:
        if not system.lock(file, wait=False):
            file.seek(0)
            who = f"another process ({pid})" if (pid := file.read().strip()) else "workers of `corpusmill work`"
            raise RefusedFolder(
                f"{run.place}: {who} {'is' if pid else 'are'} at work in this folder. Wait for "
                f"{'it, stop it' if pid else 'them, stop them'}, or give this run a folder of its own."
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
        file.truncate(0)


@contextlib.contextmanager
def with_others(run: RunFolder) -> Iterator[None]:
    """Hold the folder as one of several drivers, which remove nothing of each other. Raises RefusedFolder while a
    driver of its own has it.

    Object stores have no locks, and file systems of clusters need not have them across machines.
    """
    if not run.is_local:
        yield
        return
    with _lock_file(run) as file:
        until = time.monotonic() + MAX_TIDYING
        while True:
            try:
                if system.lock(file, shared=True, wait=False):
                    break
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP):
                    raise
                break
            file.seek(0)
            if not (driver := file.read().strip()) and time.monotonic() < until:
                time.sleep(0.05)  # a worker tidies up behind the others, see `if_alone`
                continue
            raise RefusedFolder(
                f"{run.place}: `corpusmill run` (process {driver or 'unknown'}) is at work in this folder. "
                f"Wait for it, or stop it: what it has committed is not done again."
            )
        file.truncate(0)  # of a driver that was killed
        yield


@contextlib.contextmanager
def if_alone(run: RunFolder) -> Iterator[bool]:
    """Whether no other driver of this machine holds the folder, once `with_others` is left; none comes inside."""
    if not run.is_local:
        yield False
        return
    with _lock_file(run) as file:
        alone = False
        with contextlib.suppress(OSError):  # a file system without locks
            alone = system.lock(file, wait=False)
        yield alone


def _lock_file(run: RunFolder) -> IO[str]:
    try:
        return (run.path / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{run.path / LOCK}: {error.strerror}. A run must write to its folder.") from error
