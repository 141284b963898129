from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.keys import Keys, Signed
from corpusmill.steps.dedup._stages import near_stages
from corpusmill.text.fold import fold
from corpusmill.text.shingles import shingle_hashes
from corpusmill.text.sketch import band_keys, sketch
from corpusmill.units import Stage


@dataclass(frozen=True, kw_only=True)
class Minhash:
    """Drop documents that are nearly the same as one that stays.

    A document is the set of its word n-grams after folding (case, punctuation, accents and the values of numbers are
    ignored); one with fewer than `ngram` words is one n-gram as a whole, and an empty one has no twins. Its sketch
    has `bands` * `rows` lanes (Fast Similarity Sketching, Dahlgaard et al. 2017, arXiv:1704.04370); two documents of
    Jaccard similarity s meet in at least one band with probability 1 - (1 - s**rows)**bands, which for 14 x 8 is
    0.92 at 0.8 and 0.9995 at 0.9 (Broder 1997; Leskovec et al., Mining of Massive Datasets, 3.4).

    Those that meet are candidates, and no more: a document is dropped only when the exact Jaccard similarity of its
    n-grams with a document that stays is at least `threshold`. There are no chains. The earliest copy stays (sources
    in recipe order, files by name, documents by position); each removal keeps its twin's id and their similarity.
    """

    keyed_by: ClassVar[tuple[str, ...]] = ("ngram", "bands", "rows")

    ngram: int = 5  # words
    bands: int = 14
    rows: int = 8
    threshold: float = 0.8  # Jaccard similarity

    def __post_init__(self) -> None:
        if min(self.ngram, self.bands, self.rows) < 1:
            raise RecipeError(f"need ngram, bands, rows >= 1, got {self.ngram}, {self.bands}, {self.rows}")
        if not 0 < self.threshold <= 1:
            raise RecipeError(f"need 0 < threshold <= 1, got {self.threshold}")

    def keys(self, docs: pa.RecordBatch) -> Keys:
        hashes, offsets = shingle_hashes(fold(docs["text"]), self.ngram)
        lanes = sketch(hashes, offsets, self.bands * self.rows)
        bands = band_keys(lanes, self.bands)
        empty = np.flatnonzero(np.diff(offsets) == 0)
        bands[empty] = _lonely(docs, empty, self.bands)
        return Keys(bands=bands, arrays={"sketch": (lanes & np.uint64(0xFFFF)).astype(np.uint16)})

    def stages(self, signed: Signed) -> list[Stage]:
        return near_stages(signed, self.ngram, self.bands, self.rows, self.threshold)


def _lonely(docs: pa.RecordBatch, rows: np.ndarray, bands: int) -> np.ndarray:
    """Keys for documents without n-grams that meet nothing: taken from their ids, which differ."""
    ids = docs["id"].take(pa.array(rows))
    keys = np.array([int(i[:16], 16) for i in ids.to_pylist()], np.uint64)
    return np.repeat(keys[:, None], bands, axis=1)
