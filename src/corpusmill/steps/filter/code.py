"""Source code, recognised by its keywords, symbols and lines: leave it out of a corpus of prose, or keep nothing
else.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.measures import ratio
from corpusmill.steps.verdict import Rule, failing
from corpusmill.text.code import CODE_COUNTS, code_counts


@dataclass(frozen=True, kw_only=True)
class Code:
    """Drop documents that look like source code, or those that do not.

    Every bound is a value that still passes; None switches its rule off. `corpusmill.text.code` defines exactly:

        keyword_ratio     of identifiers that are keywords of a dozen programming languages
        symbol_ratio      of characters, white space not counted, that are one of {}[]();=<>_&|
        code_line_ratio   of non-blank lines that end in "{", ";" or "):", are nothing but brackets, or begin a comment,
                          a directive, a decorator or a tag

    `code_score` is the mean of the three, each divided by its typical value in code (0.15, 0.08 and 0.5; prose has
    0.035, 0.01 and 0) and capped at 1. For a corpus of code set `max_code_score` to None and `min_code_score` to 0.5.

    Source: ours. Rae et al. 2021, arXiv:2112.11446, and Raffel et al. 2020, arXiv:1910.10683, drop code by single
    symbols, so one listing in an article drops the article.
    """

    max_code_score: float | None = 0.5
    min_code_score: float | None = None

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("max_code_score", "code_score", ">"),
        Rule("min_code_score", "code_score", "<"),
    )

    def __post_init__(self) -> None:
        for name in ("max_code_score", "min_code_score"):
            if (bound := getattr(self, name)) is not None and not 0 <= bound <= 1:
                raise RecipeError(f"filter/code: {name} is from 0 to 1, got {bound}")

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return {name: pa.array(values) for name, values in code_shares(docs["text"]).items()}

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return failing(self, self.RULES, signals)


def code_shares(texts: pa.LargeStringArray) -> dict[str, NDArray[np.float64]]:
    """(documents,) each: the three shares, and `code_score`."""
    counts = code_counts(texts) if len(texts) else np.zeros(0, CODE_COUNTS)
    shares = {
        "keyword_ratio": ratio(counts["keywords"], counts["words"]),
        "symbol_ratio": ratio(counts["symbols"], counts["chars"]),
        "code_line_ratio": ratio(counts["code_lines"], counts["lines"]),
    }
    evidence = [np.minimum(shares[name] / typical, 1.0) for name, typical in TYPICAL.items()]
    return {**shares, "code_score": (evidence[0] + evidence[1] + evidence[2]) / 3}


# The medians of our 487 files of code; prose, with its few "for" and "if", is far below.
TYPICAL = {"keyword_ratio": 0.15, "symbol_ratio": 0.08, "code_line_ratio": 0.5}
