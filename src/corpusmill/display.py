"""Values as a notebook shows them: small tables of HTML, in which nothing of the data is markup.

What is in a terminal as a line or a few is in a notebook the same, as a table: no styles of ours, no scripts, nothing
from elsewhere.
"""

from collections.abc import Iterable, Sequence
from html import escape

LEFT, RIGHT = ' style="text-align:left"', ' style="text-align:right"'


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
