"""Regular expressions of one's own: how often, and how much of a document, they match."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.filter._patterns import Patterns as Named
from corpusmill.steps.filter._patterns import check_patterns, match_counts, matches
from corpusmill.steps.measures import ratio
from corpusmill.steps.own_patterns import replace_matches
from corpusmill.steps.verdict import join_reasons
from corpusmill.text.shapes import line_shapes, line_texts


@dataclass(frozen=True, kw_only=True)
class Patterns:
    r"""Drop documents in which a regular expression of yours matches too often, too much, or in too many lines.

        filter/patterns: {patterns: {placeholder: "(?i)lorem ipsum", price: '[$€]\d+'}, max_count: 3}

    Every bound is for each pattern by itself, and a value that still passes; one at least must be set. The reason is
    the pattern's name and the measure: `placeholder_count`. For other bounds for another pattern, write the step twice.

        count        matches, from left to right and without overlap
        share        characters of these, of all characters
        line_share   lines with a match, of all lines that are not blank

    Patterns are RE2's, without look-around; "(?i)" ignores case, "(?m)" lets ^ and $ match at line ends. A document
    whose matches take more than 10 seconds is a DocumentError. Signals: `NAME_count`, `NAME_share`,
    `NAME_line_share`, None where no bound is about them.
    """

    patterns: Named  # name -> regular expression
    max_count: int | None = None
    max_share: float | None = None  # of characters
    max_line_share: float | None = None  # of lines

    needs: ClassVar[tuple[str, ...]] = ()
    threshold_parameters: ClassVar[tuple[str, ...]] = ("max_count", "max_share", "max_line_share")

    def __post_init__(self) -> None:
        if not self.patterns:
            raise RecipeError('filter/patterns: patterns is empty; write as {patterns: {name: "regular expression"}}')
        check_patterns(self.patterns, "filter/patterns")
        if self.max_count is None and self.max_share is None and self.max_line_share is None:
            raise RecipeError(
                "filter/patterns: set max_count, max_share or max_line_share; max_count: 0 drops documents with a match"
            )
        if self.max_count is not None and self.max_count < 0:
            raise RecipeError(
                f"filter/patterns: max_count must be at least 0, got {self.max_count}; null switches it off"
            )
        for name in ("max_share", "max_line_share"):
            if (share := getattr(self, name)) is not None and not 0 <= share <= 1:
                raise RecipeError(f"filter/patterns: {name} is a share from 0 to 1, got {share}")

    def signals(self, docs: pa.RecordBatch) -> Columns:
        text = pc.fill_null(docs["text"], "")
        columns: dict[str, pa.Array] = {}
        nothing = pa.nulls(len(docs), pa.float64())
        chars = pc.utf8_length(text).to_numpy().astype(np.int64)
        if self.max_line_share is not None:
            lines = line_shapes(text)
            lines = lines[lines["words"] > 0]
            line = line_texts(text, lines)
            total = np.bincount(lines["document"], minlength=len(docs))
        for name, pattern in self.patterns:
            columns[f"{name}_count"] = pa.nulls(len(docs), pa.int64())
            columns[f"{name}_share"] = columns[f"{name}_line_share"] = nothing
            if self.max_count is not None:
                columns[f"{name}_count"] = pa.array(match_counts(text, pattern, chars))
            if self.max_share is not None:
                unmatched = pc.utf8_length(replace_matches(text, pattern, "")).to_numpy().astype(np.int64)
                columns[f"{name}_share"] = pa.array(ratio(chars - unmatched, chars))
            if self.max_line_share is not None:
                hit = np.bincount(lines["document"], matches(line, pattern), len(docs)).astype(np.int64)
                columns[f"{name}_line_share"] = pa.array(ratio(hit, total))
        return columns

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        bounds = {"count": self.max_count, "share": self.max_share, "line_share": self.max_line_share}
        hits = {
            f"{name}_{measure}": pc.greater(signals[f"{name}_{measure}"], pa.scalar(bound))
            for name, _ in self.patterns
            for measure, bound in bounds.items()
            if bound is not None
        }
        return join_reasons(**hits)
