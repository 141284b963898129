"""A session in a terminal as one SVG that plays by itself: the screens lie below each other on a strip, which CSS moves
past a window.

What plays no CSS, and whoever has asked for less motion, sees the last screen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

import pyte
from picture import style_of
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME as THEME

SHORTEST, LONGEST, LAST = 0.15, 0.6, 6.0  # seconds that a screen is shown; one that stood for less is left out
WIDTH, HEIGHT, SIZE, BASELINE = 12.2, 24, 20, 18  # pixels: of a character, of a line; of its letters, to their feet
MARGIN, BAR = 12, 44  # pixels around the screen, and of the bar with the title


@dataclass(frozen=True)
class Run:
    """Characters of one style beside each other."""

    column: int
    text: str
    style: Style


Line = tuple[Run, ...]


@dataclass(frozen=True)
class Frame:
    lines: tuple[Line, ...]
    seconds: float


def frames(printed: Sequence[tuple[float, bytes]], columns: int, rows: int, ends: Iterable[float]) -> list[Frame]:
    """The screens that stood long enough to be seen, each as long as it stood, but LONGEST at most.

    printed   when, and what
    ends      when a command had ended: its last screen is to be read, and stays longer
    """
    screen, seen, ends = pyte.Screen(columns, rows), list[Frame](), set(ends)
    stream = pyte.ByteStream(screen)
    times = [at for at, _ in printed]
    begin = times[0]
    for (at, content), after in zip(printed, [*times[1:], times[-1] + LAST], strict=True):
        stream.feed(content)
        if after - begin < SHORTEST:  # drawn in several strokes
            continue
        read = LAST / 2 if any(at <= end < after for end in ends) else 0.0
        held = max(min(after - max(at, begin), LONGEST), SHORTEST, read)
        lines = tuple(_line(screen, row) for row in range(rows))
        if seen and seen[-1].lines == lines:
            seen[-1] = Frame(lines, max(min(seen[-1].seconds + held, LONGEST), read))
        else:
            seen.append(Frame(lines, held))
        begin = after
    return [*seen[:-1], Frame(seen[-1].lines, LAST)]


def recording(shown: Sequence[Frame], columns: int, rows: int, title: str) -> str:
    """SVG of frames. A line that stands on several screens is in it once."""
    names: dict[Line, str] = {}
    styles: dict[Style, str] = {}
    for frame in shown:
        for line in frame.lines:
            if line:
                names.setdefault(line, f"l{len(names)}")
                for run in line:
                    styles.setdefault(run.style, f"s{len(styles)}")
    high, wide = rows * HEIGHT, round(columns * WIDTH)
    width, height = wide + 2 * MARGIN, high + BAR + MARGIN
    seconds = sum(frame.seconds for frame in shown)
    last = (len(shown) - 1) * high
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            "<style>",
            f"text{{font:{SIZE}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}",
            *(f".{name}{{{_css(style)}}}" for style, name in styles.items()),
            f"#strip{{animation:play {seconds:.2f}s step-end infinite}}",
            f"@keyframes play{{{''.join(_moves(shown, high))}}}",
            "@media (prefers-reduced-motion:reduce){#strip{animation:none}}",
            "</style>",
            "<defs>",
            *(f'<g id="{name}">{"".join(_drawn(line, styles))}</g>' for line, name in names.items()),
            "</defs>",
            f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8" fill="#292929" '
            'stroke="#fff" stroke-opacity=".35"/>',
            *(
                f'<circle cx="{26 + 22 * i}" cy="22" r="7" fill="{colour}"/>'
                for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
            ),
            f'<text x="{width / 2:g}" y="29" fill="#c5c8c6" text-anchor="middle">{escape(title)}</text>',
            f'<svg x="{MARGIN}" y="{BAR}" width="{wide}" height="{high}">',
            f'<g id="strip" transform="translate(0,{-last})">',
            *(
                f'<use href="#{names[line]}" y="{i * high + row * HEIGHT}"/>'
                for i, frame in enumerate(shown)
                for row, line in enumerate(frame.lines)
                if line
            ),
            "</g>",
            "</svg>",
            "</svg>",
            "",
        ]
    )


def _line(screen: pyte.Screen, row: int) -> Line:
    """What stands in a line, without blanks at its end and where there are several."""
    chars = [screen.buffer[row][x] for x in range(screen.columns)]
    runs: list[Run] = []
    for style, group in groupby(range(len(chars)), lambda x: style_of(chars[x])):
        at = list(group)
        text = "".join(chars[x].data for x in at)
        if text.strip() or style.bgcolor or style.reverse:
            runs.extend(_words(at[0], text, style))
    return tuple(runs)


def _words(column: int, text: str, style: Style) -> Iterator[Run]:
    """Parts of a text that no two blanks separate."""
    if style.bgcolor or style.reverse:
        yield Run(column, text, style)
        return
    at = 0
    for part in text.split("  "):
        if part.strip():
            yield Run(column + at + len(part) - len(part.lstrip()), part.strip(), style)
        at += len(part) + 2


def _drawn(line: Line, styles: dict[Style, str]) -> Iterator[str]:
    for run in line:
        x, length = f"{run.column * WIDTH:g}", f"{len(run.text) * WIDTH:g}"
        if ground := _ground(run.style):
            yield f'<rect x="{x}" width="{length}" height="{HEIGHT}" fill="{ground}"/>'
        yield (
            f'<text class="{styles[run.style]}" x="{x}" y="{BASELINE}" textLength="{length}" '
            f'lengthAdjust="spacingAndGlyphs">{escape(run.text)}</text>'
        )


def _css(style: Style) -> str:
    colour, ground = _hex(style.color, foreground=True), _hex(style.bgcolor, foreground=False)
    return (
        f"fill:{ground if style.reverse else colour}"
        + (";font-weight:bold" if style.bold else "")
        + (";font-style:italic" if style.italic else "")
        + (";text-decoration:underline" if style.underline else "")
    )


def _ground(style: Style) -> str | None:
    if style.reverse:
        return _hex(style.color, foreground=True)
    return _hex(style.bgcolor, foreground=False) if style.bgcolor else None


def _hex(colour: object, foreground: bool) -> str:
    """A colour of rich, or none, as its pictures show it."""
    chosen = colour.get_truecolor(THEME, foreground) if colour else None  # type: ignore[attr-defined]
    return (chosen or (THEME.foreground_color if foreground else THEME.background_color)).hex


def _moves(shown: Sequence[Frame], high: int) -> Iterator[str]:
    whole, at = sum(frame.seconds for frame in shown), 0.0
    for i, frame in enumerate(shown):
        yield f"{100 * at / whole:.2f}%{{transform:translate(0,{-i * high}px)}}"
        at += frame.seconds
    yield f"to{{transform:translate(0,{-(len(shown) - 1) * high}px)}}"
