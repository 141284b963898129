"""The stages of near deduplication: group the keys, verify the candidate pairs, decide.

    group     a unit is a few partitions: who shares a key, compared by sketch with the leaders of the bucket
    shingles  a unit is a file of documents: the n-gram hashes of its candidates, and of no other document
    verdicts  one unit: exact similarity of the candidate pairs, survivors in order of preference

Only keys, sketches and the hashes of candidates are read; the text of candidates alone is read once, by `shingles`.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise, repeat, takewhile
from typing import Any, NamedTuple

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
    key_files,
    keys_content,
    partition_ranges,
    partitions,
    preference,
    write_duplicates,
)
from corpusmill.text.buckets import (
    LEADERS,
    Leaders,
    Met,
    candidates,
    distinct,
    jaccard,
    no_leaders,
    pairs_of,
    settle,
    shared,
    take_sets,
)
from corpusmill.text.shingles import Shingling
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned, Resources, Stage

CERTAIN = 3.5  # standard deviations of the sketch's estimate around the threshold that are checked exactly
HASHES = 1 << 20  # n-gram hashes of candidates that are in memory at a time, about
SKETCHES = 1 << 17  # records of a partition whose sketches are in memory at a time
PAIRS = 1 << 20  # pairs that are read before repeats among them are removed
BLOCK = 1 << 16  # documents that are decided at a time
FULL = 64  # documents of a bucket, its first, that are compared with all leaders that they meet, kept or not
MOST = 32  # kept leaders that a document after these is compared with
ROUNDS = 16  # times that documents are compared with what their duplicates are dropped for


def near_stages(
    keys: KeyStage, shingling: Shingling, bands: int, rows: int, threshold: float, mark: bool
) -> list[Stage]:
    group, shingles = f"{keys.label}-group", f"{keys.label}-shingles"
    spread = CERTAIN * float(np.sqrt(threshold * (1 - threshold) / (bands * rows)))
    groups = MinhashGroups(keys, low=max(threshold - spread, 0.0), high=min(threshold + spread, 1.0))

    def by_documents(upstream: Upstream) -> list[Planned]:
        pairs = digest(upstream.results(group)["pairs"])
        starts = key_files(keys, upstream).starts.tolist()  # the hashes are written with the numbers of documents
        numbers = range(len(starts) - 1)
        content = (documents_content(keys, upstream, i) for i in numbers)
        return [Planned(DocumentFile(i), (text, pairs, f"{i}:{starts[i]}")) for i, text in zip(numbers, content)]

    def one_unit(upstream: Upstream) -> list[Planned]:
        documents = digest(upstream.results(keys.stage)["docs"])
        compared = (digest(upstream.results(group)["pairs"]), digest(upstream.results(shingles)["shingles"]))
        return [Planned(Everything(), (*keys_content(keys, upstream), documents, *compared))]

    verdicts = MinhashVerdicts(keys, threshold, mark)
    return [
        *against_stages(keys),
        Stage(group, groups, after(keys), partition_ranges(keys, bands)),
        Stage(shingles, MinhashShingles(keys, shingling), after(keys, group), by_documents),
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
        pairs = _distinct_rows(np.concatenate([group.pairs for group in groups]))
        document, mask, table = (np.concatenate([group[i] for group in groups]) for i in (1, 3, 4))
        first = np.cumsum([0, *(len(group.leaders) for group in groups)])
        bucket = np.concatenate([group.bucket + base for group, base in zip(groups, first.tolist())])
        del groups
        known = _sort_distinct(document.copy())
        order = np.argsort(preference(io, files, known)[np.searchsorted(known, document)], kind="stable")
        documents = _sort_distinct(np.concatenate([pairs.ravel(), known, table[table >= 0]]))
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
        known = _sort_distinct(documents.copy())
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
            known = _sort_distinct(some.copy())
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


@dataclass(frozen=True)
class MinhashShingles:
    keys: KeyStage
    shingling: Shingling

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        start, stop = files.starts[inputs.number : inputs.number + 2].tolist()
        pairs = io.results(f"{self.keys.label}-group")["pairs"].paths.to_pylist()
        wanted = _sort_distinct(np.concatenate([_within(io.arrays(file)["documents"], start, stop) for file in pairs]))
        with io.writing_arrays("shingles", len(wanted)) as put:
            put("documents", wanted)
            put("hashes", np.empty(0, np.uint64))
            sizes = [np.zeros(1, np.int64)]
            for texts in self.texts(wanted, start, files.docs[inputs.number], io):
                grams, ends = distinct(*self.shingling.hashes(texts))
                put("hashes", grams)
                sizes.append(np.diff(ends))
            put("offsets", np.cumsum(np.concatenate(sizes)))

    def texts(self, wanted: NDArray[np.int64], start: int, path: str, io: UnitIO) -> Iterator[pa.LargeStringArray]:
        """The texts of some documents of a file that begins with document `start`, some at a time."""
        row = start
        if len(wanted):
            for batch in io.parquet(path).iter_batches(1024, columns=["text"], use_threads=False):
                here = _within(wanted, row, row + len(batch)) - row
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
    threshold: float
    mark: bool

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        write_duplicates(io, files, *self.duplicates(io, files), "near_copy", self.mark)

    def duplicates(
        self, io: UnitIO, files: KeyFiles
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The duplicates, the documents that are kept instead, and how alike they are."""
        label = self.keys.label
        sets = Sets.open(io, io.results(f"{label}-shingles")["shingles"].paths.to_pylist())
        documents = sets.documents
        place = preference(io, files, documents).astype(np.int32)
        meetings = Meetings(io, io.results(f"{label}-group")["pairs"].paths.to_pylist(), documents, place)
        decisions = Decisions.of(meetings, sets, self.threshold)
        settled = int(np.searchsorted(documents, files.own))  # of earlier runs: they are preferred to all others
        for again in range(ROUNDS + 1):
            decisions.decide()
            more = decisions.through_duplicates(settled)
            if not len(more):
                break
            if again == ROUNDS:
                decisions.not_followed += len(more)
                break
            add(io.facts, "through_duplicates", count=len(more))
            decisions.insert(more)
        io.facts["candidates"] = sum(len(block.pairs) for block in decisions.blocks)
        io.facts["compared"], io.facts["verified"] = decisions.compared, decisions.verified
        io.facts["not_verified"], io.facts["not_followed"] = decisions.not_verified, decisions.not_followed
        duplicates = np.flatnonzero(decisions.duplicate_of >= 0)
        kept, alike = documents[decisions.back[decisions.duplicate_of[duplicates]]], decisions.score[duplicates]
        duplicates = documents[decisions.back[duplicates]]
        order = np.argsort(duplicates)
        return duplicates[order], kept[order], alike[order]


@dataclass(frozen=True)
class Meetings:
    """What the units of MinhashGroups wrote. Documents are numbered in the order of preference from here on.

    documents   (documents,) sorted: all candidates
    place       (documents,) of each in the order of preference
    """

    io: UnitIO
    files: Sequence[str]
    documents: NDArray[np.int64]
    place: NDArray[np.int32]

    def pairs(self) -> NDArray[np.uint64]:
        """(pairs,) all pairs, see `Block.pairs`.

        A pair may be in as many files as there are bands, so repeats are removed before all files are read.
        """
        packed = np.empty(0, np.uint64)
        waiting: list[NDArray[np.uint64]] = []
        for path in self.files:
            arrays = self.io.arrays(path)
            one, other = self.places(arrays["one"]), self.places(arrays["other"])
            waiting.append(_pack(np.maximum(one, other), np.minimum(one, other)))
            if sum(map(len, waiting)) > max(PAIRS, len(packed) // 2):
                packed = _sort_distinct(np.concatenate([packed, *waiting]))
                waiting = []
        return _sort_distinct(np.concatenate([packed, *waiting]))

    def large(self) -> "Meetings":
        """The same without the files that have pairs alone."""
        return replace(self, files=[path for path in self.files if len(self.io.arrays(path)["document"])])

    def of(self, start: int, stop: int, asked: NDArray[np.bool_], later: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """The pairs of some documents among [start, stop) with some leaders, as often as they meet; sorted.

        asked, later   (documents,) which leaders, and which documents
        """
        found = [np.empty(0, np.uint64)]
        for path in self.files:
            arrays = self.io.arrays(path)
            document = arrays["document"]
            # Their places rise, as the documents are in order of preference.
            first, end = (
                bisect_left(range(len(document)), edge, key=lambda i: self.places(document[i : i + 1])[0])
                for edge in (start, stop)
            )
            if first < end:
                leaders = arrays["leaders"]
                table = np.zeros(leaders.shape, np.int32)
                table[leaders >= 0] = self.places(leaders[leaders >= 0])
                wanted = (asked[table] & (leaders >= 0)) @ (1 << np.arange(LEADERS))
                number = self.places(document[first:end])
                mine = np.flatnonzero(later[number])
                number, bucket = number[mine], arrays["bucket"][first:end][mine]
                rows, leader = pairs_of(arrays["mask"][first:end][mine] & wanted.astype(np.uint16)[bucket])
                found.append(_pack(number[rows], table[bucket[rows], leader]))
        return np.sort(np.concatenate(found))

    def leaders(self) -> NDArray[np.bool_]:
        """(documents,) whether each is a leader."""
        leads = np.zeros(len(self.place), bool)
        for path in self.files:
            leaders = self.io.arrays(path)["leaders"]
            leads[self.places(leaders[leaders >= 0])] = True
        return leads

    def places(self, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        return self.place[np.searchsorted(self.documents, documents)]


@dataclass
class Block:
    """The candidate pairs of documents [start, stop) with documents before each.

    pairs        (pairs,) uint64: the later document << 32 | the earlier one, rising
    similarity   (pairs,) NaN where it has not been computed
    """

    start: int
    stop: int
    pairs: NDArray[np.uint64]
    similarity: NDArray[np.float64]

    @property
    def later(self) -> NDArray[np.int32]:
        return (self.pairs >> np.uint64(32)).astype(np.int32)

    @property
    def earlier(self) -> NDArray[np.int32]:
        return (self.pairs & np.uint64(0xFFFFFFFF)).astype(np.int32)

    def insert(self, more: NDArray[np.uint64]) -> None:
        """Add pairs, sorted and distinct, that are not among these."""
        at = np.searchsorted(self.pairs, more)
        self.pairs, self.similarity = np.insert(self.pairs, at, more), np.insert(self.similarity, at, np.nan)


@dataclass
class Decisions:
    """What is decided so far. Documents are numbered in the order of preference.

    blocks        of all documents, in order
    meetings      those that are not among the pairs
    back          (documents,) the candidate that each is
    duplicate_of  (documents,) the one that each is dropped for, -1: it is kept
    score         (documents,) how similar the two are
    met           (documents,) those whose meetings are among the pairs: they were kept when all was decided last
    followed      (documents,) those of which meetings with dropped leaders are among the pairs: they were kept once
    leads         (documents,) whether it is a leader in a meeting
    room          (documents,) of how many more meetings of each pairs are made
    compared, verified
                  how many similarities were computed, and how many of those reach the threshold
    not_verified  meetings with kept leaders of which no pair was made, for MOST
    not_followed  changes that were not followed, for ROUNDS
    """

    blocks: list[Block]
    meetings: Meetings
    sets: "Sets"
    back: NDArray[np.int32]
    threshold: float
    duplicate_of: NDArray[np.int32]
    score: NDArray[np.float64]
    met: NDArray[np.bool_]
    followed: NDArray[np.bool_]
    leads: NDArray[np.bool_]
    room: NDArray[np.uint8]
    compared: int = 0
    verified: int = 0
    not_verified: int = 0
    not_followed: int = 0

    @staticmethod
    def of(meetings: Meetings, sets: "Sets", threshold: float) -> "Decisions":
        number = len(meetings.documents)
        pairs = meetings.pairs()
        # Small ones first: most leaders are decided before most of those that meet them.
        sizes = chain((BLOCK >> k for k in range(6, 0, -1)), repeat(BLOCK))
        starts = list(takewhile(lambda start: start < number, accumulate(sizes, initial=0)))
        edges = np.searchsorted(pairs, np.array(starts, np.uint64) << np.uint64(32)).tolist()
        blocks = [
            Block(start, stop, pairs[first:end].copy(), np.full(end - first, np.nan))
            for (start, stop), (first, end) in zip(pairwise([*starts, number]), pairwise([*edges, len(pairs)]))
        ]
        del pairs
        back = np.empty(number, np.int32)
        back[meetings.place] = np.arange(number, dtype=np.int32)
        large = meetings.large()
        return Decisions(
            blocks,
            large,
            sets,
            back,
            threshold,
            duplicate_of=np.full(number, -1, np.int32),
            score=np.zeros(number),
            met=np.zeros(number, bool),
            followed=np.zeros(number, bool),
            leads=large.leaders(),
            room=np.full(number, MOST, np.uint8),
        )

    def decide(self) -> None:
        """Decide on all documents, with the similarities that this needs."""
        self.duplicate_of[:], self.score[:] = -1, 0
        for block in self.blocks:
            self.decide_block(block)
        self.met |= self.duplicate_of < 0

    def decide_block(self, block: Block) -> None:
        mine = slice(block.start, block.stop)
        kept = self.duplicate_of < 0  # of those within the block it is not known yet, so all their pairs are compared
        met = self.met.copy()
        asked = kept & ~met
        asked[block.start :] = False
        everyone = np.ones(len(kept), bool)
        for _ in range(ROUNDS):
            self.not_verified += self.meet(block, asked, everyone)
            met |= asked
            self.compare(block, kept[block.earlier])
            self.duplicate_of[mine], self.score[mine] = -1, 0
            settle(block.later, block.earlier, block.similarity, self.threshold, self.duplicate_of, self.score)
            # If leaders within the block turn out to be kept, those that meet them are decided anew.
            asked[:] = False
            asked[mine] = (self.duplicate_of[mine] < 0) & ~met[mine]
            if not (asked & self.leads).any():
                break
        else:
            self.not_followed += int(asked.sum())

    def meet(self, block: Block, leaders: NDArray[np.bool_], later: NDArray[np.bool_]) -> int:
        """Make pairs of the meetings of some documents with some leaders; returns for how many there was no room."""
        if not (leaders & self.leads).any() or not later[block.start : block.stop].any():
            return 0
        met = self.meetings.of(block.start, block.stop, leaders, later)
        first = np.flatnonzero(np.append(True, met[1:] != met[:-1])[: len(met)])
        pairs, bands = met[first], np.diff(np.append(first, len(met)))
        new = _absent(pairs, block.pairs)
        pairs, bands = pairs[new], bands[new]
        number = (pairs >> np.uint64(32)).astype(np.int64)
        order = np.lexsort((pairs, -bands, number))  # so that the numbers are as before
        taken = np.arange(len(number)) - np.searchsorted(number, number) < self.room[number]
        used = np.bincount(number[taken] - block.start, minlength=block.stop - block.start)
        self.room[block.start : block.stop] -= used.astype(np.uint8)
        block.insert(np.sort(pairs[order[taken]]))
        return int((~taken).sum())

    def through_duplicates(self, settled: int) -> NDArray[np.uint64]:
        """The pairs that are not among these yet, of a document that is kept, and of what a duplicate that is as
        similar to it is dropped for: the two were not compared.

        settled   documents before this are never dropped
        """
        found = [np.empty(0, np.uint64)]
        for block in self.blocks:
            self.meet(block, self.duplicate_of >= 0, (self.duplicate_of < 0) & ~self.followed)
            later, earlier = block.later, block.earlier
            dropped = self.duplicate_of[later] >= 0, self.duplicate_of[earlier] >= 0
            self.compare(block, dropped[0] != dropped[1])
            which = (dropped[0] != dropped[1]) & (block.similarity >= self.threshold)
            kept = np.where(dropped[0], earlier, later)[which]
            through = self.duplicate_of[np.where(dropped[0], later, earlier)[which]]
            high, low = np.maximum(kept, through), np.minimum(kept, through)
            new = (high != low) & (high >= settled)
            found.append(_sort_distinct(_pack(high[new], low[new])))
        self.followed |= self.duplicate_of < 0
        more = _sort_distinct(np.concatenate(found))
        return np.concatenate([more[:0], *(part[_absent(part, block.pairs)] for block, part in self.by_block(more))])

    def insert(self, more: NDArray[np.uint64]) -> None:
        """Add pairs, sorted and distinct, that are not among these."""
        for block, part in self.by_block(more):
            block.insert(part)

    def by_block(self, pairs: NDArray[np.uint64]) -> Iterator[tuple[Block, NDArray[np.uint64]]]:
        for block in self.blocks:
            first, stop = np.searchsorted(pairs >> np.uint64(32), [block.start, block.stop])
            yield block, pairs[first:stop]

    def compare(self, block: Block, asked: NDArray[np.bool_]) -> None:
        """The similarities of those pairs of a block that are asked for, where they have not been computed."""
        which = np.flatnonzero(asked & np.isnan(block.similarity))
        pairs = np.stack([self.back[block.earlier[which]], self.back[block.later[which]]], axis=1)
        block.similarity[which] = found = self.sets.jaccard(pairs)
        self.compared += len(which)
        self.verified += int((found >= self.threshold).sum())


class Sets(NamedTuple):
    """The distinct n-gram hashes of all candidates, in files: what is read of them is given back at once.

    documents   (candidates,) their numbers, rising
    sizes       (candidates,) int32: of their sets
    first       (files + 1,) index of each file's first candidate
    """

    io: UnitIO
    files: Sequence[str]
    documents: NDArray[np.int64]
    sizes: NDArray[np.int32]
    first: NDArray[np.int64]

    @staticmethod
    def open(io: UnitIO, files: Sequence[str]) -> "Sets":
        first = np.cumsum([0, *(len(io.arrays(path)["documents"]) for path in files)])
        documents, sizes = np.empty(first[-1], np.int64), np.empty(first[-1], np.int32)
        for path, start, end in zip(files, first, first[1:]):
            arrays = io.arrays(path)
            documents[start:end], sizes[start:end] = arrays["documents"], np.diff(arrays["offsets"])
        return Sets(io, files, documents, sizes, first)

    def jaccard(self, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
        """(pairs,) the exact similarity of pairs of candidates, which are given by index and rise, with HASHES in
        memory.

        A document without n-grams is like none: it can only have met itself, read again in a later run.
        """
        similarity = np.zeros(len(pairs))
        # A block's sets are at most those of both sides of its pairs.
        ends = np.cumsum(self.sizes[pairs[:, 0]], dtype=np.int64)
        ends += np.cumsum(self.sizes[pairs[:, 1]], dtype=np.int64)
        cuts = np.searchsorted(ends, np.arange(HASHES, ends[-1] if len(pairs) else 0, HASHES))
        del ends
        for first, stop in pairwise(np.unique([0, *cuts.tolist(), len(pairs)]).tolist()):
            block = pairs[first:stop]
            wanted = _sort_distinct(block.flatten())
            hashes, offsets = self.gather(wanted)
            one, other = (np.searchsorted(wanted, block[:, side]) for side in (0, 1))
            exact = jaccard(one, other, hashes, offsets)
            exact[(self.sizes[block] == 0).any(axis=1)] = 0
            similarity[first:stop] = exact
        return similarity

    def gather(self, wanted: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The sets of some candidates, by rising index."""
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), self.sizes[wanted]]))
        hashes = np.empty(offsets[-1], np.uint64)
        for path, base, end in zip(self.files, self.first, self.first[1:]):
            first, stop = np.searchsorted(wanted, [base, end])
            if first < stop:
                file = self.io.arrays(path)
                take_sets(file["hashes"], file["offsets"], wanted[first:stop] - base, offsets[first : stop + 1], hashes)
        return hashes, offsets


def _pack(later: NDArray[np.int32], earlier: NDArray[np.int32]) -> NDArray[np.uint64]:
    return later.astype(np.uint64) << np.uint64(32) | earlier.astype(np.uint64)


def _absent(numbers: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the numbers are not among the others, which are sorted. (np.isin hashes, see below.)"""
    if not len(others):
        return np.ones(len(numbers), bool)
    at = np.searchsorted(others, numbers)
    at[at == len(others)] = 0  # greater than all, so not equal to the first
    absent: NDArray[np.bool_] = others[at] != numbers
    return absent


def _sort_distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Sort numbers in place; returns the distinct ones. (np.unique hashes, from numpy 2.3 on, and takes 10 times as
    long for millions.)"""
    numbers.sort()
    new = np.ones(len(numbers), bool)
    new[1:] = numbers[1:] != numbers[:-1]
    return numbers[new]


def _distinct_rows(pairs: NDArray[Any]) -> NDArray[Any]:
    """The same of (pairs, 2), as by np.unique along an axis, which compares rows as bytes."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[new]


def _within(numbers: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Those of some sorted numbers."""
    first, last = np.searchsorted(numbers, [start, stop])
    return numbers[first:last]
