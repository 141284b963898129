"""What Linux, macOS and Windows differ in: locks on files, what survives a loss of power, files that take the place of
others, what a process may have and has had.

All other modules ask here, which a test sees to.
"""

import os
import re
import sys
import time
from pathlib import Path
from typing import IO, Any

WINDOWS = os.name == "nt"
# Windows locks ranges of bytes, which nobody else can read then: these are behind the end of any file that is locked.
FIRST_LOCKED = 1 << 30
SHARES = 1 << 10  # who holds a file with others has one of them, who holds it alone has all
POLL = 0.01  # seconds between two attempts
IN_USE = 2.0  # seconds for which a file may be open elsewhere before it cannot be replaced


# Names of devices, with any ending; digits may be superscripts.
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE)
NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def refused_name(name: str, windows: bool = WINDOWS) -> str | None:
    """Why this system has no file or folder of a name that others have; None if it can.

    windows   whether it is Windows

    >>> [refused_name(name, windows=True) for name in ("web-en", "AUX", "web:en", "web.")]
    [None, 'Windows keeps it for a device', "Windows has no ':' in names", 'Windows has no dot and no space at the end']
    """
    if not windows:
        return None
    if DEVICE.fullmatch(name.rstrip(" ")):
        return "Windows keeps it for a device"
    if found := NOT_IN_NAMES.search(name):
        return f"Windows has no {found[0]!r} in names"
    return "Windows has no dot and no space at the end" if name.endswith((".", " ")) else None


def lock(file: IO[Any] | int, *, shared: bool = False, wait: bool = True) -> bool:
    """Hold a file, alone or with others, until it is closed, or the process ends, however it ends.

    wait      for those who hold it
    returns   False if somebody else holds it, and `wait` is False

    Raises OSError on a file system without locks.
    """
    descriptor = file if isinstance(file, int) else file.fileno()
    if WINDOWS:
        while not hold_range(descriptor, shared):
            if not wait:
                return False
            time.sleep(POLL)
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def unlock(file: IO[Any]) -> None:
    """Let go of a file that was held alone."""
    if WINDOWS:
        try_range(file.fileno(), FIRST_LOCKED, SHARES, free=True)
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)


def hold_range(descriptor: int, shared: bool) -> bool:
    """`lock` by ranges of bytes, which have one holder each; False if somebody else holds the file."""
    if not shared:
        return try_range(descriptor, FIRST_LOCKED, SHARES)
    return any(try_range(descriptor, FIRST_LOCKED + share, 1) for share in range(SHARES))


def try_range(descriptor: int, at: int, count: int, free: bool = False) -> bool:
    """Take `count` bytes of a file for this handle, or `free` them; False if another handle has some of them."""
    if sys.platform == "win32":
        import msvcrt

        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, at, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK if free else msvcrt.LK_NBLCK, count)
        except PermissionError:
            return False
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)
        return True
    raise NotImplementedError(sys.platform)


def sync_file(path: str | Path) -> None:
    """Make a file survive a loss of power; on macOS, as far as its disk writes what it says that it has written."""
    _sync(path, os.O_RDWR if WINDOWS else os.O_RDONLY)  # Windows syncs only what could be written to


def sync_folder(path: str | Path) -> None:
    """The same of the names in a folder. Windows opens no folders, and NTFS logs its names."""
    if not WINDOWS:
        _sync(path, os.O_RDONLY)


def _sync(path: str | Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(source: str | Path, target: str | Path) -> None:
    """Give a file or a folder another name; a file of that name is replaced.

    Windows refuses that while somebody has that file open: whoever reads a record has it for a moment. Raises
    PermissionError if it is still open after IN_USE seconds, as one that is mapped into memory is.
    """
    until = time.monotonic() + IN_USE
    while True:
        try:
            Path(source).replace(target)
        except PermissionError:
            if not WINDOWS or time.monotonic() > until:
                raise
            time.sleep(POLL)
        else:
            return


def peak_memory() -> int | None:
    """Bytes that this process has had in memory at most, since it began or since `execute.memory.forget_peak`; None on
    Windows."""
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def end_above(memory: int, seconds: int) -> None:
    """End this process where it takes more, as far as the system does: not on Windows, and no memory on macOS.

    memory    bytes of its address space
    seconds   of the processor, from now on
    """
    if sys.platform == "win32":
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
