"""Which near-duplicates are dropped, for which: a unit decides on whole clusters of candidates, see _links.py."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpusmill.steps.corpus import key_files, preference
from corpusmill.steps.dedup._compare import Comparison, NgramSets, Rejected
from corpusmill.steps.dedup._decisions import CandidateOrder, Decisions, Meetings
from corpusmill.steps.dedup._duplicates import write_decided
from corpusmill.steps.dedup._links import members
from corpusmill.steps.keys import KeyStage
from corpusmill.steps.sorted_numbers import sort_distinct
from corpusmill.store.facts import add
from corpusmill.store.unit_io import UnitIO


@dataclass(frozen=True)
class ClusterUnit:
    """Those that are given to a unit."""

    unit: int


@dataclass(frozen=True)
class MinhashDecide:
    """Which documents are dropped, for which.

    Documents are decided in order of preference: each is dropped for the most similar of its candidates that are kept,
    the preferred of equals, if the two are at least as similar as the threshold. One that is kept and as similar to a
    candidate that is dropped is then compared with what that is dropped for, and its cluster is decided anew with these
    pairs, until there are no more of them, or ROUNDS times.

    A similarity decides nothing if both documents are dropped, and in a large bucket most are. So those of pairs are
    computed when they are needed, and of the leaders that a document after the first FULL of a bucket meets, only those
    that are kept are its candidates: MOST of them at most, those that it meets in most bands, and of equals the
    preferred ones. So the work is linear in the number of documents, however large a bucket is; what was not compared
    is counted.
    """

    keys: KeyStage
    ways: int  # in which documents are compared
    threshold: float
    most_lost: float

    def run(self, inputs: ClusterUnit, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        label = self.keys.label
        documents, clusters = members(io, f"{label}-links", inputs.unit)
        sets = NgramSets.open(io, io.results(f"{label}-shingles")["shingles"], files.starts, documents, self.ways)
        comparison = Comparison(sets, self.threshold, self.most_lost)
        order = CandidateOrder.of(preference(io, files, documents), clusters, documents < files.own)
        del clusters
        routes = io.results(f"{label}-routes")["routes"].paths.to_pylist()
        decisions = Decisions.of(Meetings.open(io, routes, inputs.unit, documents, order), comparison)
        if added := decisions.decide_all():
            add(io.facts, "through_duplicates", count=added)
        io.facts["candidates"] = sum(len(block.pairs) for block in decisions.blocks)
        io.facts["compared"], io.facts["verified"] = decisions.compared, decisions.verified
        io.facts["not_verified"], io.facts["not_followed"] = decisions.not_verified, decisions.not_followed
        decisions.blocks.clear()
        found = np.flatnonzero(decisions.duplicate_of >= 0)
        pairs = order.back[np.stack([decisions.duplicate_of[found], found], axis=1)]
        alike = decisions.score[found]
        by_document = np.argsort(pairs[:, 1])
        pairs, alike = pairs[by_document], alike[by_document]
        _, lost = sets.compare(pairs)
        kept, dropped = documents[pairs].T
        write_decided(io, files.own, dropped, kept, sets.ids, alike, lost)
        write_rejected(io, sets, decisions.rejected)


REJECTED = pa.schema(
    [
        ("id", pa.string()),  # of the document that would have been dropped
        ("duplicate_of", pa.string()),  # and of the one for which
        ("similarity", pa.float64()),
        ("lost", pa.float64()),
        ("hash", pa.uint64()),  # those with the smallest ones of all units are a sample of all
    ]
)


def write_rejected(io: UnitIO, sets: NgramSets, rejected: Rejected) -> None:
    """A sample of the pairs that were compared and did not pass, for the report."""
    numbers = sort_distinct(rejected.documents.flatten())
    names = np.array([bytes(each).hex() for each in sets.ids(numbers)], object)
    kept, dropped = (names[np.searchsorted(numbers, side)] for side in rejected.documents.T)
    pairs = np.searchsorted(sets.documents, rejected.documents).astype(np.int32)
    similarity, lost = sets.compare(pairs)
    columns = (dropped, kept, similarity, lost, rejected.hashes)
    made = [pa.array(values.tolist(), field.type) for values, field in zip(columns, REJECTED)]
    io.write("rejected", pa.record_batch(made, schema=REJECTED))
