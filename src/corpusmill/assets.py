"""Read-only inputs of steps, by name or path: models, tokenizers, word lists.

An asset that ships has a name (`lid.176.ftz`, `gpt2`) and a checksum in data/MANIFEST.json, with its source and
licence. `hf://org/name/path` is a file of the Hugging Face hub, from its cache on this machine (`corpusmill.hub`), and
`demo://name` one of the demo's data, which ships too. Every other asset is a path. An asset is loaded once per process,
whichever steps ask for it.

A key is an asset too, so that a recipe and the files of a run name it and do not contain it: `env:NAME`, the value of
an environment variable, or the path of a file.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from corpusmill import hub, leftovers
from corpusmill.errors import AssetError, did_you_mean

FOLDER = Path(__file__).parent / "data"
DEMO = "demo"  # the scheme of the demo's data: demo://extra.jsonl.gz
T = TypeVar("T")


@cache
def manifest() -> dict[str, dict[str, Any]]:
    """name -> {file, sha256, source, licence, note} of every asset that ships."""
    assets = json.loads((FOLDER / "MANIFEST.json").read_text("utf-8"))
    assert isinstance(assets, dict)
    return assets


@cache
def locate(name: str) -> Path:
    """The path of an asset: the file of a shipped name, a file of the hub in its cache, or a path that exists.

    Raises AssetError for an unknown name, a missing file, or a shipped file that has changed.
    """
    if name.startswith(hub.SCHEME):
        repo, path_in_it = hub.parse(name)
        if not path_in_it:
            raise AssetError(f"{name}: which file of the repository? Write {hub.SCHEME}{repo}/PATH.")
        snapshot, _ = hub.locate(repo, [path_in_it])
        return snapshot.folder / path_in_it
    entry = manifest().get(name)
    path: Path
    if entry is None:
        path = _path(name)
        if path.exists():
            return path
        raise AssetError(
            f'there is no asset "{name}": it is neither a file nor one that ships'
            f"{did_you_mean(name, manifest()) or '.'} These ship: {', '.join(sorted(manifest()))}."
        )
    path = FOLDER / entry["file"]
    if not path.exists():
        raise AssetError(f"{path}: missing. The installation is damaged; install corpusmill again.")
    if (actual := fingerprint(path)) != entry["sha256"]:
        raise AssetError(
            f"{path}: sha256 is {actual[:12]}…, was shipped as {entry['sha256'][:12]}…. Install corpusmill again."
        )
    return path


def demo_path(name: str) -> Path:
    """The path of `demo://NAME`, which may be a pattern: below the package, wherever that is installed."""
    return FOLDER / DEMO / name.removeprefix(f"{DEMO}://")


@cache
def fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes, or of the names and bytes of a folder's files; read once a process."""
    if path.is_dir():
        below = sorted(file for file in path.rglob("*") if file.is_file())
        listed = "\n".join(f"{fingerprint(file)} {file.relative_to(path).as_posix()}" for file in below)
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(name: str) -> str:
    """A hash of an asset, for the fingerprint of what is made with it. That of a key does not reveal the key. That of
    a file of the hub is of its commit too, which says what else is beside it.

    Raises AssetError as `locate` and `key` do.
    """
    if name.startswith(VARIABLE):
        return hashlib.blake2b(b"which key?", key=key(name)).hexdigest()
    held = fingerprint(locate(name))
    if name.startswith(hub.SCHEME):
        return hashlib.sha256(f"{hub.commit_of(name)} {held}".encode()).hexdigest()
    return held


def from_hub(name: str) -> dict[str, str] | None:
    """`revision` (the commit) and `sha256` of a file of the hub, for the record of a run; None for other assets."""
    if not name.startswith(hub.SCHEME):
        return None
    return {"revision": hub.commit_of(name), "sha256": fingerprint(locate(name))}


VARIABLE = "env:"
SHORTEST_KEY = 16  # bytes


def key(name: str) -> bytes:
    """A key of 64 bytes, from `env:NAME` or a file, without surrounding white space.

    Raises AssetError if the variable or the file is missing, or holds less than 16 bytes.
    """
    if name.startswith(VARIABLE):
        variable = name.removeprefix(VARIABLE)
        if variable not in os.environ:
            raise AssetError(f"the environment variable {variable} is not set. Make a key: openssl rand -hex 32")
        secret = os.environb[variable.encode()] if os.supports_bytes_environ else os.environ[variable].encode()
    else:
        secret = locate(name).read_bytes()
    secret = secret.strip()
    if len(secret) < SHORTEST_KEY:
        raise AssetError(
            f"the key {name} has {len(secret)} bytes; short ones can be guessed, and it takes {SHORTEST_KEY} or more. "
            "Make one: openssl rand -hex 32"
        )
    return hashlib.blake2b(secret).digest()


_loaded: dict[tuple[Callable[[Path], Any], Path], Any] = {}


def load(name: str, loader: Callable[[Path], T]) -> T:
    """`loader(path)` for the asset, called once per process. Raises AssetError if it is a folder or cannot be read."""
    path = locate(name)
    if (loader, path) not in _loaded:
        try:
            _loaded[loader, path] = loader(path)
        except OSError as error:
            why = "it is a folder" if path.is_dir() else error.strerror or str(error)
            raise AssetError(f"{name}: cannot be read: {why}") from error
    asset: T = _loaded[loader, path]
    return asset


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
        made = Path(tempfile.mkdtemp(prefix="half-", dir=root))  # what a killed process leaves, `compile.tidy` removes
        lock = leftovers.hold(made)
        try:
            make(made)
            if lock is not None:
                (made / leftovers.LOCK).unlink()
            made.rename(path)  # complete or not at all
        except OSError:
            if not path.exists():  # no other process was faster
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
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
    if name.startswith(f"{DEMO}://"):
        return demo_path(name)
    return Path(os.path.expanduser(name))  # noqa: PTH111  # Path.expanduser raises for an unknown user
