"""Files of remote runs on this machine: fetched once, and removed when there are too many of them.

Files that count in a run never change, so what is here under a name is what is there. The folder is

    $CORPUSMILL_NODE_CACHE, else <the system's folder for temporary files>/corpusmill-<user>/node

and holds at most $CORPUSMILL_NODE_CACHE_GB (20) gigabytes of fetched files: the least recently used are removed first.
It must be this user's own, and nobody else may write to it: others could put links there. A run's folder in it is made
with a mark, and where that is missing nothing is written or removed.
A file that a worker has mapped can be removed meanwhile; the system keeps its pages. Of files that are too large
together, of which each unit reads a slice, the blocks alone are fetched that are read: see `FetchedBlocks`.
"""

import contextlib
import getpass
import hashlib
import json
import mmap
import os
import stat
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from corpusmill import storage, system
from corpusmill.errors import InputError, StorageError

GIGABYTES = 20.0
BLOCK = 1 << 12
APART = 16  # blocks between two that are wanted, which are fetched with them in one request
MOST = 1 << 10  # blocks of a request: more are several
OF_RUN = 16  # letters in the name of a run's folder
MARK = ".corpusmill-cache"  # a file in every folder of a run that the cache has made
CHECKED = 64  # how often the folder's size is looked at while as much as it may hold is fetched in blocks
BOOT = "boot"  # of a machine that lost power a block may be marked and not be there: what it had is not read
with contextlib.suppress(OSError):
    BOOT = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
_fetched = Counter[str]()  # folder -> bytes in blocks since it was looked at, by this process


@dataclass(frozen=True)
class NodeCache:
    """The files of one remote run. `limit` is in bytes, for all runs together."""

    place: str
    root: Path
    limit: int

    @staticmethod
    def at(location: str) -> "NodeCache":
        if root := os.environ.get("CORPUSMILL_NODE_CACHE"):
            folder = _own_folder(Path(root).absolute().resolve())
        else:
            folder = _own_folder(Path(tempfile.gettempdir()) / f"corpusmill-{getpass.getuser()}") / "node"
        return NodeCache(location, folder, _limit(os.environ.get("CORPUSMILL_NODE_CACHE_GB", str(GIGABYTES))))

    def fetch(self, name: str) -> Path:
        """Where a remote file is on this machine."""
        path = self._path("files", name)
        if path.exists():
            os.utime(path)
        else:
            storage.download(name, path)
            self._make_room(path)
        return path

    def blocks(self, name: str) -> "FetchedBlocks | None":
        """A remote file of which a part is read; None if all of it is on this machine."""
        return (
            None
            if self._path("files", name).exists()
            else FetchedBlocks(name, self._path(f"blocks/{BOOT}", name), self)
        )

    def has_fetched(self, path: Path, size: int) -> None:
        """`size` more bytes are in a file of blocks."""
        _fetched[str(self.root)] += size
        if _fetched[str(self.root)] >= self.limit / CHECKED:
            _fetched[str(self.root)] = 0
            self._make_room(path)

    def forget(self, name: str) -> None:
        """Remove what is here of a remote file: it is fetched again when it is read next."""
        for path in (self._path("files", name), self._path(f"blocks/{BOOT}", name)):
            path.unlink(missing_ok=True)

    def fetch_folder(self, name: str, written: Iterable[str] = ()) -> Path:
        """A remote folder, with all that is below it, as a folder of this machine.

        written   what is there at least, by relative names: a listing of it may be behind
        """
        target = self._path("folders", name)
        target.mkdir(parents=True, exist_ok=True)
        record = target.with_name(f"{target.name}.fetched")
        fetched = json.loads(record.read_bytes()) if record.exists() else {}
        marks = storage.list_tree(name)
        files = {relative: marks.get(relative, "") for relative in (*marks, *written)}
        for path in [path for path in target.rglob("*") if path.is_file()]:
            if path.relative_to(target).as_posix() not in files:
                path.unlink()
        for relative, mark in sorted(files.items()):
            path = target / relative
            if not mark or fetched.get(relative) != mark or not path.exists():
                storage.download(storage.join(name, relative), path)
        storage.write_atomic(str(record), json.dumps(files).encode())
        return target

    def draft(self, name: str) -> Path:
        """Where a new file is written before `upload` sends it."""
        return self._path("drafts", name)

    def upload(self, name: str) -> None:
        """Send a draft to its name; from then on it is read like any other file."""
        draft, path = self.draft(name), self._path("files", name)
        storage.upload(draft, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        system.replace(draft, path)
        self._make_room(path)

    def _path(self, kind: str, name: str) -> Path:
        below = name.removeprefix(self.place.rstrip("/")).lstrip("/")
        run = hashlib.sha256(f"{MARK} {self.place}".encode()).hexdigest()[:OF_RUN]
        top = self.root / kind / run
        if not _is_marked(top):
            _make_marked(top)
        return top / below

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used files while there are more bytes than `limit`."""
        files = []
        for top in self._tops():
            for folder, _, names in os.walk(top):
                for name in names:
                    path = Path(folder, name)
                    try:
                        status = path.lstat()
                    except FileNotFoundError:  # another process made room
                        continue
                    if name == MARK or not stat.S_ISREG(status.st_mode):
                        continue
                    size = min(status.st_size, getattr(status, "st_blocks", 1 << 60) * 512)  # not the holes
                    files.append((status.st_mtime_ns, size, path))
        size = sum(size for _, size, _ in files)
        for _, bytes_, path in sorted(files):
            if size <= self.limit:
                break
            if path != newest:
                path.unlink(missing_ok=True)
                size -= bytes_

    def _tops(self) -> Iterator[Path]:
        """The folders of runs in the cache that it has made, of which no part is a link."""
        for above in (self.root / "files", *(self.root / "blocks").glob("*")):
            if not any(folder.is_symlink() for folder in (self.root / "blocks", above)):
                yield from filter(_is_marked, above.glob("?" * OF_RUN))


def _limit(gigabytes: str) -> int:
    """Bytes. Raises InputError for what is no number of gigabytes."""
    with contextlib.suppress(ValueError, OverflowError):
        if (limit := int(float(gigabytes) * 1e9)) >= 0:
            return limit
    raise InputError(f"CORPUSMILL_NODE_CACHE_GB must be a number of gigabytes, got {gigabytes!r}; 20 is usual")


def _own_folder(folder: Path) -> Path:
    """A folder, made for this user alone. Raises StorageError if it is a link, or others own it or may write to it."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(0o700, parents=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        raise StorageError(
            f"{folder}: is a link, or another user's, so no files are kept there. Name a folder of your own: "
            "CORPUSMILL_NODE_CACHE=…"
        )
    if hasattr(os, "getuid") and status.st_mode & 0o022:
        mode = f"{status.st_mode & 0o777:o}"
        raise StorageError(
            f"{folder}: others can write to it (mode {mode}), so no files are kept there. Empty it if you do not trust "
            f"them, then: chmod go-w {folder}; or name a folder of your own: CORPUSMILL_NODE_CACHE=…"
        )
    return folder


def _is_marked(top: Path) -> bool:
    """Whether the cache has made a run's folder."""
    return not top.is_symlink() and (top / MARK).is_file() and not (top / MARK).is_symlink()


def _make_marked(top: Path) -> None:
    """Make a run's folder, with its mark from the beginning. Raises StorageError if something else has its name."""
    top.parent.mkdir(0o700, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="half-", dir=top.parent))
    (draft / MARK).touch()
    with contextlib.suppress(OSError):
        system.replace(draft, top)
        return
    (draft / MARK).unlink()
    draft.rmdir()
    if not _is_marked(top):  # another process may have been faster
        raise StorageError(
            f"{top}: the cache has not made this, and leaves it alone. Move it away, or name another folder: "
            "CORPUSMILL_NODE_CACHE=…"
        )


class FetchedBlocks:
    """A remote file on this machine, of which BLOCK bytes at a time are fetched when they are asked for.

    It is a file with holes. Behind its bytes are one for each block, 1 if it is there, and the remote file's size in
    eight. Processes that fetch the same write the same; a block is marked once all of it is written.
    """

    def __init__(self, name: str, path: Path, cache: NodeCache) -> None:
        self.name, self.path, self.cache = name, path, cache
        path.parent.mkdir(parents=True, exist_ok=True)
        # One file from here to the end, although it be removed meanwhile.
        self.file: IO[bytes] = open(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)), "r+b", 0)  # noqa: PTH123, SIM115
        weakref.finalize(self, self.file.close)
        length = self.file.seek(0, os.SEEK_END)
        self.file.seek(max(length - 8, 0))
        self.size = int.from_bytes(self.file.read(8), "little")
        if not self.size:
            size = storage.size_of(name)
            if size is None:
                raise InputError(f"{name}: no such file")
            self.size = size
        self.count = -(-self.size // BLOCK)
        self.marks = self.count * BLOCK
        if not length:
            self._write(self.marks + self.count, self.size.to_bytes(8, "little"))
        self.mapped = mmap.mmap(self.file.fileno(), self.marks + self.count + 8, access=mmap.ACCESS_READ)
        self.there = np.frombuffer(self.mapped, np.bool_, self.count, self.marks)

    def fetch(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        """Fetch the blocks that hold bytes [starts[i], stops[i]), as far as they are not there."""
        nonempty = stops > starts
        edges = np.bincount(starts[nonempty] // BLOCK, minlength=self.count + 1)
        edges -= np.bincount((stops[nonempty] - 1) // BLOCK + 1, minlength=self.count + 1)
        missing = np.flatnonzero((np.cumsum(edges)[:-1] > 0) & ~self.there)
        if not len(missing):
            return
        cuts = np.flatnonzero(np.diff(missing) > APART + 1) + 1
        runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(missing, cuts)]
        pieces = [(at, min(at + MOST, stop)) for first, stop in runs for at in range(first, stop, MOST)]
        ranges = [(first * BLOCK, min(stop * BLOCK, self.size)) for first, stop in pieces]
        for (first, stop), (start, end), data in zip(pieces, ranges, storage.read_ranges(self.name, ranges)):
            if len(data) != end - start:
                raise StorageError(f"{self.name}: it breaks off at byte {start + len(data)} of {end}")
            self._write(start, data)
            self._write(self.marks + first, b"\1" * (stop - first))
        self.cache.has_fetched(self.path, sum(end - start for start, end in ranges))

    def _write(self, at: int, data: bytes) -> None:
        self.file.seek(at)
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[self.file.write(unwritten) :]
