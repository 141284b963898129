"""Texts that like to hit the edges of kernels: of words, lines, 64-byte blocks and UTF-8."""

import unicodedata

import pyarrow as pa
from hypothesis import strategies as st

from corpusmill.text.plain_tokens import ALONE

# Python's Unicode tables grow with its version and ours do not: only characters that all versions know.
STABLE = [
    chr(cp) for cp in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(cp)) not in ("Cn", "Cs", "Co", "Cc")
] + list(map(chr, range(32)))

WORDS = """
the be word Word WORD a A x 1 12 1,5 3.14 ... … . .. ! ? • - # é É ß İ Σ ΑΣ ΟΔΟΣ. 日本 です。 한국 हिन्दी ك ٣٫٥ １ ２ 😀 ǅ ² ½
Ⅷ"""
# A word character beside personal data. Korean, and scripts without spaces between words, touch what is not theirs.
_TOUCHING = "".join(
    f"{chr(first)}-{chr(last)}"
    for first, last in (*ALONE, (0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7FF), (0xFFA0, 0xFFDC))
)
WORD = rf"(?:\d|(?![{_TOUCHING}])\w)"
WHITE = [chr(cp) for cp in range(0x110000) if chr(cp).isspace()]  # all white space that Unicode has
SPACES = [" ", "  ", "\n", "\n\n", "\n\n\n", "\r\n", *WHITE]
ODD = ["\u200b", "\u0301", "e\u0301", "\x00", "\x7f", "x" * 63, "y" * 70, "é" * 40, "the end.\n", "- item\n"]
ATOMS = [*WORDS.split(), *SPACES, " ", " ", "\n", *ODD]

texts = st.one_of(
    st.sampled_from(["", *WHITE, *STABLE]),  # empty, or one character
    st.lists(st.sampled_from([*WHITE, "a", "be", "."]), max_size=40).map("".join),
    st.lists(st.sampled_from(ATOMS), max_size=60).map("".join),
    st.lists(st.sampled_from(["a", "b", "c", "to"]), max_size=60).map(" ".join),
    st.lists(st.sampled_from(STABLE), max_size=40).map("".join),
)
batches = st.lists(texts, min_size=1, max_size=4)


def strings(*values: str | None) -> pa.LargeStringArray:
    return pa.array(values, pa.large_string())


def raw_strings(*values: bytes) -> pa.LargeStringArray:
    """An array of these bytes, which need not be UTF-8, in a buffer that ends where they do."""
    return pa.array(values, pa.large_binary()).view(pa.large_string())
