"""Buckets: the documents that share a key, and the sketches that are compared then.

A pair of near-duplicates shares the keys of many bands, and its sketches are compared in each of them: where all
sketches together are more than memory, a unit that reads them one by one reads from all over a disk, or makes a request
of an object store for each. So of many documents (`are_many`) two stages come before the groups:

    shared     a unit is a few partitions: who shares a key, and which sketches its comparisons request
    sketches   a unit is some files of keys: of their sketches, read once and in order, those that are requested, one
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
from corpusmill.steps.sorted_numbers import sort_distinct, within
from corpusmill.steps.verdict_tables import UnitRange, ranges_of
from corpusmill.store.arrays import Arrays
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Planner, Stage
from corpusmill.text.buckets import shared

SKETCH_HASH = "sketch_hash"  # an array by document, beside `sketch`
MAX_SKETCHES = 1 << 17  # records whose sketches are in memory at a time
READERS = 4  # files of sketches that are read at a time: one alone does not keep a disk busy
MAX_SMALL_NUMBERS = 1 << 32  # documents whose numbers are written with 32 bits
BEGINS_BUCKET, REQUESTS_SKETCH = 1, 2  # flags of a record
MANY_PARTITIONS = 32  # of a band, of a million records each, about


def are_many(keys: KeyStage) -> bool:
    """Whether sketches are read once, for all units: what follows is the same either way."""
    return keys.partitions_per_band >= MANY_PARTITIONS or keys.earlier.rows >= MANY_PARTITIONS << 20


class KeyBuckets(NamedTuple):
    """The records of some partitions that share a key, bucket by bucket, and in each in the order of preference.

    documents, bucket
               (records,)
    sketch     (records,) int32: the row of the sketch among those that its part requests; -1 where it requests none
    starts     (parts + 1,) where the records of each part begin
    bucket_count
               how many buckets
    """

    documents: NDArray[np.int64]
    bucket: NDArray[np.int32]
    sketch: NDArray[np.int32]
    starts: NDArray[np.int64]
    bucket_count: int


class RequestedSketches(NamedTuple):
    """The documents whose sketches the parts request, rising within each; those of each part begin at `offsets`,
    (parts + 1,)."""

    documents: NDArray[np.int64]
    offsets: NDArray[np.int64]


def find_buckets(inputs: PartitionRange, files: KeyFiles, io: UnitIO) -> tuple[KeyBuckets, RequestedSketches]:
    parts = [_shared_records(part) for part in partitions(inputs, files, io)]
    first = np.cumsum([0, *(count for *_, count in parts)])
    bucket = np.concatenate([bucket + base for (_, bucket, _), base in zip(parts, first.astype(np.int32))])
    documents = np.concatenate([numbers for numbers, *_ in parts])
    del parts
    distinct = sort_distinct(documents.copy())
    rows = np.searchsorted(distinct, documents).astype(np.int32)
    hashes = by_document(io, files, distinct, SKETCH_HASH)
    if is_ranked(io, files):
        order = np.lexsort((preference(io, files, distinct)[rows], bucket))
    else:
        order = np.argsort(bucket, kind="stable")
    documents, bucket, hashes = documents[order], bucket[order], hashes[rows[order]]
    del distinct, rows, order
    return _request_sketches(documents, bucket, hashes, int(first[-1]))


def _shared_records(part: Partition) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
    """Documents that share a key, the bucket of each; and how many buckets there are."""
    bucket, count = shared(part.keys)
    rows = np.flatnonzero(bucket >= 0)
    return part.documents[rows], bucket[rows], count


def _request_sketches(
    documents: NDArray[np.int64], bucket: NDArray[np.int32], hashes: NDArray[Any], count: int
) -> tuple[KeyBuckets, RequestedSketches]:
    """Of equal sketches one is requested, and none for a bucket in which all are equal: any other says the same."""
    mixed = np.zeros(count, bool)
    mixed[bucket[1:][(bucket[1:] == bucket[:-1]) & (hashes[1:] != hashes[:-1])]] = True
    requests = np.flatnonzero(mixed[bucket])
    starts = np.array([0, *requests[MAX_SKETCHES::MAX_SKETCHES].tolist(), len(bucket)])
    rows = np.full(len(bucket), -1, np.int32)
    requested: list[NDArray[np.int64]] = []
    for part in np.split(requests, np.arange(MAX_SKETCHES, len(requests), MAX_SKETCHES)):
        _, first, row = np.unique(hashes[part], return_index=True, return_inverse=True)
        owners = documents[part[first]]
        order = np.argsort(owners)
        rows[part] = np.argsort(order)[row]
        requested.append(owners[order])
    offsets = np.cumsum([0, *map(len, requested)])
    return KeyBuckets(documents, bucket, rows, starts, count), RequestedSketches(np.concatenate(requested), offsets)


def read_sketches(requests: RequestedSketches, files: KeyFiles, io: UnitIO) -> Iterator[NDArray[np.uint64]]:
    """(requests, words) of each part, read one by one from the files of keys."""
    for start, stop in pairwise(requests.offsets.tolist()):
        yield by_document(io, files, requests.documents[start:stop], "sketch")


# ------------------------------------------------------------- of many documents


@dataclass(frozen=True)
class BucketUnit:
    """The buckets of one unit of `shared`, by the number of the unit."""

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


def bucket_units(keys: KeyStage) -> tuple[tuple[str, ...], Planner]:
    """What the stage of groups comes after, and its units: one for each of `shared`."""

    def units(upstream: Upstream) -> list[PlannedUnit]:
        content = (*keys_content(keys, upstream), digest(upstream.results(_sketches(keys))["sketches"]))
        buckets = upstream.results(_shared(keys))["sharing"]
        return [PlannedUnit(BucketUnit(i), (*content, buckets.checksum(i), str(i))) for i in range(len(buckets))]

    return after(keys, _shared(keys), _sketches(keys)), units


def _shared(keys: KeyStage) -> str:
    return f"{keys.label}-shared"


def _sketches(keys: KeyStage) -> str:
    return f"{keys.label}-sketches"


@dataclass(frozen=True)
class MinhashShared:
    """The output `sharing` has what KeyBuckets has, in a third of its bytes:

    documents   (records,) uint32 where that suffices for all
    flags       (records,) uint8: BEGINS_BUCKET, REQUESTS_SKETCH
    sketch      the rows of those that request one
    starts      (parts + 1,)

    The output `asked` has the arrays of RequestedSketches. The note `parts` says how many parts.
    """

    keys: KeyStage

    def run(self, inputs: PartitionRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        buckets, requests = find_buckets(inputs, files, io)
        requesting = buckets.sketch >= 0
        flags = requesting * np.uint8(REQUESTS_SKETCH)
        flags[np.flatnonzero(np.diff(buckets.bucket, prepend=np.int32(-1)))] |= np.uint8(BEGINS_BUCKET)
        small = files.documents <= MAX_SMALL_NUMBERS
        documents = buckets.documents.astype(np.uint32) if small else buckets.documents
        sketch, starts = buckets.sketch[requesting], buckets.starts
        io.write_arrays("sharing", len(documents), documents=documents, flags=flags, sketch=sketch, starts=starts)
        io.write_arrays("asked", len(requests.documents), **requests._asdict())
        io.notes["parts"] = len(requests.offsets) - 1


@dataclass(frozen=True)
class MinhashSketches:
    """The output `sketches` has

    sketches   (requests, words) uint64: of all parts that units of `shared` have, one after the other, those of the
               documents in some files of keys, which rise within a part
    offsets    (parts + 1,) where those of each part begin
    """

    keys: KeyStage

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        """The range is of files of keys, in place of units of the pass."""
        sketches = self._read(inputs, key_files(self.keys, io), io)
        counts = [0]
        with io.writing_arrays("sketches", 0) as write:
            write("sketches", sketches[:0])
            paths = io.results(_shared(self.keys))["asked"].paths.to_pylist()
            for number, path in enumerate(paths):
                io.heart.at(number, len(paths))
                arrays = io.arrays(path)
                for start, stop in pairwise(arrays["offsets"].tolist()):
                    requested = within(arrays["documents"][start:stop], inputs.start, inputs.end)
                    write("sketches", sketches[requested - inputs.start])
                    counts.append(len(requested))
            write("offsets", np.cumsum(counts))

    def _read(self, inputs: UnitRange, files: KeyFiles, io: UnitIO) -> NDArray[np.uint64]:
        """(documents, words) the sketches of all documents of the files."""
        words = io.arrays(files.keys[-1], files.scattered).part("sketch", 0, 0).shape[1]
        sketches = np.empty((inputs.end - inputs.start, words), np.uint64)

        def read(number: int) -> None:
            path, (start, end) = files.keys[number], (files.starts[number : number + 2] - inputs.start).tolist()
            io.arrays(path, files.scattered).into(sketches[start:end], "sketch", 0, end - start)
            if files.scattered:
                io.has_read(path)  # nor are its keys read again

        with ThreadPoolExecutor(READERS if io.run.is_local else corpus.AHEAD) as pool:
            list(pool.map(read, range(inputs.first, inputs.stop)))
        return sketches


def read_buckets(
    keys: KeyStage, inputs: BucketUnit, files: KeyFiles, io: UnitIO
) -> tuple[KeyBuckets, Iterator[NDArray[np.uint64]]]:
    """The buckets of a unit of `shared`, and the sketches of each of its parts."""
    results = io.results(_shared(keys))
    path = results["sharing"].path(inputs.number)
    stored = io.arrays(path)
    bucket = np.cumsum(stored["flags"] & BEGINS_BUCKET, dtype=np.int32) - np.int32(1)
    sketch = np.full(len(bucket), -1, np.int32)
    sketch[np.flatnonzero(stored["flags"] & REQUESTS_SKETCH)] = stored["sketch"]
    documents, starts = stored["documents"].astype(np.int64), np.array(stored["starts"])
    buckets = KeyBuckets(documents, bucket, sketch, starts, int(bucket[-1]) + 1 if len(bucket) else 0)
    del stored  # what is mapped stays in memory
    io.has_read(path)
    before = int(results.numbers("parts")[: inputs.number].sum())
    paths = io.results(_sketches(keys))["sketches"].paths.to_pylist()

    def open_part(path: str, part: int) -> tuple[Arrays, int, int]:
        arrays = io.arrays(path, True)
        start, stop = arrays.part("offsets", part, part + 2).tolist()
        arrays.will_read("sketches", start, stop)
        return arrays, start, stop

    def read_once(arrays: Arrays, start: int, stop: int) -> NDArray[np.uint64]:
        rows = arrays.part("sketches", start, stop)
        arrays.has_read("sketches", start, stop)
        return rows

    def sketches() -> Iterator[NDArray[np.uint64]]:
        for part in range(before, before + len(buckets.starts) - 1):
            slices = ahead((partial(open_part, path, part) for path in paths), io, files)
            yield np.concatenate([read_once(*opened) for opened in slices])

    return buckets, sketches()
