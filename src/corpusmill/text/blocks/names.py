"""Names of HTML as kernels know them: elements, attributes, entities, the classes of bytes.

A name is known by the FNV-1a hash of its lower-case bytes, in 32 bits. Numba makes constants of these tables.
"""

import html
from collections.abc import Iterable
from html.entities import html5
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.array_types import UInt32s
from corpusmill.text.compile import inlined

FNV, PRIME = 2166136261, 16777619

# What a tag does to the text and to the stack of open elements.
INLINE, BLOCK, SKIPPED, RAW, VOID, UNSTACKED = range(6)
_KINDS = {
    BLOCK: (
        "html body div p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table tr td th tbody thead tfoot caption form fieldset "
        "blockquote pre address section article main nav header footer aside figure figcaption hgroup details summary "
        "center dir menu legend frameset head marquee listing"
    ),
    SKIPPED: "noscript svg select template button datalist map audio video canvas object applet",  # without their text
    RAW: "script style textarea iframe noembed noframes xmp title math",  # no tags are looked for inside
    VOID: "br hr img input meta link area base col embed param source track wbr",
    INLINE: "a span label",
    # Inline elements that say nothing about boilerplate are not kept on the stack.
    UNSTACKED: (
        "b i em strong font u s sub sup small big code tt abbr acronym cite q ins del kbd var samp mark time strike "
        "nobr bdo"
    ),
}
# Of ruby: how the characters before are read, between them in the source and above them on screen.
_READINGS = "rt rp rtc"
# The numbers of names are columns of trained models, so new ones come last.
ELEMENT_NAMES = ["", *(name for names in (*_KINDS.values(), _READINGS) for name in names.split())]
TAG = {name: number for number, name in enumerate(ELEMENT_NAMES)}  # 0: an element of another name, inline
KIND = np.zeros(len(ELEMENT_NAMES), np.uint8)
for _kind, _names in (*_KINDS.items(), (SKIPPED, _READINGS)):
    KIND[[TAG[name] for name in _names.split()]] = _kind

# Bits that elements inherit from those around them.
_INHERITED = (
    *("article main", "nav", "header", "footer", "aside", "form fieldset", "table", "ul ol dl menu dir", "blockquote"),
    *("figure figcaption", "td th", "pre listing", "li dt dd", "p", "h1 h2 h3 h4 h5 h6", "label legend"),
)
IN_CELL, IN_PRE, IN_HEADING = 1 << 10, 1 << 11, 1 << 14
IN_COMMENTS, IN_MAIN, IN_FRAME = 1 << 16, 1 << 17, 1 << 18
LEARNED_BITS = 20  # the columns of a block; the bits above only steer the scanner
IS_HIDDEN, IS_SKIPPED, IS_LINK = 1 << 19, 1 << 20, 1 << 21
NOT_SHOWN, IN_PANEL = 1 << 22, 1 << 23  # by a style or `hidden`; in the panel of a tab, which a click shows
FLAGS = np.zeros(len(ELEMENT_NAMES), np.int32)
for _bit, _which in enumerate(_INHERITED):
    FLAGS[[TAG[name] for name in _which.split()]] = 1 << _bit

ATTRIBUTES = "class id href style role itemprop alt alttext display type hidden aria-labelledby".split()
A_CLASS, A_ID, A_HREF, A_STYLE, A_ROLE, A_PROP, A_ALT, A_ALTTEXT, A_DISPLAY, A_TYPE, *_REST = range(len(ATTRIBUTES))
A_HIDDEN, A_LABELLED = _REST

# Classes of bytes.
WHITE, UPPER, LOWER, DIGIT, COMMA, STOP, OTHER, LEAD, TAIL = range(1, 10)


def _byte_class(byte: int) -> int:
    if byte >= 128:
        return LEAD if byte >= 192 else TAIL
    character = chr(byte)
    if byte <= 32 or byte == 127:
        return WHITE
    if character.isalpha():
        return UPPER if character.isupper() else LOWER
    return DIGIT if character.isdigit() else COMMA if character in ",;" else STOP if character in ".!?:" else OTHER


BYTE_CLASSES = np.array([_byte_class(byte) for byte in range(256)], np.uint8)


class Weights(NamedTuple):
    """A hash table with open addressing: hashes of names, 0 where a slot is free, and a number for each.

    keys     (a power of two,) uint32
    values   (the same,) float32 or int32
    """

    keys: UInt32s
    values: NDArray[Any]


def fnv(name: bytes) -> int:
    """The hash of a name: never 0."""
    value = FNV
    for byte in name:
        value = ((value ^ byte) * PRIME) & 0xFFFFFFFF
    return value or 1


def table(pairs: Iterable[tuple[int, float]], bits: int, values: type = np.int32) -> Weights:
    """A table with 2 ** bits slots, of which most must stay free. Of equal hashes the last one's number is kept."""
    weights = Weights(np.zeros(1 << bits, np.uint32), np.zeros(1 << bits, values))
    for key, value in pairs:
        slot = key & ((1 << bits) - 1)
        while weights.keys[slot] and weights.keys[slot] != key:
            slot = (slot + 1) & ((1 << bits) - 1)
        weights.keys[slot], weights.values[slot] = key, value
    return weights


_single = {name: ord(text) for name, text in html5.items() if len(text) == 1}
LONGEST_ENTITY = max(len(name.rstrip(";")) for name in _single)
LONGEST_OLD = max(len(name) for name in _single if not name.endswith(";"))
_ENTITIES = table(((fnv(name.rstrip(";").encode()), point) for name, point in _single.items()), 13)
_OLD = table(((fnv(name.encode()), point) for name, point in _single.items() if not name.endswith(";")), 9)
_TAGS = table(((fnv(name.encode()), number) for name, number in TAG.items() if name), 9)
_ATTRIBUTE_NAMES = table(((fnv(name.encode()), number + 1) for number, name in enumerate(ATTRIBUTES)), 6)
# Words of classes and ids around readers' comments, in the names that blog software and comment services use.
_COMMENT_WORDS = table(
    ((fnv(word.encode()), 1) for word in "comment comments commentlist disqus livefyre respond replies".split()), 6
)
# Landmarks of ARIA and properties of schema.org, as one word each.
_MAIN_VALUES = "main article articlebody"
_FRAME_VALUES = "navigation banner contentinfo complementary search menubar menu toolbar"
_LANDMARKS = table(
    (
        (fnv(word.encode()), bit)
        for words, bit in (
            (_MAIN_VALUES, IN_MAIN),
            (_FRAME_VALUES, IN_FRAME),
            ("comment", IN_COMMENTS),
            ("tabpanel", IN_PANEL),
        )
        for word in words.split()
    ),
    6,
)
TAG_KEYS, TAG_VALUES = _TAGS
ATTRIBUTE_KEYS, ATTRIBUTE_VALUES = _ATTRIBUTE_NAMES
ENTITY_KEYS, ENTITY_VALUES = _ENTITIES
OLD_KEYS, OLD_VALUES = _OLD  # those that are entities without ";" too
COMMENT_KEYS, COMMENT_VALUES = _COMMENT_WORDS
LANDMARK_KEYS, LANDMARK_VALUES = _LANDMARKS
# HTML5 gives the numbers from 128 to 159 the meaning that they have in Windows-1252.
WINDOWS = np.array([ord((html.unescape(f"&#{point};") or " ")[0]) for point in range(160)], np.int32)

for _table in (
    KIND,
    FLAGS,
    BYTE_CLASSES,
    WINDOWS,
    *_TAGS,
    *_ATTRIBUTE_NAMES,
    *_ENTITIES,
    *_OLD,
    *_COMMENT_WORDS,
    *_LANDMARKS,
):
    _table.setflags(write=False)


@inlined
def hashed(value: Any, byte: Any) -> Any:
    """A hash, with one more byte."""
    return np.uint32((value ^ byte) * np.uint32(PRIME))


@inlined
def find(keys: UInt32s, values: NDArray[Any], key: Any) -> Any:
    """The number of a hash, 0 if the table lacks it."""
    slot = np.intp(key) & (keys.size - 1)
    value = values[0] - values[0]
    while keys[slot] != 0:
        if keys[slot] == key:
            value = values[slot]
            break
        slot = (slot + 1) & (keys.size - 1)
    return value
