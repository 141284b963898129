"""What is measured of a whole page, to tell of which type it is."""

import numpy as np

from corpusmill.text.array_types import Bytes, Float32s, Int32s, Int64s
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
_BYTES = np.frombuffer(b"".join(MARKS), np.uint8)
_ENDS = np.cumsum([len(mark) for mark in MARKS])
# Of each pair of bytes: one more than the number of the first mark that begins with it, in any case; and of each mark
# that of the next one with the same pair.
_PAIRS = np.zeros(1 << 16, np.uint8)
_NEXT = np.zeros(len(MARKS), np.uint8)
for _number in reversed(range(len(MARKS))):
    _first, _second = ({mark, mark.upper()} for mark in (MARKS[_number][:1], MARKS[_number][1:2]))
    _pairs = [one[0] << 8 | other[0] for one in _first for other in _second]
    _NEXT[_number] = _PAIRS[_pairs[0]]
    _PAIRS[_pairs] = _number + 1
_LOWER = np.frombuffer(bytes(range(256)).lower(), np.uint8)
for _table in (_ENDS, _PAIRS, _NEXT):
    _table.setflags(write=False)
NAMES = len(ELEMENT_NAMES)
OF_NAMES = COLUMNS + len(MARKS) + 1  # the last columns: a new name adds one behind them
PAGE_COLUMNS = OF_NAMES + NAMES


def page_columns(raw: bytes, page: BlockPage, features: Float32s) -> Float32s:
    """(1, PAGE_COLUMNS) float32: the mean of each column over blocks, by their words; logarithms of how often each
    of MARKS is in it, of its bytes, and of how many elements of each name it has.

    raw        the page, of which `page` is the scan; of at least one block
    features   (blocks, COLUMNS or more) float32, see `columns`
    """
    counts = np.zeros(len(MARKS) + 1, np.int64)
    _count_marks(np.frombuffer(raw, np.uint8), counts)
    made = np.empty((1, PAGE_COLUMNS), np.float32)
    _fill(page.blocks, page.elements, features, counts, made[0])
    return made


@kernel
def _count_marks(raw: Bytes, counts: Int64s) -> None:
    """How often each mark is in the bytes, in any case, without overlaps; and how many bytes there are."""
    free = np.zeros(len(_ENDS), np.int64)  # from where on a mark may begin
    for at in range(raw.size - 1):
        mark = _PAIRS[np.intp(raw[at]) << 8 | np.intp(raw[at + 1])]
        while mark != 0:
            number = mark - 1
            begin = _ENDS[number - 1] if number > 0 else 0
            size = _ENDS[number] - begin
            same = at >= free[number] and at + size <= raw.size
            offset = 2
            while same and offset < size:
                same = _LOWER[raw[at + offset]] == _BYTES[begin + offset]
                offset += 1
            if same:
                counts[number] += 1
                free[number] = at + size
            mark = _NEXT[number]
    counts[len(counts) - 1] = raw.size


@kernel
def _fill(blocks: Int32s, elements: Int32s, features: Float32s, counts: Int64s, made: Float32s) -> None:
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
