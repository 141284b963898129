"""Which candidates of near deduplication are dropped, and for which others: from the pairs that met in buckets.

`MinhashVerdicts` in _near.py says what is decided. Here documents are numbered in the order of preference.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise, repeat, takewhile

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.dedup._compare import Comparison, Rejected
from corpusmill.steps.dedup._distinct import sort_distinct
from corpusmill.text.buckets import LEADERS, pairs_of, settle
from corpusmill.unit_io import UnitIO

PAIRS = 1 << 20  # pairs that are read before repeats among them are removed
BLOCK = 1 << 16  # documents that are decided at a time
MOST = 32  # kept leaders that a document after the first ones of its bucket is compared with
ROUNDS = 16  # times that documents are compared with what their duplicates are dropped for


@dataclass(frozen=True)
class Meetings:
    """What the units of MinhashGroups wrote. Documents are numbered in the order of preference from here on.

    documents   (documents,) sorted: all candidates
    place       (documents,) of each in the order of preference
    """

    io: UnitIO
    files: Sequence[str]
    documents: NDArray[np.int64]
    place: NDArray[np.int32]

    def pairs(self) -> NDArray[np.uint64]:
        """(pairs,) all pairs, see `Block.pairs`.

        A pair may be in as many files as there are bands, so repeats are removed before all files are read.
        """
        packed = np.empty(0, np.uint64)
        waiting: list[NDArray[np.uint64]] = []
        for path in self.files:
            arrays = self.io.arrays(path)
            one, other = self.places(arrays["one"]), self.places(arrays["other"])
            waiting.append(_pack(np.maximum(one, other), np.minimum(one, other)))
            if sum(map(len, waiting)) > max(PAIRS, len(packed) // 2):
                packed = sort_distinct(np.concatenate([packed, *waiting]))
                waiting = []
        return sort_distinct(np.concatenate([packed, *waiting]))

    def large(self) -> "Meetings":
        """The same without the files that have pairs alone."""
        return replace(self, files=[path for path in self.files if len(self.io.arrays(path)["document"])])

    def of(self, start: int, stop: int, asked: NDArray[np.bool_], later: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """The pairs of some documents among [start, stop) with some leaders, as often as they meet; sorted.

        asked, later   (documents,) which leaders, and which documents
        """
        found = [np.empty(0, np.uint64)]
        for path in self.files:
            arrays = self.io.arrays(path)
            document = arrays["document"]
            # Their places rise, as the documents are in order of preference.
            first, end = (
                bisect_left(range(len(document)), edge, key=lambda i: self.places(document[i : i + 1])[0])
                for edge in (start, stop)
            )
            if first < end:
                leaders = arrays["leaders"]
                table = np.zeros(leaders.shape, np.int32)
                table[leaders >= 0] = self.places(leaders[leaders >= 0])
                wanted = (asked[table] & (leaders >= 0)) @ (1 << np.arange(LEADERS))
                number = self.places(document[first:end])
                mine = np.flatnonzero(later[number])
                number, bucket = number[mine], arrays["bucket"][first:end][mine]
                rows, leader = pairs_of(arrays["mask"][first:end][mine] & wanted.astype(np.uint16)[bucket])
                found.append(_pack(number[rows], table[bucket[rows], leader]))
        return np.sort(np.concatenate(found))

    def leaders(self) -> NDArray[np.bool_]:
        """(documents,) whether each is a leader."""
        leads = np.zeros(len(self.place), bool)
        for path in self.files:
            leaders = self.io.arrays(path)["leaders"]
            leads[self.places(leaders[leaders >= 0])] = True
        return leads

    def places(self, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        return self.place[np.searchsorted(self.documents, documents)]


@dataclass
class Block:
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
    """What is decided so far. Documents are numbered in the order of preference.

    blocks        of all documents, in order
    meetings      those that are not among the pairs
    back          (documents,) the candidate that each is
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

    blocks: list[Block]
    meetings: Meetings
    comparison: Comparison
    back: NDArray[np.int32]
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
        # Small ones first: most leaders are decided before most of those that meet them.
        sizes = chain((BLOCK >> k for k in range(6, 0, -1)), repeat(BLOCK))
        starts = list(takewhile(lambda start: start < number, accumulate(sizes, initial=0)))
        edges = np.searchsorted(pairs, np.array(starts, np.uint64) << np.uint64(32)).tolist()
        blocks = [
            Block(start, stop, pairs[first:end].copy(), np.full(end - first, np.nan))
            for (start, stop), (first, end) in zip(pairwise([*starts, number]), pairwise([*edges, len(pairs)]))
        ]
        del pairs
        back = np.empty(number, np.int32)
        back[meetings.place] = np.arange(number, dtype=np.int32)
        large = meetings.large()
        return Decisions(
            blocks,
            large,
            comparison,
            back,
            duplicate_of=np.full(number, -1, np.int32),
            score=np.zeros(number),
            met=np.zeros(number, bool),
            followed=np.zeros(number, bool),
            leads=large.leaders(),
            room=np.full(number, MOST, np.uint8),
        )

    def decide(self) -> None:
        """Decide on all documents, with the similarities that this needs."""
        self.duplicate_of[:], self.score[:] = -1, 0
        for block in self.blocks:
            self.decide_block(block)
        self.met |= self.duplicate_of < 0

    def decide_block(self, block: Block) -> None:
        mine = slice(block.start, block.stop)
        kept = self.duplicate_of < 0  # of those within the block it is not known yet, so all their pairs are compared
        met = self.met.copy()
        asked = kept & ~met
        asked[block.start :] = False
        everyone = np.ones(len(kept), bool)
        for _ in range(ROUNDS):
            self.not_verified += self.meet(block, asked, everyone)
            met |= asked
            self.compare(block, kept[block.earlier])
            self.duplicate_of[mine], self.score[mine] = -1, 0
            settle(block.later, block.earlier, block.similarity, self.comparison.threshold, *self.decided)
            # If leaders within the block turn out to be kept, those that meet them are decided anew.
            asked[:] = False
            asked[mine] = (self.duplicate_of[mine] < 0) & ~met[mine]
            if not (asked & self.leads).any():
                break
        else:
            self.not_followed += int(asked.sum())

    def meet(self, block: Block, leaders: NDArray[np.bool_], later: NDArray[np.bool_]) -> int:
        """Make pairs of the meetings of some documents with some leaders; returns for how many there was no room."""
        if not (leaders & self.leads).any() or not later[block.start : block.stop].any():
            return 0
        met = self.meetings.of(block.start, block.stop, leaders, later)
        first = np.flatnonzero(np.append(True, met[1:] != met[:-1])[: len(met)])
        pairs, bands = met[first], np.diff(np.append(first, len(met)))
        new = _absent(pairs, block.pairs)
        pairs, bands = pairs[new], bands[new]
        number = (pairs >> np.uint64(32)).astype(np.int64)
        order = np.lexsort((pairs, -bands, number))  # so that the numbers are as before
        taken = np.arange(len(number)) - np.searchsorted(number, number) < self.room[number]
        used = np.bincount(number[taken] - block.start, minlength=block.stop - block.start)
        self.room[block.start : block.stop] -= used.astype(np.uint8)
        block.insert(np.sort(pairs[order[taken]]))
        return int((~taken).sum())

    def through_duplicates(self, settled: int) -> NDArray[np.uint64]:
        """The pairs that are not among these yet, of a document that is kept, and of what a duplicate that is as
        similar to it is dropped for: the two were not compared.

        settled   documents before this are never dropped
        """
        found = [np.empty(0, np.uint64)]
        for block in self.blocks:
            self.meet(block, self.duplicate_of >= 0, (self.duplicate_of < 0) & ~self.followed)
            later, earlier = block.later, block.earlier
            dropped = self.duplicate_of[later] >= 0, self.duplicate_of[earlier] >= 0
            self.compare(block, dropped[0] != dropped[1])
            which = (dropped[0] != dropped[1]) & (block.similarity >= self.comparison.threshold)
            kept = np.where(dropped[0], earlier, later)[which]
            through = self.duplicate_of[np.where(dropped[0], later, earlier)[which]]
            high, low = np.maximum(kept, through), np.minimum(kept, through)
            new = (high != low) & (high >= settled)
            found.append(sort_distinct(_pack(high[new], low[new])))
        self.followed |= self.duplicate_of < 0
        more = sort_distinct(np.concatenate(found))
        return np.concatenate([more[:0], *(part[_absent(part, block.pairs)] for block, part in self.by_block(more))])

    def insert(self, more: NDArray[np.uint64]) -> None:
        """Add pairs, sorted and distinct, that are not among these."""
        for block, part in self.by_block(more):
            block.insert(part)

    def by_block(self, pairs: NDArray[np.uint64]) -> Iterator[tuple[Block, NDArray[np.uint64]]]:
        for block in self.blocks:
            first, stop = np.searchsorted(pairs >> np.uint64(32), [block.start, block.stop])
            yield block, pairs[first:stop]

    def compare(self, block: Block, asked: NDArray[np.bool_]) -> None:
        """The similarities of those pairs of a block that are asked for, where they have not been computed."""
        which = np.flatnonzero(asked & np.isnan(block.similarity))
        pairs = np.stack([self.back[block.earlier[which]], self.back[block.later[which]]], axis=1)
        found = self.comparison.decisive(pairs)
        block.similarity[which] = found
        failed = found < self.comparison.threshold
        self.rejected = self.rejected.with_more(self.meetings.documents[pairs[failed]])
        self.compared += len(which)
        self.verified += len(which) - int(failed.sum())

    @property
    def decided(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        return self.duplicate_of, self.score


def _pack(later: NDArray[np.int32], earlier: NDArray[np.int32]) -> NDArray[np.uint64]:
    return later.astype(np.uint64) << np.uint64(32) | earlier.astype(np.uint64)


def _absent(numbers: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the numbers are not among the others, which are sorted. (np.isin hashes, see below.)"""
    if not len(others):
        return np.ones(len(numbers), bool)
    at = np.searchsorted(others, numbers)
    at[at == len(others)] = 0  # greater than all, so not equal to the first
    absent: NDArray[np.bool_] = others[at] != numbers
    return absent
