"""Ellipses, for ellipses of one's own: how many to the words, and how many lines end in one."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps.filter._words import Words, family
from corpusmill.steps.measures import MEASURES, ratio

ELLIPSES = ("...", "…")  # what the measures of `corpusmill.steps.measures` count
BREAK = r"[\n\r\x0b\x0c\x1c-\x1e\x{85}\x{2028}\x{2029}]"  # those of str.splitlines()


def check_ellipses(ellipses: Sequence[str], name: str) -> None:
    """Raises RecipeError unless each can end a line."""
    if not ellipses or any(not ellipsis.strip() or ellipsis != ellipsis.strip() for ellipsis in ellipses):
        raise RecipeError(
            f'{name}: ellipses is a list of texts without white space at the ends, as in ["...", ". . ."], got '
            f"{list(ellipses)}; to switch the rules off, set max_ellipsis_ratio and max_ellipsis_lines to null"
        )


def ellipsis_ratios(texts: pa.LargeStringArray, ellipses: tuple[str, ...], words: Words) -> dict[str, pa.Array]:
    """The columns `ellipsis_ratio`, `symbol_ratio` and `ellipsis_line_ratio`, or none where the measures of the same
    names count these very ellipses. Of two that begin at one place the longer counts, and none overlap."""
    if set(ellipses) == set(ELLIPSES):
        return {}
    texts = pc.fill_null(texts, "")
    pattern = "|".join(re.escape(ellipsis) for ellipsis in sorted(ellipses, key=len, reverse=True))
    statistics = MEASURES[family("stats", words)].statistics(texts)
    count, ends = counted(texts, pattern), counted(texts, rf"(?:{pattern})[^\S\n\r]*(?:{BREAK}|\z)")
    total = statistics["words"]
    return {
        "ellipsis_ratio": pa.array(ratio(count, total)),
        "symbol_ratio": pa.array(ratio(count + statistics["hashes"], total)),
        "ellipsis_line_ratio": pa.array(ratio(ends, statistics["lines"])),
    }


def counted(texts: pa.LargeStringArray, pattern: str) -> NDArray[np.int64]:
    return pc.count_substring_regex(texts, pattern).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
