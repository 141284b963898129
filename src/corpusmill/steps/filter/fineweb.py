"""The rules that FineWeb adds to Gopher's and C4's: is a document made of whole lines of prose?"""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.steps import Columns
from corpusmill.steps.filter._words import Words, assets_of, check_words, family
from corpusmill.steps.verdict import Rule, failing, only


@dataclass(frozen=True, kw_only=True)
class Fineweb:
    """Drop documents whose lines lack terminal punctuation, are short or repeat each other, or hold few words.

    Every bound is a share that still passes; None switches its rule off. Blank lines do not count; a line is short at
    30 code points or fewer. In a blank document no line ends in punctuation: it is dropped. The bounds are those of the
    code that made the data set (datatrove); the paper says 0.1 for repeated lines. `rules` names the rules that are on,
    with their defaults or the bounds given beside; all others are off.

    Source: Penedo et al. 2024, arXiv:2406.17557, section 3.6
    """

    min_punctuated_lines: float | None = 0.12  # share of lines that end in terminal punctuation
    max_short_lines: float | None = 0.67  # share of lines
    max_repeated_line_chars: float | None = 0.01  # share of characters in lines that occurred before
    max_newline_ratio: float | None = 0.3  # "\n" to words
    words: Words = "white_space"  # or spacy: as its English tokenizer; or by_script: those, and Chinese, Thai … cut too
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    threshold_parameters: ClassVar[tuple[str, ...]] = ("rules",)
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("min_punctuated_lines", "line_punctuation_ratio", "<"),
        Rule("max_short_lines", "short_line_ratio", ">"),
        Rule("max_repeated_line_chars", "repeated_line_char_ratio", ">"),
        Rule("max_newline_ratio", "newline_ratio", ">"),
    )
    SWITCHES: ClassVar[tuple[str, ...]] = tuple(rule.parameter for rule in RULES)

    def __post_init__(self) -> None:
        only(self, "filter/fineweb")
        check_words(self.words, "filter/fineweb")

    @property
    def needs(self) -> tuple[str, ...]:
        return (family("stats", self.words),)

    @property
    def assets(self) -> tuple[str, ...]:
        return assets_of(self.words)

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)
