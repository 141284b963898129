"""The names of places: local paths, and URLs.

A remote file has a name and an address. The name is what everything knows it by, and what is written: its URL
`without_secrets`. The address, with user, password and signature, is in memory alone, and is looked up when a request
is made. It reaches other processes with the `FileInfo` that is sent to them, and no record of a run.
"""

# Places are strings, and most of them no local paths; pathlib would rewrite them ("./a" to "a").
# ruff: noqa: PTH111

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from corpusmill.assets import DEMO_SCHEME, demo_path
from corpusmill.hidden import USER, know_address, without_secrets
from corpusmill.system import WINDOWS

TEMPORARY = ".writing-"  # what names of unfinished local files begin with
WILD = set("*?[")
FOLDER = "folder:"  # what fingerprints of folders begin with
SHARD_NUMBER = re.compile(r"[-.]\d{1,7}-of-\d{1,7}(?=\.|$)")
ENDINGS = {".gzip": ".gz", ".zstd": ".zst", ".bzip2": ".bz2"}  # other spellings of those of compressed files
BLOCK = 8 << 20  # bytes; requests below this are dominated by latency on object stores
DRIVE = re.compile("^/(?=[A-Za-z]:)")  # before the drive in file:///C:/data
SURROGATES = re.compile("[\ud800-\udfff]")
S3, GS, AZURE = ("s3", "s3a"), ("gs", "gcs"), ("az", "abfs", "abfss")
_addresses: dict[str, str] = {}  # name -> address, of remote files whose address is another
_users: dict[str, str] = {}  # https://host -> user and password that something of it was last named with


@dataclass(frozen=True)
class FileInfo:
    """One input file, as it was when the run was planned."""

    path: str  # as the recipe's pattern found it, a URL by its name: what opens it; `printable` in what is written
    name: str  # relative to the folder that all patterns share, with "/": what document ids are made of
    size: int  # bytes
    fingerprint: str  # "mtime:<ns>", or "etag:<value>" in an object store: changes when the content does
    beside: tuple["FileInfo", ...] = ()  # files read together with it: their names say what for, it has their marks too

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder that is read as one input: its fingerprint is that of all files in it."""
        return self.fingerprint.startswith(FOLDER)

    def __reduce__(self) -> tuple[Callable[..., "FileInfo"], tuple[Any, ...]]:
        """Sent to another process, it can be asked for there."""
        return _received, (_addresses.get(self.path, ""), *(getattr(self, part.name) for part in fields(self)))


def _received(address: str, *parts: Any) -> FileInfo:
    if address:
        register_address(address)
    return FileInfo(*parts)


@dataclass(frozen=True)
class ListedFile:
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
        return SURROGATES.sub(_escaped, path.replace("\\", "\\\\"))
    return path


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    # Python shows a byte that is not UTF-8 as a code from U+DC80 on; others are of Windows, whose names are UTF-16.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def last_part(name: str) -> str:
    """The last part of a URL or key."""
    return name.rstrip("/").rpartition("/")[2]


def has_ending(path: str, endings: Iterable[str]) -> bool:
    """Whether the name of a file has one of these endings: in small letters or capitals, with the number of its shard
    anywhere, and with any usual spelling of what it is compressed with.

    >>> names = ("A.JSONL", "a.jsonl.gzip", "a.jsonl-00000-of-00002", "a.jsonl-00000-of-00002.GZ", "a.json")
    >>> [has_ending(name, [".jsonl", ".jsonl.gz"]) for name in names]
    [True, True, True, True, False]
    """
    name = SHARD_NUMBER.sub("", last_part(path).lower())
    stem, dot, ending = name.rpartition(".")
    name = stem + ENDINGS.get(dot + ending, dot + ending)
    return name.endswith(tuple(map(str.lower, endings)))


def is_local(path: str) -> bool:
    """Whether a place is a path on this machine's file systems; demo://NAME is one of the package's data."""
    return scheme_of(path) in ("", "file", "local", DEMO_SCHEME)


def name_of(address: str) -> str:
    """The name of a place. A key in an object store is one as it is: a "?" is a part of it.

    >>> name_of("https://me:pass@host/a.gz?sig=1"), name_of("s3://bucket/page?sig=1"), name_of("data/page?sig=1")
    ('https://host/a.gz', 's3://bucket/page?sig=1', 'data/page?sig=1')
    """
    return address if is_local(address) or scheme_of(address) in (*S3, *GS, *AZURE) else without_secrets(address)


def register_address(address: str) -> str:
    """The name of a place, which from now on is asked for by this address."""
    name = name_of(address)
    if name != address:
        _addresses[name] = address
        know_address(address)
        if user := USER.search(address):
            _users[_origin(name)] = user[2]
    return name


def address_of(name: str) -> str:
    """What a remote file is asked for by. One that was never named, but is beside others, is read as the same user."""
    user = _users.get(_origin(name))
    return _addresses.get(name) or (name.replace("://", f"://{user}@", 1) if user and name_of(name) == name else name)


def _origin(name: str) -> str:
    return "/".join(name.split("/", 3)[:3])


def join(folder: str, *parts: str) -> str:
    """A place below another one.

    >>> join("s3://bucket/run", "commits", "1.json"), join("runs/web", "commits")
    ('s3://bucket/run/commits/1.json', 'runs/web/commits')
    """
    return (
        "/".join([folder.rstrip("/") or "/", *parts])
        if not is_local(folder)
        else str(PurePosixPath(local_path(folder), *parts))
    )


def scheme_of(path: str) -> str:
    """The scheme of a URL, "" of a path. One letter is that of a drive.

    >>> [scheme_of(path) for path in ("S3://bucket/a", "data/a.jsonl", "C://data", "C:/data")]
    ['s3', '', '', '']
    """
    head, separator, _ = path.partition("://")
    return head.lower() if separator and len(head) > 1 else ""


def local_path(path: str, windows: bool = WINDOWS) -> str:
    r"""The path of a local place, which may be written file://… or demo://…, or begin with ~. It has "/" between its
    folders on every system: names of files, of which ids are made, are the same on all.

    windows   whether it is a path of Windows

    >>> [local_path(path, windows=True) for path in (r"C:\web\a.jsonl", r"\\host\web", "file:///C:/web")]
    ['C:/web/a.jsonl', '//host/web', 'C:/web']
    >>> [local_path(path, windows=False) for path in (r"web\a.jsonl", "file:///C:/web")]
    ['web\\a.jsonl', '/C:/web']
    """
    scheme = scheme_of(path)
    if scheme == DEMO_SCHEME:
        return demo_path(path).as_posix()
    path = os.path.expanduser(path.partition("://")[2] if scheme else path)
    return with_slashes(DRIVE.sub("", path) if scheme and windows else path, windows)


def with_slashes(path: str, windows: bool = WINDOWS) -> str:
    """A path that the system has put together, with "/" between its folders."""
    return path.replace("\\", "/") if windows else path


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
