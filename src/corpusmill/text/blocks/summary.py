"""What is measured of a whole page, to tell of which type it is."""

import numpy as np

from corpusmill.text.array_types import Float32s, Float64s, Int32s
from corpusmill.text.blocks.columns import COLUMNS, columns, logarithm
from corpusmill.text.blocks.names import ELEMENT_NAMES
from corpusmill.text.blocks.page import NAME, WORDS, BlockPage
from corpusmill.text.blocks.scan import scan
from corpusmill.text.compile import kernel

# Of software, shops, schema.org, and of HTML since 2010; those that told most of the types apart.
MARKS = (
    *(b"viewport", b"cart", b"quantity", b'"article"', b"<code", b"<main", b"discussionforumposting", b"<time"),
    *(b"pricecurrency", b'class="comment', b"<pre", b"quote"),
)
NAMES = len(ELEMENT_NAMES)
OF_NAMES = COLUMNS + len(MARKS) + 1  # the last columns: a new name adds one behind them
PAGE_COLUMNS = OF_NAMES + NAMES


def page_columns(raw: bytes, page: BlockPage, features: Float32s) -> Float32s:
    """(1, PAGE_COLUMNS) float32: the mean of each column over blocks, by their words; logarithms of how often each
    of MARKS is in it, of its bytes, and of how many elements of each name it has.

    raw        the page, of which `page` is the scan; of at least one block
    features   (blocks, COLUMNS or more) float32, see `columns`
    """
    lower = raw.lower()
    counts = np.array([*(lower.count(mark) for mark in MARKS), len(raw)], np.float64)
    made = np.empty((1, PAGE_COLUMNS), np.float32)
    _fill(page.blocks, page.elements, features, counts, made[0])
    return made


@kernel
def _fill(blocks: Int32s, elements: Int32s, features: Float32s, counts: Float64s, made: Float32s) -> None:
    sums, tags = np.zeros(COLUMNS), np.zeros(NAMES)
    total = 0
    for block in range(len(blocks)):
        words = max(blocks[block, WORDS], 1)
        total += words
        for column in range(COLUMNS):
            sums[column] += words * features[block, column]
    for element in range(len(elements)):
        tags[elements[element, NAME]] += 1
    for column in range(COLUMNS):
        made[column] = sums[column] / max(total, 1)
    for number in range(len(counts)):
        made[COLUMNS + number] = logarithm(counts[number])
    for name in range(NAMES):
        made[OF_NAMES + name] = logarithm(tags[name])


def warm_up() -> None:
    """Compile this file."""
    page = scan(b"<p>a")
    page_columns(b"<p>a", page, columns(page)[0])
