import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.dedup._emptied import site_array
from corpusmill.steps.dedup._keep import check_keep, needs, ranks
from corpusmill.steps.dedup._near import near_stages
from corpusmill.steps.dedup._sketches import SKETCH_HASH
from corpusmill.steps.keys import NEAR_DUPLICATES, Keys, KeyStage
from corpusmill.store.work import Stage
from corpusmill.text.shingles import Shingling
from corpusmill.text.sketch import band_keys, packed, sketch, sketch_hashes
from corpusmill.text.unicode import Gaps

FOLDING = ("numbers", "case", "punctuation")
CHOICES = {
    "unit": ("words", "characters"),
    "numbers": ("keep", "fold"),
    "case": ("fold", "keep"),
    "punctuation": ("both", "keep", "drop"),
    "rule": ("similar", "contained"),
}
MAX_NGRAM = 1000  # words or characters: a document of fewer is one n-gram
MAX_LANES = 128  # of the sketch, where bands and rows are solved
TARGET_RECALL = 0.975  # of pairs at the threshold, that they are solved for
LOW_RECALL = 0.9  # below this, so many pairs are missed that the run says so


@dataclass(frozen=True, kw_only=True)
class Minhash:
    """Drop near-duplicates: documents that are nearly the same as one that is kept.

    Two documents are near-duplicates if the Jaccard similarity of their sets of n-grams is `threshold` or more, both
    with words at white space, punctuation included, and with words of letters, digits and "_" alone; the lower of the
    two is recorded. `{numbers: fold, punctuation: drop}` folds as datatrove's MinHash does: then 3.14 and 2 are equal.
    A document with fewer than `ngram` words is one n-gram.

    Documents that meet in a band are candidates, and each is verified: it is dropped only if its exact similarity with
    a document that is kept is at least `threshold`. With `rule: contained` it must also lose no more than `most_lost`,
    the share of its n-grams that the kept one lacks (`lost`). `keep` chooses which of two is kept: the "first" (sources
    in recipe order, files by name, documents by position), "longest", "newest", "oldest", or the one with the highest
    value of a signal of an earlier step, as in `keep: quality.score` ("-perplexity.value": the lowest). Of equals the
    first is kept. With `against`, near-duplicates of what an earlier run kept are dropped, too.

    Documents of similarity s meet with probability 1 - (1 - s**rows)**bands:

        s        0.5     0.6     0.7     0.75    0.8     0.85    0.9     0.95
        16 x 7   0.1179  0.3651  0.7472  0.8990  0.9769  0.9979  1.0000  1.0000
        14 x 8   0.0533  0.2111  0.5645  0.7716  0.9235  0.9884  0.9996  1.0000
        20 x 7   0.1452  0.4333  0.8207  0.9430  0.9910  0.9996  1.0000  1.0000
        9 x 13   0.0011  0.0117  0.0839  0.1946  0.3988  0.6864  0.9286  0.9985

    `bands` and `rows` are solved from `threshold` unless they are given: the most rows for which a pair at the
    threshold meets with probability 0.975, in 128 lanes at most: 16 x 7 for 0.8, 21 x 5 for 0.7. A run says this
    probability, and warns below 0.9.

    Signals: `duplicate_of`, `similarity`, `lost`; `cluster_id` and `cluster_size` of the kept document and its
    duplicates. With `mark` nothing is dropped.

    Source: Fast Similarity Sketching, Dahlgaard et al. 2017, arXiv:1704.04370; Broder 1997; Leskovec et al., Mining of
    Massive Datasets, 3.4
    """

    verdict: ClassVar[pa.Schema] = NEAR_DUPLICATES
    default_signals: ClassVar[Mapping[str, Any]] = {"cluster_size": 1}
    key_parameters: ClassVar[tuple[str, ...]] = ("ngram", "unit", *FOLDING, "bands", "rows", "keep")
    reads_text: ClassVar[bool] = True
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1

    ngram: int = 5
    unit: Literal["words", "characters"] = "words"  # what an n-gram is made of
    numbers: Literal["keep", "fold"] = "keep"  # fold: each is 0
    case: Literal["fold", "keep"] = "fold"  # fold: lower case, without accents
    punctuation: Literal["both", "keep", "drop"] = "both"  # drop: is white space; both: compared twice, see above
    bands: int | None = None  # null: solved from the threshold
    rows: int | None = None  # of a band; null: solved from the threshold
    threshold: float = 0.8  # Jaccard similarity
    rule: Literal["similar", "contained"] = "similar"  # contained: and no more than `most_lost` is lost
    most_lost: float = 0.02  # share of a document's n-grams; with `rule: contained`
    keep: str = "first"
    against: str | tuple[str, ...] = ()  # folders of earlier runs, or of indexes
    mark: bool = False

    def __post_init__(self) -> None:
        if any(n is not None and n < 1 for n in (self.ngram, self.bands, self.rows)):
            raise RecipeError(f"need ngram, bands, rows >= 1, got {self.ngram}, {self.bands}, {self.rows}")
        if self.ngram > MAX_NGRAM:
            raise RecipeError(f"ngram is at most {MAX_NGRAM:,}, got {self.ngram:,}")
        if not 0 < self.threshold <= 1:
            raise RecipeError(f"need 0 < threshold <= 1, got {self.threshold}")
        for name, choices in CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                listed = " or ".join(f'"{choice}"' for choice in choices)
                raise RecipeError(f'{name} is {listed}, got "{value}"{did_you_mean(str(value), choices)}')
        if not 0 <= self.most_lost <= 1:
            raise RecipeError(f"need 0 <= most_lost <= 1, got {self.most_lost}")
        check_keep(self.keep)

    @property
    def solved_parameters(self) -> Mapping[str, Any]:
        bands, rows = self.shape
        return {"bands": bands, "rows": rows}

    @property
    def remarks(self) -> tuple[str, ...]:
        bands, rows = self.shape
        recall = collision_probability(self.threshold, bands, rows)
        remark = f"two documents of similarity {self.threshold:g} meet with probability {recall:.2f}"
        remark += f" ({bands} bands × {rows} rows)"
        if recall >= LOW_RECALL:
            return (remark,)
        missed = f"so {1 - recall:.0%} of such pairs are missed"
        if self.bands is not None or self.rows is not None:  # as published recipes have it: chosen, and no mistake
            best = collision_probability(self.threshold, *solve(self.threshold))
            return (f"{remark}, {missed}, as its bands and rows ask for; without them the probability is {best:.2f}",)
        enough = math.ceil(math.log1p(-TARGET_RECALL) / math.log1p(-self.threshold))
        return (f"warning: {remark}, {missed}; give it a higher threshold, or rows: 1 and bands: {enough}",)

    @property
    def needs(self) -> tuple[str, ...]:
        return needs(self.keep)

    @property
    def shape(self) -> tuple[int, int]:
        """Bands and rows."""
        return solve(self.threshold, self.bands, self.rows)

    @property
    def shinglings(self) -> tuple[Shingling, ...]:
        """The ways in which documents are compared; keys are made by the first.

        With punctuation comes first: two documents that are equal so are equal without it, too, so one that has met its
        equal need not be compared with others (`high` of `buckets.candidate_pairs`).
        """
        gaps: dict[str, tuple[Gaps, ...]] = {"both": ("space", "symbols"), "keep": ("space",), "drop": ("punctuation",)}
        numbers, case = self.numbers == "fold", self.case == "fold"
        return tuple(Shingling(self.ngram, self.unit, numbers, case, gap) for gap in gaps[self.punctuation])

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        bands, rows = self.shape
        hashes, offsets = self.shinglings[0].hashes(docs["text"])
        lanes = sketch(hashes, offsets, bands * rows)
        keys = band_keys(lanes, bands)
        empty = np.flatnonzero(np.diff(offsets) == 0)
        keys[empty] = unique_keys(docs, empty, bands)
        return Keys(
            keys,
            {
                "sketch": packed(lanes),
                SKETCH_HASH: sketch_hashes(lanes.astype(np.uint16)),
                **site_array(docs["url"]),
                **ranks(self.keep, docs, signals),
            },
            short=True,
        )

    def stages(self, keys: KeyStage) -> list[Stage]:
        most_lost = self.most_lost if self.rule == "contained" else 1.0
        return near_stages(keys, self.shinglings, self.shape, self.threshold, most_lost, self.mark)


def collision_probability(similarity: float, bands: int, rows: int) -> float:
    """The probability that two documents of this similarity share a band.

    >>> round(collision_probability(0.8, 16, 7), 4)
    0.9769
    """
    return 1 - (1 - similarity**rows) ** bands


def solve(threshold: float, bands: int | None = None, rows: int | None = None) -> tuple[int, int]:
    """The bands and rows for a threshold; those that are given are kept.

    The most rows for which a pair at the threshold meets with probability TARGET_RECALL, and as few bands for that as
    suffice, with MAX_LANES lanes at most; where that cannot be, the most bands of the fewest rows.

    >>> solve(0.8), solve(0.5), solve(1.0)
    ((16, 7), (28, 3), (1, 128))
    >>> solve(0.7, bands=10), solve(0.7, rows=4), solve(0.7, 16, 7)
    ((10, 3), (14, 4), (16, 7))
    """
    best = (bands or max(MAX_LANES // (rows or 1), 1)), (rows or 1)
    for count in range(1, MAX_LANES + 1) if rows is None else (rows,):
        equal_rows = threshold**count
        enough = math.ceil(math.log(1 - TARGET_RECALL) / math.log1p(-equal_rows)) if equal_rows < 1 else 1
        if max(enough, bands or 1) * count > MAX_LANES or (bands is not None and enough > bands):
            break
        best = bands or enough, count
    return best


def unique_keys(docs: pa.RecordBatch, rows: NDArray[np.int64], bands: int) -> NDArray[np.uint64]:
    """Keys for documents without n-grams that no other shares: taken from their ids, which differ."""
    ids = docs["id"].take(pa.array(rows))
    keys = np.array([int(i[:16], 16) for i in ids.to_pylist()], np.uint64)
    return np.repeat(keys[:, None], bands, axis=1)
