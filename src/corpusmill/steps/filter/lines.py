"""Rules for lines and paragraphs: those that fail one are removed, and the document is kept."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.filter._bullets import check_bullets
from corpusmill.steps.filter._patterns import Patterns, check_patterns, matches
from corpusmill.steps.measures import basic, ratio, text
from corpusmill.steps.verdict import COMPARE, Rule, failing
from corpusmill.text.marks import count_bullets
from corpusmill.text.pieces import pieces, spans_without
from corpusmill.text.replace import replace_spans
from corpusmill.text.rewrite import with_text
from corpusmill.text.shapes import span_texts
from corpusmill.text.stats import document_stats
from corpusmill.text.unicode import terminal


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Remove lines, or paragraphs, that fail a rule; drop documents of which nothing is left.

        filter/lines: {min_words: 3, terminal_punctuation: true, patterns: {cookies: "(?i)use of cookies"}}
        filter/lines: {unit: paragraphs, max_repeat_ratio: 0.7}

    A paragraph is a sequence of lines that are not blank. Each is stripped, and measured as filter/basic measures a
    document. Every bound is a value that still passes; None, False and an empty list switch a rule off, which all are
    by default. The first rule that a line fails, in the order of the parameters, removes it:

        bullets               it begins with one of these characters
        terminal_punctuation  its last character, quotation marks and brackets aside, is not one of Unicode's
                              Sentence_Terminal; "..." does, "…" does not
        patterns              it has a match of a regular expression of RE2

    Between two kept lines the widest gap remains. A document of which no line is left is dropped as `empty`. One that
    loses more than `max_words_removed` of its words is dropped too, and keeps its lines.

    Signals: `words_removed_ratio`; for each rule that is on `removed_RULE`, for each pattern `removed_NAME`: how many
    lines.

    Source: after C4 (arXiv:1910.10683) and RefinedWeb (arXiv:2306.01116)
    """

    unit: Literal["lines", "paragraphs"] = "lines"  # what is judged and removed
    min_words: int | None = None
    max_words: int | None = None
    min_characters: int | None = None
    max_characters: int | None = None
    max_uppercase_char_ratio: float | None = None
    max_special_char_ratio: float | None = None
    max_digit_ratio: float | None = None
    max_repeat_ratio: float | None = None  # 1 - distinct words / words
    max_repeated_3_gram_ratio: float | None = None
    bullets: str | None = None  # as in "•-*"
    terminal_punctuation: bool = False
    patterns: Patterns = ()  # name -> regular expression
    max_words_removed: float | None = None  # share of the document's words

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("max_words_removed", "words_removed_ratio", ">"),)

    def __post_init__(self) -> None:
        if self.unit not in ("lines", "paragraphs"):
            raise RecipeError(f'filter/lines: unit is "lines" or "paragraphs", got "{self.unit}"')
        if self.bullets is not None:
            check_bullets(self.bullets, "filter/lines", "bullets")
        check_patterns(self.patterns, "filter/lines")
        for rule in (*MEASURED, *self.RULES):
            bound = getattr(self, rule.parameter)
            if bound is not None and bound < 0:
                raise RecipeError(
                    f"filter/lines: {rule.parameter} must be at least 0, got {bound}; null switches it off"
                )
            if bound is not None and bound > 1 and rule.signal.endswith("_ratio"):
                raise RecipeError(f"filter/lines: {rule.parameter} is a share from 0 to 1, got {bound}")
        switches = {*(rule.parameter for rule in MEASURED), "bullets", "terminal_punctuation"}
        for name, _ in self.patterns:
            if name in switches:
                raise RecipeError(f'filter/lines: a pattern cannot be named "{name}", as a rule of this step is')
        if not self.patterns and all(getattr(self, name) is None or getattr(self, name) is False for name in switches):
            raise RecipeError(
                "filter/lines: no rule is on, so no line would be removed; set one, as in {min_words: 3}. "
                f"There are: {', '.join((*(rule.parameter for rule in MEASURED), *OTHERS))}."
            )

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        before = docs["text"]
        parts = pieces(before, self.unit)
        document = np.repeat(np.arange(len(docs), dtype=np.int32), np.diff(parts.offsets))
        lines = span_texts(before, document, parts.start, parts.end)
        lines = pc.utf8_trim_whitespace(lines)
        counted = document_stats(lines)

        def per_document(values: Any) -> NDArray[np.int64]:
            return np.bincount(document, values, len(docs)).astype(np.int64)

        removed = np.zeros(len(document), bool)
        signals: dict[str, NDArray[Any]] = {}
        for name, hit in self._failing(lines, counted):
            signals[f"removed_{name}"] = per_document(hit & ~removed)
            removed |= hit
        words = counted["words"]
        lost = ratio(per_document(np.where(removed, words, 0)), per_document(words))
        spans = spans_without(before, parts, removed)
        cleaned = replace_spans(before, spans, pa.array([""] * len(spans), pa.large_string()))
        nothing_left = (np.diff(parts.offsets) > 0) & (per_document(~removed) == 0)
        cleaned = pc.if_else(pa.array(nothing_left), pa.scalar(None, pa.large_string()), cleaned)
        if self.max_words_removed is not None:
            cleaned = pc.if_else(pa.array(lost > self.max_words_removed), before, cleaned)
        changed = with_text(docs, cleaned)
        for name, column in ({"words_removed_ratio": lost} | signals).items():
            changed = changed.append_column(name, pa.array(column))
        return changed

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)

    def _failing(self, lines: pa.LargeStringArray, counted: NDArray[Any]) -> list[tuple[str, NDArray[np.bool_]]]:
        """(lines,) which fail it, for each rule that is on, in order."""
        columns = {**text(counted), **basic(counted)}
        hits: list[tuple[str, NDArray[np.bool_]]] = []
        for rule in MEASURED:
            if (bound := getattr(self, rule.parameter)) is not None:
                hit = COMPARE[rule.drops](columns[rule.signal], pa.scalar(bound))
                hits.append((rule.parameter, hit.to_numpy(zero_copy_only=False)))
        if self.bullets is not None:
            hits.append(("bullets", count_bullets(first_characters(lines), self.bullets)[1] > 0))
        if self.terminal_punctuation:
            hits.append(("terminal_punctuation", ~ends_sentence(lines)))
        return hits + [(name, matches(lines, pattern)) for name, pattern in self.patterns]


MEASURED = (
    Rule("min_words", "words", "<"),
    Rule("max_words", "words", ">"),
    Rule("min_characters", "characters", "<"),
    Rule("max_characters", "characters", ">"),
    Rule("max_uppercase_char_ratio", "uppercase_char_ratio", ">"),
    Rule("max_special_char_ratio", "special_char_ratio", ">"),
    Rule("max_digit_ratio", "digit_ratio", ">"),
    Rule("max_repeat_ratio", "repeat_ratio", ">"),
    Rule("max_repeated_3_gram_ratio", "repeated_3_gram_ratio", ">"),
)
OTHERS = ("bullets", "terminal_punctuation", "patterns")
CLOSING = "\"'”’»›)]}\uff09\uff3d」』】》〉"  # may follow the end of a sentence


def ends_sentence(texts: pa.LargeStringArray) -> NDArray[np.bool_]:
    """(texts,) whether the last character of each, CLOSING aside, ends a sentence."""
    last = pc.utf8_slice_codeunits(pc.utf8_rtrim(texts, CLOSING), -1)
    ends: NDArray[np.bool_] = pc.is_in(last, pa.array(sorted(terminal()), pa.large_string())).to_numpy(
        zero_copy_only=False
    )
    return ends


def first_characters(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The first character of each: a paragraph begins with a bullet if its first line does."""
    return pc.utf8_slice_codeunits(texts, 0, 1)
