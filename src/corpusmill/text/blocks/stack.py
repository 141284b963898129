"""The open elements of a page, and what opens and closes them."""

from typing import Any

import numpy as np

from corpusmill.text.array_types import Bytes, Float32s, Int64s, UInt32s
from corpusmill.text.blocks import names
from corpusmill.text.blocks.names import (
    A_CLASS,
    A_HIDDEN,
    A_HREF,
    A_ID,
    A_LABELLED,
    A_PROP,
    A_ROLE,
    A_STYLE,
    BLOCK,
    COMMENT_KEYS,
    COMMENT_VALUES,
    FLAGS,
    FNV,
    IN_CELL,
    IN_COMMENTS,
    IN_PANEL,
    IN_PRE,
    IS_HIDDEN,
    IS_LINK,
    IS_SKIPPED,
    KIND,
    LANDMARK_KEYS,
    LANDMARK_VALUES,
    LOWER,
    NOT_SHOWN,
    PRIME,
    SKIPPED,
    TAG,
    UPPER,
    Weights,
    find,
    hashed,
)
from corpusmill.text.blocks.page import (
    AFTER_BREAKS,
    BEYOND,
    BLOCK_COLUMNS,
    BLOCKS,
    CHARACTERS,
    DEPTH,
    ELEMENT,
    ELEMENTS,
    END_BLOCK,
    FIRST,
    FIRST_BLOCK,
    GAP,
    HIGHEST_WEIGHT,
    LAST,
    LINKS,
    LOWEST_WEIGHT,
    NAME,
    NEWLINE,
    NO_GAP,
    OUT,
    OWN_WEIGHT,
    PARENT,
    PATH,
    RUN_OF_BREAKS,
    STACK,
    WEIGHT_SUM,
    Building,
    end_word,
)
from corpusmill.text.blocks.page import FLAGS as ELEMENT_FLAGS
from corpusmill.text.blocks.syntax import NUMBERS, SPACE, lower
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import is_letter

MAX_DEPTH = 500  # of elements that are told apart: browsers stop at 512. What is deeper belongs to the 500th
LONGEST_CLASS = 400  # bytes of a class or id whose words are looked at
T_A, T_P, T_LI, T_TD, T_TH, T_TR, T_TABLE = (TAG[n] for n in "a p li td th tr table".split())
T_UL, T_OL, T_DL, T_DD, T_DT, T_BODY, T_HTML, T_HEAD = (TAG[n] for n in "ul ol dl dd dt body html head".split())
BYTES = names.BYTE_CLASSES
UNTIL = ord("u")
_NONE = np.frombuffer(b"none", np.uint8)


@inlined
def name_of(page: Building, depth: int) -> Any:
    """The name of an open element."""
    return page.elements[page.stack[depth], NAME]


@kernel
def close_down_to(page: Building, depth: int, end: int) -> None:
    """Close the open elements from the top of the stack to a depth of it. Their blocks end before block `end`."""
    state = page.state
    while state[STACK] >= depth:
        page.elements[page.stack[state[STACK]], END_BLOCK] = end
        state[STACK] -= 1


@kernel
def end_block(page: Building, words: Weights) -> None:
    """Close the open block, if it has text, and open the next."""
    state, text = page.state, page.text
    end_word(page, words)
    while state[OUT] > state[FIRST] and text[state[OUT] - 1] <= SPACE:
        state[OUT] -= 1
    number = state[BLOCKS]
    if state[CHARACTERS] > 0:
        depth = state[STACK]
        while depth > 0 and KIND[name_of(page, depth)] != BLOCK:
            depth -= 1
        state[ELEMENT] = page.stack[depth]
        state[LAST] = state[OUT]
        for column in range(BLOCK_COLUMNS):
            page.blocks[number, column] = state[column]
        state[BLOCKS] += 1
        text[state[OUT]] = NEWLINE
        state[OUT] += 1
    else:
        state[OUT] = state[FIRST]
    for column in range(BLOCK_COLUMNS):
        state[column] = 0
    page.weights[state[BLOCKS]] = 0
    state[FIRST] = state[OUT]
    state[GAP] = NO_GAP
    state[AFTER_BREAKS] = state[RUN_OF_BREAKS] >= 2


@inlined
def _nearest(page: Building, first_name: int, second_name: int, first_stop: int, second_stop: int) -> Any:
    """The depth on the stack of the nearest open element of two names, 0 if one of the stops is nearer; tables and
    cells always are stops."""
    depth = page.state[STACK]
    while depth > 0:
        name = name_of(page, depth)
        if name in (first_name, second_name):
            return depth
        if name in (first_stop, second_stop, T_TABLE, T_TD):
            return 0
        depth -= 1
    return 0


@inlined
def _open_row(page: Building, whole_row: bool) -> int:
    """The outermost depth of an open cell, or row, of the nearest table; 0 without one."""
    depth, outermost = page.state[STACK], 0
    while depth > 0:
        name = name_of(page, depth)
        if name == T_TABLE:
            break
        if name in (T_TD, T_TH) or (whole_row and name == T_TR):
            outermost = depth
        depth -= 1
    return outermost


@inlined
def _open_head(page: Building) -> int:
    depth, outermost = page.state[STACK], 0
    while depth > 0:
        if name_of(page, depth) == T_HEAD:
            outermost = depth
        depth -= 1
    return outermost


@kernel
def close_implied(page: Building, tag: Any) -> None:
    """Close what the start of an element closes although no end tag said so."""
    depth = 0
    if tag == T_LI:
        depth = _nearest(page, T_LI, T_LI, T_UL, T_OL)
    elif tag in (T_DD, T_DT):
        depth = _nearest(page, T_DD, T_DT, T_DL, T_DL)
    elif tag in (T_TD, T_TH, T_TR):
        depth = _open_row(page, tag == T_TR)
    elif tag in (T_BODY, T_HTML):
        depth = _open_head(page)
    if depth == 0:  # a paragraph ends where another block begins
        above = page.state[STACK]
        while above > 0:
            name = name_of(page, above)
            if name == T_P:
                depth = above
                break
            if KIND[name] == BLOCK:
                break
            above -= 1
    if depth > 0:
        close_down_to(page, depth, page.state[BLOCKS])


@kernel
def close_link(page: Building) -> None:
    """Links are not inside links."""
    depth = page.state[STACK]
    while depth > 0:
        name = name_of(page, depth)
        if name == T_A:
            close_down_to(page, depth, page.state[BLOCKS] + 1)
            return
        if KIND[name] == BLOCK:
            return
        depth -= 1


@kernel
def close_named(page: Building, tag: Any, words: Weights) -> None:
    """What an end tag closes: the nearest open element of its name, unless a table or a cell is between; and, if it is
    an inline one, unless a block is."""
    state = page.state
    block = KIND[tag] == BLOCK
    if block:
        end_block(page, words)
        state[RUN_OF_BREAKS] = 0
    if state[BEYOND] > 0:  # it closes one of those that were too deep to be kept apart
        state[BEYOND] -= 1
        return
    of_table = tag in (T_TABLE, T_BODY, T_HTML)
    of_row = of_table or tag == T_TR or (FLAGS[tag] & IN_CELL) != 0
    depth = state[STACK]
    while depth > 0 and name_of(page, depth) != tag:
        name = name_of(page, depth)
        if (
            (name == T_TABLE and not of_table)
            or ((name in (T_TD, T_TH)) and not of_row)
            or (not block and KIND[name] == BLOCK)
        ):
            return
        depth -= 1
    if depth > 0 and tag not in (T_BODY, T_HTML):
        close_down_to(page, depth, state[BLOCKS] + (0 if block else 1))


@inlined
def _hides(data: Bytes, at: int, end: int) -> Any:
    """Whether a style has `display: none` or the like."""
    hidden = False
    while at + 4 <= end:
        matched = 0
        while matched < 4 and lower(data[at + matched]) == _NONE[matched]:
            matched += 1
        if matched == 4:
            before = at - 1
            while before > 0 and (data[before] <= SPACE or data[before] == 58):  # a colon
                before -= 1
            hidden = hidden or lower(data[before]) == 121  # the y of display
        at += 1
    return hidden


@kernel
def landmark(data: Bytes, at: int, end: int) -> Any:
    """The flag of a role or an item property, 0 of most."""
    key = np.uint32(FNV)
    while at < end and is_letter(data[at]):
        key = hashed(key, lower(data[at]))
        at += 1
    return np.intp(find(LANDMARK_KEYS, LANDMARK_VALUES, key))


@kernel
def read_hints(
    data: Bytes, at: int, end: int, own: Float32s, hints: Weights, hashes: UInt32s, count: int
) -> tuple[int, Any, int]:
    """Words of a class or id, split at what is no letter and before capitals.

    own      (4,) is changed: OWN, LEAST and MOST, by the words' weights
    hashes   takes the hashes of the words from `count` on, as long as there is room

    returns  (the new count, a hash of all words in order, IN_COMMENTS or 0)
    """
    end = min(end, at + LONGEST_CLASS)
    key, combined = np.uint32(FNV), np.uint32(1)
    letters, before, flag = 0, 0, 0
    while at <= end:
        byte = data[at] if at < end else np.uint8(SPACE)
        kind = BYTES[byte]
        is_word = kind in (UPPER, LOWER)
        if letters > 0 and (not is_word or (kind == UPPER and before == LOWER)):
            if letters > 1:
                weight = find(hints.keys, hints.values, key)
                own[OWN_WEIGHT] += weight
                own[LOWEST_WEIGHT] = min(own[LOWEST_WEIGHT], weight)
                own[HIGHEST_WEIGHT] = max(own[HIGHEST_WEIGHT], weight)
                combined = np.uint32(combined * np.uint32(31) + key)
                if find(COMMENT_KEYS, COMMENT_VALUES, key) != 0:
                    flag = IN_COMMENTS
                if count < hashes.size:
                    hashes[count] = key
                    count += 1
            key, letters = np.uint32(FNV), 0
        if is_word:
            key = hashed(key, lower(byte))
            letters += 1
        before = kind
        at += 1
    return count, combined, flag


@kernel
def open_element(
    data: Bytes, tag: Any, values: Int64s, page: Building, hints: Weights, hashes: UInt32s, count: int
) -> int:
    """Push an element. Returns how many words of classes and ids are seen now."""
    state, elements = page.state, page.elements
    block = KIND[tag] == BLOCK
    if values[2 * NUMBERS] and not block:  # <span/>, as XHTML has it
        return count
    if state[STACK] >= MAX_DEPTH:
        state[BEYOND] += 1
        return count
    parent, number = page.stack[state[STACK]], state[ELEMENTS]
    own = np.zeros(4, np.float32)
    count, words_of_class, flag = read_hints(
        data, values[2 * A_CLASS], values[2 * A_CLASS + 1], own, hints, hashes, count
    )
    count, _, of_id = read_hints(data, values[2 * A_ID], values[2 * A_ID + 1], own, hints, hashes, count)
    flags = elements[parent, ELEMENT_FLAGS]
    if flags & IN_PRE == 0:  # a comment in code is no reader's
        flags |= flag | of_id
    flags |= FLAGS[tag]
    role = landmark(data, values[2 * A_ROLE], values[2 * A_ROLE + 1])
    flags |= role
    flags |= landmark(data, values[2 * A_PROP], values[2 * A_PROP + 1])
    has_hidden = values[2 * A_HIDDEN + 1] > 0
    if has_hidden and values[2 * A_HIDDEN] < data.size:  # until-found: it is found by who looks for it
        has_hidden = lower(data[values[2 * A_HIDDEN]]) != UNTIL or values[2 * A_HIDDEN] == values[2 * A_HIDDEN + 1]
    hides = _hides(data, values[2 * A_STYLE], values[2 * A_STYLE + 1])
    # What a click on its label shows is for the model to judge.
    if (hides or has_hidden) and role != IN_PANEL and values[2 * A_LABELLED + 1] == 0:
        flags |= NOT_SHOWN if block else IS_SKIPPED
    if hides:
        flags |= IS_HIDDEN
    if KIND[tag] == SKIPPED:
        flags |= IS_SKIPPED
    if tag == T_A and values[2 * A_HREF + 1] > values[2 * A_HREF]:
        flags |= IS_LINK
        state[LINKS] += 1
    path = elements[parent, PATH]
    if block:
        step = np.uint32(tag + 1) * np.uint32(31) + words_of_class
        path = np.int32((np.uint32(path) * np.uint32(PRIME) ^ step) & np.uint32(0x7FFFFFFF))
    elements[number, PARENT], elements[number, NAME] = parent, tag
    elements[number, DEPTH] = elements[parent, DEPTH] + block
    elements[number, ELEMENT_FLAGS], elements[number, PATH] = flags, path
    elements[number, FIRST_BLOCK], elements[number, END_BLOCK] = state[BLOCKS], state[BLOCKS]
    hint = page.hints
    hint[number, OWN_WEIGHT] = own[OWN_WEIGHT]
    hint[number, WEIGHT_SUM] = hint[parent, WEIGHT_SUM] + own[OWN_WEIGHT]
    hint[number, LOWEST_WEIGHT] = min(hint[parent, LOWEST_WEIGHT], own[LOWEST_WEIGHT])
    hint[number, HIGHEST_WEIGHT] = max(hint[parent, HIGHEST_WEIGHT], own[HIGHEST_WEIGHT])
    state[STACK] += 1
    page.stack[state[STACK]] = number
    state[ELEMENTS] += 1
    return count
