"""Record batches of Arrow IPC files and streams from anywhere.

Arrow checks that a message can be read, and believes what it says of offsets, lengths and sizes: a damaged one makes it
read beyond a buffer, or ask for a terabyte. So each message is looked at before Arrow sees it, and a batch is validated
before anything else does.

Source: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc, and
Message.fbs, Schema.fbs and File.fbs of the format, which are FlatBuffers.
"""

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.errors import RecordError, StorageError
from corpusmill.storage import is_local, local_path, open_read

MAGIC = b"ARROW1"
CONTINUES = 0xFFFFFFFF  # before the length of a message, since version 0.15 of the format
SCHEMA, DICTIONARY, BATCH = 1, 2, 3  # kinds of messages
MAX_BATCH = 1 << 31  # bytes of a batch after decompression: as much as one column of strings can hold
MAX_ROWS = 1 << 40
MAX_METADATA = 1 << 28  # bytes of the head of a message


class BadMessage(RecordError):
    """A message that is not what the format says."""


@dataclass(frozen=True)
class BatchBlock:
    """A record batch in a file.

    begin     where the messages begin that must be read for it: its own, and in a stream the dictionaries before it
    end       where its messages end
    rows      as its message says; 0 if that is not known
    problem   why it cannot be read, or None; if `end` is 0, nothing after it can be read either
    number    in a file with a footer
    """

    begin: int
    end: int
    rows: int
    problem: str | None = None
    number: int = 0
    dictionaries: bool = False  # whether there are some to be read before it


@dataclass(frozen=True)
class Message:
    """The head of a message: its kind, rows, where it ends, and why its body must not be read, or None."""

    kind: int
    rows: int
    end: int
    problem: str | None


class Ipc:
    """An open file: `schema`, the record batches in `blocks`, and each of them by `read`."""

    def __init__(
        self, schema: pa.Schema, blocks: Callable[[], Iterator[BatchBlock]], get: Callable[[BatchBlock], Any]
    ) -> None:
        self.schema = schema
        self.blocks = blocks
        self._get = get

    def read(self, block: BatchBlock, columns: list[int]) -> pa.RecordBatch:
        """A batch with these columns, validated. Raises RecordError or an error of pyarrow if it is damaged."""
        if block.problem is not None:
            raise BadMessage(block.problem)
        return validated(self._get(block).select(columns))

    def skip(self, block: BatchBlock) -> None:
        """Pass by a batch; call it, or `read`, for each in turn."""
        if block.dictionaries and block.problem is None:
            try:
                self._get(block)
            except StorageError:
                raise
            except (pa.ArrowException, RecordError, OSError):
                return  # reported where it is read


@contextmanager
def open_ipc(path: str) -> Iterator[Ipc]:
    """A file in either format. One without its end is read as the stream that it holds.

    Raises an error of pyarrow or RecordError if it is neither.
    """
    with opened(path) as file:
        size = file.seek(0, 2)
        lost: str | None = None
        start = 0
        if _at(file, 0, len(MAGIC)) == MAGIC:
            try:
                reader, blocks = _with_footer(file, size)
            except (pa.ArrowException, RecordError, ValueError, struct.error) as error:
                start, lost = 8, f"the file's footer is missing or damaged ({error})"
            else:
                yield Ipc(reader.schema, blocks, lambda block: reader.get_batch(block.number))
                return
        file.seek(start)
        stream = pa.ipc.open_stream(file)
        first = file.tell()

        def read(block: BatchBlock) -> Any:
            file.seek(block.begin)
            try:
                return stream.read_next_batch()
            except StopIteration as error:
                raise BadMessage(f"the message at byte {block.begin} is damaged") from error

        yield Ipc(stream.schema, lambda: _in_stream(file, first, size, lost), read)


def opened(path: str, mapped: bool = True) -> Any:
    """A file for pyarrow to read: a local one without Python in between."""
    if not is_local(path):
        return open_read(path)
    name = os.fsencode(local_path(path))  # a name need not be UTF-8
    return pa.memory_map(name) if mapped else pa.OSFile(name)


def _with_footer(file: Any, size: int) -> tuple[Any, Callable[[], Iterator[BatchBlock]]]:
    tail = _at(file, max(0, size - 10), 10)
    if tail[4:] != MAGIC:
        raise BadMessage(f"the file does not end with {MAGIC.decode()}")
    length = struct.unpack("<i", tail[:4])[0]
    if not 0 < length <= min(size - 10, MAX_METADATA):
        raise BadMessage(f"it says it has {length} bytes")
    footer = _at(file, size - 10 - length, length)
    root = _u32(footer, 0)
    dictionaries, batches = (_vector(footer, _field(footer, root, number), "<qi4xq") for number in (2, 3))
    problem = None
    for begin, _, _ in dictionaries:
        problem = problem or _message(file, begin, size, DICTIONARY).problem
    file.seek(0)
    reader = pa.ipc.open_file(file)
    if reader.num_record_batches != len(batches):
        raise BadMessage("its list of record batches is damaged")

    def blocks() -> Iterator[BatchBlock]:
        for number, (begin, _, _) in enumerate(batches):
            try:
                message = _message(file, begin, size, BATCH)
            except BadMessage as error:
                yield BatchBlock(begin, begin, 0, str(error), number)
            else:
                yield BatchBlock(begin, message.end, message.rows, problem or message.problem, number)

    return reader, blocks


def _in_stream(file: Any, begin: int, size: int, lost: str | None) -> Iterator[BatchBlock]:
    """The batches of a stream from `begin`; at last one with a problem if something follows that cannot be read.

    lost   why the end of the file is not as it should be, if it is not
    """
    at, has_dictionaries = begin, False
    while True:
        try:
            message = _message(file, at, size)
        except BadMessage as error:
            yield BatchBlock(at, 0, 0, f"{lost}, and {error}" if lost else str(error))
            return
        if message is None:
            break
        if message.kind == DICTIONARY:
            has_dictionaries = True
        if message.kind not in (DICTIONARY, BATCH) or (message.problem and has_dictionaries):
            yield BatchBlock(begin, 0, 0, message.problem or f"at byte {at} is a message of kind {message.kind}")
            return
        if message.kind == BATCH:
            yield BatchBlock(begin, message.end, message.rows, message.problem, 0, has_dictionaries)
            begin, has_dictionaries = message.end, False
        at = message.end
    if lost:
        yield BatchBlock(at, 0, 0, f"{lost}; the batches before it were read")
    elif _at(file, at, 12)[8:] == b"\xff" * 4:
        yield BatchBlock(
            at, 0, 0, f"the stream ends at byte {at} and another one follows, which needs a file of its own"
        )


def _message(file: Any, at: int, size: int, kind: int = 0) -> Any:
    """The message at a place in a file; None where a stream ends. Raises BadMessage.

    kind   that it must be; 0 for any
    """
    head = _at(file, at, 8) if 0 <= at <= size else b""
    if len(head) < 4 and not kind:
        return None
    try:
        marked = _u32(head, 0) == CONTINUES
        length = struct.unpack_from("<i", head, 4 if marked else 0)[0]
        if length == 0 and not kind:
            return None
        begin = at + (8 if marked else 4)
        if not 0 < length <= min(size - begin, MAX_METADATA):
            raise BadMessage(f"the message at byte {at} says its head has {length} bytes, and {size - begin} follow")
        meta = _at(file, begin, length)
        return _head(file, meta, begin + length, size, kind)
    except (struct.error, IndexError) as error:
        raise BadMessage(f"the message at byte {at} is damaged: {error}") from error


def _head(file: Any, meta: bytes, body: int, size: int, kind: int) -> Message:
    root = _u32(meta, 0)
    own_kind = meta[_field(meta, root, 1)] if _field(meta, root, 1) else 0
    length = struct.unpack_from("<q", meta, _field(meta, root, 3))[0] if _field(meta, root, 3) else 0
    if (kind and own_kind != kind) or not 0 <= length <= size - body:
        raise BadMessage(f"the message before byte {body} is of kind {own_kind}, with {length} of {size - body} bytes")
    if own_kind not in (DICTIONARY, BATCH):
        return Message(own_kind, 0, body + length, None)
    table = _table(meta, _field(meta, root, 2))
    if own_kind == DICTIONARY:
        table = _table(meta, _field(meta, table, 1))
    rows = struct.unpack_from("<q", meta, _field(meta, table, 0))[0] if _field(meta, table, 0) else 0
    problem = None
    if not 0 <= rows <= MAX_ROWS:
        problem, rows = f"it says it has {rows} rows", 0
    buffers = _vector(meta, _field(meta, table, 2), "<qq")
    if any(start < 0 or count < 0 or start + count > length for start, count in buffers):
        problem = problem or f"it says it has buffers outside of its {length} bytes"
    elif _field(meta, table, 3):  # compressed: each buffer begins with its size before that, or -1
        unpacked = 0
        for start, count in buffers:
            if count >= 8:
                says = struct.unpack("<q", _at(file, body + start, 8))[0]
                if says < -1:
                    problem = problem or f"it says a buffer has {says} bytes"
                unpacked += max(says, 0)
        if unpacked > MAX_BATCH:
            says = f"it says it has {unpacked} bytes after decompression, and at most {MAX_BATCH} are read"
            problem = problem or says
    return Message(own_kind, rows, body + length, problem)


def _at(file: Any, offset: int, count: int) -> bytes:
    file.seek(offset)
    data: bytes = file.read(count)
    return data


def _u32(data: bytes, at: int) -> int:
    value: int = struct.unpack_from("<I", data, at)[0]
    return value


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a FlatBuffers table is; 0 if the table does not have it."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    if fields < 0:
        raise struct.error("a table without fields")
    slot = 4 + 2 * number
    if slot + 2 > struct.unpack_from("<H", data, fields)[0]:
        return 0
    offset: int = struct.unpack_from("<H", data, fields + slot)[0]
    return table + offset if offset else 0


def _table(data: bytes, at: int) -> int:
    if not at:
        raise struct.error("a message without content")
    return at + _u32(data, at)


def _vector(data: bytes, at: int, item: str) -> list[tuple[Any, ...]]:
    """The structs of a vector; none if the table does not have it."""
    if not at:
        return []
    at += _u32(data, at)
    size = _u32(data, at) * struct.calcsize(item)
    if size > len(data) - at - 4:
        raise struct.error("a list that is longer than its message")
    return list(struct.iter_unpack(item, data[at + 4 : at + 4 + size]))


# ------------------------------------------------------------------ validation


def validated(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch. Raises pyarrow.ArrowInvalid if its buffers are not what its types say; single values may be such as
    their type does not allow, see `_harmless`."""
    batch.validate()
    for column in batch.columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            kind = _harmless(column.type)
            if kind == column.type:
                raise
            column.view(kind).validate(full=True)  # is it more than a value that its type does not allow?
    return batch


def _harmless(kind: pa.DataType) -> pa.DataType:
    """A type of the same buffers whose values may be any bits where a wrong one does no harm: strings that are not
    UTF-8, times beyond a day, decimals with too many digits. As deep as Arrow can look at an array as another."""
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.binary() if types.is_string(kind) else pa.large_binary()
    if types.is_string_view(kind):
        return pa.binary_view()
    if types.is_date64(kind) or types.is_time64(kind):
        return pa.int64()
    if types.is_time32(kind):
        return pa.int32()
    if types.is_decimal(kind):
        return pa.binary(kind.byte_width)
    if types.is_struct(kind):
        return pa.struct([_harmless_field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_fixed_size_list(kind):
        return pa.list_(_harmless_field(kind.value_field), kind.list_size)
    lists = ((types.is_list, pa.list_), (types.is_large_list, pa.large_list), (types.is_list_view, pa.list_view))
    for is_kind, new in lists:
        if is_kind(kind):
            return new(_harmless_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_harmless_field(kind.key_field), _harmless_field(kind.item_field), kind.keys_sorted)
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _harmless(kind.value_type), kind.ordered)
    return kind


def _harmless_field(field: pa.Field) -> pa.Field:
    return field.with_type(_harmless(field.type))
