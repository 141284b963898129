"""An Arrow string array as bytes and offsets, and back, without a copy if possible.

Kernels read text in blocks of 64 bytes, so PAD bytes must be readable after the last document. Arrays created here have
them. Arrow does not guarantee any, so other arrays are copied once if they end too close to the end of their buffer (at
10 GB/s, negligible beside any kernel).
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.text.array_types import Bytes, Int64s

PAD = 64
MAX_DOCUMENT_BYTES = 2**31 - 2 * PAD  # bytes of a document; positions inside one are int32


class TextBuffer(NamedTuple):
    """Documents as kernels take them, read-only.

    data      (bytes + at least PAD,) uint8, UTF-8
    offsets   (documents + 1,) int64: document d is data[offsets[d]:offsets[d + 1]]
    """

    data: Bytes
    offsets: Int64s


def view(texts: pa.LargeStringArray | pa.ChunkedArray) -> TextBuffer:
    """The documents of an array, or of any slice of one; a null is an empty document.

    Raises ValueError for another type, for offsets that decrease or exceed the buffer, and for a document of 2 GiB or
    more. Bytes that are not UTF-8 give meaningless results, but never a read outside the buffer.
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if not pa.types.is_large_string(texts.type):
        raise ValueError(f"documents are large_string here, got {texts.type}. Cast them: texts.cast(pa.large_string())")
    if len(texts) == 0:
        return _text(np.zeros(PAD, np.uint8), np.zeros(1, np.int64))
    offsets = _offsets(texts)
    if texts.null_count:
        # Arrow allows nulls to own bytes, which must not be read.
        owned = np.diff(offsets)[texts.is_null().to_numpy(zero_copy_only=False)]
        if owned.any():
            texts = pc.fill_null(texts, "")
            offsets = _offsets(texts)
    values = texts.buffers()[2]
    data = np.frombuffer(values, np.uint8) if values is not None and values.size else np.zeros(0, np.uint8)
    lengths = np.diff(offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    if first < 0 or last > len(data) or (lengths < 0).any():
        raise ValueError(f"offsets must not decrease and be within 0..{len(data)}; they range from {first} to {last}")
    if lengths.max() >= MAX_DOCUMENT_BYTES:
        where = int(lengths.argmax())
        raise ValueError(
            f"document {where} has {int(lengths[where]):,} bytes, more than {MAX_DOCUMENT_BYTES:,}: split it first"
        )
    if last + PAD > len(data):
        padded = np.empty(last - first + PAD, np.uint8)
        padded[: last - first] = data[first:last]
        padded[last - first :] = 0
        data, offsets = padded, offsets - first
    return _text(data, offsets)


def _offsets(texts: pa.LargeStringArray) -> Int64s:
    return np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]


def _text(data: Bytes, offsets: Int64s) -> TextBuffer:
    data, offsets = data[:], offsets[:]  # the caller's stay as they are
    data.setflags(write=False)
    offsets.setflags(write=False)
    return TextBuffer(data, offsets)


def to_arrow(data: Bytes, offsets: Int64s) -> pa.LargeStringArray:
    """The strings data[offsets[i]:offsets[i + 1]], sharing memory with both arrays. `view` of it needs no copy if
    `data` has PAD more bytes after the last string."""
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def grown(array: Bytes, used: int, extra: int) -> Bytes:
    """A copy of array[:used] with room for at least `extra` bytes after it, and at least 1.5 times as large."""
    bigger = np.empty(max(used + extra, len(array) + len(array) // 2), array.dtype)
    bigger[:used] = array[:used]
    return bigger


def keep_nulls(result: pa.LargeStringArray, texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The result with a null wherever `texts` has one."""
    return pc.if_else(texts.is_valid(), result, pa.scalar(None, result.type)) if texts.null_count else result
