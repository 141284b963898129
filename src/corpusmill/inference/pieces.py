"""Documents cut to what a model can take at a time."""

import re

PARAGRAPH, LINE, BLANK = re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"\s+")
SENTENCE = re.compile("(?<=[.!?\u3002\uff01\uff1f])\\s+")


def pieces(text: str, max_chars: int) -> list[str]:
    """A text in parts of at most so many characters, which together are all of it but for blanks at the cuts.

    It is cut between paragraphs, or else between lines, sentences or words, or else anywhere; and parts are as few as
    that allows, and of about one size, so that the last one is no crumb.

    >>> pieces("One. Two.\\n\\nThree four. Five.", 12)
    ['One. Two.', 'Three four.', 'Five.']
    """
    text = text.strip()
    if len(text) <= max_chars:
        return [text] if text else []
    target = -(-len(text) // -(-len(text) // max_chars))
    parts = []
    while len(text) > max_chars:
        cut = _cut(text, target, max_chars)
        parts.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*parts, text] if text else parts


def _cut(text: str, target: int, max_chars: int) -> int:
    """Where the first part ends: the place nearest to the target at which a text may be cut, from half of it on."""
    for pattern in (PARAGRAPH, LINE, SENTENCE, BLANK):
        places = [match.start() for match in pattern.finditer(text, target // 2, max_chars + 1)]
        places = [place for place in places if place and place <= max_chars]
        if places:
            return min(places, key=lambda place: (abs(place - target), place))
    return max_chars
