"""Which documents and tokens each shard holds, from the lengths of documents alone.

All documents, in the order of the units that tokenized them, make one stream of tokens. The stream is cut every
`tokens_per_shard` tokens, rounded down to whole rows:

    concat     shard k holds exactly the tokens of the k-th cut
    best_fit   shard k holds the documents that start in the k-th cut, and packs them among themselves; so do
               one_per_row, buckets, and concat where documents are cut at paragraphs or sentences

So a shard can be written by itself, from a few neighbouring units, and how documents were dealt to units changes
nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from corpusmill.text.array_types import Int64s
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.packing import Method, Remainder


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
    shortest: int = 1  # tokens of the shortest sequence of buckets
    discarded_tokens: int = 0  # of the end of the stream, said of the last shard

    @property
    def keeps_documents(self) -> bool:
        """Whether the shard holds whole documents."""
        return self.method != "concat" or self.split_at is not None

    @property
    def tokens(self) -> int:
        """Tokens of documents, without padding."""
        return sum(extent.stop_token - extent.first_token for extent in self.extents)


@dataclass(frozen=True)
class Totals:
    """What the units of a stream hold: (units,) tokens and documents, and the tokens of the longest document."""

    tokens: Int64s
    documents: Int64s
    longest: Int64s

    @staticmethod
    def from_lengths(lengths: Iterable[Int64s]) -> "Totals":
        """The totals of units of which the tokens of each document are known."""
        rows = [(int(unit.sum()), len(unit), int(unit.max(initial=0))) for unit in lengths]
        return (
            Totals(*(np.array(column, np.int64) for column in zip(*rows)))
            if rows
            else Totals(*[np.empty(0, np.int64)] * 3)
        )


@dataclass(frozen=True)
class ShardRange:
    """A shard to come, before it is known which documents it holds.

    number            of the shard
    low, high         the tokens of the stream that it is cut at
    first_unit        it takes from the units [first, stop)
    tokens_before     in the stream before the first of these units, and
    documents_before  documents
    discarded_tokens  of the end of the stream, said of the last shard
    """

    number: int
    low: int
    high: int
    first_unit: int
    stop_unit: int
    tokens_before: int
    documents_before: int
    discarded_tokens: int


@dataclass(frozen=True)
class ShardCuts:
    """Where a stream is cut into shards.

    method             "concat", "best_fit", "one_per_row" or "buckets"
    row                tokens per row
    tokens_per_shard   rounded down to whole rows, but one row at least
    remainder          for concat, what becomes of a last row that is not full: "keep", "pad" or "drop"
    split_at           where documents are cut that must be: at the end of a "paragraph" or "sentence", or at that of a
                       row. All rows of concat are then padded
    shortest           for buckets, tokens of the shortest sequence
    """

    method: Method
    row: int
    tokens_per_shard: int = 100_000_000
    remainder: Remainder = "keep"
    split_at: SplitAt | None = None
    shortest: int = 1

    def __post_init__(self) -> None:
        if self.row < 1 or self.tokens_per_shard < 1:
            raise ValueError(f"need row >= 1 and tokens_per_shard >= 1, got {self.row} and {self.tokens_per_shard}")

    @property
    def cut(self) -> int:
        """Tokens of the stream for each shard."""
        return max(1, self.tokens_per_shard // self.row) * self.row

    @property
    def keeps_documents(self) -> bool:
        """Whether shards hold whole documents."""
        return self.method != "concat" or self.split_at is not None

    def stored_tokens(self, tokens: int) -> int:
        """Tokens of a stream that are in its shards."""
        return tokens // self.row * self.row if not self.keeps_documents and self.remainder == "drop" else tokens

    def ranges(self, totals: Totals, lengths: Callable[[int], Int64s]) -> Iterator[ShardRange]:
        """All shards.

        lengths   (documents,) tokens per document of a unit, by its number: asked only where totals do not tell whether
                  any document begins in a cut
        """
        total = int(totals.tokens.sum())
        stored = self.stored_tokens(total)
        ends = np.cumsum(totals.tokens)
        documents = np.cumsum(totals.documents)
        number = 0
        last: ShardRange | None = None
        for cut in range(-(-stored // self.cut)):
            low, high = cut * self.cut, min(stored, (cut + 1) * self.cut)
            first, stop = int(np.searchsorted(ends, low, "right")), int(np.searchsorted(ends, high)) + 1
            before = int(ends[first - 1]) if first else 0
            documents_before = int(documents[first - 1]) if first else 0
            shard = ShardRange(number, low, high, first, stop, before, documents_before, total - stored)
            # Where no document is longer than a cut, one begins in every full cut.
            sure = high - low == self.cut and int(totals.longest[first:stop].max()) <= self.cut
            if (
                self.keeps_documents
                and not sure
                and not self.plan(shard, [lengths(unit) for unit in range(first, stop)]).extents
            ):
                continue
            number += 1
            if last is not None:
                yield replace(last, discarded_tokens=0)
            last = shard
        if last is not None:
            yield last

    def plan(self, shard: ShardRange, lengths: Sequence[Int64s]) -> ShardPlan:
        """A shard, from the tokens of each document in the units that it takes from: (documents,) each >= 1.

        Raises ValueError if a document has no token, not even its EOS.
        """
        low, high = shard.low, shard.high
        base, documents_before = shard.tokens_before, shard.documents_before
        extents: list[Extent] = []
        first_document = documents = offset = head = 0
        for number, unit in enumerate(lengths, shard.first_unit):
            if len(unit) and int(unit.min()) < 1:
                raise ValueError(f"unit {number}: every document has 1 token or more, its EOS; got {int(unit.min())}")
            ends = base + np.cumsum(unit)
            starts = ends - unit
            end = int(ends[-1]) if len(unit) else base
            first, stop = np.searchsorted(starts, [low, high]).tolist()
            if self.keeps_documents:
                token, stop_token = (int(starts[first]), int(ends[stop - 1])) if first < stop else (base, base)
            else:
                token, stop_token = max(low, base), min(high, end)
            if token < stop_token:
                if not extents:
                    first_document = documents_before + first
                if token == low and first and int(ends[first - 1]) > low:
                    offset = low - int(starts[first - 1])
                    head = min(int(ends[first - 1]), high) - low
                documents += stop - first
                extents.append(Extent(number, first, stop, token - base, stop_token - base))
            base, documents_before = end, documents_before + len(unit)
        return ShardPlan(
            shard.number,
            self.method,
            self.row,
            self.remainder == "pad",
            first_document,
            documents,
            offset,
            head,
            tuple(extents),
            self.split_at,
            self.shortest,
            shard.discarded_tokens,
        )


@dataclass(frozen=True)
class StreamPlan:
    """All shards of a stream of which the tokens of every document are known, and how much there is of it."""

    cuts: ShardCuts
    documents: int
    tokens: int
    shards: tuple[ShardPlan, ...]

    @property
    def discarded_tokens(self) -> int:
        """Of the end of the stream, which are in no shard."""
        return self.tokens - self.cuts.stored_tokens(self.tokens)

    @property
    def discarded_documents(self) -> int:
        """Documents that have no token in any shard."""
        return self.documents - sum(shard.documents for shard in self.shards)


def plan_shards(
    lengths: Sequence[Int64s],
    method: Method,
    row: int,
    tokens_per_shard: int = 100_000_000,
    remainder: Remainder = "keep",
    split_at: SplitAt | None = None,
) -> StreamPlan:
    """Plan the shards of a stream; parameters as of ShardCuts.

    lengths   a unit each: (documents,) tokens per document with its EOS, each >= 1; mapped arrays will do
    """
    cuts = ShardCuts(method, row, tokens_per_shard, remainder, split_at)
    totals = Totals.from_lengths(lengths)
    ranges = cuts.ranges(totals, lambda unit: lengths[unit])
    shards = tuple(cuts.plan(shard, lengths[shard.first_unit : shard.stop_unit]) for shard in ranges)
    return StreamPlan(cuts, int(totals.documents.sum()), int(totals.tokens.sum()), shards)
