"""The names of places: local paths, and URLs."""

# Places are strings, and most of them no local paths; pathlib would rewrite them ("./a" to "a").
# ruff: noqa: PTH111

import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from corpusmill.assets import DEMO, demo_path

TEMPORARY = ".writing-"  # what names of unfinished local files begin with
WILD = set("*?[")
FOLDER = "folder:"  # what fingerprints of folders begin with
BLOCK = 8 << 20  # bytes; requests below this are dominated by latency on object stores
ODD = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class FileInfo:
    """One input file, as it was when the run was planned."""

    path: str  # as the recipe's pattern found it: what opens the file; `printable` in what is written
    name: str  # relative to the folder that all patterns share, with "/": what document ids are made of
    size: int  # bytes
    fingerprint: str  # "mtime:<ns>", or "etag:<value>" in an object store: changes when the content does
    beside: tuple["FileInfo", ...] = ()  # files read together with it: their names say what for, it has their marks too

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder that is read as one input: its fingerprint is that of all files in it."""
        return self.fingerprint.startswith(FOLDER)


@dataclass(frozen=True)
class Entry:
    """A remote file as a listing has it: its full name, bytes, and what changes when its content does."""

    path: str
    size: int
    mark: str


def printable(path: str) -> str:
    r"""A path as records hold it. One that is not UTF-8 has its odd bytes as \xff, and its backslashes twice.

    >>> print(printable("data/a.txt"), printable("data/caf\udce9.txt"))
    data/a.txt data/caf\xe9.txt
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return ODD.sub(_escaped, path.replace("\\", "\\\\"))
    return path


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    # Python shows a byte that is not UTF-8 as a code from U+DC80 on; others are of Windows, whose names are UTF-16.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def is_local(path: str) -> bool:
    """Whether a place is a path on this machine's file systems; demo://NAME is one of the package's data."""
    return scheme_of(path) in ("", "file", "local", DEMO)


def join(place: str, *parts: str) -> str:
    """A place below another one.

    >>> join("s3://bucket/run", "commits", "1.json"), join("runs/web", "commits")
    ('s3://bucket/run/commits/1.json', 'runs/web/commits')
    """
    return (
        "/".join([place.rstrip("/") or "/", *parts])
        if not is_local(place)
        else str(PurePosixPath(local_path(place), *parts))
    )


def scheme_of(path: str) -> str:
    head, separator, _ = path.partition("://")
    return head.lower() if separator else ""


def local_path(path: str) -> str:
    """The path of a local place, which may be written file://… or demo://…, or begin with ~."""
    if scheme_of(path) == DEMO:
        return demo_path(path).as_posix()
    return os.path.expanduser(path.partition("://")[2] if "://" in path else path)


def is_hidden(name: str) -> bool:
    """Whether a file or a folder above it begins with "." or "_", by its relative name."""
    return any(part.startswith((".", "_")) for part in name.split("/"))


def relative(path: str, root: str) -> str:
    root = root.rstrip("/")
    return path[len(root) :].lstrip("/") if root and path.startswith(f"{root}/") else path.lstrip("/")


def before_wildcard(pattern: str) -> str:
    """The folder above the first part of a path that holds a wildcard."""
    parts = pattern.split("/")
    first = next(i for i, part in enumerate(parts) if WILD & set(part))
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else "")
