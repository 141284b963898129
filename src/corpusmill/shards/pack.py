"""The tokens of one shard, laid out in rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards.layout import PADDING, DocumentSpans
from corpusmill.shards.plan import ShardPlan
from corpusmill.text.array_types import Int64s
from corpusmill.tokens.packing import (
    Report,
    RowLayout,
    best_fit_rows,
    buckets,
    concat,
    concat_at,
    crossing,
    one_per_row,
)

CHUNK_TOKENS = 1 << 21  # tokens that are in memory at a time
LONG_STRETCH = 1 << 16  # tokens that are worth a write of their own


class UnitTokens(NamedTuple):
    """What tokenizing a unit made; mapped arrays will do.

    ids       (tokens,) uint16 or uint32: document after document, each with EOS at its end
    lengths   (documents,) tokens of each, EOS counted
    breaks    (breaks,) ids before each place at which a document may be cut, rising; None where that does not matter
    """

    ids: NDArray[Any]
    lengths: Int64s
    breaks: Int64s | None = None


Units = Mapping[int, UnitTokens] | Sequence[UnitTokens]


@dataclass(frozen=True)
class Packed:
    """A shard that can be written: its tokens in order, and which document each belongs to.

    spans       covers all `size` tokens, padding too; documents by their number in the whole stream
    lengths     (documents,) tokens of the documents that start here, wherever they end
    """

    plan: ShardPlan
    size: int
    spans: DocumentSpans
    lengths: Int64s
    report: Report
    pad_id: int
    dtype: np.dtype[Any]
    _sources: tuple[NDArray[Any], ...]  # the tokens of the extents
    _copies: "TokenCopies"

    @property
    def row(self) -> int:
        """Tokens in a row."""
        return self.plan.row

    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """The tokens, `rows` rows at a time; only the last row may be short."""
        step = self.plan.row * rows
        for low in range(0, self.size, step):
            yield self._laid_out(low, min(low + step, self.size))

    def stretches(self) -> Iterator[NDArray[Any]]:
        """The tokens, at most 2 M at a time, to be read only: a long stretch of one source is not copied."""
        copies = self._copies
        low = 0
        while low < self.size:
            first = int(np.searchsorted(copies.stop, low, "right"))
            if first < len(copies.at) and copies.start[first] <= low <= copies.stop[first] - LONG_STRETCH:
                high = min(int(copies.stop[first]), low + CHUNK_TOKENS)
                begin = int(copies.at[first] + low - copies.start[first])
                yield self._sources[int(copies.source[first])][begin : begin + high - low]
            else:
                high = min(low + CHUNK_TOKENS, self.size)
                yield self._laid_out(low, high)
            low = high

    def _laid_out(self, low: int, high: int) -> NDArray[Any]:
        """The tokens from `low` to `high`."""
        copies = self._copies
        first = int(np.searchsorted(copies.stop, low, "right"))
        last = int(np.searchsorted(copies.start, high))
        out = np.full(high - low, self.pad_id, self.dtype)
        for start, stop, source, at in zip(*(column[first:last].tolist() for column in copies)):
            a, b = max(low, start), min(high, stop)
            out[a - low : b - low] = self._sources[source][at + a - start : at + b - start]
        return out


class TokenCopies(NamedTuple):
    """What is copied where: the tokens [start, stop) of the shard come from `source`, beginning at its token `at`."""

    start: Int64s
    stop: Int64s
    source: Int64s
    at: Int64s

    @staticmethod
    def from_layout(layout: RowLayout, origins: Int64s, sizes: list[int]) -> "TokenCopies":
        """The pieces of a layout, neighbours in both places made one.

        origins (pieces,) where each piece begins in the sources put end to end
        sizes   tokens of each source; no piece lies in two
        """
        edges = np.cumsum([0, *sizes])
        source = np.searchsorted(edges, origins, "right") - 1
        at = origins - edges[source]
        stop = layout.start + layout.length
        # Small documents in a dense stream would else be millions of copies.
        new = np.ones(len(at), bool)
        new[1:] = (
            (layout.start[1:] != stop[:-1]) | (origins[1:] != (origins + layout.length)[:-1]) | (np.diff(source) != 0)
        )
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(at))[: len(first)] - 1
        return TokenCopies(layout.start[first], stop[last], source[first], at[first])


def pack(plan: ShardPlan, units: Units, pad_id: int) -> Packed:
    """Lay a shard out.

    plan     one of `plan_shards`
    units    at least the units that the plan's extents name
    pad_id   what stands in padding

    Memory: 100 bytes a document of the shard; tokens are read when `chunks` asks for them.
    Raises ShardError if the units do not hold what the plan was made from.
    """
    lengths = _joined([units[e.unit].lengths[e.first_document : e.stop_document] for e in plan.extents])
    sources = tuple(np.asarray(units[e.unit].ids[e.first_token : e.stop_token]) for e in plan.extents)
    available = sum(len(source) for source in sources)
    overhang = plan.head + int(lengths.sum()) - plan.tokens  # of the last document, which goes on in the next shard
    as_planned = available == plan.tokens and len(lengths) == plan.documents
    if not as_planned or overhang < 0 or (overhang and plan.keeps_documents):
        raise ShardError(
            f"shard {plan.number}: planned for {plan.tokens} tokens of {plan.documents} documents, its units hold "
            f"{available} of {len(lengths)}: the units changed after the plan was made. Run again."
        )
    if plan.keeps_documents:
        layout = _pack_whole(plan, lengths, units)
        report = layout.report
        document, offset = layout.document + plan.first_document, layout.offset
        origins = (np.cumsum(lengths) - lengths)[layout.document] + layout.offset
    else:
        layout, report = _pack_stream(plan, lengths, overhang)
        carried = 1 if plan.head else 0
        document, offset = layout.document + plan.first_document - carried, layout.offset.copy()
        offset[:carried] = plan.offset
        origins = layout.start
    return Packed(
        plan,
        layout.size,
        _with_padding(layout, document, offset),
        lengths,
        replace(report, discarded_tokens=plan.discarded_tokens),
        pad_id,
        sources[0].dtype,
        sources,
        TokenCopies.from_layout(layout, origins, [len(source) for source in sources]),
    )


def _pack_whole(plan: ShardPlan, lengths: Int64s, units: Units) -> RowLayout:
    """Documents that all begin and end in the shard."""
    # Documents with parts that must not be cut have breaks, whatever the packing.
    has_breaks = any(units[e.unit].breaks is not None for e in plan.extents)
    breaks = _breaks(plan, units) if plan.split_at or has_breaks else None
    if plan.method == "buckets":
        return buckets(lengths, plan.row, plan.shortest)
    if plan.method == "best_fit":
        return best_fit_rows(lengths, plan.row, breaks)
    if plan.method == "one_per_row":
        return one_per_row(lengths, plan.row, breaks)
    assert breaks is not None
    return concat_at(lengths, plan.row, breaks)


def _breaks(plan: ShardPlan, units: Units) -> Int64s:
    """Those of the extents put end to end."""
    places, base = [], 0
    for e in plan.extents:
        breaks = units[e.unit].breaks
        if breaks is None:
            raise ShardError(f"shard {plan.number}: where its documents can be cut was not written. Run again.")
        first, stop = np.searchsorted(breaks, [e.first_token, e.stop_token])
        places.append(breaks[first:stop] - e.first_token + base)
        base += e.stop_token - e.first_token
    return _joined(places)


def _pack_stream(plan: ShardPlan, lengths: Int64s, overhang: int) -> tuple[RowLayout, Report]:
    """The head of the shard, if any, as the first document, and the last document as far as it stands here."""
    sizes = np.concatenate([np.array([plan.head] if plan.head else [], np.int64), lengths])
    if overhang:
        sizes[-1] -= overhang
    layout = concat(sizes, plan.row, "pad" if plan.pad else "keep")
    # A document is counted as cut where it starts, by its whole length: so the counts of shards add up.
    starts = plan.head + np.cumsum(lengths) - lengths
    cut = int(crossing(starts, lengths, plan.row).sum())
    report = replace(layout.report, cut_documents=cut)
    return layout, report


def _with_padding(layout: RowLayout, document: Int64s, offset: Int64s) -> DocumentSpans:
    """The pieces of a layout, and the room between them, as spans without gaps."""
    ends = layout.start + layout.length
    gap = ends != np.append(layout.start[1:], layout.size)
    start = np.concatenate([layout.start, ends[gap]])
    order = np.argsort(start, kind="stable")
    document = np.concatenate([document, np.full(int(gap.sum()), PADDING)])
    offset = np.concatenate([offset, np.zeros(int(gap.sum()), np.int64)])
    return DocumentSpans(start[order], document[order], offset[order])


def _joined(parts: list[Int64s]) -> Int64s:
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64, copy=False)
