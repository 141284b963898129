"""The simple rules that most pipelines begin with: length, and shares of certain words and characters."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.assets.extras import Extra
from corpusmill.errors import RecipeError
from corpusmill.models import tokenizer
from corpusmill.models.tokenizer_name import assets_of, extras_of
from corpusmill.steps import Columns
from corpusmill.steps.filter._bullets import bullet_line_ratio, check_bullets
from corpusmill.steps.measures import ratio
from corpusmill.steps.verdict import Rule, failing, in_order, only
from corpusmill.text.marks import count_characters
from corpusmill.text.stats import document_stats


@dataclass(frozen=True, kw_only=True)
class Basic:
    """Drop documents that are short, shout, repeat themselves, or are largely something other than words.

    Every bound is a value that still passes; None switches its rule off. `rules` names the rules that are on, with
    their defaults or the bounds given beside; all others are off. A share of nothing is 0, so an empty document fails
    `min_words` and `min_distinct_word_ratio`.

        uppercase words   words whose cased letters are all capitals, at least one: "NATO", "B2B", "A"
        special           characters that are not a letter, number, combining mark or white space: "$", "•", emoji
        symbols           characters that are in `symbols`: their share of the characters, or their number to the words
        digits            decimal digits of any script
        bullet lines      lines that begin with one of `bullets`; the share is of all lines, blank ones included
        distinct words    different words, as written; a whole book is near 0.1: switch the rule off for books
        repeats           words that occurred before, of all words: 1 - distinct words / words
        repeated 3-grams  sequences of three words that occurred before, of all sequences of three words
        top n-grams       how often the most frequent sequence of n words occurs, of all sequences of n words
        punctuation       characters of Unicode's categories P*, and the symbols of ASCII

    Special and punctuation characters differ in symbols beyond ASCII; prose has 2 to 5 % of both, source code 20 %.

    Source: Laurençon et al. 2022 (ROOTS), arXiv:2303.03915; other shares, and all bounds: teaching pipelines
    """

    min_words: int | None = 50
    max_words: int | None = None
    min_characters: int | None = None
    max_characters: int | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    min_tokens: int | None = None
    max_uppercase_word_ratio: float | None = 0.3
    max_special_char_ratio: float | None = 0.1
    max_symbol_ratio: float | None = None
    max_digit_ratio: float | None = 0.15
    max_bullet_line_ratio: float | None = 0.9
    min_distinct_word_ratio: float | None = 0.1
    max_repeat_ratio: float | None = None
    max_repeated_3_gram_ratio: float | None = 0.3
    max_top_2_gram_ratio: float | None = None
    max_top_3_gram_ratio: float | None = None
    max_punctuation_ratio: float | None = 0.3
    tokenizer: str = "gpt2"  # for min_tokens: the name of a built-in one, or the path of a tokenizer.json
    symbols: str = "#@{}[]<>|\\"  # for max_symbol_ratio: the characters that are one
    symbols_per: Literal["characters", "words"] = "characters"  # what max_symbol_ratio is a share of
    bullets: str = "•-"  # for max_bullet_line_ratio: the characters that are one
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    needs: ClassVar[tuple[str, ...]] = ("stats", "basic")
    threshold_parameters: ClassVar[tuple[str, ...]] = ("rules",)
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("min_words", "words", "<"),
        Rule("max_words", "words", ">"),
        Rule("min_characters", "chars", "<"),
        Rule("max_characters", "chars", ">"),
        Rule("min_bytes", "bytes", "<"),
        Rule("max_bytes", "bytes", ">"),
        Rule("min_tokens", "tokens", "<"),
        Rule("max_uppercase_word_ratio", "uppercase_word_ratio", ">"),
        Rule("max_special_char_ratio", "special_char_ratio", ">"),
        Rule("max_symbol_ratio", "symbol_ratio", ">"),
        Rule("max_digit_ratio", "digit_ratio", ">"),
        Rule("max_bullet_line_ratio", "bullet_line_ratio", ">"),
        Rule("min_distinct_word_ratio", "distinct_word_ratio", "<"),
        Rule("max_repeat_ratio", "repeat_ratio", ">"),
        Rule("max_repeated_3_gram_ratio", "repeated_3_gram_ratio", ">"),
        Rule("max_top_2_gram_ratio", "top_2_gram_ratio", ">"),
        Rule("max_top_3_gram_ratio", "top_3_gram_ratio", ">"),
        Rule("max_punctuation_ratio", "punctuation_ratio", ">"),
    )
    SWITCHES: ClassVar[tuple[str, ...]] = tuple(rule.parameter for rule in RULES)

    def __post_init__(self) -> None:
        only(self, "filter/basic")
        check_bullets(self.bullets, "filter/basic", "max_bullet_line_ratio")
        if not self.symbols:
            raise RecipeError("filter/basic: symbols is empty; to switch its rule off, set max_symbol_ratio to null")
        if self.symbols_per not in ("characters", "words"):
            raise RecipeError(f'filter/basic: symbols_per is "characters" or "words", got "{self.symbols_per}"')
        for rule in self.RULES:
            bound = getattr(self, rule.parameter)
            if bound is not None and bound < 0:
                raise RecipeError(
                    f"filter/basic: {rule.parameter} must be at least 0, got {bound}; null switches it off"
                )
            # There may be more symbols than words.
            share = rule.parameter != "max_symbol_ratio" or self.symbols_per == "characters"
            if bound is not None and rule.parameter.endswith("_ratio") and share and bound > 1:
                raise RecipeError(f"filter/basic: {rule.parameter} is a share from 0 to 1, got {bound}")
        in_order(self, "filter/basic", "words", "characters", "bytes")

    @property
    def extras(self) -> tuple[Extra, ...]:
        return () if self.min_tokens is None else extras_of(self.tokenizer)

    @property
    def assets(self) -> tuple[str, ...]:
        return () if self.min_tokens is None else assets_of(self.tokenizer)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        """What the measures lack: bytes, and tokens, symbols and bullets, null if no rule needs them."""
        text = pc.fill_null(docs["text"], "")
        tokens, symbols = pa.nulls(len(docs), pa.int64()), pa.nulls(len(docs), pa.float64())
        if self.min_tokens is not None:
            tokens = pa.array(tokenizer.load(self.tokenizer, "auto", None).count(text), pa.int64())
        if self.max_symbol_ratio is not None:
            symbols = pa.array(self._symbol_ratio(text))
        measured = {"bytes": pc.cast(pc.binary_length(text), pa.int64()), "tokens": tokens, "symbol_ratio": symbols}
        return {**measured, **bullet_line_ratio(text, self.bullets)}

    def _symbol_ratio(self, text: pa.LargeStringArray) -> NDArray[np.float64]:
        per = pc.utf8_length(text).to_numpy() if self.symbols_per == "characters" else document_stats(text)["words"]
        return ratio(count_characters(text, self.symbols), per)

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)
