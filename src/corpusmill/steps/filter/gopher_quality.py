"""The quality rules of Gopher: does a document look like prose?"""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.verdict import Rule, failing


@dataclass(frozen=True, kw_only=True)
class GopherQuality:
    """Drop documents that do not look like prose: too short or long, odd words, symbols, lists, no stop words.

    Every bound is a value that still passes; None switches its rule off. Words are separated by white space. Lines are
    those of str.splitlines(), blank ones included; white space before a bullet and after an ellipsis is ignored. Words
    that are only punctuation count in the ratios but not in the rules about length, as in datatrove, whose decisions
    these are for the same words. The paper does not define words and bullets.

    The stop words are eight English ones (the, be, to, of, and, that, have, with), exactly as written: for other
    languages set `min_stop_words` to None.

    Source: Rae et al. 2021, arXiv:2112.11446, appendix A.1.1
    """

    min_words: int | None = 50
    max_words: int | None = 100_000
    min_mean_word_length: float | None = 3  # code points
    max_mean_word_length: float | None = 10  # code points
    max_hash_ratio: float | None = 0.1  # "#" to words
    max_ellipsis_ratio: float | None = 0.1  # "..." and "…" to words
    max_bullet_lines: float | None = 0.9  # share of lines that begin with "•" or "-"
    max_ellipsis_lines: float | None = 0.3  # share of lines that end in an ellipsis
    min_alpha_words: float | None = 0.8  # share of words with a letter
    min_stop_words: int | None = 2  # distinct ones

    needs: ClassVar[tuple[str, ...]] = ("stats",)
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("min_words", "content_words", "<"),
        Rule("max_words", "content_words", ">"),
        Rule("min_mean_word_length", "mean_word_length", "<"),
        Rule("max_mean_word_length", "mean_word_length", ">"),
        Rule("max_hash_ratio", "hash_ratio", ">"),
        Rule("max_ellipsis_ratio", "ellipsis_ratio", ">"),
        Rule("max_bullet_lines", "bullet_line_ratio", ">"),
        Rule("max_ellipsis_lines", "ellipsis_line_ratio", ">"),
        Rule("min_alpha_words", "alpha_word_ratio", "<"),
        Rule("min_stop_words", "stop_words", "<"),
    )

    def __post_init__(self) -> None:
        for low, high in (("min_words", "max_words"), ("min_mean_word_length", "max_mean_word_length")):
            least, most = getattr(self, low), getattr(self, high)
            if least is not None and most is not None and least > most:
                raise RecipeError(f"filter/gopher_quality: need {low} <= {high}, got {low}={least}, {high}={most}")

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)
