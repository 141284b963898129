"""Formulae of pages: TeX in `<script type="math/tex">`, in MathML's annotations, in the texts of images."""

import numpy as np

from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.blocks.names import A_ALT, A_ALTTEXT, A_CLASS, A_DISPLAY, A_TYPE, FNV, Weights, fnv, hashed
from corpusmill.text.blocks.page import (
    FIRST,
    FORMULAS,
    GAP,
    NO_GAP,
    OUT,
    TEX_FIRST,
    TEX_LAST,
    WITHOUT_TEX,
    Building,
    add_text,
    close_gap,
)
from corpusmill.text.blocks.syntax import GT, LT, SPACE, lower
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import is_letter

DOLLAR, BACKSLASH, OPEN, CLOSE, BRACE, END_BRACE, ROUND, END_ROUND = b"$\\[]{}()"
_TEX_TYPE = np.frombuffer(b"math/tex", np.uint8)
_ANNOTATION = np.frombuffer(b"application/x-tex", np.uint8)
_DISPLAY = np.frombuffer(b"display", np.uint8)
_BLOCK = np.frombuffer(b"block", np.uint8)
_STYLE = np.frombuffer(b"{\\displaystyle", np.uint8)


# Words in classes of images that hold formulae: Sphinx, MediaWiki, Doxygen, LaTeX2HTML, WordPress.
_CLASSES = np.array([fnv(word) for word in b"math tex latex mwe formulainl formuladsp equation".split()], np.uint32)


@kernel
def holds(data: Bytes, at: int, end: int, needle: Bytes) -> int:
    """The position after the first occurrence of some bytes, letters in any case; -1 if there is none."""
    while at + needle.size <= end:
        matched = 0
        while matched < needle.size and lower(data[at + matched]) == needle[matched]:
            matched += 1
        if matched == needle.size:
            return at + matched
        at += 1
    return -1


@kernel
def _is_formula_class(data: Bytes, at: int, end: int) -> bool:
    key, letters = np.uint32(FNV), 0
    while at <= end:
        if at < end and is_letter(data[at]):
            key = hashed(key, lower(data[at]))
            letters += 1
        else:
            if letters > 0:
                for formula_class in _CLASSES:
                    if key == formula_class:
                        return True
            key, letters = np.uint32(FNV), 0
        at += 1
    return False


@kernel
def add_formula(data: Bytes, at: int, end: int, display: bool, page: Building, words: Weights) -> bool:
    """Append TeX between dollar signs, two each side if it is displayed. What delimits it in the page is left out, and
    so is a formula that is the one before once more, as a picture beside the MathML.

    Returns whether there is a formula: TeX that is not empty.
    """
    while at < end and data[at] <= SPACE:
        at += 1
    while at < end and data[end - 1] <= SPACE:
        end -= 1
    trimmed = True
    while trimmed and at + 1 < end:
        trimmed = False
        if data[at] == DOLLAR and data[end - 1] == DOLLAR:
            display = display or (end - at > 3 and data[at + 1] == DOLLAR)
            at += 1
            end -= 1
            trimmed = True
        elif (
            end - at >= 4
            and data[at] == BACKSLASH
            and data[end - 2] == BACKSLASH
            and (
                (data[at + 1] == OPEN and data[end - 1] == CLOSE)
                or (data[at + 1] == ROUND and data[end - 1] == END_ROUND)
            )
        ):
            display = display or data[at + 1] == OPEN
            at += 2
            end -= 2
            trimmed = True
        elif data[end - 1] == END_BRACE and holds(data, at, min(end, at + _STYLE.size), _STYLE) == at + _STYLE.size:
            at += _STYLE.size
            end -= 1
            trimmed = True
        while trimmed and at < end and data[at] <= SPACE:
            at += 1
        while trimmed and at < end and data[end - 1] <= SPACE:
            end -= 1
    if at >= end:
        return False
    state = page.state
    before = end - at == state[TEX_LAST] - state[TEX_FIRST] and state[GAP] == NO_GAP
    for offset in range(end - at if before else 0):
        before = before and data[at + offset] == data[state[TEX_FIRST] + offset]
    if before and state[OUT] > state[FIRST] and page.text[state[OUT] - 1] == DOLLAR:
        return True
    dollars = 2 if display else 1
    close_gap(page)
    for _ in range(dollars):
        page.text[state[OUT]] = DOLLAR
        state[OUT] += 1
    add_text(data, at, end, page, words, False)
    state[GAP] = NO_GAP
    for _ in range(dollars):
        page.text[state[OUT]] = DOLLAR
        state[OUT] += 1
    state[TEX_FIRST], state[TEX_LAST] = at, end
    state[FORMULAS] += 1
    return True


@kernel
def add_script(data: Bytes, at: int, end: int, values: Int64s, page: Building, words: Weights) -> None:
    """The formula of `<script type="math/tex; mode=display">`, data[at:end] being its text."""
    first, last = values[2 * A_TYPE], values[2 * A_TYPE + 1]
    if holds(data, first, min(last, first + _TEX_TYPE.size), _TEX_TYPE) > 0:
        add_formula(data, at, end, holds(data, first, last, _DISPLAY) > 0, page, words)


@kernel
def add_math(data: Bytes, at: int, end: int, values: Int64s, page: Building, words: Weights) -> None:
    """The formula of `<math>`, data[at:end] being what is inside: its annotation in TeX, or its `alttext`."""
    display = holds(data, values[2 * A_DISPLAY], values[2 * A_DISPLAY + 1], _BLOCK) > 0
    position = holds(data, at, end, _ANNOTATION)
    if position > 0:
        while position < end and data[position] != GT:
            position += 1
        last = position
        while last < end and data[last] != LT:
            last += 1
        found = add_formula(data, min(position + 1, last), last, display, page, words)
    else:
        found = add_formula(data, values[2 * A_ALTTEXT], values[2 * A_ALTTEXT + 1], display, page, words)
    page.state[WITHOUT_TEX] += not found


@kernel
def add_image(data: Bytes, values: Int64s, page: Building, words: Weights) -> None:
    """The formula of a picture of one: its class says so, or its `alt` is TeX between dollar signs."""
    first, last = values[2 * A_ALT], values[2 * A_ALT + 1]
    while first < last and data[first] <= SPACE:
        first += 1
    while first < last and data[last - 1] <= SPACE:
        last -= 1
    dollars = last - first > 2 and data[first] == DOLLAR and data[last - 1] == DOLLAR
    if dollars or _is_formula_class(data, values[2 * A_CLASS], values[2 * A_CLASS + 1]):
        page.state[WITHOUT_TEX] += not add_formula(data, first, last, False, page, words)
