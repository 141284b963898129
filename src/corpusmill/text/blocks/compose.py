"""Blocks that are kept, as plain text or as Markdown."""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corpusmill.text.array_types import Bools, Int32s
from corpusmill.text.blocks.complete import complete, with_code
from corpusmill.text.blocks.outline import (
    CELL,
    CODE_BLOCK,
    COLUMN,
    HEADING,
    ITEM,
    LIST,
    NESTING,
    NUMBER,
    QUOTES,
    ROW,
    T_OL,
    TABLE,
    outline,
)
from corpusmill.text.blocks.page import (
    CHARACTERS,
    CODE,
    CODE_END,
    ELEMENT,
    FIRST,
    FORMULAS,
    LAST,
    NAME,
    PARENT,
    BlockPage,
)

Markup = Literal["text", "markdown"]
CODE_MARKS = bytes([CODE, CODE_END])
# Inline code, which is looked for first; TeX as MathJax finds it in the text of pages.
INLINE = re.compile(
    rb"%c(?P<code>[^%c%c]*)%c" % (CODE, CODE, CODE_END, CODE_END)
    + rb"|\\\((?P<formula>[^\x80-\xff\n]{1,2000}?)\\\)|\\\[(?P<display>[^\x80-\xff]{1,2000}?)\\\]"
)
BULLET = "• "  # as extract/resiliparse has it
LONG_CELL = 200  # characters: with more in the mean cell, a table is there for its layout
PERMALINK = "¶"  # what documentation puts behind headings and entries, to link to them
PERMALINKS = " \t\n¶§"  # behind headings


@dataclass(slots=True)
class _KeptBlock:
    """A kept block: its text, and its row of the outline."""

    text: str
    at: list[int]


@dataclass(frozen=True, slots=True)
class Composed:
    """The text of the kept blocks, and how many formulae are in it."""

    text: str
    formulas: int


def compose(page: BlockPage, keep: Bools, markup: Markup = "text", possible: Bools | None = None) -> str:
    """The text of the kept blocks: see `composed`."""
    return composed(page, keep, markup, possible).text


def composed(page: BlockPage, keep: Bools, markup: Markup = "text", possible: Bools | None = None) -> Composed:
    """The text of the kept blocks.

    possible   (blocks,) blocks that may be kept, too: code beside text, and in Markdown what is in its lists and
               tables; None: code alone

    text       a block a line, or more where it has breaks or is code; "• " before items of lists; cells of a row of a
               table of data in one line, with tabs between, of empty ones too
    markdown   headings, lists, quotes, tables of data, code and inline code, as in CommonMark and GFM; nothing is
               escaped. Blocks that the structure asks for are kept too, see `complete`

    Formulae are TeX between dollar signs in both.
    """
    outlined = outline(page.elements)
    keep = (complete if markup == "markdown" else with_code)(page, outlined, keep, possible)
    rows = page.blocks[keep]
    formulas = int(rows[:, FORMULAS].sum())
    if not len(rows):
        return Composed("", formulas)
    data = page.text.tobytes()
    at = outlined[rows[:, ELEMENT]].tolist()
    texts = [
        _coded(data[first:last]) if markup == "markdown" and not position[CODE_BLOCK] else _plain(data[first:last])
        for (first, last), position in zip(rows[:, [FIRST, LAST]].tolist(), at, strict=True)
    ]
    tables = _tables_of_data(page, outlined, {position[TABLE] for position in at} - {0})
    blocks = [_KeptBlock(text, position) for text, position in zip(texts, at, strict=True)]
    if markup == "text":
        return Composed(_as_text(blocks, tables), formulas)
    return Composed(_as_markdown(blocks, tables, page.elements, outlined), formulas)


def _plain(data: bytes) -> str:
    return data.translate(None, CODE_MARKS).decode("utf-8", "replace").removesuffix(PERMALINK)


def _coded(data: bytes) -> str:
    """With backticks around inline code, and dollar signs around formulae."""
    if CODE in data or b"\\" in data:
        data = INLINE.sub(_marked_up, data.replace(bytes([CODE_END, CODE]), b""))
    return _plain(data)


def _marked_up(match: "re.Match[bytes]") -> bytes:
    if formula := match["formula"]:
        return b"$" + formula.strip() + b"$"
    if display := match["display"]:
        return b"$$" + display.strip() + b"$$"
    code = match["code"].strip()
    ticks = b"``" if b"`" in code else b"`"
    space = b" " if match["code"].startswith(b" ") else b""
    return space + ticks + code + ticks if code else space


def _tables_of_data(page: BlockPage, outlined: Int32s, tables: set[int]) -> set[int]:
    """Those of the tables that are of data, and not there for the layout of the page: no table, list or code is inside,
    two rows or more, most of them with two cells or more, and these are short."""
    candidates = [table for table in tables if not outlined[table, NESTING]]
    if not candidates:
        return set()
    places = outlined[page.blocks[:, ELEMENT]]
    cells: dict[int, dict[int, set[int]]] = {table: defaultdict(set) for table in candidates}
    sizes: dict[int, int] = dict.fromkeys(candidates, 0)
    for block in np.flatnonzero(np.isin(places[:, TABLE], candidates)).tolist():
        table, row, cell = places[block, [TABLE, ROW, CELL]].tolist()
        if row and cell:
            cells[table][row].add(cell)
            sizes[table] += int(page.blocks[block, CHARACTERS])
    wide = {table: [len(row) for row in cells[table].values() if len(row) > 1] for table in candidates}
    return {
        table
        for table in candidates
        if len(cells[table]) >= 2
        and 2 * len(wide[table]) >= len(cells[table])
        and sizes[table] <= LONG_CELL * sum(map(len, cells[table].values()))
    }


def _as_text(blocks: list[_KeptBlock], tables: set[int]) -> str:
    parts: list[str] = []
    item = row = column = 0
    for block in blocks:
        position = block.at
        in_row = position[TABLE] in tables and position[CELL] != 0
        if not in_row or position[ROW] != row:
            parts += ["\n"] if parts else []
            column = 0
        elif position[COLUMN] == column:  # more of the same cell
            parts.append(" ")
        if in_row:  # empty cells, too
            parts.append("\t" * (position[COLUMN] - column))
            column = position[COLUMN]
        row = position[ROW] if in_row else 0
        if position[ITEM] != item and position[ITEM] and not in_row:
            parts.append(BULLET)
        item = position[ITEM] or item
        text = block.text.rstrip(PERMALINKS) if position[HEADING] else block.text
        parts.append(text.replace("\n", " ") if in_row else text)
    return "".join(parts)


def _as_markdown(blocks: list[_KeptBlock], tables: set[int], elements: Int32s, outlined: Int32s) -> str:
    indents: dict[int, int] = {0: 0}  # of what is inside an item
    begun: set[int] = set()  # items with a bullet
    parts: list[str] = []
    tight = False  # whether the last part was the beginning of an item
    start = 0
    while start < len(blocks):
        position = blocks[start].at
        end = _together(blocks, start, tables)
        text = _rendered(blocks[start:end], tables)
        item = position[ITEM]
        bullet = ""
        if item:
            bullet = _bullet(position, elements)
            outer = int(outlined[elements[item, PARENT], ITEM])
            indents.setdefault(item, indents.get(outer, 0) + len(bullet))
        width = indents[item]
        begins = bool(item) and item not in begun
        begun.add(item)
        lines = text.split("\n")
        if begins:
            lines = [" " * (width - len(bullet)) + bullet + lines[0], *(_indented(line, width) for line in lines[1:])]
        else:
            lines = [_indented(line, width) for line in lines]
        if position[QUOTES]:
            lines = [("> " * position[QUOTES] + line).rstrip() for line in lines]
        if parts:
            parts.append("\n" if begins and tight else "\n\n")
        parts.append("\n".join(lines))
        tight = begins
        start = end
    return "".join(parts)


def _together(blocks: list[_KeptBlock], start: int, tables: set[int]) -> int:
    """The block after those that are one thing in Markdown with the first: of one piece of code, of one table."""
    position = blocks[start].at
    column = CODE_BLOCK if position[CODE_BLOCK] else TABLE if position[TABLE] in tables and position[CELL] else -1
    end = start + 1
    while (
        column >= 0
        and end < len(blocks)
        and blocks[end].at[column] == position[column]
        and (column == CODE_BLOCK or blocks[end].at[CELL])
    ):
        end += 1
    return end


def _rendered(blocks: list[_KeptBlock], tables: set[int]) -> str:
    position = blocks[0].at
    if position[CODE_BLOCK]:
        code = "\n".join(block.text for block in blocks).strip("\n")
        fence = "````" if "```" in code else "```"
        return f"{fence}\n{code}\n{fence}"
    if position[TABLE] in tables and position[CELL]:
        return _table(blocks)
    if position[HEADING]:
        return "#" * position[HEADING] + " " + " ".join(blocks[0].text.rstrip(PERMALINKS).split())
    return blocks[0].text


def _table(blocks: list[_KeptBlock]) -> str:
    """A table of GFM, whose first row is the head."""
    rows: dict[int, dict[int, str]] = {}
    for block in blocks:
        cells = rows.setdefault(block.at[ROW], {})
        text = " ".join(block.text.split()).replace("|", "\\|")
        column = block.at[COLUMN]
        cells[column] = f"{cells[column]} {text}" if column in cells else text
    width = 1 + max(max(cells) for cells in rows.values())
    lines = ["| " + " | ".join(cells.get(column, "") for column in range(width)) + " |" for cells in rows.values()]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _bullet(position: list[int], elements: Int32s) -> str:
    ordered = position[LIST] and elements[position[LIST], NAME] == T_OL
    return f"{position[NUMBER]}. " if ordered else "- "


def _indented(line: str, width: int) -> str:
    return " " * width + line if line else line
