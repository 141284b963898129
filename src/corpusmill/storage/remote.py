"""What is asked of remote places, and who answers: obstore for object stores, fsspec for all others."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from corpusmill.storage import objects, others
from corpusmill.storage.places import ListedFile, scheme_of


class Remote(Protocol):
    """Each function takes the full name of a file or folder, asks again where the trouble may pass, and raises
    InputError if there is no such file, StorageError for all else."""

    def name(self, path: str, /) -> str:
        """The name as the store itself writes it, so that names compare."""

    def glob(self, pattern: str, /) -> list[ListedFile]:
        """The files that a pattern names."""

    def find(self, path: str, /) -> tuple[bool, list[ListedFile]]:
        """Whether it is a folder, and the files below it; or the file itself; or nothing."""

    def read(self, path: str, /) -> bytes:
        """All of a file."""

    def read_range(self, path: str, start: int, stop: int, /) -> bytes:
        """Bytes [start, stop) of a file; fewer where it ends sooner."""

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]], /) -> list[bytes]:
        """Several [start, stop) of a file, all of which are there."""

    def reading(self, path: str, /) -> io.RawIOBase:
        """A file open for reading."""

    def exists(self, path: str, /) -> bool:
        """Whether there is a file of this name now."""

    def size(self, path: str, /) -> int | None:
        """Bytes of a file, by asking for it and not by a listing; None if there is none."""

    def folder(self, path: str, /) -> tuple[dict[str, int], list[str]]:
        """Names and bytes of the files in a folder, and the names of the folders in it."""

    def tree(self, path: str, /) -> dict[str, str]:
        """Relative name -> what changes when the content does, of all files below a folder."""

    def download(self, path: str, target: Path, /) -> None:
        """Write a file's bytes to a local path."""

    def upload(self, source: Path, path: str, /) -> None:
        """Write a local file's bytes under a name, which exists when all of it is there."""

    def write(self, path: str, data: bytes, /) -> None:
        """Write a whole file in one step."""

    def create_once(self, path: str, data: bytes, /) -> bool:
        """See `storage.create_once`."""

    def copy(self, source: str, target: str, /) -> None:
        """Copy a file within a store."""

    def remove(self, path: str, /) -> None:
        """Remove a file; nothing to do if it is gone already."""

    def remove_files(self, paths: Sequence[str], /) -> None:
        """Remove files of one store; nothing to do for those that are gone already."""

    def remove_tree(self, path: str, /) -> None:
        """Remove a folder with all that is in it."""

    def remove_unfinished(self, path: str, older_s: float, /) -> None:
        """Remove what is left of uploads into a folder that began this many seconds ago and did not end."""


def remote(path: str) -> Remote:
    return objects if scheme_of(path) in objects.SCHEMES else others
