"""Regular expressions of a recipe's own, in RE2: each search takes linear time, whatever the pattern and the text."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps.own_patterns import replace_matches

Patterns = tuple[tuple[str, str], ...]


def check_patterns(patterns: Patterns, name: str) -> None:
    """Raises RecipeError unless every pattern has a name of its own, is RE2, and matches at least one character."""
    for called, pattern in patterns:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", called):
            raise RecipeError(f'{name}: "{called}" cannot name a pattern, and so a reason; use letters, digits and _')
        try:
            empty = pc.match_substring_regex(pa.array([""], pa.large_string()), pattern)[0].as_py()
        except pa.ArrowInvalid as error:
            problem = str(error).removeprefix("Invalid regular expression: ")
            raise RecipeError(
                f"{name}: patterns.{called} is not a regular expression of RE2: {problem}: {pattern} (look-around and "
                "back-references do not exist there; (?i) ignores case)"
            ) from None
        if empty:
            raise RecipeError(
                f"{name}: patterns.{called} matches the empty text, so it would match everywhere: {pattern}"
            )
    if len({called for called, _ in patterns}) < len(patterns):
        raise RecipeError(f"{name}: two patterns have the same name")


def matches(texts: pa.LargeStringArray, pattern: str) -> NDArray[np.bool_]:
    """(texts,) whether the pattern occurs."""
    hit: NDArray[np.bool_] = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
    return hit


def match_counts(texts: pa.LargeStringArray, pattern: str, chars: NDArray[np.int64]) -> NDArray[np.int64]:
    """(texts,) how often the pattern matches, without overlap.

    chars   (texts,) characters of each
    """
    # Arrow's own count begins a new text after each match, so that ^ matches there again: one mark a match is counted.
    marked = replace_matches(texts, pattern, r"\0#")
    counts: NDArray[np.int64] = pc.utf8_length(marked).to_numpy().astype(np.int64) - chars
    return counts
