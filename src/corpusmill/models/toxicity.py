"""Toxicity (insults, obscenities, hate): by a linear model of words and of the order of their kinds, and by a list.

Its file holds arrays (`arrays.write_arrays`): `words` uint8, the words in UTF-8 separated by line feeds; `kinds`
uint8, of each, as `toxicity_score` uses them; `weights` float32, of each word and then FEATURES others; `bias` (1,)
float32; `close` uint8, words as in `words`: real ones that `spellings` must not take for another; and `card`, JSON in
UTF-8.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import RecipeError
from corpusmill.models.model_file import read_model, wrong_value
from corpusmill.models.table_cache import Tables, cached_tables
from corpusmill.models.toxicity_score import (
    KIND_FEATURES,
    LONGEST_WORD,
    SPELLING,
    WORD_KINDS,
    SentenceOutput,
    WordTable,
    make_slots,
    score_sentences,
)
from corpusmill.text.array_types import Bools, Bytes, Float32s, Int64s
from corpusmill.text.buffers import view
from corpusmill.text.compile import fingerprint
from corpusmill.text.folded_hash import word_hashes
from corpusmill.text.lexicon import WordList, find_words, listed_words, make_words
from corpusmill.text.sentences import sentence_spans
from corpusmill.text.unicode import classes

TOXICITY_EN = "toxicity-en"  # ships; scripts/make_toxicity.py makes it
WORDS_EN = "toxic-words-en"  # ships
FORMAT = 2  # changes if the same file would give other scores
PARTS = {"words": np.uint8, "kinds": np.uint8, "weights": np.float32, "bias": np.float32, "close": np.uint8}
MISSPELLED = frozenset(
    {1, 14, 15, 16, 17, 23, 25}
)  # kinds of words that are known with a letter left out or two swapped
MIN_MISSPELLED = 4  # letters of a word as it is written then


@dataclass(frozen=True)
class ToxicityScores:
    """Scores of texts and of their sentences, 0 to 1.

    documents   (documents,) float32, as `toxicity_score` says; NaN without words
    spans       (sentences, 2) first byte and end; offsets (documents + 1,) the first sentence of each document
    sentences   (sentences,) float32; words (sentences,) int64
    worst       (documents,) the number of the sentence with the highest score, -1 if no sentence has a word
    """

    documents: Float32s
    spans: Int64s
    offsets: Int64s
    sentences: Float32s
    words: Int64s
    worst: Int64s


@dataclass(frozen=True)
class ToxicityModel:
    """A linear model of the features of sentences; see `toxicity_score`.

    card   the model card of the file
    """

    card: Mapping[str, Any]
    table: WordTable
    weights: Float32s
    bias: float

    @classmethod
    def load(cls, path: Path) -> "ToxicityModel":
        """Raises AssetError if the file is not such a model, or has a format that this version cannot read."""
        card, arrays = read_model(path, "toxicity", FORMAT, PARTS, "scripts/make_toxicity.py makes it.")
        for part in ("words", "close"):
            if (count := np.count_nonzero(arrays[part] == ord("\n")) + 1) >= SPELLING:
                raise wrong_value(path, f"the number of words in {part}", f"{count:,}", f"less than {SPELLING:,}")
        words, close = (bytes(arrays[part]).decode(errors="replace").split("\n") for part in ("words", "close"))
        kinds, weights, bias = np.array(arrays["kinds"]), np.array(arrays["weights"]), np.array(arrays["bias"])
        shapes = {"kinds": (len(words),), "weights": (len(words) + KIND_FEATURES,), "bias": (1,)}
        for part, shape in shapes.items():
            if arrays[part].shape != shape:
                raise wrong_value(path, f"the shape of the array {part}", list(arrays[part].shape), list(shape))
        if kinds.max() >= WORD_KINDS:
            raise wrong_value(path, "the kind of a word", kinds.max(), f"less than {WORD_KINDS}")
        if (longest := max(map(len, words))) > LONGEST_WORD:  # it has as many spellings
            raise wrong_value(path, "the length of a word", f"{longest:,}", f"{LONGEST_WORD} at most")
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise wrong_value(path, "a weight", "infinite, or none", "a number")
        for array in (weights, kinds):
            array.flags.writeable = False
        tables = tables_of(path, lambda: {"words": word_table(words, kinds, close).words})
        return cls(card, WordTable(tables["words"], kinds), weights, float(bias[0]))

    def score(self, texts: pa.LargeStringArray) -> ToxicityScores:
        spans, offsets = sentence_spans(texts)
        sentences, words = np.empty(len(spans), np.float32), np.empty(len(spans), np.int64)
        documents, worst = np.empty(len(texts), np.float32), np.empty(len(texts), np.int64)
        out = SentenceOutput(sentences, words, documents, worst)
        score_sentences(view(texts), spans, offsets, self.table, self.weights, self.bias, classes(), out)
        return ToxicityScores(documents, spans, offsets, sentences, words, worst)


def word_list(path: Path) -> WordList:
    """The list of a file. Raises AssetError as `lexicon.listed_words` does."""

    def make() -> Tables:
        words = make_words(listed_words(path))
        return {"slots": words.slots, "letters": words.letters, "start": words.start, "first": words.first}

    tables = tables_of(path, make)
    return WordList(**tables, longest=int(np.diff(tables["start"]).max()))


def tables_of(path: Path, make: Callable[[], Tables]) -> Tables:
    """What `make` makes of a file, once a machine; read-only, as kernels take it."""
    with assets.unchanged([path]):
        tables = cached_tables(f"{path.stem}-{assets.fingerprint(path)[:16]}-{fingerprint(__name__)}", make)
    for table in tables.values():
        table.flags.writeable = False
    return tables


def word_table(words: Sequence[str], kinds: Bytes, close: Sequence[str]) -> WordTable:
    """The words, and the spellings of them that are not words themselves.

    words   in lower case; kinds: (words,)
    close   words that are no spellings of others
    """
    real_words = {*words, *close}
    row_of: dict[str, int] = {}
    for row, word in enumerate(words):
        if int(kinds[row]) in MISSPELLED:
            for spelling in spellings(word):
                if spelling not in real_words:
                    row_of.setdefault(spelling, row)
    kinds.flags.writeable = False
    hashes = word_hashes(pa.array([*words, *row_of], pa.large_string()))
    rows = np.concatenate([np.arange(len(words)), np.fromiter(row_of.values(), np.int64) + SPELLING])
    return WordTable(make_slots(hashes, rows), kinds)


def spellings(word: str) -> Iterator[str]:
    """A word with one letter after the first left out, or with two neighbours swapped."""
    if len(word) > MIN_MISSPELLED:
        yield from (word[:i] + word[i + 1 :] for i in range(1, len(word)))
    if len(word) >= MIN_MISSPELLED:
        yield from (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1))


SENTENCES = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float32())]))
HITS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))
SIGNALS = {
    "score": pa.float32(),
    "worst": pa.float32(),
    "worst_start": pa.int64(),
    "worst_end": pa.int64(),
    "bad": pa.float64(),
    "found": pa.int32(),
    "share": pa.float64(),
}
SPANS = {"sentences": SENTENCES, "words": HITS}


@dataclass(frozen=True, kw_only=True)
class Rater:
    """Rates texts by the model that ships and by a list of words.

    lexicon          an asset's name, or the path of a list (see `lexicon.listed_words`)
    sentence_score   minimum score of a bad sentence

    Raises AssetError if the list does not exist, and RecipeError for an invalid score.
    """

    lexicon: str = WORDS_EN
    sentence_score: float = 0.7

    def __post_init__(self) -> None:
        if not 0 <= self.sentence_score <= 1:
            raise RecipeError(f"sentence_score must be from 0 to 1, got {self.sentence_score}")
        assets.load(self.lexicon, listed_words)

    @property
    def assets(self) -> tuple[str, ...]:
        return (TOXICITY_EN, self.lexicon)

    def columns(self, texts: pa.LargeStringArray, spans: bool) -> dict[str, pa.Array]:
        """The signals of annotate/toxicity."""
        if not len(texts):  # needs neither model nor list
            return {name: pa.nulls(0, kind) for name, kind in (SIGNALS | (SPANS if spans else {})).items()}
        scored = assets.load(TOXICITY_EN, ToxicityModel.load).score(texts)
        hits, words = find_words(texts, assets.load(self.lexicon, word_list))
        none = np.isnan(scored.documents)
        worst = scored.worst[~none]
        counts = np.bincount(hits[:, 0], minlength=len(texts))
        bad = scored.sentences >= np.float32(self.sentence_score)
        document = np.repeat(np.arange(len(texts)), np.diff(scored.offsets))
        bad_words = np.bincount(document, np.where(bad, scored.words, 0), len(texts))
        all_words = np.bincount(document, scored.words, len(texts))
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
            columns["sentences"] = lists(np.bincount(document[bad], minlength=len(texts)), parts, SENTENCES)
            columns["words"] = lists(counts, [hits[:, 1], hits[:, 2]], HITS)
        return columns


def spread(values: NDArray[Any], valid: Bools) -> pa.Array:
    """The values in the rows that are valid, null in the others."""
    column = np.zeros(len(valid), values.dtype)
    column[valid] = values
    return pa.array(column, mask=~valid)


def lists(counts: Int64s, parts: list[NDArray[Any]], kind: pa.DataType) -> pa.ListArray:
    """(documents,) lists of `counts` structs each, with the parts as fields."""
    fields = list(kind.value_type)
    values = pa.StructArray.from_arrays(
        [pa.array(p, f.type) for p, f in zip(parts, fields, strict=True)], fields=fields
    )
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32()), values, type=kind)
