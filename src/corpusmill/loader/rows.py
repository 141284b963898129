"""Rows of shards as the columns of a batch."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError, did_you_mean
from corpusmill.shards import Shards
from corpusmill.shards.layout import PADDING

Int64s = NDArray[np.int64]
IGNORE = -100  # as a target: nothing to learn here. The number that PyTorch's cross entropy leaves out by itself
FIELDS = ("tokens", "targets", "loss_mask", "position_ids", "doc_ids", "cu_seqlens")


class Pieces(NamedTuple):
    """The parts of documents in some rows, row by row, and padding: each (pieces,).

    row        place of the row in the batch
    start      first token of the piece in its row
    document   number of the document, PADDING
    offset     tokens of the document before the piece
    length     tokens of the piece in the row
    """

    row: Int64s
    start: Int64s
    document: Int64s
    offset: Int64s
    length: Int64s


class Part(NamedTuple):
    """What one shard holds of some rows.

    places   of the rows in the batch
    shard    its place in the index
    first    first token in the shard, of each row …
    at       … where that stands in the row …
    size     … and how many there are
    """

    places: Int64s
    shard: int
    first: Int64s
    at: Int64s
    size: Int64s


class Rows:
    """The rows of a folder of shards, of `length` tokens each.

    Raises ShardError for a length below 1, and for one that is not that of the shards where packing keeps documents
    whole in rows.
    """

    def __init__(self, shards: Shards, length: int | None = None) -> None:
        packed = shards.index.sequence_length
        if length is not None and length < 1:
            raise ShardError(f"sequence_length must be 1 or more, got {length}.")
        if length is not None and length != packed and shards.index.packing == "best_fit":
            raise ShardError(
                f"{shards.folder}: documents are packed into rows of {packed} tokens (best_fit), so rows of {length} "
                f"would cut them. Use {packed}, or pack again."
            )
        if not len(shards):
            raise ShardError(f"{shards.folder}: there are no tokens in these shards.")
        self.shards = shards
        self.length = length or packed
        self._edges = np.cumsum([0, *(entry.tokens for entry in shards.index.shards)])

    def __len__(self) -> int:
        """Rows, the last of which may be filled with padding."""
        return (len(self.shards) + self.length - 1) // self.length

    def read(self, rows: Int64s, fields: Collection[str] = FIELDS) -> dict[str, NDArray[Any]]:
        """Some rows by number, as arrays of (rows, length):

        tokens         int64 ids; a row that the data ends in is filled with the padding of the shards
        targets        int64, the next token of the same document; IGNORE at its end, in padding, and where the rest of
                       a document stands elsewhere (`best_fit` cuts documents longer than a row)
        loss_mask      bool, where targets are not IGNORE
        position_ids   int64, from 0 on in every piece of a document that stands in the row
        doc_ids        int64, number of the document; -1 in padding
        cu_seqlens     int32 (pieces + 1,): where the pieces begin in all rows put end to end, and their end, as
                       FlashAttention wants them

        Raises ShardError for an unknown field.
        """
        fields = check_fields(fields, FIELDS)
        length = self.length
        padded = self._tokens(rows)
        found: dict[str, NDArray[Any]] = {"tokens": padded[:, :length].astype(np.int64)}
        if not set(fields) - {"tokens"}:
            return found
        pieces = self.pieces(rows)
        begins = pieces.row * length + pieces.start
        if "targets" in fields or "loss_mask" in fields:
            ends = self._ends(rows, pieces)
            if "targets" in fields:
                targets = padded[:, 1:].astype(np.int64)
                targets.reshape(-1)[ends] = IGNORE
                found["targets"] = targets
            if "loss_mask" in fields:
                mask = np.ones((len(rows), length), np.bool_)
                mask.reshape(-1)[ends] = False
                found["loss_mask"] = mask
        if "doc_ids" in fields:
            found["doc_ids"] = np.repeat(pieces.document, pieces.length).reshape(-1, length)
        if "position_ids" in fields:
            place = np.arange(len(rows) * length) - np.repeat(begins, pieces.length)
            found["position_ids"] = place.reshape(-1, length)
        if "cu_seqlens" in fields:
            found["cu_seqlens"] = np.append(begins, len(rows) * length).astype(np.int32)
        return {name: found[name] for name in FIELDS if name in fields}

    def pieces(self, rows: Int64s) -> Pieces:
        """What stands in some rows."""
        return self._joined([self._pieces(*part) for part in self._parts(rows, self.length)])

    def _tokens(self, rows: Int64s) -> NDArray[Any]:
        """(rows, length + 1) as they are stored: one token more than a row has, as its last one's target."""
        size = self.length + 1
        parts = list(self._parts(rows, size))
        if len(parts) == 1 and (parts[0].size == size).all():
            _, shard, first, _, _ = parts[0]
            return np.lib.stride_tricks.sliding_window_view(self.shards.mapped(shard), size)[first]
        out = np.full((len(rows), size), self.shards.index.pad_id, self.shards.dtype)
        for places, shard, first, at, count in parts:
            tokens = self.shards.mapped(shard)
            for place, a, b, n in zip(places.tolist(), first.tolist(), at.tolist(), count.tolist()):
                out[place, b : b + n] = tokens[a : a + n]
        return out

    def _parts(self, rows: Int64s, size: int) -> Iterable[Part]:
        """The first `size` tokens from where each row begins, shard by shard."""
        start = rows * self.length
        stop = np.minimum(start + size, len(self.shards))
        first = np.searchsorted(self._edges, start, "right") - 1
        last = np.searchsorted(self._edges, stop, "left") - 1
        for shard in range(int(first.min()), int(last.max()) + 1) if len(rows) else ():
            here = np.flatnonzero((first <= shard) & (shard <= last))
            if len(here):
                low = np.maximum(start[here], self._edges[shard])
                high = np.minimum(stop[here], self._edges[shard + 1])
                yield Part(here, shard, low - self._edges[shard], low - start[here], high - low)

    def _pieces(self, places: Int64s, shard: int, first: Int64s, at: Int64s, count: Int64s) -> Pieces:
        runs = self.shards.runs(shard)
        low = np.searchsorted(runs.start, first, "right") - 1
        high = np.searchsorted(runs.start, first + count)
        number = high - low
        which = np.repeat(np.arange(len(places)), number)
        run = np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number) + low[which]
        begin = np.maximum(runs.start[run], first[which])
        document = runs.document[run]
        offset = np.where(document == PADDING, 0, runs.offset[run] + begin - runs.start[run])
        start = begin - first[which] + at[which]
        end = np.append(start[1:], 0)
        lasts = np.cumsum(number) - 1
        end[lasts] = at + count
        return Pieces(places[which], start, document, offset, end - start)

    def _joined(self, parts: list[Pieces]) -> Pieces:
        """The pieces of all shards by row. A row that crosses shards, or ends with the data, is put together."""
        found = Pieces(*(np.concatenate(columns) for columns in zip(*parts)))
        filled = np.bincount(found.row, found.length).astype(np.int64)
        if len(short := np.flatnonzero(filled < self.length)):
            none, zero = np.full(len(short), PADDING), np.zeros(len(short), np.int64)
            tail = Pieces(short, filled[short], none, zero, self.length - filled[short])
            found = Pieces(*(np.concatenate(both) for both in zip(found, tail)))
        elif len(parts) == 1:
            return found
        order = np.lexsort((found.start, found.row))
        found = Pieces(*(column[order] for column in found))
        goes_on = np.zeros(len(found.row), bool)
        goes_on[1:] = (
            (found.row[1:] == found.row[:-1])
            & (found.document[1:] == found.document[:-1])
            & ((found.offset[1:] == found.offset[:-1] + found.length[:-1]) | (found.document[1:] == PADDING))
        )
        begin = np.flatnonzero(~goes_on)
        length = np.add.reduceat(found.length, begin)
        return Pieces(*(column[begin] for column in found))._replace(length=length)

    def _ends(self, rows: Int64s, pieces: Pieces) -> Int64s:
        """Tokens, counted over all rows, after which their document does not go on, and all padding."""
        length = self.length
        last = pieces.row * length + pieces.start + pieces.length - 1
        inside = pieces.start + pieces.length < length
        closing = np.flatnonzero(~inside)
        following = rows[pieces.row[closing]] * length + length
        goes_on = np.zeros(len(pieces.row), bool)
        goes_on[closing] = self._continues(
            following, pieces.document[closing], (pieces.offset + pieces.length)[closing]
        )
        ends = last[~goes_on]
        padding = np.flatnonzero(pieces.document == PADDING)
        if len(padding):
            begin = (pieces.row * length + pieces.start)[padding]
            size = pieces.length[padding]
            inner = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size) + np.repeat(begin, size)
            ends = np.concatenate([ends, inner])
        return ends

    def _continues(self, tokens: Int64s, document: Int64s, offset: Int64s) -> NDArray[np.bool_]:
        """Whether the tokens at these places of the stream belong to these documents, at these offsets."""
        found = np.zeros(len(tokens), bool)
        there = tokens < len(self.shards)
        shard = np.searchsorted(self._edges, tokens, "right") - 1
        for number in np.unique(shard[there]).tolist():
            here = np.flatnonzero(there & (shard == number))
            runs = self.shards.runs(number)
            place = tokens[here] - self._edges[number]
            run = np.searchsorted(runs.start, place, "right") - 1
            same = runs.document[run] == document[here]
            found[here] = same & (runs.offset[run] + place - runs.start[run] == offset[here]) & (document[here] >= 0)
        return found


def check_fields(fields: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """Raises ShardError for a field that there is not, naming the nearest."""
    for word in fields:
        if word not in known:
            raise ShardError(f'there is no field "{word}"{did_you_mean(word, known)}; there are {", ".join(known)}')
    return tuple(fields)


def same_tokenizer(folders: Mapping[str, Shards]) -> None:
    """Raises ShardError if shards that are to be mixed were made with different tokenizers."""
    named = {(s.index.tokenizer_sha256, s.index.eos_id, s.index.vocabulary): name for name, s in folders.items()}
    if len(named) > 1:
        tokenizers = ", ".join(f"{name}: {folders[name].index.tokenizer}" for name in named.values())
        raise ShardError(f"shards of different tokenizers cannot be mixed ({tokenizers}). Tokenize them alike.")
