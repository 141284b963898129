"""Remote places through fsspec: hf://, https://, and every other scheme that it knows; see `remote.Remote`."""

import contextlib
import io
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from corpusmill.assets.extras import HTTP
from corpusmill.errors import InputError, StorageError, did_you_mean
from corpusmill.retry import http_status, may_pass, patiently
from corpusmill.storage import pace, web
from corpusmill.storage.object_file import ObjectFile
from corpusmill.storage.places import BLOCK, ListedFile, address_of, last_part, scheme_of
from corpusmill.storage.trouble import errors_of, first_line

EXTRAS = {"http": HTTP, "https": HTTP}
CREATES_ONCE = {"memory"}  # whose pipe_file(mode="create") is conditional
NOT_THERE = (404, 410)
PATIENT_ATTEMPTS = 10  # two minutes, of a server that is asked with manners and answers that it is asked too often
T = TypeVar("T")


def name(path: str) -> str:
    return ask(path, lambda fs, inner: str(fs.unstrip_protocol(inner)))


def glob(pattern: str) -> list[ListedFile]:
    return ask(pattern, lambda fs, inner: _entries(fs, fs.glob(inner, detail=True)))


def find(path: str) -> tuple[bool, list[ListedFile]]:
    def look(fs: Any, inner: str) -> tuple[bool, list[ListedFile]]:
        try:
            info = _info(fs, inner)
        except FileNotFoundError:
            return False, []
        if info["type"] == "directory":
            return True, _entries(fs, fs.find(inner, detail=True))
        return False, [ListedFile(fs.unstrip_protocol(inner), _size(fs, inner, info), _mark(info))]

    return ask(path, look)


def _entries(fs: Any, listing: dict[str, dict[str, Any]]) -> list[ListedFile]:
    return [
        ListedFile(fs.unstrip_protocol(name), _size(fs, name, info), _mark(info))
        for name, info in listing.items()
        if info["type"] == "file"
    ]


def _size(fs: Any, path: str, info: dict[str, Any]) -> int:
    size = info.get("size")
    return int(size if size is not None else fs.size(path) or 0)


def _mark(info: dict[str, Any]) -> str:
    """What a store says of a file's content: the first of these that it gives."""
    for key in ("ETag", "etag", "blob_id", "md5Hash", "generation"):
        if info.get(key):
            return f"etag:{info[key]}".replace('"', "")
    for key in ("LastModified", "last_modified", "mtime", "created"):
        if info.get(key):
            return f"mtime:{info[key]}"
    return f"size:{info.get('size')}"


def read(path: str) -> bytes:
    return ask(path, lambda fs, inner: cast(bytes, fs.cat_file(inner)))


def read_range(path: str, start: int, stop: int) -> bytes:
    if scheme_of(path) in EXTRAS:
        return ask(path, lambda fs, inner: web.read_range(fs, inner, start, stop)) if stop > start else b""
    # The Hub's files are read 5 MB ahead by default.
    options = {"cache_type": "none"} if scheme_of(path) == "hf" else {}
    return ask(path, lambda fs, inner: cast(bytes, fs.cat_file(inner, start=start, end=stop, **options)))


def read_ranges(path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    return [read_range(path, start, stop) for start, stop in ranges]


def exists(path: str) -> bool:
    return ask(path, lambda fs, inner: bool(_fresh(fs).exists(inner)))


def size(path: str) -> int | None:
    def look(fs: Any, inner: str) -> int | None:
        try:
            return int(_info(_fresh(fs), inner)["size"] or 0)
        except FileNotFoundError:
            return None

    return ask(path, look)


def folder(path: str) -> tuple[dict[str, int], list[str]]:
    def look(fs: Any, inner: str) -> tuple[dict[str, int], list[str]]:
        try:
            entries = _fresh(fs).ls(inner, detail=True)
        except FileNotFoundError:
            return {}, []
        files = {last_part(e["name"]): int(e["size"] or 0) for e in entries if e["type"] == "file"}
        return files, [last_part(entry["name"]) for entry in entries if entry["type"] != "file"]

    return ask(path, look)


def tree(path: str) -> dict[str, str]:
    def look(fs: Any, inner: str) -> dict[str, str]:
        root = fs._strip_protocol(inner).strip("/") + "/"
        listing = _fresh(fs).find(inner, detail=True)
        return {name.lstrip("/").removeprefix(root): f"{info['size']} {_mark(info)}" for name, info in listing.items()}

    return ask(path, look)


def download(path: str, target: Path) -> None:
    ask(path, lambda fs, inner: fs.get_file(inner, str(target)))


def upload(source: Path, path: str) -> None:
    ask(path, lambda fs, inner: fs.put_file(str(source), inner))


def write(path: str, data: bytes) -> None:
    ask(path, lambda fs, inner: fs.pipe_file(inner, data))


def copy(source: str, target: str) -> None:
    ask(target, lambda fs, inner: fs.cp_file(_file_system(source)[1], inner))


def create_once(path: str, data: bytes) -> bool:
    if scheme_of(path) not in CREATES_ONCE:
        raise StorageError(
            f"{path}: {scheme_of(path)}:// cannot create a file only if it does not exist, which commits need. "
            f"Write to a local path or to one of: az, gs, s3."
        )
    attempts = 0

    def create(fs: Any, inner: str) -> bool:
        nonlocal attempts
        attempts += 1
        try:
            fs.pipe_file(inner, data, mode="create")
        except FileExistsError:
            # The answer to an attempt before may have been lost after the file was made.
            return attempts > 1 and cast(bytes, fs.cat_file(inner)) == data
        return True

    return ask(path, create)


def remove(path: str) -> None:
    ask(path, lambda fs, inner: _unless_gone(fs.rm_file, inner))


def remove_files(paths: Sequence[str]) -> None:
    for path in paths:
        remove(path)


def remove_tree(path: str) -> None:
    ask(path, lambda fs, inner: _unless_gone(_fresh(fs).rm, inner, recursive=True))


def remove_unfinished(path: str, older_s: float) -> None:
    """Nothing: what fsspec leaves half done is not to be seen through it."""


def _unless_gone(remove: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    with contextlib.suppress(FileNotFoundError):
        remove(*arguments, **options)


def _fresh(fs: Any) -> Any:
    """A file system that has forgotten its listings, which it caches: other workers write."""
    fs.invalidate_cache()
    return fs


def ask(path: str, question: Callable[[Any, str], T]) -> T:
    """The answer of a remote file system, which is given itself and the path inside it; asked again where the trouble
    may pass. Raises InputError if there is no such file, StorageError for all else."""
    fs, inner = _file_system(path)
    asking = partial(_ask_once, question, fs, inner)
    with errors_of(path):
        if (manners := pace.manners_of(path)) is None:
            return patiently(asking)
        return patiently(partial(_ask_in_turn, path, manners, asking), _may_pass, PATIENT_ATTEMPTS)


def _ask_once(question: Callable[[Any, str], T], fs: Any, inner: str) -> T:
    try:
        return question(fs, inner)
    except FileNotFoundError as error:
        raise _answered(error) from None


def _answered(error: FileNotFoundError) -> BaseException:
    """What a server has answered: fsspec's question about a file says that it is not there, whatever that was."""
    cause = error.__cause__
    if not isinstance(cause, Exception):
        return error
    status = http_status(cause)
    return cause if (may_pass(cause) if status is None else status not in NOT_THERE) else error


def _info(fs: Any, inner: str) -> dict[str, Any]:
    try:
        return cast(dict[str, Any], fs.info(inner))
    except FileNotFoundError as error:
        raise _answered(error) from None


def _ask_in_turn(path: str, manners: pace.Manners, asking: Callable[[], T]) -> T:
    pace.take_turn(path, manners)
    try:
        return asking()
    except Exception as error:
        pace.slow_down(path, error)
        raise


def _may_pass(error: Exception) -> bool:
    return may_pass(error) or http_status(error) in pace.SLOW_DOWN


def _file_system(path: str) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the path inside it."""
    import fsspec

    scheme = scheme_of(path)
    manners = pace.manners_of(path)
    settings = {"client_kwargs": {"headers": {"User-Agent": manners.user_agent}}} if manners else {}
    try:
        fs, inner = fsspec.core.url_to_fs(address_of(path), **settings)
    except ImportError as error:
        if scheme not in EXTRAS:  # of the many places that fsspec knows: it names the package
            raise InputError(f"{path}: {first_line(error)}") from error
        raise EXTRAS[scheme].error(f"reading and writing {scheme}://") from error
    except ValueError as error:
        schemes = fsspec.available_protocols()
        if scheme in schemes:
            raise InputError(f"{path}: {first_line(error)}") from error
        raise InputError(
            f'{path}: "{scheme}" is no kind of place that is known{did_you_mean(scheme, schemes)}'
        ) from error
    except Exception as error:  # what a file system's library makes of a name
        raise InputError(f"{path}: {first_line(error)}") from error
    return fs, inner


class RemoteFile(io.RawIOBase):
    """A remote file. Where reading breaks off, it is opened again and read on from there.

    A server that gives no ranges is read from the beginning again, up to there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._file: Any = ask(path, lambda fs, inner: fs.open(inner, "rb", block_size=BLOCK))
        self._size: int | None = getattr(self._file, "size", None)
        self._seeks = bool(self._file.seekable())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._seeks

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END and self._size is None:
            raise io.UnsupportedOperation(f"{self._path}: its size is not known")
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size or 0}[whence]
        if self._file is not None:
            self._file.seek(self._at)
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = ask(self._path, lambda fs, inner: self._read(fs, inner, len(view)))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._forget()
        super().close()

    def _open(self, fs: Any, inner: str) -> None:
        self._file = fs.open(inner, "rb", block_size=BLOCK)
        if self._at and self._file.seekable():
            self._file.seek(self._at)
        elif self._at:
            remaining = self._at
            while remaining and (passed := self._file.read(min(remaining, BLOCK))):
                remaining -= len(passed)

    def _read(self, fs: Any, inner: str, count: int) -> bytes:
        try:
            if self._file is None:
                self._open(fs, inner)
            data: bytes = self._file.read(count)
            if not data and count and self._at < (self._size or 0):
                raise ConnectionError(f"it breaks off at byte {self._at} of {self._size}")
        except Exception:
            self._forget()
            raise
        return data

    def _forget(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(Exception):
                file.close()


def reading(path: str) -> io.RawIOBase:
    if pace.manners_of(path) is None:
        return RemoteFile(path)
    if (count := size(path)) is None:
        raise InputError(f"{path}: no such file or folder")
    return ObjectFile(count, partial(read_range, path))
