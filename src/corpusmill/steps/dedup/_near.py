"""The stages of near deduplication: group the keys, verify the candidate pairs, decide.

    group     a unit is a few partitions: who shares a key, compared by sketch with the leaders of the bucket. Of many
              documents two stages come before, see _sketches.py, so that no sketch is read by itself
    links     one unit: the clusters of candidates, divided among the units that decide
    shingles  a unit is a file of documents: the n-gram hashes of its candidates, and of no other document
    routes    a unit is some files of groups: their pairs by the unit that decides on them
    decide    a unit is some clusters: exact similarity of the candidate pairs, survivors in order of preference
    verdicts  a unit is some neighbouring units of the pass
    emptied   one unit: the domains that lose nearly all

Only keys, sketches and the hashes of candidates are read; the text of candidates alone is read once, by `shingles`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.corpus import (
    DocumentFile,
    KeyFiles,
    PartitionRange,
    after,
    against_stages,
    digest,
    documents_content,
    id_bytes,
    key_files,
    keys_alone,
    keys_content,
    partition_ranges,
    preference,
)
from corpusmill.steps.dedup._decide import ClusterUnit, MinhashDecide
from corpusmill.steps.dedup._duplicates import DuplicateVerdicts, verdict_stage
from corpusmill.steps.dedup._emptied import NearVerdicts, emptied_stage
from corpusmill.steps.dedup._links import links_stage, routes_stage
from corpusmill.steps.dedup._sketches import (
    Sharers,
    Sharing,
    are_many,
    collected,
    sharers,
    sharing_keys,
    sketch_stages,
    sketches_of,
)
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import distinct_rows, sort_distinct, within
from corpusmill.store.facts import add
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Resources
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.buckets import LEADERS, BucketMatches, Leaders, candidate_pairs, in_ways, no_leaders, pairs_of
from corpusmill.text.components import join, roots
from corpusmill.text.shingles import Shingling
from corpusmill.text.sketch import equal_share

CERTAIN = 3.5  # standard deviations of the sketch's estimate around the threshold that are checked exactly
FULL = 64  # documents of a bucket, its first, that are compared with all leaders that they meet, kept or not


def near_stages(
    keys: KeyStage,
    shinglings: tuple[Shingling, ...],
    shape: tuple[int, int],
    threshold: float,
    most_lost: float,
    mark: bool,
) -> list[Stage]:
    """
    shinglings   the ways in which pairs are compared: of two, both have to agree; keys and sketches are of the first
    shape        bands and rows
    most_lost    share of the n-grams of a document that is dropped which may be lost with it
    """
    bands, rows = shape
    group, links, shingles, routes, decide = (
        f"{keys.label}-{name}" for name in ("group", "links", "shingles", "routes", "decide")
    )
    groups = MinhashGroups(keys, bands * rows, *surely(threshold, bands * rows))
    many = are_many(keys)

    def by_documents(upstream: Upstream) -> list[PlannedUnit]:
        digests = upstream.arrays(upstream.results(links)["candidate_pairs"].path(0))["digests"]
        starts = key_files(keys, upstream).starts.tolist()  # the hashes are written with the numbers of documents
        numbers = range(len(starts) - 1)
        content = (documents_content(keys, upstream, i) for i in numbers)
        return [
            PlannedUnit(DocumentFile(i), (text, bytes(digests[i]).hex(), f"{i}:{starts[i]}"))
            for i, text in zip(numbers, content)
        ]

    def clusters(upstream: Upstream) -> list[PlannedUnit]:
        members = digest(upstream.results(links)["members"])
        compared = digest(upstream.results(routes)["routes"]), digest(upstream.results(shingles)["shingles"])
        content = (*keys_content(keys, upstream), members, *compared)
        count = int(upstream.results(links).numbers("clusters")[0])
        return [PlannedUnit(ClusterUnit(i), (*content, str(i))) for i in range(count)]

    decided = MinhashDecide(keys, len(shinglings), threshold, most_lost)
    verdicts = (DuplicateVerdicts if mark else NearVerdicts)(keys, decide, "near_copy", mark)
    return [
        *against_stages(keys),
        *(sketch_stages(keys, bands) if many else []),
        Stage(
            group,
            groups,
            *(sharers(keys) if many else (after(keys), partition_ranges(keys, bands))),
            reads=keys_alone(keys),
        ),
        links_stage(keys, group),
        Stage(
            shingles,
            MinhashShingles(keys, shinglings),
            after(keys, links),
            by_documents,
            reads={keys.stage: {"docs": ()}},
        ),
        routes_stage(keys, group, links),
        Stage(decide, decided, after(keys, links, shingles, routes), clusters, Resources(grows=True)),
        verdict_stage(verdicts),
        *([] if mark else [emptied_stage(keys, f"{keys.label}-verdicts")]),
    ]


def surely(threshold: float, lanes: int) -> tuple[float, float]:
    """The shares of equal lanes, as the sketches have them, below which two documents are surely not as similar as the
    threshold, and from which on they surely are."""
    share = equal_share(threshold)
    spread = CERTAIN * float(np.sqrt(share * (1 - share) / lanes))
    return max(share - spread, 0.0), min(share + spread, 1.0)


@dataclass(frozen=True)
class MinhashGroups:
    """The candidates: pairs, and of documents after the first FULL of a bucket "meetings", which say with which of the
    bucket's leaders they are a pair, in 14 bytes instead of 16 for each pair. The output `pairs` has

    one, other     (pairs,) documents, the one with the smaller number first; distinct and rising
    document, bucket, mask
                   (meetings,) a document, a row of `leaders`, and which of these, see `buckets.candidates`; in the
                   order in which the documents are preferred
    leaders        (buckets, LEADERS) documents, in the order in which they are preferred; -1 where there is none
    documents      all of these, sorted
    roots          (documents,) the smallest document that each is linked to by these
    weights        (documents,) pairs in which it is the one with the larger number

    `low` and `high` are shares of equal lanes, see `buckets.candidates`.
    """

    keys: KeyStage
    lanes: int
    low: float
    high: float

    def run(self, inputs: PartitionRange | Sharers, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        if isinstance(inputs, Sharers):
            sharing, sketches = collected(self.keys, inputs, files, io)
        else:
            sharing, asked = sharing_keys(inputs, files, io)
            sketches = sketches_of(asked, files, io)
        pairs, document, bucket, mask, table = self.group(sharing, sketches, files, io)
        pairs = distinct_rows(pairs)
        known = sort_distinct(document.copy())
        order = np.argsort(preference(io, files, known)[np.searchsorted(known, document)], kind="stable")
        documents = sort_distinct(np.concatenate([pairs.ravel(), known, table[table >= 0]]))
        io.write_arrays(
            "pairs",
            len(pairs),
            **linked(documents, pairs, document, bucket, mask, table),
            one=pairs[:, 0],
            other=pairs[:, 1],
            document=document[order],
            bucket=bucket[order].astype(np.int32),
            mask=mask[order],
            leaders=table,
            documents=documents,
        )

    def group(
        self, sharing: Sharing, sketches: Iterable[NDArray[np.uint64]], files: KeyFiles, io: UnitIO
    ) -> "MinhashGroup":
        documents, bucket, buckets = sharing.documents, sharing.bucket, sharing.buckets
        leads, mask, rank = self.compare(sharing, sketches, io)
        mask[documents < files.own] = 0  # what earlier runs kept is settled
        # The leaders of all buckets, one after the other, and where those of each begin.
        leaders = documents[leads]
        first = np.cumsum(np.bincount(bucket[leads], minlength=buckets)) - np.bincount(bucket[leads], minlength=buckets)
        full = np.flatnonzero((rank < FULL) & (mask > 0))
        rows, leader = pairs_of(mask[full])
        pairs = np.stack([leaders[first[bucket[full[rows]]] + leader], documents[full[rows]]], axis=1)
        pairs.sort(axis=1)
        later = np.flatnonzero((rank >= FULL) & (mask > 0))
        large, row = np.unique(bucket[later], return_inverse=True)
        table = np.full((len(large), LEADERS), -1, np.int64)
        held = np.append(first, len(leaders))
        for k in range(LEADERS):
            has = np.flatnonzero(held[large] + k < held[large + 1])
            table[has, k] = leaders[held[large[has]] + k]
        return MinhashGroup(pairs, documents[later], row, mask[later], table)

    def compare(self, sharing: Sharing, sketches: Iterable[NDArray[np.uint64]], io: UnitIO) -> BucketMatches:
        """What became of each record, as of `buckets.candidates`, with the sketches of one part in memory.

        sketches   of each part, (asked, words)
        """
        parts: list[BucketMatches] = []
        state: Leaders | None = None
        for (start, stop), read in zip(pairwise(sharing.starts.tolist()), sketches):
            part = slice(start, stop)
            bucket, documents = sharing.bucket[part], sharing.documents[part]
            # One more, for records of which none is asked for.
            one_more = np.concatenate([read, np.zeros((1, read.shape[1]), np.uint64)])
            rows = np.where(sharing.sketch[part] < 0, len(read), sharing.sketch[part]).astype(np.int64)
            state = state or no_leaders(read.shape[1])
            parts.append(candidate_pairs(bucket, documents, rows, one_more, self.lanes, self.low, self.high, state))
        compared, not_compared = (0, 0) if state is None else state.counts.tolist()
        add(io.facts, "sketches_compared", count=compared)
        add(io.facts, "not_compared", count=not_compared)
        return BucketMatches(*(np.concatenate(columns) for columns in zip(*parts)))


def linked(
    documents: NDArray[np.int64],
    pairs: NDArray[np.int64],
    document: NDArray[np.int64],
    bucket: NDArray[np.int64],
    mask: NDArray[np.uint16],
    table: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    """`roots` and `weights` of MinhashGroups."""
    one, other, meeting = (np.searchsorted(documents, some) for some in (pairs[:, 0], pairs[:, 1], document))
    leaders = np.searchsorted(documents, table)
    parent = np.arange(len(documents), dtype=np.int32)
    join(parent, one, other)
    for k in range(LEADERS):
        rows = np.flatnonzero(mask >> k & 1)
        join(parent, meeting[rows], leaders[bucket[rows], k])
    return {"roots": documents[roots(parent)], "weights": np.bincount(other, minlength=len(documents)).astype(np.int32)}


class MinhashGroup(NamedTuple):
    """What some partitions give, see MinhashGroups."""

    pairs: NDArray[np.int64]
    document: NDArray[np.int64]
    bucket: NDArray[np.int64]
    mask: NDArray[np.uint16]
    leaders: NDArray[np.int64]


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
        candidate_pairs = io.arrays(io.results(f"{self.keys.label}-links")["candidates"].path(0))
        wanted = candidate_pairs["documents"][
            slice(*candidate_pairs["starts"][inputs.number : inputs.number + 2])
        ].copy()
        del candidate_pairs
        ids, sizes = [np.empty((0, 16), np.uint8)], [np.empty((0, len(self.shinglings)), np.int32)]
        members = [np.zeros(1, np.int64)]
        with io.writing_arrays("shingles", len(wanted)) as put:
            put("documents", wanted)
            put("hashes", np.empty(0, np.uint64))
            for texts, digits in self.texts(wanted, start, files.docs[inputs.number], io):
                ids.append(id_bytes(digits))
                hashes, ends, own = in_ways([shingling.hashes(texts) for shingling in self.shinglings])
                put("hashes", hashes)
                members.append(np.diff(ends))
                sizes.append(own)
            if files.scattered:
                io.has_read(files.docs[inputs.number])
            put("offsets", np.cumsum(np.concatenate(members)))
            put("sizes", np.concatenate(sizes))
            put("ids", np.concatenate(ids))

    def texts(
        self, wanted: NDArray[np.int64], start: int, path: str, io: UnitIO
    ) -> Iterator[tuple[pa.LargeStringArray, pa.StringArray]]:
        """The texts and ids of some documents of a file that begins with document `start`, some at a time."""
        row = start
        if len(wanted):
            file = io.parquet(path)
            for batch in file.iter_batches(1024, columns=["text", "id"], use_threads=False):
                io.heart.at(row - start, file.metadata.num_rows)
                here = within(wanted, row, row + len(batch)) - row
                if len(here):
                    yield batch["text"].take(pa.array(here)), batch["id"].take(pa.array(here))
                row += len(batch)
