"""What is measured of blocks once each has a first probability: the probabilities around it."""

import numpy as np

from corpusmill.text.array_types import Float32s, Int32s
from corpusmill.text.blocks.columns import AROUND, COLUMNS, FAR, Around, columns, deepest, is_inside, logarithm
from corpusmill.text.blocks.page import END_BLOCK, FIRST_BLOCK, WORDS, BlockPage
from corpusmill.text.blocks.scan import scan
from corpusmill.text.compile import kernel

NEIGHBOURS = 4  # blocks before and after
ALL_COLUMNS = COLUMNS + 1 + 2 * NEIGHBOURS + 4 + 2 * AROUND + 4 + 2 + 3


def add_context(page: BlockPage, around: Around, first: Float32s, features: Float32s) -> None:
    """Fill the columns from COLUMNS to ALL_COLUMNS.

    first      (blocks,) float32: probabilities
    features   (blocks, ALL_COLUMNS) float32
    """
    if len(first):
        _add(page.blocks, page.elements, around.elements, first, features)


@kernel
def _add(blocks: Int32s, elements: Int32s, around: Int32s, first: Float32s, features: Float32s) -> None:
    count = len(blocks)
    words, kept_words = np.zeros(count + 1), np.zeros(count + 1)
    for block in range(count):
        size = np.float64(blocks[block, WORDS])
        words[block + 1] = words[block] + size
        kept_words[block + 1] = kept_words[block] + size * first[block]
    main, core = deepest(elements, kept_words, 0.8), deepest(elements, kept_words, 0.5)
    total = max(kept_words[count], 1.0)
    main_first, main_end = elements[main, FIRST_BLOCK], elements[main, END_BLOCK]
    main_share = (kept_words[main_end] - kept_words[main_first]) / max(words[main_end] - words[main_first], 1.0)
    following = np.full(count + 1, -1, np.int32)
    for block in range(count - 1, -1, -1):
        following[block] = block if first[block] > 0.5 else following[block + 1]
    before = -1
    for block in range(count):
        x, k = features[block], COLUMNS + 1
        x[COLUMNS] = first[block]
        for step in range(-NEIGHBOURS, NEIGHBOURS + 1):
            if step != 0:
                neighbour = block + step
                x[k] = first[neighbour] if neighbour >= 0 and neighbour < count else -1
                k += 1
        for reach in (5, 15):
            low, high = max(0, block - reach), min(count, block + 1 + reach)
            x[k] = (kept_words[block] - kept_words[low]) / max(words[block] - words[low], 1.0)
            x[k + 1] = (kept_words[high] - kept_words[block + 1]) / max(words[high] - words[block + 1], 1.0)
            k += 2
        for level in range(AROUND):
            outer = around[block, level]
            low, high = elements[outer, FIRST_BLOCK], elements[outer, END_BLOCK]
            x[k] = (kept_words[high] - kept_words[low]) / max(words[high] - words[low], 1.0)
            x[k + 1] = (kept_words[high] - kept_words[low]) / total
            k += 2
        x[k], x[k + 1] = kept_words[block] / total, (kept_words[count] - kept_words[block + 1]) / total
        x[k + 2], x[k + 3] = logarithm(kept_words[count]), kept_words[count] / max(words[count], 1.0)
        x[k + 4] = block - before if before >= 0 else FAR
        x[k + 5] = following[block + 1] - block if following[block + 1] >= 0 else FAR
        x[k + 6], x[k + 7], x[k + 8] = is_inside(elements, main, block), is_inside(elements, core, block), main_share
        if first[block] > 0.5:
            before = block


def warm_up() -> None:
    """Compile this file and `columns`."""
    page = scan(b"<p>a")
    features, around = columns(page, ALL_COLUMNS)
    add_context(page, around, np.zeros(len(features), np.float32), features)
