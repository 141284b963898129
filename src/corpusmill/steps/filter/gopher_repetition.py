"""The repetition rules of Gopher: how much of a document repeats what came before?"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.filter._words import Words, assets_of, check_words, family
from corpusmill.steps.verdict import Rule, failing, only


@dataclass(frozen=True, kw_only=True)
class GopherRepetition:
    """Drop documents that repeat themselves in lines, paragraphs, frequent short n-grams or repeated long ones.

    Every bound is a share that still passes; None switches its rule off. The `_chars` bounds are shares of the
    document's characters. Lines are separated by one or more "\\n", paragraphs by two or more. A line or paragraph is a
    duplicate if an identical one came before. n-grams are of words as written; datatrove takes `words: spacy` unless
    told otherwise.

    `ngrams` says how the characters of n-grams are counted:

        datatrove   as FineWeb. top: length of the most frequent n-gram times its count, overlaps counted again (so the
                    share may exceed 1). duplicate: from left to right, an n-gram that occurred before counts, without
                    spaces, and the next begins after it
        paper       characters within an occurrence of the most frequent n-gram, or of any that occurs more than once,
                    the first included, each once: more than twice as much for a passage that occurs twice

    `rules` names the rules that are on, with their defaults or the bounds given beside; all others are off.

    Source: Rae et al. 2021, arXiv:2112.11446, appendix A.1.1, table A1
    """

    max_duplicate_paragraphs: float | None = 0.30  # share of paragraphs that occurred before
    max_duplicate_paragraph_chars: float | None = 0.20
    max_duplicate_lines: float | None = 0.30  # share of lines that occurred before
    max_duplicate_line_chars: float | None = 0.20
    max_top_2_gram_chars: float | None = 0.20
    max_top_3_gram_chars: float | None = 0.18
    max_top_4_gram_chars: float | None = 0.16
    max_duplicate_5_gram_chars: float | None = 0.15
    max_duplicate_6_gram_chars: float | None = 0.14
    max_duplicate_7_gram_chars: float | None = 0.13
    max_duplicate_8_gram_chars: float | None = 0.12
    max_duplicate_9_gram_chars: float | None = 0.11
    max_duplicate_10_gram_chars: float | None = 0.10
    ngrams: Literal["datatrove", "paper"] = "datatrove"  # how their characters are counted
    words: Words = "white_space"  # or spacy: as its English tokenizer; or by_script: those, and Chinese, Thai … cut too
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    threshold_parameters: ClassVar[tuple[str, ...]] = ("rules",)
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("max_duplicate_paragraphs", "duplicate_paragraph_ratio", ">"),
        Rule("max_duplicate_paragraph_chars", "duplicate_paragraph_char_ratio", ">"),
        Rule("max_duplicate_lines", "duplicate_line_ratio", ">"),
        Rule("max_duplicate_line_chars", "duplicate_line_char_ratio", ">"),
        *(Rule(f"max_top_{n}_gram_chars", f"top_{n}_gram_char_ratio", ">") for n in (2, 3, 4)),
        *(Rule(f"max_duplicate_{n}_gram_chars", f"duplicate_{n}_gram_char_ratio", ">") for n in range(5, 11)),
    )
    SWITCHES: ClassVar[tuple[str, ...]] = tuple(rule.parameter for rule in RULES)

    def __post_init__(self) -> None:
        only(self, "filter/gopher_repetition")
        check_words(self.words, "filter/gopher_repetition")
        if self.ngrams not in ("datatrove", "paper"):
            raise RecipeError(f'filter/gopher_repetition: ngrams is "datatrove" or "paper", got "{self.ngrams}"')

    @property
    def needs(self) -> tuple[str, ...]:
        return (family("stats" if self.ngrams == "datatrove" else "contained", self.words),)

    @property
    def assets(self) -> tuple[str, ...]:
        return assets_of(self.words)

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)
