"""The pages of a Parquet file, as their heads describe them: what a row group would take in memory, before it is read.

A page says how many bytes it has before and after it is decompressed. A value is no larger than the page that it is in,
or than the dictionary; but a dictionary of one long value may be repeated in each row, and so may what values begin
with (DELTA_BYTE_ARRAY), in next to no bytes.

Source: parquet.thrift of the format (PageHeader), in Thrift's compact protocol.
"""

import struct
from functools import lru_cache
from typing import Any, NamedTuple

from corpusmill.errors import RecordError

MAGIC = b"PAR1"
LONGEST_HEAD = 1 << 16  # bytes of the head of a page; its statistics hold two values
MAX_PAGE, MOST_IN_A_BYTE = 64 << 20, 200  # bytes of a page that are decompressed, and for each byte of it
MAX_ITEMS = 1 << 24  # values of a column of lists in a row group that takes next to no bytes
MAX_BATCH = 128 << 20  # bytes of rows that are decoded at a time, at most, where values are repeated
REPEATS = {2, 7, 8}  # encodings: PLAIN_DICTIONARY, DELTA_BYTE_ARRAY, RLE_DICTIONARY
# Fields of a PageHeader: bytes before and after compression; heads of data pages of version 1 and 2, whose first is how
# many values there are.
UNPACKED, PACKED, DATA_PAGES = 2, 3, (5, 8)
ROW_GROUPS, COLUMNS, METADATA = 4, 1, 3  # fields of a FileMetaData, a RowGroup, and a ColumnChunk
DAMAGED = (LookupError, TypeError, ValueError, AttributeError, RecursionError, struct.error)
MAX_DEPTH = 16  # of structs in structs


class TooLarge(RecordError):
    """A row group that would take too much memory."""


class ColumnPages(NamedTuple):
    """Where the pages of a column of a row group are, and whether values are repeated in them."""

    name: str
    begin: int
    end: int
    values: int
    repeats: bool


def rows_at_once(file: Any, group: int, rows: int, most: int) -> int:
    """How many rows of a row group can be decoded at a time: `most`, or fewer if each may be large.

    file   opened, of the Parquet file
    rows   of the group

    What is damaged the library says when it reads it. Raises TooLarge if a page holds far more than its bytes are.
    """
    file.seek(max(0, file.seek(0, 2) - 8))
    tail = file.read(8)
    size = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or size > file.seek(0, 2) - 12:
        return most
    file.seek(file.seek(0, 2) - 8 - size)
    largest = 1
    groups = _row_groups(file.read(size))
    for pages in groups[group] if group < len(groups) else ():
        biggest = _biggest(file, pages, rows)
        largest = max(largest, biggest if pages.repeats else 1)
    return max(1, min(most, MAX_BATCH // largest))


@lru_cache(1)
def _row_groups(footer: bytes) -> list[list[ColumnPages]]:
    """The columns of each row group, as the footer says; none of those after one that is damaged. Not asked of pyarrow:
    it ends the process where some are damaged."""
    groups = []
    try:
        for group in _struct(footer, 0, 0)[0][ROW_GROUPS]:
            groups.append([_pages(column[METADATA]) for column in group[COLUMNS]])
    except DAMAGED:
        return groups
    return groups


def _pages(about: dict[int, Any]) -> ColumnPages:
    """The pages of a column, by its ColumnMetaData."""
    begin = min(place for field in (9, 11) if isinstance(place := about.get(field), int) and place > 0)
    name = ".".join(part.decode("utf-8", "replace") for part in about[3])
    return ColumnPages(name, begin, begin + about[7], int(about[5]), bool(REPEATS & {*about[2]}))


def _biggest(file: Any, pages: ColumnPages, rows: int) -> int:
    """The bytes of the largest page of a column, decompressed."""
    at, biggest, unpacked, items = pages.begin, 1, 0, 0
    while at < pages.end:
        file.seek(at)
        try:
            page, size = _struct(file.read(min(LONGEST_HEAD, pages.end - at)), 0, 0)
            packed, bytes_ = int(page[PACKED]), int(page[UNPACKED])
            items += sum(int(page[field][1]) for field in DATA_PAGES if field in page)
        except DAMAGED:
            break
        if packed < 0:
            break
        if bytes_ > max(MAX_PAGE, MOST_IN_A_BYTE * packed):
            says = f"a page of {packed} bytes holds {bytes_}, more than {MOST_IN_A_BYTE} for each"
            raise TooLarge(f"column {pages.name}: {says}")
        unpacked += bytes_
        biggest = max(biggest, bytes_)
        at += size + packed
    if pages.values > rows and items > max(MAX_ITEMS, MOST_IN_A_BYTE * unpacked):
        raise TooLarge(f"column {pages.name}: lists in {unpacked} bytes have {items} values")
    return biggest


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The fields of a struct in Thrift's compact protocol by number, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(data, at)
        kind = head & 15
        fields[number], at = (kind == 1, at) if kind in (1, 2) else _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2, 3):  # of a list: a truth, a byte
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _integer(data, at)
    if kind in (7, 13):  # a double, an UUID
        return None, at + (8 if kind == 7 else 16)
    if kind == 8:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind in (9, 10):  # a list, a set
        head, at = data[at], at + 1
        size, at = _varint(data, at) if head >> 4 == 15 else (head >> 4, at)
        items = []
        for _ in range(size):
            item, at = _value(data, at, head & 15, depth + 1)
            items.append(item)
        return items, at
    if kind == 12 and depth < MAX_DEPTH:
        return _struct(data, at, depth + 1)
    raise TypeError(f"a field of type {kind} at byte {at}, which the format does not have")


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise TypeError("a number of more than ten bytes")
