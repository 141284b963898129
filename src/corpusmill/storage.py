"""Places: finding, reading and writing files on local disks and, through fsspec, in object stores.

A place is a string: a local path, or a URL whose scheme fsspec knows (s3://, gs://, hf://, https://,
memory://). What a run relies on here:

- `expand` turns the patterns of a recipe into the same sorted list on every machine.
- `create_once` makes a file that did not exist, whole or not at all, for exactly one of any number of callers.
- `write_atomic` and `open_write` never leave half a file under the name that was asked for.

On local disks data and folder entries are fsynced before a call returns. Errors of the operating
system become StorageError with the path and, for a full disk, the room that is left.

Remote places are asked again where the trouble may pass (see `retry`), and a file that breaks off is read on from
where it did. What any library says in the end is one line, with the place.
"""

# Places are strings, and most of them no local paths; pathlib would rewrite them ("./a" to "a").
# ruff: noqa: PTH109, PTH111, PTH116, PTH118, PTH119, PTH120, PTH123, PTH207, PTH208

import contextlib
import errno
import glob
import io
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar, cast

import xxhash

from corpusmill.assets import DEMO, demo_path
from corpusmill.errors import CorpusmillError, InputError, MissingExtraError, StorageError, did_you_mean
from corpusmill.retry import http_status, is_unreachable, patiently

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf", "http": "http", "https": "http"}
LOGIN = {
    "hf": "Log in with: hf auth login (or set HF_TOKEN); a gated repository also wants its terms accepted on its page",
    "s3": "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "s3a": "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "Log in with: gcloud auth application-default login",
    "gcs": "Log in with: gcloud auth application-default login",
}
HOSTS = {"hf": "huggingface.co", "s3": "the S3 endpoint", "gs": "storage.googleapis.com"}
CREATES_ONCE = {"s3", "s3a", "gs", "gcs", "memory"}  # fsspec file systems whose pipe_file(mode="create") is conditional
ODD = re.compile("[\ud800-\udfff]")
WILD = set("*?[")
BUFFER = 1 << 20  # bytes that readers of small amounts have ahead
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
T = TypeVar("T")
BLOCK = 8 << 20  # bytes; requests below this are dominated by latency on object stores


@dataclass(frozen=True)
class FileInfo:
    """One input file, as it was when the run was planned."""

    path: str  # as the recipe's pattern found it: what opens the file; `printable` in what is written
    name: str  # relative to the folder that all patterns share, with "/": what document ids are made of
    size: int  # bytes
    fingerprint: str  # "mtime:<ns>", or "etag:<value>" in an object store: changes when the content does


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


def expand(patterns: str | Path | Sequence[str | Path], suffixes: tuple[str, ...] = ()) -> list[FileInfo]:
    """The files that patterns name, each once, sorted by name.

    patterns   a file, a folder (all files below it), a glob (`*`, `?`, `[…]`, `**`), or a list of these
    suffixes   of a folder, take only files that end in one of these; empty takes all

    Files and folders that begin with "." or "_" are passed over inside folders and by wildcards, as
    everywhere in this field. Raises InputError if a pattern names nothing, with the nearest name that exists.
    """
    patterns = [patterns] if isinstance(patterns, str | Path) else list(patterns)
    if not patterns:
        raise InputError("no input: the list of files is empty")
    chosen: dict[str, tuple[int, str]] = {}
    roots = []
    for pattern in map(str, patterns):
        root, files = _expand_one(pattern, suffixes)
        roots.append(root)
        chosen.update(files)
    root = _common_folder(roots)
    infos = [FileInfo(path, _relative(path, root), size, mark) for path, (size, mark) in chosen.items()]
    return sorted(infos, key=lambda info: info.name)


def stat(path: str) -> FileInfo:
    """One file by its path. Raises InputError if there is none."""
    return expand(glob.escape(path) if is_local(path) and WILD & set(path) else path)[0]


def _expand_one(pattern: str, suffixes: tuple[str, ...]) -> tuple[str, dict[str, tuple[int, str]]]:
    """(folder that names are relative to, path -> (size, fingerprint)) of one pattern."""
    if _scheme(pattern) == DEMO:
        return _expand_demo(pattern, suffixes)
    local = is_local(pattern)
    # Of a remote one as the store itself writes it, so that names compare.
    pattern = local_path(pattern) if local else _ask(pattern, lambda fs, inner: str(fs.unstrip_protocol(inner)))
    wild = bool(WILD & set(pattern)) and not (local and Path(pattern).exists())
    if wild:
        root = _before_wildcard(pattern)
        files = _local_files(glob.glob(pattern, recursive=True), root) if local else _remote_glob(pattern)
    elif local and Path(pattern).is_dir():
        root = pattern
        below = [os.path.join(folder, file) for folder, _, files in os.walk(pattern) for file in files]
        files = _local_files([path for path in below if not suffixes or path.endswith(suffixes)], root)
    elif local:
        root = os.path.dirname(pattern)
        files = _local_files([pattern] if Path(pattern).is_file() else [], None)
    else:
        root, files = _remote_place(pattern, suffixes)
    if not files:
        raise InputError(_nothing(pattern, local, suffixes))
    return root, files


def _expand_demo(pattern: str, suffixes: tuple[str, ...]) -> tuple[str, dict[str, tuple[int, str]]]:
    """As `_expand_one`: the files keep their scheme, so that a run's records are the same wherever the package is."""
    folder = local_path(f"{DEMO}://")
    _, files = _expand_one(local_path(pattern), suffixes)
    return f"{DEMO}://", {f"{DEMO}://{_relative(path, folder)}": found for path, found in files.items()}


def _local_files(paths: list[str], root: str | None) -> dict[str, tuple[int, str]]:
    """Size and fingerprint of the regular files among `paths`; hidden ones below `root` are passed over."""
    files = {}
    for path in paths:
        if root is not None and _hidden(_relative(path, root)):
            continue
        with _errors_of(path):
            if Path(path).is_file():
                status = os.stat(path)
                files[path] = (status.st_size, f"mtime:{status.st_mtime_ns}")
    return files


def _remote_glob(pattern: str) -> dict[str, tuple[int, str]]:
    root = _before_wildcard(pattern)
    return _ask(pattern, lambda fs, path: _remote_files(fs, fs.glob(path, detail=True), root))


def _remote_place(place: str, suffixes: tuple[str, ...]) -> tuple[str, dict[str, tuple[int, str]]]:
    def look(fs: Any, path: str) -> tuple[str, dict[str, tuple[int, str]]]:
        try:
            info = fs.info(path)
        except FileNotFoundError:
            return place, {}
        if info["type"] == "directory":
            entries = fs.find(path, detail=True)
            kept = {name: entry for name, entry in entries.items() if not suffixes or name.endswith(suffixes)}
            return place.rstrip("/"), _remote_files(fs, kept, place)
        return place.rpartition("/")[0], {place: (_size(fs, path, info), _mark(info))}

    return _ask(place, look)


def _remote_files(fs: Any, entries: dict[str, dict[str, Any]], root: str) -> dict[str, tuple[int, str]]:
    files = {}
    for name, info in entries.items():
        path = fs.unstrip_protocol(name)
        if info["type"] == "file" and not _hidden(_relative(path, root)):
            files[path] = (_size(fs, name, info), _mark(info))
    return files


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


def _nothing(pattern: str, local: bool, suffixes: tuple[str, ...]) -> str:
    """The message for a pattern that names nothing."""
    if WILD & set(pattern):
        return (
            f"{pattern}: no file matches. Patterns are relative to {os.getcwd()}."
            if local
            else f"{pattern}: no file matches."
        )
    if local and Path(pattern).is_dir():
        ending = f" that ends in {', '.join(suffixes)}" if suffixes else ""
        held = sorted(entry.name for entry in Path(pattern).iterdir())[:5]
        return f"{pattern}: the folder has no file{ending}. It holds: {', '.join(held) or 'nothing'}."
    folder = os.path.dirname(pattern) or "."
    if local and not Path(folder).is_dir():
        return f"{pattern}: there is no folder {folder}"
    there = os.listdir(folder) if local else _beside(pattern)
    return f"{pattern}: no such file{did_you_mean(os.path.basename(pattern), sorted(there))}"


def _beside(place: str) -> list[str]:
    """The names in the folder of a remote file that is not found. Whoever serves files alone may call so what it
    refuses, and what it cannot reach: the folder tells."""
    folder = place.rpartition("/")[0]
    try:
        return list_dir(folder)
    except StorageError as error:
        raise StorageError(f"{place}{str(error).removeprefix(folder)}") from error


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


def _before_wildcard(pattern: str) -> str:
    """The folder above the first part of a path that holds a wildcard."""
    parts = pattern.split("/")
    first = next(i for i, part in enumerate(parts) if WILD & set(part))
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else "")


def _common_folder(roots: list[str]) -> str:
    """The deepest folder that all roots lie in, "" where they share none."""
    split = [root.rstrip("/").split("/") for root in roots]
    same = 0
    while all(len(parts) > same and parts[same] == split[0][same] for parts in split):
        same += 1
    return "/".join(split[0][:same])


def _relative(path: str, root: str) -> str:
    root = root.rstrip("/")
    return path[len(root) :].lstrip("/") if root and path.startswith(f"{root}/") else path.lstrip("/")


def open_read(path: str, offset: int = 0) -> IO[bytes]:
    """A file open for reading bytes from `offset`. Raises InputError if there is none."""
    with _errors_of(path):
        if is_local(path):
            file: IO[bytes] = open(local_path(path), "rb")  # noqa: SIM115 - the caller closes it
        else:
            file = io.BufferedReader(_RemoteFile(path), BUFFER)
        if offset:
            file.seek(offset)
        return file


class _RemoteFile(io.RawIOBase):
    """A remote file. Where reading breaks off, it is opened again and read on from there.

    A server that gives no ranges is read from the beginning again, up to there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._file: Any = _ask(path, lambda fs, inner: fs.open(inner, "rb", block_size=BLOCK))
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
        data = _ask(self._path, lambda fs, inner: self._read(fs, inner, len(view)))
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
            left = self._at
            while left and (passed := self._file.read(min(left, BLOCK))):
                left -= len(passed)

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


def read_range(path: str, start: int, stop: int) -> bytes:
    """Bytes [start, stop) of a file; fewer where it ends sooner."""
    if is_local(path):
        with open_read(path, start) as file, _errors_of(path):
            return file.read(stop - start)
    return _ask(path, lambda fs, inner: cast(bytes, fs.cat_file(inner, start=start, end=stop)))


def read_bytes(path: str) -> bytes:
    """All of a file."""
    if not is_local(path):
        return _ask(path, lambda fs, inner: cast(bytes, fs.cat_file(inner)))
    with open_read(path) as file, _errors_of(path):
        return file.read()


def checksum(path: str | Path) -> str:
    """XXH3-128 of a file's bytes, in hexadecimal: finds damage, and costs nothing beside the reading."""
    path = str(path)
    digest = xxhash.xxh3_128()
    with open_read(path) as file, _errors_of(path):
        while block := file.read(BLOCK):
            digest.update(block)
    return str(digest.hexdigest())


def exists(path: str) -> bool:
    """Whether there is a file or folder of this name now."""
    if not is_local(path):
        return _ask(path, lambda fs, inner: bool(_fresh(fs).exists(inner)))
    with _errors_of(path):
        return Path(local_path(path)).exists()


def list_dir(path: str) -> list[str]:
    """The names in a folder, sorted; unfinished writes are left out. Empty where there is no such folder."""
    with _errors_of(path):
        if is_local(path):
            folder = local_path(path)
            names = os.listdir(folder) if Path(folder).is_dir() else []
        else:
            names = [name.rstrip("/").rpartition("/")[2] for name in _entries(path, detail=False)]
    return sorted(name for name in names if name and not name.startswith(TEMPORARY))


def list_sizes(path: str) -> dict[str, int]:
    """name -> bytes of the files in a folder; unfinished writes are left out. Empty where there is no such folder."""
    with _errors_of(path):
        if is_local(path):
            try:
                with os.scandir(local_path(path)) as entries:
                    sizes = {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
            except (FileNotFoundError, NotADirectoryError):
                sizes = {}
        else:
            there = _entries(path, detail=True)
            sizes = {e["name"].rpartition("/")[2]: int(e["size"] or 0) for e in there if e["type"] == "file"}
    return {name: size for name, size in sizes.items() if not name.startswith(TEMPORARY)}


def _entries(path: str, detail: bool) -> list[Any]:
    """What is in a remote folder."""

    def look(fs: Any, inner: str) -> list[Any]:
        try:
            return list(_fresh(fs).ls(inner, detail=detail))
        except FileNotFoundError:
            return []

    return _ask(path, look)


def _fresh(fs: Any) -> Any:
    """A file system that has forgotten its listings, which it caches: other workers write."""
    fs.invalidate_cache()
    return fs


def list_tree(path: str) -> dict[str, int]:
    """Relative name -> bytes of all files below a remote folder, those too that `expand` passes over."""

    def look(fs: Any, inner: str) -> dict[str, int]:
        root = fs._strip_protocol(inner).strip("/") + "/"
        entries = _fresh(fs).find(inner, detail=True)
        return {name.lstrip("/").removeprefix(root): int(entry["size"] or 0) for name, entry in entries.items()}

    sizes = _ask(path, look)
    return {name: size for name, size in sizes.items() if not name.rpartition("/")[2].startswith(TEMPORARY)}


def download(path: str, target: Path) -> None:
    """A copy of a remote file on this machine, whole under its name or not there at all."""
    with _errors_of(path), _temporary(target) as draft:
        _ask(path, lambda fs, inner: fs.get_file(inner, str(draft)))
        draft.replace(target)


def upload(source: Path, path: str) -> None:
    """A file of this machine under a remote name, which exists when all of it is there."""
    _ask(path, lambda fs, inner: fs.put_file(str(source), inner))


def copy(source: str, target: str) -> None:
    """A second name for a file: a hard link where the file system has them, else a copy.

    Both are local, or both in the same object store, which copies without a way through this machine.
    """
    if not is_local(source):
        _ask(target, lambda fs, inner: fs.cp_file(_remote(source)[1], inner))
        return
    final = Path(local_path(target))
    with _errors_of(target):
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(local_path(source), final)
        except OSError:
            shutil.copyfile(local_path(source), final)


def move(source: str, target: str) -> None:
    """Give a file, or a local folder, another name, which nothing has. In an object store it is copied and removed."""
    if is_local(source):
        final = Path(local_path(target))
        with _errors_of(source):
            final.parent.mkdir(parents=True, exist_ok=True)
            Path(local_path(source)).replace(final)
        fsync_dir(str(final.parent))
        fsync_dir(os.path.dirname(local_path(source)))
    else:
        copy(source, target)
        remove(source)


# ------------------------------------------------------------------ writing

TEMPORARY = ".writing-"


def create_once(path: str, data: bytes) -> bool:
    """Create a file that does not exist yet. True for the one caller that did, False if it was there.

    Whoever sees the name sees all of the content. Local: write under another name, fsync, link(2), fsync
    the folder. Object stores: a conditional put. Raises StorageError on a place that can do neither.
    """
    if not is_local(path):
        if _scheme(path) not in CREATES_ONCE:
            raise StorageError(
                f"{path}: {_scheme(path)}:// cannot create a file only if it does not exist, which commits need. "
                f"Write to a local path or to one of: {', '.join(sorted(CREATES_ONCE - {'memory'}))}."
            )
        return _create_remote(path, data)
    final = Path(local_path(path))
    with _errors_of(path), _temporary(final) as draft:
        _write_synced(draft, data)
        try:
            os.link(draft, final)
        except FileExistsError:
            return False
        except OSError as error:
            # On NFS the reply can be lost after the link was made; then the draft has two names.
            if draft.stat().st_nlink != 2:
                if error.errno in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                    needed = "this file system has no hard links, which commits need. Use another"
                    raise _failed(error, f"{path}: {needed}") from error
                raise
        fsync_dir(str(final.parent))
    return True


def _create_remote(path: str, data: bytes) -> bool:
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

    return _ask(path, create)


def write_atomic(path: str, data: bytes) -> None:
    """Write a whole file, replacing what was there in one step."""
    if not is_local(path):
        _ask(path, lambda fs, inner: fs.pipe_file(inner, data))
        return
    with open_write(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_write(path: str) -> Iterator[IO[bytes]]:
    """A file open for writing that gets its name, synced, when the block ends well, and leaves nothing otherwise."""
    if not is_local(path):
        file = _ask(path, lambda fs, inner: fs.open(inner, "wb", block_size=BLOCK))
        try:
            yield file
        except BaseException:
            _abandon(file)
            raise
        with _errors_of(path):
            file.close()  # uploads what is left, and only now does the name exist
        return
    final = Path(local_path(path))
    with _errors_of(path), _temporary(final) as draft:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(final)
        fsync_dir(str(final.parent))


def _abandon(file: Any) -> None:
    """Forget a half-written remote file. Closing it, which its destructor does too, would upload the half."""
    with contextlib.suppress(Exception):
        file.discard()
    with contextlib.suppress(AttributeError):
        file.closed = True


def make_dir(path: str) -> None:
    """A folder and those above it, synced; nothing to do in an object store."""
    if is_local(path):
        folder = Path(local_path(path))
        with _errors_of(path):
            missing = [place for place in (folder, *folder.parents) if not place.exists()]
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except FileExistsError as error:
                raise StorageError(f"{path}: is a file, not a folder") from error
            for place in missing:
                fsync_dir(str(place.parent))


def remove(path: str) -> None:
    """Remove a file; nothing to do if it is gone already."""
    with _errors_of(path), contextlib.suppress(FileNotFoundError):
        if is_local(path):
            Path(local_path(path)).unlink()
        else:
            _ask(path, lambda fs, inner: _unless_gone(fs.rm_file, inner))


def remove_unfinished(path: str) -> None:
    """Remove what killed processes have left of files that they were writing, in a local folder and all below it. Only
    while nobody writes there."""
    if is_local(path):
        for folder, _, names in os.walk(local_path(path)):
            for name in names:
                if name.startswith(TEMPORARY):
                    (Path(folder) / name).unlink(missing_ok=True)


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it; nothing to do if it is gone already."""
    with _errors_of(path), contextlib.suppress(FileNotFoundError):
        if is_local(path):
            shutil.rmtree(local_path(path), ignore_errors=True)
        else:
            _ask(path, lambda fs, inner: _unless_gone(_fresh(fs).rm, inner, recursive=True))


def _unless_gone(remove: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    with contextlib.suppress(FileNotFoundError):
        remove(*arguments, **options)


def fsync_dir(path: str) -> None:
    """Make the names in a local folder survive a loss of power; nothing to do in an object store."""
    if not is_local(path) or os.name == "nt":  # Windows opens no folders
        return
    with _errors_of(path):
        handle = os.open(local_path(path), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _temporary(final: Path) -> Iterator[Path]:
    """An unused name beside `final`, gone afterwards."""
    final.parent.mkdir(parents=True, exist_ok=True)
    draft = final.with_name(f"{TEMPORARY}{uuid.uuid4().hex}-{final.name}"[:255])
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def is_local(path: str) -> bool:
    """Whether a place is a path on this machine's file systems; demo://NAME is one of the package's data."""
    return _scheme(path) in ("", "file", "local", DEMO)


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


def _scheme(path: str) -> str:
    head, separator, _ = path.partition("://")
    return head.lower() if separator else ""


def local_path(path: str) -> str:
    """The path of a local place, which may be written file://… or demo://…, or begin with ~."""
    if _scheme(path) == DEMO:
        return demo_path(path).as_posix()
    return os.path.expanduser(path.partition("://")[2] if "://" in path else path)


def _remote(path: str) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the path inside it."""
    import fsspec

    scheme = _scheme(path)
    try:
        fs, inner = fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise MissingExtraError(f"reading and writing {scheme}://", EXTRAS.get(scheme, scheme)) from error
    except ValueError as error:
        if scheme in fsspec.available_protocols():
            raise InputError(f"{path}: {_first_line(error)}") from error
        known = did_you_mean(scheme, fsspec.available_protocols())
        raise InputError(f'{path}: "{scheme}" is no kind of place that is known{known}') from error
    except Exception as error:  # what a file system's library makes of a name
        raise InputError(f"{path}: {_first_line(error)}") from error
    return fs, inner


def _ask(path: str, question: Callable[[Any, str], T]) -> T:
    """The answer of a remote file system, which is given itself and the path inside it; asked again where the trouble
    may pass. Raises InputError if there is no such file, StorageError for all else."""
    fs, inner = _remote(path)
    with _errors_of(path):
        return patiently(lambda: question(fs, inner))


@contextlib.contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Errors of the operating system, and those of the libraries of remote file systems, said in our words."""
    try:
        yield
    except (CorpusmillError, FileExistsError):
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file or folder") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder, not a file") from error
    except OSError as error:
        if error.errno in FULL:
            raise _failed(error, f"{path}: {_no_room(error, path)}") from error
        if not is_local(path):
            raise _failed(error, f"{path}: {_remote_trouble(error, path)}") from error
        if isinstance(error, PermissionError):
            refused = f"cannot be opened: {error.strerror}. Change its permissions, or those of a folder above it"
            raise _failed(error, f"{path}: {refused}") from error
        raise _failed(error, f"{path}: {error.strerror or error}") from error
    except Exception as error:
        if is_local(path):
            raise
        raise StorageError(f"{path}: {_remote_trouble(error, path)}") from error


def is_full(error: BaseException) -> bool:
    """Whether a disk, a quota or the limit of a file's size stopped a write. Libraries may say so in words alone."""
    said = str(error)
    return getattr(error, "errno", None) in FULL or "No space left" in said or "File too large" in said


def _no_room(error: OSError, path: str) -> str:
    if error.errno == errno.EFBIG:
        return "the file is larger than this process may write (ulimit -f). Raise the limit and run again."
    return f"no room left{_room(path)}. Make room and run again."


def _remote_trouble(error: Exception, path: str) -> str:
    """What a remote place, or the library that talks to it, has said, in one line, and what to do about it."""
    status = http_status(error)
    said = f"{type(error).__name__}: {_first_line(error)}".removesuffix(": ")
    if isinstance(error, PermissionError) or status in (401, 403):
        login = LOGIN.get(
            _scheme(path), "If they need a login, download them with a tool that logs in, and name those files"
        )
        return f"no access to {_host(path)} ({said}). Are the credentials those of this place? {login}."
    if status is None and is_unreachable(error):
        return (
            f"{_host(path)} cannot be reached ({said}). Is there a network, and is the name right? Without a network, "
            "copy the files here and name them instead: --set read.SOURCE.paths=FOLDER."
        )
    return f"cannot be read or written ({said})"


def _host(path: str) -> str:
    """Who answers for a URL, for messages."""
    scheme, _, rest = path.partition("://")
    name = rest.partition("/")[0].rpartition("@")[2]
    return name if scheme in ("http", "https") else HOSTS.get(scheme, f"{scheme}://{name}")


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), "")


def _failed(error: OSError, message: str) -> StorageError:
    failure = StorageError(message)
    failure.errno = error.errno
    return failure


def _room(path: str) -> str:
    """` (1.5 GB free of 20.0 GB)` of the disk that a local path is on."""
    if not is_local(path):
        return ""
    place = next((p for p in Path(local_path(path)).absolute().parents if p.exists()), Path("/"))
    try:
        usage = shutil.disk_usage(place)
    except OSError:
        return ""
    return f" ({usage.free / 1e9:.1f} GB free of {usage.total / 1e9:.1f} GB on {place})"
