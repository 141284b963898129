"""The pages of a Parquet file, as their heads describe them: what a row group would take in memory, before it is read.

A page says how many bytes it has before and after it is decompressed. A value is no larger than the page that it is in,
or than the dictionary; but a dictionary of one long value may be repeated in each row, and so may what values begin
with (DELTA_BYTE_ARRAY), in next to no bytes.

Source: parquet.thrift of the format (PageHeader), in Thrift's compact protocol.
"""

import struct
from typing import Any

from corpusmill.errors import RecordError

LONGEST_HEAD = 1 << 16  # bytes of the head of a page; its statistics hold two values
MAX_PAGE, MOST_IN_A_BYTE = 64 << 20, 200  # bytes of a page that are decompressed, and for each byte of it
MAX_ITEMS = 1 << 24  # values of a column of lists in a row group that takes next to no bytes
MAX_BATCH = 128 << 20  # bytes of rows that are decoded at a time, at most, where values are repeated
REPEATS = ("PLAIN_DICTIONARY", "RLE_DICTIONARY", "DELTA_BYTE_ARRAY")
TYPE, UNPACKED, PACKED = 1, 2, 3  # fields of a PageHeader
ITEMS = {5: 1, 8: 1}  # its fields for data pages of version 1 and 2: the field of these that counts their values


class TooLarge(RecordError):
    """A row group that would take too much memory."""


def rows_at_once(file: Any, group: Any, most: int) -> int:
    """How many rows of a row group can be decoded at a time: `most`, or fewer if each may be large.

    file    opened, of the Parquet file
    group   its metadata

    Raises TooLarge if a page of it holds far more than its bytes are.
    """
    largest = 1
    for number in range(group.num_columns):
        column = group.column(number)
        name, items, unpacked = column.path_in_schema, 0, 0
        offset = column.dictionary_page_offset if column.has_dictionary_page else None
        at = column.data_page_offset if offset is None else min(offset, column.data_page_offset)
        end = at + column.total_compressed_size
        repeats = any(encoding in REPEATS for encoding in column.encodings)
        while at < end:
            file.seek(at)
            try:
                page, size = _fields(file.read(min(LONGEST_HEAD, end - at)))
                packed, bytes_ = page[PACKED], page[UNPACKED]
                items += next((page[field][count] for field, count in ITEMS.items() if field in page), 0)
            except (IndexError, KeyError, struct.error, TypeError, RecursionError):
                break  # the library says what is wrong
            if packed < 0:
                break
            if bytes_ > max(MAX_PAGE, MOST_IN_A_BYTE * packed):
                says = f"a page of {packed} bytes holds {bytes_}, more than {MOST_IN_A_BYTE} for each"
                raise TooLarge(f"column {name}: {says}")
            unpacked += bytes_
            largest = max(largest, bytes_ if repeats else 1)
            at += size + packed
        if column.num_values > group.num_rows and items > max(MAX_ITEMS, MOST_IN_A_BYTE * unpacked):
            raise TooLarge(f"column {name}: lists in {unpacked} bytes have {items} values")
    return max(1, min(most, MAX_BATCH // largest))


def _fields(data: bytes) -> tuple[dict[int, Any], int]:
    """The fields of a struct in Thrift's compact protocol, and its size: integers, and structs as such fields."""
    fields, at = _struct(data, 0, 0)
    return fields, at


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    fields: dict[int, Any] = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(data, at)
        fields[number], at = _value(data, at, head & 15, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true, false
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _integer(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        size, at = _varint(data, at)
        return None, at + size
    if kind == 12 and depth < 8:
        return _struct(data, at, depth + 1)
    raise TypeError(f"a field of type {kind}, which no head of a page has")


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
