"""Records as JSON Lines, compressed or not."""

import gzip
import io
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson
import pyarrow as pa
import zstandard

from corpusmill.read import plain_rows
from corpusmill.write._columns import ColumnSelection

SUFFIXES = {"none": ".jsonl", "gz": ".jsonl.gz", "zst": ".jsonl.zst"}
BLOCK = 1 << 20  # bytes


def records(batches: Iterable[pa.RecordBatch], selection: ColumnSelection) -> Iterator[dict[str, Any]]:
    """Documents with the columns of a selection as objects; `metadata`, which is JSON, as an object in them."""
    objects = [name for column, name in selection.columns if column == "metadata"]
    for batch in batches:
        for record in plain_rows(batch):
            for name in objects:
                if isinstance(record.get(name), str):
                    record[name] = orjson.loads(record[name])
            yield record


def write_lines(records: Iterable[dict[str, Any]], path: Path, compression: str, level: int, sort: bool) -> int:
    """Write a line for each record, and return how many there are.

    compression   one of SUFFIXES
    sort          keys are in alphabetical order; otherwise in that of the records
    """
    rows = 0
    with writing_lines(path, compression, level, sort) as add:
        for record in records:
            add(record)
            rows += 1
    return rows


@contextmanager
def writing_lines(
    path: Path, compression: str, level: int, sort: bool = False
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What writes a record as a line of a new file, see `write_lines`."""
    option = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_SORT_KEYS if sort else 0)
    with path.open("wb") as file, _compressed(file, compression, level) as out:
        # Compressors may end a block where a call ends, so all calls but the last get the same number of bytes.
        waiting = bytearray()

        def add(record: dict[str, Any]) -> None:
            nonlocal waiting
            waiting += orjson.dumps(record, _plain, option)
            while len(waiting) >= BLOCK:
                out.write(waiting[:BLOCK])
                del waiting[:BLOCK]

        yield add
        out.write(waiting)


def _plain(value: object) -> object:
    """A value of a column that JSON has no type for: bytes as base64, others as text."""
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)


@contextmanager
def _compressed(file: BinaryIO, compression: str, level: int) -> Iterator[BinaryIO]:
    if compression == "zst":
        with zstandard.ZstdCompressor(level, write_checksum=True).stream_writer(file, closefd=False) as out:
            yield cast(BinaryIO, out)
    elif compression == "gz":
        # Not ISA-L, which is faster: its output depends on the processor.
        with gzip.GzipFile("", "wb", level, cast(io.BytesIO, file), mtime=0) as out:
            yield cast(BinaryIO, out)
    else:
        yield file
