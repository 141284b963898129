"""What a process keeps of the memory that it has freed, where the C library is glibc; elsewhere nothing happens."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
KEPT_BYTES = 128 << 20  # bytes that were freed and stay with a worker


def keep_memory() -> None:
    """Keep freed memory in this process, up to KEPT_BYTES, for what comes next: a fresh page from the system takes
    longer than most of what is done with it. For workers, which give it back when they wait."""
    if libc := _glibc():
        libc.mallopt(MMAP_THRESHOLD, 32 << 20)  # the most that glibc itself would come to
        libc.mallopt(TRIM_THRESHOLD, KEPT_BYTES)


def give_memory_back() -> None:
    """What was taken and freed goes back to the system: glibc keeps it otherwise, and how much depends on luck.

    For a worker that has to wait: after every short unit it would cost a third of their time.
    """
    pa.default_memory_pool().release_unused()
    if libc := _glibc():
        libc.malloc_trim(0)


@contextmanager
def low_memory() -> Iterator[None]:
    """Inside, arrays of a megabyte and more go back to the system when they are freed, at the price of page faults.

    For work in one unit whose arrays grow with the corpus: else it ends up holding the sum of what it held one after
    the other.
    """
    libc = _glibc()
    try:
        if libc:
            libc.malloc_trim(0)
            libc.mallopt(MMAP_THRESHOLD, 1 << 20)
            libc.mallopt(TRIM_THRESHOLD, 1 << 20)
        yield
    finally:
        keep_memory()
        give_memory_back()


def resident(processes: Iterable[int]) -> int | None:
    """Bytes that these processes have in memory now; pages that they share count once for each. None where there is no
    /proc: elsewhere than on Linux."""
    total = None
    for process in processes:
        with suppress(OSError, ValueError):  # it may have ended
            pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
            total = (total or 0) + pages * os.sysconf("SC_PAGE_SIZE")
    return total


def forget_peak() -> None:
    """What `peak_memory` says begins anew here, where the system can do that: Linux. Elsewhere it is the most
    since the process began, and a unit is charged with what an earlier one held."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_bytes(b"5")


@cache
def _glibc() -> Any:
    """None where there is another C library."""
    import ctypes

    try:
        libc = ctypes.CDLL(None)
        return libc if libc.malloc_trim and libc.mallopt else None
    except (AttributeError, OSError, TypeError):
        return None
