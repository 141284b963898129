"""Small charts as inline SVG. Horizontal positions are in per cent and text sizes in pixels, so that a chart fills the
page and its labels are readable on a phone. Colours come from the page's style, by class."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from corpusmill.report.bins import Histogram
from corpusmill.report.html.markup import HtmlText, tag
from corpusmill.report.numbers import number, short

TOP_MARGIN, BOTTOM_MARGIN = 18, 20  # pixels above the bars, for a label, and below them, for the axis
GUTTER_PERCENT = 9  # per cent left of the bars, for the counts
LABEL_LINE_HEIGHT = 14  # pixels from one label of a mark to the next
PAIRED_BAR_HEIGHT = 9  # pixels of one of two bars


def bar(parts: Sequence[tuple[float, str, str]], label: str, height: int = 16) -> HtmlText:
    """One horizontal bar, of parts (share of the width, class, tooltip)."""
    at = 0.0
    rects = []
    for width, css, tooltip in parts:
        if width > 0:
            rects.append(_rect(at, width, 0, height, css, tooltip))
        at += width
    return tag("svg", *rects, class_="bar", role="img", aria_label=label, width="100%", height=height)


def two_bars(parts: Sequence[tuple[float, tuple[float, float], str, str]], label: str) -> HtmlText:
    """Horizontal bars one below the other, each (width in per cent, its interval in per cent, class, tooltip). The
    interval is a line at the end of the bar; where both ends are equal there is none."""
    shapes = []
    for i, (width, (low, high), css, tooltip) in enumerate(parts):
        y = i * (PAIRED_BAR_HEIGHT + 1)
        shapes.append(_rect(0, width, y, PAIRED_BAR_HEIGHT, css, tooltip))
        if high > low:
            middle = f"{y + PAIRED_BAR_HEIGHT / 2:.1f}"
            ends = {"x1": f"{low:.3f}%", "x2": f"{high:.3f}%", "y1": middle, "y2": middle}
            shapes.append(tag("line", **ends, class_="interval"))
    height = len(parts) * (PAIRED_BAR_HEIGHT + 1) - 1
    return tag("svg", *shapes, class_="bar", role="img", aria_label=label, width="100%", height=height)


def overlaid(
    data: Histogram, *, label: str, unit: str, marks: Sequence[tuple[float, str, str]] = (), height: int = 170
) -> HtmlText:
    """A histogram of which each series has bars of its own: the first wide, those after it narrower and before it.

    marks   (value, words, class): lines with a label each, one label below the other
    """
    x_of, _ = _axis(data)
    top, floor = max(TOP_MARGIN, LABEL_LINE_HEIGHT * len(marks) + 4), height - BOTTOM_MARGIN
    maximum = max([*(count for counts in data.counts.values() for count in counts), 1])
    parts = _grid(round_values(0, maximum, 3)[1:], lambda value: (floor - top) * value / maximum, floor)
    for i, start, end, tooltip in _bins(data, unit):
        for depth, (name, counts) in enumerate(data.counts.items()):
            if counts[i]:
                inset = (end - start) * (0.04 + 0.22 * depth)
                part = max((floor - top) * counts[i] / maximum, 1.0)
                parts.append(_rect(start + inset, end - start - 2 * inset, floor - part, part, name, tooltip))
    labels: list[HtmlText] = []
    for i, (value, words, css) in enumerate(marks):
        if data.edges[0] <= value <= data.edges[-1]:
            labels += _mark(x_of(value), words, LABEL_LINE_HEIGHT * (i + 1) - 2, floor, css)
    return _chart(data, parts, labels, label, height)


def histogram(
    data: Histogram, *, label: str, unit: str, bound: float | None = None, height: int = 170, root: bool = False
) -> HtmlText:
    """Stacked bars, one per bin, with a part for each series of counts, in the order given; its class is its name.

    label   what the chart shows, for screen readers
    unit    of the values, as in "tokens"
    bound   a threshold to draw as a line
    root    heights are square roots of counts, so that a few documents can be seen beside many: only if no two series
            share a bin, as parts of such a bar cannot be compared
    """
    x_of, _ = _axis(data)
    floor = height - BOTTOM_MARGIN
    maximum = max([*(sum(counts) for counts in zip(*data.counts.values())), 1])

    def tall(value: float) -> float:
        return (floor - TOP_MARGIN) * (math.sqrt(value / maximum) if root else value / maximum)

    parts = _grid(_powers(maximum) if root else round_values(0, maximum, 3)[1:], tall, floor)
    for i, start, end, tooltip in _bins(data, unit):
        y = float(floor)
        for name, counts in data.counts.items():
            if counts[i]:
                part = max(tall(counts[i]), 1.0)
                y -= part
                parts.append(_rect(start + 0.1, max(end - start - 0.2, 0.2), y, part, name, tooltip))
    is_inside = bound is not None and data.edges[0] <= bound <= data.edges[-1]
    labels = _mark(x_of(bound), f"{bound:,.6g}", 13, floor, "bound") if bound is not None and is_inside else []
    return _chart(data, parts, labels, label, height)


def _chart(data: Histogram, parts: Sequence[HtmlText], labels: Sequence[HtmlText], label: str, height: int) -> HtmlText:
    axis = _horizontal_axis(data, height - BOTTOM_MARGIN, height)
    inside = [tag("title", label), *parts, *axis, *_open_end(data), *labels]
    return tag("svg", *inside, class_="chart", role="img", aria_label=label, width="100%", height=height)


def _grid(values: Sequence[float], tall: Callable[[float], float], floor: int) -> list[HtmlText]:
    """Horizontal lines, each with its value."""
    parts: list[HtmlText] = []
    for value in values:
        y = floor - tall(value)
        parts.append(tag("line", x1=f"{GUTTER_PERCENT}%", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"))
        parts.append(tag("text", short(value), x=f"{GUTTER_PERCENT - 1}%", y=f"{y + 4:.1f}", text_anchor="end"))
    return parts


def _bins(data: Histogram, unit: str) -> Iterator[tuple[int, float, float, str]]:
    """Each bin: its number, where it begins and ends, in per cent, and its tooltip."""
    x_of, _ = _axis(data)
    for i, (low, high) in enumerate(zip(data.edges, data.edges[1:])):
        series = ", ".join(f"{number(counts[i])} {name}" for name, counts in data.counts.items())
        yield i, x_of(low), x_of(high), f"{data.words(i)} {unit}: {series}"


def _horizontal_axis(data: Histogram, floor: int, height: int) -> list[HtmlText]:
    """The line below the bars, and its labels."""
    x_of, ticks = _axis(data)
    parts = [tag("line", x1=f"{GUTTER_PERCENT}%", x2="100%", y1=floor, y2=floor, class_="axis")]
    for value in ticks:
        x = x_of(value)
        parts.append(tag("text", short(value), x=f"{x:.2f}%", y=height - 5, text_anchor="end" if x > 97 else "middle"))
    return parts


def _open_end(data: Histogram) -> list[HtmlText]:
    """Says of a last bin that it also holds larger values."""
    if not data.is_open:
        return []
    words = f"≥ {short(data.edges[-2])} →"
    return [tag("text", words, x="100%", y=10, text_anchor="end", class_="open")]


def _mark(x: float, words: str, y: int, floor: int, css: str) -> list[HtmlText]:
    """A vertical line with a label at height y, on the side where there is more room."""
    side = {"dx": -4, "text_anchor": "end"} if x > 50 else {"dx": 4, "text_anchor": "start"}
    return [
        tag("line", x1=f"{x:.2f}%", x2=f"{x:.2f}%", y1=max(y - 9, 4), y2=floor, class_=css),
        tag("text", words, x=f"{x:.2f}%", y=y, class_=css, **side),
    ]


def legend(names: Mapping[str, str]) -> HtmlText:
    """The colours of a chart: class -> words."""
    return tag("p", *(tag("span", tag("i", class_=css), words) for css, words in names.items()), class_="legend")


def _rect(x: float, width: float, y: float, height: float, css: str, tooltip: str) -> HtmlText:
    # Browsers show the title of the group as a tooltip.
    geometry = {"x": f"{x:.3f}%", "width": f"{width:.3f}%", "y": f"{y:.1f}", "height": f"{height:.1f}"}
    return tag("g", tag("title", tooltip), tag("rect", **geometry), class_=css)


def position(value: float, low: float, high: float, log: bool) -> float:
    """Where a value is between two others, 0 to 1."""
    if log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _axis(data: Histogram) -> tuple[Callable[[float], float], list[float]]:
    """The position of a value, in per cent from the left; the values of the ticks."""
    low, high = data.edges[0], data.edges[-1]
    if not data.log:
        ticks = [value for value in round_values(low, high, 5) if low <= value <= high]
        return (lambda value: GUTTER_PERCENT + (100 - GUTTER_PERCENT) * (value - low) / (high - low)), ticks
    # A first bin that begins at 0 is drawn as wide as its neighbour.
    start = low or data.edges[1] * (data.edges[1] / data.edges[2] if len(data.edges) > 2 else 0.5)
    width = math.log(high / start)
    powers = range(math.floor(math.log10(start)), math.ceil(math.log10(high)) + 1)
    ticks = [float(10**power) for power in powers if power >= 0 and start <= 10**power <= high]
    if len(ticks) < 3:
        ticks = [float(m * 10**p) for p in powers if p >= 0 for m in (1, 2, 5) if start <= m * 10**p <= high]
    return (lambda value: GUTTER_PERCENT + (100 - GUTTER_PERCENT) * math.log(max(value, start) / start) / width), ticks


def round_values(low: float, high: float, count: int) -> list[float]:
    """About `count` round values from `low` to `high`.

    >>> round_values(0, 130, 3), round_values(0, 1, 5)
    ([0.0, 50.0, 100.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    rough = (high - low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def _powers(maximum: float) -> list[float]:
    """The last powers of ten up to `maximum`, and five times the last of them.

    >>> _powers(700), _powers(7)
    ([10.0, 100.0, 500.0], [1.0, 5.0])
    """
    last = math.floor(math.log10(maximum))
    powers = [10.0**power for power in (last - 1, last) if power >= 0]
    return powers + [5 * powers[-1]] * (5 * powers[-1] <= maximum)
