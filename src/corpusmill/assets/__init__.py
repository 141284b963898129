"""Read-only inputs of steps, by name or path: models, tokenizers, word lists.

An asset that ships has a name (`lid.176.ftz`, `gpt2`) and a checksum in data/MANIFEST.json, with its source and
licence. `hf://org/name/path` is a file of the Hugging Face hub, from its cache on this machine (`assets.hub`), and
`demo://name` one of the demo's data, which ships too. Every other asset is a path.

An asset is known by its content. A process loads it once, whichever steps ask for it, and again when its file has
changed; whether it has is asked at each use, which costs a call of `stat`. A run notes what each asset holds when it is
planned, and a unit uses nothing else (`pinned`).

A key is an asset too, so that a recipe and the files of a run name it and do not contain it: `env:NAME`, the value of
an environment variable, or the path of a file.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from corpusmill import system
from corpusmill.about import PACKAGE
from corpusmill.assets import hub, leftovers
from corpusmill.errors import AssetError, did_you_mean

DATA_FOLDER = PACKAGE / "data"
DEMO_SCHEME = "demo"  # the scheme of the demo's data: demo://extra.jsonl.gz
T = TypeVar("T")


@cache
def manifest() -> dict[str, dict[str, Any]]:
    """name -> {file, sha256, source, licence, note} of every asset that ships."""
    assets = json.loads((DATA_FOLDER / "MANIFEST.json").read_text("utf-8"))
    assert isinstance(assets, dict)
    return assets


def locate(name: str) -> Path:
    """The path of an asset: the file of a shipped name, a file of the hub in its cache, or a path that exists.

    Raises AssetError for an unknown name, a missing file, or a shipped file that has changed.
    """
    if name.startswith(hub.HUB_SCHEME):
        repo, path_in_it = hub.parse(name)
        if not path_in_it:
            raise AssetError(f"{name}: which file of the repository? Write {hub.HUB_SCHEME}{repo}/PATH.")
        snapshot, _ = hub.locate(repo, [path_in_it])
        return Path(snapshot.folder / path_in_it)
    entry = manifest().get(name)
    if entry is None:
        path = _path(name)
        if path.exists():
            return path
        raise AssetError(
            f'there is no asset "{name}": it is neither a file nor one that ships'
            f"{did_you_mean(name, manifest()) or '.'} These ship: {', '.join(sorted(manifest()))}."
        )
    path = Path(DATA_FOLDER, entry["file"])
    if not path.exists():
        raise AssetError(f"{path}: missing. The installation is damaged; install corpusmill again.")
    if (actual := fingerprint(path)) != entry["sha256"]:
        raise AssetError(
            f"{path}: sha256 is {actual[:12]}…, was shipped as {entry['sha256'][:12]}…. Install corpusmill again."
        )
    return path


def demo_path(name: str) -> Path:
    """The path of `demo://NAME`, which may be a pattern: below the package, wherever that is installed."""
    return DATA_FOLDER / DEMO_SCHEME / name.removeprefix(f"{DEMO_SCHEME}://")


class Stamp(NamedTuple):
    """What tells that a file may have changed, without reading it."""

    device: int
    inode: int
    size: int
    modified: int  # nanoseconds
    changed: int  # the same of its content or its entry; on Windows, when it was made

    @classmethod
    def from_path(cls, path: Path) -> "Stamp":
        about = path.stat()
        return cls(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)

    def has_settled(self) -> bool:
        """Whether a later change would give another stamp: clocks of file systems tick every 10 ms, or every 2 s."""
        now = time.time_ns()
        return all(abs(now - at) > CLOCK_TICK_NS for at in (self.modified, self.changed))


CLOCK_TICK_NS = 2_100_000_000  # ns, the slowest one: FAT's
Known = tuple[Stamp, str]  # what a file holds that has this stamp, as SHA-256
_known: dict[str, Known] = {}  # by absolute path
_kept: ContextVar[Mapping[str, tuple[str, str]]] = ContextVar("_kept")  # absolute path -> name, SHA-256


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes, or of the names and bytes of a folder's files; read again when a file has changed.

    Raises AssetError if it cannot be read, or if the unit at work in this process was planned with another content.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100  # Path.absolute keeps the dots
    try:
        content = _of_folder(path) if path.is_dir() else _of_file(path, absolute)
    except OSError as error:
        raise AssetError(f"{path}: cannot be read: {error.strerror or error}") from error
    name, planned = _kept.get({}).get(absolute, ("", content))
    if content != planned:
        raise AssetError(_has_changed(name))
    return content


def _of_folder(path: Path) -> str:
    below = sorted((file for file in path.rglob("*") if file.is_file()), key=Path.as_posix)
    listed = "\n".join(f"{fingerprint(file)} {file.relative_to(path).as_posix()}" for file in below)
    return hashlib.sha256(listed.encode()).hexdigest()


def _of_file(path: Path, absolute: str) -> str:
    stamp = Stamp.from_path(path)
    cached = _known.get(absolute)
    if cached and cached[0] == stamp:
        return cached[1]
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    if stamp.has_settled() and Stamp.from_path(path) == stamp:
        _known[absolute] = stamp, content
    return content


def _has_changed(name: str) -> str:
    return (
        f"{name}: has changed since the run was planned. What is done is right and stays; run the same command again, "
        "and what depends on this file is made again."
    )


def digest(name: str) -> str:
    """A hash of an asset, for the fingerprint of what is made with it. That of a key does not reveal the key. That of
    a file of the hub is of its commit too, which says what else is beside it.

    Raises AssetError as `locate` and `key` do.
    """
    if name.startswith(ENV_SCHEME):
        return hashlib.blake2b(b"which key?", key=key(name)).hexdigest()
    content = fingerprint(locate(name))
    if name.startswith(hub.HUB_SCHEME):
        return hashlib.sha256(f"{hub.commit_of(name)} {content}".encode()).hexdigest()
    return content


def from_hub(name: str) -> dict[str, str] | None:
    """`revision` (the commit) and `sha256` of a file of the hub, for the record of a run; None for other assets."""
    if not name.startswith(hub.HUB_SCHEME):
        return None
    return {"revision": hub.commit_of(name), "sha256": fingerprint(locate(name))}


ENV_SCHEME = "env:"
MIN_KEY_BYTES = 16  # bytes


def key(name: str) -> bytes:
    """A key of 64 bytes, from `env:NAME` or a file, without surrounding white space.

    Raises AssetError if the variable or the file is missing, or holds less than 16 bytes.
    """
    if name.startswith(ENV_SCHEME):
        variable = name.removeprefix(ENV_SCHEME)
        if variable not in os.environ:
            raise AssetError(f"the environment variable {variable} is not set. Make a key: openssl rand -hex 32")
        secret = os.environb[variable.encode()] if os.supports_bytes_environ else os.environ[variable].encode()
    else:
        secret = locate(name).read_bytes()
    secret = secret.strip()
    if len(secret) < MIN_KEY_BYTES:
        raise AssetError(
            f"the key {name} has {len(secret)} bytes; short ones can be guessed, and it takes {MIN_KEY_BYTES} or more. "
            "Make one: openssl rand -hex 32"
        )
    return hashlib.blake2b(secret).digest()


def planned(names: Sequence[str]) -> dict[str, Known]:
    """What this process knows of the files of assets: for `pinned` in others, which need not read those that they find
    with the same stamp, at the same path."""
    paths = [path for name in names if not name.startswith(ENV_SCHEME) for path in [locate(name)]]
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else (path,))]
    absolute = [os.path.abspath(file) for file in files]  # noqa: PTH100
    return {path: _known[path] for path in absolute if path in _known}


@contextmanager
def pinned(
    digests: Mapping[str, str], names: Callable[[], Sequence[str]] | None = None, known_files: Mapping[str, Known] = {}
) -> Iterator[None]:
    """Meanwhile these assets hold what they did.

    digests       name -> `digest`
    names         those that there are now; None: the same
    known_files   see `planned`

    Raises AssetError if one holds something else, there are others, or one changes before the end.
    """
    for path, entry in known_files.items():
        _known.setdefault(path, entry)

    def compare() -> None:
        for name in digests if names is None else dict.fromkeys([*digests, *names()]):
            if digest(name) != digests.get(name):
                raise AssetError(_has_changed(name))

    compare()
    paths = [(name, locate(name)) for name in digests if not name.startswith(ENV_SCHEME)]
    token = _kept.set({os.path.abspath(path): (name, fingerprint(path)) for name, path in paths})  # noqa: PTH100
    try:
        yield
        compare()
    finally:
        _kept.reset(token)


_loaded: dict[Hashable, tuple[tuple[str, ...], Any]] = {}  # the last of each kind and paths -> what these held, it


def load(name: str, loader: Callable[[Path], T]) -> T:
    """`loader(path)` for the asset, called once per process and content.

    Raises AssetError if it is a folder, cannot be read, or changes meanwhile.
    """
    path = locate(name)
    if path.is_dir():
        raise AssetError(f"{name}: cannot be read: it is a folder")
    try:
        return of_files([path], loader, lambda: loader(path))
    except OSError as error:
        raise AssetError(f"{name}: cannot be read: {error.strerror or error}") from error


def of_files(paths: Sequence[Path], kind: Hashable, make: Callable[[], T]) -> T:
    """What `make` makes of these files and folders, called again once the content of one has changed.

    kind   tells what is made of them from other things that are

    Raises AssetError if one of them changes while it is read, and what `make` raises.
    """
    contents = tuple(map(fingerprint, paths))
    key = (kind, *map(os.path.abspath, paths))
    if key not in _loaded or _loaded[key][0] != contents:
        with unchanged(paths):
            _loaded[key] = contents, make()
    asset: T = _loaded[key][1]
    return asset


@contextmanager
def unchanged(paths: Sequence[Path]) -> Iterator[None]:
    """Raises AssetError if the content of a file or folder is another one at the end."""
    before = list(map(fingerprint, paths))
    yield
    for path, content in zip(paths, before):
        if fingerprint(path) != content:
            raise AssetError(f"{path}: changed while it was read. Wait until it is written, and run again.")


def derived(root: Path | None, name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` below `root`, made from other assets once per machine and reused by every process and run.

    root   where such folders are kept (`corpusmill.text.compile.cache_folder`); they can be removed at any time
    name   changes with everything that `make` depends on
    make   fills an empty folder

    Raises AssetError if there is no root.
    """
    if root is None:
        raise AssetError(f"{name}: there is no folder to keep it in; set CORPUSMILL_CACHE to one that can be written")
    path = root / name
    if not path.exists():
        draft = Path(tempfile.mkdtemp(prefix="half-", dir=root))  # what a killed process leaves, `compile.tidy` removes
        lock = leftovers.hold(draft)
        try:
            make(draft)
            if lock is not None:
                (draft / leftovers.LOCK_FILE).unlink()
            system.replace(draft, path)  # complete or not at all
        except OSError:
            if not path.exists():  # no other process was faster
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            if lock is not None:
                os.close(lock)
    return path


def matching(pattern: str) -> list[str]:
    """The files that match a path with `*`, `?` or `[…]`, in order; any other path as it is.

    Raises AssetError if there are none.
    """
    path = _path(pattern)
    if not any(mark in pattern for mark in "*?[") or path.exists():
        return [pattern]
    files = sorted(str(file) for file in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if file.is_file())
    if not files:
        raise AssetError(f"{pattern}: no file matches")
    return files


def _path(name: str) -> Path:
    """The path, with `~` and `~user` replaced by the home folder; one of an unknown user is left as it is."""
    if name.startswith(f"{DEMO_SCHEME}://"):
        return demo_path(name)
    return Path(os.path.expanduser(name))  # noqa: PTH111  # Path.expanduser raises for an unknown user
