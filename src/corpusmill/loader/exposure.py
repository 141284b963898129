"""When training sees a document: the inverse of the order of samples."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from corpusmill.errors import ShardError
from corpusmill.loader.order import SampleOrder
from corpusmill.loader.rows import ShardRows
from corpusmill.shards import Shards
from corpusmill.shards.loss import Int64s


class Served(NamedTuple):
    """A row of a batch that holds some of a document.

    step, rank   which batch
    row          of the batch
    sample       number of the row in the order of training
    epoch        complete passes over the source before it
    document     its number in the shards of `source`
    source       the folder of its shards, as given
    """

    step: int
    rank: int
    row: int
    sample: int
    epoch: int
    document: int
    source: str


class ServesRows(Protocol):
    """What of a loader says when it serves a row; see `TokenLoader`."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[ShardRows]: ...
    @property
    def order(self) -> SampleOrder: ...
    @property
    def skip(self) -> Sequence[tuple[int, int]]: ...
    def batches_with(self, position: int) -> list[tuple[int, int, int]]: ...


def find_exposures(loader: ServesRows, documents: Iterable[int], source: str, epochs: int) -> list[Served]:
    """See `TokenLoader.served`."""
    number = loader.names.index(source)
    if loader.order.shares[number] == 0:
        return []
    rows = loader.rows[number]
    exposures = []
    for document in sorted(set(documents)):
        holding = rows_of(rows, document)
        for epoch in range(epochs):
            for sample in loader.order.samples(number, holding, epoch).tolist():
                if (position := _samples_before(loader, sample)) is not None:
                    for step, rank, row in loader.batches_with(position):
                        exposures.append(Served(step, rank, row, sample, epoch, document, source))
    return sorted(exposures)


def rows_of(rows: ShardRows, document: int) -> Int64s:
    """The rows that hold some of a document, in order. Raises ShardError if the shards do not hold it."""
    numbers: list[int] = []
    for shard, start in _shards_of(rows.shards, document):
        runs = rows.shards.runs(shard)
        ends = np.append(runs.start[1:], rows.shards.index.shards[shard].tokens)
        in_document = runs.document == document
        for begin, end in zip(runs.start[in_document].tolist(), ends[in_document].tolist()):
            numbers.extend(range((start + begin) // rows.length, (start + end - 1) // rows.length + 1))
    if not numbers:
        raise ShardError(f"{rows.shards.folder}: no tokens of document {document}; were they cut off by the packer?")
    return np.unique(np.array(numbers, np.int64))


def _shards_of(shards: Shards, document: int) -> list[tuple[int, int]]:
    """The shards that may hold a document, by number and first token: that in which it begins, and the next ones."""
    entries = shards.index.shards
    first = shards.index.column("first_document")
    holding = np.flatnonzero((first <= document) & (document < first + shards.index.column("documents")))
    if not len(holding):
        last = shards.index.documents - shards.index.discarded_documents - 1
        raise ShardError(f"{shards.folder}: no document {document}; the shards hold 0 to {last}.")
    begin = int(holding[0])
    stop = begin + 1
    while stop < len(entries) and (shards.runs(stop).document == document).any():
        stop += 1
    return [(shard, int(shards.edges[shard])) for shard in range(begin, stop)]


def _samples_before(loader: ServesRows, sample: int) -> int | None:
    """How many samples are taken before this one; None if it is left out."""
    before = 0
    for first, end in loader.skip:
        if first <= sample < end:
            return None
        before += end - first if end <= sample else 0
    return sample - before
