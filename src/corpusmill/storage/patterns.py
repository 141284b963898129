"""From the patterns of a recipe to a sorted list of files, the same on every machine."""

# ruff: noqa: PTH100, PTH117, PTH116, PTH118, PTH120, PTH119, PTH207, PTH208, PTH109

import glob
import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from corpusmill.assets import DEMO_SCHEME
from corpusmill.errors import InputError, StorageError, did_you_mean
from corpusmill.hidden import MASK, is_masked
from corpusmill.storage.places import (
    WILD,
    FileInfo,
    ListedFile,
    address_of,
    before_wildcard,
    is_hidden,
    is_local,
    local_path,
    name_of,
    register_address,
    relative,
    scheme_of,
)
from corpusmill.storage.remote import remote
from corpusmill.storage.trouble import errors_of

Found = dict[str, tuple[int, str]]  # path -> (size, fingerprint)


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
    chosen: Found = {}
    roots = []
    refuse_alike(map(str, patterns))
    for pattern in map(str, patterns):
        root, files = _expand_one(pattern, suffixes)
        roots.append(root)
        chosen.update(files)
    root = _common_folder(roots)
    infos = [FileInfo(path, relative(path, root), size, mark) for path, (size, mark) in chosen.items()]
    return sorted(infos, key=lambda info: info.name)


def refuse_alike(places: Iterable[str]) -> None:
    """Raises InputError if two places have one name: nothing could tell their documents apart."""
    by_name: dict[str, str] = {}
    for location in places:
        if by_name.setdefault(name := name_of(location), location) != location:
            raise InputError(
                f"{name}: two inputs differ only in what is not written down (user, password, and what of a query is a "
                f"key or a signature), so that their documents would have the same ids. If they are one, name it once; "
                f"if not, fetch them, and name the files"
            )


def selected(files: Sequence[FileInfo], root: str = "", exclude: Sequence[str] = ()) -> list[FileInfo]:
    """Of files in order, those that are not in `exclude`, with their names relative to `root`, if that is given.

    Those outside of `root` have names that begin with "../", and come after those inside: which other files there are
    changes no name and no order. Of a file that cannot be reached from there, the name is its whole path.
    """
    root = name_of(root)
    included = [file for file in files if not any(is_in(file.path, pattern) for pattern in exclude)]
    if not root:
        return included
    renamed = [replace(file, name=_name_in(file, root)) for file in included]
    return sorted(renamed, key=lambda file: (is_outside(file.name), file.name))


def is_outside(name: str) -> bool:
    """Whether a name relative to a root is that of a file outside of it, see `selected`."""
    return name.startswith("../") or "://" in name or os.path.isabs(name)


def is_in(path: str, pattern: str) -> bool:
    """Whether a pattern names a file: as its path, as a folder above it, or either by wildcards. Which files there are
    is not asked.

    >>> [is_in("data/05/a.jsonl", pattern) for pattern in ("data/05", "data/*/a.*", "data/*.jsonl", "./data/0[5-7]/")]
    [True, True, False, True]
    """
    path, pattern = _plain(path), _plain(pattern)
    if path == pattern or path.startswith(pattern.rstrip("/") + "/"):
        return True
    if not WILD & set(pattern):
        return False
    from fsspec.utils import glob_translate

    inside = pattern.rstrip("/") + "/**"
    return any(re.match(glob_translate(glob_pattern), path) for glob_pattern in (pattern, inside))


def _plain(location: str) -> str:
    """A place as it can be compared: the whole path, where it is local."""
    if not is_local(location) or scheme_of(location) == DEMO_SCHEME:
        return name_of(location)
    return os.path.abspath(local_path(location)).replace(os.sep, "/")


def _name_in(file: FileInfo, root: str) -> str:
    path = file.path
    if path.startswith(root.rstrip("/") + "/"):
        return relative(path, root)
    if scheme_of(path) != scheme_of(root):
        return path
    if not is_local(path):
        return posixpath.relpath(path.partition("://")[2], root.partition("://")[2])
    if os.path.isabs(local_path(path)) != os.path.isabs(local_path(root)):
        return path
    return os.path.relpath(local_path(path), local_path(root)).replace(os.sep, "/")


def stat(path: str) -> FileInfo:
    """One file by its path. Raises InputError if there is none."""
    return expand(glob.escape(path) if is_local(path) and WILD & set(path) else path)[0]


def _expand_one(pattern: str, suffixes: tuple[str, ...]) -> tuple[str, Found]:
    """(folder that names are relative to, path -> (size, fingerprint)) of one pattern."""
    if scheme_of(pattern) == DEMO_SCHEME:
        return _expand_demo(pattern, suffixes)
    root, files = (_expand_local if is_local(pattern) else _expand_remote)(pattern, suffixes)
    if not files:
        raise InputError(_nothing(pattern, suffixes))
    return root, files


def _expand_local(pattern: str, suffixes: tuple[str, ...]) -> tuple[str, Found]:
    pattern = local_path(pattern)
    if WILD & set(pattern) and not Path(pattern).exists():
        root = before_wildcard(pattern)
        return root, _local_files(glob.glob(pattern, recursive=True), root)
    if Path(pattern).is_dir():
        below = [os.path.join(folder, file) for folder, _, files in os.walk(pattern) for file in files]
        return pattern, _local_files([path for path in below if not suffixes or path.endswith(suffixes)], pattern)
    return os.path.dirname(pattern), _local_files([pattern] if Path(pattern).is_file() else [], None)


def _expand_remote(pattern: str, suffixes: tuple[str, ...]) -> tuple[str, Found]:
    if is_masked(pattern):
        raise InputError(
            f"{pattern}: {MASK} stands for a secret that was not written down. Write it in its place, or the name of a "
            f"variable, as in ?token=${{MY_TOKEN}}; of a run, name the recipe that it was made from as well"
        )
    store = remote(pattern)
    address = store.name(pattern)
    name = register_address(address)
    if WILD & set(address):
        root = before_wildcard(name) if WILD & set(name) else name.rpartition("/")[0]
        return root, _shown(_by_name(store.glob(address)), root)
    is_folder, entries = store.find(address)
    if is_folder:
        chosen = [entry for entry in _by_name(entries) if not suffixes or entry.path.endswith(suffixes)]
        return name.rstrip("/"), _shown(chosen, name)
    return name.rpartition("/")[0], {entry.path: (entry.size, entry.mark) for entry in _by_name(entries)}


def _by_name(entries: list[ListedFile]) -> list[ListedFile]:
    """Files by their names, which say no secrets."""
    refuse_alike(entry.path for entry in entries)
    return [replace(entry, path=register_address(entry.path)) for entry in entries]


def _shown(entries: list[ListedFile], root: str) -> Found:
    return {entry.path: (entry.size, entry.mark) for entry in entries if not is_hidden(relative(entry.path, root))}


def _expand_demo(pattern: str, suffixes: tuple[str, ...]) -> tuple[str, Found]:
    """As `_expand_one`: the files keep their scheme, so that a run's records are the same wherever the package is."""
    folder = local_path(f"{DEMO_SCHEME}://")
    _, files = _expand_one(local_path(pattern), suffixes)
    return f"{DEMO_SCHEME}://", {f"{DEMO_SCHEME}://{relative(path, folder)}": info for path, info in files.items()}


def _local_files(paths: list[str], root: str | None) -> Found:
    """Size and fingerprint of the regular files among `paths`; hidden ones below `root` are passed over."""
    files = {}
    for path in paths:
        if root is not None and is_hidden(relative(path, root)):
            continue
        with errors_of(path):
            if Path(path).is_file():
                status = os.stat(path)
                files[path] = (status.st_size, f"mtime:{status.st_mtime_ns}")
    return files


def _nothing(pattern: str, suffixes: tuple[str, ...]) -> str:
    """The message for a pattern that names nothing."""
    if not is_local(pattern):
        return _nothing_remote(name_of(remote(pattern).name(pattern)))
    pattern = local_path(pattern)
    if WILD & set(pattern):
        return f"{pattern}: no file matches. Patterns are relative to {os.getcwd()}."
    if Path(pattern).is_dir():
        ending = f" that ends in {', '.join(suffixes)}" if suffixes else ""
        entries = sorted(entry.name for entry in Path(pattern).iterdir())[:5]
        return f"{pattern}: the folder has no file{ending}. It holds: {', '.join(entries) or 'nothing'}."
    folder = os.path.dirname(pattern) or "."
    if not Path(folder).is_dir():
        return f"{pattern}: there is no folder {folder}"
    return f"{pattern}: no such file{did_you_mean(os.path.basename(pattern), sorted(os.listdir(folder)))}"


def _nothing_remote(pattern: str) -> str:
    if address_of(pattern) != pattern and not set("*[") & set(pattern):
        remote(pattern).read_range(pattern, 0, 1)  # whoever wants a key may say of all without it that it is not there
    if WILD & set(pattern):
        return f"{pattern}: no file matches."
    return f"{pattern}: no such file{did_you_mean(os.path.basename(pattern), sorted(_siblings(pattern)))}"


def _siblings(location: str) -> list[str]:
    """The names in the folder of a remote file that is not found. Whoever serves files alone may call so what it
    refuses, and what it cannot reach: the folder tells."""
    folder = location.rpartition("/")[0]
    try:
        files, folders = remote(folder).folder(folder)
    except StorageError as error:
        raise StorageError(f"{location}{str(error).removeprefix(folder)}") from error
    return [*files, *folders]


def _common_folder(roots: list[str]) -> str:
    """The deepest folder that all roots lie in, "" where they share none."""
    split = [root.rstrip("/").split("/") for root in roots]
    same = 0
    while all(len(parts) > same and parts[same] == split[0][same] for parts in split):
        same += 1
    return "/".join(split[0][:same])
