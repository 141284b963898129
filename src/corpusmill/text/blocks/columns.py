"""What is measured of each block of a page: itself, where it is in the page, and what is around it.

Most columns are shares or logarithms, so that they mean the same on small and large pages. "Good text" has twelve words
or more, few of them in links, and punctuation (after Kohlschütter et al. 2010, "Boilerplate Detection using Shallow
Text Features", and the contexts of Pomikálek's jusText, 2011).
"""

from typing import Any, NamedTuple

import numpy as np

from corpusmill.text.array_types import Float32s, Float64s, Int32s
from corpusmill.text.blocks.names import IN_HEADING, LEARNED_BITS, TAG
from corpusmill.text.blocks.page import (
    BREAKS,
    CAPITALISED,
    CHARACTERS,
    COMMAS,
    DEPTH,
    DIGITS,
    ELEMENT,
    END_BLOCK,
    FIRST_BLOCK,
    FIRST_CLASS,
    FLAGS,
    HIGHEST_WEIGHT,
    INNER,
    LAST_CLASS,
    LINKED,
    LINKS,
    LOWEST_WEIGHT,
    NAME,
    OWN_WEIGHT,
    PARENT,
    PATH,
    STOPS,
    TITLE_WORDS,
    UPPERS,
    WEIGHT_SUM,
    WORDS,
    BlockPage,
)
from corpusmill.text.compile import inlined, kernel

GOOD_WORDS = 12
AROUND = 4  # elements around a block, each with more blocks than the one inside
PATHS = 1024  # slots for the different paths of a page; blocks of equal paths share one
PROBES = 32  # of those; a page with more paths shares slots
FAR = 999  # blocks, where there is none
MAX_TITLE_BLOCK_WORDS = 40  # words of a block that can be the title
T_H1 = TAG["h1"]
FLAG_COLUMNS = LEARNED_BITS
COLUMNS = 17 + FLAG_COLUMNS + 4 + 2 + 4 + 3 + 2 + 2 + 5 * AROUND + 4 + 3 + 4 + 12


class Around(NamedTuple):
    """Sums that later columns need too.

    elements   (blocks, AROUND) int32: the nearest elements that hold ever more blocks
    good       (blocks,) float32: characters, of good text only
    """

    elements: Int32s
    good: Float32s


def columns(page: BlockPage, width: int = COLUMNS) -> tuple[Float32s, Around]:
    """(blocks, width) float32, of which COLUMNS are filled in; and what is around each block."""
    count = len(page.blocks)
    features = np.empty((count, width), np.float32)
    around = Around(np.empty((count, AROUND), np.int32), np.empty(count, np.float32))
    if count:
        _find_around(page.blocks, page.elements, around.elements)
        _sum_up(page.blocks, page.elements, around, page.title, page.hints, page.weights, features)
        _neighbours(features)
    return features, around


@inlined
def logarithm(value: Any) -> Any:
    return np.float32(np.log1p(np.float32(value)))


@kernel
def _find_around(blocks: Int32s, elements: Int32s, around: Int32s) -> None:
    for block in range(len(blocks)):
        element = blocks[block, ELEMENT]
        holds = 1
        for level in range(AROUND):
            while element > 0 and elements[element, END_BLOCK] - elements[element, FIRST_BLOCK] <= holds:
                element = elements[element, PARENT]
            around[block, level] = element
            holds = elements[element, END_BLOCK] - elements[element, FIRST_BLOCK]


@kernel
def deepest(elements: Int32s, sums: Float64s, share: float) -> int:
    """The deepest element with at least a share of the sum over all blocks; the page if that is nothing.

    sums   (blocks + 1,): over the blocks before each
    """
    total = sums[sums.size - 1]
    best, depth = 0, -1
    for element in range(len(elements) if total > 0 else 0):
        element_sum = sums[elements[element, END_BLOCK]] - sums[elements[element, FIRST_BLOCK]]
        if element_sum >= share * total and elements[element, DEPTH] > depth:
            best, depth = element, elements[element, DEPTH]
    return best


@inlined
def is_inside(elements: Int32s, element: int, block: int) -> Any:
    return elements[element, FIRST_BLOCK] <= block < elements[element, END_BLOCK]


@kernel
def _title_block(blocks: Int32s, elements: Int32s, title: int) -> int:
    """The block most like the page's title, -1 if none is."""
    best, best_score = -1, np.float32(0.3)
    for block in range(len(blocks) if title > 0 else 0):
        if blocks[block, WORDS] < MAX_TITLE_BLOCK_WORDS:
            shared = np.float32(blocks[block, TITLE_WORDS])
            alike = shared / max(blocks[block, WORDS], 1) * min(shared / title, np.float32(1))
            if elements[blocks[block, ELEMENT], FLAGS] & IN_HEADING:
                alike *= 2
            if alike > best_score:
                best, best_score = block, alike
    return best


@kernel
def _by_path(blocks: Int32s, elements: Int32s, good: Float32s, slots: Int32s) -> Float32s:
    """Blocks with the same path from the root, by names and classes: (PATHS, 4) characters, good characters, blocks,
    characters in links. slots (blocks,) says which is whose."""
    sums = np.zeros((PATHS, 4), np.float32)
    keys = np.zeros(PATHS, np.int32)
    for block in range(len(blocks)):
        key = elements[blocks[block, ELEMENT], PATH] | 1
        slot, probes = (key >> 1) & (PATHS - 1), 0
        while keys[slot] != 0 and keys[slot] != key and probes < PROBES:
            slot = (slot + 1) & (PATHS - 1)
            probes += 1
        keys[slot] = key
        slots[block] = slot
        sums[slot, 0] += blocks[block, CHARACTERS]
        sums[slot, 1] += good[block]
        sums[slot, 2] += 1
        sums[slot, 3] += blocks[block, LINKED]
    return sums


@kernel
def _sum_up(
    blocks: Int32s, elements: Int32s, around: Around, title: int, hints: Float32s, weights: Float32s, features: Float32s
) -> None:
    """All columns but those of neighbours."""
    count, good = len(blocks), around.good
    characters, fine, linked = np.zeros(count + 1), np.zeros(count + 1), np.zeros(count + 1)
    for block in range(count):
        row = blocks[block]
        is_good = row[WORDS] >= GOOD_WORDS and row[LINKED] * 3 < row[CHARACTERS] and row[STOPS] + row[COMMAS] > 0
        good[block] = row[CHARACTERS] if is_good else 0
        characters[block + 1] = characters[block] + row[CHARACTERS]
        fine[block + 1] = fine[block] + good[block]
        linked[block + 1] = linked[block] + row[LINKED]
    slots = np.zeros(count, np.int32)
    paths = _by_path(blocks, elements, good, slots)
    total, total_good = max(characters[count], 1.0), max(fine[count], 1.0)
    main, core = deepest(elements, fine, 0.65), deepest(elements, fine, 0.35)
    titled = _title_block(blocks, elements, title)
    heading = -1
    for block in range(count):
        if heading < 0 and elements[blocks[block, ELEMENT], NAME] == T_H1:
            heading = block
    next_good = np.full(count + 1, -1, np.int32)
    for block in range(count - 1, -1, -1):
        next_good[block] = block if good[block] > 0 else next_good[block + 1]
    last_good = -1
    for block in range(count):
        row, x = blocks[block], features[block]
        element = row[ELEMENT]
        words, size = np.float32(max(row[WORDS], 1)), np.float32(max(row[CHARACTERS], 1))
        x[0], x[1], x[2], x[3] = logarithm(size), logarithm(words), row[LINKED] / size, row[LINKS] / words
        x[4], x[5], x[6], x[7] = row[CAPITALISED] / words, row[DIGITS] / size, row[COMMAS] / words, row[STOPS] / words
        x[8], x[9], x[10], x[11] = row[UPPERS] / size, row[LAST_CLASS], row[BREAKS], row[TITLE_WORDS] / words
        x[12], x[13], x[14] = row[FIRST_CLASS], size / words, elements[element, NAME]
        x[15], x[16] = elements[max(elements[element, PARENT], 0), NAME], elements[element, DEPTH]
        k = 17
        inner = row[INNER]
        for bit in range(FLAG_COLUMNS):
            x[k + bit] = (elements[inner, FLAGS] >> bit) & 1
        k += FLAG_COLUMNS
        x[k], x[k + 1], x[k + 2], x[k + 3] = (
            hints[inner, OWN_WEIGHT],
            hints[inner, WEIGHT_SUM],
            hints[inner, LOWEST_WEIGHT],
            hints[inner, HIGHEST_WEIGHT],
        )
        x[k + 4], x[k + 5] = weights[block] / words, weights[block]
        k += 6
        x[k], x[k + 1] = characters[block] / total, block / count
        x[k + 2], x[k + 3] = logarithm(block), logarithm(count - block)
        x[k + 4], x[k + 5] = fine[block] / total_good, (fine[count] - fine[block + 1]) / total_good
        x[k + 6] = good[block] / total_good
        x[k + 7] = block - last_good if last_good >= 0 else FAR
        x[k + 8] = next_good[block + 1] - block if next_good[block + 1] >= 0 else FAR
        x[k + 9] = block - heading if heading >= 0 else -FAR
        x[k + 10] = block - titled if titled >= 0 else -FAR
        k += 11
        for level in range(AROUND):
            outer = around.elements[block, level]
            first, end = elements[outer, FIRST_BLOCK], elements[outer, END_BLOCK]
            outer_size = max(characters[end] - characters[first], 1.0)
            x[k], x[k + 1] = outer_size / total, (linked[end] - linked[first]) / outer_size
            x[k + 2], x[k + 3] = (fine[end] - fine[first]) / total_good, (fine[end] - fine[first]) / outer_size
            x[k + 4] = logarithm(end - first)
            k += 5
        path = paths[slots[block]]
        x[k], x[k + 1], x[k + 2] = path[0] / total, path[1] / total_good, logarithm(path[2])
        x[k + 3] = path[3] / max(path[0], np.float32(1))
        x[k + 4], x[k + 5] = is_inside(elements, main, block), is_inside(elements, core, block)
        x[k + 6] = elements[element, DEPTH] - elements[core, DEPTH]
        x[k + 7], x[k + 8] = logarithm(count), logarithm(characters[count])
        x[k + 9], x[k + 10] = fine[count] / total, linked[count] / total
        if good[block] > 0:
            last_good = block


@kernel
def _neighbours(features: Float32s) -> None:
    """Words, links and name of the blocks up to two before and after; -1 beyond the page."""
    count = len(features)
    for block in range(count):
        k = COLUMNS - 12
        for step in (-2, -1, 1, 2):
            neighbour = block + step
            inside = neighbour >= 0 and neighbour < count
            features[block, k] = features[neighbour, 1] if inside else -1
            features[block, k + 1] = features[neighbour, 2] if inside else -1
            features[block, k + 2] = features[neighbour, 14] if inside else -1
            k += 3
