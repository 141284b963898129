"""Drop documents full of insults, obscenity and hate."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.models.toxicity import WORDS_EN, Rater
from corpusmill.steps import Columns
from corpusmill.steps.verdict import Rule, failing, only

HARMLESS = 0.2


@dataclass(frozen=True, kw_only=True)
class FilterToxicity:
    """Drop documents of insults, obscenity and hate, by a model's score or by their share of words of a list.

    The signals are those of annotate/toxicity, and `counted`: the share of words of the list in documents that score
    `harmless` or more, 0 in others, where such words are often quoted or reclaimed. Each bound still passes, and None
    switches its rule off. `max_share` of 0.01 is one word in a hundred: a shorter document is dropped for a single one.

    Source: Soldaini et al. 2024 (Dolma), arXiv:2402.00159; the bounds are ours, see docs/guide/toxicity.md
    """

    max_share: float | None = 0.01  # of words that are in the list
    max_score: float | None = 0.5  # of the document
    max_worst: float | None = None  # of a sentence
    max_bad: float | None = None  # share of words in bad sentences
    lexicon: str = WORDS_EN  # an asset's name, or the path of a list
    sentence_score: float = 0.7  # at which a sentence is bad
    harmless: float | None = None  # score below which words do not count; null: 0.2, or 0 for your own list
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    needs: ClassVar[tuple[str, ...]] = ()
    threshold_parameters: ClassVar[tuple[str, ...]] = ("rules",)
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("max_share", "counted", ">"),
        Rule("max_score", "score", ">"),
        Rule("max_worst", "worst", ">"),
        Rule("max_bad", "bad", ">"),
    )
    SWITCHES: ClassVar[tuple[str, ...]] = tuple(rule.parameter for rule in RULES)

    def __post_init__(self) -> None:
        only(self, "filter/toxicity")
        for rule in self.RULES:
            bound = getattr(self, rule.parameter)
            if bound is not None and not 0 <= bound <= 1:
                raise RecipeError(f"{rule.parameter} is from 0 to 1, got {bound}")
        if self.harmless is not None and not 0 <= self.harmless <= 1:
            raise RecipeError(f"harmless is from 0 to 1, got {self.harmless}")
        self._rater()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        columns = self._rater().columns(docs["text"], spans=False)
        usual = HARMLESS if self.lexicon == WORDS_EN else 0.0
        return columns | {"counted": counted(columns, usual if self.harmless is None else self.harmless)}

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)

    @property
    def assets(self) -> tuple[str, ...]:
        return self._rater().assets

    def _rater(self) -> Rater:
        return Rater(lexicon=self.lexicon, sentence_score=self.sentence_score)


def counted(columns: Columns, harmless: float = HARMLESS) -> pa.Array:
    """(documents,) the share of words of the list, 0.0 where the score is below `harmless`."""
    score = columns["score"].fill_null(0.0).to_numpy(zero_copy_only=False)
    share = columns["share"].to_numpy(zero_copy_only=False)
    return pa.array(np.where(score < np.float32(harmless), 0.0, share))
