"""Scan a page: its bytes, in one pass, to text, blocks and elements. Never fails, whatever the bytes are.

It knows of HTML's tree what decides where text belongs: elements that are open, end tags that are implied, and text
that is not shown. The time is linear in the size of the page: elements deeper than MAX_DEPTH are not told apart, and
what was looked for to the end of the page in vain is not looked for again.
"""

import re
from typing import Any, NamedTuple

import numpy as np

from corpusmill.text.array_types import Bytes, Int32s, Int64s, UInt32s
from corpusmill.text.blocks.formulae import add_image, add_math, add_script
from corpusmill.text.blocks.names import (
    BLOCK,
    BYTE_CLASSES,
    ELEMENT_NAMES,
    FNV,
    IN_PRE,
    IS_SKIPPED,
    KIND,
    OTHER,
    RAW,
    TAG,
    TAG_KEYS,
    TAG_VALUES,
    UNSTACKED,
    UPPER,
    VOID,
    WHITE,
    Weights,
    find,
    hashed,
    table,
)
from corpusmill.text.blocks.page import (
    BLOCK_COLUMNS,
    BLOCKS,
    BREAK_GAP,
    BREAKS,
    CHARACTERS,
    CODE,
    CODE_END,
    ELEMENT_COLUMNS,
    ELEMENTS,
    END_BLOCK,
    FLAGS,
    GAP,
    MAX_TITLE_WORDS,
    NAMED,
    NEWLINE,
    OUT,
    PARENT,
    RUN_OF_BREAKS,
    STACK,
    STATE,
    TITLE,
    TITLE_SLOTS,
    WITHOUT_TEX,
    WORDS,
    BlockPage,
    Building,
    add_text,
    end_word,
    mark,
)
from corpusmill.text.blocks.stack import (
    MAX_DEPTH,
    T_A,
    close_down_to,
    close_implied,
    close_link,
    close_named,
    end_block,
    open_element,
)
from corpusmill.text.blocks.syntax import (
    COMMENT,
    DECLARATION,
    END,
    GT,
    LT,
    NUMBERS,
    TEXT,
    after,
    attributes,
    begins,
    comment_end,
    name_end,
    raw_end,
)
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import borrowed

T_BR, T_HR, T_IMG, T_TITLE, T_SCRIPT, T_MATH = (TAG[name] for name in "br hr img title script math".split())
IS_CODE = np.zeros(len(ELEMENT_NAMES), np.uint8)
IS_CODE[[TAG[name] for name in "code tt kbd samp".split()]] = 1
IS_CODE.setflags(write=False)
UNCLOSED_COMMENT = 0  # in `unclosed`, where the other numbers are those of tags
FEW_WORDS = 100  # of a page that is looked for its text in <noscript>: forums that browsers fill have it there
NOSCRIPT = re.compile(rb"<(/?)noscript(?=[\s>])", re.I)
NO_WEIGHTS = table((), 4, np.float32)


class PageWords(NamedTuple):
    """The words of classes and ids that a page has: for training.

    words      (words,) uint32: their hashes
    elements   (words,) int32: whose they are
    """

    words: UInt32s
    elements: Int32s


def scan(page: bytes, hints: Weights = NO_WEIGHTS, words: Weights = NO_WEIGHTS) -> BlockPage:
    """The text and blocks of a page in UTF-8; bytes that are not UTF-8 are kept, except 0xF9 to 0xFF.

    hints   weights of words in classes and ids
    words   weights of words of the text

    A page of few words is scanned as if scripts could not run, if that gives more than twice the words.
    """
    return _scanned(page, hints, words, 0)[0]


def scan_hints(page: bytes) -> tuple[BlockPage, PageWords]:
    """The same, and the words of classes and ids."""
    return _scanned(page, NO_WEIGHTS, NO_WEIGHTS, 1 + len(page) // 2)


def _scanned(page: bytes, hints: Weights, words: Weights, capacity: int) -> tuple[BlockPage, PageWords]:
    made = _scanned_once(page, hints, words, capacity)
    shown = int(made[0].blocks[:, WORDS].sum())
    if shown < FEW_WORDS and len(bare := NOSCRIPT.sub(rb"<\1div", page)) != len(page):
        other = _scanned_once(bare, hints, words, capacity)
        if int(other[0].blocks[:, WORDS].sum()) > 2 * shown:
            return other
    return made


def _scanned_once(page: bytes, hints: Weights, words: Weights, capacity: int) -> tuple[BlockPage, PageWords]:
    page = page or b" "  # a kernel that is given no bytes runs as Python, which knows no borrowed arrays
    arrays = building(page)
    hashes, owners = np.empty(capacity, np.uint32), np.empty(capacity, np.int32)
    count = fill(np.frombuffer(page, np.uint8), arrays, hints, words, hashes, owners)
    state = arrays.state
    blocks, elements = state[BLOCKS], state[ELEMENTS]
    return (
        BlockPage(
            arrays.text[: state[OUT]],
            arrays.blocks[:blocks],
            arrays.elements[:elements],
            arrays.hints[:elements],
            arrays.weights[:blocks],
            int(state[TITLE]),
            int(state[WITHOUT_TEX]),
        ),
        PageWords(hashes[:count], owners[:count]),
    )


def building(page: bytes) -> Building:
    """Arrays with room for whatever a page can have."""
    capacity = page.count(b"<") + 2  # each tag begins at most one element and ends at most one block
    return Building(
        np.empty(len(page) + capacity + 8, np.uint8),
        np.empty((capacity, BLOCK_COLUMNS), np.int32),
        np.empty((capacity, ELEMENT_COLUMNS), np.int32),
        np.empty((capacity, 4), np.float32),
        np.empty(capacity + 1, np.float32),
        np.zeros(STATE, np.int64),
        np.zeros(MAX_DEPTH + 1, np.int32),
        np.zeros(TITLE_SLOTS, np.uint32),
    )


@kernel
def _title(data: Bytes, at: int, end: int, page: Building) -> None:
    """Take the words of the title into the page's table."""
    key, size = np.uint32(FNV), 0
    while at <= end:
        kind = BYTE_CLASSES[data[at]] if at < end else np.uint8(WHITE)
        if kind != WHITE and (kind < 5 or kind > OTHER):
            key = hashed(key, np.uint8(data[at] | 32) if kind == UPPER else data[at])
            size += 1
        else:
            if size > 1 and page.state[TITLE] < MAX_TITLE_WORDS:
                slot = np.intp(key) & (TITLE_SLOTS - 1)
                while page.title[slot] != 0 and page.title[slot] != key:
                    slot = (slot + 1) & (TITLE_SLOTS - 1)
                if page.title[slot] == 0:
                    page.title[slot] = key
                    page.state[TITLE] += 1
            key, size = np.uint32(FNV), 0
        at += 1


@kernel
def _raw(
    data: Bytes, at: int, tag: Any, name: Any, values: Int64s, unclosed: Bytes, page: Building, words: Weights
) -> Any:
    """The position after an element that has no tags inside; `at` is where its text begins."""
    end = -1 if unclosed[tag] else raw_end(data, at, np.uint32(name))
    if end < 0:
        unclosed[tag] = 1
        # A title or a formula that is never closed is text; a script without an end is the rest of the page.
        return at if tag in (T_TITLE, T_MATH) else data.size
    shown = (page.elements[page.stack[page.state[STACK]], FLAGS] & IS_SKIPPED) == 0
    if tag == T_TITLE and page.state[NAMED] == 0:
        page.state[NAMED] = 1
        _title(data, at, end, page)
    elif tag == T_SCRIPT and shown:
        add_script(data, at, end, values, page, words)
    elif tag == T_MATH and shown:
        add_math(data, at, end, values, page, words)
    return after(data, end, GT)


@kernel
def _void(data: Bytes, tag: Any, values: Int64s, page: Building, words: Weights) -> None:
    state = page.state
    if tag == T_BR:
        state[RUN_OF_BREAKS] += 1
        if state[RUN_OF_BREAKS] == 2:
            end_block(page, words)
        elif state[CHARACTERS] > 0:
            end_word(page, words)
            if page.elements[page.stack[state[STACK]], FLAGS] & IN_PRE:
                page.text[state[OUT]] = NEWLINE
                state[OUT] += 1
            else:
                state[GAP] = BREAK_GAP
            state[BREAKS] += 1
    elif tag == T_HR:
        end_block(page, words)
        state[RUN_OF_BREAKS] = 0
    elif tag == T_IMG and (page.elements[page.stack[state[STACK]], FLAGS] & IS_SKIPPED) == 0:
        add_image(data, values, page, words)


@kernel
def _skip(data: Bytes, at: int, kind: int, unclosed: Bytes) -> Any:
    """The position after a comment or a declaration."""
    if kind == COMMENT and not unclosed[UNCLOSED_COMMENT]:
        end = comment_end(data, at + 4)
        if end >= 0:
            return end
        unclosed[UNCLOSED_COMMENT] = 1
    return after(data, at + 2, GT)


@kernel
def fill(data: Bytes, page: Building, hints: Weights, words: Weights, hashes: UInt32s, owners: Int32s) -> int:
    """Scan a page into arrays that `building` made. Returns how many words of classes and ids were seen.

    hashes, owners   as in `PageWords`, with room for as many words as are to be returned
    """
    return _scan(
        borrowed(data),
        Building(
            borrowed(page.text),
            borrowed(page.blocks),
            borrowed(page.elements),
            borrowed(page.hints),
            borrowed(page.weights),
            borrowed(page.state),
            borrowed(page.stack),
            borrowed(page.title),
        ),
        Weights(borrowed(hints.keys), borrowed(hints.values)),
        Weights(borrowed(words.keys), borrowed(words.values)),
        borrowed(hashes),
        borrowed(owners),
    )


@kernel
def _scan(data: Bytes, page: Building, hints: Weights, words: Weights, hashes: UInt32s, owners: Int32s) -> int:
    """`fill`, with arrays whose references are not counted."""
    state = page.state
    values = np.zeros(2 * NUMBERS + 1, np.int64)
    unclosed = np.zeros(len(IS_CODE), np.uint8)
    page.elements[0] = 0
    page.elements[0, PARENT] = -1
    page.hints[0] = 0
    page.weights[0] = 0
    state[ELEMENTS] = 1
    at, count = 0, 0
    while at < data.size:
        kind = TEXT
        if data[at] == LT:
            kind = begins(data, at)
        if kind == TEXT:
            end = at + 1
            while end < data.size and data[end] != LT:
                end += 1
            flags = page.elements[page.stack[state[STACK]], FLAGS]
            if (flags & IS_SKIPPED) == 0:
                add_text(data, at, end, page, words, (flags & IN_PRE) != 0)
            at = end
        elif kind in (COMMENT, DECLARATION):
            at = _skip(data, at, kind, unclosed)
        else:
            at, key = name_end(data, at + kind)
            tag = np.intp(find(TAG_KEYS, TAG_VALUES, key))
            does = KIND[tag]
            shown_code = IS_CODE[tag] and (page.elements[page.stack[state[STACK]], FLAGS] & (IN_PRE | IS_SKIPPED)) == 0
            if kind == END:
                at = after(data, at, GT)
                if shown_code:
                    mark(page, CODE_END)
                elif does not in (RAW, VOID, UNSTACKED):
                    close_named(page, tag, words)
                continue
            at = attributes(data, at, values)
            if does == UNSTACKED:
                if shown_code:
                    mark(page, CODE)
            elif does == RAW:
                at = _raw(data, at, tag, np.int64(key), values, unclosed, page, words)
            elif does == VOID:
                _void(data, tag, values, page, words)
            else:
                if does == BLOCK:
                    end_block(page, words)
                    state[RUN_OF_BREAKS] = 0
                    close_implied(page, tag)
                elif tag == T_A:
                    close_link(page)
                before = count
                count = open_element(data, tag, values, page, hints, hashes, count)
                for number in range(before, count):
                    owners[number] = state[ELEMENTS] - 1
    end_block(page, words)
    close_down_to(page, 0, state[BLOCKS])
    for element in range(state[ELEMENTS]):
        page.elements[element, END_BLOCK] = min(page.elements[element, END_BLOCK], state[BLOCKS])
    return count


def warm_up() -> None:
    """Compile what scans."""
    scan(b"<p>a")
