"""A training step, a row or a token of the run's shards, with the documents in it; and where in a document's text its
tokens are."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa

from corpusmill.errors import AssetError, InputError, ShardError
from corpusmill.inspect.marks import MarkedSpan
from corpusmill.loader import TokenLoader
from corpusmill.models.tokenizer import Tokenizer, load
from corpusmill.ops import tracing
from corpusmill.ops.tracing import Traced, around, text
from corpusmill.report.explain import TokenPlacement
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import visible
from corpusmill.shards import Shards, open_shards

ROWS = 8  # of a batch at a time
SHOWN = 160  # tokens of a piece
LOADERS = 4  # orders that are remembered
BYTES = 4  # of a character, at most
ABOUT = ("id", "source", "file", "position", "url")


class Trace:
    """The way from training back to documents. Questions are the parameters of an address: those of `corpusmill trace`,
    with "step", "row", or "shard" and "token". Without a `rank`, a step has the rows of all ranks."""

    def __init__(self, tables: RunTables) -> None:
        self._tables = tables
        self._loader = lru_cache(LOADERS)(self._opened)

    @cached_property
    def shards(self) -> Shards:
        folder = self._tables.files.shards
        if folder is None:
            raise InputError(f"{self._tables.folder}: the run wrote no training shards, so no step or row leads here.")
        return open_shards(folder)

    def about(self) -> dict[str, Any] | None:
        """What can be asked for; None if the run has no shards."""
        if self._tables.files.shards is None:
            return None
        index = self.shards.index
        return {
            "tokens": len(self.shards),
            "shards": [entry.tokens for entry in index.shards],
            "seq_len": index.sequence_length,
        }

    def answer(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The `pieces` of documents in what was asked for, in order; its `title`; and where to go from there: the
        questions `previous` and `next`.

        Raises InputError of a question that is wrong, ShardError if nothing is there.
        """
        asked = {name: value for name, value in given.items() if value}
        if "step" in asked:
            return self._step(asked)
        if "token" in asked:
            return self._token(asked)
        if "row" in asked:
            return self._row(asked)
        raise InputError("name a step, a row, or a token of a shard")

    def _step(self, asked: Mapping[str, str]) -> dict[str, Any]:
        step, first = whole(asked, "step", 0), whole(asked, "first", 0)
        batch, world = whole(asked, "batch", 8, least=1), whole(asked, "world", 1, least=1)
        rank = whole(asked, "rank", 0) if "rank" in asked else None
        seq_len = whole(asked, "seq_len", 0, least=1) if "seq_len" in asked else None
        # A step of all ranks is one of a single rank with all their rows.
        settings = (batch * world, 0, 1) if rank is None else (batch, rank, world)
        loader = self._loader(seq_len, *settings, whole(asked, "seed", 0, least=None), asked.get("order") != "stored")
        rows = range(first, min(first + ROWS, settings[0]))
        pieces = [self._piece(piece) for piece in tracing.of_step(loader, step, rows)]
        for piece in pieces:
            piece["rank"], piece["row"] = divmod(piece["row"], batch) if rank is None else (rank, piece["row"])
        ranks = (
            f"rank {rank} of {world}" if rank is not None else f"ranks 0 to {world - 1}" if world > 1 else "one rank"
        )
        others = {name: value for name, value in asked.items() if name != "first"}
        return {
            "kind": "step",
            "title": f"Step {step:,d}, {ranks}: {settings[0]:,d} rows of {loader.length:,d} tokens",
            "first": first,
            "rows": settings[0],
            "together": ROWS,
            "epoch": len(loader.rows[0]) / (batch * world),  # steps of a pass over all rows
            "pieces": pieces,
            "previous": others | {"step": step - 1} if step else None,
            "next": others | {"step": step + 1},
        }

    def _row(self, asked: Mapping[str, str]) -> dict[str, Any]:
        row = whole(asked, "row", 0)
        shard = whole(asked, "shard", 0) if "shard" in asked else None
        seq_len = whole(asked, "seq_len", 0, least=1) if "seq_len" in asked else None
        pieces = tracing.of_row(self.shards, row, seq_len, shard)
        place = f"Row {row:,d}" if shard is None else f"Row {row:,d} of shard {shard}"
        return {
            "kind": "row",
            "title": place,
            "pieces": [self._piece(piece) for piece in pieces],
            "previous": {**asked, "row": row - 1} if row else None,
            "next": {**asked, "row": row + 1} if self._has_row(row + 1, seq_len, shard) else None,
        }

    def _has_row(self, row: int, seq_len: int | None, shard: int | None) -> bool:
        try:
            tracing.of_row(self.shards, row, seq_len, shard)
        except ShardError:
            return False
        return True

    def _token(self, asked: Mapping[str, str]) -> dict[str, Any]:
        shard, token = whole(asked, "shard", 0), whole(asked, "token", 0)
        piece = tracing.of_token(self.shards, shard, token)
        last = self.shards.index.shards[shard].tokens - 1
        return {
            "kind": "token",
            "title": f"Token {token:,d} of shard {shard}",
            "pieces": [self._piece(piece)],
            "previous": {**asked, "token": token - 1} if token else None,
            "next": {**asked, "token": token + 1} if token < last else None,
        }

    def _piece(self, piece: Traced) -> dict[str, Any]:
        """A piece with its text, made safe to look at, and as much of the document as is next to it; the rest of a long
        one is `more` tokens."""
        begin, stop = around(self.shards, piece)
        end = piece.at + piece.length
        shown = min(end, piece.at + SHOWN)
        gone = piece.document in self.shards.forgotten
        about = {} if gone else {name: piece.about.get(name) for name in ABOUT if piece.about}
        return {
            **{name: value for name, value in vars(piece).items() if name != "about"},
            "about": about,
            "forgotten": gone,
            "before": visible(text(self.shards, begin, piece.at)),
            "text": visible(text(self.shards, piece.at, shown)),
            "after": visible(text(self.shards, end, stop)) if shown == end else "",
            "more": end - shown,
        }

    def _opened(self, seq_len: int | None, batch: int, rank: int, world: int, seed: int, shuffle: bool) -> TokenLoader:
        folder = self.shards.folder
        return TokenLoader(folder, seq_len, batch, seed, rank, world, shuffle=shuffle, fields=("tokens",))

    def span(self, whole_text: str, placements: Sequence[TokenPlacement], start: int, stop: int) -> MarkedSpan | None:
        """Where in a document's text its tokens [start, stop) are, counted with BOS; a character counts if any of its
        bytes does. None if the shards hold other tokens than those of this text, or they cannot be read as text.

        placements   of the document's tokens, as `explain` has them
        """
        own = self._tokens(placements)
        index = self.shards.index
        try:
            tokenizer = load(index.tokenizer, eos=index.eos, bos=index.bos)
        except AssetError:
            return None
        ids = tokenizer.encode(pa.array([whole_text], pa.large_string()))[0].tolist()
        lead = 0 if index.bos_id is None else 1
        if own[lead : lead + len(ids)] != ids or len(own) - lead - len(ids) not in (0, 1):
            return None
        edges = [min(max(place - lead, 0), len(ids)) for place in (start, stop)]
        begin, end = (_characters(tokenizer, ids[:edge], whole_text) for edge in edges)
        if begin is None or end is None:
            return None
        return MarkedSpan(begin[0], max(end[1], begin[0]))

    def _tokens(self, placements: Sequence[TokenPlacement]) -> list[int]:
        """All tokens of a document that begins with the first of these."""
        first = [0]
        for entry in self.shards.index.shards:
            first.append(first[-1] + entry.tokens)
        own: list[int] = []
        for place in placements:
            if place.offset != len(own):
                break  # it is drawn again
            own += self.shards.tokens(first[place.shard] + place.start, first[place.shard] + place.stop).tolist()
        return own


def _characters(tokenizer: Tokenizer, ids: list[int], whole_text: str) -> tuple[int, int] | None:
    """How many characters of a text these first tokens of it are: whole ones, and with one that is begun."""
    made = tokenizer.decode(ids)
    for cut in range(BYTES):
        if whole_text.startswith(made):
            return len(made), len(made) + (cut > 0)
        made = made[:-1]
    return None


def whole(asked: Mapping[str, str], name: str, default: int, least: int | None = 0) -> int:
    """A whole number of a question. `least` None: any."""
    value = asked.get(name, str(default))
    digits = value.removeprefix("-") if least is None else value
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16) or (least is not None and int(value) < least):
        raise InputError(f'{name} is a whole number{"" if least is None else f" from {least}"}, got "{value}"')
    return int(value)
