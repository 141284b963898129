"""A screen as SVG, drawn by rich, without fonts from elsewhere."""

import re

from pyte.screens import Char, Screen
from rich.console import Console
from rich.style import Style
from rich.text import Text

# What rich draws into, without the style sheet of its fonts' server.
FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def picture(screen: Screen, title: str) -> str:
    """SVG of what stands on a screen, in its colours, without the empty lines at its end."""
    console = Console(record=True, width=screen.columns, force_terminal=True, file=open("/dev/null", "w"))  # noqa
    lines = [_line(screen, row) for row in range(screen.lines)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    for line in lines:
        console.print(line, no_wrap=True, overflow="crop")
    return FONTS.sub("", console.export_svg(title=title))


def _line(screen: Screen, row: int) -> Text:
    text = Text()
    for x in range(screen.columns):
        char = screen.buffer[row][x]
        text.append(char.data, style_of(char))
    return text


def style_of(char: Char) -> Style:
    return Style(
        color=_colour(char.fg),
        bgcolor=_colour(char.bg),
        bold=char.bold,
        italic=char.italics,
        underline=char.underscore,
        reverse=char.reverse,
    )


def _colour(name: str) -> str | None:
    if name == "default":
        return None
    if re.fullmatch("[0-9a-f]{6}", name):
        return f"#{name}"
    return {"brown": "yellow"}.get(
        name, re.sub("^bright(?=[a-z])", "bright_", name).replace("bright_brown", "bright_yellow")
    )
