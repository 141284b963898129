"""Charts that one can point at, zoom, select in and save: Vega-Lite specifications with their bins inline, which the
page's script draws in place of the SVG that they hold. On paper, in a notebook and without scripts that SVG stays.

Colours are names of the page's style, `var(--kept)`: the script puts the values of light or dark there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from corpusmill.report.bins import Histogram
from corpusmill.report.html import svg
from corpusmill.report.html.markup import HtmlText, tag
from corpusmill.report.numbers import short

SERIES_COLOURS = {
    "kept": "var(--kept)",
    "pass": "var(--kept)",
    "output": "var(--kept)",
    "dropped": "var(--dropped)",
    "fail": "var(--dropped)",
    "input": "var(--before)",
    "removed": "var(--dropped)",
    "clusters": "var(--kept)",
    "worker time": "var(--kept)",
    "peak memory": "var(--before)",
}
BAR_HEIGHT, ROW_HEIGHT = 13, 38  # pixels: a horizontal bar, and it with the words above it
HALF_BAR_HEIGHT, BAR_SPACING = 8, 1  # pixels: one of two bars of a row, and between them
SERIES_INSET = 0.22  # of a bin's width, on either side, by which a series is narrower than the one before it
BIN_GAP = 0.04


Mark = tuple[float, str, str]  # a value, words, class


def histogram(
    data: Histogram,
    *,
    label: str,
    unit: str,
    axis: str | None = None,
    bound: float | None = None,
    height: int = 170,
    root: bool = False,
    counted: str = "documents",
    unknown: int = 0,
    ticks: Sequence[float] | None = None,
) -> HtmlText:
    """A chart of stacked bars, as `svg.histogram`.

    axis      words below the horizontal axis; `unit` if not given
    counted   what the bars count
    unknown   documents without a value, which are in none of the bins
    ticks     values on the horizontal axis; round ones if not given
    """
    still = svg.histogram(data, label=label, unit=unit, bound=bound, height=height, root=root)
    marks = [] if bound is None else [(bound, f"threshold {bound:,.6g}", "bound")]
    spec = _spec(data, _stacked(data), marks, ChartFrame(axis or unit, height, root, counted))
    if ticks is not None:
        spec["layer"][0]["encoding"]["x"]["axis"]["values"] = list(ticks)
    return _chart(still, spec, unit, label, unknown)


def overlaid(
    data: Histogram, *, label: str, unit: str, axis: str | None = None, marks: Sequence[Mark] = (), height: int = 170
) -> HtmlText:
    """A chart in which each series has bars of its own, as `svg.overlaid`."""
    still = svg.overlaid(data, label=label, unit=unit, marks=marks, height=height)
    return _chart(still, _spec(data, _side_by_side(data), marks, ChartFrame(axis or unit, height)), unit, label)


@dataclass(frozen=True)
class BarRow:
    """A row of `bars`.

    parts   (series, value, the value in words), from left to right
    words   to the right above the bar
    href    where a click on the name leads
    """

    name: str
    parts: Sequence[tuple[str, float, str]]
    words: str
    href: str | None = None


def bars(still: HtmlText, rows: Sequence[BarRow], *, label: str, axis: str, unit: str = "") -> HtmlText:
    """Horizontal bars, one per row, with its name and its words above it.

    still   the same on paper and without scripts
    axis    words below the horizontal axis
    unit    of the values on the axis, as in "B" for bytes
    """
    maximum = max([sum(value for _, value, _ in row.parts) for row in rows] + [0.0]) or 1.0
    values, names = [], list(dict.fromkeys(series for row in rows for series, *_ in row.parts))
    for i, row in enumerate(rows):
        start = 0.0
        about: dict[str, str] = {series: words for series, _, words in row.parts}
        for series, value, _ in row.parts:
            if value:
                ends = {"x": float(f"{start:.6g}"), "x2": float(f"{start + value:.6g}")}
                values.append({"i": i, "c": row.name, "s": series, "n": float(f"{value:.6g}"), **ends, **about})
                start += value
    ticks = f"format(datum.value, '{'~s' if maximum >= 1000 else '~g'}') + '{unit}'"
    drawn = {
        "mark": {"type": "bar", "height": BAR_HEIGHT, "yOffset": BAR_HEIGHT - 4, "cornerRadius": 2, "minBandSize": 1},
        "encoding": {
            "y": _rows(len(rows)),
            "x": _along("x", maximum, axis, ticks),
            "x2": {"field": "x2"},
            "color": _colours(names),
            "tooltip": _tooltip(names),
        },
    }
    layers = [drawn, *_words([(row.name, row.words, row.href or "") for row in rows])]
    return _chart(still, {"data": {"values": values}, "height": ROW_HEIGHT * len(rows), "layer": layers}, unit, label)


@dataclass(frozen=True)
class PairRow:
    """A row of `pairs`.

    parts   (series, share, its interval, the share in words), one below the other; an interval of equal ends is none
    words   to the right above the bars
    """

    name: str
    parts: Sequence[tuple[str, float, tuple[float, float], str]]
    words: str


def pairs(still: HtmlText, rows: Sequence[PairRow], *, label: str, axis: str) -> HtmlText:
    """Shares as horizontal bars, two per row, each with its interval as a line.

    still   the same on paper and without scripts
    axis    words below the horizontal axis
    """
    maximum = max([high for row in rows for *_, (_, high), _ in row.parts] + [0.01])
    names = list(dict.fromkeys(series for row in rows for series, *_ in row.parts))
    values = []
    for i, row in enumerate(rows):
        about = {series: words for series, *_, words in row.parts}
        for series, share, (low, high), _ in row.parts:
            numbers = {"n": share, "low": low, "high": high}
            rounded = {key: float(f"{number:.6g}") for key, number in numbers.items()}
            values.append({"i": i, "c": row.name, "s": series, **rounded, **about})
    layers: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        only: dict[str, Any] = {"transform": [{"filter": {"field": "s", "equal": name}}]}
        y, below = _rows(len(rows)), BAR_SPACING + HALF_BAR_HEIGHT // 2 + i * (HALF_BAR_HEIGHT + BAR_SPACING)
        x = _along("n", maximum, axis, "format(datum.value, '~%')")
        mark = {
            "type": "bar",
            "height": HALF_BAR_HEIGHT,
            "yOffset": below,
            "cornerRadius": 2,
            "color": SERIES_COLOURS[name],
        }
        layers.append({**only, "mark": mark, "encoding": {"y": y, "x": x, "tooltip": _tooltip(names)}})
        line = {"type": "rule", "yOffset": below, "color": "var(--ink)"}
        ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
        only = {"transform": [*only["transform"], {"filter": "datum.high > datum.low"}]}
        layers.append({**only, "mark": line, "encoding": {"y": y, **ends}})
    layers += _words([(row.name, row.words, "") for row in rows])
    return _chart(still, {"data": {"values": values}, "height": ROW_HEIGHT * len(rows), "layer": layers}, "", label)


def _rows(count: int) -> dict[str, Any]:
    """The vertical axis of horizontal bars: a band per row."""
    scale = {"type": "band", "domain": list(range(count)), "paddingInner": 0, "paddingOuter": 0}
    return {"field": "i", "type": "nominal", "scale": scale, "axis": None, "sort": None}


def _along(field: str, maximum: float, title: str, ticks: str) -> dict[str, Any]:
    """The horizontal axis of horizontal bars, from 0 to `maximum`."""
    axis = {"labelExpr": ticks, "labelOverlap": True, "tickCount": 5, "labelFlush": True}
    scale = {"domain": [0, maximum], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "title": title, "axis": axis}


def _tooltip(names: Sequence[str]) -> list[dict[str, str]]:
    """What is said of a horizontal bar that one points at: its row, and each series of it in words."""
    series = [{"field": name, "type": "nominal", "title": name} for name in names]
    return [{"field": "c", "type": "nominal", "title": " "}, *series]


def _words(rows: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Above each row of horizontal bars: its name on the left, a link if it has an address, and words on the right."""
    heads = [{"i": i, "c": name, "w": words, "h": href} for i, (name, words, href) in enumerate(rows)]
    y = _rows(len(rows))

    def above(chosen: Sequence[Mapping[str, Any]], x: Any, field: str, **mark: str) -> dict[str, Any]:
        text = {"type": "text", "baseline": "bottom", "dy": -1, "fontSize": 12.5, **mark}
        encoding: dict[str, Any] = {"y": y, "x": {"value": x}, "text": {"field": field}}
        return {"data": {"values": chosen}, "mark": text, "encoding": encoding}

    layers = []
    if links := [head for head in heads if head["h"]]:
        linked = above(links, 0, "c", align="left", color="var(--kept)")
        linked["encoding"]["href"] = {"field": "h"}
        layers.append(linked)
    if names := [head for head in heads if not head["h"]]:
        layers.append(above(names, 0, "c", align="left", color="var(--ink)"))
    return [*layers, above(heads, "width", "w", align="right", color="var(--soft)")]


def _chart(still: HtmlText, spec: Mapping[str, Any], unit: str, label: str, unknown: int = 0) -> HtmlText:
    spec_text = json.dumps(spec, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    inside = tag("div", still, class_="still")
    about = {"data_unit": unit, "data_label": label, "data_unknown": unknown or None}
    return tag("div", inside, class_="vega", data_chart=spec_text, **about)


Bar = dict[str, Any]  # l, r: edges of its bin; x, x2: of the bar; y, y2; s: series; n: documents; b: the bin in words


def _stacked(data: Histogram) -> list[Bar]:
    bars = []
    for i, (low, high) in enumerate(_drawn(data)):
        below = 0
        for name, counts in data.counts.items():
            if counts[i]:
                bars.append(_bar(data, i, (low, high), 0.0, name, counts[i]) | {"y": below, "y2": below + counts[i]})
                below += counts[i]
    return bars


def _side_by_side(data: Histogram) -> list[Bar]:
    return [
        _bar(data, i, sides, BIN_GAP + SERIES_INSET * depth, name, counts[i]) | {"y": 0, "y2": counts[i]}
        for depth, (name, counts) in enumerate(data.counts.items())
        for i, sides in enumerate(_drawn(data))
        if counts[i]
    ]


def _bar(data: Histogram, i: int, sides: tuple[float, float], inset: float, name: str, count: int) -> Bar:
    low, high = sides
    if data.log:
        ratio = high / low
        x, x2 = low * ratio**inset, high / ratio**inset
    else:
        x, x2 = low + (high - low) * inset, high - (high - low) * inset
    edges = {"l": low, "r": high, "x": x, "x2": x2}
    return {**{key: float(f"{value:.6g}") for key, value in edges.items()}, "s": name, "n": count, "b": data.words(i)}


def _drawn(data: Histogram) -> list[tuple[float, float]]:
    """The sides of the bins on the page: a first bin that begins at 0 has a place on a logarithmic axis too."""
    edges = list(data.edges)
    if data.log and edges[0] <= 0:
        edges[0] = edges[1] * (edges[1] / edges[2] if len(edges) > 2 else 0.5)
    return list(pairwise(edges))


@dataclass(frozen=True)
class ChartFrame:
    """What is around the bars of a histogram.

    axis      words below the horizontal axis
    height    pixels
    root      whether the vertical axis is on a square-root scale
    counted   what the bars count
    """

    axis: str
    height: int
    root: bool = False
    counted: str = "documents"


def _spec(data: Histogram, bars: Sequence[Bar], marks: Sequence[Mark], frame: ChartFrame) -> dict[str, Any]:
    drawn = _drawn(data)
    low, high = drawn[0][0], drawn[-1][1]
    shown = [(mark, svg.position(mark[0], low, high, data.log)) for mark in marks if low <= mark[0] <= high]
    layers = [_bar_layer(data, bars, frame)]
    lowered = False
    if data.is_open:
        # The last bin holds all that is larger: its width on the axis says nothing.
        words = f"≥ {short(data.edges[-2])} →"
        ends = [at * PHONE_WIDTH + (_length(about) if at <= 0.5 else 0) for (_, about, _), at in shown]
        lowered = PHONE_WIDTH - max(ends, default=0.0) < _length(words)
        layers.append(_open_end_layer(high, words, lowered))
    # A line through words that are not its own would make them unreadable.
    rows = len(shown) + lowered
    ends_of_line = {"y": {"value": 2 + WORD_HEIGHT * rows}, "y2": {"value": frame.height}} if rows > 1 else {}
    for row, (mark, at) in enumerate(shown):
        layers.append(_mark_layer(mark, at, 2 + WORD_HEIGHT * row, ends_of_line))
    return {"data": {"values": list(bars)}, "height": frame.height, "layer": layers}


def _bar_layer(data: Histogram, bars: Sequence[Bar], frame: ChartFrame) -> dict[str, Any]:
    drawn = _drawn(data)
    low, high = drawn[0][0], drawn[-1][1]
    x_scale: dict[str, Any] = {"type": "log" if data.log else "linear", "domain": [low, high], "nice": False}
    names = list(data.counts)
    # Above the bars there is space for labels.
    top = max(bar["y2"] for bar in bars) * (1.4 if frame.root else 1.18) if bars else 1
    zoom = {"type": "interval", "encodings": ["x"], "on": MOVE_EVENTS, "translate": MOVE_EVENTS, "zoom": WHEEL_EVENTS}
    brush = {"type": "interval", "encodings": ["x"], "on": BRUSH_EVENTS, "zoom": False}
    fields = [("b", frame.axis), ("s", ""), ("n", frame.counted)]
    return {
        "mark": {"type": "rect", "clip": True, "cursor": "crosshair"},
        "params": [{"name": "brush", "select": brush}, {"name": "zoom", "bind": "scales", "select": zoom}],
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "scale": x_scale,
                "title": f"{frame.axis} (log scale)" if data.log else frame.axis,
                "axis": {
                    "grid": False,
                    "format": "~s" if high >= 1000 else "~g",
                    "labelOverlap": "greedy",
                    "labelSeparation": 4,
                },
            },
            "x2": {"field": "x2"},
            "y": {
                "field": "y",
                "type": "quantitative",
                "scale": {"type": "sqrt" if frame.root else "linear", "domain": [0, top], "nice": False},
                "title": f"{frame.counted} (square-root scale)" if frame.root and frame.height > 140 else frame.counted,
                "axis": {"labelExpr": "format(datum.value, '~s')", "tickCount": 4, "tickMinStep": 1},
            },
            "y2": {"field": "y2"},
            "color": _colours(names),
            "tooltip": [{"field": key, "type": "nominal", "title": title or " "} for key, title in fields],
        },
    }


def _open_end_layer(end: float, words: str, lowered: bool) -> dict[str, Any]:
    """The words at the right end of the axis; lowered: below those of a mark that is near."""
    mark = {"type": "text", "align": "right", "baseline": "top", "dy": 3 + WORD_HEIGHT * lowered, "dx": -2}
    x = {"field": "v", "type": "quantitative"}
    return {
        "data": {"values": [{"v": end, "t": words}]},
        "mark": mark | {"color": "var(--soft)"},
        "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "t"}},
    }


def _mark_layer(mark: Mark, at: float, y: int, ends_of_line: Mapping[str, Any]) -> dict[str, Any]:
    """A vertical line and its words, which are `y` pixels from the top.

    at   where the mark is on the horizontal axis, 0 to 1
    """
    value, words, css = mark
    colour, weight = ("var(--ink)", 600) if css == "bound" else ("var(--soft)", 400)
    x = {"field": "v", "type": "quantitative"}
    is_right = at > 0.5
    text: dict[str, Any] = {
        "type": "text",
        "align": "right" if is_right else "left",
        "dx": {"expr": _inside(words, at, is_right)},
    }
    text |= {"baseline": "top", "color": colour, "fontWeight": weight, "clip": True}
    return {
        "data": {"values": [{"v": value, "t": words}]},
        "layer": [
            {
                "mark": {"type": "rule", "color": colour, "strokeDash": [3, 3], "clip": True},
                "encoding": {"x": x, **ends_of_line},
            },
            {"mark": text, "encoding": {"x": x, "y": {"value": y}, "text": {"field": "t"}}},
        ],
    }


def _colours(names: Sequence[str]) -> dict[str, Any]:
    scale = {"domain": list(names), "range": [SERIES_COLOURS[name] for name in names]}
    return {"field": "s", "type": "nominal", "legend": None, "scale": scale}


def _inside(words: str, position: float, right: bool) -> str:
    """How far the words of a mark are moved, in pixels: beside its line, or over it as far as they would be cut."""
    space = position if right else 1 - position
    over = f"max(0, {_length(words):g} - {space:.4f} * width)"
    return f"{over} - 4" if right else f"4 - {over}"


def _length(words: str) -> float:
    """Of words in a chart, in pixels, about."""
    return WORD_HEIGHT / 2 * len(words)


WORD_HEIGHT = 14  # pixels; a letter is half as wide
PHONE_WIDTH = 270  # pixels: a chart on a phone
BRUSH_EVENTS = "[pointerdown[!event.shiftKey], window:pointerup] > window:pointermove!"
MOVE_EVENTS = "[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!"
WHEEL_EVENTS = "wheel![event.shiftKey || event.ctrlKey]"  # without a key the page scrolls
