"""Places: finding, reading and writing files on local disks, in object stores, and on the web.

A place is a string: a local path, or a URL. obstore answers for s3://, gs:// and az://, fsspec for all others that it
knows (hf://, https://, memory://). What a run relies on here:

- `expand` turns the patterns of a recipe into the same sorted list on every machine.
- `create_once` makes a file that did not exist, whole or not at all, for exactly one of any number of callers.
- `write_atomic` and `open_write` never leave half a file under the name that was asked for.

On local disks data and folder entries are fsynced before a call returns. Errors of the operating
system become StorageError with the path and, for a full disk, the room that is left.

Remote places are asked again where the trouble may pass (see `retry`), and a file that breaks off is read on from
where it did. What any library says in the end is one line, with the place.
"""

# Places are strings, and most of them no local paths; pathlib would rewrite them ("./a" to "a").
# ruff: noqa: PTH123

import contextlib
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import xxhash

from corpusmill import system
from corpusmill.assets.extras import Extra
from corpusmill.storage import local, objects, others, stores
from corpusmill.storage.passed_over import PassedOver
from corpusmill.storage.patterns import by_real_path, expand, is_in, is_outside, refuse_alike, selected, stat
from corpusmill.storage.places import (
    BLOCK,
    FOLDER,
    TEMPORARY,
    FileInfo,
    has_ending,
    is_local,
    join,
    local_path,
    name_of,
    printable,
    scheme_of,
)
from corpusmill.storage.remote import remote
from corpusmill.storage.trouble import disk_full, errors_of, is_full

__all__ = [
    "BLOCK", "BUFFER", "FOLDER", "TEMPORARY", "FileInfo", "PassedOver", "by_real_path", "checksum", "copy",
    "create_once", "disk_full", "download", "exists", "expand", "extras_of", "fsync_dir", "has_ending", "is_full",
    "is_in", "is_local", "is_outside", "join", "list_dir", "list_sizes", "list_tree", "local_path", "make_dir",
    "move", "name_of", "open_read", "open_write", "printable", "read_bytes", "read_range", "read_ranges",
    "refuse_alike", "remove", "remove_files", "remove_tree", "remove_unfinished", "requests", "selected", "size_of",
    "stat", "upload", "write_atomic",
]  # fmt: skip

BUFFER = 1 << 20  # bytes that readers of small amounts have ahead
CAN_ADVISE = hasattr(os, "posix_fadvise")  # not on macOS
DAY = 24 * 3600.0


def extras_of(path: str) -> tuple[Extra, ...]:
    """What a place needs that the base installation lacks."""
    scheme = scheme_of(path)
    return stores.extras_of(scheme) or ((others.EXTRAS[scheme],) if scheme in others.EXTRAS else ())


def open_read(path: str, offset: int = 0) -> IO[bytes]:
    """A file open for reading bytes from `offset`. Raises InputError if there is none."""
    with errors_of(path):
        if is_local(path):
            file: IO[bytes] = open(local_path(path), "rb")  # noqa: SIM115 - the caller closes it
        else:
            file = io.BufferedReader(remote(path).reading(path), BUFFER)
        if offset:
            file.seek(offset)
        return file


def read_range(path: str, start: int, stop: int) -> bytes:
    """Bytes [start, stop) of a file; fewer where it ends sooner."""
    if not is_local(path):
        return remote(path).read_range(path, start, stop)
    with open_read(path, start) as file, errors_of(path):
        return file.read(stop - start)


def read_ranges(path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Several [start, stop) of a file, all of which are there, several at a time."""
    if not is_local(path):
        return remote(path).read_ranges(path, ranges)
    return [read_range(path, start, stop) for start, stop in ranges]


def read_bytes(path: str) -> bytes:
    """All of a file."""
    if not is_local(path):
        return remote(path).read(path)
    with open_read(path) as file, errors_of(path):
        return file.read()


def checksum(path: str | Path, once: bool = False) -> str:
    """XXH3-128 of a file's bytes, in hexadecimal: finds damage, and costs nothing beside the reading.

    once   it is not read again soon: it does not stay in the system's memory
    """
    path = str(path)
    with open_read(path) as file, errors_of(path):
        if CAN_ADVISE and is_local(path):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)  # reads further ahead
        # By blocks that stay in the processor's cache, in one place: three times as fast as by megabytes.
        digest = str(hashlib.file_digest(file, xxhash.xxh3_128).hexdigest())  # type: ignore[arg-type]
        if once and CAN_ADVISE and is_local(path):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return digest


def exists(path: str) -> bool:
    """Whether there is a file, or a local folder, of this name now."""
    with errors_of(path):
        if is_local(path):
            return Path(local_path(path)).exists()
    return remote(path).exists(path)


def size_of(path: str) -> int | None:
    """Bytes of a file, None if there is none. A listing may be behind: this asks for the file."""
    if not is_local(path):
        return remote(path).size(path)
    with errors_of(path):
        file = Path(local_path(path))
        return file.stat().st_size if file.is_file() else None


def list_dir(path: str) -> list[str]:
    """The names in a folder, sorted; unfinished writes are left out. Empty where there is no such folder."""
    with errors_of(path):
        if is_local(path):
            names = local.list_dir(path)
        else:
            files, folders = remote(path).folder(path)
            names = [*files, *folders]
    return sorted({name for name in names if name and not name.startswith(TEMPORARY)})


def list_sizes(path: str) -> dict[str, int]:
    """name -> bytes of the files in a folder; unfinished writes are left out. Empty where there is no such folder."""
    with errors_of(path):
        sizes = local.list_sizes(path) if is_local(path) else remote(path).folder(path)[0]
    return {name: size for name, size in sizes.items() if not name.startswith(TEMPORARY)}


def list_tree(path: str) -> dict[str, str]:
    """Relative name -> what changes when the content does, of all files below a remote folder, those too that `expand`
    passes over."""
    marks = remote(path).tree(path)
    return {name: mark for name, mark in marks.items() if not name.rpartition("/")[2].startswith(TEMPORARY)}


def download(path: str, target: Path) -> None:
    """A copy of a remote file on this machine, whole under its name or not there at all."""
    with errors_of(path), local.temporary(target) as draft:
        remote(path).download(path, draft)
        system.replace(draft, target)


def upload(source: Path, path: str) -> None:
    """A file of this machine under a remote name, which exists when all of it is there."""
    remote(path).upload(source, path)


def copy(source: str, target: str) -> None:
    """A second name for a file: a hard link where the file system has them, else a copy.

    Both are local, or both in the same object store, which copies without a way through this machine.
    """
    if is_local(source):
        local.copy(source, target)
    else:
        remote(source).copy(source, target)


def move(source: str, target: str) -> None:
    """Give a file, or a local folder, another name, which nothing has. In an object store it is copied and removed."""
    if is_local(source):
        local.move(source, target)
    else:
        copy(source, target)
        remove(source)


# ------------------------------------------------------------------ writing


def create_once(path: str, data: bytes) -> bool:
    """Create a file that does not exist yet. True for the one caller that did, False if it was there.

    Whoever sees the name sees all of the content. Local: write under another name, fsync, link(2), fsync
    the folder. Object stores: a conditional put. Raises StorageError on a place that can do neither, and where it
    cannot be found out who did: then the file is there or not, and whole if it is.
    """
    return local.create_once(path, data) if is_local(path) else remote(path).create_once(path, data)


def write_atomic(path: str, data: bytes) -> None:
    """Write a whole file, replacing what was there in one step."""
    if not is_local(path):
        remote(path).write(path, data)
        return
    with open_write(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_write(path: str) -> Iterator[IO[bytes]]:
    """A file open for writing that gets its name, synced, when the block ends well, and leaves nothing otherwise."""
    if is_local(path):
        with local.writing(path) as file:
            yield file
        return
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
        draft = Path(folder, "draft")
        with draft.open("wb") as file:
            yield file
        upload(draft, path)


def make_dir(path: str) -> None:
    """A folder and those above it, synced; nothing to do in an object store."""
    if is_local(path):
        local.make_dir(path)


def remove(path: str) -> None:
    """Remove a file; nothing to do if it is gone already."""
    with errors_of(path), contextlib.suppress(FileNotFoundError):
        if is_local(path):
            Path(local_path(path)).unlink()
        else:
            remote(path).remove(path)


def remove_files(paths: Sequence[str]) -> None:
    """Remove files of one place, many at a time where it is an object store; nothing to do for those that are gone."""
    if paths and not is_local(paths[0]):
        remote(paths[0]).remove_files(paths)
    else:
        for path in paths:
            remove(path)


def remove_unfinished(path: str, older_s: float = DAY) -> None:
    """Remove what killed processes have left of files that they were writing, in a folder and all below it.

    older_s   in an object store, only of uploads that began so many seconds ago: others may be at work. Of a local
              folder all is removed: only while nobody writes there.
    """
    if is_local(path):
        local.remove_unfinished(path)
    else:
        remote(path).remove_unfinished(path, older_s)


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it; nothing to do if it is gone already."""
    with errors_of(path), contextlib.suppress(FileNotFoundError):
        if is_local(path):
            shutil.rmtree(local_path(path), ignore_errors=True)
        else:
            remote(path).remove_tree(path)


def fsync_dir(path: str) -> None:
    """Make the names in a local folder survive a loss of power; nothing to do in an object store."""
    if is_local(path):
        local.fsync_dir(path)


def requests() -> dict[str, int]:
    """Requests to object stores that this process has made so far, by kind: get, head, list, put, part, copy, delete.
    Those that were repeated below are counted once."""
    return dict(objects.asked)
