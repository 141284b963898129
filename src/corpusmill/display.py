"""Values as a notebook shows them: small tables of HTML, in which nothing of the data is markup.

What is in a terminal as a line or a few is in a notebook the same, as a table: no styles of ours, no scripts, nothing
from elsewhere.
"""

import sys
from collections.abc import Iterable, Sequence
from html import escape
from shlex import quote

COMMAND_LINE = "corpusmill.cli.common"  # is imported where the program is the command
LEFT, RIGHT = ' style="text-align:left"', ' style="text-align:right"'


def is_command() -> bool:
    """Whether what is said is for a shell: with options and verbs, and not in Python."""
    return COMMAND_LINE in sys.modules


def setting(name: str, value: object) -> str:
    """How the next run is given another setting of `run:`."""
    if is_command():
        return f"--set {name}={value}"
    return f'RunSettings({name.rpartition(".")[2]}={value}), or overrides="{name}={value}" for a recipe in a file'


def dead_letters(folder: str) -> str:
    """What shows the records of a run that could not be processed."""
    if is_command():
        return f"`corpusmill peek {quote(folder)} --dead`"
    return f"`from corpusmill.report import samples, tables; samples.dead_letters(tables.RunTables({folder!r}), 5)`"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a title. Numbers are aligned to the right, with commas.

    >>> table("A & B", ["step", "kept"], [["<b>", 1000]])[:46]
    '<p><strong>A &amp; B</strong></p><table><thead>'
    """
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    top = "".join(f"<th{RIGHT if number else LEFT}>{escape(name)}</th>" for number, name in enumerate(head))
    return f"<p><strong>{escape(title)}</strong></p><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def code(title: str, text: str) -> str:
    """A text as it is written, with a title."""
    inside = f"<pre>{escape(text)}</pre>" if text else ""
    return f"<p><strong>{escape(title)}</strong></p>{inside}"


def _cell(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:,}" if number else "" if value is None else str(value)
    return f"<td{RIGHT if number else LEFT}>{escape(text)}</td>"
