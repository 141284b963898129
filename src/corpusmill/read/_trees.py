"""Source trees: a folder, a tar or a zip as a list of files that can be read in any order.

A compressed tar is decompressed once into an unnamed temporary file, so that memory does not grow with it. One that is
not, and a zip, are read where they are, by the positions of their files: on disk and in an object store.
"""

# Paths are those that the recipe names, as strings.
# ruff: noqa: PTH100, PTH112, PTH113, PTH114, PTH118, PTH120, PTH202, PTH207, PTH208, SIM115

import contextlib
import glob
import os
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import xxhash

from corpusmill.errors import InputError, RecordError, StorageError
from corpusmill.read._bytes import Damaged, blocks, sniff
from corpusmill.storage import (
    FOLDER,
    FileInfo,
    PassedOver,
    by_real_path,
    expand,
    has_ending,
    is_local,
    local_path,
    open_read,
)
from corpusmill.storage.passed_over import BROKEN, HIDDEN, LINK, NO_FILE, SECOND_NAME, UNREADABLE

VCS = frozenset({".git", ".hg", ".svn", ".bzr", "CVS", "_darcs"})
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".zip")
ENDING = re.compile(r"\.(?:tar(?:\.\w+)?|t[gbx]z2?|zip)$", re.I)
MAX_NOTE = 64 << 20  # bytes of a file of .git
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REMOTE = re.compile(r'\[remote "origin"\][^\[]*?url\s*=\s*(\S+)')
T = TypeVar("T")


class TreeTooLarge(RecordError):
    """A repository has more bytes than are read."""


@dataclass(frozen=True)
class TreeFile:
    """A file of a tree: its path below the root, with "/", and its bytes."""

    path: str
    size: int


@dataclass(frozen=True)
class Tree:
    """The files of a repository, sorted by path.

    read     entry -> its bytes; raises RecordError or OSError where it cannot be read
    commit   that the tree is of, if it says so
    remote   where it was cloned from, as "github.com/owner/name"
    broken   why there may be more files than these
    """

    entries: Sequence[TreeFile]
    read: Callable[[TreeFile], bytes]
    commit: str | None = None
    remote: str | None = None
    broken: RecordError | None = None


def find_trees(paths: Sequence[str], passed_over: PassedOver | None = None) -> list[FileInfo]:
    """The repositories that paths name, sorted by name: archives, and folders.

    passed_over   gets what is in the folders and is not read, but version control's own

    A folder with `.git` is a repository, and so is one that holds any file but archives; of others the folders and
    archives within are looked at. Raises InputError if a path names nothing, or a folder of an object store.
    """
    passed_over = PassedOver() if passed_over is None else passed_over
    remote = [path for path in paths if not is_local(path)]
    trees_found: dict[str, tuple[str, FileInfo]] = {}
    if remote:
        for file in expand(remote, ARCHIVES, passed_over):
            if not has_ending(file.path, ARCHIVES):
                raise InputError(f"{file.path}: of object stores and the web, archives are read: {', '.join(ARCHIVES)}")
            trees_found[file.path] = (ENDING.sub("", file.name), file)
    local = sorted({place for path in paths if is_local(path) for place in _matching(path)})
    tops = {tree: top for place in local for tree, top in _below(place, passed_over)}
    trees = {tree: tops[tree] for tree in by_real_path(tops)}
    for tree in tops.keys() - trees.keys():
        passed_over.add(tree, SECOND_NAME)
    common = os.path.commonpath([os.path.abspath(top) for top in trees.values()]) if trees else ""
    for tree in trees:
        name = os.path.relpath(os.path.abspath(tree), common).replace(os.sep, "/")
        trees_found[tree] = (
            name,
            _folder_info(tree, name, passed_over) if os.path.isdir(tree) else _file_info(tree, name),
        )
    return [file for _, file in sorted(trees_found.values(), key=lambda each: each[1].name)]


def _matching(path: str) -> list[str]:
    path = local_path(path)
    places = [path] if Path(path).exists() else glob.glob(path, recursive=True)
    if not places:
        expand(path)  # says what is there instead
        raise InputError(f"{path}: no file or folder matches")
    return places


def _below(path: str, passed_over: PassedOver) -> Iterator[tuple[str, str]]:
    """(repository, the folder that its name is relative to) of the repositories at a path."""
    if not os.path.isdir(path):
        if not has_ending(path, ARCHIVES) or not os.path.isfile(path):
            raise InputError(f"{path}: neither a folder nor an archive ({', '.join(ARCHIVES)})")
        yield path, os.path.dirname(path) or "."
        return
    repositories = list(_repositories(path, passed_over))
    if not repositories:
        raise InputError(f"{path}: there is no file in this folder")
    yield from ((tree, os.path.dirname(os.path.abspath(path)) if tree == path else path) for tree in repositories)


def _repositories(folder: str, passed_over: PassedOver) -> Iterator[str]:
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        passed_over.add(folder, UNREADABLE)
        return
    files = [name for name in entries if os.path.isfile(os.path.join(folder, name)) and name != ".DS_Store"]
    if ".git" in entries or any(not has_ending(name, ARCHIVES) for name in files):
        yield folder
        return
    for name in entries:
        inside = os.path.join(folder, name)
        if name in files:
            yield inside
        elif name == ".DS_Store":
            passed_over.add(inside, HIDDEN)
        elif os.path.islink(inside):
            passed_over.add(inside, LINK if Path(inside).exists() else BROKEN)
        elif not os.path.isdir(inside):
            passed_over.add(inside, NO_FILE)
        elif name not in VCS:
            yield from _repositories(inside, passed_over)


def _file_info(path: str, name: str) -> FileInfo:
    status = Path(path).stat()
    return FileInfo(path, name, status.st_size, f"mtime:{status.st_mtime_ns}")


def _folder_info(folder: str, name: str, passed_over: PassedOver) -> FileInfo:
    digest, total = xxhash.xxh3_128(), 0
    for entry, path in _walk(folder, passed_over):
        status = os.lstat(path)
        total += status.st_size
        digest.update(f"{entry}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    digest.update((_commit(folder) or "").encode())
    return FileInfo(folder, name, total, f"{FOLDER}{digest.hexdigest()}")


def _walk(folder: str, passed_over: PassedOver) -> Iterator[tuple[str, str]]:
    """(path below the folder, path) of the files in it; links are left out."""
    for at, folders, names in os.walk(folder, onerror=lambda error: passed_over.add(str(error.filename), UNREADABLE)):
        folders[:] = sorted(folder_name for folder_name in folders if folder_name not in VCS)
        for name in sorted([*names, *(each for each in folders if os.path.islink(os.path.join(at, each)))]):
            path = os.path.join(at, name)
            if name in VCS:
                continue
            if os.path.islink(path):
                passed_over.add(path, LINK)
            elif os.path.isfile(path):
                yield os.path.relpath(path, folder).replace(os.sep, "/"), path
            else:
                passed_over.add(path, NO_FILE)


@contextlib.contextmanager
def open_tree(file: FileInfo, limit: int) -> Iterator[Tree]:
    """The tree of an input. Raises RecordError if it cannot be opened, TooLarge if it takes more than `limit` bytes."""
    if file.is_folder:
        yield _folder(file.path)
        return
    with contextlib.ExitStack() as stack:
        seekable = sniff(file.path) in ("", "zip")
        archive_file = stack.enter_context(open_read(file.path) if seekable else tempfile.TemporaryFile())
        broken = None if seekable else _copied(file.path, archive_file, limit)
        archive_file.seek(0)
        if archive_file.read(4) in (b"PK\x03\x04", b"PK\x05\x06"):
            yield _zip(archive_file, stack, broken)
        else:
            yield _tar(archive_file, _members(file) if seekable else TarMembers.from_file(archive_file), broken)


def _copied(path: str, target: IO[bytes], limit: int) -> RecordError | None:
    size = 0
    try:
        for block in blocks(path):
            size += len(block)
            if size > limit:
                raise TreeTooLarge(f"the repository has more than {limit} bytes when it is decompressed")
            target.write(block)
    except TreeTooLarge:
        raise
    except RecordError as error:
        if not size:
            raise
        return error
    return None


def _folder(folder: str) -> Tree:
    paths = dict(_walk(folder, PassedOver()))
    entries = sorted(
        (TreeFile(name, os.path.getsize(path)) for name, path in paths.items()), key=lambda each: each.path
    )
    return Tree(entries, lambda entry: Path(paths[entry.path]).read_bytes(), _commit(folder), _remote(folder))


MAX_TAR_HEADER = 1 << 20  # bytes of what stands before the header of a file; a name has 4 kB, its attributes 64 kB
LONG_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


class StrictTarInfo(tarfile.TarInfo):
    """Says where an archive is cut off or a header is damaged; tarfile itself takes both for the archive's end. What
    stands before the header of a file (a long name, pax) is not read if it is longer than any name, and of sparse
    files the places are not. `sparse` is then empty."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "StrictTarInfo":
        try:
            info = super().fromtarfile(tarfile_)
            if info.size < 0 or cast(Any, tarfile_).offset <= info.offset:  # it would be read again and again
                raise ValueError(f"it says that it has {info.size} bytes")
            return info
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # the block of zeros at the end
                raise
            raise tarfile.ReadError(f"{error} of a file; those after it are lost") from error
        except (RecursionError, ValueError) as error:  # a thousand headers of one file; a number that is none
            why = f"{type(error).__name__}: {error}"
            raise tarfile.ReadError(f"a header is damaged ({why}); files after it are lost") from error

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "StrictTarInfo":
        info = super().frombuf(buf, encoding, errors)
        if not 0 <= info.size <= (MAX_TAR_HEADER if info.type in LONG_HEADERS else info.size):
            most = f", and has {MAX_TAR_HEADER} at most" if info.size > 0 else ""
            raise tarfile.ReadError(f"a header says that it has {info.size} bytes{most}; files after it are lost")
        return info

    def _proc_sparse(self, archive: Any) -> "StrictTarInfo":
        _, goes_on, _ = cast(Any, self)._sparse_structs
        while goes_on:
            block = archive.fileobj.read(tarfile.BLOCKSIZE)
            goes_on = len(block) == tarfile.BLOCKSIZE and block[504]
        self.offset_data = archive.fileobj.tell()
        archive.offset = self.offset_data + cast(Any, self)._block(self.size)
        cast(Any, self).sparse = []
        return self

    def _proc_gnusparse_10(self, following: Any, pax_headers: Any, archive: Any) -> None:
        following.sparse = []


@dataclass(frozen=True)
class TarMembers:
    """The regular files of a tar archive.

    at       path -> where its bytes begin in the archive, and how many there are
    commit   that `git archive` has noted
    broken   why there may be more
    """

    at: dict[str, tuple[int, int]]
    commit: str
    broken: RecordError | None = None

    @staticmethod
    def from_file(file: IO[bytes]) -> "TarMembers":
        """Read from the headers alone. Raises Damaged if it is not a tar archive."""
        file.seek(0)
        at: dict[str, tuple[int, int]] = {}
        try:
            with tarfile.open(fileobj=file, mode="r:", tarinfo=StrictTarInfo) as archive:
                broken = None
                try:
                    while (member := archive.next()) is not None:
                        if member.isreg() and not member.issparse():
                            at[_plain(member.name)] = (member.offset_data, member.size)
                        cast(Any, archive).members.clear()  # of which each takes a kilobyte
                except StorageError:
                    raise
                except (tarfile.TarError, OSError, ValueError) as error:
                    broken = Damaged(f"the archive is damaged after {len(at)} files: {error}")
                return TarMembers(at, archive.pax_headers.get("comment", ""), broken)
        except tarfile.TarError as error:
            raise Damaged(f"not a tar archive: {error}") from error


def _members(file: FileInfo) -> TarMembers:
    return _indexed(file.path, file.size, file.fingerprint)


@lru_cache(maxsize=1)
def _indexed(path: str, size: int, mark: str) -> TarMembers:
    """Of the archive that a process reads: parts of it that follow each other do not look for its files again."""
    with open_read(path) as file:
        return TarMembers.from_file(file)


def _tar(file: IO[bytes], members: TarMembers, broken: RecordError | None) -> Tree:
    members_by_path = _without_top(members.at)

    def read(entry: TreeFile) -> bytes:
        file.seek(members_by_path[entry.path][0])
        data = file.read(entry.size)
        if len(data) != entry.size:
            raise Damaged(f"{entry.path}: {len(data)} of {entry.size} bytes are there")
        return data

    entries = sorted((TreeFile(path, size) for path, (_, size) in members_by_path.items()), key=lambda each: each.path)
    commit = members.commit if COMMIT.fullmatch(members.commit) else None
    return Tree(entries, read, commit, broken=broken or members.broken)


def _zip(held: IO[bytes], stack: contextlib.ExitStack, broken: RecordError | None) -> Tree:
    try:
        archive = stack.enter_context(zipfile.ZipFile(held))
    except StorageError:
        raise
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise broken or Damaged(f"not a zip archive, or its end is missing: {error}") from error
    # Type 0xA in the mode of a file is a link.
    members_by_path = _without_top({
        _plain(member.filename): member
        for member in archive.infolist()
        if not member.is_dir() and (member.external_attr >> 28) != 0xA
    })  # fmt: skip
    commit = archive.comment.decode("ascii", "replace")

    def read(entry: TreeFile) -> bytes:
        try:
            with archive.open(members_by_path[entry.path]) as file:
                return file.read(entry.size + 1)
        except StorageError:
            raise
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError, ValueError) as error:
            raise Damaged(f"{entry.path}: {error}") from error
        except Exception as error:  # zlib, bz2 and lzma have errors of their own
            raise Damaged(f"{entry.path}: {error}") from error

    entries = sorted(
        (TreeFile(path, member.file_size) for path, member in members_by_path.items()), key=lambda each: each.path
    )
    return Tree(entries, read, commit if COMMIT.fullmatch(commit) else None, broken=broken)


def _plain(name: str) -> str:
    parts = name.replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def _without_top(members: dict[str, T]) -> dict[str, T]:
    """Without the one folder that all files of an archive are in, and without what version control keeps."""
    tops = {path.partition("/")[0] for path in members}
    only = len(tops) == 1 and all("/" in path for path in members)
    shortened = {path.partition("/")[2] if only else path: one for path, one in members.items()}
    return {path: one for path, one in shortened.items() if path and not VCS & set(path.split("/"))}


def _commit(folder: str) -> str | None:
    """The commit that a clone is at, from .git alone."""
    git = Path(folder) / ".git"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if git.is_file():  # a worktree or a submodule
            git = Path(folder, _note(git).partition("gitdir:")[2].strip())
        head = _note(git / "HEAD")
        if COMMIT.fullmatch(head):
            return head
        ref = head.removeprefix("ref:").strip()
        common = git / _note(git / "commondir") if (git / "commondir").is_file() else git
        if ref.startswith("refs/") and (common / ref).is_file():
            return commit if COMMIT.fullmatch(commit := _note(common / ref)) else None
        for line in _note(common / "packed-refs").splitlines():
            commit = line.partition(" ")[0]
            if line.endswith(f" {ref}") and COMMIT.fullmatch(commit):
                return commit
    return None


def _note(path: Path) -> str:
    """What git has noted in a file. Raises OSError for what is no file, as a pipe, or is too large for a note."""
    if not path.is_file() or path.stat().st_size > MAX_NOTE:
        raise OSError(f"{path}: not a note of git's")
    return path.read_text("utf-8").strip()


def _remote(folder: str) -> str | None:
    """Where a clone is from: "github.com/owner/name", without user, password and ".git"."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if url_match := REMOTE.search(_note(Path(folder) / ".git" / "config")):
            config_path = re.sub(r"^\w+://", "", url_match[1])
            config_path = config_path.rpartition("@")[2].replace(":", "/", 1) if "@" in config_path else config_path
            return config_path.removesuffix("/").removesuffix(".git")
    return None
