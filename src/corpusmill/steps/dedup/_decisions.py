"""Which candidates of near deduplication are dropped, and for which others: from the pairs that met in buckets.

`MinhashDecide` in _decide.py says what is decided.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise, repeat, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.dedup._compare import Comparison, Rejected
from corpusmill.steps.sorted_numbers import absent, sort_distinct
from corpusmill.store.unit_io import UnitIO
from corpusmill.text.buckets import LEADERS, pairs_of, settle

PAIRS = 1 << 20  # pairs that are read before repeats among them are removed
BLOCK = 1 << 16  # documents that are decided at a time
MOST = 32  # kept leaders that a document after the first ones of its bucket is compared with
ROUNDS = 16  # times that documents are compared with what their duplicates are dropped for


class CandidateOrder(NamedTuple):
    """How the candidates of a unit are numbered: by blocks, and in a block in the order of preference.

    The place of a document in its cluster says in which block it is. So what is decided on a cluster does not depend on
    what else the unit decides on.

    back      (documents,) the candidate, in the order of documents, that each number is
    number    (documents,) the number of each candidate
    edges     (blocks + 1,) the number with which each block begins
    cluster   (documents,) by number: clusters, numbered
    settled   (documents,) by number: of earlier runs, so never dropped
    """

    back: NDArray[np.int32]
    number: NDArray[np.int32]
    edges: list[int]
    cluster: NDArray[np.int32]
    settled: NDArray[np.bool_]

    @staticmethod
    def of(place: NDArray[np.int64], labels: NDArray[np.int64], settled: NDArray[np.bool_]) -> "CandidateOrder":
        """
        place     (documents,) of each candidate in the order of preference
        labels    (documents,) clusters have different ones
        settled   (documents,) by candidate
        """
        count = len(place)
        order = np.lexsort((place, labels))
        new = np.ones(count, bool)
        new[1:] = labels[order][1:] != labels[order][:-1]
        firsts = np.flatnonzero(new)
        cluster = np.cumsum(new) - 1
        within = np.arange(count) - firsts[cluster]
        # Small blocks first: most leaders are decided before most of those that meet them.
        sizes = chain((BLOCK >> k for k in range(6, 0, -1)), repeat(BLOCK))
        starts = list(takewhile(lambda start: start < max(count, 1), accumulate(sizes, initial=0)))
        block = np.searchsorted(starts, within, "right")
        again = np.lexsort((place[order], block))
        edges = np.searchsorted(block[again], np.arange(1, len(starts) + 2)).tolist()
        back = order[again].astype(np.int32)
        number = np.empty(count, np.int32)
        number[back] = np.arange(count, dtype=np.int32)
        edges = [0, *(edge for before, edge in pairwise(edges) if edge > before)]
        return CandidateOrder(back, number, edges, cluster[again].astype(np.int32), settled[back])


@dataclass(frozen=True)
class Meetings:
    """What the units of MinhashGroups found, of the documents of a unit: by number from here on, see Order.

    large   files of meetings in the order of numbers: `number`, `bucket`, `mask` (meetings,), `leaders` (buckets, …)
    """

    io: UnitIO
    files: Sequence[str]
    unit: int
    documents: NDArray[np.int64]
    order: CandidateOrder
    large: Sequence[Callable[[], Mapping[str, NDArray[Any]]]]

    @staticmethod
    def open(
        io: UnitIO, files: Sequence[str], unit: int, documents: NDArray[np.int64], order: CandidateOrder
    ) -> "Meetings":
        """
        files       as MinhashRoutes writes them
        unit        the one that decides
        documents   (documents,) rising: its candidates
        """
        large = []

        def numbers(some: NDArray[np.int64]) -> NDArray[np.int32]:
            return order.number[np.searchsorted(documents, some)]

        for place, path in enumerate(files):
            arrays = io.arrays(path)
            here = slice(*arrays["meeting_offsets"][unit : unit + 2].tolist())
            if here.start < here.stop:
                number = numbers(arrays["document"][here])
                by_number = np.argsort(number, kind="stable")
                leaders = arrays["leaders"][slice(*arrays["leader_offsets"][unit : unit + 2].tolist())]
                table = np.full(leaders.shape, -1, np.int32)
                table[leaders >= 0] = numbers(leaders[leaders >= 0])
                columns = {name: arrays[name][here][by_number] for name in ("bucket", "mask")}
                large.append(io.scratch_arrays(f"meetings-{place}", number=number[by_number], **columns, leaders=table))
        return Meetings(io, files, unit, documents, order, large)

    def pairs(self) -> NDArray[np.uint64]:
        """(pairs,) all pairs, see `CandidateBlock.pairs`.

        A pair may be found in as many places as there are bands, so repeats are removed before all files are read.
        """
        packed = np.empty(0, np.uint64)
        waiting: list[NDArray[np.uint64]] = []
        for path in self.files:
            arrays = self.io.arrays(path)
            here = slice(*arrays["pair_offsets"][self.unit : self.unit + 2].tolist())
            one, other = (
                self.order.number[np.searchsorted(self.documents, arrays[name][here])] for name in ("one", "other")
            )
            waiting.append(_pack(np.maximum(one, other), np.minimum(one, other)))
            if sum(map(len, waiting)) > max(PAIRS, len(packed) // 2):
                packed = sort_distinct(np.concatenate([packed, *waiting]))
                waiting = []
        return sort_distinct(np.concatenate([packed, *waiting]))

    def of(self, start: int, stop: int, asked: NDArray[np.bool_], later: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """The pairs of some documents among [start, stop) with some leaders, as often as they meet; sorted.

        asked, later   (documents,) which leaders, and which documents
        """
        found = [np.empty(0, np.uint64)]
        for open_ in self.large:
            arrays = open_()
            number = arrays["number"]
            first, end = np.searchsorted(number, [start, stop])
            if first < end:
                table = arrays["leaders"]
                wanted = (asked[table] & (table >= 0)) @ (1 << np.arange(LEADERS))
                number = number[first:end]
                mine = np.flatnonzero(later[number])
                number, bucket = number[mine], arrays["bucket"][first:end][mine]
                rows, leader = pairs_of(arrays["mask"][first:end][mine] & wanted.astype(np.uint16)[bucket])
                found.append(_pack(number[rows], table[bucket[rows], leader]))
        return np.sort(np.concatenate(found))

    def leaders(self) -> NDArray[np.bool_]:
        """(documents,) whether each is a leader."""
        leads = np.zeros(len(self.documents), bool)
        for open_ in self.large:
            leaders = open_()["leaders"]
            leads[leaders[leaders >= 0]] = True
        return leads


@dataclass
class CandidateBlock:
    """The candidate pairs of documents [start, stop) with documents before each.

    pairs        (pairs,) uint64: the later document << 32 | the earlier one, rising
    similarity   (pairs,) NaN where it has not been computed
    """

    start: int
    stop: int
    pairs: NDArray[np.uint64]
    similarity: NDArray[np.float64]

    @property
    def later(self) -> NDArray[np.int32]:
        return (self.pairs >> np.uint64(32)).astype(np.int32)

    @property
    def earlier(self) -> NDArray[np.int32]:
        return (self.pairs & np.uint64(0xFFFFFFFF)).astype(np.int32)

    def insert(self, more: NDArray[np.uint64]) -> None:
        """Add pairs, sorted and distinct, that are not among these."""
        at = np.searchsorted(self.pairs, more)
        self.pairs, self.similarity = np.insert(self.pairs, at, more), np.insert(self.similarity, at, np.nan)


@dataclass
class Decisions:
    """What is decided so far. Documents are numbered as `CandidateOrder` says.

    blocks        of all documents, in order
    meetings      those that are not among the pairs
    active        (documents,) those of clusters on which not all is decided
    duplicate_of  (documents,) the one that each is dropped for, -1: it is kept
    score         (documents,) how similar the two are
    met           (documents,) those whose meetings are among the pairs: they were kept when all was decided last
    followed      (documents,) those of which meetings with dropped leaders are among the pairs: they were kept once
    leads         (documents,) whether it is a leader in a meeting
    room          (documents,) of how many more meetings of each pairs are made
    compared, verified
                  how many pairs were compared, and how many of those passed
    not_verified  meetings with kept leaders of which no pair was made, for MOST
    not_followed  changes that were not followed, for ROUNDS
    rejected      a sample of the pairs that were compared and did not pass
    """

    blocks: list[CandidateBlock]
    meetings: Meetings
    comparison: Comparison
    active: NDArray[np.bool_]
    duplicate_of: NDArray[np.int32]
    score: NDArray[np.float64]
    met: NDArray[np.bool_]
    followed: NDArray[np.bool_]
    leads: NDArray[np.bool_]
    room: NDArray[np.uint8]
    compared: int = 0
    verified: int = 0
    not_verified: int = 0
    not_followed: int = 0
    rejected: Rejected = field(default_factory=Rejected)

    @staticmethod
    def of(meetings: Meetings, comparison: Comparison) -> "Decisions":
        number = len(meetings.documents)
        pairs = meetings.pairs()
        starts = meetings.order.edges
        edges = np.searchsorted(pairs, np.array(starts, np.uint64) << np.uint64(32)).tolist()
        blocks = [
            CandidateBlock(start, stop, pairs[first:end].copy(), np.full(end - first, np.nan))
            for (start, stop), (first, end) in zip(pairwise(starts), pairwise(edges))
        ]
        del pairs
        return Decisions(
            blocks,
            meetings,
            comparison,
            active=np.ones(number, bool),
            duplicate_of=np.full(number, -1, np.int32),
            score=np.zeros(number),
            met=np.zeros(number, bool),
            followed=np.zeros(number, bool),
            leads=meetings.leaders(),
            room=np.full(number, MOST, np.uint8),
        )

    def decide_all(self) -> int:
        """Decide, and follow what that changes, until nothing does; returns how many pairs were added by that."""
        added = 0
        for again in range(ROUNDS + 1):
            self.decide()
            more = self.through_duplicates()
            if not len(more):
                break
            if again == ROUNDS:
                self.not_followed += len(more)
                break
            added += len(more)
            for block, part in self.by_block(more):
                block.insert(part)
            # The others are as they will be, however often these are decided anew.
            cluster = self.meetings.order.cluster
            changed = np.zeros(len(cluster), bool)
            changed[cluster[(more >> np.uint64(32)).astype(np.int64)]] = True
            self.active = changed[cluster]
        return added

    def decide(self) -> None:
        """Decide on all active documents, with the similarities that this needs."""
        self.duplicate_of[self.active], self.score[self.active] = -1, 0
        for block in self.blocks:
            if self.active[block.start : block.stop].any():
                self.decide_block(block)
        self.met |= self.duplicate_of < 0

    def decide_block(self, block: CandidateBlock) -> None:
        mine = slice(block.start, block.stop)
        active = self.active[mine]
        kept = self.duplicate_of < 0  # of those within the block it is not known yet, so all their pairs are compared
        met = self.met.copy()
        asked = kept & ~met & self.active
        asked[block.start :] = False
        for _ in range(ROUNDS):
            self.not_verified += self.meet(block, asked, self.active)
            met |= asked
            live = self.active[block.later]
            self.compare(block, kept[block.earlier] & live)
            self.duplicate_of[mine][active], self.score[mine][active] = -1, 0
            later, earlier, similarity = block.later, block.earlier, block.similarity
            if not live.all():
                later, earlier, similarity = later[live], earlier[live], similarity[live]
            settle(later, earlier, similarity, self.comparison.threshold, self.duplicate_of, self.score)
            # If leaders within the block turn out to be kept, those that meet them are decided anew.
            asked[:] = False
            asked[mine] = (self.duplicate_of[mine] < 0) & ~met[mine] & active
            if not (asked & self.leads).any():
                break
        else:
            self.not_followed += int((asked & self.leads).sum())

    def meet(self, block: CandidateBlock, leaders: NDArray[np.bool_], later: NDArray[np.bool_]) -> int:
        """Make pairs of the meetings of some documents with some leaders; returns for how many there was no room."""
        if not (leaders & self.leads).any() or not later[block.start : block.stop].any():
            return 0
        met = self.meetings.of(block.start, block.stop, leaders, later)
        first = np.flatnonzero(np.append(True, met[1:] != met[:-1])[: len(met)])
        pairs, bands = met[first], np.diff(np.append(first, len(met)))
        new = absent(pairs, block.pairs)
        pairs, bands = pairs[new], bands[new]
        number = (pairs >> np.uint64(32)).astype(np.int64)
        order = np.lexsort((pairs, -bands, number))  # so that the numbers are as before
        taken = np.arange(len(number)) - np.searchsorted(number, number) < self.room[number]
        used = np.bincount(number[taken] - block.start, minlength=block.stop - block.start)
        self.room[block.start : block.stop] -= used.astype(np.uint8)
        block.insert(np.sort(pairs[order[taken]]))
        return int((~taken).sum())

    def through_duplicates(self) -> NDArray[np.uint64]:
        """The pairs that are not among these yet, of a document that is kept, and of what a duplicate that is as
        similar to it is dropped for: the two were not compared."""
        settled = self.meetings.order.settled
        found = [np.empty(0, np.uint64)]
        for block in self.blocks:
            if not self.active[block.start : block.stop].any():
                continue
            self.meet(block, self.duplicate_of >= 0, (self.duplicate_of < 0) & ~self.followed & self.active)
            later, earlier = block.later, block.earlier
            dropped = self.duplicate_of[later] >= 0, self.duplicate_of[earlier] >= 0
            one = (dropped[0] != dropped[1]) & self.active[later]
            self.compare(block, one)
            which = one & (block.similarity >= self.comparison.threshold)
            kept = np.where(dropped[0], earlier, later)[which]
            through = self.duplicate_of[np.where(dropped[0], later, earlier)[which]]
            high, low = np.maximum(kept, through), np.minimum(kept, through)
            new = (high != low) & ~settled[high]
            found.append(sort_distinct(_pack(high[new], low[new])))
        self.followed |= self.duplicate_of < 0
        more = sort_distinct(np.concatenate(found))
        return np.concatenate([more[:0], *(part[absent(part, block.pairs)] for block, part in self.by_block(more))])

    def by_block(self, pairs: NDArray[np.uint64]) -> Iterator[tuple[CandidateBlock, NDArray[np.uint64]]]:
        for block in self.blocks:
            first, stop = np.searchsorted(pairs >> np.uint64(32), [block.start, block.stop])
            yield block, pairs[first:stop]

    def compare(self, block: CandidateBlock, asked: NDArray[np.bool_]) -> None:
        """The similarities of those pairs of a block that are asked for, where they have not been computed."""
        which = np.flatnonzero(asked & np.isnan(block.similarity))
        back = self.meetings.order.back
        pairs = np.stack([back[block.earlier[which]], back[block.later[which]]], axis=1)
        found = self.comparison.decisive(pairs)
        block.similarity[which] = found
        failed = found < self.comparison.threshold
        self.rejected = self.rejected.with_more(self.meetings.documents[pairs[failed]])
        self.compared += len(which)
        self.verified += len(which) - int(failed.sum())


def _pack(later: NDArray[np.int32], earlier: NDArray[np.int32]) -> NDArray[np.uint64]:
    return later.astype(np.uint64) << np.uint64(32) | earlier.astype(np.uint64)
