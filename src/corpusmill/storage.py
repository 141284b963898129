"""Places: finding, reading and writing files on local disks and, through fsspec, in object stores.

A place is a string: a local path, or a URL whose scheme fsspec knows (s3://, gs://, hf://, https://,
memory://). What a run relies on here:

- `expand` turns the patterns of a recipe into the same sorted list on every machine.
- `create_once` makes a file that did not exist, whole or not at all, for exactly one of any number of callers.
- `write_atomic` and `open_write` never leave half a file under the name that was asked for.

On local disks data and folder entries are fsynced before a call returns. Errors of the operating
system become StorageError with the path and, for a full disk, the room that is left.
"""

# Places are strings, and most of them no local paths; pathlib would rewrite them ("./a" to "a").
# ruff: noqa: PTH109, PTH111, PTH116, PTH118, PTH119, PTH120, PTH123, PTH207, PTH208

import contextlib
import errno
import glob
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import xxhash

from corpusmill.errors import InputError, MissingExtraError, StorageError, did_you_mean

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf", "http": "http", "https": "http"}
CREATES_ONCE = {"s3", "s3a", "gs", "gcs", "memory"}  # fsspec file systems whose pipe_file(mode="create") is conditional
ODD = re.compile("[\ud800-\udfff]")
WILD = set("*?[")
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
    # Python stands a byte that is not UTF-8 for a code from U+DC80 on; others are of Windows, whose names are UTF-16.
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
    local = is_local(pattern)
    if local:
        pattern = local_path(pattern)
    else:
        fs, inner = _remote(pattern)
        pattern = fs.unstrip_protocol(inner)  # as the store itself writes names, so that names compare
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
    fs, path = _remote(pattern)
    with _errors_of(pattern):
        entries = fs.glob(path, detail=True)
    return _remote_files(fs, entries, _before_wildcard(pattern))


def _remote_place(place: str, suffixes: tuple[str, ...]) -> tuple[str, dict[str, tuple[int, str]]]:
    fs, path = _remote(place)
    with _errors_of(place):
        try:
            info = fs.info(path)
        except FileNotFoundError:
            return place, {}
        if info["type"] == "directory":
            entries = fs.find(path, detail=True)
            kept = {name: entry for name, entry in entries.items() if not suffixes or name.endswith(suffixes)}
            return place.rstrip("/"), _remote_files(fs, kept, place)
    return place.rpartition("/")[0], {place: (_size(fs, path, info), _mark(info))}


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
    there = os.listdir(folder) if local else list_dir(pattern.rpartition("/")[0])
    return f"{pattern}: no such file{did_you_mean(os.path.basename(pattern), sorted(there))}"


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
            fs, inner = _remote(path)
            file = fs.open(inner, "rb", block_size=BLOCK)
        if offset:
            file.seek(offset)
        return file


def read_range(path: str, start: int, stop: int) -> bytes:
    """Bytes [start, stop) of a file; fewer where it ends sooner."""
    with _errors_of(path):
        if is_local(path):
            with open_read(path, start) as file:
                return file.read(stop - start)
        fs, inner = _remote(path)
        return cast(bytes, fs.cat_file(inner, start=start, end=stop))


def read_bytes(path: str) -> bytes:
    """All of a file."""
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
    with _errors_of(path):
        if is_local(path):
            return Path(local_path(path)).exists()
        fs, inner = _remote(path)
        fs.invalidate_cache()
        return bool(fs.exists(inner))


def list_dir(path: str) -> list[str]:
    """The names in a folder, sorted; unfinished writes are left out. Empty where there is no such folder."""
    with _errors_of(path):
        if is_local(path):
            folder = local_path(path)
            names = os.listdir(folder) if Path(folder).is_dir() else []
        else:
            fs, inner = _remote(path)
            fs.invalidate_cache()  # listings are cached, and other workers write
            try:
                names = [name.rstrip("/").rpartition("/")[2] for name in fs.ls(inner, detail=False)]
            except FileNotFoundError:
                names = []
    return sorted(name for name in names if name and not name.startswith(TEMPORARY))


def list_sizes(path: str) -> dict[str, int]:
    """name -> bytes of the files in a folder; unfinished writes are left out. Empty where there is no such folder."""
    with _errors_of(path):
        if is_local(path):
            try:
                with os.scandir(local_path(path)) as entries:
                    sizes = {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
            except FileNotFoundError:
                sizes = {}
        else:
            fs, inner = _remote(path)
            fs.invalidate_cache()  # listings are cached, and other workers write
            try:
                entries_there = fs.ls(inner, detail=True)
            except FileNotFoundError:
                entries_there = []
            sizes = {e["name"].rpartition("/")[2]: int(e["size"] or 0) for e in entries_there if e["type"] == "file"}
    return {name: size for name, size in sizes.items() if not name.startswith(TEMPORARY)}


def list_tree(path: str) -> dict[str, int]:
    """Relative name -> bytes of all files below a remote folder, those too that `expand` passes over."""
    fs, inner = _remote(path)
    with _errors_of(path):
        fs.invalidate_cache()
        entries = fs.find(inner, detail=True)
    root = fs._strip_protocol(inner).strip("/") + "/"
    sizes = {name.lstrip("/").removeprefix(root): int(entry["size"] or 0) for name, entry in entries.items()}
    return {name: size for name, size in sizes.items() if not name.rpartition("/")[2].startswith(TEMPORARY)}


def download(path: str, target: Path) -> None:
    """A copy of a remote file on this machine, whole under its name or not there at all."""
    fs, inner = _remote(path)
    with _errors_of(path), _temporary(target) as draft:
        fs.get_file(inner, str(draft))
        draft.replace(target)


def upload(source: Path, path: str) -> None:
    """A file of this machine under a remote name, which exists when all of it is there."""
    fs, inner = _remote(path)
    with _errors_of(path):
        fs.put_file(str(source), inner)


def copy(source: str, target: str) -> None:
    """A second name for a file: a hard link where the file system has them, else a copy.

    Both are local, or both in the same object store, which copies without a way through this machine.
    """
    if not is_local(source):
        fs, inner = _remote(source)
        with _errors_of(target):
            fs.cp_file(inner, _remote(target)[1])
        return
    final = Path(local_path(target))
    with _errors_of(target):
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(local_path(source), final)
        except OSError:
            shutil.copyfile(local_path(source), final)


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
        fs, inner = _remote(path)
        with _errors_of(path):
            try:
                fs.pipe_file(inner, data, mode="create")
            except FileExistsError:
                return False
        return True
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


def write_atomic(path: str, data: bytes) -> None:
    """Write a whole file, replacing what was there in one step."""
    if not is_local(path):
        fs, inner = _remote(path)
        with _errors_of(path):
            fs.pipe_file(inner, data)
        return
    with open_write(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_write(path: str) -> Iterator[IO[bytes]]:
    """A file open for writing that gets its name, synced, when the block ends well, and leaves nothing otherwise."""
    if not is_local(path):
        fs, inner = _remote(path)
        with _errors_of(path):
            file = fs.open(inner, "wb", block_size=BLOCK)
            try:
                yield file
            except BaseException:
                _abandon(file)
                raise
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
            folder.mkdir(parents=True, exist_ok=True)
            for place in missing:
                fsync_dir(str(place.parent))


def remove(path: str) -> None:
    """Remove a file; nothing to do if it is gone already."""
    with _errors_of(path), contextlib.suppress(FileNotFoundError):
        if is_local(path):
            Path(local_path(path)).unlink()
        else:
            fs, inner = _remote(path)
            fs.rm_file(inner)


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
            fs, inner = _remote(path)
            fs.invalidate_cache()
            fs.rm(inner, recursive=True)


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
    """Whether a place is a path on this machine's file systems."""
    return _scheme(path) in ("", "file", "local")


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
    """The path of a local place, which may be written file://… or begin with ~."""
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
        known = did_you_mean(scheme, fsspec.available_protocols())
        raise InputError(f'{path}: "{scheme}" is no kind of place that is known{known}') from error
    return fs, inner


@contextlib.contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Errors of the operating system, said in our words."""
    try:
        yield
    except (InputError, StorageError, FileExistsError):
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file or folder") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder, not a file") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _failed(error, f"{path}: no room left{_room(path)}. Make room and run again.") from error
        raise _failed(error, f"{path}: {error.strerror or error}") from error


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
