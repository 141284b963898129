"""How much of the text that a dedup step has removed survives in no kept document of its cluster: of a sample.

A cluster is a kept document and the duplicates that were dropped for it. A word of one of these survives if a run of n
words that holds it, the n of the step's n-grams, is in the kept document, too. So a word that was changed is one word
lost, where it is n of the document's n-grams (the signal `lost`).
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.report import samples
from corpusmill.report.figures.sampled import wilson
from corpusmill.report.tables import RunTables
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.text.fold import fold
from corpusmill.text.shingles import character_hashes, shingle_hashes

SURVIVAL_SAMPLE = 256  # removed documents of a step that are compared
Unit = Literal["words", "characters"]


@dataclass(frozen=True)
class Survival:
    """Of a dedup step.

    unit       what is counted: words of letters, digits and "_", or such characters; case and accents make no
               difference, numbers do
    ngram      as many in a row have to be in the kept document
    removed    documents that the step dropped
    earlier    of these, those that were dropped for documents of earlier runs: not compared
    compared   of the others, those with the smallest ids, SURVIVAL_SAMPLE at most, see `samples.removed`
    pieces     words or characters of these
    lost       of these, those that do not survive
    interval   of their share, at 95 %; the share itself where all are compared
    """

    step: str
    unit: Unit
    ngram: int
    removed: int
    earlier: int
    compared: int
    pieces: int
    lost: int
    interval: tuple[float, float]

    @property
    def share(self) -> float:
        return self.lost / self.pieces if self.pieces else 0.0

    @property
    def is_sample(self) -> bool:
        return self.compared < self.removed - self.earlier

    def to_json(self) -> dict[str, Any]:
        low, high = self.interval
        return {**asdict(self), "share": round(self.share, 6), "interval": [round(low, 6), round(high, 6)]}


def survival(tables: RunTables) -> list[Survival]:
    """Every step of a run that dropped duplicates of documents, in order."""
    figures = []
    for number, (stage, labels) in enumerate(tables.passes):
        reasons = tables.files.facts(stage).get("reasons", {})
        columns = tables.columns(number)
        for step in labels:
            by_source = reasons.get(step, {}).values()
            removed = sum(sum(counts.values()) for counts in by_source)
            if not removed or f"{step}.duplicate_of" not in columns:
                continue
            earlier = sum(counts.get("against", 0) for counts in by_source)
            used = tables.steps.get(step)
            compared_as = used if isinstance(used, Minhash) else Minhash()
            pairs = samples.removed(tables, step, SURVIVAL_SAMPLE)
            texts = [pa.array([pair[side] for pair in pairs], pa.large_string()) for side in (0, 1)]
            lost, pieces = not_surviving(texts[0], texts[1], compared_as.unit, compared_as.ngram)
            interval = share_interval(lost, pieces, len(pairs) < removed - earlier)
            counted = len(pairs), int(pieces.sum()), int(lost.sum())
            figures.append(Survival(step, compared_as.unit, compared_as.ngram, removed, earlier, *counted, interval))
    return figures


def not_surviving(
    removed: pa.LargeStringArray, kept: pa.LargeStringArray, unit: Unit, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(pairs,) the words or characters of each removed text that are in no n in a row which the kept text has, too; and
    all that it has. A text with fewer than n survives whole, or not at all: as one n-gram."""
    hashes_of = shingle_hashes if unit == "words" else character_hashes
    folded = fold(removed, numbers=False, gaps="symbols")
    hashes, offsets = hashes_of(folded, n)
    kept_hashes, kept_offsets = hashes_of(fold(kept, numbers=False, gaps="symbols"), n)
    if unit == "words":
        pieces = pc.add(pc.count_substring(folded, " "), pc.cast(pc.not_equal(folded, ""), pa.int64())).to_numpy()
    else:
        pieces = pc.utf8_length(folded).to_numpy()
    lost = np.zeros(len(folded), np.int64)
    for d, size in enumerate(pieces.tolist()):
        own = hashes[offsets[d] : offsets[d + 1]]
        # Not by a table: NumPy 2.0.0 overflows where all hashes are close to each other, as one alone is.
        is_kept = np.isin(own, kept_hashes[kept_offsets[d] : kept_offsets[d + 1]], kind="sort")
        # A piece is in an n-gram that survives if more of these have begun than have ended.
        begin = np.flatnonzero(is_kept)
        steps = np.zeros(len(own) + n, np.int64)
        steps[begin] += 1
        steps[begin + n] -= 1
        lost[d] = size - int((np.cumsum(steps)[:size] > 0).sum())
    return lost, pieces


def share_interval(lost: NDArray[np.int64], pieces: NDArray[np.int64], is_sample: bool) -> tuple[float, float]:
    """The interval at 95 % of the share of pieces that are lost, of a random sample of documents.

    It is Wilson's with the effective size of the sample (Korn and Graubard 1998, Survey Methodology 24, 193): as many
    independent pieces as have a share that varies as much as the ratio estimator does. Where no document loses any, or
    each all, that is the number of documents, less what differences of their sizes cost (Kish 1965).
    """
    total = int(pieces.sum())
    share = int(lost.sum()) / total if total else 0.0
    if not is_sample or not total:
        return share, share
    count = len(pieces)
    residuals = lost - share * pieces
    variance = count / max(count - 1, 1) * float((residuals**2).sum()) / total**2
    kish = total**2 / float((pieces.astype(np.float64) ** 2).sum())
    return wilson(share, share * (1 - share) / variance if variance > 0 and 0 < share < 1 else kish)
