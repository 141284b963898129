"""Toxicity (insults, obscenities): by a bag-of-words model, and by a list of words.

The model's file holds arrays (`units.write_arrays`): `words` uint8, the words in UTF-8 separated by line feeds; `idf`
float32, of each; `weights` (words, models) and `bias` (models,) float32, calibrated (see `toxicity_score`); and `card`,
JSON in UTF-8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.model_file import read_model
from corpusmill.models.toxicity_score import Bag, make_slots, score_sentences
from corpusmill.text.buffers import view
from corpusmill.text.folded_hash import word_hashes
from corpusmill.text.lexicon import find_words, read_words
from corpusmill.text.sentences import sentence_spans
from corpusmill.text.unicode import classes

TOXICITY_EN = "toxicity-en"  # ships; scripts/make_toxicity.py makes it
WORDS_EN = "toxic-words-en"  # ships
FORMAT = 1  # changes if the same file would give other scores
PARTS = ("words", "idf", "weights", "bias")


@dataclass(frozen=True)
class Scored:
    """Scores of texts and of their sentences, 0 to 1.

    documents   (documents,) float32, of all words together; NaN without words
    spans       (sentences, 2) first byte and end; offsets (documents + 1,) the first sentence of each document
    sentences   (sentences,) float32; words (sentences,) int64
    worst       (documents,) the number of the sentence with the highest score, -1 if no sentence has a word
    """

    documents: NDArray[np.float32]
    spans: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sentences: NDArray[np.float32]
    words: NDArray[np.int64]
    worst: NDArray[np.int64]


@dataclass(frozen=True)
class ToxicityModel:
    """A bag of words under linear models; see `toxicity_score`.

    card   the model card of the file
    """

    card: Mapping[str, Any]
    bag: Bag

    @classmethod
    def load(cls, path: Path) -> "ToxicityModel":
        """Raises AssetError if the file is not such a model, or has a format that this version cannot read."""
        card, arrays = read_model(path, "toxicity", FORMAT, PARTS, "scripts/make_toxicity.py makes it.")
        words = bytes(arrays["words"]).decode(errors="replace").split("\n")
        idf, weights, bias = (np.array(arrays[part], np.float32) for part in PARTS[1:])
        if idf.shape != (len(words),) or bias.ndim != 1 or weights.shape != (len(words), len(bias)):
            raise AssetError(f"{path}: the arrays of the toxicity model do not fit together: damaged. Get it again.")
        return cls(card, make_bag(words, idf, weights, bias))

    def score(self, texts: pa.LargeStringArray) -> Scored:
        spans, offsets = sentence_spans(texts)
        sentences, words = np.empty(len(spans), np.float32), np.empty(len(spans), np.int64)
        documents, worst = np.empty(len(texts), np.float32), np.empty(len(texts), np.int64)
        score_sentences(view(texts), spans, offsets, self.bag, classes(), sentences, words, documents, worst)
        return Scored(documents, spans, offsets, sentences, words, worst)


def make_bag(
    words: list[str], idf: NDArray[np.float32], weights: NDArray[np.float32], bias: NDArray[np.float32]
) -> Bag:
    """The model as the kernel takes it.

    weights, bias   (words, models) and (models,), calibrated; weights are multiplied by idf here
    """
    spelled = pa.array(words, pa.large_string())
    keys, rows = make_slots(word_hashes(spelled))
    longest = int(pc.max(pc.binary_length(spelled)).as_py())
    parts = (keys, rows, idf * idf, np.ascontiguousarray(weights * idf[:, None]), bias)
    for array in parts:
        array.flags.writeable = False
    return Bag(*parts, longest)


SENTENCES = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float32())]))
HITS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))


@dataclass(frozen=True, kw_only=True)
class Rater:
    """Rates texts by the model that ships and by a list of words.

    lexicon          an asset's name, or the path of a list (see `lexicon.read_words`)
    sentence_score   minimum score of a bad sentence

    Raises AssetError if the list does not exist, and RecipeError for an invalid score.
    """

    lexicon: str = WORDS_EN
    sentence_score: float = 0.7

    def __post_init__(self) -> None:
        if not 0 <= self.sentence_score <= 1:
            raise RecipeError(f"sentence_score must be from 0 to 1, got {self.sentence_score}")
        assets.load(self.lexicon, read_words)

    @property
    def assets(self) -> tuple[str, ...]:
        return (TOXICITY_EN, self.lexicon)

    def columns(self, texts: pa.LargeStringArray, spans: bool) -> dict[str, pa.Array]:
        """The signals of annotate/toxicity."""
        scored = assets.load(TOXICITY_EN, ToxicityModel.load).score(texts)
        hits, words = find_words(texts, assets.load(self.lexicon, read_words))
        none = np.isnan(scored.documents)
        worst = scored.worst[~none]
        counts = np.bincount(hits[:, 0], minlength=len(texts))
        bad = scored.sentences >= np.float32(self.sentence_score)
        of = np.repeat(np.arange(len(texts)), np.diff(scored.offsets))
        bad_words = np.bincount(of, np.where(bad, scored.words, 0), len(texts))
        all_words = np.bincount(of, scored.words, len(texts))
        columns = {
            "score": pa.array(scored.documents, mask=none),
            "worst": spread(scored.sentences[worst], ~none),
            "worst_start": spread(scored.spans[worst, 0], ~none),
            "worst_end": spread(scored.spans[worst, 1], ~none),
            "bad": pa.array(bad_words / np.maximum(all_words, 1)),
            "found": pa.array(counts, pa.int32()),
            "share": pa.array(counts / np.maximum(words, 1)),
        }
        if spans:
            bad &= scored.words > 0
            parts = [scored.spans[bad, 0], scored.spans[bad, 1], scored.sentences[bad]]
            columns["sentences"] = lists(np.bincount(of[bad], minlength=len(texts)), parts, SENTENCES)
            columns["words"] = lists(counts, [hits[:, 1], hits[:, 2]], HITS)
        return columns


def spread(values: NDArray[Any], valid: NDArray[np.bool_]) -> pa.Array:
    """The values in the rows that are valid, null in the others."""
    column = np.zeros(len(valid), values.dtype)
    column[valid] = values
    return pa.array(column, mask=~valid)


def lists(counts: NDArray[np.int64], parts: list[NDArray[Any]], kind: pa.DataType) -> pa.ListArray:
    """(documents,) lists of `counts` structs each, with the parts as fields."""
    fields = list(kind.value_type)
    values = pa.StructArray.from_arrays(
        [pa.array(p, f.type) for p, f in zip(parts, fields, strict=True)], fields=fields
    )
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32()), values, type=kind)
