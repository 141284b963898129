"""From a training step, a row or a token of the shards back to the documents: where they are from, and their text."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpusmill.errors import AssetError
from corpusmill.loader import TokenLoader
from corpusmill.loader.arguments import ShardRangeError
from corpusmill.loader.rows import ShardRows
from corpusmill.models.tokenizer import load
from corpusmill.shards import Shards
from corpusmill.shards.layout import PADDING

CONTEXT_TOKENS = 20  # tokens on each side of a token


@dataclass(frozen=True)
class Traced:
    """Tokens of one document that are next to each other in a row.

    row        of the batch; of a row or a token that was asked for, counted over all shards; None where the shards have
               no rows
    start      the first of them in the row; in the shard where there are no rows
    length     tokens
    at         the first of them, counted over all shards
    document   its number in the shards
    offset     tokens of the document before them
    about      the document's row in the table of the shards: id, source, file, position, url; empty without tables
    sample     number of the row in the order of training, and
    epoch      complete passes over the shards before it; None where no step was asked for
    """

    row: int | None
    start: int
    length: int
    at: int
    document: int
    offset: int
    about: dict[str, Any]
    sample: int | None = None
    epoch: int | None = None


def of_step(loader: TokenLoader, step: int, rows: range | None = None) -> list[Traced]:
    """The documents of a step's batch, row by row, without padding.

    rows   of the batch; None: all
    """
    return [piece for _, piece in with_shards(loader, step, rows)]


def with_shards(loader: TokenLoader, step: int, rows: range | None = None) -> list[tuple[Shards, Traced]]:
    """The same, each with the shards that it is in."""
    opened = dict(zip(loader.names, loader.shards))
    drawn = loader.drawn(step).row.tolist()
    pieces = [piece for piece in loader.trace(step) if rows is None or piece.row in rows]
    about = {
        name: origins(shards, {piece.document for piece in pieces if piece.source == name})
        for name, shards in opened.items()
    }
    return [
        (
            opened[piece.source],
            Traced(
                piece.row,
                piece.start,
                piece.length,
                int(drawn[piece.row]) * loader.length + piece.start,
                piece.document,
                piece.offset,
                about[piece.source].get(piece.document, {}),
                piece.sample,
                piece.epoch,
            ),
        )
        for piece in pieces
    ]


def of_row(shards: Shards, row: int, seq_len: int | None = None, shard: int | None = None) -> list[Traced]:
    """The documents of a row, without padding.

    row       counted over all shards, or within `shard`
    seq_len   tokens of a row, as of the TokenLoader

    Raises ShardError if there is no such row, or rows have no length.
    """
    rows = ShardRows(shards, seq_len)
    edges = shards.edges.tolist()
    if shard is not None:
        _check_shard(shards, shard)
        tokens = edges[shard + 1] - edges[shard]
        count = -(-tokens // rows.length)
        if edges[shard] % rows.length:
            raise ShardRangeError(
                f"{shards.folder}: shard {shard} does not begin with a row of {rows.length} tokens; name the row by "
                "its number over all shards"
            )
        if row >= count:
            raise ShardRangeError(
                f"{shards.folder}: there is no row {row} of shard {shard}; it has rows 0 to {count - 1}."
            )
        row += edges[shard] // rows.length
    if row >= len(rows):
        raise ShardRangeError(f"{shards.folder}: there is no row {row}; the shards have rows 0 to {len(rows) - 1}.")
    pieces = rows.pieces(np.array([row], np.int64))
    spans = [
        (start, document, offset, length)
        for start, document, offset, length in zip(
            *(column.tolist() for column in (pieces.start, pieces.document, pieces.offset, pieces.length))
        )
        if document != PADDING
    ]
    about = origins(shards, {document for _, document, _, _ in spans})
    return [
        Traced(row, start, length, row * rows.length + start, document, offset, about.get(document, {}))
        for start, document, offset, length in sorted(spans)
    ]


def of_token(shards: Shards, shard: int, token: int) -> Traced:
    """The document that a token of a shard belongs to, which is counted from the shard's beginning.

    Raises ShardError if there is no such token, or it is padding.
    """
    entries = shards.index.shards
    if shard < len(entries) and token >= entries[shard].tokens:
        raise ShardRangeError(
            f"{shards.folder}: there is no token {token} of shard {shard}; the folder has tokens 0 to "
            f"{entries[shard].tokens - 1} of it."
        )
    _check_shard(shards, shard, f"token {token} of ")
    at = int(shards.edges[shard]) + token
    position = shards.document_at(at)
    if position is None:
        raise ShardRangeError(f"{shards.folder}: token {token} of shard {shard} is padding, not part of a document.")
    start = token if shards.index.sequence_length is None else at % shards.index.sequence_length
    about = origins(shards, [position.document]).get(position.document, {})
    return Traced(position.row, start, 1, at, position.document, position.offset, about)


def _check_shard(shards: Shards, shard: int, subject: str = "") -> None:
    last = len(shards.index.shards) - 1
    if shard > last:
        extent = f"has shards 0 to {last}" if last >= 0 else "holds no tokens"
        raise ShardRangeError(f"{shards.folder}: there is no {subject}shard {shard}; the folder {extent}.")


def origins(shards: Shards, documents: Collection[int]) -> dict[int, dict[str, Any]]:
    """document -> where it is from; empty if the shards were written without tables."""
    return shards.origins(documents) if shards.has_tables else {}


def around(shards: Shards, piece: Traced, context: int = CONTEXT_TOKENS) -> tuple[int, int]:
    """The tokens [start, stop), counted over all shards, of a piece with up to `context` tokens of its document on each
    side, as far as they are next to it."""
    end = piece.at + piece.length
    begin, stop = max(piece.at - context, 0), min(end + context, len(shards))
    before, after = shards.spans(begin, piece.at), shards.spans(end, stop)
    others = np.flatnonzero(before.document != piece.document)
    if len(others):
        last = int(others[-1]) + 1
        begin = begin + int(before.start[last]) if last < len(before.start) else piece.at
    others = np.flatnonzero(after.document != piece.document)
    return begin, end + int(after.start[others[0]]) if len(others) else stop


def text(shards: Shards, start: int, stop: int) -> str:
    """Tokens as text, as it is; their ids if the tokenizer cannot be loaded."""
    ids = shards.tokens(start, stop).tolist()
    try:
        return load(shards.index.tokenizer, eos=shards.index.eos, bos=shards.index.bos).decode(ids)
    except AssetError:
        return " ".join(map(str, ids))
