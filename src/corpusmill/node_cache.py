"""Files of remote runs on this machine: fetched once, and removed when there are too many of them.

Files that count in a run never change, so what is here under a name is what is there. The folder is

    $CORPUSMILL_NODE_CACHE, else <the system's folder for temporary files>/corpusmill-<user>/node

and holds at most $CORPUSMILL_NODE_CACHE_GB (20) gigabytes of fetched files: the least recently used are removed first.
A file that a worker has mapped can be removed meanwhile; the system keeps its pages.
"""

import getpass
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corpusmill import storage

GIGABYTES = 20.0


@dataclass(frozen=True)
class NodeCache:
    """The files of one remote run. `limit` is in bytes, for all runs together."""

    place: str
    root: Path
    limit: int

    @staticmethod
    def of(place: str) -> "NodeCache":
        root = os.environ.get("CORPUSMILL_NODE_CACHE")
        folder = Path(root) if root else Path(tempfile.gettempdir()) / f"corpusmill-{getpass.getuser()}" / "node"
        limit = float(os.environ.get("CORPUSMILL_NODE_CACHE_GB", GIGABYTES))
        return NodeCache(place, folder, int(limit * 1e9))

    def fetch(self, name: str) -> Path:
        """Where a remote file is on this machine."""
        path = self._path("files", name)
        if path.exists():
            os.utime(path)
        else:
            storage.download(name, path)
            self._make_room(path)
        return path

    def forget(self, name: str) -> None:
        """Remove what is here of a remote file: it is fetched again when it is read next."""
        self._path("files", name).unlink(missing_ok=True)

    def fetch_folder(self, name: str, written: Iterable[str] = ()) -> Path:
        """A remote folder, with all that is below it, as a folder of this machine.

        written   what is there at least, by relative names: a listing of it may be behind
        """
        target = self._path("folders", name)
        target.mkdir(parents=True, exist_ok=True)
        record = target.with_name(f"{target.name}.fetched")
        fetched = json.loads(record.read_bytes()) if record.exists() else {}
        there = storage.list_tree(name)
        wanted = {relative: there.get(relative, "") for relative in (*there, *written)}
        for path in [path for path in target.rglob("*") if path.is_file()]:
            if path.relative_to(target).as_posix() not in wanted:
                path.unlink()
        for relative, mark in sorted(wanted.items()):
            path = target / relative
            if not mark or fetched.get(relative) != mark or not path.exists():
                storage.download(storage.join(name, relative), path)
        storage.write_atomic(str(record), json.dumps(wanted).encode())
        return target

    def draft(self, name: str) -> Path:
        """Where a new file is written before `upload` sends it."""
        return self._path("drafts", name)

    def upload(self, name: str) -> None:
        """Send a draft to its name; from then on it is read like any other file."""
        draft, path = self.draft(name), self._path("files", name)
        storage.upload(draft, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.replace(path)
        self._make_room(path)

    def _path(self, kind: str, name: str) -> Path:
        below = name.removeprefix(self.place.rstrip("/")).lstrip("/")
        run = hashlib.sha256(self.place.encode()).hexdigest()[:16]
        return self.root / kind / run / below

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used files while there are more bytes than `limit`."""
        files = []
        for folder, _, names in os.walk(self.root / "files"):
            for name in names:
                path = Path(folder, name)
                try:
                    status = path.stat()
                except FileNotFoundError:  # another process made room
                    continue
                files.append((status.st_mtime_ns, status.st_size, path))
        size = sum(size for _, size, _ in files)
        for _, bytes_, path in sorted(files):
            if size <= self.limit:
                break
            if path != newest:
                path.unlink(missing_ok=True)
                size -= bytes_
