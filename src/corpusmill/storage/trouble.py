"""Errors of the operating system, and of the libraries that talk to remote places, in our words: one line, with the
place and what to do."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from corpusmill.errors import CorpusmillError, InputError, StorageError
from corpusmill.retry import http_status, is_unreachable
from corpusmill.storage.places import is_local, local_path, scheme_of

S3_LOGIN = "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
GS_LOGIN = "Log in with: gcloud auth application-default login"
AZURE_LOGIN = "Set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN"
LOGIN = {
    "hf": "Log in with: hf auth login (or set HF_TOKEN); a gated repository also wants its terms accepted on its page",
    "s3": S3_LOGIN, "s3a": S3_LOGIN, "gs": GS_LOGIN, "gcs": GS_LOGIN,
    "az": AZURE_LOGIN, "abfs": AZURE_LOGIN, "abfss": AZURE_LOGIN,
}  # fmt: skip
HOSTS = {"hf": "huggingface.co", "s3": "the S3 endpoint", "s3a": "the S3 endpoint", "gs": "storage.googleapis.com"}
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoreError(Exception):
    """What an object store answered, or that it did not: one line without what the request looked like.

    status        of the answer; None if there was none
    unreachable   nobody was there
    """

    def __init__(self, message: str, status: int | None = None, unreachable: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.unreachable = unreachable


@contextlib.contextmanager
def errors_of(path: str) -> Iterator[None]:
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
            raise failed(error, f"{path}: {_no_room(error, path)}") from error
        if not is_local(path):
            raise failed(error, f"{path}: {_remote_trouble(error, path)}") from error
        if isinstance(error, PermissionError):
            refused = f"cannot be opened: {error.strerror}. Change its permissions, or those of a folder above it"
            raise failed(error, f"{path}: {refused}") from error
        raise failed(error, f"{path}: {error.strerror or error}") from error
    except Exception as error:
        if is_local(path):
            raise
        raise StorageError(f"{path}: {_remote_trouble(error, path)}") from error


def is_full(error: BaseException) -> bool:
    """Whether a disk, a quota or the limit of a file's size stopped a write. Libraries may say so in words alone."""
    message = str(error)
    return getattr(error, "errno", None) in FULL or "No space left" in message or "File too large" in message


def disk_full(folder: str, error: OSError) -> StorageError:
    """The error for a write into the folder of a run that a disk, a quota or a limit stopped."""
    if error.errno == errno.EFBIG or "File too large" in str(error):
        problem = "a file is larger than this process may write (ulimit -f), or than the disk can hold"
        remedy = "raise the limit, or set run.unit_mb lower"
    else:
        problem = f"the disk is full{_free_space(folder)}"
        remedy = "make room, or move the folder to a larger disk"
    return StorageError(f"{folder}: {problem}. What is committed is safe: {remedy}, and run the same command again.")


def _no_room(error: OSError, path: str) -> str:
    if error.errno == errno.EFBIG:
        return "the file is larger than this process may write (ulimit -f). Raise the limit and run again."
    return f"no room left{_free_space(path)}. Make room and run again."


def _remote_trouble(error: Exception, path: str) -> str:
    """What a remote place, or the library that talks to it, has said, in one line, and what to do about it."""
    status = http_status(error)
    message = first_line(error) if isinstance(error, StoreError) else f"{type(error).__name__}: {first_line(error)}"
    message = message.removesuffix(": ")
    if isinstance(error, PermissionError) or status in (401, 403):
        login = LOGIN.get(
            scheme_of(path), "If they need a login, download them with a tool that logs in, and name those files"
        )
        return f"no access to {_host(path)} ({message}). Are the credentials those of this place? {login}."
    if status is None and is_unreachable(error):
        return (
            f"{_host(path)} cannot be reached ({message}). Is there a network, and is the name right? Without a "
            "network, copy the files here and name them instead: --set read.SOURCE.paths=FOLDER."
        )
    return f"cannot be read or written ({message})"


def _host(path: str) -> str:
    """Who answers for a URL, for messages."""
    scheme, _, location = path.partition("://")
    name = location.partition("/")[0].rpartition("@")[2]
    return name if scheme in ("http", "https") else HOSTS.get(scheme, f"{scheme}://{name}")


def first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), "")


def failed(error: OSError, message: str) -> StorageError:
    failure = StorageError(message)
    failure.errno = error.errno
    return failure


def _free_space(path: str) -> str:
    """` (1.5 GB free of 20.0 GB)` of the disk that a local path is on."""
    if not is_local(path):
        return ""
    place = Path(local_path(path)).absolute()
    folder = next((p for p in (place, *place.parents) if p.is_dir()), Path("/"))
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return ""
    return f" ({usage.free / 1e9:.1f} GB free of {usage.total / 1e9:.1f} GB on {folder})"
