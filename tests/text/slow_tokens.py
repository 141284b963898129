"""Plain tokens in plain Python: the twin of the kernels."""

import unicodedata

from corpusmill.text.plain_tokens import ALONE


def slow_tokens(text: str) -> list[tuple[int, int]]:
    """First byte and end of each token."""
    spans: list[tuple[int, int]] = []
    at, joins = 0, False
    for character in text:
        size = len(character.encode())
        alone = any(first <= ord(character) <= last for first, last in ALONE)
        word = not character.isspace() and unicodedata.category(character)[0] in "LNM" and not alone
        if word and joins:
            spans[-1] = (spans[-1][0], at + size)
        elif not character.isspace():
            spans.append((at, at + size))
        joins = word
        at += size
    return spans
