"""Who may be a near-duplicate of whom, however far: clusters of candidates, divided among the units that decide.

links    one unit: the cluster of each candidate. Documents are numbers, and are taken RANGE at a time: from the last
         range to the first, each is united by what the groups say of its documents, and what joins two documents
         before it is left to their range; from the first to the last, each document then gets the smallest number of
         its cluster. So every link is read once, and what is in memory is a few numbers for each document of one range.
         Whole clusters are given to units, neighbours by their first documents, until a unit has SHARE candidates and
         pairs
routes   a unit is some files of groups: their pairs and meetings, by the unit that decides on them
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

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

RANGE = 1 << 22  # documents that are united at a time
CHUNK = 1 << 20  # links that are read, or set aside, at a time
FIRSTS = 1 << 20  # numbers of first documents between which clusters are divided among units, at most
SHARE = 1 << 21  # candidates and pairs of a unit that decides; one cluster may have more
ROUTED = (1 << 25, 1 << 26)  # bytes of groups that a unit of routes reads, of few and of many: each has work of its own

Arrays = Callable[[], Mapping[str, NDArray[Any]]]


def links_stage(keys: KeyStage, group: str) -> Stage:
    def one_unit(upstream: Upstream) -> list[PlannedUnit]:
        starts = ",".join(map(str, key_files(keys, upstream).starts.tolist()))
        return [PlannedUnit(Everything(), (digest(upstream.results(group)["pairs"]), starts))]

    needs = Resources(grows=True)
    return Stage(
        f"{keys.label}-links", MinhashLinks(keys, group), after(keys, group), one_unit, needs, keys_alone(keys)
    )


@dataclass(frozen=True)
class MinhashLinks:
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
        ranges = ranges_of(np.diff(files.starts).tolist(), 0, RANGE)
        paths = io.results(self.group)["pairs"].paths.to_pylist()
        united = unite(io, ranges, [partial(io.arrays, path) for path in paths])
        labelled, weights = label(io, united, files.documents)
        write(io, files, labelled, cut(weights), -(-files.documents // FIRSTS) or 1)


def unite(io: UnitIO, ranges: Sequence[UnitRange], links: Sequence[Arrays]) -> list[Arrays]:
    """For each range the arrays `documents`, its candidates; `up`, one of their cluster before the range if there is
    any, else the smallest; `weight`.

    links   files with `documents`, rising, `roots` and `weights`: see MinhashGroups
    """
    waiting = list(links)
    united: list[Arrays] = []
    for number, part in reversed(list(enumerate(ranges))):
        io.heart.at(len(ranges) - number, 2 * len(ranges))
        size = part.end - part.start
        parent, outside, weight = np.full(size, -1, np.int32), np.full(size, -1, np.int64), np.zeros(size, np.int64)
        aside = LinkFiles(io, f"aside-{number}")
        for open_ in waiting:
            for arrays, here in chunks(open_, part.start, part.end):
                nodes, lower, more = (arrays[name][here] for name in ("documents", "roots", "weights"))
                aside.add(*absorb(nodes, lower, more, part.start, parent, outside, weight))
        candidates = np.flatnonzero(parent >= 0)
        root = roots(parent)[candidates]
        up = np.where(outside[root] >= 0, outside[root], root + part.start)
        found = {"documents": candidates + part.start, "up": up, "weight": weight[candidates]}
        united.append(io.scratch_arrays(f"united-{number}", **found))
        waiting += aside.close()
    return united[::-1]


def chunks(open_: Arrays, start: int, end: int) -> Iterator[tuple[Mapping[str, NDArray[Any]], slice]]:
    """Arrays and the places in them of documents [start, end), CHUNK at most at a time."""
    first, stop = np.searchsorted(open_()["documents"], [start, end]).tolist()
    for at in range(first, stop, CHUNK):
        yield open_(), slice(at, min(at + CHUNK, stop))


class LinkFiles:
    """Links between documents before a range, in files as MinhashGroups writes them."""

    def __init__(self, io: UnitIO, name: str) -> None:
        self._io, self._name = io, name
        self._waiting: list[NDArray[np.int64]] = []
        self._files: list[Arrays] = []

    def add(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> None:
        if len(one):
            self._waiting.append(np.stack([one, other], axis=1))
            if sum(map(len, self._waiting)) > CHUNK:
                self._write()

    def _write(self) -> None:
        links = distinct_rows(np.concatenate(self._waiting))
        self._waiting = []
        columns = {"documents": links[:, 0], "roots": links[:, 1], "weights": np.zeros(len(links), np.int32)}
        self._files.append(self._io.scratch_arrays(f"{self._name}-{len(self._files)}", **columns))

    def close(self) -> list[Arrays]:
        if self._waiting:
            self._write()
        return self._files


def label(io: UnitIO, united: Sequence[Arrays], documents: int) -> tuple[list[Arrays], NDArray[np.int64]]:
    """For each range the arrays `documents` and `labels`, the smallest document of the cluster of each; and how many
    candidates and pairs there are in the clusters that begin with each FIRSTS-th part of all documents."""
    each = -(-documents // FIRSTS) or 1
    weights = np.zeros(-(-documents // each), np.int64)
    done: list[Arrays] = []
    for number, open_ in enumerate(united):
        io.heart.at(len(united) + number, 2 * len(united))
        arrays = open_()
        mine, labels = arrays["documents"], np.array(arrays["up"])
        below = np.flatnonzero(labels < (mine[0] if len(mine) else 0))
        # Ranges before this one are complete. A document of this range that is before all its candidates is none.
        asked = sort_distinct(labels[below])
        found = np.empty(len(asked), np.int64)
        for before in done:
            known = before()
            if not len(known["documents"]):
                continue
            here = slice(*np.searchsorted(asked, known["documents"][[0, -1]] + [0, 1]))
            if here.start < here.stop:
                found[here] = known["labels"][np.searchsorted(known["documents"], asked[here])]
        labels[below] = found[np.searchsorted(asked, labels[below])]
        heavy = np.bincount(labels // each, arrays["weight"] + 1, len(weights))
        weights += heavy.astype(np.int64)
        done.append(io.scratch_arrays(f"labelled-{number}", documents=mine, labels=labels))
    return done, weights


def cut(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where neighbours are divided so that none has more than SHARE together, unless it is one alone: the first place
    of each part but the first, rising."""
    ends = np.cumsum(weights)
    cuts: list[int] = []
    at = 0
    while True:
        before = int(ends[at - 1]) if at else 0
        at = max(int(np.searchsorted(ends, before + SHARE, "right")), at + 1)
        if at >= len(ends) or ends[at - 1] == ends[-1]:
            return np.array(cuts, np.int64)
        cuts.append(at)


def write(io: UnitIO, files: KeyFiles, labelled: Sequence[Arrays], cuts: NDArray[np.int64], each: int) -> None:
    """Write the outputs of MinhashLinks; `each` as many numbers of first documents stand between two cuts at least."""

    def parts(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.uint32]:
        return np.searchsorted(cuts, arrays["labels"] // each, "right").astype(np.uint32)

    units = len(cuts) + 1
    digests = np.zeros((len(files.starts) - 1, 16), np.uint8)
    starts = np.zeros(len(files.starts), np.int64)
    count = 0
    offsets = []
    with io.writing_arrays("candidates", 0) as put:
        put("documents", np.empty(0, np.int64))
        for open_ in labelled:
            documents = open_()["documents"]
            put("documents", documents)
            edges = np.searchsorted(documents, files.starts)
            for number in np.flatnonzero(np.diff(edges)).tolist():
                here = documents[edges[number] : edges[number + 1]] - files.starts[number]
                digests[number] = np.frombuffer(xxhash.xxh3_128_digest(here.tobytes()), np.uint8)
            starts += edges
            count += len(documents)
        put("starts", starts)
        put("digests", digests)
    with io.writing_arrays("members", count) as put:
        for name in ("parts", "documents", "labels"):
            put(name, np.empty(0, np.uint32 if name == "parts" else np.int64))
            for open_ in labelled:
                arrays = open_()
                part = parts(arrays)
                put(name, part if name == "parts" else arrays[name][np.argsort(part, kind="stable")])
                if name == "parts":
                    offsets.append(np.append(0, np.cumsum(np.bincount(part, minlength=units))))
        begins = np.cumsum([0, *(each[-1] for each in offsets)])[:-1]
        put("offsets", np.array(offsets) + begins[:, None])
    io.notes["clusters"] = units


def members(io: UnitIO, links: str, unit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(candidates,) the documents that a unit decides on, rising, and the smallest document of the cluster of each."""
    arrays = io.arrays(io.results(links)["members"].path(0))
    slices = [slice(*row) for row in arrays["offsets"][:, unit : unit + 2].tolist()]
    return (
        np.concatenate([arrays["documents"][here] for here in slices]),
        np.concatenate([arrays["labels"][here] for here in slices]),
    )


# ------------------------------------------------------------- routes


@dataclass(frozen=True)
class FileRange:
    """Files [first, stop) of the groups."""

    first: int
    stop: int


def routes_stage(keys: KeyStage, group: str, links: str) -> Stage:
    def units(upstream: Upstream) -> Iterator[PlannedUnit]:
        groups = upstream.results(group)["pairs"]
        members = digest(upstream.results(links)["members"])
        least, most = ROUTED
        size = min(max(int(groups.bytes.sum()) >> 5, least), most)
        for part in ranges_of(groups.bytes.tolist(), 0, size):
            content = (groups.checksum(number) for number in range(part.first, part.stop))
            yield PlannedUnit(FileRange(part.first, part.stop), (members, *content))

    return Stage(f"{keys.label}-routes", MinhashRoutes(group, links), (group, links), units)


class Meeting(NamedTuple):
    """Rows of a file of groups: see MinhashGroups; `part`, the unit that decides on each document."""

    part: NDArray[np.uint32]
    document: NDArray[np.int64]
    bucket: NDArray[np.int64]
    mask: NDArray[np.uint16]


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
        known = sort_distinct(np.concatenate([io.arrays(path)["documents"].copy() for path in paths]))
        part = self.parts(known, io)

        def part_of(documents: NDArray[np.int64]) -> NDArray[np.uint32]:
            return part[np.searchsorted(known, documents)]

        units = int(io.results(self.links).numbers("clusters")[0])
        parts: dict[str, list[NDArray[Any]]] = defaultdict(list)
        base = 0
        for path in paths:
            arrays = io.arrays(path)
            for name in ("one", "other", "document", "mask", "leaders"):
                parts[name].append(arrays[name].copy())
            parts["bucket"].append(arrays["bucket"] + base)
            parts["to"].append(part_of(parts["one"][-1]))
            parts["part"].append(part_of(parts["document"][-1]))
            base += len(parts["leaders"][-1])
            del arrays  # what is mapped stays in memory
            io.has_read(path)

        def column(name: str) -> NDArray[Any]:
            return np.concatenate(parts.pop(name))  # a column at a time, so that no two are held twice

        to = column("to")
        with io.writing_arrays("routes", len(to)) as put:
            order = np.argsort(to, kind="stable")
            for name in ("one", "other"):
                put(name, column(name)[order])
            put("pair_offsets", offsets_of(to, units))
            met = Meeting(column("part"), column("document"), column("bucket"), column("mask"))
            for name, array in self.meetings(met, column("leaders"), part_of, units).items():
                put(name, array)

    def parts(self, known: NDArray[np.int64], io: UnitIO) -> NDArray[np.uint32]:
        """(documents,) the unit that decides on each of some sorted candidates. A part of all candidates is mapped at a
        time."""
        results = io.results(self.links)
        candidates, members = results["candidates"].path(0), results["members"].path(0)
        found = np.zeros(len(known), np.uint32)
        for at in range(0, len(io.arrays(candidates)["documents"]), CHUNK):
            documents = io.arrays(candidates)["documents"][at : at + CHUNK]
            here = slice(*np.searchsorted(known, [documents[0], documents[-1] + 1]))
            parts = io.arrays(members)["parts"][at : at + CHUNK]
            found[here] = parts[np.searchsorted(documents, known[here])]
        return found

    def meetings(
        self,
        met: Meeting,
        table: NDArray[np.int64],
        part_of: Callable[[NDArray[np.int64]], NDArray[np.uint32]],
        units: int,
    ) -> dict[str, NDArray[Any]]:
        # A row of leaders for each bucket and unit.
        both = met.part.astype(np.int64) * max(len(table), 1) + met.bucket
        rows, bucket = np.unique(both, return_inverse=True)
        to, old = np.divmod(rows, max(len(table), 1))
        leaders = table[old]
        there = leaders >= 0
        there[there] = part_of(leaders[there]) == np.repeat(to, there.sum(axis=1))
        leader_offsets = offsets_of(to, units)
        order = np.argsort(met.part, kind="stable")
        return {
            "document": met.document[order],
            "bucket": (bucket - leader_offsets[met.part])[order].astype(np.int32),
            "mask": met.mask[order],
            "meeting_offsets": offsets_of(met.part, units),
            "leaders": np.where(there, leaders, -1),
            "leader_offsets": leader_offsets,
        }


def offsets_of(part: NDArray[Any], units: int) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(np.bincount(part, minlength=units)))
