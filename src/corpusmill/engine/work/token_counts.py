"""How many tokens the documents of a pass have, and their ids where a pass writes them.

Of dropped documents they are estimated, see `tokens.estimate`. A sample of them, chosen by id, is counted in full, and
the facts `estimated` say how many of these are longer than what is counted exactly, their tokens, and what the estimate
would have been.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.engine.work.token_ids import TokenIds
from corpusmill.steps import Tokenize
from corpusmill.store.facts import Facts, add
from corpusmill.store.unit_io import UnitIO
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.estimate import estimate, is_estimated

CHECKED_BELOW = "04"  # ids begin with two of sixteen digits: one document in 64


class Tokens(Protocol):
    """A parameter of `Pass`; `open` gives what counts the tokens of one unit."""

    def open(self, io: UnitIO) -> "TokenCounter": ...

    def check(self) -> None:
        """Raises AssetError if the tokenizer cannot be used, or lacks the tokens between parts of documents."""


@dataclass(frozen=True)
class TokenCounts:
    """Counts the tokens of each document as it leaves the pass; none if the recipe has no tokenizer."""

    tokenizer: Tokenize | None

    def open(self, io: UnitIO) -> "TokenCounter":
        return TokenCounter(io.facts, self.tokenizer)

    def check(self) -> None:
        if self.tokenizer is not None:
            self.tokenizer.open()


@dataclass(frozen=True)
class EncodedTokens:
    """Writes the token ids of the kept documents, the output `ids`, and counts tokens by them. See `token_ids`.

    split_at   where packing may cut documents: that is written beside the ids
    room       tokens of a row, where the ids depend on it
    """

    tokenizer: Tokenize
    split_at: SplitAt | None = None
    room: int | None = None

    def open(self, io: UnitIO) -> "TokenCounter":
        return TokenCounter(io.facts, self.tokenizer, TokenIds(self.tokenizer, self.split_at, self.room, io))

    def check(self) -> None:
        TokenCounts(self.tokenizer).check()


@dataclass
class TokenCounter:
    """Counts the tokens of the batches of a unit. `ids` takes the kept documents, which are counted by it."""

    facts: Facts
    tokenizer: Tokenize | None = None
    ids: TokenIds | None = None

    def count(self, batch: Batch, evicted: bool = False) -> pa.Array:
        """(documents,) int64 tokens of `Batch.counted_texts`. Those that are as the pass before left them were counted
        there. Texts of `evicted` documents that were not are null."""
        if self.tokenizer is None:
            return pa.nulls(len(batch.docs), pa.int64())
        if batch.beside is not None and batch.tokens is not None:
            return batch.tokens
        if batch.tokens is None:
            return pa.nulls(len(batch.docs), pa.int64()) if evicted else self._count_all(batch, self.tokenizer)
        texts = batch.dropped_texts(np.arange(len(batch.docs))) if evicted else batch.counted_texts()
        is_changed = pc.fill_null(pc.not_equal(texts, batch.first_texts()), False)
        if evicted:
            return pc.if_else(is_changed, pa.scalar(None, pa.int64()), batch.tokens)
        tokens, changed = batch.tokens, is_changed.to_numpy(zero_copy_only=False)
        kept_mask = batch.dropped == KEPT
        if self.ids is not None:
            is_kept = pa.array(kept_mask)
            tokens = _replaced(tokens, kept_mask, self.ids.add(texts.filter(is_kept), batch.docs.filter(is_kept)))
        elif (rows := changed & kept_mask).any():
            tokens = _replaced(tokens, rows, self.tokenizer.count(texts.filter(pa.array(rows))))
        if (rows := changed & ~kept_mask).any():
            these = pa.array(rows)
            counted = self._of_dropped(self.tokenizer, batch.docs["id"].filter(these), texts.filter(these))
            tokens = _replaced(tokens, rows, counted)
        return tokens

    def finish(self) -> None:
        if self.ids is not None:
            self.ids.write()

    def _count_all(self, batch: Batch, tokenizer: Tokenize) -> pa.Array:
        """The same of a batch of which nothing was counted before."""
        kept_mask = batch.dropped == KEPT
        docs = batch.docs.select(["id", "url", "text"])
        docs = docs if kept_mask.all() else docs.filter(pa.array(kept_mask))
        tokens = np.zeros(len(kept_mask), np.int64)
        tokens[kept_mask] = self.ids.add(docs["text"], docs) if self.ids is not None else tokenizer.count(docs["text"])
        for rows, dropped in batch.texts_of_dropped():
            tokens[rows] = self._of_dropped(tokenizer, batch.docs["id"].take(pa.array(rows)), dropped)
        return pa.array(tokens)

    def _of_dropped(self, tokenizer: Tokenize, ids: pa.Array, texts: pa.Array) -> NDArray[np.int64]:
        """(documents,) tokens of texts, estimated but for the sample."""
        tokens = estimate(texts, tokenizer.count)
        checked = np.flatnonzero(is_estimated(texts) & pc.less(ids, CHECKED_BELOW).to_numpy(zero_copy_only=False))
        if len(checked):
            exact = tokenizer.count(texts.take(pa.array(checked)))
            add(self.facts, "estimated", "documents", count=len(checked))
            add(self.facts, "estimated", "tokens", count=int(exact.sum()))
            add(self.facts, "estimated", "estimate", count=int(tokens[checked].sum()))
            tokens[checked] = exact
        return tokens


def _replaced(numbers: pa.Array, mask: NDArray[np.bool_], values: NDArray[np.int64]) -> pa.Array:
    return pc.replace_with_mask(numbers, pa.array(mask), pa.array(values, pa.int64()))
