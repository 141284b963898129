"""Selections of records of a crawl: which they are, in which files and where, as a table.

A selection is a Parquet file, sorted by file and offset. Its rows are records, or whole files, which have no offset.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from corpusmill.storage import BLOCK, FileInfo, join, name_of, open_read, stat
from corpusmill.storage.places import address_of, register_address

FILE = "selection.parquet"
SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),  # relative to the crawl's location
        pa.field("offset", pa.int64()),  # null: the whole file
        pa.field("length", pa.int64(), nullable=False),  # bytes; of a whole file about, see `whole_files`
        pa.field("url", pa.string()),
        pa.field("digest", pa.string()),  # SHA-1 of the payload in base 32, null where the index has none
    ]
)
ROWS = 1 << 16  # in a row group
GAP = 256 << 10  # bytes between two records that are fetched with them: sooner there than with another request
SHA1_LENGTH = 32  # characters in base 32
WHERE, RECORDS, TRANSFER, REQUESTS = b"location", b"records", b"transfer", b"requests"


class SelectedRecord(NamedTuple):
    """One row of a selection."""

    offset: int
    length: int
    url: str | None
    digest: str | None

    @property
    def stop(self) -> int:
        return self.offset + self.length

    @property
    def sha1(self) -> str | None:
        """The digest, if it is a SHA-1."""
        digest = (self.digest or "").removeprefix("sha1:")
        return digest if len(digest) == SHA1_LENGTH else None


@dataclass(frozen=True)
class FetchedRange:
    """Records of one file that are fetched in one request."""

    records: tuple[SelectedRecord, ...]

    @property
    def start(self) -> int:
        return self.records[0].offset

    @property
    def stop(self) -> int:
        return max(record.stop for record in self.records)


def ranges(records: Iterable[SelectedRecord]) -> Iterator[FetchedRange]:
    """Sorted records of one file in the ranges in which they are fetched: those with at most GAP bytes between them
    together, up to a block; a longer record alone."""
    together: list[SelectedRecord] = []
    stop = 0
    for record in records:
        if together and (record.offset - stop > GAP or record.stop - together[0].offset > BLOCK):
            yield FetchedRange(tuple(together))
            together, stop = [], 0
        together.append(record)
        stop = max(stop, record.stop)
    if together:
        yield FetchedRange(tuple(together))


def write(target: Path, location: str, batches: Iterable[pa.RecordBatch]) -> tuple[int, int, int]:
    """Write a selection from sorted rows with the columns of SCHEMA. Returns how many records it has, and how many
    bytes in how many requests fetch them; of whole files the bytes alone are known, and requests are 0."""
    count = transfer = requests = 0
    file = ""
    held: list[SelectedRecord] = []  # those of that file, which are not counted yet

    def counted(fetched: Iterable[FetchedRange]) -> None:
        nonlocal transfer, requests
        for part in fetched:
            transfer += part.stop - part.start
            requests += 1

    with pq.ParquetWriter(target, SCHEMA, compression="zstd") as writer:
        for table in _grouped(batches):
            writer.write_table(table, row_group_size=ROWS)
            count += len(table)
            for name, offset, length in zip(*(table[column].to_pylist() for column in SCHEMA.names[:3])):
                if offset is None:
                    transfer += length
                    continue
                if name != file:
                    counted(ranges(held))
                    file, held = name, []
                held.append(SelectedRecord(offset, length, None, None))
        counted(ranges(held))
        notes = {WHERE: location, RECORDS: count, TRANSFER: transfer, REQUESTS: requests}
        writer.add_key_value_metadata({key: str(value).encode() for key, value in notes.items()})
    return count, transfer, requests


def _grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Rows in tables of ROWS, so that the number of a row is that of its row group and its place there."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        while rows >= ROWS:
            table = pa.Table.from_batches(waiting, SCHEMA)
            yield table.slice(0, ROWS)
            waiting, rows = table.slice(ROWS).to_batches(), rows - ROWS
    if rows:
        yield pa.Table.from_batches(waiting, SCHEMA)


def notes_of(selection: str) -> dict[bytes, str]:
    """What `write` has noted of a selection: the location of the crawl, records, bytes, requests."""
    with open_read(selection) as source:
        metadata = pq.read_metadata(source).metadata
    return {key: metadata[key].decode() for key in (WHERE, RECORDS, TRANSFER, REQUESTS)}


def files_in(selection: str) -> list[FileInfo]:
    """The files of a crawl that a selection names. Their sizes are those of the records; the selection is beside them,
    with the rows that are theirs for its name. They change when these rows do."""
    info = stat(selection)
    location = address_of(notes_of(selection)[WHERE])
    is_secret = name_of(location) != location
    files: list[FileInfo] = []
    file, first, number, size, is_whole = "", 0, 0, 0, False
    digest = xxhash.xxh3_128()

    def end() -> None:
        beside = () if is_whole else (FileInfo(info.path, f"{first}:{number}", info.size, info.fingerprint),)
        mark = f"crawl:{digest.hexdigest()}"
        path = join(location, file)
        files.append(FileInfo(register_address(path) if is_secret else path, file, size, mark, beside))

    for name, offset, length, url, record_digest in _rows(selection):
        if name != file:
            if file:
                end()
            file, first, size, is_whole = name, number, 0, offset is None
            digest.reset()
        digest.update(f"{offset} {length} {record_digest} {url}\n".encode())
        size += length
        number += 1
    end()
    return files


def _rows(selection: str) -> Iterator[tuple[Any, ...]]:
    with open_read(selection) as source:
        table = pq.ParquetFile(source)
        for number in range(table.num_row_groups):
            yield from zip(*(column.to_pylist() for column in table.read_row_group(number).columns))


def records_of(file: FileInfo, start: int, stop: int) -> list[SelectedRecord]:
    """The selected records of a file from number `start` to `stop`, in order of their offsets."""
    selection = file.beside[0]
    first, end = map(int, selection.name.split(":"))
    begin, end = first + start, min(end, first + stop)
    records: list[SelectedRecord] = []
    for number in range(begin // ROWS, -(-end // ROWS)):
        base = number * ROWS
        columns = _row_group(selection.path, selection.fingerprint, number)
        part = slice(max(0, begin - base), end - base)
        records += map(SelectedRecord, *(column[part].to_pylist() for column in columns))
    return records


@lru_cache(maxsize=2)
def _row_group(selection: str, fingerprint: str, number: int) -> Sequence[Any]:
    """Offsets, lengths, URLs and digests of a row group: the files of a unit are neighbours in it."""
    with open_read(selection) as source:
        table = pq.ParquetFile(source).read_row_group(number, columns=SCHEMA.names[1:])
    return [column.combine_chunks() for column in table.columns]
