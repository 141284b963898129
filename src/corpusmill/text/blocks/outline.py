"""The lists, tables, headings and code that the elements of a page are in."""

import numpy as np

from corpusmill.text.array_types import Int32s
from corpusmill.text.blocks.names import BLOCK, KIND, TAG
from corpusmill.text.blocks.page import NAME, PARENT
from corpusmill.text.compile import kernel

# Columns of the outline; elements, 0 for none, where not said otherwise.
LIST, ITEM, TABLE, ROW, CELL, CODE_BLOCK = range(6)
NUMBER, COLUMN, HEADING, QUOTES = range(6, 10)  # of the item in its list, of the cell in its row; level; how many
NESTING = 10  # whether the element is a table with another one, or with a list or code, inside
OUTLINE_COLUMNS = 11
T_LI, T_TABLE, T_TR, T_TD, T_TH, T_PRE, T_LISTING, T_QUOTE, T_H1, T_H6 = (
    TAG[name] for name in "li table tr td th pre listing blockquote h1 h6".split()
)
T_UL, T_OL, T_MENU, T_DIR = (TAG[name] for name in "ul ol menu dir".split())
assert KIND[T_H1] == BLOCK and T_H6 == T_H1 + 5


def outline(elements: Int32s) -> Int32s:
    """(elements, OUTLINE_COLUMNS) int32."""
    rows = np.zeros((len(elements), OUTLINE_COLUMNS), np.int32)
    _outline(elements, rows, np.zeros(len(elements), np.int32))
    return rows


@kernel
def _outline(elements: Int32s, rows: Int32s, counts: Int32s) -> None:
    """counts (elements,): items of a list, cells of a row so far."""
    for element in range(1, len(elements)):
        row, name = rows[element], elements[element, NAME]
        above = rows[elements[element, PARENT]]
        for column in range(NESTING):
            row[column] = above[column]
        if name in (T_UL, T_OL, T_MENU, T_DIR):
            row[LIST] = element
            rows[row[TABLE], NESTING] = 1
        elif name == T_LI:
            row[ITEM] = element
            counts[row[LIST]] += 1
            row[NUMBER] = counts[row[LIST]]
        elif name == T_TABLE:
            rows[row[TABLE], NESTING] = 1
            row[TABLE] = element
            row[ROW] = 0
            row[CELL] = 0
        elif name == T_TR:
            row[ROW] = element
            row[CELL] = 0
        elif name in (T_TD, T_TH):
            row[CELL] = element
            row[COLUMN] = counts[row[ROW]]
            counts[row[ROW]] += 1
        elif name in (T_PRE, T_LISTING):
            row[CODE_BLOCK] = element
            rows[row[TABLE], NESTING] = 1
        elif name == T_QUOTE:
            row[QUOTES] += 1
        elif name >= T_H1 and name <= T_H6:
            row[HEADING] = name - T_H1 + 1
