"""`index.entries`: the content of index.json in a form that is mapped, not parsed, so that opening 10,000 shards takes
no longer than opening ten. FORMAT.md is the contract. Needs NumPy and xxhash only.

It is written before index.json and holds its checksum. Where it is not there, is damaged, or is of another index.json,
as between the two writes, index.json is read.
"""

import hashlib
import json
import mmap
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path

import numpy as np
import xxhash

from corpusmill.errors import ShardError
from corpusmill.shards.layout import ENTRY_RECORD, INDEX, ShardEntries, ShardIndex

ENTRIES_FILE = "index.entries"
MIN_SHARDS = 64  # shards: of fewer, index.json is read in a millisecond, and nothing is written
ENTRIES_MAGIC = b"CMINDEX1"
ENTRIES_HEADER = 64  # bytes: magic, shards, bytes of JSON, zero; checksums of index.json and of all that follows
CHECKSUM_BYTES = 16  # bytes


def index_files(index: ShardIndex) -> dict[str, bytes]:
    """The files of an index, in the order in which they are to be written: index.json is last."""
    content = index.to_bytes()
    entries = entries_of(content) if len(index.shards) >= MIN_SHARDS else None
    return ({} if entries is None else {ENTRIES_FILE: entries}) | {INDEX: content}


def entries_of(content: bytes) -> bytes | None:
    """The file beside an index.json of this content; None if that can have none, as it is no index or says what cannot
    be in the file."""
    try:
        index = ShardIndex.from_bytes(content, Path(INDEX))
        shards = ShardEntries.from_entries(index.shards)
    except (ShardError, ValueError, TypeError, OverflowError):
        return None
    if shards != index.shards:  # a checksum in capitals, for example
        return None
    facts = json.dumps(index.facts(), ensure_ascii=False).encode()
    facts += b" " * (-len(facts) % 8)  # what follows is aligned
    body = facts + shards.edges.astype("<i8").tobytes() + shards.records.tobytes()
    sizes = np.array([len(shards), len(facts), 0], "<i8").tobytes()
    head = ENTRIES_MAGIC + sizes + xxhash.xxh3_128_digest(content)
    return head + xxhash.xxh3_128_digest(head + body) + body


def open_index(folder: Path) -> ShardIndex:
    """The index of a folder, its shards mapped if `index.entries` is of it. Raises ShardError as `ShardIndex.read`."""
    return mapped_index(folder) or ShardIndex.read(folder / INDEX)


def mapped_index(folder: Path) -> ShardIndex | None:
    """The index as `index.entries` has it; None if that is not there, is damaged, or is not of this index.json."""
    try:
        with (folder / ENTRIES_FILE).open("rb") as file:
            head = file.read(ENTRIES_HEADER)
            if len(head) < ENTRIES_HEADER or head[: len(ENTRIES_MAGIC)] != ENTRIES_MAGIC:
                return None
            count, facts, _ = np.frombuffer(head, "<i8", 3, len(ENTRIES_MAGIC)).tolist()
            of_index, of_all = head[-2 * CHECKSUM_BYTES : -CHECKSUM_BYTES], head[-CHECKSUM_BYTES:]
            if _digest(file, head[:-CHECKSUM_BYTES]) != of_all:
                return None
            with (folder / INDEX).open("rb") as index:
                if _digest(index) != of_index:
                    return None
            # The file that was read, also if another one has its name by now.
            mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError:
        return None
    edges, records = ENTRIES_HEADER + facts, ENTRIES_HEADER + facts + 8 * (count + 1)
    shards = ShardEntries(mapped[edges:records].view("<i8"), mapped[records:].view(ENTRY_RECORD))
    return ShardIndex.from_facts(json.loads(mapped[ENTRIES_HEADER:edges].tobytes()), shards)


def problems(folder: Path) -> Iterator[str]:
    """What is wrong with `index.entries`, if it is there."""
    path = folder / ENTRIES_FILE
    try:
        if path.exists() and path.read_bytes() != entries_of((folder / INDEX).read_bytes()):
            yield (
                f"{path}: does not say what {INDEX} says: it is damaged, or of another {INDEX}. Remove it: shards are "
                "read without it, and opened more slowly."
            )
    except OSError as error:
        yield f"{path}: cannot be read ({error.strerror}). Remove it: shards are read without it."


def _digest(file: BufferedReader, begin: bytes = b"") -> bytes:
    return hashlib.file_digest(file, partial(xxhash.xxh3_128, begin)).digest()
