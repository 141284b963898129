"""Text of unknown origin, made safe to look at: what would act instead of being seen is shown by name."""

import re

# Controls (a terminal obeys them), marks that turn the direction of what follows, invisible operators, separators
# that break lines, annotation and tag characters, surrogates. Line feed and tab stay; so do the joiners that emoji
# and many scripts need.
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with every character that acts instead of being seen replaced by a picture or the name of it.

    >>> visible("a\\x1b[2Jb\\u202ec")
    'a␛[2Jb⟨U+202E⟩c'
    """
    return ACTING.sub(_shown, text)


def one_line(text: str) -> str:
    """The same on one line.

    >>> one_line("a\\n  b\\x00")
    'a b␀'
    """
    return visible(" ".join(text.split()))


def excerpt(text: str, chars: int) -> str:
    """At most `chars` characters of the beginning of a text; "…" stands for the rest.

    >>> excerpt("abcdef", 4), excerpt("abcd", 4)
    ('abcd…', 'abcd')
    """
    return text if len(text) <= chars else f"{text[:chars]}…"


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
