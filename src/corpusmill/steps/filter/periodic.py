"""Does a document repeat a few tokens over and over?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from corpusmill.assets.extras import Extra
from corpusmill.errors import RecipeError
from corpusmill.models import tokenizer
from corpusmill.models.tokenizer_name import assets_of, extras_of
from corpusmill.steps import Columns
from corpusmill.steps.verdict import Rule, failing
from corpusmill.tokens.periodic import most_repeats


@dataclass(frozen=True, kw_only=True)
class Periodic:
    """Drop documents in which a sequence of a few tokens is repeated, in sequence, more than `max_repeats` times.

    Such text ("ha ha ha …") makes spikes in the loss. Tokens are those of the tokenizer that the recipe will train
    with. A period has `shortest` to `longest` tokens; a repeated token is a period of two as well, half as often.
    Signals: `repeats`, of the period that occurs most often in sequence, 0 if none does twice; `period`, its number of
    tokens.

    Source: OLMo Team 2024 (OLMo 2), arXiv:2501.00656, section 3.1, which masks their loss instead
    """

    max_repeats: int | None = 32  # in sequence
    shortest: int = 2  # tokens of a period
    longest: int = 13
    tokenizer: str = "gpt2"  # as for tokenize/bpe: the one that the model is trained with

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("max_repeats", "repeats", ">"),)

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise RecipeError(
                f"filter/periodic: need 1 <= shortest <= longest, got shortest={self.shortest}, longest={self.longest}"
            )
        if self.max_repeats is not None and self.max_repeats < 1:
            raise RecipeError(f"filter/periodic: max_repeats is at least 1, got {self.max_repeats}")

    @property
    def extras(self) -> tuple[Extra, ...]:
        return extras_of(self.tokenizer)

    @property
    def assets(self) -> tuple[str, ...]:
        return assets_of(self.tokenizer)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        ids, offsets = tokenizer.load(self.tokenizer).encode(docs["text"])
        repeats = np.empty((len(docs), 2), np.int64)
        most_repeats(ids, offsets, self.shortest, self.longest, repeats)
        return {"repeats": pa.array(repeats[:, 0].copy()), "period": pa.array(repeats[:, 1].copy())}

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)
