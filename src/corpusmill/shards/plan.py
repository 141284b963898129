"""Which documents and tokens each shard holds, from the lengths of documents alone.

All documents, in the order of the units that tokenized them, make one stream of tokens. The stream is cut every
`tokens_per_shard` tokens, rounded down to whole rows:

    concat     shard k holds exactly the tokens of the k-th cut
    best_fit   shard k holds the documents that start in the k-th cut, and packs them among themselves; so does concat
               where documents are cut at paragraphs or sentences

So a shard can be written by itself, from a few neighbouring units, and how documents were dealt to units changes
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.packing import Int64s, Method, Remainder


@dataclass(frozen=True)
class Extent:
    """What a shard takes from one unit."""

    unit: int
    first_document: int  # within the unit: the documents [first, stop) that start in the shard …
    stop_document: int
    first_token: int  # … and the tokens [first, stop) that stand in it
    stop_token: int


@dataclass(frozen=True)
class ShardPlan:
    """One shard, to be written by itself."""

    number: int
    method: Method
    row: int  # tokens
    pad: bool  # fill a last row that is not full
    first_document: int  # the number of the first document that starts here …
    documents: int  # … and how many do
    offset: int  # the shard begins this far into the document before, 0 where it begins with a document …
    head: int  # … of which these many tokens stand here
    extents: tuple[Extent, ...]
    split_at: SplitAt | None = None
    discarded_tokens: int = 0  # of the end of the stream, said of the last shard

    @property
    def whole(self) -> bool:
        """Whether the shard holds whole documents."""
        return self.method == "best_fit" or self.split_at is not None

    @property
    def tokens(self) -> int:
        """Tokens of documents, without padding."""
        return sum(extent.stop_token - extent.first_token for extent in self.extents)


@dataclass(frozen=True)
class Plan:
    """All shards, and what became of the stream's end."""

    method: Method
    row: int
    remainder: Remainder
    documents: int
    tokens: int
    discarded_documents: int  # no token of theirs is in any shard
    discarded_tokens: int
    shards: tuple[ShardPlan, ...]
    split_at: SplitAt | None = None


def plan_shards(
    lengths: Sequence[Int64s],
    method: Method,
    row: int,
    tokens_per_shard: int = 100_000_000,
    remainder: Remainder = "keep",
    split_at: SplitAt | None = None,
) -> Plan:
    """Plan the shards of a stream.

    lengths            a unit each: (documents,) tokens per document with its end, each >= 1; mapped arrays will do,
                       they are read twice, one at a time
    method             "concat" or "best_fit"
    row                tokens in a row
    tokens_per_shard   rounded down to whole rows, but one row at least
    remainder          for concat, what becomes of a last row that is not full: "keep", "pad" or "drop"
    split_at           where documents are cut that must be: at the end of a "paragraph" or "sentence", or at that of a row.
                       All rows of concat are then padded

    Takes memory for the largest unit and the plan: 100 bytes a shard and unit.
    """
    if row < 1 or tokens_per_shard < 1:
        raise ValueError(f"need row >= 1 and tokens_per_shard >= 1, got {row} and {tokens_per_shard}")
    total = sum(int(unit.sum()) for unit in lengths)
    whole = method == "best_fit" or split_at is not None
    held = total // row * row if not whole and remainder == "drop" else total
    cut = max(1, tokens_per_shard // row) * row

    drafts: dict[int, _Draft] = {}
    documents, base, written = 0, 0, 0
    for number, unit in enumerate(lengths):
        if len(unit) and int(unit.min()) < 1:
            raise ValueError(f"unit {number}: every document has 1 token or more, its end; got {int(unit.min())}")
        ends = base + np.cumsum(unit)
        starts = ends - unit
        end = int(ends[-1]) if len(unit) else base
        for k in range(base // cut, -(-min(end, held) // cut)):
            low, high = k * cut, min(held, (k + 1) * cut)
            first, stop = np.searchsorted(starts, [low, high]).tolist()
            if whole:
                token, stop_token = (int(starts[first]), int(ends[stop - 1])) if first < stop else (base, base)
            else:
                token, stop_token = max(low, base), min(high, end)
            if token >= stop_token:  # beyond what is held, too: a unit of a remainder that is dropped
                continue
            draft = drafts.setdefault(k, _Draft(first_document=documents + first))
            if token == low and first and int(ends[first - 1]) > low:
                draft.offset = low - int(starts[first - 1])
                draft.head = min(int(ends[first - 1]), high) - low
            draft.documents += stop - first
            draft.extents.append(Extent(number, first, stop, token - base, stop_token - base))
            written += stop - first
        documents, base = documents + len(unit), end

    pad = remainder == "pad"
    shards = [
        ShardPlan(number, method, row, pad, d.first_document, d.documents, d.offset, d.head, tuple(d.extents), split_at)
        for number, (_, d) in enumerate(sorted(drafts.items()))
    ]
    if shards:
        shards[-1] = replace(shards[-1], discarded_tokens=total - held)
    return Plan(
        method, row, remainder, documents, total, documents - written, total - held, tuple(shards), split_at=split_at
    )


class _Draft:
    def __init__(self, first_document: int) -> None:
        self.first_document = first_document
        self.documents = self.offset = self.head = 0
        self.extents: list[Extent] = []
