"""Text of unknown origin, made safe to display: characters that a terminal or browser would obey are shown by name."""

import re
from collections.abc import Mapping
from typing import Any

# Control characters, direction marks and overrides, invisible operators, line separators, annotation and tag
# characters, surrogates. Line feed and tab are kept, and so are the joiners that emoji and many scripts need.
UNSAFE_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with every unsafe character replaced by its picture or its name.

    >>> visible("a\\x1b[2Jb\\u202ec")
    'a␛[2Jb⟨U+202E⟩c'
    """
    return UNSAFE_CHARACTERS.sub(_shown, text)


def one_line(text: str) -> str:
    """The same on one line.

    >>> one_line("a\\n  b\\x00")
    'a b␀'
    """
    return visible(" ".join(text.split()))


def excerpt(text: str, chars: int) -> str:
    """At most the first `chars` characters of a text, with "…" for the rest.

    >>> excerpt("abcdef", 4), excerpt("abcd", 4)
    ('abcd…', 'abcd')
    """
    return text if len(text) <= chars else f"{text[:chars]}…"


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def not_stored(entry: Mapping[str, Any]) -> str:
    """What is shown instead of a text: where the document was read."""
    location = one_line(f"{entry['file']} at {entry['position']}")
    return f"text not stored; it was read from {location}; run.dropped_text: all stores all texts"
