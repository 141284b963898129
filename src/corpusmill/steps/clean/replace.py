"""Replace what regular expressions of one's own match."""

from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.steps.own_patterns import replace_matches
from corpusmill.text.rewrite import masked, with_text


@dataclass(frozen=True, kw_only=True)
class Replace:
    r"""Replace what your regular expressions match, each in turn in the text that the one before leaves.

        clean/replace: {patterns: {'[●■►▼]': "", '\b(\w+)@\w+\.org\b': '\1 at work'}}

    An expression is followed by what replaces each match: "" removes it, `\1` is its first group, `\0` the match, `\\`
    a backslash. `lower=True` first puts all letters into lower case. To remove whole lines, match their end:
    `(?m)^Advertisement\n`. Patterns are RE2's, without look-around; "(?i)" ignores case, "(?m)" lets ^ and $ match at
    line ends, "(?s)" lets . match a line feed. A document whose matches take more than 10 seconds is a
    DocumentError. Signal: `replaced`, whether the text was changed.
    """

    patterns: tuple[tuple[str, str], ...]  # regular expression -> replacement
    lower: bool = False  # all letters become lower case first

    def __post_init__(self) -> None:
        if not self.patterns and not self.lower:
            raise RecipeError(
                'clean/replace: patterns is empty; write as {patterns: {"regular expression": "replacement"}}'
            )
        for pattern, replacement in self.patterns:
            _check(pattern, replacement)

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        before = docs["text"]
        text = pc.utf8_lower(before) if self.lower else before
        for pattern, replacement in self.patterns:
            replaced = partial(replace_matches, pattern=pattern, replacement=replacement)
            text = masked(text, pc.match_substring_regex(text, pattern), replaced)
        changed = pc.not_equal(text, before)
        return with_text(docs, text).append_column("replaced", changed)


def _check(pattern: str, replacement: str) -> None:
    """Raises RecipeError unless the pattern is RE2, matches at least one character, and has the groups that are asked
    for."""
    probe = pa.array([""], pa.large_string())
    try:
        empty = pc.match_substring_regex(probe, pattern)[0].as_py()
    except pa.ArrowInvalid as error:
        problem = str(error).removeprefix("Invalid regular expression: ")
        raise RecipeError(
            f"clean/replace: patterns has no regular expression of RE2: {problem}: {pattern} (look-around and "
            "back-references do not exist there; (?i) ignores case)"
        ) from None
    if empty:
        raise RecipeError(f"clean/replace: a pattern matches the empty text, so it would match everywhere: {pattern}")
    try:
        pc.replace_substring_regex(probe, pattern, replacement)
    except pa.ArrowInvalid as error:
        raise RecipeError(
            f'clean/replace: "{replacement}" cannot take the place of {pattern}: {error} (\\1 is the first group, '
            "\\\\ a backslash)"
        ) from None
