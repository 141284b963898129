"""How well does an n-gram language model predict a document?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.assets.extras import KENLM, Extra
from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.models.kenlm import SUFFIXES, KenLM
from corpusmill.models.language import Identifier
from corpusmill.models.ngram import NgramModel, SentenceScores
from corpusmill.models.wide import LID_176
from corpusmill.steps import Columns
from corpusmill.text.fold import fold

PROSE_EN = "prose-en"  # the model that ships: English prose
SCALE = 2.0**24  # of logarithms, as whole numbers
ALONE = 0.5  # share of the surprise of words alone that `disorder` takes off; none would be perplexity, all the gain
NONE = SentenceScores(np.empty(0), np.empty(0), np.empty(0, np.int64))
LINE = 5  # words, the least for the worst line: shorter lines are headings and names


@dataclass(frozen=True, kw_only=True)
class Perplexity:
    """Score perplexity under an n-gram language model: low means similar to the text that the model was trained on.

    Without `model` and `models`, a model of English prose is used that ships ("prose-en"). Every line is a sentence;
    case, punctuation, accents and the values of numbers are ignored. Signals, None for a document without words:

        value         perplexity per word, 10 ** (-log10 p / words), ends of lines counted as words
        words         how many
        gain          mean of log10 p(word | words before) - log10 p(word): low for words in no order
        disorder      value / sqrt(perplexity if each word stood alone): high for words in no order and garbled ones,
                      and less than `value` a matter of the topic
        worst         highest perplexity of a line of 5 words or more
        worst_window  of consecutive lines with `window` words or more; None for a shorter document
        bad           share of words in lines above `line_limit`
        bucket        with `cutoffs: [low, high]`: "head" up to low, "tail" above high, else "middle"

    CCNet cuts at the 30th and 60th percentile. `models` gives languages models, and `low` and `high` cutoffs, of their
    own; lid.176 identifies the language. Other languages are scored by `model`, if there is one. `corpusmill train lm`
    makes models. KenLM files (.arpa, .klm, .binary) need the extra `kenlm`.

    Source: Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.3; Chen and Goodman 1999
    """

    model: str | None = None  # prose-en, which ships, unless models has others
    models: tuple[tuple[str, str], ...] = ()  # by language
    cutoffs: tuple[float, float] | None = None  # up to the first is "head", above the second "tail"
    low: tuple[tuple[str, float], ...] = ()  # by language, instead of the first of `cutoffs`
    high: tuple[tuple[str, float], ...] = ()  # and of the second
    line_limit: float = 10_000.0  # perplexity above which a line counts as bad
    window: int = 100  # words, ends of lines counted

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in ("models", "low", "high"):
            object.__setattr__(self, name, tuple(sorted(dict(getattr(self, name)).items())))
        labels = Identifier(model=LID_176).labels()
        for name in ("models", "low", "high"):
            for language, _ in getattr(self, name):
                if language not in labels:
                    hint = did_you_mean(language, labels) or "."
                    raise RecipeError(f'{name} has "{language}", which {LID_176} does not know{hint}')
                if name != "models" and language not in dict(self.models):
                    raise RecipeError(f'{name} has "{language}", for which there is no model in models')
        for cutoffs in (self.cutoffs, *(self._cutoffs(language) for language, _ in self.models)):
            if cutoffs is not None and not 0 < cutoffs[0] <= cutoffs[1]:
                raise RecipeError(f"cutoffs is [low, high] with 0 < low <= high, got {list(cutoffs)}")
        if not self.line_limit > 0 or self.window < 1:
            raise RecipeError(f"need line_limit > 0 and window >= 1, got {self.line_limit} and {self.window}")
        for name in self.assets:
            if name.endswith(SUFFIXES) and KENLM.missing:
                assets.locate(name)  # a run asks for the library first
            elif name not in assets.manifest():
                load(name)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        texts = docs["text"]
        if not self.models:
            return self._scored(texts, self.model or PROSE_EN, self.cutoffs)
        label = Identifier(model=LID_176).columns(texts)["label"]
        language = pc.fill_null(
            pc.index_in(label, value_set=pa.array(dict(self.models), pa.string())), len(self.models)
        )
        numbers = language.to_numpy(zero_copy_only=False)
        parts, rows = [], []
        models = [(model, self._cutoffs(name)) for name, model in self.models] + [(self.model, self.cutoffs)]
        for number, (model, cutoffs) in enumerate(models):
            rows.append(np.flatnonzero(numbers == number))
            parts.append(self._scored(texts.take(pa.array(rows[-1])), model, cutoffs))
        back = pa.array(np.argsort(np.concatenate(rows), kind="stable"))
        return {name: pa.concat_arrays([part[name] for part in parts]).take(back) for name in parts[0]}

    def _cutoffs(self, language: str) -> tuple[float, float] | None:
        low, high = self.cutoffs or (None, None)
        low, high = dict(self.low).get(language, low), dict(self.high).get(language, high)
        if low is None and high is None:
            return None
        if low is None or high is None:
            raise RecipeError(f"{language} has only one of its two cutoffs: give both low and high, or cutoffs for all")
        return low, high

    def _scored(self, texts: pa.LargeStringArray, model: str | None, cutoffs: tuple[float, float] | None) -> Columns:
        """The signals of these texts; all null without a model."""
        if model is None:
            texts = pa.nulls(len(texts), pa.large_string())
        lines, document = sentences(texts)
        # A model that does not ship is loaded for no lines, too: it may be damaged.
        needed = model is not None and (len(lines) or model not in assets.manifest())
        log, alone, words = load(model).score(lines) if model and needed else NONE
        counted = words + 1
        documents = len(texts)
        total = np.bincount(document, counted, documents)
        mean = np.bincount(document, log, documents) / np.maximum(total, 1)
        mean_alone = np.bincount(document, alone, documents) / np.maximum(total, 1)
        none = total == 0
        by_line = 10 ** np.minimum(-log / counted, 300)
        value = 10 ** np.minimum(-mean, 300)
        worst = np.zeros(documents)
        long = words >= LINE
        np.maximum.at(worst, document[long], by_line[long])
        bad = np.bincount(document, np.where(by_line > self.line_limit, counted, 0), documents) / np.maximum(total, 1)
        windows = self._windows(log, counted, document, documents)
        columns = {
            "value": pa.array(value, mask=none),
            "words": pa.array(np.bincount(document, words, documents).astype(np.int64)),
            "gain": pa.array(mean - mean_alone, mask=none),
            "disorder": pa.array(10 ** np.minimum(ALONE * mean_alone - mean, 300), mask=none),
            "worst": pa.array(worst, mask=worst == 0),
            "worst_window": pa.array(windows, mask=windows == 0),
            "bad": pa.array(bad, mask=none),
        }
        if self.cutoffs or self.low:
            names = pa.array(["head", "middle", "tail"], pa.string())
            bucket = np.searchsorted(np.array(cutoffs or (0.0, 0.0)), value, "left")
            columns["bucket"] = names.take(pa.array(bucket, mask=none | (cutoffs is None)))
        return columns

    def _windows(
        self, log: NDArray[np.float64], counted: NDArray[np.int64], document: NDArray[np.int64], documents: int
    ) -> NDArray[np.float64]:
        """(documents,) the highest perplexity of a window, 0 where none is long enough.

        A window begins at a line and ends with the one that brings it to `window` words.
        """
        # Whole numbers, so that the documents before one in the batch do not change the last digits of its sums.
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.rint(log * SCALE).astype(np.int64))])
        words = np.concatenate([np.zeros(1, np.int64), np.cumsum(counted)])
        end = np.searchsorted(words, words[:-1] + self.window)
        begin = np.flatnonzero(end < len(words))
        begin = begin[document[end[begin] - 1] == document[begin]]
        end = end[begin]
        mean = (sums[end] - sums[begin]) / SCALE / (words[end] - words[begin])
        highest = np.zeros(documents)
        np.maximum.at(highest, document[begin], 10 ** np.minimum(-mean, 300))
        return highest

    @property
    def extras(self) -> tuple[Extra, ...]:
        return (KENLM,) if any(name.endswith(SUFFIXES) for name in self.assets) else ()

    @property
    def assets(self) -> tuple[str, ...]:
        models = (*([self.model] if self.model else []), *(model for _, model in self.models))
        return models or (PROSE_EN,)


def load(model: str) -> NgramModel | KenLM:
    if model.endswith(SUFFIXES):
        return assets.load(model, KenLM.load)
    return assets.load(model, NgramModel.load)


def sentences(texts: pa.LargeStringArray) -> tuple[pa.LargeStringArray, np.ndarray]:
    """The folded lines of all texts that have a word, and (sentences,) the number of the text that each is from."""
    lines = pc.split_pattern(pc.fill_null(texts, ""), "\n")
    folded = fold(lines.flatten())
    filled = pc.not_equal(folded, pa.scalar("", pa.large_string()))
    parents = pc.list_parent_indices(lines).filter(filled)
    return folded.filter(filled), parents.to_numpy(zero_copy_only=False).astype(np.int64)
