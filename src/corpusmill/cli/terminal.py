"""Colour and tables: in a terminal those of rich, elsewhere plain aligned text that scripts and tests can rely on.

NO_COLOR takes the colours away, TERM=dumb makes a terminal plain, COLUMNS is its width. Lines fit that width: a table
leaves out the columns that its caller can do without, one after the other, before anything in it is cut.
"""

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console

MAX_PROSE_WIDTH = 120  # characters of a line of prose
DEFAULT_WIDTH = 100  # where nothing says how wide a line may be
COLUMN_GAP = "  "
NBSP = "\u00a0"  # a space at which no line is broken
MIN_CELL_WIDTH = 12  # characters that are left of a cell that is cut
CUT_MARK = "…"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
MARGIN = re.compile(r" *(?:\| )?")

Row = Sequence[str]


def terminal(stream: TextIO | None = None) -> "Console | None":
    """The terminal on stdout, or on another stream; None for a file, a pipe or a terminal that knows no more than
    text."""
    if not (stream or sys.stdout).isatty() or os.environ.get("TERM", "") in ("dumb", "unknown"):
        return None
    return _console()


@cache
def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)


def line_width() -> int | None:
    """Characters that a line of a table may have; None where nothing limits it."""
    columns = shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 0
    return columns or None


def prose() -> int:
    """Characters in a line of prose, at most."""
    return min(line_width() or DEFAULT_WIDTH, MAX_PROSE_WIDTH)


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a style of rich, "bold red", where stdout, or another stream, shows colours. Align first: colours
    count as characters.

    >>> paint("kept", "green")  # here stdout is no terminal
    'kept'
    """
    console = terminal(stream)
    if console is None or console.no_color or console.legacy_windows or not text:
        return text
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def folded(text: str, indent: str = "", later: str | None = None) -> list[str]:
    """The text in lines that fit, broken at spaces only; `later` indents those after the first."""
    later = indent if later is None else later
    width = max(prose(), len(indent) + 20)
    lines = wrap(
        text, width, initial_indent=indent, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(NBSP, " ") for line in lines]


def print_lines(text: str) -> None:
    """Print lines that are aligned already. One that is too long for a terminal is folded, indented below its first."""
    for line in text.split("\n"):
        if terminal() is None or cell_width(COLOUR.sub("", line)) <= (line_width() or DEFAULT_WIDTH):
            print(line)
            continue
        margin = MARGIN.match(line)
        assert margin
        indent = margin[0] if "|" in margin[0] else " " * (len(margin[0]) + 2)
        print("\n".join(folded(line[len(margin[0]) :], margin[0], indent)))


def refolded(text: str) -> str:
    """Paragraphs of prose folded anew where a line of them is too long; what is indented or a list stays as it is."""
    available = line_width()
    blocks = text.split("\n\n")
    for number, block in enumerate(blocks):
        lines = block.split("\n")
        if available and max(map(len, lines)) > available and not any(line[:1] in (" ", "-", "|") for line in lines):
            blocks[number] = "\n".join(folded(" ".join(lines)))
    return "\n\n".join(blocks)


def print_table(
    head: Row,
    rows: Sequence[Row],
    *,
    left_columns: Collection[int] = (0,),
    leave_out: Sequence[int] = (),
    notes: Sequence[str] = (),
    styles: Sequence[str] = (),
    indent: str = "",
) -> None:
    """Print a table.

    left_columns   that are flush left, the others are flush right
    leave_out      columns that can be left out where the line is too narrow, the first of them first
    notes          one for each row, below it, folded; "" for none
    styles         one for each row, of its first cell
    """
    console = terminal()
    available = line_width()
    inside = None if available is None else available - len(indent)
    shown_columns = _columns([head, *rows], leave_out, inside)
    cells = [[row[i] for i in shown_columns] for row in (head, *rows)]
    flush = [number for number, i in enumerate(shown_columns) if i in left_columns]
    cells = _cut(cells, flush, inside)
    lines = lines_of(cells, flush)
    if console is not None:
        lines = _rich_lines(console, cells, flush, styles)
        print(f"{indent}{lines.pop(0)}".rstrip())
        print(f"{indent}{lines.pop(0)}".rstrip())
    else:
        print(f"{indent}{lines.pop(0)}".rstrip())
    for number, line in enumerate(lines):
        print(f"{indent}{line}")
        for note in folded(notes[number], f"{indent}    ") if number < len(notes) else ():
            print(paint(note, "dim"))


def fits(head: Row, rows: Sequence[Row], left_columns: Collection[int]) -> bool:
    """Whether a line has room for all columns, those of texts cut if need be."""
    available = line_width()
    return available is None or _width(_cut([list(row) for row in (head, *rows)], left_columns, available)) <= available


def heading(text: str) -> None:
    """A title over a table, after an empty line."""
    print(f"\n{paint(text, 'bold')}")


def lines_of(rows: Sequence[Row], left_columns: Collection[int] = (0,)) -> list[str]:
    """Rows as plain lines in columns. Widths are those of a terminal: a CJK character takes two."""
    widths = [max(map(cell_width, column)) for column in zip(*rows)]
    return [COLUMN_GAP.join(_padded(row, widths, left_columns)).rstrip() for row in rows]


def first_few(items: Row, limit: int) -> str:
    """The first items, and how many more there are.

    >>> first_few(["a", "b", "c"], 3), first_few(["a", "b", "c"], 1)
    ('a, b, c', 'a and 2 more')
    """
    return ", ".join(items[:limit]) + (f" and {len(items) - limit:,} more" if len(items) > limit else "")


def cell_width(text: str) -> int:
    """Columns that a text takes in a terminal.

    >>> cell_width("text"), cell_width("文")
    (4, 2)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(row: Row, widths: Sequence[int], left_columns: Collection[int]) -> Iterator[str]:
    for number, (text, width) in enumerate(zip(row, widths)):
        space = " " * (width - cell_width(text))
        yield text + space if number in left_columns else space + text


def _columns(rows: Sequence[Row], leave_out: Sequence[int], width: int | None) -> list[int]:
    """The columns that fit, as far as some can be left out. One without anything in any row is left out anyway."""
    columns = [i for i in range(len(rows[0])) if i == 0 or any(row[i] for row in rows[1:]) or len(rows) == 1]
    for i in leave_out:
        if width is None or _width([[row[k] for k in columns] for row in rows]) <= width:
            break
        if i in columns:
            columns.remove(i)
    return columns


def _width(rows: Sequence[Row]) -> int:
    widths = [max(map(cell_width, column)) for column in zip(*rows)]
    return sum(widths) + len(COLUMN_GAP) * (len(widths) - 1)


def _cut(rows: list[list[str]], left_columns: Collection[int], width: int | None) -> list[list[str]]:
    """The rows with texts cut at their ends as far as needed, the longest column first; numbers are never cut."""
    while width is not None and (over := _width(rows) - width) > 0:
        widths = {i: max(cell_width(row[i]) for row in rows) for i in left_columns}
        longest = max(widths, key=lambda i: widths[i], default=None)
        if longest is None or widths[longest] <= MIN_CELL_WIDTH:
            break
        # Down to the next shorter column at once, so that a wide table takes a few rounds and not one per character.
        limit = max(MIN_CELL_WIDTH, widths[longest] - over)
        rows = [[_shortened(text, limit) if i == longest else text for i, text in enumerate(row)] for row in rows]
    return rows


def _shortened(text: str, width: int) -> str:
    if cell_width(text) <= width:
        return text
    while cell_width(text) >= width:
        text = text[:-1]
    return text + CUT_MARK


def _rich_lines(
    console: "Console", rows: Sequence[Row], left_columns: Collection[int], styles: Sequence[str]
) -> list[str]:
    """The head, a rule and a line for each row, in colour."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    head, *others = rows
    for number, name in enumerate(head):
        justify: Literal["left", "right"] = "left" if number in left_columns else "right"
        table.add_column(Text(name), justify=justify, no_wrap=True, overflow="crop")
    for number, row in enumerate(others):
        style = styles[number] if number < len(styles) else ""
        table.add_row(*(Text(text, style if i == 0 else "") for i, text in enumerate(row)))
    with console.capture() as captured:
        console.print(table, width=max(console.width, _width(rows)), crop=False)
    return [line.rstrip() for line in captured.get().splitlines()]
