"""The candidate pairs: documents of a bucket whose sketches do not rule out that they are similar."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.corpus import KeyFiles, PartitionRange, key_files, preference
from corpusmill.steps.dedup._sketches import (
    BucketUnit,
    KeyBuckets,
    find_buckets,
    read_buckets,
    read_sketches,
)
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import distinct_rows, sort_distinct
from corpusmill.store.facts import add
from corpusmill.store.unit_io import UnitIO
from corpusmill.text.buckets import LEADERS, BucketMatches, Leaders, candidate_pairs, no_leaders, pairs_of
from corpusmill.text.components import join, roots
from corpusmill.text.sketch import equal_share

CERTAIN_DEVIATIONS = 3.5  # of the sketch's estimate around the threshold: pairs within these are verified
PAIRED_RANKS = 64  # documents of a bucket, its first, that are paired with all leaders that match, kept or not


def certain_bounds(threshold: float, lanes: int) -> tuple[float, float]:
    """The shares of equal lanes, as the sketches have them, below which two documents are surely not as similar as the
    threshold, and from which on they surely are."""
    share = equal_share(threshold)
    spread = CERTAIN_DEVIATIONS * float(np.sqrt(share * (1 - share) / lanes))
    return max(share - spread, 0.0), min(share + spread, 1.0)


class CandidateGroup(NamedTuple):
    """The candidates of some partitions, see MinhashGroups."""

    pairs: NDArray[np.int64]
    document: NDArray[np.int64]
    bucket: NDArray[np.int64]
    mask: NDArray[np.uint16]
    leaders: NDArray[np.int64]

    def links(self, documents: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """`roots` and `weights` of MinhashGroups."""
        first, second, later = (
            np.searchsorted(documents, column) for column in (self.pairs[:, 0], self.pairs[:, 1], self.document)
        )
        leaders = np.searchsorted(documents, self.leaders)
        parent = np.arange(len(documents), dtype=np.int32)
        join(parent, first, second)
        for k in range(LEADERS):
            rows = np.flatnonzero(self.mask >> k & 1)
            join(parent, later[rows], leaders[self.bucket[rows], k])
        weights = np.bincount(second, minlength=len(documents)).astype(np.int32)
        return {"roots": documents[roots(parent)], "weights": weights}


@dataclass(frozen=True)
class MinhashGroups:
    """The candidates: pairs, and of documents after the first PAIRED_RANKS of a bucket "leader matches", which say with
    which of the bucket's leaders they are a pair, in 14 bytes instead of 16 for each pair. The output `pairs` has

    one, other     (pairs,) documents, the one with the smaller number first; distinct and rising
    document, bucket, mask
                   (matches,) a document, a row of `leaders`, and which of these, see `buckets.candidate_pairs`; in the
                   order in which the documents are preferred
    leaders        (buckets, LEADERS) documents, in the order in which they are preferred; -1 where there is none
    documents      all of these, sorted
    roots          (documents,) the smallest document that each is linked to by these
    weights        (documents,) pairs in which it is the one with the larger number

    `low` and `high` are shares of equal lanes, see `buckets.candidate_pairs`.
    """

    keys: KeyStage
    lanes: int
    low: float
    high: float

    def run(self, inputs: PartitionRange | BucketUnit, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        if isinstance(inputs, BucketUnit):
            buckets, sketches = read_buckets(self.keys, inputs, files, io)
        else:
            buckets, requests = find_buckets(inputs, files, io)
            sketches = read_sketches(requests, files, io)
        group = self.group(buckets, sketches, files, io)
        group = group._replace(pairs=distinct_rows(group.pairs))
        matched = sort_distinct(group.document.copy())
        order = np.argsort(preference(io, files, matched)[np.searchsorted(matched, group.document)], kind="stable")
        leaders = group.leaders[group.leaders >= 0]
        documents = sort_distinct(np.concatenate([group.pairs.ravel(), matched, leaders]))
        io.write_arrays(
            "pairs",
            len(group.pairs),
            **group.links(documents),
            one=group.pairs[:, 0],
            other=group.pairs[:, 1],
            document=group.document[order],
            bucket=group.bucket[order].astype(np.int32),
            mask=group.mask[order],
            leaders=group.leaders,
            documents=documents,
        )

    def group(
        self, buckets: KeyBuckets, sketches: Iterable[NDArray[np.uint64]], files: KeyFiles, io: UnitIO
    ) -> CandidateGroup:
        documents, bucket = buckets.documents, buckets.bucket
        leads, mask, rank = self.compare(buckets, sketches, io)
        mask[documents < files.own] = 0  # what earlier runs kept is settled
        # The leaders of all buckets, one after the other, and where those of each begin.
        leaders = documents[leads]
        starts = np.append(0, np.cumsum(np.bincount(bucket[leads], minlength=buckets.bucket_count)))
        early = np.flatnonzero((rank < PAIRED_RANKS) & (mask > 0))
        rows, leader = pairs_of(mask[early])
        pairs = np.stack([leaders[starts[bucket[early[rows]]] + leader], documents[early[rows]]], axis=1)
        pairs.sort(axis=1)
        later = np.flatnonzero((rank >= PAIRED_RANKS) & (mask > 0))
        large, row = np.unique(bucket[later], return_inverse=True)
        table = np.full((len(large), LEADERS), -1, np.int64)
        for k in range(LEADERS):
            has = np.flatnonzero(starts[large] + k < starts[large + 1])
            table[has, k] = leaders[starts[large[has]] + k]
        return CandidateGroup(pairs, documents[later], row, mask[later], table)

    def compare(self, buckets: KeyBuckets, sketches: Iterable[NDArray[np.uint64]], io: UnitIO) -> BucketMatches:
        """What became of each record, as of `buckets.candidate_pairs`, with the sketches of one part in memory.

        sketches   of each part, (requests, words)
        """
        parts: list[BucketMatches] = []
        state: Leaders | None = None
        for (start, stop), read in zip(pairwise(buckets.starts.tolist()), sketches):
            part = slice(start, stop)
            # One more, for records of which none is requested.
            padded = np.concatenate([read, np.zeros((1, read.shape[1]), np.uint64)])
            rows = np.where(buckets.sketch[part] < 0, len(read), buckets.sketch[part]).astype(np.int64)
            state = state or no_leaders(read.shape[1])
            bucket, documents = buckets.bucket[part], buckets.documents[part]
            parts.append(candidate_pairs(bucket, documents, rows, padded, self.lanes, self.low, self.high, state))
        compared, not_compared = (0, 0) if state is None else state.counts.tolist()
        add(io.facts, "sketches_compared", count=compared)
        add(io.facts, "not_compared", count=not_compared)
        return BucketMatches(*(np.concatenate(columns) for columns in zip(*parts)))
