"""The quality rules of Gopher: does a document look like prose?"""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.steps import Columns
from corpusmill.steps.filter._bullets import bullet_line_ratio, check_bullets
from corpusmill.steps.filter._ellipses import ELLIPSES, check_ellipses, ellipsis_ratios
from corpusmill.steps.filter._words import Words, assets_of, check_words, family
from corpusmill.steps.verdict import Rule, failing, in_order, only


@dataclass(frozen=True, kw_only=True)
class GopherQuality:
    """Drop documents that do not look like prose: too short or long, odd words, symbols, lists, no stop words.

    Every bound is a value that still passes; None switches its rule off. Blank lines count; white space before a bullet
    and after an ellipsis is ignored. Words that are only punctuation count in the ratios but not in the rules about
    length. Decisions are datatrove's for the same words: it takes `words: spacy` unless told otherwise, as FineWeb did
    ("don't" is two words, a comma is one), which takes twice the time.

    DCLM and Dolma 3 take `bullets: "●•*-"` and `ellipses: ["...", ". . .", "…"]`, and bound hashes and ellipses
    together, by `max_symbol_ratio`. The stop words are the, be, to, of, and, that, have, with, as written: for other
    languages set `min_stop_words` to None. `rules` names the rules that are on, with their defaults or the bounds given
    beside; all others are off.

    Source: Rae et al. 2021, arXiv:2112.11446, appendix A.1.1
    """

    min_words: int | None = 50
    max_words: int | None = 100_000
    min_mean_word_length: float | None = 3  # code points
    max_mean_word_length: float | None = 10  # code points
    max_hash_ratio: float | None = 0.1  # "#" to words
    max_ellipsis_ratio: float | None = 0.1  # "..." and "…" to words
    max_symbol_ratio: float | None = None  # of both, added up, to words
    max_bullet_lines: float | None = 0.9  # share of lines that begin with a bullet
    max_ellipsis_lines: float | None = 0.3  # share of lines that end in an ellipsis
    min_alpha_words: float | None = 0.8  # share of words with a letter
    min_stop_words: int | None = 2  # distinct ones
    bullets: str = "•-"  # the characters that are one
    ellipses: tuple[str, ...] = ELLIPSES  # what is one
    words: Words = "white_space"  # or spacy: as its English tokenizer; or by_script: those, and Chinese, Thai … cut too
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    threshold_parameters: ClassVar[tuple[str, ...]] = ("rules",)
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("min_words", "content_words", "<"),
        Rule("max_words", "content_words", ">"),
        Rule("min_mean_word_length", "mean_word_length", "<"),
        Rule("max_mean_word_length", "mean_word_length", ">"),
        Rule("max_hash_ratio", "hash_ratio", ">"),
        Rule("max_ellipsis_ratio", "ellipsis_ratio", ">"),
        Rule("max_symbol_ratio", "symbol_ratio", ">"),
        Rule("max_bullet_lines", "bullet_line_ratio", ">"),
        Rule("max_ellipsis_lines", "ellipsis_line_ratio", ">"),
        Rule("min_alpha_words", "alpha_word_ratio", "<"),
        Rule("min_stop_words", "stop_words", "<"),
    )
    SWITCHES: ClassVar[tuple[str, ...]] = tuple(rule.parameter for rule in RULES)

    def __post_init__(self) -> None:
        only(self, "filter/gopher_quality")
        check_words(self.words, "filter/gopher_quality")
        check_bullets(self.bullets, "filter/gopher_quality", "max_bullet_lines")
        check_ellipses(self.ellipses, "filter/gopher_quality")
        in_order(self, "filter/gopher_quality", "words", "mean_word_length")

    @property
    def needs(self) -> tuple[str, ...]:
        return (family("stats", self.words),)

    @property
    def assets(self) -> tuple[str, ...]:
        return assets_of(self.words)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        """`bullet_line_ratio`, and the ratios with ellipses, where they are not those of the measures."""
        text = docs["text"]
        return {**bullet_line_ratio(text, self.bullets), **ellipsis_ratios(text, self.ellipses, self.words)}

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)
