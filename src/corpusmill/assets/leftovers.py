"""Temporary folders that are found again when the process that made them was killed.

Each holds a file that its process keeps locked; the system lets go of the lock when the process ends, however it ends.
So a folder whose lock can be had is nobody's any more. Other folders are left alone, and so are all of them on file
systems without locks, and on Windows, where the lock could not be there from the beginning.
"""

import contextlib
import os
import shutil
from pathlib import Path

from corpusmill import system

LOCK_FILE = "corpusmill.lock"


def hold(folder: Path) -> int | None:
    """Mark a folder as in use until this process ends, or closes the file whose descriptor is returned. None if it
    cannot be, or is marked already: processes that were forked share it."""
    if system.WINDOWS or (folder / LOCK_FILE).exists():
        return None
    try:
        unnamed = folder / f"{LOCK_FILE}.{os.getpid()}"
        file = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600)
        system.lock(file, wait=False)
        system.replace(unnamed, folder / LOCK_FILE)  # only now: `tidy` must not see it unlocked
    except OSError:
        return None
    return file


def tidy(parent: Path, pattern: str) -> None:
    """Remove the folders in `parent` that processes of this user held, and that nobody holds any more."""
    if system.WINDOWS:
        return
    for lock in parent.glob(f"{pattern}/{LOCK_FILE}"):
        with contextlib.suppress(OSError):
            if lock.lstat().st_uid != os.getuid() or lock.parent.is_symlink():
                continue
            with lock.open("rb") as file:
                if system.lock(file, wait=False):
                    shutil.rmtree(lock.parent, ignore_errors=True)
