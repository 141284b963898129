from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill import assets
from corpusmill.errors import RecipeError
from corpusmill.models.kenlm import SUFFIXES, KenLM
from corpusmill.models.ngram import NgramModel
from corpusmill.steps import Columns
from corpusmill.text.fold import fold

LINE = 5  # words of a line that can be the worst: shorter ones are headings and names


@dataclass(frozen=True, kw_only=True)
class Perplexity:
    """Say how unexpected each document is to an n-gram language model: low is like what the model was trained on.

    Every line is a sentence, its words after folding (case, punctuation, accents and the values of numbers are ignored).
    Signals: `value`, the perplexity 10 ** (-log10 p / words), ends of lines counted as words; `words`; `worst`, the
    highest perplexity of a line of 5 words or more; `bad`, the share of words in lines above `line_limit`; all null for
    a document without a word. With `cutoffs: [low, high]` also `bucket`: "head" up to low, "tail" above high, else
    "middle". CCNet takes the 30th and 60th percentile of a language; `corpusmill sql` finds them, or filter/top keeps
    the part with the lowest values exactly. For several languages use a step a language, with a model each.

    `corpusmill train lm` makes models. Files of KenLM (.arpa, .klm, .binary) need the extra `kenlm`; their words are
    looked up as folded here.

    Source: Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.3; Chen and Goodman 1999 for the model
    """

    model: str
    cutoffs: tuple[float, float] | None = None
    line_limit: float = 10_000.0

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.cutoffs is not None and not 0 < self.cutoffs[0] <= self.cutoffs[1]:
            raise RecipeError(f"cutoffs is [low, high] with 0 < low <= high, got {list(self.cutoffs)}")
        if not self.line_limit > 0:
            raise RecipeError(f"need line_limit > 0, got {self.line_limit}")
        self._model()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        lines, document = sentences(docs["text"])
        log, words = self._model().score(lines)
        counted = words + 1
        documents = len(docs)
        total = np.bincount(document, counted, documents)
        mean = np.bincount(document, log, documents) / np.maximum(total, 1)
        none = total == 0
        by_line = 10 ** np.minimum(-log / counted, 300)
        value = 10 ** np.minimum(-mean, 300)
        worst = np.zeros(documents)
        long = words >= LINE
        np.maximum.at(worst, document[long], by_line[long])
        bad = np.bincount(document, np.where(by_line > self.line_limit, counted, 0), documents) / np.maximum(total, 1)
        columns = {
            "value": pa.array(value, mask=none),
            "words": pa.array(np.bincount(document, words, documents).astype(np.int64)),
            "worst": pa.array(worst, mask=worst == 0),
            "bad": pa.array(bad, mask=none),
        }
        if self.cutoffs:
            bucket = np.searchsorted(np.array(self.cutoffs), value, "left")
            names = pa.array(["head", "middle", "tail"], pa.string())
            columns["bucket"] = names.take(pa.array(bucket, mask=none))
        return columns

    @property
    def assets(self) -> tuple[str, ...]:
        return (self.model,)

    def _model(self) -> NgramModel | KenLM:
        if self.model.endswith(SUFFIXES):
            return assets.load(self.model, KenLM.load)
        return assets.load(self.model, NgramModel.load)


def sentences(texts: pa.LargeStringArray) -> tuple[pa.LargeStringArray, np.ndarray]:
    """The lines of texts, folded, without those that have no word, and (sentences,) the text of each."""
    lines = pc.split_pattern(pc.fill_null(texts, ""), "\n")
    folded = fold(lines.flatten())
    there = pc.not_equal(folded, pa.scalar("", pa.large_string()))
    parents = pc.list_parent_indices(lines).filter(there)
    return folded.filter(there), parents.to_numpy(zero_copy_only=False).astype(np.int64)
