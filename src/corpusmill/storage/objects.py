"""Object stores through obstore: s3://, gs://, az://; see `remote.Remote`.

Large files are read in ranges and written in parts, several at once; a name is there when all of the file is. What a
file holds never depends on a listing.
"""

import contextlib
import io
import os
import re
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from corpusmill import retry
from corpusmill.errors import InputError, StorageError
from corpusmill.storage import stores
from corpusmill.storage.asking import ask, may_pass, once, root_of, status_of
from corpusmill.storage.object_file import ObjectFile
from corpusmill.storage.places import BLOCK, S3, WILD, ListedFile, last_part, scheme_of
from corpusmill.storage.trouble import StoreError, errors_of

SCHEMES = stores.EXTRAS.keys()
PARALLEL_RANGES = 4  # ranges or parts
MAX_SINGLE_PUT = 32 << 20  # bytes that are sent as one request: there are no parts that a killed process could leave
PART_BYTES, MAX_PARTS = 16 << 20, 9_000  # S3 takes 10,000
CONFLICTS = (409, 412)
ATTEMPT = "attempt"  # metadata of what was created once: who did
asked: Counter[str] = Counter()  # requests of this process by kind
T = TypeVar("T")


def name(path: str) -> str:
    head, _, location = path.partition("://")
    return f"{head.lower()}://{location.rstrip('/')}"


# ------------------------------------------------------------------ finding


def find(path: str) -> tuple[bool, list[ListedFile]]:
    if (head := _head(path)) is not None and not path.endswith("/"):
        return False, [_entry(path, head)]
    below = _below(path)
    return bool(below), below


def _below(path: str) -> list[ListedFile]:
    """All files below a folder."""

    def look(store: Any, key: str) -> list[ListedFile]:
        import obstore

        entries = []
        for page in obstore.list(store, key or None, chunk_size=1000):
            asked["list"] += 1
            entries += [_entry(path, entry) for entry in page if entry["path"] != key]
        return entries

    return ask(path, look)


def _one_level(path: str) -> tuple[list[ListedFile], list[str]]:
    """The files in a folder, and the names of the folders in it."""

    def look(store: Any, key: str) -> tuple[list[ListedFile], list[str]]:
        import obstore

        listing = obstore.list_with_delimiter(store, key or None)
        asked["list"] += 1 + (len(listing["objects"]) + len(listing["common_prefixes"])) // 1000
        # A key that ends in "/" is how consoles show an empty folder: it is listed as the folder itself.
        files = [_entry(path, entry) for entry in listing["objects"] if entry["path"] != key]
        return files, [last_part(prefix) for prefix in listing["common_prefixes"]]

    return ask(path, look)


def folder(path: str) -> tuple[dict[str, int], list[str]]:
    files, folders = _one_level(path)
    return {last_part(entry.path): entry.size for entry in files}, folders


def tree(path: str) -> dict[str, str]:
    start = len(name(path)) + 1
    return {entry.path[start:]: f"{entry.size} {entry.mark}" for entry in _below(path)}


def glob(pattern: str) -> list[ListedFile]:
    parts = pattern.split("/")
    wild = next(i for i, part in enumerate(parts) if WILD & set(part))
    return _matching("/".join(parts[:wild]), parts[wild:])


def _matching(folder: str, parts: Sequence[str]) -> list[ListedFile]:
    """Files below a folder by the rest of a pattern: one level after another, not to list all that is there."""
    head, *further = parts
    if "**" in head:
        fits = _fitting("/".join(parts))
        return [entry for entry in _below(folder) if fits(entry.path[len(folder) + 1 :])]
    if further and not WILD & set(head):
        return _matching(f"{folder}/{head}", further)
    files, folders = _one_level(folder)
    fits = _fitting(head)
    if not further:
        return [entry for entry in files if fits(last_part(entry.path))]
    return [entry for inner in folders if fits(inner) for entry in _matching(f"{folder}/{inner}", further)]


def _fitting(pattern: str) -> Callable[[str], Any]:
    from fsspec.utils import glob_translate

    return re.compile(glob_translate(pattern)).match


def _entry(path: str, info: Any) -> ListedFile:
    head, _, location = path.partition("://")
    mark = f"etag:{info['e_tag']}" if info["e_tag"] else f"mtime:{info['last_modified'].isoformat()}"
    return ListedFile(
        f"{head.lower()}://{location.partition('/')[0]}/{info['path']}", info["size"], mark.replace('"', "")
    )


def _head(path: str) -> Any:
    """What the store says of a file; None if there is none."""

    def look(store: Any, key: str) -> Any:
        import obstore

        if not key:
            return None
        asked["head"] += 1
        try:
            return obstore.head(store, key)
        except FileNotFoundError:
            return None

    return ask(path, look)


def size(path: str) -> int | None:
    head = _head(path)
    return None if head is None else int(head["size"])


def exists(path: str) -> bool:
    return _head(path) is not None


# ------------------------------------------------------------------ reading


def read(path: str) -> bytes:
    def get(store: Any, key: str) -> bytes:
        import obstore

        asked["get"] += 1
        return bytes(obstore.get(store, key).bytes())

    return ask(path, get)


def read_range(path: str, start: int, stop: int) -> bytes:
    """See `remote.Remote`. More than a block is asked for in several ranges at once."""

    def get(store: Any, key: str) -> bytes:
        import obstore

        if stop - start <= BLOCK:
            asked["get"] += 1
            try:
                return bytes(obstore.get_range(store, key, start=start, end=stop))
            except Exception as error:
                if status_of(error) == 416:  # it begins after the end
                    return b""
                raise
        end = min(stop, int(obstore.head(store, key)["size"]))
        asked["head"] += 1
        return b"".join(map(bytes, _ranges(store, key, start, end)))

    return ask(path, get) if stop > start else b""


def read_ranges(path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """See `remote.Remote`. The store is asked for ten at a time."""

    def get(store: Any, key: str) -> list[bytes]:
        return list(map(bytes, _get(store, key, *map(list, zip(*ranges)))))

    return ask(path, get) if ranges else []


def _ranges(store: Any, key: str, start: int, stop: int) -> list[Any]:
    """Bytes [start, stop), all of which are there, in pieces."""
    step = max(-(-(stop - start) // PARALLEL_RANGES), 1 << 20)
    starts = list(range(start, stop, step))
    return _get(store, key, starts, [*starts[1:], stop]) if starts else []


def _get(store: Any, key: str, starts: list[int], ends: list[int]) -> list[Any]:
    import obstore

    asked["get"] += len(starts)
    pieces = obstore.get_ranges(store, key, starts=starts, ends=ends, coalesce=0)
    for first, end, piece in zip(starts, ends, pieces):
        if len(piece) != end - first:
            raise StoreError(f"it breaks off at byte {first + len(piece)} of {end}")
    return list(pieces)


def download(path: str, target: Path) -> None:
    def get(store: Any, key: str) -> None:
        import obstore

        asked["get"] += 1
        with target.open("wb") as file:
            try:
                answer = obstore.get(store, key, options={"range": (0, 2 * BLOCK)})
                file.write(answer.bytes())
            except Exception as error:
                if status_of(error) == 416:  # it is empty
                    return
                raise
            size = int(answer.meta["size"])
            for start in range(file.tell(), size, PARALLEL_RANGES * BLOCK):
                file.writelines(_ranges(store, key, start, min(start + PARALLEL_RANGES * BLOCK, size)))

    ask(path, get)


def reading(path: str) -> io.RawIOBase:
    head = _head(path)
    if head is None:
        folder(path)  # says so if there is no such bucket
        raise InputError(f"{path}: no such file or folder")

    def ranges(start: int, stop: int) -> bytes:
        return ask(path, lambda store, key: b"".join(map(bytes, _ranges(store, key, start, stop))))

    return ObjectFile(int(head["size"]), ranges)


# ------------------------------------------------------------------ writing


def write(path: str, data: bytes) -> None:
    def send(store: Any, key: str) -> None:
        import obstore

        asked["put"] += 1
        obstore.put(store, key, data, use_multipart=False)

    ask(path, send)


def create_once(path: str, data: bytes) -> bool:
    """See `storage.create_once`: a conditional put.

    What it answers is believed only if it is yes. A store may say that there is something of this name for a conflict
    of which nothing came (409), and for the very put whose first answer was lost. So at any error what is there is
    read, and the attempt that it names compared; if nothing is there, it is tried again.
    """
    token = uuid.uuid4().hex

    def send(store: Any, key: str) -> None:
        import obstore

        asked["put"] += 1
        obstore.put(store, key, data, mode="create", attributes={ATTEMPT: token}, use_multipart=False)

    with errors_of(path):
        for attempt in range(1, retry.ATTEMPTS + 1):
            try:
                once(path, send)
                return True
            except InputError:  # no such bucket, no such name
                raise
            except Exception as error:
                if (creation := _made_by(path)) is not None:
                    return creation == (token, data)
                if attempt == retry.ATTEMPTS or not (status_of(error) in CONFLICTS or may_pass(error)):
                    raise
                time.sleep(retry.wait(attempt))
    raise StorageError(f"{path}: cannot be created")


def _made_by(path: str) -> tuple[str, bytes] | None:
    """Who created a file, and what is in it; None if there is none."""

    def get(store: Any, key: str) -> tuple[str, bytes] | None:
        import obstore

        asked["get"] += 1
        try:
            answer = obstore.get(store, key)
        except FileNotFoundError:
            return None
        return str(answer.attributes.get(ATTEMPT, "")), bytes(answer.bytes())

    return ask(path, get)


def upload(source: Path, path: str) -> None:
    size = source.stat().st_size
    part = max(PART_BYTES, -(-size // MAX_PARTS))

    def send(store: Any, key: str) -> None:
        import obstore

        if size <= MAX_SINGLE_PUT:
            asked["put"] += 1
        else:
            asked["part"] += -(-size // part)
            asked["put"] += 2  # to begin and to end
        obstore.put(
            store, key, source, use_multipart=size > MAX_SINGLE_PUT, chunk_size=part, max_concurrency=PARALLEL_RANGES
        )

    ask(path, send)


def copy(source: str, target: str) -> None:
    if root_of(source) != root_of(target):
        with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
            download(source, Path(folder, "copy"))
            upload(Path(folder, "copy"), target)
        return

    def ask_for_copy(store: Any, key: str) -> None:
        import obstore

        asked["copy"] += 1
        obstore.copy(store, key, stores.connect(target)[1])

    ask(source, ask_for_copy)


def remove(path: str) -> None:
    _delete(path, [])


def remove_files(paths: Sequence[str]) -> None:
    _delete(paths[0], list(paths))


def remove_tree(path: str) -> None:
    _delete(path, [entry.path for entry in _below(path)])
    remove_unfinished(path, 0)


def _delete(path: str, below: list[str]) -> None:
    """Remove a file, or these below it."""

    def delete(store: Any, key: str) -> None:
        import obstore

        keys = [stores.connect(name)[1] for name in below] or [key]
        asked["delete"] += 1 + len(keys) // 1000
        with contextlib.suppress(FileNotFoundError):
            obstore.delete(store, keys)

    ask(path, delete)


def remove_unfinished(path: str, older_s: float) -> None:
    """Of S3 alone: Google's store wants a rule for it, Azure's forgets by itself after a week. obstore cannot list
    them.

    Whoever may not list or abort uploads, or whose store does not know of it, goes without: nobody sees them.
    """
    if scheme_of(path) not in S3:
        return
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, key = name(path).partition("://")[2].partition("/")
    config = Config(connect_timeout=5, retries={"total_max_attempts": 2})
    with contextlib.suppress(BotoCoreError, ClientError):
        s3 = boto3.client("s3", endpoint_url=stores.endpoint_of("s3", os.environ), config=config)
        before = datetime.now(UTC) - timedelta(seconds=older_s)
        asked["list"] += 1
        for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=f"{key}/"):
            for unfinished in page.get("Uploads", ()):
                if unfinished["Initiated"] <= before and unfinished["Key"].startswith(f"{key}/"):
                    asked["delete"] += 1
                    s3.abort_multipart_upload(Bucket=bucket, Key=unfinished["Key"], UploadId=unfinished["UploadId"])
