"""Blocks that structure asks for: half a table is no table, and a section wants its heading."""

import numpy as np

from corpusmill.text.array_types import Bools, Int32s
from corpusmill.text.blocks.columns import deepest
from corpusmill.text.blocks.outline import CELL, CODE_BLOCK, HEADING, LIST, NESTING, OUTLINE_COLUMNS, TABLE, outline
from corpusmill.text.blocks.page import CHARACTERS, ELEMENT, END_BLOCK, FIRST_BLOCK, LINKED, WORDS, BlockPage
from corpusmill.text.blocks.scan import scan
from corpusmill.text.compile import kernel

REACH = 2  # blocks from a heading to the next text, and from text to code
MAIN = 0.95  # share of the kept words, in the element that the text is in
LINKS = 0.8  # share of characters; a list of more links leads to other pages


def complete(page: BlockPage, outlined: Int32s, keep: Bools, possible: Bools | None) -> Bools:
    """(blocks,) the kept blocks, and with them

    - all of a list or table of which more than half of the characters are kept
    - a list with kept text right before it and right after
    - code that text is kept beside
    - what is possible of lists, tables of data and code in the element that the text is in, if it is not mostly links
    - headings that text is kept below
    """
    completed = keep.copy()
    if len(keep):
        places = outlined[page.blocks[:, ELEMENT]]
        _complete(places, np.ascontiguousarray(page.blocks[:, CHARACTERS]), len(page.elements), completed)
        _complete_code(places, completed)
        if possible is not None:
            completed |= possible & _structured(page, outlined, places) & _in_main(page, keep)
        _complete_headings(places, completed)
    return completed


def with_code(page: BlockPage, outlined: Int32s, keep: Bools, possible: Bools | None) -> Bools:
    """(blocks,) the kept blocks, and with them code that text is kept beside, if it is possible. The synopsis of a
    class has few words that tell it from a menu."""
    completed = keep.copy()
    _complete_code(outlined[page.blocks[:, ELEMENT]], completed)
    return completed if possible is None else keep | completed & possible


def _structured(page: BlockPage, outlined: Int32s, places: Int32s) -> Bools:
    """(blocks,) lists, code, and tables without other ones inside, if they are not mostly links."""
    lists = places[:, LIST]
    data = (places[:, CELL] > 0) & (outlined[places[:, TABLE], NESTING] == 0)
    characters, linked = page.blocks[:, CHARACTERS], page.blocks[:, LINKED]
    list_characters, list_linked = (np.bincount(lists, weights)[lists] for weights in (characters, linked))
    few = np.where(lists > 0, list_linked <= LINKS * list_characters, linked <= LINKS * characters)
    structured: Bools = few & ((lists > 0) | (places[:, CODE_BLOCK] > 0) | data)
    return structured


def _in_main(page: BlockPage, keep: Bools) -> Bools:
    """(blocks,) those in the deepest element with nearly all of the kept words."""
    sums = np.concatenate([[0.0], np.cumsum(page.blocks[:, WORDS] * keep, dtype=np.float64)])
    inside = np.zeros(len(keep), np.bool_)
    if sums[-1] > 0:
        main = page.elements[deepest(page.elements, sums, MAIN)]
        inside[main[FIRST_BLOCK] : main[END_BLOCK]] = True
    return inside


@kernel
def _complete(places: Int32s, characters: Int32s, elements: int, keep: Bools) -> None:
    """places (blocks, OUTLINE_COLUMNS): each block's row of the outline."""
    assert places.shape[1] == OUTLINE_COLUMNS
    count = len(keep)
    for column in (LIST, TABLE):
        all_of, kept_of = np.zeros(elements, np.int64), np.zeros(elements, np.int64)
        for block in range(count):
            all_of[places[block, column]] += characters[block]
            kept_of[places[block, column]] += characters[block] if keep[block] else 0
        for block in range(count):
            group = places[block, column]
            if group > 0 and 2 * kept_of[group] > all_of[group]:
                keep[block] = True
    _complete_lists(places, keep)


@kernel
def _complete_code(places: Int32s, keep: Bools) -> None:
    """Keep code that text is kept beside."""
    count = len(keep)
    text = keep.copy()
    for block in range(count):
        if places[block, CODE_BLOCK] > 0 and not keep[block]:
            for step in range(-REACH, REACH + 1):
                neighbour = block + step
                if neighbour >= 0 and neighbour < count and text[neighbour]:
                    keep[block] = True


@kernel
def _complete_headings(places: Int32s, keep: Bools) -> None:
    """Keep headings that text is kept below."""
    count = len(keep)
    following = count + REACH  # the next kept block that is not a heading
    headings = 0  # between it and the block
    for block in range(count - 1, -1, -1):
        if places[block, HEADING] > 0:
            headings += 1
            if following - block - headings < REACH:
                keep[block] = True
        elif keep[block]:
            following = block
            headings = 0


@kernel
def _complete_lists(places: Int32s, keep: Bools) -> None:
    """Keep lists in the middle of text. The lists inside a list are a part of it."""
    count = len(keep)
    start = 0
    while start < count:
        end = start + 1
        if places[start, LIST] > 0:
            while end < count and places[end, LIST] > 0:
                end += 1
            if end < count and keep[end] and start > 0 and keep[start - 1]:
                keep[start:end] = True
        start = end


def warm_up() -> None:
    """Compile this file and `outline`."""
    page = scan(b"<h1>a</h1><ul><li>b</ul>")
    keep = np.ones(len(page.blocks), np.bool_)
    with_code(page, outline(page.elements), keep, keep)
    complete(page, outline(page.elements), keep, keep)
