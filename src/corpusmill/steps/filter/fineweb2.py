"""The rules of FineWeb2: those of Gopher and FineWeb, with bounds and stop words by language."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.models import fineweb2
from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_WIDE
from corpusmill.steps import Columns
from corpusmill.steps.filter._words import RULES as WORDS
from corpusmill.steps.filter._words import check_words, family
from corpusmill.steps.measures import MEASURES
from corpusmill.steps.verdict import COMPARE, Rule, in_order, join_reasons, only
from corpusmill.text.script_stats import listed_words

BY_LANGUAGE = "by_language"
Bound = float | Literal["by_language"] | None


@dataclass(frozen=True, kw_only=True)
class Fineweb2:
    """Drop documents by the rules of FineWeb2, whose bounds and stop words are those of the document's language.

    The language, identified as by annotate/language, and its script choose one of 1,929 settings: fra_Latn, srp_Cyrl …
    A document whose language has none is dropped as `no_settings`; so are English, which FineWeb2 leaves to FineWeb,
    and unknown languages. A model with GlotLID's labels can be given by its path.

    A bound is `by_language`, a number for all languages, or None. The rules are those of filter/gopher_repetition,
    filter/fineweb and filter/gopher_quality; `min_stop_words` counts the language's stop words that occur, as written.
    FineWeb2 has its language scores from GlotLID; for those of lid.wide, `min_language_score: 0.65` is the alternative.

    Words are those of spaCy's English tokenizer, and in scripts without spaces those of `words: by_script`. Korean stop
    words are also looked for at the ends of words, and Maltese articles end at their hyphen.

    `rules` names the rules that are on, with their defaults or the bounds given beside; all others are off.

    Source: Penedo et al. 2025, arXiv:2506.20920, and the code published with it
    """

    min_language_score: Bound = "by_language"
    max_duplicate_lines: Bound = "by_language"  # share of lines that occurred before
    max_top_2_gram_chars: Bound = "by_language"  # this and the next: shares of characters
    max_top_3_gram_chars: Bound = "by_language"
    max_top_4_gram_chars: Bound = "by_language"
    max_duplicate_5_gram_chars: Bound = "by_language"
    max_duplicate_6_gram_chars: Bound = "by_language"
    max_duplicate_7_gram_chars: Bound = "by_language"
    max_duplicate_8_gram_chars: Bound = "by_language"
    max_duplicate_9_gram_chars: Bound = "by_language"
    max_duplicate_10_gram_chars: Bound = "by_language"
    min_punctuated_lines: Bound = "by_language"  # share of lines that end in terminal punctuation
    max_repeated_line_chars: float | None = 0.1  # share of characters in lines that occurred before
    max_newline_ratio: Bound = "by_language"  # "\n" to words
    min_words: int | None = 50
    max_words: int | None = 100_000
    min_mean_word_length: Bound = "by_language"  # code points
    max_mean_word_length: Bound = "by_language"  # code points
    max_hash_ratio: float | None = 0.1  # "#" to words
    max_ellipsis_ratio: float | None = 0.1  # "..." and "…" to words
    max_bullet_lines: float | None = 0.9  # share of lines that begin with a bullet
    max_ellipsis_lines: float | None = 0.3  # share of lines that end in an ellipsis
    min_alpha_words: Bound = "by_language"  # share of words with a letter
    min_stop_words: int | None = 2  # distinct ones of the language
    model: str = LID_WIDE  # an asset's name, or the path of a .bin or .ftz
    windows: int = 3  # that are read of a longer document
    window_chars: int | None = None  # null: 200 for lid.wide, 1,000 for fastText models
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    threshold_parameters: ClassVar[tuple[str, ...]] = ("rules",)
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("min_language_score", "score", "<"),
        Rule("max_duplicate_lines", "duplicate_line_ratio", ">"),
        *(Rule(f"max_top_{n}_gram_chars", f"top_{n}_gram_char_ratio", ">") for n in (2, 3, 4)),
        *(Rule(f"max_duplicate_{n}_gram_chars", f"duplicate_{n}_gram_char_ratio", ">") for n in range(5, 11)),
        Rule("min_punctuated_lines", "line_punctuation_ratio", "<"),
        Rule("max_repeated_line_chars", "repeated_line_char_ratio", ">"),
        Rule("max_newline_ratio", "newline_ratio", ">"),
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
    SWITCHES: ClassVar[tuple[str, ...]] = tuple(rule.parameter for rule in RULES)

    def __post_init__(self) -> None:
        only(self, "filter/fineweb2")
        for rule in self.SWITCHES:
            bound = getattr(self, rule)
            if isinstance(bound, str) and bound != BY_LANGUAGE:
                raise RecipeError(f'filter/fineweb2: {rule}: "{bound}" is neither a number nor {BY_LANGUAGE}')
            if bound == ():  # how `only` switches a rule off whose default is a name
                object.__setattr__(self, rule, None)
        check_words("by_script", "filter/fineweb2")
        self._identifier()
        in_order(self, "filter/fineweb2", "words", "mean_word_length")

    @property
    def needs(self) -> tuple[str, ...]:
        return (family("stats", "by_script"),)

    @property
    def assets(self) -> tuple[str, ...]:
        return (*self._identifier().assets(), fineweb2.NAME, WORDS)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        """`label` and `score` of the language, the `settings` chosen, and how many of their `stop_words` occur; and
        `alpha_words`, the share of words with a letter where words end at hyphens, null in other languages."""
        settings = fineweb2.settings()
        language = self._identifier().columns(docs["text"])
        chosen = settings.find_pairs(language["label"], docs["text"])
        stop_words = chosen  # of no documents
        if len(docs):
            stop_words = listed_words(docs["text"], chosen, settings.stop_words)
        rows, apart = settings.apart(docs["text"], chosen)
        alpha = np.full(len(docs), np.nan)
        if len(rows):
            stop_words[rows] = listed_words(apart, chosen[rows], settings.stop_words)
            measured = MEASURES[self.needs[0]](pa.record_batch({"text": apart}))
            alpha[rows] = measured["alpha_word_ratio"].to_numpy(zero_copy_only=False)
        return {
            "label": language["label"],
            "score": language["score"],
            "settings": settings.names(chosen),
            "stop_words": pa.array(stop_words, mask=chosen == fineweb2.NO_PAIR),
            "alpha_words": pa.array(alpha, from_pandas=True),
        }

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        settings = fineweb2.settings()
        chosen = settings.places(signals["settings"])
        hits = {"no_settings": pa.array(chosen == fineweb2.NO_PAIR)}
        for rule in self.RULES:
            bound = getattr(self, rule.parameter)
            if bound is None:
                continue
            measured = pc.cast(signals[rule.signal], pa.float64())
            if rule.parameter == "min_alpha_words":
                measured = pc.coalesce(pc.cast(signals["alpha_words"], pa.float64()), measured)
            limit = (
                bounds_of(settings.bounds[rule.parameter], chosen) if bound == BY_LANGUAGE else pa.scalar(float(bound))
            )
            # A null never drops: of a document without settings, and a bound that the language lacks.
            hits[rule.parameter] = COMPARE[rule.drops](measured, limit)
        return join_reasons(**hits)

    def _identifier(self) -> Identifier:
        return Identifier(model=self.model, windows=self.windows, window_chars=self.window_chars)


def bounds_of(table: NDArray[np.float64], chosen: NDArray[np.int64]) -> pa.Array:
    """(documents,) the bound of each by the number of its settings; null where there is none."""
    limit = table[chosen]
    return pa.array(limit, mask=np.isnan(limit) | (chosen == fineweb2.NO_PAIR))
