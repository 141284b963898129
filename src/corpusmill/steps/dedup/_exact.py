"""The stages of exact deduplication.

group     a unit is a few partitions: the documents that share each key, and the one of them that is kept
names     a unit is some neighbouring files of documents: the ids of those that are kept instead of others
verdicts  a unit is some neighbouring units of the pass
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.corpus import (
    Partition,
    PartitionRange,
    after,
    against_stages,
    digest,
    ids_of,
    key_files,
    keys_alone,
    keys_content,
    partition_ranges,
    partitions,
    places,
)
from corpusmill.steps.dedup._verdicts import DuplicateVerdicts, verdict_stage, write_decided
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.verdict_tables import UnitRange, ranges_of
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.buckets import shared


def exact_stages(keys: KeyStage, reason: str, ranked: bool, mark: bool) -> list[Stage]:
    """Stages for keys of one band, with the payload `low`: the other half of a 128-bit hash.

    reason   why duplicates are dropped
    ranked   the keys have a `rank`
    mark     duplicates are noted and kept
    """
    group, names = f"{keys.label}-group", f"{keys.label}-names"

    def by_documents(upstream: Upstream) -> list[PlannedUnit]:
        content = (*keys_content(keys, upstream), digest(upstream.results(group)["duplicates"]))
        docs = digest(upstream.results(keys.stage)["docs"])
        rows = np.diff(key_files(keys, upstream).starts).tolist()
        return [PlannedUnit(part, (*content, docs, f"{part.start}:{part.end}")) for part in ranges_of(rows, 0)]

    return [
        *against_stages(keys),
        Stage(group, ExactGroups(keys, ranked), after(keys), partition_ranges(keys, 1), reads=keys_alone(keys)),
        Stage(names, ExactNames(keys), after(keys, group), by_documents),
        verdict_stage(DuplicateVerdicts(keys, names, reason, mark)),
    ]


@dataclass(frozen=True)
class ExactGroups:
    """Output `duplicates`: of every duplicate the document that is kept instead, in the order of these."""

    keys: KeyStage
    ranked: bool

    def run(self, inputs: PartitionRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        columns = ("rank",) if self.ranked else ()
        pairs = [self.duplicates(part, files.own) for part in partitions(inputs, files, io, ("low",), columns)]
        heads, documents = (np.concatenate(side) for side in zip(*pairs))
        order = np.lexsort((documents, heads))
        io.write_arrays("duplicates", len(documents), duplicate_of=heads[order], documents=documents[order])

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
class ExactNames:
    """The duplicates of some neighbouring documents, with their names: see _verdicts.py."""

    keys: KeyStage

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        documents, heads = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for path in io.results(f"{self.keys.label}-group")["duplicates"].paths.to_pylist():
            arrays = io.arrays(path)
            rows = slice(*np.searchsorted(arrays["duplicate_of"], [inputs.start, inputs.end]))
            documents.append(arrays["documents"][rows].copy())
            heads.append(arrays["duplicate_of"][rows].copy())
        dropped = np.concatenate(documents)
        order = np.argsort(dropped, kind="stable")
        write_decided(io, files.own, dropped[order], np.concatenate(heads)[order], partial(ids_of, io, files))
