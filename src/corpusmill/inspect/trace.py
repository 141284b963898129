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

ROWS_AT_A_TIME = 8  # of a batch at a time
MAX_TOKENS_SHOWN = 160  # tokens of a piece
MAX_LOADERS = 4  # orders that are remembered
MAX_CHARACTER_BYTES = 4  # of a character, at most
TRACE_COLUMNS = ("id", "source", "file", "position", "url")


class Trace:
    """The way from training back to documents. Questions are the parameters of an address: those of `corpusmill trace`,
    with "step", "row", or "shard" and "token". Without a `rank`, a step has the rows of all ranks."""

    def __init__(self, tables: RunTables) -> None:
        self._tables = tables
        self._loader = lru_cache(MAX_LOADERS)(self._opened)

    @cached_property
    def shards(self) -> Shards:
        folder = self._tables.files.shards
        if folder is None:
            raise InputError(
                f"{self._tables.folder}: the run wrote no training shards, so there is no step or row to trace."
            )
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

    def answer(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The `pieces` of documents in what was asked for, in order; its `title`; and where to go from there: the
        questions `previous` and `next`.

        Raises InputError of a question that is wrong, ShardError if nothing is there.
        """
        question = {name: value for name, value in query.items() if value}
        if "step" in question:
            return self._step(question)
        if "token" in question:
            return self._token(question)
        if "row" in question:
            return self._row(question)
        raise InputError("name a step, a row, or a token of a shard")

    def _step(self, question: Mapping[str, str]) -> dict[str, Any]:
        step, first = integer(question, "step", 0), integer(question, "first", 0)
        batch, world = integer(question, "batch", 8, minimum=1), integer(question, "world", 1, minimum=1)
        rank = integer(question, "rank", 0) if "rank" in question else None
        seq_len = integer(question, "seq_len", 0, minimum=1) if "seq_len" in question else None
        # A step of all ranks is one of a single rank with all their rows.
        settings = (batch * world, 0, 1) if rank is None else (batch, rank, world)
        loader = self._loader(
            seq_len, *settings, integer(question, "seed", 0, minimum=None), question.get("order") != "stored"
        )
        rows = range(first, min(first + ROWS_AT_A_TIME, settings[0]))
        pieces = [self._piece(piece) for piece in tracing.of_step(loader, step, rows)]
        for piece in pieces:
            piece["rank"], piece["row"] = divmod(piece["row"], batch) if rank is None else (rank, piece["row"])
        all_ranks = f"ranks 0 to {world - 1}" if world > 1 else "one rank"
        ranks = all_ranks if rank is None else f"rank {rank} of {world}"
        others = {name: value for name, value in question.items() if name != "first"}
        return {
            "kind": "step",
            "title": f"Step {step:,d}, {ranks}: {settings[0]:,d} rows of {loader.length:,d} tokens",
            "first": first,
            "rows": settings[0],
            "together": ROWS_AT_A_TIME,
            "epoch": len(loader.rows[0]) / (batch * world),  # steps of a pass over all rows
            "pieces": pieces,
            "previous": others | {"step": step - 1} if step else None,
            "next": others | {"step": step + 1},
        }

    def _row(self, question: Mapping[str, str]) -> dict[str, Any]:
        row = integer(question, "row", 0)
        shard = integer(question, "shard", 0) if "shard" in question else None
        seq_len = integer(question, "seq_len", 0, minimum=1) if "seq_len" in question else None
        pieces = tracing.of_row(self.shards, row, seq_len, shard)
        title = f"Row {row:,d}" if shard is None else f"Row {row:,d} of shard {shard}"
        return {
            "kind": "row",
            "title": title,
            "pieces": [self._piece(piece) for piece in pieces],
            "previous": {**question, "row": row - 1} if row else None,
            "next": {**question, "row": row + 1} if self._has_row(row + 1, seq_len, shard) else None,
        }

    def _has_row(self, row: int, seq_len: int | None, shard: int | None) -> bool:
        try:
            tracing.of_row(self.shards, row, seq_len, shard)
        except ShardError:
            return False
        return True

    def _token(self, question: Mapping[str, str]) -> dict[str, Any]:
        shard, token = integer(question, "shard", 0), integer(question, "token", 0)
        piece = tracing.of_token(self.shards, shard, token)
        last = self.shards.index.shards[shard].tokens - 1
        return {
            "kind": "token",
            "title": f"Token {token:,d} of shard {shard}",
            "pieces": [self._piece(piece)],
            "previous": {**question, "token": token - 1} if token else None,
            "next": {**question, "token": token + 1} if token < last else None,
        }

    def _piece(self, piece: Traced) -> dict[str, Any]:
        """A piece with its text, made safe to look at, and as much of the document as is next to it; the rest of a long
        one is `more` tokens."""
        begin, stop = around(self.shards, piece)
        end = piece.at + piece.length
        shown = min(end, piece.at + MAX_TOKENS_SHOWN)
        is_forgotten = piece.document in self.shards.forgotten
        about = {} if is_forgotten else {name: piece.about.get(name) for name in TRACE_COLUMNS if piece.about}
        return {
            **{name: value for name, value in vars(piece).items() if name != "about"},
            "about": about,
            "forgotten": is_forgotten,
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
        edges = [min(max(token - lead, 0), len(ids)) for token in (start, stop)]
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
        for placement in placements:
            if placement.offset != len(own):
                break  # it is drawn again
            own += self.shards.tokens(
                first[placement.shard] + placement.start, first[placement.shard] + placement.stop
            ).tolist()
        return own


def _characters(tokenizer: Tokenizer, ids: list[int], whole_text: str) -> tuple[int, int] | None:
    """How many characters of a text these first tokens of it are: whole ones, and with one that is begun."""
    decoded = tokenizer.decode(ids)
    for cut in range(MAX_CHARACTER_BYTES):
        if whole_text.startswith(decoded):
            return len(decoded), len(decoded) + (cut > 0)
        decoded = decoded[:-1]
    return None


def integer(question: Mapping[str, str], name: str, default: int, minimum: int | None = 0) -> int:
    """A whole number of a question. `minimum` None: any."""
    return parse_integer(question.get(name, str(default)), name, minimum)


def parse_integer(value: str, name: str, minimum: int | None = 0) -> int:
    """The whole number that a value of an address is. Raises InputError if it is none, or too small."""
    digits = value.removeprefix("-") if minimum is None else value
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 16
    if not is_number or (minimum is not None and int(value) < minimum):
        raise InputError(f'{name} must be a whole number{"" if minimum is None else f" from {minimum}"}; got "{value}"')
    return int(value)
