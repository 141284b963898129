"""Which candidates of near deduplication are dropped, and for which others: from the pairs that met in buckets.

`MinhashVerdicts` in _near.py says what is decided. Here documents are numbered in the order of preference.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise, repeat, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.buckets import LEADERS, jaccard, pairs_of, settle, take_sets
from corpusmill.unit_io import UnitIO

HASHES = 1 << 20  # n-gram hashes of candidates that are in memory at a time, about
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
                  how many similarities were computed, and how many of those reach the threshold
    not_verified  meetings with kept leaders of which no pair was made, for MOST
    not_followed  changes that were not followed, for ROUNDS
    """

    blocks: list[Block]
    meetings: Meetings
    sets: "Sets"
    back: NDArray[np.int32]
    threshold: float
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

    @staticmethod
    def of(meetings: Meetings, sets: "Sets", threshold: float) -> "Decisions":
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
            sets,
            back,
            threshold,
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
            settle(block.later, block.earlier, block.similarity, self.threshold, self.duplicate_of, self.score)
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
            which = (dropped[0] != dropped[1]) & (block.similarity >= self.threshold)
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
        block.similarity[which] = found = self.sets.jaccard(pairs)
        self.compared += len(which)
        self.verified += int((found >= self.threshold).sum())


class Sets(NamedTuple):
    """The distinct n-gram hashes of all candidates, in files: what is read of them is given back at once.

    documents   (candidates,) their numbers, rising
    sizes       (candidates,) int32: of their sets
    first       (files + 1,) index of each file's first candidate
    """

    io: UnitIO
    files: Sequence[str]
    documents: NDArray[np.int64]
    sizes: NDArray[np.int32]
    first: NDArray[np.int64]

    @staticmethod
    def open(io: UnitIO, files: Sequence[str]) -> "Sets":
        first = np.cumsum([0, *(len(io.arrays(path)["documents"]) for path in files)])
        documents, sizes = np.empty(first[-1], np.int64), np.empty(first[-1], np.int32)
        for path, start, end in zip(files, first, first[1:]):
            arrays = io.arrays(path)
            documents[start:end], sizes[start:end] = arrays["documents"], np.diff(arrays["offsets"])
        return Sets(io, files, documents, sizes, first)

    def jaccard(self, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
        """(pairs,) the exact similarity of pairs of candidates, which are given by index and rise, with HASHES in
        memory.

        A document without n-grams is like none: it can only have met itself, read again in a later run.
        """
        similarity = np.zeros(len(pairs))
        # A block's sets are at most those of both sides of its pairs.
        ends = np.cumsum(self.sizes[pairs[:, 0]], dtype=np.int64)
        ends += np.cumsum(self.sizes[pairs[:, 1]], dtype=np.int64)
        cuts = np.searchsorted(ends, np.arange(HASHES, ends[-1] if len(pairs) else 0, HASHES))
        del ends
        for first, stop in pairwise(np.unique([0, *cuts.tolist(), len(pairs)]).tolist()):
            block = pairs[first:stop]
            wanted = sort_distinct(block.flatten())
            hashes, offsets = self.gather(wanted)
            one, other = (np.searchsorted(wanted, block[:, side]) for side in (0, 1))
            exact = jaccard(one, other, hashes, offsets)
            exact[(self.sizes[block] == 0).any(axis=1)] = 0
            similarity[first:stop] = exact
        return similarity

    def gather(self, wanted: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The sets of some candidates, by rising index."""
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), self.sizes[wanted]]))
        hashes = np.empty(offsets[-1], np.uint64)
        for path, base, end in zip(self.files, self.first, self.first[1:]):
            first, stop = np.searchsorted(wanted, [base, end])
            if first < stop:
                file = self.io.arrays(path)
                take_sets(file["hashes"], file["offsets"], wanted[first:stop] - base, offsets[first : stop + 1], hashes)
        return hashes, offsets


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


def sort_distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Sort numbers in place; returns the distinct ones. (np.unique hashes, from numpy 2.3 on, and takes 10 times as
    long for millions.)"""
    numbers.sort()
    new = np.ones(len(numbers), bool)
    new[1:] = numbers[1:] != numbers[:-1]
    return numbers[new]


def distinct_rows(pairs: NDArray[Any]) -> NDArray[Any]:
    """The same of (pairs, 2), as by np.unique along an axis, which compares rows as bytes."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[new]


def within(numbers: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Those of some sorted numbers."""
    first, last = np.searchsorted(numbers, [start, stop])
    return numbers[first:last]
