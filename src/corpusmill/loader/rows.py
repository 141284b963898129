"""The rows of a folder of shards, and how they are read."""

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError, did_you_mean
from corpusmill.loader.arguments import check_room, shown, whole_number
from corpusmill.loader.columns import FIELDS, IGNORE, Int64s, Layout, RowCopies, RowPieces, columns
from corpusmill.loader.loss import Rule, across, apply_loss
from corpusmill.shards import Shards
from corpusmill.shards.layout import PADDING

__all__ = ["FIELDS", "IGNORE", "ShardRows", "check_fields", "same_tokenizer"]


class ShardRows:
    """The rows of a folder of shards, of `length` tokens each, by default the sequence length of the shards.

    Raises ShardError if there are no rows, as the shards hold no tokens; for a length below 1, for another than the
    default if packing keeps documents within rows, and for none if the shards were written without packing.
    """

    def __init__(self, shards: Shards, length: int | None = None) -> None:
        if not len(shards):
            raise ShardError(
                f"{shards.folder}: there are no rows: the shards hold no tokens. The report of the run that wrote them "
                "says what became of its documents."
            )
        packed = shards.row_length if length is None else shards.index.sequence_length
        length = None if length is None else whole_number("sequence_length", length, 1, 1 << 60)
        if length is not None and length != packed and shards.index.keeps_documents:
            packing = shards.index.packing
            how = packing if packing != "concat" else f"cut at each {shards.index.split_at}"
            raise ShardError(
                f"{shards.folder}: documents are packed into rows of {packed} tokens ({how}), so rows of {length} "
                f"would cut them. Use {packed}, or pack again."
            )
        self.shards = shards
        self.length: int = length or shards.row_length
        self._edges = shards.edges

    def __len__(self) -> int:
        """The number of rows; the last may be filled with padding."""
        return (len(self.shards) + self.length - 1) // self.length

    def read(self, rows: Int64s, fields: Collection[str] = FIELDS) -> dict[str, NDArray[Any]]:
        """The rows with these numbers, as arrays of (rows, length):

        tokens         int64 ids; the row in which the data ends is filled with the padding of the shards
        targets        int64, the next token of the same document; IGNORE at its end, in padding, at the end of a piece
                       whose document continues elsewhere (`best_fit` cuts documents longer than a row), and where the
                       `loss` of the index says so
        loss_mask      bool, where targets are not IGNORE
        position_ids   int64, from 0 on in every piece of a document
        doc_ids        int64, number of the document; -1 in padding, and in documents that are forgotten: they are
                       padding where they were
        cu_seqlens     int32 (pieces + 1,): the beginnings of the pieces in the concatenation of all rows, and its
                       length, as FlashAttention wants them

        Raises ShardError for an unknown field.
        """
        fields = check_fields(fields, FIELDS)
        check_room(len(rows), self.length, fields)
        layout = self.layout(rows)
        files = {number: self.shards.mapped(number) for number in np.unique(layout.copies.file).tolist()}
        pad, blank = self.shards.index.pad_id, len(self.shards.forgotten) > 0
        batch = columns(layout, len(rows), self.length, pad, files, fields, blank)
        if self.loss_rule:
            apply_loss(batch, layout, [self.loss_rule], np.zeros(len(rows), np.int64), self.across)
        return batch

    @property
    def loss_rule(self) -> Rule | None:
        """Which tokens have no loss, if not all have one."""
        index = self.shards.index
        return None if index.loss is None else (index.loss, int(index.bos_id is not None))

    def across(self, file: int, first: int, stop: int) -> NDArray[Any]:
        """The tokens [first, stop) of a file, and of its neighbours."""
        return across(file, first, stop, self.shards.mapped, range(len(self.shards.index.shards)))

    def layout(self, rows: Int64s) -> Layout:
        """The pieces of these rows, and where their tokens are. Files are numbered by their position in the index."""
        copies = self._copies(rows)
        pieces = self._pieces(len(rows), copies)
        if len(self.shards.forgotten):  # they stay where they were, as padding
            is_forgotten = np.isin(pieces.document, self.shards.forgotten)
            document = np.where(is_forgotten, PADDING, pieces.document)
            pieces = pieces._replace(document=document, offset=np.where(is_forgotten, 0, pieces.offset))
        return Layout(pieces, copies)

    def pieces(self, rows: Int64s) -> RowPieces:
        """The pieces of these rows."""
        return self.layout(rows).pieces

    def _copies(self, rows: Int64s) -> RowCopies:
        start = rows * self.length
        stop = np.minimum(start + self.length + 1, len(self.shards))
        first = np.searchsorted(self._edges, start, "right") - 1
        last = np.searchsorted(self._edges, stop, "left") - 1
        row, file = _ranges(first, last + 1)
        low = np.maximum(start[row], self._edges[file])
        high = np.minimum(stop[row], self._edges[file + 1])
        nonempty = high > low  # a shard may be empty
        row, file, low, high = row[nonempty], file[nonempty], low[nonempty], high[nonempty]
        return RowCopies(row, low - start[row], high - low, file, low - self._edges[file])

    def _pieces(self, rows: int, copies: RowCopies) -> RowPieces:
        by_file = np.argsort(copies.file, kind="stable")
        row, at, size, file, first = (column[by_file] for column in copies)
        changes = np.flatnonzero(np.diff(file)) + 1
        groups = [(int(file[a]), a, b) for a, b in pairwise([0, *changes.tolist(), len(file)])] if len(file) else []
        low, high = np.empty_like(first), np.empty_like(first)
        for number, a, b in groups:
            starts = self.shards.runs(number).start
            low[a:b] = starts.searchsorted(first[a:b], "right") - 1
            high[a:b] = starts.searchsorted(first[a:b] + size[a:b])
        which, run = _ranges(low, high)
        edges = np.append(0, np.cumsum(high - low))
        begin, document, offset = np.empty_like(run), np.empty_like(run), np.empty_like(run)
        for number, a, b in groups:
            runs, part = self.shards.runs(number), slice(edges[a], edges[b])
            begin[part], document[part], offset[part] = (column[run[part]] for column in runs)
        skipped = np.maximum(first[which] - begin, 0)
        start = begin + skipped - first[which] + at[which]
        end = np.append(start[1:], 0)
        end[edges[1:] - 1] = at + size
        offset = np.where(document == PADDING, 0, offset + skipped)
        pieces = RowPieces(row[which], start, document, offset, end - start, np.ones(len(which), np.bool_))
        return self._joined(rows, pieces)

    def _joined(self, rows: int, pieces: RowPieces) -> RowPieces:
        """The pieces of all shards by row, joined where a document continues in the next shard, and padding for the
        rest of the row in which the data ends. The token after a row shows whether its last document continues."""
        filled = np.bincount(pieces.row, pieces.length, rows).astype(np.int64)
        if len(short := np.flatnonzero(filled < self.length)):
            none, zero = np.full(len(short), PADDING), np.zeros(len(short), np.int64)
            tail = RowPieces(
                short, filled[short], none, zero, self.length - filled[short], np.ones(len(short), np.bool_)
            )
            together: Any = (np.concatenate(both) for both in zip(pieces, tail))
            pieces = RowPieces(*together)
        order = np.lexsort((pieces.start, pieces.row))
        pieces = pieces.take(order)
        goes_on = np.zeros(len(pieces.row), bool)
        goes_on[1:] = (
            (pieces.row[1:] == pieces.row[:-1])
            & (pieces.document[1:] == pieces.document[:-1])
            & ((pieces.offset[1:] == pieces.offset[:-1] + pieces.length[:-1]) | (pieces.document[1:] == PADDING))
        )
        begin = np.flatnonzero(~goes_on)
        end = pieces.start[begin] + np.add.reduceat(pieces.length, begin)
        pieces = pieces.take(begin)
        pieces = pieces._replace(
            length=np.minimum(end, self.length) - pieces.start, ends=(end <= self.length) | (pieces.document == PADDING)
        )
        return pieces.take(pieces.start < self.length)


def _ranges(first: Int64s, stop: Int64s) -> tuple[Int64s, Int64s]:
    """The range that each number belongs to, and the numbers, of all ranges [first, stop)."""
    size = stop - first
    which = np.repeat(np.arange(len(first)), size)
    return which, np.arange(len(which)) + np.repeat(first - np.cumsum(size) + size, size)


def check_fields(fields: Collection[str], available: Collection[str]) -> tuple[str, ...]:
    """Raises ShardError for an unknown field, naming the nearest known one."""
    if isinstance(fields, str) or not isinstance(fields, Collection) or not all(isinstance(f, str) for f in fields):
        raise ShardError(f"fields is a list of names, as in fields=('tokens', 'targets'); got {shown(fields)}.")
    for name in fields:
        if name not in available:
            raise ShardError(
                f'there is no field "{name}"{did_you_mean(name, available)}; there are {", ".join(available)}'
            )
    return tuple(fields)


def same_tokenizer(folders: Mapping[str, Shards]) -> None:
    """Raises ShardError unless all shards were made with the same tokenizer."""
    by_tokenizer = {(s.index.tokenizer_sha256, s.index.eos_id, s.index.vocabulary): name for name, s in folders.items()}
    if len(by_tokenizer) > 1:
        tokenizers = ", ".join(f"{name}: {folders[name].index.tokenizer}" for name in by_tokenizer.values())
        raise ShardError(
            f"shards of different tokenizers cannot be mixed ({tokenizers}). Tokenize all with the same one."
        )
