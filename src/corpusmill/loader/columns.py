"""The layout of rows, and the columns of a batch that are computed from it."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.loader.arguments import SIZE_REMEDY, WIDE_COLUMNS, bytes_of, too_large
from corpusmill.shards.layout import PADDING

Int64s = NDArray[np.int64]
IGNORE = -100  # a target without a loss; the default ignore_index of PyTorch's cross entropy
FIELDS = ("tokens", "targets", "loss_mask", "position_ids", "doc_ids", "cu_seqlens")


class RowPieces(NamedTuple):
    """The pieces of documents in some rows, and padding, by row and then by start: each (pieces,).

    row        index of the row
    start      first token of the piece in its row
    document   number of the document, or PADDING
    offset     tokens of the document before the piece
    length     tokens of the piece in the row
    ends       bool, False if the next row of the shards begins with the document's next token
    """

    row: Int64s
    start: Int64s
    document: Int64s
    offset: Int64s
    length: Int64s
    ends: NDArray[np.bool_]

    def take(self, which: NDArray[Any]) -> "RowPieces":
        """The pieces at these indices, or where a mask is True."""
        columns: Any = (column[which] for column in self)
        return RowPieces(*columns)


class RowCopies(NamedTuple):
    """Where the tokens of some rows are in the files, by row and then by `at`: each (copies,).

    A row takes one token more than its length, as the target of its last one, unless the data ends there.

    row     index of the row
    at      first token in the row
    size    tokens
    file    number of the shard
    first   first token in the shard
    """

    row: Int64s
    at: Int64s
    size: Int64s
    file: Int64s
    first: Int64s


class Layout(NamedTuple):
    """Rows that were looked up and can be copied: many at once cost little more than one."""

    pieces: RowPieces
    copies: RowCopies

    def part(self, first: int, stop: int) -> "Layout":
        """The layout of the rows [first, stop), numbered from 0."""
        return Layout(_part(self.pieces, first, stop), _part(self.copies, first, stop))


def _part(table: Any, first: int, stop: int) -> Any:
    a, b = np.searchsorted(table.row, (first, stop)).tolist()
    return type(table)(table.row[a:b] - first, *(column[a:b] for column in table[1:]))


def merged(layouts: Sequence[Layout], places: Sequence[Int64s]) -> Layout:
    """Layouts of different rows as one; `places` has for each layout the indices of its rows in the result."""
    return Layout(
        RowPieces(*_merged([layout.pieces for layout in layouts], places)),
        RowCopies(*_merged([layout.copies for layout in layouts], places)),
    )


def _merged(tables: Sequence[Any], places: Sequence[Int64s]) -> list[NDArray[Any]]:
    row = np.concatenate([indices[table.row] for table, indices in zip(tables, places)])
    order = np.argsort(row, kind="stable")
    return [row[order], *(np.concatenate(columns)[order] for columns in list(zip(*tables))[1:])]


def columns(
    layout: Layout,
    rows: int,
    length: int,
    pad: int,
    files: Mapping[int, NDArray[Any]],
    fields: Collection[str],
    blank: bool = False,
) -> dict[str, NDArray[Any]]:
    """The columns of a batch of so many rows, as `Rows.read` explains them, in the order of FIELDS.

    pad     the id that fills the row in which the data ends
    files   the tokens of each shard that `layout` names
    blank   fill padding with `pad`, whatever the files have there: a document that is forgotten, perhaps
    """
    pieces, copies = layout
    # One allocation for all wide columns: malloc can reuse it without page faults, and the page faults of one column
    # take as long as filling it (20 per batch of 8 x 2,048 tokens, now 2).
    wide = [name for name in WIDE_COLUMNS if name == "tokens" or name in fields]
    try:
        batch: dict[str, NDArray[Any]] = dict(zip(wide, np.empty((len(wide), rows, length), np.int64)))
    except MemoryError:
        needed = bytes_of(rows * length, fields)
        raise ShardError(f"{too_large(rows, length, needed)}, more than there is. {SIZE_REMEDY}") from None
    tokens, targets = batch["tokens"], batch.get("targets")
    if copies.size.sum() < rows * (length + 1):
        tokens.fill(pad)
    # A loop, because copying row by row is four times as fast as fancy indexing.
    for row, at, size, file, first in zip(*(column.tolist() for column in copies)):
        ids = files[file]
        tokens[row, at : at + size] = ids[first : first + min(size, length - at)]
        if targets is not None:
            skip = 0 if at else 1
            targets[row, at + skip - 1 : at + size - 1] = ids[first + skip : first + size]
    begins = pieces.row * length + pieces.start
    if blank:
        tokens.reshape(-1)[_padding(pieces, begins)] = pad
    if "targets" in fields or "loss_mask" in fields:
        ends = _ends(pieces, begins)
        if targets is not None:
            targets.reshape(-1)[ends] = IGNORE
        if "loss_mask" in fields:
            mask = np.ones((rows, length), np.bool_)
            mask.reshape(-1)[ends] = False
            batch["loss_mask"] = mask
    if "doc_ids" in fields:
        batch["doc_ids"].reshape(-1)[:] = np.repeat(pieces.document, pieces.length)
    if "position_ids" in fields:
        begin = np.repeat(begins, pieces.length)
        np.subtract(_counted(rows * length), begin, out=batch["position_ids"].reshape(-1))
    if "cu_seqlens" in fields:
        batch["cu_seqlens"] = np.append(begins, rows * length).astype(np.int32)
    return {name: batch[name] for name in FIELDS if name in fields}


@lru_cache(4)
def _counted(stop: int) -> Int64s:
    return np.arange(stop)


def _ends(pieces: RowPieces, begins: Int64s) -> Int64s:
    """The last tokens of documents, and all padding: positions over all rows that have no target."""
    ends = (begins + pieces.length - 1)[pieces.ends]
    inner = _padding(pieces, begins)
    return np.concatenate([ends, inner]) if len(inner) else ends


def _padding(pieces: RowPieces, begins: Int64s) -> Int64s:
    """All padding: positions over all rows."""
    padding = np.flatnonzero(pieces.document == PADDING)
    if not len(padding):
        return padding
    begin, size = begins[padding], pieces.length[padding]
    positions: Int64s = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size) + np.repeat(begin, size)
    return positions
