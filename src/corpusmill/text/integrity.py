"""How long a text is, and whether it is intact: residual markup, code, white space, broken encoding.

One walk at the speed of memory, so that every document can be measured as it comes in and as it goes out.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, Bits, count_bits, load8, lowest_bit, moved_up
from corpusmill.text.spans import below
from corpusmill.text.tags import any_markup, elements
from corpusmill.text.word_counts import word_counts

INTEGRITY_FLAGS = ("markup", "code", "space", "encoding")
MEASURED = np.dtype(
    [("chars", np.int64), ("words", np.int64), ("symbols", np.int64), ("visible", np.int64)]
    + [(name, np.bool_) for name in INTEGRITY_FLAGS]
)
SYMBOLS = "{}[]();=<>_&|"  # those of filter/code
SPACES, BREAKS = 3, 4  # in a row: too many
CODE = 20  # one character in so many is a symbol

_masks = simd.masks(
    simd.continuation,
    simd.ascii_space,
    simd.either(
        simd.between(ord("("), ord(")")),
        simd.between(ord(";"), ord(">")),
        simd.equal("["),
        simd.equal("]"),
        simd.equal("_"),
        simd.between(ord("{"), ord("}")),
        simd.equal("&"),
    ),
    simd.equal("<"),
    simd.equal(" "),
    simd.equal("\n"),
    simd.either(simd.between(0xEF, 0xEF), simd.between(0xC3, 0xC3)),
)


def integrity(texts: pa.LargeStringArray) -> NDArray[Any]:
    r"""(documents,) MEASURED of each text; a null counts as "".

    chars      characters (code points)
    words      as `word_counts` counts them
    symbols    characters that are in SYMBOLS
    visible    characters other than ASCII white space
    markup     HTML, as `markup.has_markup` finds it
    code       code-like: symbols are a twentieth of the visible characters or more (prose has a hundredth of them, code
               a twelfth: see filter/code)
    space      3 spaces in a row, or 4 line feeds
    encoding   broken: a replacement character U+FFFD, or what UTF-8 looks like when it is decoded as Latin-1 or
               Windows-1252: "Ã" or "Â" before one of U+0080-00BF ("Ã©" for "é"), or "â€"
    """
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, MEASURED)
    _measure(text, elements(), out)
    out["words"] = word_counts(texts)
    out["code"] = (out["symbols"] * CODE >= out["visible"]) & (out["visible"] > 0)
    return out


@kernel
def _measure(text: TextBuffer, names: UInt64s, out: NDArray[Any]) -> None:
    for d in range(len(out)):
        at: Any = text.offsets[d]
        hi = text.offsets[d + 1]
        chars: Any = 0
        visible: Any = 0
        symbols: Any = 0
        markup = encoding = False
        runs = blanks_before = feeds_before = NO_BITS
        while at < hi:
            inside, space, symbol, tags, blanks, feeds, leads = _masks(text.data, at)
            valid = below(min(64, hi - at))
            chars += count_bits(valid & ~inside)
            visible += count_bits(valid & ~(inside | space))
            symbols += count_bits(valid & symbol)
            blanks &= valid
            feeds &= valid
            runs |= blanks & moved_up(blanks, blanks_before, 1) & moved_up(blanks, blanks_before, 2)
            three = feeds & moved_up(feeds, feeds_before, 1) & moved_up(feeds, feeds_before, 2)
            runs |= three & moved_up(feeds, feeds_before, 3)
            blanks_before, feeds_before = blanks, feeds
            if not markup and tags & valid != NO_BITS:
                markup = any_markup(text.data, at, hi, tags & valid, names)
            if not encoding and leads & valid != NO_BITS:
                encoding = _any_broken(text.data, at, hi, leads & valid)
            at += 64
        out[d].chars, out[d].visible, out[d].symbols = chars, visible, symbols
        out[d].markup, out[d].encoding, out[d].space = markup, encoding, runs != NO_BITS


@kernel
def _any_broken(data: Bytes, base: int, hi: int, bits: Bits) -> bool:
    """Whether a sign of a broken encoding begins at one of the bits, the places of the bytes EF and C3 from `base`."""
    broken = False
    while bits != NO_BITS and not broken:
        at = base + lowest_bit(bits)
        bits &= bits - ONE
        first, second = load8(data, at), load8(data, at + 1)
        third, fourth = load8(data, at + 2), load8(data, at + 3)
        if first == 0xEF:
            broken = at + 3 <= hi and second == 0xBF and third == 0xBD
        elif second in (0x82, 0x83):
            broken = at + 4 <= hi and third == 0xC2
        elif second == 0xA2:
            broken = at + 5 <= hi and third == 0xE2 and fourth == 0x82 and load8(data, at + 4) == 0xAC
    return broken


def warm_up() -> None:
    integrity(pa.array(["a <p>  é", ""], pa.large_string()))
