"""How similar candidates are exactly, and what of one would be lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.sorted_numbers import sort_distinct
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.units import OutputFiles
from corpusmill.text.buckets import jaccard, take_sets
from corpusmill.text.splitmix64 import GOLDEN, mix64

HASHES = 1 << 20  # n-gram hashes of candidates that are in memory at a time, about
SHOWN = 64  # rejected pairs that are kept for the report


@dataclass(frozen=True)
class Comparison:
    """Whether a document is dropped for another.

    threshold   similarity that a pair must reach
    most_lost   share of a dropped document's n-grams that may be lost
    """

    sets: "NgramSets"
    threshold: float
    most_lost: float

    def decisive(self, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
        """(pairs,) how similar candidates are, which would be kept and which dropped by index, where that reaches the
        threshold and no more is lost than may be; else less than the threshold."""
        similarity, lost = self.sets.compare(pairs)
        similarity[lost > self.most_lost] = 0
        return similarity


class NgramSets(NamedTuple):
    """The distinct n-gram hashes of some candidates, in files: what is read of them is given back at once.

    documents   (candidates,) their numbers, rising
    members     (candidates,) int32: how many members of their sets are in the file
    sizes       (candidates, ways) int32: how many there are in each way to cut a document into n-grams
    rows        (candidates,) int32: the place of each in its file
    first       (files + 1,) index of each file's first candidate
    scattered   whether the files are in an object store, and larger than this machine keeps
    """

    io: UnitIO
    files: Sequence[str]
    documents: NDArray[np.int64]
    members: NDArray[np.int32]
    sizes: NDArray[np.int32]
    rows: NDArray[np.int32]
    first: NDArray[np.int64]
    scattered: bool

    @staticmethod
    def open(
        io: UnitIO, output: OutputFiles, starts: NDArray[np.int64], documents: NDArray[np.int64], ways: int
    ) -> "NgramSets":
        """
        starts   (files + 1,) the number of the first document of each file
        """
        files = output.paths.to_pylist()
        scattered = not io.run.is_local and io.are_scattered(output)
        first = np.searchsorted(documents, starts)
        members, rows = np.empty(len(documents), np.int32), np.empty(len(documents), np.int32)
        sizes = np.empty((len(documents), ways), np.int32)
        for number in np.flatnonzero(np.diff(first)).tolist():
            here = slice(first[number], first[number + 1])
            arrays = io.arrays(files[number], scattered)
            rows[here] = np.searchsorted(arrays["documents"], documents[here])
            offsets = arrays["offsets"]
            members[here] = offsets[rows[here] + 1] - offsets[rows[here]]
            sizes[here] = arrays["sizes"][rows[here]]
        return NgramSets(io, files, documents, members, sizes, rows, first, scattered)

    def compare(self, pairs: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(pairs,) the exact similarity of pairs of candidates, which are given by index, and the share of the second's
        n-grams that the first lacks, see `buckets.jaccard`, with HASHES in memory.

        A document without n-grams is like none: it can only have met itself, read again in a later run.
        """
        similarity, lost = np.zeros(len(pairs)), np.zeros(len(pairs))
        # A block's sets are at most those of both sides of its pairs.
        ends = np.cumsum(self.members[pairs[:, 0]], dtype=np.int64)
        ends += np.cumsum(self.members[pairs[:, 1]], dtype=np.int64)
        cuts = np.searchsorted(ends, np.arange(HASHES, ends[-1] if len(pairs) else 0, HASHES))
        del ends
        for first, stop in pairwise(np.unique([0, *cuts.tolist(), len(pairs)]).tolist()):
            block = pairs[first:stop]
            wanted = sort_distinct(block.flatten())
            hashes, offsets = self.gather(wanted)
            one, other = (np.searchsorted(wanted, block[:, side]) for side in (0, 1))
            similarity[first:stop], lost[first:stop] = jaccard(one, other, hashes, offsets, self.sizes[wanted])
        return similarity, lost

    def gather(self, wanted: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The sets of some candidates, by rising index."""
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), self.members[wanted]]))
        hashes = np.empty(offsets[-1], np.uint64)
        cuts = np.searchsorted(wanted, self.first)
        for number in np.flatnonzero(np.diff(cuts)).tolist():
            first, stop = cuts[number : number + 2].tolist()
            file = self.io.arrays(self.files[number], self.scattered)
            rows = self.rows[wanted[first:stop]].astype(np.int64)
            starts = file["offsets"]
            sets = file.with_rows("hashes", starts[rows], starts[rows + 1])
            take_sets(sets, starts, rows, offsets[first : stop + 1], hashes)
        return hashes, offsets

    def ids(self, documents: NDArray[np.int64]) -> NDArray[np.uint8]:
        """(documents, 16) the ids of some of the candidates, by rising number."""
        wanted = np.searchsorted(self.documents, documents)
        found = np.empty((len(documents), 16), np.uint8)
        cuts = np.searchsorted(wanted, self.first)
        for number in np.flatnonzero(np.diff(cuts)).tolist():
            here = slice(*cuts[number : number + 2].tolist())
            ids = self.io.arrays(self.files[number], self.scattered)
            found[here] = ids.take("ids", self.rows[wanted[here]].astype(np.int64))
        return found


class Rejected(NamedTuple):
    """Of the pairs that were compared and did not pass, those with the smallest hashes, SHOWN at most: a random sample
    that does not depend on the order in which they come.

    hashes      (pairs,) uint64, rising
    documents   (pairs, 2) the numbers of which would have been kept, and which dropped
    """

    hashes: NDArray[np.uint64] = np.empty(0, np.uint64)
    documents: NDArray[np.int64] = np.empty((0, 2), np.int64)

    def with_more(self, documents: NDArray[np.int64]) -> "Rejected":
        hashes = _hashes_of_pairs(documents)
        if len(hashes) > SHOWN:  # most pairs of a large run go here
            few = np.argpartition(hashes, SHOWN - 1)[:SHOWN]
            hashes, documents = hashes[few], documents[few]
        hashes, documents = np.append(self.hashes, hashes), np.concatenate([self.documents, documents])
        _, first = np.unique(hashes, return_index=True)
        return Rejected(hashes[first[:SHOWN]], documents[first[:SHOWN]])


def _hashes_of_pairs(documents: NDArray[np.int64]) -> NDArray[np.uint64]:
    """(pairs,) of pairs of document numbers."""
    left, right = documents.astype(np.uint64).T
    hashes: NDArray[np.uint64] = mix64(mix64(left + np.uint64(GOLDEN)) ^ right)
    return hashes
