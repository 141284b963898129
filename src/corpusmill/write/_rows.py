"""Packed rows one by one, for the writers of formats of other programs."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.shards.layout import PADDING, DocumentSpans
from corpusmill.text.array_types import Int64s
from corpusmill.write import PackedRows

BLOCK = 1 << 22  # tokens converted at a time


class RowSlice(NamedTuple):
    """Consecutive rows of a shard.

    tokens      (tokens,) of all rows, padding included; all rows have the same length, the last may be short
    edges       (rows + 1,) where they begin and end in `tokens`
    documents   (pieces,) numbers of the documents in the rows, in order, without padding
    lengths     (pieces,) int32 tokens of each; the rest of a row is padding at its end
    offsets     (pieces,) tokens of the document before the piece: 0 where it begins
    pieces      (rows + 1,) where the rows begin and end in `documents`
    """

    tokens: NDArray[Any]
    edges: Int64s
    documents: Int64s
    lengths: NDArray[np.int32]
    offsets: Int64s
    pieces: Int64s


def write_ids(ids: NDArray[Any], dtype: np.dtype[Any], write: Callable[[bytes], Any]) -> None:
    """Write token ids as another type, BLOCK of them in memory at a time."""
    for low in range(0, len(ids), BLOCK):
        write(np.asarray(ids[low : low + BLOCK]).astype(dtype, copy=False).tobytes())


def check_shard_size(tokens: int) -> None:
    """Raises RecipeError if the parameter `tokens_per_shard` is invalid."""
    if tokens < 1:
        raise RecipeError(f"need tokens_per_shard >= 1, got {tokens}")


def in_groups(packed: PackedRows, rows: int) -> Iterator[RowSlice]:
    """The rows of a shard, `rows` at a time."""
    row = packed.row
    in_row, start, document, offset = by_row(packed.spans, packed.size, row)
    length = (np.append(start[1:], packed.size) - start).astype(np.int32)
    real = document != PADDING
    in_row, length, document, offset = in_row[real], length[real], document[real], offset[real]
    for number, tokens in enumerate(packed.chunks(rows)):
        count = -(-len(tokens) // row)
        edges = np.minimum(np.arange(count + 1) * row, len(tokens))
        pieces = np.searchsorted(in_row, number * rows + np.arange(count + 1))
        within = slice(int(pieces[0]), int(pieces[-1]))
        yield RowSlice(tokens, edges, document[within], length[within], offset[within], pieces - pieces[0])


def by_row(spans: DocumentSpans, size: int, row: int) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Spans cut where rows end: (spans,) the row, where it starts in the shard, its document and the offset there.

    size   tokens in the shard
    """
    start = np.union1d(spans.start, np.arange(0, size, row))
    span = np.searchsorted(spans.start, start, "right") - 1
    return start // row, start, spans.document[span], spans.offset[span] + start - spans.start[span]
