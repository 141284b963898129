"""Files of this machine's file systems. Data and folder entries are fsynced before a call returns."""

# ruff: noqa: PTH208

import contextlib
import errno
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from corpusmill import system
from corpusmill.errors import InputError, StorageError
from corpusmill.storage.places import TEMPORARY, local_path
from corpusmill.storage.trouble import errors_of, failed

# How often a file is made again: who is late may meet the one who tidies up, who removes the folder with what is in it.
REMOVED = 3
UNFINISHED = re.compile(re.escape(TEMPORARY) + "(probe-)?[0-9a-f]{32}")  # what `temporary` and others name them


def list_dir(path: str) -> list[str]:
    folder = local_path(path)
    return os.listdir(folder) if Path(folder).is_dir() else []


def list_sizes(path: str) -> dict[str, int]:
    try:
        with os.scandir(local_path(path)) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def copy(source: str, target: str) -> None:
    final = Path(local_path(target))
    with errors_of(target):
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(local_path(source), final)
        except OSError:
            shutil.copyfile(local_path(source), final)


def move(source: str, target: str) -> None:
    final, first = Path(local_path(target)), Path(local_path(source))
    with errors_of(source):
        final.parent.mkdir(parents=True, exist_ok=True)
        system.replace(first, final)
    fsync_dir(str(final.parent))
    fsync_dir(str(first.parent))


def create_once(path: str, data: bytes) -> bool:
    """As `storage.create_once`: write under another name, fsync, link(2), fsync the folder."""
    final = Path(local_path(path))
    with errors_of(path):
        for _ in range(REMOVED):
            with contextlib.suppress(FileNotFoundError):
                return _create_once(path, final, data)
        return _create_once(path, final, data)


def _create_once(path: str, final: Path, data: bytes) -> bool:
    with temporary(final) as draft:
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
                    raise failed(error, f"{path}: {needed}") from error
                raise
        with contextlib.suppress(InputError):  # gone already, with its folder
            fsync_dir(str(final.parent))
    return True


@contextlib.contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """As `storage.open_write`."""
    final = Path(local_path(path))
    with errors_of(path), temporary(final) as draft:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        system.replace(draft, final)
        fsync_dir(str(final.parent))


def make_dir(path: str) -> None:
    folder = Path(local_path(path))
    with errors_of(path):
        missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise StorageError(f"{path}: is a file, not a folder") from error
        for parent in missing:
            fsync_dir(str(parent.parent))


def remove_unfinished(path: str) -> None:
    """Remove what killed processes have left of files that they were writing, in a folder and all below it."""
    for folder, _, names in os.walk(local_path(path)):
        for name in names:
            if UNFINISHED.match(name):
                (Path(folder) / name).unlink(missing_ok=True)


def fsync_dir(path: str) -> None:
    with errors_of(path):
        system.sync_folder(local_path(path))


@contextlib.contextmanager
def temporary(final: Path) -> Iterator[Path]:
    """An unused name beside `final`, gone afterwards."""
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise StorageError(f"{final.parent}: is a file, not a folder") from error
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
