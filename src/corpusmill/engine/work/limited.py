"""A run on some of its documents: the first ones of each source, a sample, or the first ones of a sample.

A sample is drawn by a hash of each document's id, so that it is the same however the input is cut into units, and one
of 2 % holds that of 1 %; everything is read for it. The first documents are counted in the order of files and
positions, by one unit that reads its source in that order, so no two units have to agree; what follows is not read.
"""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.read import BATCH_ROWS, ReadCounts
from corpusmill.tokens.sampling import in_sample

PURPOSE = "run.sample"
NOT_SAMPLED = "not_sampled"  # the kind that documents outside of the sample are counted under, as skipped records


@dataclass(frozen=True)
class Limited:
    """Which documents a run takes: `limit` of each source at most, after a share of `sample`, drawn with `seed`."""

    limit: int | None
    sample: float
    seed: int

    def drawn(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        """Those of some documents that are in the sample."""
        if self.sample >= 1:
            return docs
        return docs.filter(pa.array(in_sample(docs["id"], self.sample, self.seed, PURPOSE)))


class SourceLimit:
    """What a unit has taken so far of each source."""

    def __init__(self, limited: Limited | None) -> None:
        self._limited = limited
        self._counts: Counter[int] = Counter()

    def remaining(self, source: int) -> int:
        """How many more documents of a source are wanted, as far as one batch goes."""
        if self._limited is None or self._limited.limit is None:
            return BATCH_ROWS
        return min(BATCH_ROWS, self._limited.limit - self._counts[source])

    def select(
        self, source: int, batches: Generator[pa.RecordBatch, None, None], counts: ReadCounts
    ) -> Iterator[pa.RecordBatch]:
        """Those of the documents of a piece that are wanted; it is read no further than they are.

        counts   of the reader. Documents outside of the sample become skipped records; those behind the limit do not
                 count at all
        """
        if self._limited is None:
            yield from batches
            return
        with closing(batches):
            while (remaining := self.remaining(source)) > 0:
                # A batch of more than are wanted would count records that another way of cutting the input does not.
                counts.batch_rows = min(counts.batch_rows, remaining)
                docs = next(batches, None)
                if docs is None:
                    return
                selected = self._limited.drawn(docs)
                if outside := len(docs) - len(selected):
                    _not_documents(counts, outside)
                    counts.skip(NOT_SAMPLED, outside)
                if len(selected) > remaining:  # of a range that is read with care, see `careful`
                    _not_documents(counts, len(selected) - remaining)
                    selected = selected.slice(0, remaining)
                self._counts[source] += len(selected)
                yield selected


def _not_documents(counts: ReadCounts, count: int) -> None:
    counts.documents -= count
    counts.records -= count
