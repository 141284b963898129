"""How many of a document's sentences are questionable, as MADLAD-400 puts it?"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.filter._patterns import Patterns, check_patterns, matches
from corpusmill.steps.measures import ratio
from corpusmill.steps.verdict import Rule, failing
from corpusmill.text.sentences import sentence_spans
from corpusmill.text.shapes import span_texts

CURSED: Patterns = (
    ("lorem_ipsum", "(?i)lorem ipsum| (?:quis nostrud|sunt in culpa qui|aute irure dolor|wisi enim ad) "),
    ("replaced", "\ufffd{3}"),
    ("cell", r"\|\s*\z"),  # the last cell of a table
    ("number_sign", " №| (?i:nr|\u0433|\u043a\u0433|\u0448\u0442)\\.\\s*\\z"),
    ("download", r"(?i:\bdownload|\bmp3\b|\bvol\.|\bep\.|\bepisode\b)"),
    ("adult", "(?i)(?: (?:sex|xxx|porn) |黄色电影)"),
    ("dots", r"(?: \.{3,4}){9}"),
    ("spelled_out", "(?: [^ ]){9}"),
)


@dataclass(frozen=True, kw_only=True)
class Questionable:
    """Drop documents with too large a share of questionable sentences, or too few sentences.

    A sentence is questionable if one of these holds; None, False and an empty list switch a rule off:

        list_case     (2) it has more than 12 words, and more than half of them begin with a capital
        lengths       (3) it has fewer than 20 characters, or more than 500
        technical     (4) more than this share of its characters are among 0-9 { } + / ( ) >
        cursed        (5) it has a match of one of the expressions below …
        patterns      … or of these regular expressions of RE2

    The paper's rule 1 needs a model for each sentence and is left out. Dolma 3 takes 2 and 5 alone: `{lengths: null,
    technical: null, min_sentences: null}`. The expressions of `cursed` are ours: filler text, cells, units, downloads,
    adult pages, dots, spelled-out words. Sentences are those of `text.sentences`. Signals: `sentences`,
    `questionable_ratio`, and how many sentences each rule finds. 26 MB/s.

    Source: Kudugunta et al. 2023 (MADLAD-400), arXiv:2309.04662, section 2.2 and appendix A.2
    """

    max_questionable: float | None = 0.2  # share of sentences
    min_sentences: int | None = 5
    list_case: bool = True
    lengths: tuple[int, int] | None = (20, 500)  # characters
    technical: float | None = 0.2  # share of a sentence's characters
    cursed: bool = True  # it has a match of one of our expressions
    patterns: Patterns = ()  # name -> regular expression

    needs: ClassVar[tuple[str, ...]] = ()
    threshold_parameters: ClassVar[tuple[str, ...]] = ("max_questionable", "min_sentences")
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("max_questionable", "questionable_ratio", ">"),
        Rule("min_sentences", "sentences", "<"),
    )

    def __post_init__(self) -> None:
        check_patterns(self.patterns, "filter/questionable")
        for name in ("max_questionable", "technical"):
            if (share := getattr(self, name)) is not None and not 0 <= share <= 1:
                raise RecipeError(f"filter/questionable: {name} is a share from 0 to 1, got {share}")
        if self.lengths is not None and not 0 <= self.lengths[0] <= self.lengths[1]:
            raise RecipeError(
                f"filter/questionable: lengths are the least and the most characters, as in [20, 500], got "
                f"{list(self.lengths)}"
            )

    def signals(self, docs: pa.RecordBatch) -> Columns:
        text = pc.fill_null(docs["text"], "")
        spans, offsets = sentence_spans(text)
        document = np.repeat(np.arange(len(docs), dtype=np.int32), np.diff(offsets))
        each = span_texts(text, document, spans[:, 0], spans[:, 1])
        hits_by_rule = self._hits(each)

        def per_document(hits: NDArray[Any]) -> NDArray[np.int64]:
            return np.bincount(document, hits, len(docs)).astype(np.int64)

        any_rule = np.zeros(len(each), bool)
        for hits in hits_by_rule.values():
            any_rule |= hits
        sentences = np.diff(offsets)
        columns = {"sentences": sentences, "questionable_ratio": ratio(per_document(any_rule), sentences)}
        return {
            name: pa.array(values)
            for name, values in (columns | {name: per_document(hits) for name, hits in hits_by_rule.items()}).items()
        }

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)

    def _hits(self, sentences: pa.LargeStringArray) -> dict[str, NDArray[np.bool_]]:
        """(sentences,) for each rule, which it finds; none where it is off."""
        hits = {name: np.zeros(len(sentences), bool) for name in ("list_case", "lengths", "technical", "cursed")}
        chars = pc.utf8_length(sentences).to_numpy()
        if self.list_case:
            words, capitals = counted(sentences, r"\S+"), counted(sentences, r"(?:\A|\s)\p{Lu}")
            hits["list_case"] = (words > 12) & (2 * capitals > words)
        if self.lengths is not None:
            hits["lengths"] = (chars < self.lengths[0]) | (chars > self.lengths[1])
        if self.technical is not None:
            hits["technical"] = counted(sentences, r"[0-9{}+/()>]") > self.technical * chars
        if patterns := (*(CURSED if self.cursed else ()), *self.patterns):  # in one pass
            hits["cursed"] = matches(sentences, "|".join(f"(?:{pattern})" for _, pattern in patterns))
        return hits


def counted(texts: pa.LargeStringArray, pattern: str) -> NDArray[np.int64]:
    return pc.count_substring_regex(texts, pattern).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
