"""The shingles (n-grams) of candidates, as sets of hashes: read again from their texts, and compared exactly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.corpus import DocumentFile, id_bytes, key_files
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import sort_distinct, within
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.units import OutputFiles
from corpusmill.text.buckets import in_ways, jaccard, take_sets
from corpusmill.text.shingles import Shingling

MAX_HASHES = 1 << 20  # n-gram hashes of candidates that are in memory at a time, about


@dataclass(frozen=True)
class MinhashShingles:
    """The output `shingles` has, of the candidates in a file of documents,

    documents   (candidates,) rising
    hashes      of the n-grams of each, `offsets` (candidates + 1,) and `sizes` (candidates, ways), see
                `buckets.in_ways`
    ids         (candidates, 16) as bytes
    """

    keys: KeyStage
    shinglings: tuple[Shingling, ...]

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        start = int(files.starts[inputs.number])
        stored = io.arrays(io.results(f"{self.keys.label}-links")["candidates"].path(0))
        candidates = stored["documents"][slice(*stored["starts"][inputs.number : inputs.number + 2])].copy()
        del stored
        ids, sizes = [np.empty((0, 16), np.uint8)], [np.empty((0, len(self.shinglings)), np.int32)]
        members = [np.zeros(1, np.int64)]
        with io.writing_arrays("shingles", len(candidates)) as write:
            write("documents", candidates)
            write("hashes", np.empty(0, np.uint64))
            for texts, digits in self.texts(candidates, start, files.docs[inputs.number], io):
                ids.append(id_bytes(digits))
                hashes, ends, own = in_ways([shingling.hashes(texts) for shingling in self.shinglings])
                write("hashes", hashes)
                members.append(np.diff(ends))
                sizes.append(own)
            if files.scattered:
                io.has_read(files.docs[inputs.number])
            write("offsets", np.cumsum(np.concatenate(members)))
            write("sizes", np.concatenate(sizes))
            write("ids", np.concatenate(ids))

    def texts(
        self, candidates: NDArray[np.int64], start: int, path: str, io: UnitIO
    ) -> Iterator[tuple[pa.LargeStringArray, pa.StringArray]]:
        """The texts and ids of some documents of a file that begins with document `start`, some at a time."""
        row = start
        if len(candidates):
            file = io.parquet(path)
            for batch in file.iter_batches(1024, columns=["text", "id"], use_threads=False):
                io.heart.at(row - start, file.metadata.num_rows)
                rows = within(candidates, row, row + len(batch)) - row
                if len(rows):
                    yield batch["text"].take(pa.array(rows)), batch["id"].take(pa.array(rows))
                row += len(batch)


class ShingleSets(NamedTuple):
    """The distinct n-gram hashes of some candidates, in files: what is read of them is given back at once.

    documents   (candidates,) their numbers, rising
    members     (candidates,) int32: how many members of their sets are in the file
    sizes       (candidates, ways) int32: how many there are in each way to cut a document into n-grams
    rows        (candidates,) int32: the row of each in its file
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
    ) -> "ShingleSets":
        """
        starts   (files + 1,) the number of the first document of each file
        """
        files = output.paths.to_pylist()
        scattered = not io.run.is_local and io.are_scattered(output)
        first = np.searchsorted(documents, starts)
        members, rows = np.empty(len(documents), np.int32), np.empty(len(documents), np.int32)
        sizes = np.empty((len(documents), ways), np.int32)
        for number, own in _slices(first):
            arrays = io.arrays(files[number], scattered)
            rows[own] = np.searchsorted(arrays["documents"], documents[own])
            offsets = arrays["offsets"]
            members[own] = offsets[rows[own] + 1] - offsets[rows[own]]
            sizes[own] = arrays["sizes"][rows[own]]
        return ShingleSets(io, files, documents, members, sizes, rows, first, scattered)

    def compare(self, pairs: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(pairs,) the exact similarity of pairs of candidates, which are given by index, and the share of the second's
        n-grams that the first lacks, see `buckets.jaccard`, with MAX_HASHES in memory.

        A document without n-grams matches nothing: a candidate pair of two such is one document, read again in a later
        run.
        """
        similarity, lost = np.zeros(len(pairs)), np.zeros(len(pairs))
        # A block's sets are at most those of both sides of its pairs.
        ends = np.cumsum(self.members[pairs[:, 0]], dtype=np.int64)
        ends += np.cumsum(self.members[pairs[:, 1]], dtype=np.int64)
        cuts = np.searchsorted(ends, np.arange(MAX_HASHES, ends[-1] if len(pairs) else 0, MAX_HASHES))
        del ends
        for first, stop in pairwise(np.unique([0, *cuts.tolist(), len(pairs)]).tolist()):
            block = pairs[first:stop]
            indices = sort_distinct(block.flatten())
            hashes, offsets = self.gather(indices)
            a, b = (np.searchsorted(indices, block[:, side]) for side in (0, 1))
            similarity[first:stop], lost[first:stop] = jaccard(a, b, hashes, offsets, self.sizes[indices])
        return similarity, lost

    def gather(self, indices: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The sets of some candidates, by rising index."""
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), self.members[indices]]))
        hashes = np.empty(offsets[-1], np.uint64)
        for number, own in _slices(np.searchsorted(indices, self.first)):
            file = self.io.arrays(self.files[number], self.scattered)
            rows = self.rows[indices[own]].astype(np.int64)
            starts = file["offsets"]
            sets = file.with_rows("hashes", starts[rows], starts[rows + 1])
            take_sets(sets, starts, rows, offsets[own.start : own.stop + 1], hashes)
        return hashes, offsets

    def ids(self, documents: NDArray[np.int64]) -> NDArray[np.uint8]:
        """(documents, 16) the ids of some of the candidates, by rising number."""
        indices = np.searchsorted(self.documents, documents)
        ids = np.empty((len(documents), 16), np.uint8)
        for number, own in _slices(np.searchsorted(indices, self.first)):
            file = self.io.arrays(self.files[number], self.scattered)
            ids[own] = file.take("ids", self.rows[indices[own]].astype(np.int64))
        return ids


def _slices(first: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """The files that have any, and which they have, of what begins in each at `first` (files + 1,)."""
    for number in np.flatnonzero(np.diff(first)).tolist():
        yield number, slice(*first[number : number + 2].tolist())
