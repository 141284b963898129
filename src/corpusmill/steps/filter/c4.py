"""C4's rules: keep the lines that are sentences, drop the documents that are not prose."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.verdict import MOST, Rule, join_reasons, only
from corpusmill.text.c4 import CURLY_BRACKET, LINE_REASONS, LOREM_IPSUM, OK, clean_lines
from corpusmill.text.rewrite import with_text


@dataclass(frozen=True, kw_only=True)
class C4:
    """Remove lines that are not sentences, then drop documents with placeholder text, code, or too few sentences.

    Lines are those of str.splitlines(), stripped, and are removed in this order: too long a word, no terminal
    punctuation, too few words, "javascript", a phrase of cookie and privacy notices. Citations are cut out of the
    others. A document is dropped if a line that was not removed up to that point has "lorem ipsum" or "{", or if too
    few sentences remain. False or None switches a part off. `rules` names the parts that are on, all others are off.
    Documents dropped for "lorem ipsum" or "{" keep their lines.

    Texts and lines equal those of datatrove's C4QualityFilter, and thereby FineWeb's, which leaves
    `terminal_punctuation` off: it alone would remove 30 % of its tokens. The code that made C4 is `{min_words_per_line:
    5, min_sentences: 3, apostrophe: false}`, its paper that with `whole_page=True`. Sentences are counted by
    `corpusmill.text.sentences`, not Punkt or spaCy: documents exactly at the bound may differ.

    Signals: `sentences` of the remaining text, `lorem_ipsum`, `curly_bracket`, `lines_kept`, `lines_long_word` …
    `lines_policy`.

    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.2, and the code published with it
    """

    remove_lines: bool = True
    terminal_punctuation: bool = True
    apostrophe: bool = True  # a line may also end in '
    min_words_per_line: int | None = 3
    max_word_chars: int | None = 1000
    citations: bool = True
    javascript: bool = True
    policy: bool = True
    lorem_ipsum: bool = True
    curly_bracket: bool = True
    whole_page: bool = False  # these two drop a document for any line, also for a removed one
    min_sentences: int | None = 5
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("min_sentences", "sentences", "<"),)
    SWITCHES: ClassVar[tuple[str, ...]] = (
        *("max_word_chars", "citations", "terminal_punctuation", "min_words_per_line", "javascript", "policy"),
        *("lorem_ipsum", "curly_bracket", "min_sentences"),
    )

    def __post_init__(self) -> None:
        only(self, "filter/c4")
        for parameter in ("min_words_per_line", "max_word_chars", "min_sentences"):
            if (bound := getattr(self, parameter)) is not None and bound < 0:
                raise RecipeError(f"filter/c4: {parameter} must be at least 0, got {bound}; null switches it off")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        before = docs["text"]
        cleaned = clean_lines(
            before,
            terminal_punctuation=self.terminal_punctuation,
            apostrophe=self.apostrophe,
            min_words=self.min_words_per_line,
            max_word_chars=self.max_word_chars,
            citations=self.citations,
            javascript=self.javascript,
            policy=self.policy,
            lorem_ipsum=self.lorem_ipsum,
            curly_bracket=self.curly_bracket,
        )
        verdict = self._verdict_of_page(before, cleaned.verdict) if self.whole_page else cleaned.verdict
        dropped = verdict != OK
        text = pc.if_else(pa.array(dropped), before, cleaned.text) if self.remove_lines else before
        signals = {
            "sentences": pa.array(cleaned.sentences, mask=dropped),
            "lorem_ipsum": pa.array(verdict == LOREM_IPSUM),
            "curly_bracket": pa.array(verdict == CURLY_BRACKET),
            **{
                f"lines_{name}": pa.array(np.ascontiguousarray(count))
                for name, count in zip(LINE_REASONS, cleaned.lines.T)
            },
        }
        changed = with_text(docs, text)
        for name, column in signals.items():
            changed = changed.append_column(name, column)
        return changed

    def _verdict_of_page(self, texts: pa.Array, verdict: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """(documents,) the verdict of the kept lines, or else of the whole page."""
        for switched_on, phrase, name in (
            (self.lorem_ipsum, "lorem ipsum", LOREM_IPSUM),
            (self.curly_bracket, "{", CURLY_BRACKET),
        ):
            if switched_on:
                hit = pc.fill_null(pc.match_substring(pc.ascii_lower(texts), phrase), False)
                verdict = np.where((verdict == OK) & hit.to_numpy(zero_copy_only=False), np.uint8(name), verdict)
        return verdict

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        hits = {"lorem_ipsum": signals["lorem_ipsum"], "curly_bracket": signals["curly_bracket"]}
        if self.min_sentences is not None:
            hits["min_sentences"] = pc.less(signals["sentences"], min(self.min_sentences, MOST))
        return join_reasons(**hits)
