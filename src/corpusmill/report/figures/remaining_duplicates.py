"""Duplicates that are left in the output: exact ones in all of it, near-duplicates in a sample."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.engine.work.pass_documents import HASH
from corpusmill.report.figures.sampled import Share, TextSample
from corpusmill.report.tables import RunTables
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.store.tables import read_table
from corpusmill.text.buckets import distinct
from corpusmill.text.sketch import band_keys, sketch

MAX_COMPARED_HASHES = 20_000_000  # hashes that are compared: 160 MB
NEAR_NGRAM_WORDS, NEAR_SIMILARITY = 5, 0.8  # words; Jaccard similarity: the defaults of dedup/minhash
SHINGLINGS = Minhash(ngram=NEAR_NGRAM_WORDS, threshold=NEAR_SIMILARITY).shinglings
SKETCH_BANDS, ROWS_PER_BAND = 28, 4  # finds 99.99 % of the pairs at 0.8


@dataclass(frozen=True)
class RemainingDuplicates:
    """What is left.

    documents   of the output
    compared    of these, the ones with the smallest hashes of their texts, which were compared: all if there are no
                more than MAX_COMPARED_HASHES. Equal texts have equal hashes, so the share of duplicates is that of all
    exact       of `compared`, those that are equal to another one before
    near        of the sample, documents that are near-duplicates of another one before in the sample. Of a sample of
                a larger output that is the least there is: most pairs are not in it together. None without a sample
    """

    documents: int
    compared: int
    exact: int
    near: Share | None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "near": self.near.to_json() if self.near else None}


def remaining_duplicates(tables: RunTables, sample: TextSample | None) -> RemainingDuplicates | None:
    """None of a run by a version that kept no hashes of the output."""
    files = tables.files.paths("docs", len(tables.passes) - 1) if tables.passes else []
    if not files or HASH not in pq.read_schema(files[0]).names:
        return None
    documents = tables.files.waterfall().documents_out
    # Hashes are spread evenly, so a bound on them keeps about so many of each file.
    bound = np.uint64(min(int(MAX_COMPARED_HASHES / max(documents, 1) * 2.0**64), 2**64 - 1))
    read = (read_table(path, columns=[HASH])[HASH].to_numpy() for path in files)
    parts = [hashes[hashes <= bound] for hashes in read]
    hashes = np.sort(np.concatenate(parts))
    exact = int((hashes[1:] == hashes[:-1]).sum())
    near_share = None
    if sample and len(sample.texts["output"]):
        is_near_duplicate = near_duplicates(sample.texts["output"])
        near_share = sample.share("output", pa.array(is_near_duplicate))
    return RemainingDuplicates(documents, len(hashes), exact, near_share)


def near_duplicates(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(documents,) whether a text has a Jaccard similarity of SIMILAR or more, in both ways to compare, with one before
    it that is no near-duplicate itself. Texts without words are not compared."""
    sets: list[list[NDArray[np.uint64]]] = []
    for shingling in SHINGLINGS:
        hashes, offsets = shingling.hashes(texts)
        if not sets:
            keys = band_keys(sketch(hashes, offsets, SKETCH_BANDS * ROWS_PER_BAND), SKETCH_BANDS)
        members, starts = distinct(hashes, offsets)
        sets.append([members[start:stop] for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist())])
    shingle_sets = list(zip(*sets))
    is_duplicate = np.zeros(len(texts), bool)
    buckets: dict[int, list[int]] = {}
    for document, own in enumerate(shingle_sets):
        if not all(map(len, own)):
            continue
        candidates: dict[int, None] = {}
        for key in keys[document].tolist():
            candidates |= dict.fromkeys(buckets.get(key, ()))
        is_duplicate[document] = any(all(map(_similar, own, shingle_sets[candidate])) for candidate in candidates)
        # One of a group of duplicates stands for all of them.
        for key in () if is_duplicate[document] else keys[document].tolist():
            buckets.setdefault(key, []).append(document)
    return is_duplicate


def _similar(shingles: NDArray[np.uint64], other_shingles: NDArray[np.uint64]) -> bool:
    both = len(np.intersect1d(shingles, other_shingles, assume_unique=True))
    return both / (len(shingles) + len(other_shingles) - both) >= NEAR_SIMILARITY
