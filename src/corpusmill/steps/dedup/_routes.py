"""The candidate pairs by the unit that decides on them: written by the stage `routes`, read by units that decide.

A unit of `routes` is some files of groups.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, repeat, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps.corpus import digest
from corpusmill.steps.dedup._clusters import CHUNK_LINKS, offsets_of
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import sort_distinct
from corpusmill.steps.verdict_tables import ranges_of
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.buckets import LEADERS, pairs_of

MIN_ROUTED_BYTES, MAX_ROUTED_BYTES = 1 << 25, 1 << 26  # of groups to a unit, of few and of many: each has its own work
MAX_UNMERGED_PAIRS = 1 << 20  # that are read before repeats among them are removed
BLOCK_DOCUMENTS = 1 << 16  # that are decided at a time


@dataclass(frozen=True)
class FileRange:
    """Files [first, stop) of the groups."""

    first: int
    stop: int


def routes_stage(keys: KeyStage, group: str, links: str) -> Stage:
    def units(upstream: Upstream) -> Iterator[PlannedUnit]:
        groups = upstream.results(group)["pairs"]
        members = digest(upstream.results(links)["members"])
        size = min(max(int(groups.bytes.sum()) >> 5, MIN_ROUTED_BYTES), MAX_ROUTED_BYTES)
        for part in ranges_of(groups.bytes.tolist(), 0, size):
            content = (groups.checksum(number) for number in range(part.first, part.stop))
            yield PlannedUnit(FileRange(part.first, part.stop), (members, *content))

    return Stage(f"{keys.label}-routes", MinhashRoutes(group, links), (group, links), units)


@dataclass(frozen=True)
class MinhashRoutes:
    """The output `routes` has `one` and `other`; `document`, `bucket` and `mask`; and `leaders`, as those of
    MinhashGroups, by the unit that decides on them: those of a unit begin at `pair_offsets`, `meeting_offsets` and
    `leader_offsets`, (units + 1,) each. A bucket is numbered within its unit, and has the leaders that the unit decides
    on."""

    group: str
    links: str

    def run(self, inputs: FileRange, io: UnitIO) -> None:
        paths = io.results(self.group)["pairs"].paths.to_pylist()[inputs.first : inputs.stop]
        # Rows are copied, so that one file is open at a time.
        candidates = sort_distinct(np.concatenate([io.arrays(path)["documents"].copy() for path in paths]))
        units = self.deciding_units(candidates, io)

        def unit_of(documents: NDArray[np.int64]) -> NDArray[np.uint32]:
            return units[np.searchsorted(candidates, documents)]

        count = int(io.results(self.links).numbers("clusters")[0])
        parts: dict[str, list[NDArray[Any]]] = defaultdict(list)
        base = 0
        for path in paths:
            arrays = io.arrays(path)
            for name in ("one", "other", "document", "mask", "leaders"):
                parts[name].append(arrays[name].copy())
            parts["bucket"].append(arrays["bucket"] + base)
            parts["pair_unit"].append(unit_of(parts["one"][-1]))
            parts["match_unit"].append(unit_of(parts["document"][-1]))
            base += len(parts["leaders"][-1])
            del arrays  # what is mapped stays in memory
            io.has_read(path)

        def column(name: str) -> NDArray[Any]:
            return np.concatenate(parts.pop(name))  # a column at a time, so that no two are held twice

        pair_unit = column("pair_unit")
        with io.writing_arrays("routes", len(pair_unit)) as write:
            order = np.argsort(pair_unit, kind="stable")
            for name in ("one", "other"):
                write(name, column(name)[order])
            write("pair_offsets", offsets_of(pair_unit, count))
            unit, bucket, leaders = column("match_unit"), column("bucket"), column("leaders")
            # A row of leaders for each bucket and unit.
            rows, row = np.unique(unit.astype(np.int64) * max(len(leaders), 1) + bucket, return_inverse=True)
            leader_unit, old_row = np.divmod(rows, max(len(leaders), 1))
            leaders = leaders[old_row]
            is_leader = leaders >= 0
            is_leader[is_leader] = unit_of(leaders[is_leader]) == np.repeat(leader_unit, is_leader.sum(axis=1))
            leader_offsets = offsets_of(leader_unit, count)
            order = np.argsort(unit, kind="stable")
            write("document", column("document")[order])
            write("bucket", (row - leader_offsets[unit])[order].astype(np.int32))
            write("mask", column("mask")[order])
            write("meeting_offsets", offsets_of(unit, count))
            write("leaders", np.where(is_leader, leaders, -1))
            write("leader_offsets", leader_offsets)

    def deciding_units(self, documents: NDArray[np.int64], io: UnitIO) -> NDArray[np.uint32]:
        """(documents,) the unit that decides on each of some sorted candidates. A part of all candidates is mapped at a
        time."""
        results = io.results(self.links)
        paths = results["candidates"].path(0), results["members"].path(0)
        units = np.zeros(len(documents), np.uint32)
        for start in range(0, len(io.arrays(paths[0])["documents"]), CHUNK_LINKS):
            chunk = io.arrays(paths[0])["documents"][start : start + CHUNK_LINKS]
            rows = slice(*np.searchsorted(documents, [chunk[0], chunk[-1] + 1]))
            parts = io.arrays(paths[1])["parts"][start : start + CHUNK_LINKS]
            units[rows] = parts[np.searchsorted(chunk, documents[rows])]
        return units


class CandidateOrder(NamedTuple):
    """How the candidates of a unit are numbered: by blocks, and in a block in the order of preference.

    The rank of a document in its cluster says in which block it is. So what is decided on a cluster does not depend on
    what else the unit decides on.

    candidates   (documents,) the candidate, in the order of documents, that each number is
    number       (documents,) the number of each candidate
    edges        (blocks + 1,) the number with which each block begins
    cluster      (documents,) by number: clusters, numbered
    settled      (documents,) by number: of earlier runs, so never dropped
    """

    candidates: NDArray[np.int32]
    number: NDArray[np.int32]
    edges: list[int]
    cluster: NDArray[np.int32]
    settled: NDArray[np.bool_]

    @staticmethod
    def from_ranks(ranks: NDArray[np.int64], labels: NDArray[np.int64], settled: NDArray[np.bool_]) -> "CandidateOrder":
        """
        ranks     (documents,) of each candidate in the order of preference
        labels    (documents,) clusters have different ones
        settled   (documents,) by candidate
        """
        count = len(ranks)
        by_cluster = np.lexsort((ranks, labels))
        new = np.ones(count, bool)
        new[1:] = labels[by_cluster][1:] != labels[by_cluster][:-1]
        cluster = np.cumsum(new) - 1
        rank_in_cluster = np.arange(count) - np.flatnonzero(new)[cluster]
        # Small blocks first: most leaders are decided before most of those that match them.
        sizes = chain((BLOCK_DOCUMENTS >> k for k in range(6, 0, -1)), repeat(BLOCK_DOCUMENTS))
        starts = list(takewhile(lambda start: start < max(count, 1), accumulate(sizes, initial=0)))
        block = np.searchsorted(starts, rank_in_cluster, "right")
        by_block = np.lexsort((ranks[by_cluster], block))
        ends = np.searchsorted(block[by_block], np.arange(1, len(starts) + 2)).tolist()
        candidates = by_cluster[by_block].astype(np.int32)
        number = np.empty(count, np.int32)
        number[candidates] = np.arange(count, dtype=np.int32)
        edges = [0, *(end for before, end in pairwise(ends) if end > before)]
        return CandidateOrder(candidates, number, edges, cluster[by_block].astype(np.int32), settled[candidates])


@dataclass(frozen=True)
class RoutedPairs:
    """The candidate pairs of a unit that decides, by number, see CandidateOrder.

    matches   files of leader matches in the order of numbers: `number`, `bucket`, `mask` (matches,), `leaders`
              (buckets, …)
    """

    io: UnitIO
    files: Sequence[str]
    unit: int
    documents: NDArray[np.int64]
    order: CandidateOrder
    matches: Sequence[Callable[[], Mapping[str, NDArray[Any]]]]

    @staticmethod
    def open(
        io: UnitIO, files: Sequence[str], unit: int, documents: NDArray[np.int64], order: CandidateOrder
    ) -> "RoutedPairs":
        """
        files       as MinhashRoutes writes them
        unit        the one that decides
        documents   (documents,) rising: its candidates
        """
        matches = []

        def numbers(candidates: NDArray[np.int64]) -> NDArray[np.int32]:
            return order.number[np.searchsorted(documents, candidates)]

        for i, path in enumerate(files):
            arrays = io.arrays(path)
            rows = slice(*arrays["meeting_offsets"][unit : unit + 2].tolist())
            if rows.start < rows.stop:
                number = numbers(arrays["document"][rows])
                by_number = np.argsort(number, kind="stable")
                leaders = arrays["leaders"][slice(*arrays["leader_offsets"][unit : unit + 2].tolist())]
                table = np.full(leaders.shape, -1, np.int32)
                table[leaders >= 0] = numbers(leaders[leaders >= 0])
                columns = {name: arrays[name][rows][by_number] for name in ("bucket", "mask")}
                matches.append(io.scratch_arrays(f"meetings-{i}", number=number[by_number], **columns, leaders=table))
        return RoutedPairs(io, files, unit, documents, order, matches)

    def pairs(self) -> NDArray[np.uint64]:
        """(pairs,) all pairs but those of leader matches, see `CandidateBlock.pairs`.

        A pair may share the keys of several bands, so repeats are removed before all files are read.
        """
        packed = np.empty(0, np.uint64)
        waiting: list[NDArray[np.uint64]] = []
        for path in self.files:
            arrays = self.io.arrays(path)
            rows = slice(*arrays["pair_offsets"][self.unit : self.unit + 2].tolist())
            first, second = (
                self.order.number[np.searchsorted(self.documents, arrays[name][rows])] for name in ("one", "other")
            )
            waiting.append(pack(np.maximum(first, second), np.minimum(first, second)))
            if sum(map(len, waiting)) > max(MAX_UNMERGED_PAIRS, len(packed) // 2):
                packed = sort_distinct(np.concatenate([packed, *waiting]))
                waiting = []
        return sort_distinct(np.concatenate([packed, *waiting]))

    def matching(
        self, start: int, stop: int, leaders: NDArray[np.bool_], later: NDArray[np.bool_]
    ) -> NDArray[np.uint64]:
        """The pairs of some documents among [start, stop) with some leaders, as often as they match; sorted.

        leaders, later   (documents,) which leaders, and which documents
        """
        pairs = [np.empty(0, np.uint64)]
        for open_ in self.matches:
            arrays = open_()
            number = arrays["number"]
            first, end = np.searchsorted(number, [start, stop])
            if first < end:
                table = arrays["leaders"]
                leader_mask = ((leaders[table] & (table >= 0)) @ (1 << np.arange(LEADERS))).astype(np.uint16)
                rows = first + np.flatnonzero(later[number[first:end]])
                number, bucket = number[rows], arrays["bucket"][rows]
                row, leader = pairs_of(arrays["mask"][rows] & leader_mask[bucket])
                pairs.append(pack(number[row], table[bucket[row], leader]))
        return np.sort(np.concatenate(pairs))

    def leaders(self) -> NDArray[np.bool_]:
        """(documents,) whether each is a leader in a match."""
        leads = np.zeros(len(self.documents), bool)
        for open_ in self.matches:
            leaders = open_()["leaders"]
            leads[leaders[leaders >= 0]] = True
        return leads


def pack(later: NDArray[np.int32], earlier: NDArray[np.int32]) -> NDArray[np.uint64]:
    """(pairs,) the later number << 32 | the earlier one."""
    return later.astype(np.uint64) << np.uint64(32) | earlier.astype(np.uint64)
