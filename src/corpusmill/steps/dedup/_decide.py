"""Which near-duplicates are dropped, for which: a unit decides on whole clusters of candidates, see _clusters.py."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.corpus import key_files, preference
from corpusmill.steps.dedup._clusters import members
from corpusmill.steps.dedup._routes import CandidateOrder, RoutedPairs, pack
from corpusmill.steps.dedup._shingles import ShingleSets
from corpusmill.steps.dedup._verdicts import write_decided
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import absent, sort_distinct
from corpusmill.store.facts import add
from corpusmill.store.unit_io import UnitIO
from corpusmill.text.buckets import settle
from corpusmill.text.splitmix64 import GOLDEN, mix64

MAX_KEPT_LEADERS = 32  # that a document after the first ones of its bucket is compared with
MAX_ROUNDS = 16  # times that documents are compared with what their duplicates are dropped for
MAX_REJECTED = 64  # rejected pairs that are kept for the report


@dataclass(frozen=True)
class ClusterUnit:
    """The clusters that are given to a unit."""

    unit: int


@dataclass(frozen=True)
class MinhashDecide:
    """Which documents are dropped, for which.

    Documents are decided in order of preference: each is dropped for the most similar of its candidates that are kept,
    the preferred of equals, if the two are at least as similar as the threshold. One that is kept and as similar to a
    candidate that is dropped is then compared with what that is dropped for, and its cluster is decided again with
    these pairs, until there are no more of them, or MAX_ROUNDS times.

    A similarity decides nothing if both documents are dropped, and in a large bucket most are. So those of pairs are
    computed when they are needed, and of the leaders that a document after the first PAIRED_RANKS of a bucket matches,
    only those that are kept are its candidates: MAX_KEPT_LEADERS of them at most, those that it matches in most bands,
    and of equals the preferred ones. So the work is linear in the number of documents, however large a bucket is; what
    was not compared is counted.
    """

    keys: KeyStage
    ways: int  # in which documents are compared
    threshold: float
    most_lost: float

    def run(self, inputs: ClusterUnit, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        label = self.keys.label
        documents, clusters = members(io, f"{label}-links", inputs.unit)
        sets = ShingleSets.open(io, io.results(f"{label}-shingles")["shingles"], files.starts, documents, self.ways)
        verification = Verification(sets, self.threshold, self.most_lost)
        order = CandidateOrder.from_ranks(preference(io, files, documents), clusters, documents < files.own)
        del clusters
        routes = io.results(f"{label}-routes")["routes"].paths.to_pylist()
        routed = RoutedPairs.open(io, routes, inputs.unit, documents, order)
        decisions = Decisions.from_pairs(routed, verification)
        if added := decisions.decide_all():
            add(io.facts, "through_duplicates", count=added)
        io.facts["candidates"] = sum(len(block.pairs) for block in decisions.blocks)
        io.facts["compared"], io.facts["verified"] = decisions.compared, decisions.verified
        io.facts["not_verified"], io.facts["not_followed"] = decisions.not_verified, decisions.not_followed
        decisions.blocks.clear()
        dropped = np.flatnonzero(decisions.duplicate_of >= 0)
        pairs = order.candidates[np.stack([decisions.duplicate_of[dropped], dropped], axis=1)]
        by_document = np.argsort(pairs[:, 1])
        pairs, similarity = pairs[by_document], decisions.score[dropped][by_document]
        _, lost = sets.compare(pairs)
        representatives, duplicates = documents[pairs].T
        write_decided(io, files.own, duplicates, representatives, sets.ids, similarity, lost)
        write_rejected(io, sets, decisions.rejected)


@dataclass(frozen=True)
class Verification:
    """Whether a document is dropped for another.

    threshold   similarity that a pair must reach
    most_lost   share of a dropped document's n-grams that may be lost
    """

    sets: ShingleSets
    threshold: float
    most_lost: float

    def similarity(self, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
        """(pairs,) how similar candidates are, which would be kept and which dropped by index, where that reaches the
        threshold and no more is lost than may be; else less than the threshold."""
        similarity, lost = self.sets.compare(pairs)
        similarity[lost > self.most_lost] = 0
        return similarity


class RejectedPairs(NamedTuple):
    """Of the pairs that were compared and did not pass, those with the smallest hashes, MAX_REJECTED at most: a random
    sample that does not depend on the order in which they come.

    hashes      (pairs,) uint64, rising
    documents   (pairs, 2) the numbers of which would have been kept, and which dropped
    """

    hashes: NDArray[np.uint64] = np.empty(0, np.uint64)
    documents: NDArray[np.int64] = np.empty((0, 2), np.int64)

    def add(self, documents: NDArray[np.int64]) -> "RejectedPairs":
        first, second = documents.astype(np.uint64).T
        hashes = mix64(mix64(first + np.uint64(GOLDEN)) ^ second)
        if len(hashes) > MAX_REJECTED:  # most pairs of a large run go here
            few = np.argpartition(hashes, MAX_REJECTED - 1)[:MAX_REJECTED]
            hashes, documents = hashes[few], documents[few]
        hashes, documents = np.append(self.hashes, hashes), np.concatenate([self.documents, documents])
        _, rows = np.unique(hashes, return_index=True)
        return RejectedPairs(hashes[rows[:MAX_REJECTED]], documents[rows[:MAX_REJECTED]])


REJECTED = pa.schema(
    [
        ("id", pa.string()),  # of the document that would have been dropped
        ("duplicate_of", pa.string()),  # and of the one for which
        ("similarity", pa.float64()),
        ("lost", pa.float64()),
        ("hash", pa.uint64()),  # those with the smallest ones of all units are a sample of all
    ]
)


def write_rejected(io: UnitIO, sets: ShingleSets, rejected: RejectedPairs) -> None:
    """A sample of the pairs that were compared and did not pass, for the report."""
    numbers = sort_distinct(rejected.documents.flatten())
    ids = np.array([bytes(digits).hex() for digits in sets.ids(numbers)], object)
    representatives, duplicates = (ids[np.searchsorted(numbers, side)] for side in rejected.documents.T)
    similarity, lost = sets.compare(np.searchsorted(sets.documents, rejected.documents).astype(np.int32))
    columns = (duplicates, representatives, similarity, lost, rejected.hashes)
    arrays = [pa.array(values.tolist(), field.type) for values, field in zip(columns, REJECTED)]
    io.write("rejected", pa.record_batch(arrays, schema=REJECTED))


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

    def insert(self, pairs: NDArray[np.uint64]) -> None:
        """Add pairs, sorted and distinct, that are not among these."""
        at = np.searchsorted(self.pairs, pairs)
        self.pairs, self.similarity = np.insert(self.pairs, at, pairs), np.insert(self.similarity, at, np.nan)


@dataclass
class Decisions:
    """What is decided so far. Documents are numbered as `CandidateOrder` says.

    blocks        of all documents, in order
    routed        all pairs of the unit, with the leader matches that are not among those of blocks yet
    active        (documents,) those of clusters on which not all is decided
    duplicate_of  (documents,) the one that each is dropped for, -1: it is kept
    score         (documents,) how similar the two are
    paired        (documents,) leaders whose matches are among the pairs: they were kept when all was decided last
    retried       (documents,) those whose matches with dropped leaders are among the pairs: they were kept once
    leads         (documents,) whether it is a leader in a match
    room          (documents,) how many more pairs are made of the leader matches of each
    compared, verified
                  how many pairs were compared, and how many of those passed
    not_verified  matches with kept leaders of which no pair was made, for MAX_KEPT_LEADERS
    not_followed  changes that were not followed, for MAX_ROUNDS
    rejected      a sample of the pairs that were compared and did not pass
    """

    blocks: list[CandidateBlock]
    routed: RoutedPairs
    verification: Verification
    active: NDArray[np.bool_]
    duplicate_of: NDArray[np.int32]
    score: NDArray[np.float64]
    paired: NDArray[np.bool_]
    retried: NDArray[np.bool_]
    leads: NDArray[np.bool_]
    room: NDArray[np.uint8]
    compared: int = 0
    verified: int = 0
    not_verified: int = 0
    not_followed: int = 0
    rejected: RejectedPairs = field(default_factory=RejectedPairs)

    @staticmethod
    def from_pairs(routed: RoutedPairs, verification: Verification) -> "Decisions":
        number = len(routed.documents)
        pairs = routed.pairs()
        starts = routed.order.edges
        edges = np.searchsorted(pairs, np.array(starts, np.uint64) << np.uint64(32)).tolist()
        blocks = [
            CandidateBlock(start, stop, pairs[first:end].copy(), np.full(end - first, np.nan))
            for (start, stop), (first, end) in zip(pairwise(starts), pairwise(edges))
        ]
        del pairs
        return Decisions(
            blocks,
            routed,
            verification,
            active=np.ones(number, bool),
            duplicate_of=np.full(number, -1, np.int32),
            score=np.zeros(number),
            paired=np.zeros(number, bool),
            retried=np.zeros(number, bool),
            leads=routed.leaders(),
            room=np.full(number, MAX_KEPT_LEADERS, np.uint8),
        )

    def decide_all(self) -> int:
        """Decide, and follow what that changes, until nothing does; returns how many pairs were added by that."""
        added = 0
        for number in range(MAX_ROUNDS + 1):
            self.decide()
            pairs = self.pairs_via_duplicates()
            if not len(pairs):
                break
            if number == MAX_ROUNDS:
                self.not_followed += len(pairs)
                break
            added += len(pairs)
            for block, part in self.by_block(pairs):
                block.insert(part)
            # The others are as they will be, however often these are decided again.
            cluster = self.routed.order.cluster
            changed = np.zeros(len(cluster), bool)
            changed[cluster[(pairs >> np.uint64(32)).astype(np.int64)]] = True
            self.active = changed[cluster]
        return added

    def decide(self) -> None:
        """Decide on all active documents, with the similarities that this needs."""
        self.duplicate_of[self.active], self.score[self.active] = -1, 0
        for block in self.blocks:
            if self.active[block.start : block.stop].any():
                self.decide_block(block)
        self.paired |= self.duplicate_of < 0

    def decide_block(self, block: CandidateBlock) -> None:
        own = slice(block.start, block.stop)
        active = self.active[own]
        is_kept = self.duplicate_of < 0  # within the block that is not known yet, so all its pairs are compared
        paired = self.paired.copy()
        leaders = is_kept & ~paired & self.active
        leaders[block.start :] = False
        for _ in range(MAX_ROUNDS):
            self.not_verified += self.pair_with_leaders(block, leaders, self.active)
            paired |= leaders
            live = self.active[block.later]
            self.verify(block, is_kept[block.earlier] & live)
            self.duplicate_of[own][active], self.score[own][active] = -1, 0
            later, earlier, similarity = block.later, block.earlier, block.similarity
            if not live.all():
                later, earlier, similarity = later[live], earlier[live], similarity[live]
            settle(later, earlier, similarity, self.verification.threshold, self.duplicate_of, self.score)
            # If leaders within the block turn out to be kept, those that match them are decided again.
            leaders[:] = False
            leaders[own] = (self.duplicate_of[own] < 0) & ~paired[own] & active
            if not (leaders & self.leads).any():
                break
        else:
            self.not_followed += int((leaders & self.leads).sum())

    def pair_with_leaders(self, block: CandidateBlock, leaders: NDArray[np.bool_], later: NDArray[np.bool_]) -> int:
        """Add the pairs of some documents with some leaders that they match; returns for how many there was no room."""
        if not (leaders & self.leads).any() or not later[block.start : block.stop].any():
            return 0
        matches = self.routed.matching(block.start, block.stop, leaders, later)
        first = np.flatnonzero(np.append(True, matches[1:] != matches[:-1])[: len(matches)])
        pairs, bands = matches[first], np.diff(np.append(first, len(matches)))
        new = absent(pairs, block.pairs)
        pairs, bands = pairs[new], bands[new]
        number = (pairs >> np.uint64(32)).astype(np.int64)
        order = np.lexsort((pairs, -bands, number))  # so that the numbers are as before
        fits = np.arange(len(number)) - np.searchsorted(number, number) < self.room[number]
        used = np.bincount(number[fits] - block.start, minlength=block.stop - block.start)
        self.room[block.start : block.stop] -= used.astype(np.uint8)
        block.insert(np.sort(pairs[order[fits]]))
        return int((~fits).sum())

    def pairs_via_duplicates(self) -> NDArray[np.uint64]:
        """The pairs that are not among these yet, of a document that is kept, and of what a duplicate that is as
        similar to it is dropped for: the two were not compared."""
        settled = self.routed.order.settled
        parts = [np.empty(0, np.uint64)]
        for block in self.blocks:
            if not self.active[block.start : block.stop].any():
                continue
            is_dropped = self.duplicate_of >= 0
            self.pair_with_leaders(block, is_dropped, ~is_dropped & ~self.retried & self.active)
            later, earlier = block.later, block.earlier
            later_dropped = is_dropped[later]
            mixed = (later_dropped != is_dropped[earlier]) & self.active[later]
            self.verify(block, mixed)
            similar = mixed & (block.similarity >= self.verification.threshold)
            kept_side = np.where(later_dropped, earlier, later)[similar]
            representative = self.duplicate_of[np.where(later_dropped, later, earlier)[similar]]
            high, low = np.maximum(kept_side, representative), np.minimum(kept_side, representative)
            new = (high != low) & ~settled[high]
            parts.append(sort_distinct(pack(high[new], low[new])))
        self.retried |= self.duplicate_of < 0
        pairs = sort_distinct(np.concatenate(parts))
        return np.concatenate([pairs[:0], *(part[absent(part, block.pairs)] for block, part in self.by_block(pairs))])

    def by_block(self, pairs: NDArray[np.uint64]) -> Iterator[tuple[CandidateBlock, NDArray[np.uint64]]]:
        for block in self.blocks:
            first, stop = np.searchsorted(pairs >> np.uint64(32), [block.start, block.stop])
            yield block, pairs[first:stop]

    def verify(self, block: CandidateBlock, mask: NDArray[np.bool_]) -> None:
        """Compute the similarities of some pairs of a block, where they have not been computed."""
        rows = np.flatnonzero(mask & np.isnan(block.similarity))
        candidates = self.routed.order.candidates
        pairs = np.stack([candidates[block.earlier[rows]], candidates[block.later[rows]]], axis=1)
        similarity = self.verification.similarity(pairs)
        block.similarity[rows] = similarity
        failed = similarity < self.verification.threshold
        self.rejected = self.rejected.add(self.routed.documents[pairs[failed]])
        self.compared += len(rows)
        self.verified += len(rows) - int(failed.sum())
