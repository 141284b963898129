"""Who shares a key, and the sketches that are compared then.

A pair of near-duplicates shares the keys of many bands, and its sketches are compared in each of them: where all
sketches together are more than memory, a unit that reads them one by one reads from all over a disk, or makes a request
of an object store for each. So of many documents (`are_many`) two stages come before the groups:

    shared     a unit is a few partitions: who shares a key, and which sketches its comparisons ask for
    sketches   a unit is some files of keys: of their sketches, read once and in order, those that are asked for, one
               unit of `shared` after the other

and a unit of groups reads one slice of each output of `sketches`.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.steps import corpus
from corpusmill.steps.corpus import (
    KeyFiles,
    Partition,
    PartitionRange,
    after,
    ahead,
    by_document,
    digest,
    is_ranked,
    key_files,
    keys_alone,
    keys_content,
    partition_ranges,
    partitions,
    preference,
)
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import sort_distinct
from corpusmill.steps.verdict_tables import UnitRange, ranges_of
from corpusmill.store.arrays import Arrays
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Planner, Stage
from corpusmill.text.buckets import shared

SKETCH_HASH = "sketch_hash"  # an array by document, beside `sketch`
SKETCHES = 1 << 17  # records whose sketches are in memory at a time
READERS = 4  # files of sketches that are read at a time: one alone does not keep a disk busy
SMALL = 1 << 32  # documents whose numbers are written with 32 bits
FIRST, ASKS = 1, 2  # flags of a record: of its bucket, for a sketch
MANY = 32  # partitions of a band, of a million records each, about


def are_many(keys: KeyStage) -> bool:
    """Whether sketches are read once, for all units: what follows is the same either way."""
    return keys.partitions_per_band >= MANY or keys.earlier.rows >= MANY << 20


class Sharing(NamedTuple):
    """The records of some partitions that share a key, bucket by bucket, and in each in the order of preference.

    documents, bucket
               (records,)
    sketch     (records,) int32: the row of the sketch among those that its part asks for; -1 where it asks for none
    starts     (parts + 1,) where the records of each part begin
    buckets    how many
    """

    documents: NDArray[np.int64]
    bucket: NDArray[np.int32]
    sketch: NDArray[np.int32]
    starts: NDArray[np.int64]
    buckets: int


class RequestedSketches(NamedTuple):
    """The documents whose sketches the parts ask for, rising within each; those of each part begin at `offsets`,
    (parts + 1,)."""

    documents: NDArray[np.int64]
    offsets: NDArray[np.int64]


def sharing_keys(inputs: PartitionRange, files: KeyFiles, io: UnitIO) -> tuple[Sharing, RequestedSketches]:
    met = [_met(part) for part in partitions(inputs, files, io)]
    first = np.cumsum([0, *(buckets for *_, buckets in met)])
    bucket = np.concatenate([bucket + base for (_, bucket, _), base in zip(met, first.astype(np.int32))])
    documents = np.concatenate([some for some, *_ in met])
    del met
    known = sort_distinct(documents.copy())
    place = np.searchsorted(known, documents).astype(np.int32)
    hashes = by_document(io, files, known, SKETCH_HASH)
    if is_ranked(io, files):
        order = np.lexsort((preference(io, files, known)[place], bucket))
    else:
        order = np.argsort(bucket, kind="stable")
    documents, bucket, hashes = documents[order], bucket[order], hashes[place[order]]
    del known, place, order
    return _asked(documents, bucket, hashes, int(first[-1]))


def _met(part: Partition) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
    """Documents that share a key, the bucket of each; and how many buckets there are."""
    bucket, buckets = shared(part.keys)
    met = np.flatnonzero(bucket >= 0)
    return part.documents[met], bucket[met], buckets


def _asked(
    documents: NDArray[np.int64], bucket: NDArray[np.int32], hashes: NDArray[Any], buckets: int
) -> tuple[Sharing, RequestedSketches]:
    """Of equal sketches one is asked for, and none for a bucket in which all are equal: any other says the same."""
    mixed = np.zeros(buckets, bool)
    mixed[bucket[1:][(bucket[1:] == bucket[:-1]) & (hashes[1:] != hashes[:-1])]] = True
    asks = np.flatnonzero(mixed[bucket])
    starts = np.array([0, *asks[SKETCHES::SKETCHES].tolist(), len(bucket)])
    rows = np.full(len(bucket), -1, np.int32)
    asked: list[NDArray[np.int64]] = []
    for part in np.split(asks, np.arange(SKETCHES, len(asks), SKETCHES)):
        _, first, which = np.unique(hashes[part], return_index=True, return_inverse=True)
        named = documents[part[first]]
        order = np.argsort(named)
        rows[part] = np.argsort(order)[which]
        asked.append(named[order])
    offsets = np.cumsum([0, *map(len, asked)])
    return Sharing(documents, bucket, rows, starts, buckets), RequestedSketches(np.concatenate(asked), offsets)


def sketches_of(asked: RequestedSketches, files: KeyFiles, io: UnitIO) -> Iterator[NDArray[np.uint64]]:
    """(asked, words) of each part, read one by one from the files of keys."""
    for start, stop in pairwise(asked.offsets.tolist()):
        yield by_document(io, files, asked.documents[start:stop], "sketch")


# ------------------------------------------------------------- of many documents


@dataclass(frozen=True)
class Sharers:
    """What one unit of `shared` found, by the number of the unit."""

    number: int


def sketch_stages(keys: KeyStage, bands: int) -> list[Stage]:
    def by_files(upstream: Upstream) -> list[PlannedUnit]:
        content = (*keys_content(keys, upstream), digest(upstream.results(_shared(keys))["asked"]))
        rows = np.diff(key_files(keys, upstream).starts).tolist()
        files = ranges_of(rows, 0, corpus.SKETCHED)
        return [PlannedUnit(part, (*content, f"{part.first}:{part.stop}")) for part in files]

    return [
        Stage(
            _shared(keys),
            MinhashShared(keys),
            after(keys),
            partition_ranges(keys, bands),
            reads=keys_alone(keys, "offsets", "records", "keys", "row", "rank", SKETCH_HASH),
        ),
        Stage(_sketches(keys), MinhashSketches(keys), after(keys, _shared(keys)), by_files, reads=keys_alone(keys)),
    ]


def sharers(keys: KeyStage) -> tuple[tuple[str, ...], Planner]:
    """What the stage of groups comes after, and its units: one for each of `shared`."""

    def units(upstream: Upstream) -> list[PlannedUnit]:
        content = (*keys_content(keys, upstream), digest(upstream.results(_sketches(keys))["sketches"]))
        found = upstream.results(_shared(keys))["sharing"]
        return [PlannedUnit(Sharers(i), (*content, found.checksum(i), str(i))) for i in range(len(found))]

    return after(keys, _shared(keys), _sketches(keys)), units


def _shared(keys: KeyStage) -> str:
    return f"{keys.label}-shared"


def _sketches(keys: KeyStage) -> str:
    return f"{keys.label}-sketches"


@dataclass(frozen=True)
class MinhashShared:
    """The output `sharing` has what Sharing has, in a third of its bytes:

    documents   (records,) uint32 where that suffices for all
    flags       (records,) uint8: FIRST of its bucket, ASKS for a sketch
    sketch      the rows of those that ask
    starts      (parts + 1,)

    The output `asked` has the arrays of Asked. The note `parts` says how many parts.
    """

    keys: KeyStage

    def run(self, inputs: PartitionRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        sharing, asked = sharing_keys(inputs, files, io)
        asks = sharing.sketch >= 0
        flags = asks * np.uint8(ASKS)
        flags[np.flatnonzero(np.diff(sharing.bucket, prepend=np.int32(-1)))] |= np.uint8(FIRST)
        documents = sharing.documents.astype(np.uint32) if files.documents <= SMALL else sharing.documents
        columns = {"documents": documents, "flags": flags, "sketch": sharing.sketch[asks], "starts": sharing.starts}
        io.write_arrays("sharing", len(documents), **columns)
        io.write_arrays("asked", len(asked.documents), **asked._asdict())
        io.notes["parts"] = len(asked.offsets) - 1


@dataclass(frozen=True)
class MinhashSketches:
    """The output `sketches` has

    sketches   (asked, words) uint64: of all parts that units of `shared` have, one after the other, those of the
               documents in some files of keys, which rise within a part
    offsets    (parts + 1,) where those of each part begin
    """

    keys: KeyStage

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        """The range is of files of keys, in place of units of the pass."""
        held = self._held(inputs, key_files(self.keys, io), io)
        counts = [0]
        with io.writing_arrays("sketches", 0) as put:
            put("sketches", held[:0])
            paths = io.results(_shared(self.keys))["asked"].paths.to_pylist()
            for number, path in enumerate(paths):
                io.heart.at(number, len(paths))
                arrays = io.arrays(path)
                for start, stop in pairwise(arrays["offsets"].tolist()):
                    asked = arrays["documents"][start:stop]
                    here = asked[slice(*np.searchsorted(asked, [inputs.start, inputs.end]))]
                    put("sketches", held[here - inputs.start])
                    counts.append(len(here))
            put("offsets", np.cumsum(counts))

    def _held(self, inputs: UnitRange, files: KeyFiles, io: UnitIO) -> NDArray[np.uint64]:
        """(documents, words) the sketches of all documents of the files."""
        words = io.arrays(files.keys[-1], files.scattered).part("sketch", 0, 0).shape[1]
        held = np.empty((inputs.end - inputs.start, words), np.uint64)

        def read(number: int) -> None:
            path, (at, end) = files.keys[number], (files.starts[number : number + 2] - inputs.start).tolist()
            io.arrays(path, files.scattered).into(held[at:end], "sketch", 0, end - at)
            if files.scattered:
                io.has_read(path)  # nor are its keys read again

        with ThreadPoolExecutor(READERS if io.run.is_local else corpus.AHEAD) as pool:
            list(pool.map(read, range(inputs.first, inputs.stop)))
        return held


def collected(
    keys: KeyStage, inputs: Sharers, files: KeyFiles, io: UnitIO
) -> tuple[Sharing, Iterator[NDArray[np.uint64]]]:
    """What a unit of `shared` found, and the sketches of each of its parts."""
    results = io.results(_shared(keys))
    path = results["sharing"].path(inputs.number)
    found = io.arrays(path)
    bucket = np.cumsum(found["flags"] & FIRST, dtype=np.int32) - np.int32(1)
    sketch = np.full(len(bucket), -1, np.int32)
    sketch[np.flatnonzero(found["flags"] & ASKS)] = found["sketch"]
    documents, starts = found["documents"].astype(np.int64), np.array(found["starts"])
    sharing = Sharing(documents, bucket, sketch, starts, int(bucket[-1]) + 1 if len(bucket) else 0)
    del found  # what is mapped stays in memory
    io.has_read(path)
    before = int(results.numbers("parts")[: inputs.number].sum())
    paths = io.results(_sketches(keys))["sketches"].paths.to_pylist()

    def opened(path: str, part: int) -> tuple[Arrays, int, int]:
        arrays = io.arrays(path, True)
        start, stop = arrays.part("offsets", part, part + 2).tolist()
        arrays.will_read("sketches", start, stop)
        return arrays, start, stop

    def read_once(arrays: Arrays, start: int, stop: int) -> NDArray[np.uint64]:
        rows = arrays.part("sketches", start, stop)
        arrays.has_read("sketches", start, stop)
        return rows

    def sketches() -> Iterator[NDArray[np.uint64]]:
        for part in range(before, before + len(sharing.starts) - 1):
            slices = ahead((partial(opened, path, part) for path in paths), io, files)
            yield np.concatenate([read_once(*some) for some in slices])

    return sharing, sketches()
