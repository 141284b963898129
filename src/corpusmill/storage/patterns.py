"""From the patterns of a recipe to a sorted list of files, the same on every machine."""

# ruff: noqa: PTH100, PTH112, PTH114, PTH117, PTH116, PTH118, PTH120, PTH119, PTH207, PTH208, PTH109

import glob
import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from corpusmill.assets import DEMO_SCHEME
from corpusmill.errors import InputError, StorageError, did_you_mean
from corpusmill.hidden import MASK, is_masked
from corpusmill.storage.passed_over import (
    BROKEN,
    HIDDEN,
    INNER_FOLDER,
    LEADS_UP,
    NO_FILE,
    SECOND_FOLDER,
    SECOND_NAME,
    UNREADABLE,
    PassedOver,
)
from corpusmill.storage.places import (
    WILD,
    FileInfo,
    ListedFile,
    address_of,
    before_wildcard,
    has_ending,
    is_hidden,
    is_local,
    local_path,
    name_of,
    register_address,
    relative,
    scheme_of,
    with_slashes,
)
from corpusmill.storage.remote import remote
from corpusmill.storage.trouble import errors_of

Found = dict[str, tuple[int, str]]  # path -> (size, fingerprint)


def expand(
    patterns: str | Path | Sequence[str | Path],
    suffixes: tuple[str, ...] = (),
    passed_over: PassedOver | None = None,
) -> list[FileInfo]:
    """The files that patterns name, each once, sorted by name.

    patterns      a file, a folder (all files below it), a glob (`*`, `?`, `[…]`, `**`), or a list of these
    suffixes      of a folder, take only files that have one of these endings, see `has_ending`; empty takes all
    passed_over   gets what is in the folders, or fits the globs, and is not taken

    Files and folders that begin with "." or "_" are passed over inside folders and by wildcards, as everywhere in this
    field. Links to folders are followed, but not those to a folder above. A real file that has several names, by its
    spelling or by links, is taken once, under the one with the fewest links, then the fewest parts, then the first.
    Raises InputError if a pattern names nothing, with the nearest name that exists.
    """
    patterns = [patterns] if isinstance(patterns, str | Path) else list(patterns)
    if not patterns:
        raise InputError("no input: the list of files is empty")
    passed_over = PassedOver() if passed_over is None else passed_over
    chosen: Found = {}
    roots = []
    refuse_alike(map(str, patterns))
    for pattern in map(str, patterns):
        root, files = _expand_one(pattern, suffixes, passed_over)
        roots.append(root)
        chosen.update(files)
    passed_over.leave(chosen.__contains__)
    if len(chosen) > 1:
        for path in set(chosen) - set(by_real_path(chosen)):
            del chosen[path]
            passed_over.add(path, SECOND_NAME)
    root = _common_folder(roots)
    infos = [FileInfo(path, relative(path, root), size, mark) for path, (size, mark) in chosen.items()]
    return sorted(infos, key=lambda info: info.name)


def by_real_path(paths: Iterable[str]) -> list[str]:
    """Of places that exist, each real file or folder by one of its names: the one with the fewest links in it, then the
    fewest parts, then the first. Hard links are names of one file."""
    folders: dict[str, str] = {}
    spelled: dict[str, str] = {}
    names: dict[str | tuple[int, int], list[str]] = {}
    for path in paths:
        real = _real(path, folders)
        if isinstance(real, str) and is_local(path):
            real = _one_spelling(real, spelled)
        names.setdefault(real, []).append(path)
    return [group[0] if len(group) == 1 else min(group, key=_by_links) for group in names.values()]


def _one_spelling(real: str, spelled: dict[str, str]) -> str:
    """The first of the spellings of a real path that lead to one file: macOS and Windows do not tell case, nor macOS
    composed letters, from others.

    spelled   path in one case and form -> how it was spelled first
    """
    first = spelled.setdefault(unicodedata.normalize("NFC", real).casefold(), real)
    return first if first != real and Path(first).samefile(real) else real


def _real(path: str, folders: dict[str, str]) -> str | tuple[int, int]:
    """What all names of a file share.

    folders   the real paths of folders that are known already
    """
    if not is_local(path) or scheme_of(path) == DEMO_SCHEME:
        return path
    with errors_of(path):
        status = os.stat(path)
        if status.st_nlink > 1 and status.st_ino and not os.path.isdir(path):
            return status.st_dev, status.st_ino
        folder, name = os.path.split(path)
        if name in ("", ".", "..") or os.path.islink(path):
            return os.path.realpath(path)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        return os.path.join(folders[folder], name)


def _by_links(path: str) -> tuple[int, int, str]:
    return sum(map(os.path.islink, (path, *map(str, Path(path).parents)))), path.count("/"), path


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
    return name.startswith("../") or bool(scheme_of(name)) or os.path.isabs(name)


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
    return with_slashes(os.path.abspath(local_path(location)))


def _name_in(file: FileInfo, root: str) -> str:
    path = file.path
    if is_local(root) and scheme_of(root) != DEMO_SCHEME:
        root = local_path(root)
    if path.startswith(root.rstrip("/") + "/"):
        return relative(path, root)
    if scheme_of(path) != scheme_of(root):
        return path
    if not is_local(path):
        return posixpath.relpath(path.partition("://")[2], root.partition("://")[2])
    if os.path.isabs(local_path(path)) != os.path.isabs(local_path(root)):
        return path
    try:
        return with_slashes(os.path.relpath(local_path(path), local_path(root)))
    except ValueError:  # on two drives
        return path


def stat(path: str) -> FileInfo:
    """One file by its path. Raises InputError if there is none."""
    return expand(glob.escape(path) if is_local(path) and WILD & set(path) else path)[0]


def _expand_one(pattern: str, suffixes: tuple[str, ...], passed_over: PassedOver) -> tuple[str, Found]:
    """(folder that names are relative to, path -> (size, fingerprint)) of one pattern."""
    if scheme_of(pattern) == DEMO_SCHEME:
        return _expand_demo(pattern, suffixes)
    root, files = (_expand_local if is_local(pattern) else _expand_remote)(pattern, suffixes, passed_over)
    if not files:
        raise InputError(_nothing(pattern, suffixes))
    return root, files


def _expand_local(pattern: str, suffixes: tuple[str, ...], passed_over: PassedOver) -> tuple[str, Found]:
    pattern = local_path(pattern)
    if WILD & set(pattern) and not Path(pattern).exists():
        root = before_wildcard(pattern)
        return root, _local_files(_matching(pattern, root, passed_over), root, passed_over)
    if Path(pattern).is_dir():
        below = [path for _, path in _below([pattern], pattern, passed_over)]
        return pattern, _local_files(below, pattern, passed_over, suffixes)
    return os.path.dirname(pattern), _local_files([pattern] if Path(pattern).is_file() else [], None, passed_over)


def _matching(pattern: str, root: str, passed_over: PassedOver) -> list[str]:
    """The paths that fit a glob."""
    parts = pattern.split("/")
    if "**" not in parts or {".", ".."} & set(parts[parts.index("**") :]):
        return list(map(with_slashes, glob.glob(pattern, recursive=True, include_hidden=True)))
    from fsspec.utils import glob_translate

    at = parts.index("**")
    head = "/".join(parts[:at]) or "/" * (at > 0)
    heads = list(map(with_slashes, glob.glob(head, include_hidden=True))) if head else [""]
    tops = sorted((folder for folder in heads if os.path.isdir(folder or ".")), key=_by_links)
    fits = re.compile(
        glob_translate("/".join(part if part == "**" else re.sub(r"\*+", "*", part) for part in parts[at:]))
    )
    below = _below(tops, root, passed_over)
    return [path for folder, path in below if fits.match(path[len(folder) :].lstrip("/"))]


def _below(tops: Sequence[str], root: str, passed_over: PassedOver) -> Iterator[tuple[str, str]]:
    """(folder, path) of all files below some folders ("": this one), those too that links to folders lead to.

    A real folder is looked into once: links are followed after everything else, in order of their names. One that leads
    to a folder above it is not: everything would be there again, and what is beside.
    """
    real_folders: set[str] = set()
    waiting = [(top, top) for top in tops]
    while waiting:
        links = []
        for origin, top in waiting:
            real = os.path.realpath(top)
            if real in real_folders:
                passed_over.add(top, SECOND_FOLDER)
                continue
            for walked, folders, files in os.walk(top or ".", onerror=lambda error: _unreadable(error, passed_over)):
                folder = with_slashes(walked if top else walked[2:])
                place = os.path.normpath(os.path.join(real, folder[len(top) :].lstrip("/")))
                if place in real_folders:
                    folders.clear()
                    continue
                real_folders.add(place)
                links += [(origin, link) for name in folders if os.path.islink(link := posixpath.join(folder, name))]
                yield from ((origin, posixpath.join(folder, file)) for file in files)
        waiting = []
        for origin, link in sorted(links):
            if is_hidden(relative(link, root)):
                passed_over.add(link, HIDDEN)
            elif _leads_up(link):
                passed_over.add(link, LEADS_UP)
            else:
                waiting.append((origin, link))


def _unreadable(error: OSError, passed_over: PassedOver) -> None:
    passed_over.add(str(error.filename), UNREADABLE)


def _leads_up(link: str) -> bool:
    """Whether a link leads to the folder that it is in, or to one above."""
    target, folder = os.path.realpath(link), os.path.realpath(os.path.dirname(link))
    return os.path.commonpath([target, folder]) == target


def _expand_remote(pattern: str, suffixes: tuple[str, ...], passed_over: PassedOver) -> tuple[str, Found]:
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
        return root, _shown(_by_name(store.glob(address)), root, passed_over)
    is_folder, entries = store.find(address)
    if is_folder:
        return name.rstrip("/"), _shown(_by_name(entries), name, passed_over, suffixes)
    return name.rpartition("/")[0], {entry.path: (entry.size, entry.mark) for entry in _by_name(entries)}


def _by_name(entries: list[ListedFile]) -> list[ListedFile]:
    """Files by their names, which say no secrets."""
    refuse_alike(entry.path for entry in entries)
    return [replace(entry, path=register_address(entry.path)) for entry in entries]


def _shown(entries: list[ListedFile], root: str, passed_over: PassedOver, suffixes: tuple[str, ...] = ()) -> Found:
    taken = [entry for entry in entries if _is_taken(entry.path, root, passed_over, suffixes)]
    return {entry.path: (entry.size, entry.mark) for entry in taken}


def _is_taken(path: str, root: str, passed_over: PassedOver, suffixes: tuple[str, ...]) -> bool:
    """Whether a file below `root` is one of those that are asked for, by its name."""
    if is_hidden(relative(path, root)):
        passed_over.add(path, HIDDEN)
    elif suffixes and not has_ending(path, suffixes):
        passed_over.add_of_other_kind(path)
    else:
        return True
    return False


def _expand_demo(pattern: str, suffixes: tuple[str, ...]) -> tuple[str, Found]:
    """As `_expand_one`: the files keep their scheme, so that a run's records are the same wherever the package is."""
    folder = local_path(f"{DEMO_SCHEME}://")
    _, files = _expand_one(local_path(pattern), suffixes, PassedOver())
    return f"{DEMO_SCHEME}://", {f"{DEMO_SCHEME}://{relative(path, folder)}": info for path, info in files.items()}


def _local_files(paths: list[str], root: str | None, passed_over: PassedOver, suffixes: tuple[str, ...] = ()) -> Found:
    """Size and fingerprint of the regular files among `paths`; below `root`, of those that are asked for."""
    files = {}
    for path in paths:
        if root is not None and not _is_taken(path, root, passed_over, suffixes):
            continue
        with errors_of(path):
            if Path(path).is_file():
                status = os.stat(path)
                files[path] = (status.st_size, f"mtime:{status.st_mtime_ns}")
            else:
                passed_over.add(
                    path, INNER_FOLDER if os.path.isdir(path) else BROKEN if os.path.islink(path) else NO_FILE
                )
    return files


def _nothing(pattern: str, suffixes: tuple[str, ...]) -> str:
    """The message for a pattern that names nothing."""
    if not is_local(pattern):
        return _nothing_remote(name_of(remote(pattern).name(pattern)))
    pattern = local_path(pattern)
    if "\\" in pattern and os.sep == "/":
        return pattern + ': nothing has this name. Folders are separated by "/": ' + pattern.replace("\\", "/")
    if WILD & set(pattern):
        return f"{pattern}: no file matches. Patterns are relative to {os.getcwd()}."
    if Path(pattern).is_dir():
        plain = [suffix for suffix in suffixes if not any(suffix.startswith(f"{other}.") for other in suffixes)]
        ending = f" that ends in {', '.join(plain)}" if plain else ""
        entries = sorted(entry.name for entry in Path(pattern).iterdir())[:5]
        return f"{pattern}: the folder has no file{ending}. It holds: {', '.join(entries) or 'nothing'}."
    if Path(pattern).exists():
        return (
            f"{pattern}: a pipe or a device, which cannot be read twice. Write what it gives to a file, and name that."
        )
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
