"""The stages of exact deduplication.

group     a unit is a few partitions: the documents that share each key, and the one of them that is kept
verdicts  one unit: all of them by document
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpusmill.keys import KeyStage
from corpusmill.steps.corpus import (
    Everything,
    Partition,
    PartitionRange,
    after,
    against_stages,
    digest,
    key_files,
    keys_content,
    partition_ranges,
    partitions,
    places,
    write_duplicates,
)
from corpusmill.text.buckets import shared
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned, Stage


def exact_stages(keys: KeyStage, reason: str, ranked: bool, mark: bool) -> list[Stage]:
    """Stages for keys of one band, with the payload `low`: the other half of a 128-bit hash.

    reason   why duplicates are dropped
    ranked   the keys have a `rank`
    mark     duplicates are noted and kept
    """
    group = f"{keys.label}-group"

    def one_unit(upstream: Upstream) -> list[Planned]:
        documents = digest(upstream.results(keys.stage)["docs"])
        content = (*keys_content(keys, upstream), documents, digest(upstream.results(group)["duplicates"]))
        return [Planned(Everything(), content)]

    return [
        *against_stages(keys),
        Stage(group, ExactGroups(keys, ranked), after(keys), partition_ranges(keys, 1)),
        Stage(f"{keys.label}-verdicts", ExactVerdicts(keys, reason, mark), after(keys, group), one_unit),
    ]


@dataclass(frozen=True)
class ExactGroups:
    keys: KeyStage
    ranked: bool

    def run(self, inputs: PartitionRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        columns = ("rank",) if self.ranked else ()
        pairs = [self.duplicates(part, files.own) for part in partitions(inputs, files, io, ("low",), columns)]
        kept, documents = (np.concatenate(side) for side in zip(*pairs))
        io.write_arrays("duplicates", len(documents), duplicate_of=kept, documents=documents)

    def duplicates(self, part: Partition, own: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of every duplicate the document that is kept instead, and the duplicate."""
        low = part.payload["low"].astype(np.uint64)
        bucket, _ = shared(part.keys ^ low * np.uint64(0x9E3779B97F4A7C15))
        rows = np.flatnonzero(bucket >= 0)
        documents, bucket = part.documents[rows], bucket[rows]
        rank = part.payload["rank"][rows] if self.ranked else np.zeros(len(rows))
        order = np.lexsort((places(documents, rank, own), bucket))
        heads = order[np.unique(bucket[order], return_index=True)[1]]
        head = heads[bucket] if len(heads) else heads
        same = (part.keys[rows] == part.keys[rows][head]) & (low[rows] == low[rows][head])
        dropped = same & (documents != documents[head]) & (documents >= own)
        return documents[head][dropped], documents[dropped]


@dataclass(frozen=True)
class ExactVerdicts:
    keys: KeyStage
    reason: str
    mark: bool

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        paths = io.results(f"{self.keys.label}-group")["duplicates"].paths.to_pylist()
        parts = [io.arrays(path) for path in paths]
        documents = np.concatenate([part["documents"] for part in parts])
        kept = np.concatenate([part["duplicate_of"] for part in parts])
        order = np.argsort(documents, kind="stable")
        alike = np.ones(len(documents))
        write_duplicates(io, files, documents[order], kept[order], alike, self.reason, self.mark)
