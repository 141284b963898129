"""The stages of near deduplication: group the keys, verify the candidate pairs, decide.

    group     a unit is a few partitions: who shares a key, compared by sketch with the leaders of the bucket
    shingles  a unit is a file of documents: the n-gram hashes of its candidates, and of no other document
    verdicts  one unit: exact similarity of the candidate pairs, survivors in order of preference

Only keys, sketches and the hashes of candidates are read; the text of candidates alone is read once, by `shingles`.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.facts import add
from corpusmill.keys import KeyStage
from corpusmill.steps.corpus import (
    DocumentFile,
    Everything,
    KeyFiles,
    Partition,
    PartitionRange,
    after,
    against_stages,
    by_document,
    digest,
    documents_content,
    ids_of,
    key_files,
    keys_content,
    partition_ranges,
    partitions,
    preference,
    write_duplicates,
)
from corpusmill.steps.dedup import _decisions
from corpusmill.steps.dedup._compare import Comparison, Rejected, Sets
from corpusmill.steps.dedup._decisions import Decisions, Meetings
from corpusmill.steps.dedup._distinct import distinct_rows, sort_distinct, within
from corpusmill.steps.dedup._emptied import emptied
from corpusmill.text.buckets import (
    LEADERS,
    Leaders,
    Met,
    candidates,
    distinct,
    no_leaders,
    pairs_of,
    shared,
)
from corpusmill.text.shingles import Shingling
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned, Resources, Stage

CERTAIN = 3.5  # standard deviations of the sketch's estimate around the threshold that are checked exactly
SKETCHES = 1 << 17  # records of a partition whose sketches are in memory at a time
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
    group, shingles = f"{keys.label}-group", f"{keys.label}-shingles"
    spread = CERTAIN * float(np.sqrt(threshold * (1 - threshold) / (bands * rows)))
    groups = MinhashGroups(keys, low=max(threshold - spread, 0.0), high=min(threshold + spread, 1.0))

    def by_documents(upstream: Upstream) -> list[Planned]:
        pairs = digest(upstream.results(group)["pairs"])
        starts = key_files(keys, upstream).starts.tolist()  # the hashes are written with the numbers of documents
        numbers = range(len(starts) - 1)
        content = (documents_content(keys, upstream, i) for i in numbers)
        return [Planned(DocumentFile(i), (text, pairs, f"{i}:{starts[i]}")) for i, text in zip(numbers, content)]

    def shingles_content(upstream: Upstream) -> list[str]:
        return [digest(upstream.results(shingles)[name]) for name in outputs(shinglings)]

    def one_unit(upstream: Upstream) -> list[Planned]:
        documents = digest(upstream.results(keys.stage)["docs"])
        compared = (digest(upstream.results(group)["pairs"]), *shingles_content(upstream))
        return [Planned(Everything(), (*keys_content(keys, upstream), documents, *compared))]

    verdicts = MinhashVerdicts(keys, shinglings, threshold, most_lost, mark)
    return [
        *against_stages(keys),
        Stage(group, groups, after(keys), partition_ranges(keys, bands)),
        Stage(shingles, MinhashShingles(keys, shinglings), after(keys, group), by_documents),
        Stage(f"{keys.label}-verdicts", verdicts, after(keys, group, shingles), one_unit, Resources(grows=True)),
    ]


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

    `low` and `high` are shares of equal lanes, see `buckets.candidates`.
    """

    keys: KeyStage
    low: float
    high: float

    def run(self, inputs: PartitionRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        groups = [self.group(part, files, io) for part in partitions(inputs, files, io)]
        pairs = distinct_rows(np.concatenate([group.pairs for group in groups]))
        document, mask, table = (np.concatenate([group[i] for group in groups]) for i in (1, 3, 4))
        first = np.cumsum([0, *(len(group.leaders) for group in groups)])
        bucket = np.concatenate([group.bucket + base for group, base in zip(groups, first.tolist())])
        del groups
        known = sort_distinct(document.copy())
        order = np.argsort(preference(io, files, known)[np.searchsorted(known, document)], kind="stable")
        documents = sort_distinct(np.concatenate([pairs.ravel(), known, table[table >= 0]]))
        io.write_arrays(
            "pairs",
            len(pairs),
            one=pairs[:, 0],
            other=pairs[:, 1],
            document=document[order],
            bucket=bucket[order].astype(np.int32),
            mask=mask[order],
            leaders=table,
            documents=documents,
        )

    def group(self, part: Partition, files: KeyFiles, io: UnitIO) -> "Group":
        bucket, buckets = shared(part.keys)
        met = np.flatnonzero(bucket >= 0)
        documents, bucket = part.documents[met], bucket[met]
        known = sort_distinct(documents.copy())
        preferred = preference(io, files, known)[np.searchsorted(known, documents)]
        order = np.lexsort((preferred, bucket))
        documents, bucket = documents[order], bucket[order]
        del part, met, known, preferred, order
        leads, mask, rank = self.compare(bucket, documents, files, io)
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
        return Group(pairs, documents[later], row, mask[later], table)

    def compare(
        self, bucket: NDArray[np.int32], documents: NDArray[np.int64], files: KeyFiles, io: UnitIO
    ) -> tuple[NDArray[np.bool_], NDArray[np.uint16], NDArray[np.int32]]:
        """What became of each record, as of `buckets.candidates`, with the sketches of SKETCHES of them in memory."""
        parts: list[Met] = []
        state: Leaders | None = None
        for at in range(0, len(bucket), SKETCHES):
            some = documents[at : at + SKETCHES]
            known = sort_distinct(some.copy())
            sketches = by_document(io, files, known, "sketch")
            state = state or no_leaders(sketches.shape[1])
            rows = np.searchsorted(known, some)
            parts.append(candidates(bucket[at : at + SKETCHES], some, rows, sketches, self.low, self.high, state))
        compared, not_compared = (0, 0) if state is None else state.counts.tolist()
        add(io.facts, "sketches_compared", count=compared)
        add(io.facts, "not_compared", count=not_compared)
        none = Met(np.empty(0, bool), np.empty(0, np.uint16), np.empty(0, np.int32))
        leads, mask, rank = (np.concatenate(columns) for columns in zip(none, *parts))
        return leads, mask, rank


class Group(NamedTuple):
    """What a partition gives, see MinhashGroups."""

    pairs: NDArray[np.int64]
    document: NDArray[np.int64]
    bucket: NDArray[np.int64]
    mask: NDArray[np.uint16]
    leaders: NDArray[np.int64]


def outputs(shinglings: tuple[Shingling, ...]) -> list[str]:
    """The outputs of MinhashShingles, one for each way to compare."""
    return ["shingles", *(f"shingles-{number}" for number in range(2, len(shinglings) + 1))]


@dataclass(frozen=True)
class MinhashShingles:
    keys: KeyStage
    shinglings: tuple[Shingling, ...]

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        start, stop = files.starts[inputs.number : inputs.number + 2].tolist()
        pairs = io.results(f"{self.keys.label}-group")["pairs"].paths.to_pylist()
        wanted = sort_distinct(np.concatenate([within(io.arrays(file)["documents"], start, stop) for file in pairs]))
        with ExitStack() as files_open:
            puts = [files_open.enter_context(io.writing_arrays(name, len(wanted))) for name in outputs(self.shinglings)]
            sizes: list[list[NDArray[np.int64]]] = [[np.zeros(1, np.int64)] for _ in puts]
            for put in puts:
                put("documents", wanted)
                put("hashes", np.empty(0, np.uint64))
            for texts in self.texts(wanted, start, files.docs[inputs.number], io):
                for shingling, put, own in zip(self.shinglings, puts, sizes):
                    grams, ends = distinct(*shingling.hashes(texts))
                    put("hashes", grams)
                    own.append(np.diff(ends))
            for put, own in zip(puts, sizes):
                put("offsets", np.cumsum(np.concatenate(own)))

    def texts(self, wanted: NDArray[np.int64], start: int, path: str, io: UnitIO) -> Iterator[pa.LargeStringArray]:
        """The texts of some documents of a file that begins with document `start`, some at a time."""
        row = start
        if len(wanted):
            file = io.parquet(path)
            for batch in file.iter_batches(1024, columns=["text"], use_threads=False):
                io.heart.at(row - start, file.metadata.num_rows)
                here = within(wanted, row, row + len(batch)) - row
                if len(here):
                    yield batch["text"].take(pa.array(here))
                row += len(batch)


@dataclass(frozen=True)
class MinhashVerdicts:
    """Which documents are dropped, for which.

    Documents are decided in order of preference: each is dropped for the most similar of its candidates that are kept,
    the preferred of equals, if the two are at least as similar as the threshold. One that is kept and as similar to a
    candidate that is dropped is then compared with what that is dropped for, and all is decided anew with these pairs,
    until there are no more of them, or ROUNDS times.

    A similarity decides nothing if both documents are dropped, and in a large bucket most are. So those of pairs are
    computed when they are needed, and of the leaders that a document after the first FULL of a bucket meets, only those
    that are kept are its candidates: MOST of them at most, those that it meets in most bands, and of equals the
    preferred ones. So the work is linear in the number of documents, however large a bucket is; what was not compared
    is counted.
    """

    keys: KeyStage
    shinglings: tuple[Shingling, ...]
    threshold: float
    most_lost: float
    mark: bool

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        label = self.keys.label
        shingles = io.results(f"{label}-shingles")
        opened = (Sets.open(io, shingles[name].paths.to_pylist()) for name in outputs(self.shinglings))
        comparison = Comparison(tuple(opened), self.threshold, self.most_lost)
        documents = comparison.sets[0].documents
        decisions = self.decide(io, files, comparison)
        found = np.flatnonzero(decisions.duplicate_of >= 0)
        pairs = decisions.back[np.stack([decisions.duplicate_of[found], found], axis=1)]
        alike = decisions.score[found]
        order = np.argsort(pairs[:, 1])
        pairs, alike = pairs[order], alike[order]
        _, lost = comparison.compare(pairs)
        kept, dropped = documents[pairs].T
        write_duplicates(io, files, dropped, kept, alike, "near_copy", self.mark, lost)
        write_rejected(io, files, comparison, decisions.rejected)
        if not self.mark:
            io.facts["emptied"] = emptied(io, files, dropped)

    def decide(self, io: UnitIO, files: KeyFiles, comparison: Comparison) -> Decisions:
        documents = comparison.sets[0].documents
        place = preference(io, files, documents).astype(np.int32)
        meetings = Meetings(io, io.results(f"{self.keys.label}-group")["pairs"].paths.to_pylist(), documents, place)
        decisions = Decisions.of(meetings, comparison)
        settled = int(np.searchsorted(documents, files.own))  # of earlier runs: they are preferred to all others
        for again in range(_decisions.ROUNDS + 1):
            decisions.decide()
            more = decisions.through_duplicates(settled)
            if not len(more):
                break
            if again == _decisions.ROUNDS:
                decisions.not_followed += len(more)
                break
            add(io.facts, "through_duplicates", count=len(more))
            decisions.insert(more)
        io.facts["candidates"] = sum(len(block.pairs) for block in decisions.blocks)
        io.facts["compared"], io.facts["verified"] = decisions.compared, decisions.verified
        io.facts["not_verified"], io.facts["not_followed"] = decisions.not_verified, decisions.not_followed
        return decisions


REJECTED = pa.schema(
    [
        ("id", pa.string()),  # of the document that would have been dropped
        ("duplicate_of", pa.string()),  # and of the one for which
        ("similarity", pa.float64()),
        ("lost", pa.float64()),
    ]
)


def write_rejected(io: UnitIO, files: KeyFiles, comparison: Comparison, rejected: Rejected) -> None:
    """A sample of the pairs that were compared and did not pass, for the report."""
    numbers = sort_distinct(rejected.documents.flatten())
    names = np.array([bytes(each).hex() for each in ids_of(io, files, numbers)], object)
    kept, dropped = (names[np.searchsorted(numbers, side)] for side in rejected.documents.T)
    pairs = np.searchsorted(comparison.sets[0].documents, rejected.documents).astype(np.int32)
    similarity, lost = comparison.compare(pairs)
    columns = [
        pa.array(values.tolist(), field.type) for values, field in zip((dropped, kept, similarity, lost), REJECTED)
    ]
    io.write("rejected", pa.record_batch(columns, schema=REJECTED))
