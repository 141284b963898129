"""How much of what a document says is still in what was made of it: its numbers and names."""

import re

NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f]\d+)*")
SEPARATOR = re.compile(r"[,\u00a0\u202f](?=\d{3}(?:\D|$))")  # of thousands
# A word in capital letters inside a sentence: its first word says nothing.
NAME = re.compile(r"(?:(?<=[^\W_] )|(?<=[^\W_][,;:] ))([^\W\d_a-z][^\W_]+(?:-[^\W_]+)*)")


def numbers(text: str) -> set[str]:
    """The different numbers of a text, without separators of thousands.

    >>> sorted(numbers("In 1969, 1,024 of 3.5"))
    ['1024', '1969', '3.5']
    """
    return {SEPARATOR.sub("", match) for match in NUMBER.findall(text)}


def names(text: str) -> set[str]:
    """The different words with a capital letter that do not begin a sentence, in scripts that have them.

    >>> sorted(names("The boat of Anna Berg left Oslo. Nobody saw NASA."))
    ['Anna', 'Berg', 'NASA', 'Oslo']
    """
    return {match for match in NAME.findall(text) if match[0].isupper()}


def kept_share(before: set[str], after: set[str]) -> float | None:
    """The share of these that are still there; None if there were none."""
    return len(before & after) / len(before) if before else None
