"""Small charts as inline SVG. Places across are in per cent and sizes of text in pixels, so a chart is as wide as the
page lets it, and its words stay readable on a phone. Colours come from the page's style, by class."""

import math
from collections.abc import Callable, Mapping, Sequence

from corpusmill.report.bins import Histogram
from corpusmill.report.html.markup import Html, tag
from corpusmill.report.numbers import number, short

TOP, BOTTOM = 18, 20  # pixels above the bars, for a label, and below them, for the axis
GUTTER = 9  # per cent left of the bars, for the counts


def bar(parts: Sequence[tuple[float, str, str]], label: str, height: int = 16) -> Html:
    """One bar across, of parts (share of the width, class, what it says when pointed at)."""
    at = 0.0
    rects = []
    for width, css, says in parts:
        if width > 0:
            rects.append(_rect(at, width, 0, height, css, says))
        at += width
    return tag("svg", *rects, class_="bar", role="img", aria_label=label, width="100%", height=height)


def histogram(
    found: Histogram, *, label: str, unit: str, bound: float | None = None, height: int = 170, root: bool = False
) -> Html:
    """Bars that stand on each other, one a bin, for each series of counts, in the order given; class is its name.

    label   what the chart shows, for those who cannot see it
    unit    of the values, as in "tokens"
    bound   a threshold to draw across
    root    heights are square roots of counts, so that a few documents can be seen beside many: only where the series
            share no bin, for parts of a bar cannot be compared
    """
    place, ticks = _axis(found)
    floor = height - BOTTOM
    most = max([*(sum(counts) for counts in zip(*found.counts.values())), 1])

    def tall(value: float) -> float:
        return (floor - TOP) * (math.sqrt(value / most) if root else value / most)

    parts: list[Html] = [tag("title", label)]
    for value in _powers(most) if root else _steps(0, most, 3)[1:]:
        y = floor - tall(value)
        parts.append(tag("line", x1=f"{GUTTER}%", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"))
        parts.append(tag("text", short(value), x=f"{GUTTER - 1}%", y=f"{y + 4:.1f}", text_anchor="end"))
    for i, (low, high) in enumerate(zip(found.edges, found.edges[1:])):
        left, right = place(low), place(high)
        says = f"{_range(found, i)} {unit}: " + ", ".join(f"{number(c[i])} {name}" for name, c in found.counts.items())
        y = float(floor)
        for name, counts in found.counts.items():
            if counts[i]:
                part = max(tall(counts[i]), 1.0)
                y -= part
                parts.append(_rect(left + 0.1, max(right - left - 0.2, 0.2), y, part, name, says))
    parts.append(tag("line", x1=f"{GUTTER}%", x2="100%", y1=floor, y2=floor, class_="axis"))
    for value in ticks:
        x = place(value)
        parts.append(tag("text", short(value), x=f"{x:.2f}%", y=height - 5, text_anchor="end" if x > 97 else "middle"))
    if bound is not None and found.edges[0] <= bound <= found.edges[-1]:
        x, y = place(bound), 13
        side = {"dx": -4, "text_anchor": "end"} if x > 70 else {"dx": 4, "text_anchor": "start"}
        parts.append(tag("line", x1=f"{x:.2f}%", x2=f"{x:.2f}%", y1=4, y2=floor, class_="bound"))
        parts.append(tag("text", short(bound), x=f"{x:.2f}%", y=y, class_="bound", **side))
    return tag("svg", *parts, class_="chart", role="img", aria_label=label, width="100%", height=height)


def legend(names: Mapping[str, str]) -> Html:
    """What the colours stand for: class -> words."""
    return tag("p", *(tag("span", tag("i", class_=css), words) for css, words in names.items()), class_="legend")


def _rect(x: float, width: float, y: float, height: float, css: str, says: str) -> Html:
    # A rect with a title is what browsers show when it is pointed at; it holds one, so it is closed by hand.
    place = {"x": f"{x:.3f}%", "width": f"{width:.3f}%", "y": f"{y:.1f}", "height": f"{height:.1f}"}
    return tag("g", tag("title", says), tag("rect", **place), class_=css)


def _axis(found: Histogram) -> tuple[Callable[[float], float], list[float]]:
    """Where a value stands, in per cent from the left; the values that are written below."""
    low, high = found.edges[0], found.edges[-1]
    if not found.log:
        ticks = [value for value in _steps(low, high, 5) if low <= value <= high]
        return (lambda value: GUTTER + (100 - GUTTER) * (value - low) / (high - low)), ticks
    # A first bin that begins at 0 is drawn as wide as its neighbour.
    start = low or found.edges[1] * (found.edges[1] / found.edges[2] if len(found.edges) > 2 else 0.5)
    width = math.log(high / start)
    powers = range(math.floor(math.log10(start)), math.ceil(math.log10(high)) + 1)
    ticks = [float(10**power) for power in powers if power >= 0 and start <= 10**power <= high]
    if len(ticks) < 3:
        ticks = [float(m * 10**p) for p in powers if p >= 0 for m in (1, 2, 5) if start <= m * 10**p <= high]
    return (lambda value: GUTTER + (100 - GUTTER) * math.log(max(value, start) / start) / width), ticks


def _steps(low: float, high: float, count: int) -> list[float]:
    """About `count` round values from `low` to `high`.

    >>> _steps(0, 130, 3), _steps(0, 1, 5)
    ([0.0, 50.0, 100.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    rough = (high - low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def _powers(most: float) -> list[float]:
    """The last powers of ten up to `most`, and five times the last of them.

    >>> _powers(700), _powers(7)
    ([10.0, 100.0, 500.0], [1.0, 5.0])
    """
    last = math.floor(math.log10(most))
    found = [10.0**power for power in (last - 1, last) if power >= 0]
    return found + [5 * found[-1]] * (5 * found[-1] <= most)


def _range(found: Histogram, i: int) -> str:
    """`64 to 91`, or `23,170 and more` for a last bin that holds larger values too."""
    low, high = found.edges[i], found.edges[i + 1]
    if i == len(found.edges) - 2 and found.most > high:
        return f"{short(low)} and more"
    return f"{short(low)} to {short(high)}"
