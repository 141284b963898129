"""What the scanner makes of a page: the layout of its arrays, and the text of a run of characters."""

from typing import Any, NamedTuple

import numpy as np

from corpusmill.text.array_types import Bytes, Float32s, Int32s, Int64s, UInt32s
from corpusmill.text.blocks.names import (
    BYTE_CLASSES,
    COMMA,
    DIGIT,
    FNV,
    IS_LINK,
    OTHER,
    STOP,
    TAIL,
    UPPER,
    WHITE,
    Weights,
    find,
    hashed,
)
from corpusmill.text.blocks.syntax import SPACE, entity
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.unicode import encode

# Columns of `Page.blocks`.
ELEMENT, FIRST, LAST, CHARACTERS, LINKED, LINKS, WORDS, CAPITALISED, DIGITS, COMMAS, STOPS, UPPERS = range(12)
LAST_CLASS, BREAKS, AFTER_BREAKS, TITLE_WORDS, FIRST_CLASS, INNER, FORMULAS = range(12, 19)
BLOCK_COLUMNS = 19
# Columns of `Page.elements`. Element 0 holds the page; a parent comes before its children.
PARENT, NAME, DEPTH, FLAGS, FIRST_BLOCK, END_BLOCK, PATH = range(7)
ELEMENT_COLUMNS = 7
# Columns of `Page.hints`.
OWN_WEIGHT, WEIGHT_SUM, LOWEST_WEIGHT, HIGHEST_WEIGHT = range(4)

# The scanner's numbers. Those of the open block have the numbers of its columns.
OUT, BLOCKS, ELEMENTS, STACK, BEYOND, GAP, RUN_OF_BREAKS, NAMED, TITLE, WORD, IN_WORD = range(BLOCK_COLUMNS, 30)
TEX_FIRST, TEX_LAST, WITHOUT_TEX = range(30, 33)
STATE = 33
NO_GAP, SPACE_GAP, BREAK_GAP = range(3)  # white space that waits for what follows it

CODE, CODE_END = 0xF9, 0xFA  # around inline code; bytes that UTF-8 does not have
AMPERSAND, NEWLINE, TAB, QUESTION_MARK = b"&\n\t?"
LEAD_BYTE = 0xC8  # stands for any character beyond ASCII that an entity gives
TITLE_SLOTS, MAX_TITLE_WORDS = 256, 60


class BlockPage(NamedTuple):
    """A page as text and blocks. A block is text between starts and ends of block elements, or of two `<br>` in a row.

    text        (bytes,) uint8: the blocks' text, each followed by a newline; CODE and CODE_END are around inline code
    blocks      (blocks, BLOCK_COLUMNS) int32: where its text begins and ends, counts, the nearest block element and the
                element of its first character
    elements    (elements, ELEMENT_COLUMNS) int32: its blocks are FIRST_BLOCK up to END_BLOCK
    hints       (elements, 4) float32: of the weights of the words in class and id, its own sum; the sum, least and
                most of it and those around it
    weights     (blocks,) float32: sum of the weights of the words
    title       how many different words the title has
    lost        how many formulae have no TeX, and are in no block
    """

    text: Bytes
    blocks: Int32s
    elements: Int32s
    hints: Float32s
    weights: Float32s
    title: int
    lost: int


class Building(NamedTuple):
    """The arrays of a page that is being scanned: as in Page, with room to the end, and

    state     (STATE,) int64: the scanner's numbers
    stack     (MAX_DEPTH + 1,) int32: the open elements
    title     (TITLE_SLOTS,) uint32: hashes of the words of the title, at hash % TITLE_SLOTS or behind
    """

    text: Bytes
    blocks: Int32s
    elements: Int32s
    hints: Float32s
    weights: Float32s
    state: Int64s
    stack: Int32s
    title: UInt32s


@kernel
def in_title(title: UInt32s, key: int) -> bool:
    slot = key & (TITLE_SLOTS - 1)
    while title[slot] != 0:
        if title[slot] == key:
            return True
        slot = (slot + 1) & (TITLE_SLOTS - 1)
    return False


@kernel
def end_word(page: Building, words: Weights) -> None:
    """Count the word that the block's text ends with, if it ends in one."""
    state = page.state
    if state[IN_WORD]:
        state[IN_WORD] = 0
        page.weights[state[BLOCKS]] += find(words.keys, words.values, np.uint32(state[WORD]))
        state[TITLE_WORDS] += in_title(page.title, state[WORD])


@kernel
def close_gap(page: Building) -> None:
    """Write the white space that waits, if the block has begun."""
    state = page.state
    if state[GAP] != NO_GAP and state[OUT] > state[FIRST]:
        page.text[state[OUT]] = NEWLINE if state[GAP] == BREAK_GAP else SPACE
        state[OUT] += 1
    state[GAP] = NO_GAP


@kernel
def mark(page: Building, byte: int) -> None:
    """Write a mark that is no character."""
    if byte == CODE:
        close_gap(page)
    page.text[page.state[OUT]] = byte
    page.state[OUT] += 1


@inlined
def _is_space(point: Any) -> Any:
    """Whether a code point beyond ASCII is a space."""
    return point == 0xA0 or (point >= 0x2000 and point <= 0x200A) or point == 0x3000


@inlined
def _cjk(data: Bytes, at: int, count: int, state: Int64s) -> None:
    """Count in scripts without spaces: every second character as a word, and the punctuation."""
    byte = data[at]
    if byte == 0xE3 and data[at + 1] == 0x80:
        if data[at + 2] == 0x81:
            state[COMMAS] += 1
        elif data[at + 2] == 0x82:
            state[STOPS] += 1
    elif byte == 0xEF and data[at + 1] == 0xBC:
        if data[at + 2] == 0x8C:
            state[COMMAS] += 1
        elif data[at + 2] == 0x81 or data[at + 2] == 0x9F:
            state[STOPS] += 1
    elif byte <= 0xE9 and (count & 1):
        state[WORDS] += 1


@kernel
def add_text(data: Bytes, at: int, end: int, page: Building, words: Weights, keep_white: bool) -> None:
    """Append characters to the open block, with entities decoded and white space collapsed, and count them."""
    state, text = page.state, page.text
    inner = page.stack[state[STACK]]
    link = page.elements[inner, FLAGS] & IS_LINK
    out, gap, characters, linked = state[OUT], state[GAP], state[CHARACTERS], state[LINKED]
    in_word, word = state[IN_WORD] != 0, np.uint32(state[WORD])
    while at < end:
        byte = data[at]
        width, point = 1, 0
        if byte == AMPERSAND:
            point, width = entity(data, at, end)
            if point == 0:
                width = 1
            elif point < 128:
                byte = np.uint8(point)
                point = 0
            else:
                byte = np.uint8(SPACE if _is_space(point) else LEAD_BYTE)
        elif byte == 0xC2 and at + 1 < end and data[at + 1] == 0xA0:
            byte = np.uint8(SPACE)
            width = 2
        elif byte >= CODE:
            byte = np.uint8(QUESTION_MARK)
        kind = BYTE_CLASSES[byte]
        if kind == WHITE:
            if in_word:
                state[IN_WORD], state[WORD] = 1, word
                end_word(page, words)
                in_word = False
            if keep_white:
                if byte not in (NEWLINE, TAB):
                    byte = np.uint8(SPACE)
                if out > state[FIRST] or byte != NEWLINE:
                    text[out] = byte
                    out += 1
            elif gap == NO_GAP:
                gap = SPACE_GAP
            at += width
            continue
        if gap != NO_GAP:
            if out > state[FIRST]:
                text[out] = NEWLINE if gap == BREAK_GAP else SPACE
                out += 1
            gap = NO_GAP
        if kind != TAIL:
            if characters == 0:
                state[INNER] = inner
                state[FIRST_CLASS] = kind
            characters += 1
            linked += link != 0
            state[LAST_CLASS] = kind
        if kind in (COMMA, STOP, OTHER):
            if in_word:
                state[IN_WORD], state[WORD] = 1, word
                end_word(page, words)
                in_word = False
            state[COMMAS] += kind == COMMA
            state[STOPS] += kind == STOP
        else:
            if not in_word:
                in_word = True
                word = np.uint32(FNV)
                state[WORDS] += 1
                state[CAPITALISED] += kind == UPPER
            if kind == UPPER:
                state[UPPERS] += 1
                word = hashed(word, np.uint8(byte | 32))
            else:
                state[DIGITS] += kind == DIGIT
                word = hashed(word, byte)
            if byte >= 0xE3 and point == 0 and at + 2 < end:
                _cjk(data, at, characters, state)
        if point == 0:
            text[out] = byte
            out += 1
        else:
            out = encode(point, text, out)
        at += width
    state[RUN_OF_BREAKS] *= characters == state[CHARACTERS]
    state[OUT], state[GAP], state[CHARACTERS], state[LINKED] = out, gap, characters, linked
    state[IN_WORD], state[WORD] = in_word, word
