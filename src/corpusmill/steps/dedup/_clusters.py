"""Clusters: documents that candidate pairs connect, directly or through others, divided among the units that decide.

Documents are numbers, and are taken RANGE_DOCUMENTS at a time: from the last range to the first, each is united by what
the groups say of its documents, and what joins two documents before it is left to their range; from the first to the
last, each document then gets the smallest number of its cluster. So every link is read once, and what is in memory is a
few numbers for each document of one range. Whole clusters are given to units, neighbours by their first documents,
until a unit has UNIT_WEIGHT candidates and pairs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from corpusmill.steps.corpus import Everything, KeyFiles, after, digest, key_files, keys_alone
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import distinct_rows, sort_distinct
from corpusmill.steps.verdict_tables import UnitRange, ranges_of
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Resources
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.components import absorb, roots

RANGE_DOCUMENTS = 1 << 22  # that are united at a time
CHUNK_LINKS = 1 << 20  # that are read, or set aside, at a time
MAX_BINS = 1 << 20  # of clusters by their first documents: units are divided between bins
UNIT_WEIGHT = 1 << 21  # candidates and pairs of a unit that decides; one cluster may have more

OpenArrays = Callable[[], Mapping[str, NDArray[Any]]]


def links_stage(keys: KeyStage, group: str) -> Stage:
    def one_unit(upstream: Upstream) -> list[PlannedUnit]:
        starts = ",".join(map(str, key_files(keys, upstream).starts.tolist()))
        return [PlannedUnit(Everything(), (digest(upstream.results(group)["pairs"]), starts))]

    needs = Resources(grows=True)
    return Stage(
        f"{keys.label}-links", MinhashClusters(keys, group), after(keys, group), one_unit, needs, keys_alone(keys)
    )


@dataclass(frozen=True)
class MinhashClusters:
    """The output `candidates` has

    documents   (candidates,) rising
    starts      (files + 1,) where those of each file of documents begin
    digests     (files, 16) of the candidates in each file, as bytes of XXH3-128

    and the output `members`

    parts       (candidates,) the unit that decides on each, in the order of `candidates`
    documents, labels
                (candidates,) those of a range of documents by the unit that decides on them, and the smallest document
                of the cluster of each
    offsets     (ranges, units + 1) where those of each unit begin

    The note `clusters` is the number of units that decide.
    """

    keys: KeyStage
    group: str

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        ranges = ranges_of(np.diff(files.starts).tolist(), 0, RANGE_DOCUMENTS)
        paths = io.results(self.group)["pairs"].paths.to_pylist()
        united = unite(io, ranges, [partial(io.arrays, path) for path in paths])
        bin_size = -(-files.documents // MAX_BINS) or 1
        labelled, weights = label(io, united, files.documents, bin_size)
        write_clusters(io, files, labelled, cut(weights), bin_size)


def unite(io: UnitIO, ranges: Sequence[UnitRange], links: Sequence[OpenArrays]) -> list[OpenArrays]:
    """For each range the arrays `documents`, its candidates; `up`, one of their cluster before the range if there is
    any, else the smallest; `weight`.

    links   files with `documents`, rising, `roots` and `weights`: see MinhashGroups
    """
    waiting = list(links)
    united: list[OpenArrays] = []
    for number, part in reversed(list(enumerate(ranges))):
        io.heart.at(len(ranges) - number, 2 * len(ranges))
        size = part.end - part.start
        parent, outside, weight = np.full(size, -1, np.int32), np.full(size, -1, np.int64), np.zeros(size, np.int64)
        earlier = LinkFiles(io, f"aside-{number}")
        for open_ in waiting:
            for arrays, rows in chunks(open_, part.start, part.end):
                nodes, lower, weights = (arrays[name][rows] for name in ("documents", "roots", "weights"))
                earlier.add(*absorb(nodes, lower, weights, part.start, parent, outside, weight))
        candidates = np.flatnonzero(parent >= 0)
        root = roots(parent)[candidates]
        up = np.where(outside[root] >= 0, outside[root], root + part.start)
        columns = {"documents": candidates + part.start, "up": up, "weight": weight[candidates]}
        united.append(io.scratch_arrays(f"united-{number}", **columns))
        waiting += earlier.close()
    return united[::-1]


def chunks(open_: OpenArrays, start: int, end: int) -> Iterator[tuple[Mapping[str, NDArray[Any]], slice]]:
    """Arrays and the rows in them of documents [start, end), CHUNK_LINKS at most at a time."""
    first, stop = np.searchsorted(open_()["documents"], [start, end]).tolist()
    for row in range(first, stop, CHUNK_LINKS):
        yield open_(), slice(row, min(row + CHUNK_LINKS, stop))


class LinkFiles:
    """Links between documents before a range, in files as MinhashGroups writes them."""

    def __init__(self, io: UnitIO, name: str) -> None:
        self._io, self._name = io, name
        self._waiting: list[NDArray[np.int64]] = []
        self._files: list[OpenArrays] = []

    def add(self, documents: NDArray[np.int64], roots: NDArray[np.int64]) -> None:
        if len(documents):
            self._waiting.append(np.stack([documents, roots], axis=1))
            if sum(map(len, self._waiting)) > CHUNK_LINKS:
                self._write()

    def _write(self) -> None:
        links = distinct_rows(np.concatenate(self._waiting))
        self._waiting = []
        columns = {"documents": links[:, 0], "roots": links[:, 1], "weights": np.zeros(len(links), np.int32)}
        self._files.append(self._io.scratch_arrays(f"{self._name}-{len(self._files)}", **columns))

    def close(self) -> list[OpenArrays]:
        if self._waiting:
            self._write()
        return self._files


def label(
    io: UnitIO, united: Sequence[OpenArrays], documents: int, bin_size: int
) -> tuple[list[OpenArrays], NDArray[np.int64]]:
    """For each range the arrays `documents` and `labels`, the smallest document of the cluster of each; and how many
    candidates and pairs there are in the clusters that begin in each bin of so many documents."""
    weights = np.zeros(-(-documents // bin_size), np.int64)
    labelled: list[OpenArrays] = []
    for number, open_ in enumerate(united):
        io.heart.at(len(united) + number, 2 * len(united))
        arrays = open_()
        numbers, labels = arrays["documents"], np.array(arrays["up"])
        below = np.flatnonzero(labels < (numbers[0] if len(numbers) else 0))
        # Ranges before this one are complete. A document of this range that is before all its candidates is none.
        lower = sort_distinct(labels[below])
        lower_labels = np.empty(len(lower), np.int64)
        for before in labelled:
            earlier = before()
            if not len(earlier["documents"]):
                continue
            rows = slice(*np.searchsorted(lower, earlier["documents"][[0, -1]] + [0, 1]))
            if rows.start < rows.stop:
                lower_labels[rows] = earlier["labels"][np.searchsorted(earlier["documents"], lower[rows])]
        labels[below] = lower_labels[np.searchsorted(lower, labels[below])]
        weights += np.bincount(labels // bin_size, arrays["weight"] + 1, len(weights)).astype(np.int64)
        labelled.append(io.scratch_arrays(f"labelled-{number}", documents=numbers, labels=labels))
    return labelled, weights


def cut(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where neighbouring bins are divided so that no part weighs more than UNIT_WEIGHT, unless it is one bin alone: the
    first bin of each part but the first, rising."""
    ends = np.cumsum(weights)
    cuts: list[int] = []
    start = 0
    while True:
        before = int(ends[start - 1]) if start else 0
        start = max(int(np.searchsorted(ends, before + UNIT_WEIGHT, "right")), start + 1)
        if start >= len(ends) or ends[start - 1] == ends[-1]:
            return np.array(cuts, np.int64)
        cuts.append(start)


def write_clusters(
    io: UnitIO, files: KeyFiles, labelled: Sequence[OpenArrays], cuts: NDArray[np.int64], bin_size: int
) -> None:
    """Write the outputs of MinhashClusters; `cuts` are bins of so many documents."""

    def parts(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.uint32]:
        return np.searchsorted(cuts, arrays["labels"] // bin_size, "right").astype(np.uint32)

    units = len(cuts) + 1
    digests = np.zeros((len(files.starts) - 1, 16), np.uint8)
    starts = np.zeros(len(files.starts), np.int64)
    count = 0
    with io.writing_arrays("candidates", 0) as write:
        write("documents", np.empty(0, np.int64))
        for open_ in labelled:
            documents = open_()["documents"]
            write("documents", documents)
            edges = np.searchsorted(documents, files.starts)
            for number in np.flatnonzero(np.diff(edges)).tolist():
                rows = documents[edges[number] : edges[number + 1]] - files.starts[number]
                digests[number] = np.frombuffer(xxhash.xxh3_128_digest(rows.tobytes()), np.uint8)
            starts += edges
            count += len(documents)
        write("starts", starts)
        write("digests", digests)
    offsets = []
    with io.writing_arrays("members", count) as write:
        write("parts", np.empty(0, np.uint32))
        for open_ in labelled:
            part = parts(open_())
            write("parts", part)
            offsets.append(offsets_of(part, units))
        for name in ("documents", "labels"):
            write(name, np.empty(0, np.int64))
            for open_ in labelled:
                arrays = open_()
                write(name, arrays[name][np.argsort(parts(arrays), kind="stable")])
        begins = np.cumsum([0, *(ends[-1] for ends in offsets)])[:-1]
        write("offsets", np.array(offsets) + begins[:, None])
    io.notes["clusters"] = units


def offsets_of(part: NDArray[Any], units: int) -> NDArray[np.int64]:
    """(units + 1,) where the rows of each unit begin, once they are sorted by it."""
    return np.append(0, np.cumsum(np.bincount(part, minlength=units)))


def members(io: UnitIO, links: str, unit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(candidates,) the documents that a unit decides on, rising, and the smallest document of the cluster of each."""
    arrays = io.arrays(io.results(links)["members"].path(0))
    ranges = [slice(*row) for row in arrays["offsets"][:, unit : unit + 2].tolist()]
    documents, labels = (np.concatenate([arrays[name][rows] for rows in ranges]) for name in ("documents", "labels"))
    return documents, labels
