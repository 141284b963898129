"""The simple rules that most pipelines begin with: length, and shares of certain words and characters."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.models import tokenizer
from corpusmill.steps import Columns
from corpusmill.steps.verdict import Rule, failing


@dataclass(frozen=True, kw_only=True)
class Basic:
    """Drop documents that are short, shout, repeat themselves, or are largely something other than words.

    Every bound is a value that still passes; None switches its rule off. Words are separated by white space; characters
    are code points, white space included. A share of nothing is 0, so an empty document fails `min_words` and
    `min_distinct_word_ratio`.

        uppercase words   words whose cased letters are all capitals, at least one: "NATO", "B2B", "A"
        special           characters that are not a letter, number, combining mark or white space: "$", "•", emoji
        digits            decimal digits of any script
        bullet lines      lines that begin with "•" or "-"; the share is of all lines, blank ones included
        distinct words    different words, as written; long documents use fewer new words, so a whole book is near 0.1:
                          switch the rule off for books
        repeats           sequences of three words that occurred before, of all sequences of three words
        punctuation       characters of Unicode's categories P*, and the symbols of ASCII

    Punctuation is special too: the two bounds differ in symbols beyond ASCII. Plain prose has 2 to 5 % of both, source
    code 20 %. `min_tokens` counts with `tokenizer`, at 100 MB/s, only if it is set.

    Source: Laurençon et al. 2022 (ROOTS), arXiv:2303.03915, filters by length, special characters and repetition; the
    other shares, and all bounds, are those of teaching pipelines
    """

    min_words: int | None = 50
    min_tokens: int | None = None
    max_uppercase_word_ratio: float | None = 0.3
    max_special_char_ratio: float | None = 0.1
    max_digit_ratio: float | None = 0.15
    max_bullet_line_ratio: float | None = 0.9
    min_distinct_word_ratio: float | None = 0.1
    max_repeat_ratio: float | None = 0.3
    max_punctuation_ratio: float | None = 0.3
    tokenizer: str = "gpt2"  # for min_tokens: the name of a built-in one, or the path of a tokenizer.json

    needs: ClassVar[tuple[str, ...]] = ("stats", "basic")
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("min_words", "words", "<"),
        Rule("min_tokens", "tokens", "<"),
        Rule("max_uppercase_word_ratio", "uppercase_word_ratio", ">"),
        Rule("max_special_char_ratio", "special_char_ratio", ">"),
        Rule("max_digit_ratio", "digit_ratio", ">"),
        Rule("max_bullet_line_ratio", "bullet_line_ratio", ">"),
        Rule("min_distinct_word_ratio", "distinct_word_ratio", "<"),
        Rule("max_repeat_ratio", "repeat_ratio", ">"),
        Rule("max_punctuation_ratio", "punctuation_ratio", ">"),
    )

    def __post_init__(self) -> None:
        for rule in self.RULES:
            bound = getattr(self, rule.parameter)
            if bound is not None and bound < 0:
                raise RecipeError(
                    f"filter/basic: {rule.parameter} must be at least 0, got {bound}; null switches it off"
                )
            if bound is not None and rule.parameter.endswith("_ratio") and bound > 1:
                raise RecipeError(f"filter/basic: {rule.parameter} is a share from 0 to 1, got {bound}")

    @property
    def assets(self) -> tuple[str, ...]:
        return () if self.min_tokens is None else (self.tokenizer,)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        """`tokens` of each document, null if no rule needs them."""
        if self.min_tokens is None:
            return {"tokens": pa.nulls(len(docs), pa.int64())}
        return {
            "tokens": pa.array(
                tokenizer.load(self.tokenizer, "auto", None).count(pc.fill_null(docs["text"], "")), pa.int64()
            )
        }

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)
