"""Blocks that structure asks for: half a table is no table, and a section wants its heading."""

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.blocks.columns import deepest
from corpusmill.text.blocks.outline import CELL, CODE_BLOCK, HEADING, LIST, NESTING, OUTLINE_COLUMNS, TABLE, outline
from corpusmill.text.blocks.page import CHARACTERS, ELEMENT, END_BLOCK, FIRST_BLOCK, LINKED, WORDS, BlockPage
from corpusmill.text.blocks.scan import scan
from corpusmill.text.compile import kernel

REACH = 2  # blocks from a heading to the next text, and from text to code
MAIN = 0.95  # share of the kept words, in the element that the text is in
LINKS = 0.8  # share of characters; a list of more links leads to other pages


def complete(
    page: BlockPage, outlined: NDArray[np.int32], kept: NDArray[np.bool_], possible: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """(blocks,) the kept blocks, and with them

    - all of a list or table of which more than half of the characters are kept
    - a list with kept text right before it and right after
    - code that text is kept beside
    - what is possible of lists, tables of data and code in the element that the text is in, if it is not mostly links
    - headings that text is kept below
    """
    made = kept.copy()
    if len(kept):
        places = outlined[page.blocks[:, ELEMENT]]
        _complete(places, np.ascontiguousarray(page.blocks[:, CHARACTERS]), len(page.elements), made)
        if possible is not None:
            made |= possible & _structured(page, outlined, places) & _in_main(page, kept)
        _complete_headings(places, made)
    return made


def _structured(page: BlockPage, outlined: NDArray[np.int32], places: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(blocks,) lists, code, and tables without other ones inside, if they are not mostly links."""
    lists = places[:, LIST]
    data = (places[:, CELL] > 0) & (outlined[places[:, TABLE], NESTING] == 0)
    characters, linked = page.blocks[:, CHARACTERS], page.blocks[:, LINKED]
    held, led = (np.bincount(lists, of)[lists] for of in (characters, linked))
    few = np.where(lists > 0, led <= LINKS * held, linked <= LINKS * characters)
    structured: NDArray[np.bool_] = few & ((lists > 0) | (places[:, CODE_BLOCK] > 0) | data)
    return structured


def _in_main(page: BlockPage, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(blocks,) those in the deepest element with nearly all of the kept words."""
    sums = np.concatenate([[0.0], np.cumsum(page.blocks[:, WORDS] * kept, dtype=np.float64)])
    inside = np.zeros(len(kept), np.bool_)
    if sums[-1] > 0:
        main = page.elements[deepest(page.elements, sums, MAIN)]
        inside[main[FIRST_BLOCK] : main[END_BLOCK]] = True
    return inside


@kernel
def _complete(places: NDArray[np.int32], characters: NDArray[np.int32], elements: int, kept: NDArray[np.bool_]) -> None:
    """places (blocks, OUTLINE_COLUMNS): each block's row of the outline."""
    assert places.shape[1] == OUTLINE_COLUMNS
    count = len(kept)
    for column in (LIST, TABLE):
        all_of, kept_of = np.zeros(elements, np.int64), np.zeros(elements, np.int64)
        for block in range(count):
            all_of[places[block, column]] += characters[block]
            kept_of[places[block, column]] += characters[block] if kept[block] else 0
        for block in range(count):
            group = places[block, column]
            if group > 0 and 2 * kept_of[group] > all_of[group]:
                kept[block] = True
    _complete_lists(places, kept)
    text = kept.copy()
    for block in range(count):
        if places[block, CODE_BLOCK] > 0 and not kept[block]:
            for step in range(-REACH, REACH + 1):
                other = block + step
                if other >= 0 and other < count and text[other]:
                    kept[block] = True


@kernel
def _complete_headings(places: NDArray[np.int32], kept: NDArray[np.bool_]) -> None:
    """Keep headings that text is kept below."""
    count = len(kept)
    following = count + REACH  # the next kept block that is not a heading
    headings = 0  # between it and the block
    for block in range(count - 1, -1, -1):
        if places[block, HEADING] > 0:
            headings += 1
            if following - block - headings < REACH:
                kept[block] = True
        elif kept[block]:
            following = block
            headings = 0


@kernel
def _complete_lists(places: NDArray[np.int32], kept: NDArray[np.bool_]) -> None:
    """Keep lists in the middle of text. The lists inside a list are a part of it."""
    count = len(kept)
    start = 0
    while start < count:
        end = start + 1
        if places[start, LIST] > 0:
            while end < count and places[end, LIST] > 0:
                end += 1
            if end < count and kept[end] and start > 0 and kept[start - 1]:
                kept[start:end] = True
        start = end


def warm_up() -> None:
    """Compile this file and `outline`."""
    page = scan(b"<h1>a</h1><ul><li>b</ul>")
    kept = np.ones(len(page.blocks), np.bool_)
    complete(page, outline(page.elements), kept, kept)
