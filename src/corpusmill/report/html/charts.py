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

COLOURS = {
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
BAR, ROW = 13, 38  # pixels: a horizontal bar, and it with the words above it
HALF, BETWEEN = 8, 1  # pixels: one of two bars of a row, and between them
NARROW = 0.22  # of a bin's width, on either side, by which a series is narrower than the one before it
GAP = 0.04


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
    marks = [] if bound is None else [(bound, f"threshold {short(bound)}", "bound")]
    spec = _spec(data, _stacked(data), marks, axis or unit, height, root, counted)
    if ticks is not None:
        spec["layer"][0]["encoding"]["x"]["axis"]["values"] = list(ticks)
    return _chart(still, spec, unit, label, unknown)


def overlaid(
    data: Histogram,
    *,
    label: str,
    unit: str,
    axis: str | None = None,
    marks: Sequence[tuple[float, str, str]] = (),
    height: int = 170,
) -> HtmlText:
    """A chart in which each series has bars of its own, as `svg.overlaid`."""
    still = svg.overlaid(data, label=label, unit=unit, marks=marks, height=height)
    return _chart(still, _spec(data, _beside(data), marks, axis or unit, height, False), unit, label)


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
    most = max([sum(value for _, value, _ in row.parts) for row in rows] + [0.0]) or 1.0
    values, names = [], list(dict.fromkeys(series for row in rows for series, *_ in row.parts))
    for i, row in enumerate(rows):
        start = 0.0
        about: dict[str, str] = {series: words for series, _, words in row.parts}
        for series, value, _ in row.parts:
            if value:
                place = {"x": float(f"{start:.6g}"), "x2": float(f"{start + value:.6g}")}
                values.append({"i": i, "c": row.name, "s": series, "n": float(f"{value:.6g}"), **place, **about})
                start += value
    ticks = f"format(datum.value, '{'~s' if most >= 1000 else '~g'}') + '{unit}'"
    colours = {"domain": names, "range": [COLOURS[name] for name in names]}
    drawn = {
        "mark": {"type": "bar", "height": BAR, "yOffset": BAR - 4, "cornerRadius": 2, "minBandSize": 1},
        "encoding": {
            "y": _rows(len(rows)),
            "x": _along("x", most, axis, ticks),
            "x2": {"field": "x2"},
            "color": {"field": "s", "type": "nominal", "legend": None, "scale": colours},
            "tooltip": _told(names),
        },
    }
    layers = [drawn, *_words([(row.name, row.words, row.href or "") for row in rows])]
    return _chart(still, {"data": {"values": values}, "height": ROW * len(rows), "layer": layers}, unit, label)


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
    most = max([high for row in rows for *_, (_, high), _ in row.parts] + [0.01])
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
        y, below = _rows(len(rows)), BETWEEN + HALF // 2 + i * (HALF + BETWEEN)
        x = _along("n", most, axis, "format(datum.value, '~%')")
        mark = {"type": "bar", "height": HALF, "yOffset": below, "cornerRadius": 2, "color": COLOURS[name]}
        layers.append({**only, "mark": mark, "encoding": {"y": y, "x": x, "tooltip": _told(names)}})
        line = {"type": "rule", "yOffset": below, "color": "var(--ink)"}
        ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
        only = {"transform": [*only["transform"], {"filter": "datum.high > datum.low"}]}
        layers.append({**only, "mark": line, "encoding": {"y": y, **ends}})
    layers += _words([(row.name, row.words, "") for row in rows])
    return _chart(still, {"data": {"values": values}, "height": ROW * len(rows), "layer": layers}, "", label)


def _rows(count: int) -> dict[str, Any]:
    """The vertical axis of horizontal bars: a band per row."""
    scale = {"type": "band", "domain": list(range(count)), "paddingInner": 0, "paddingOuter": 0}
    return {"field": "i", "type": "nominal", "scale": scale, "axis": None, "sort": None}


def _along(field: str, most: float, title: str, ticks: str) -> dict[str, Any]:
    """The horizontal axis of horizontal bars, from 0 to `most`."""
    axis = {"labelExpr": ticks, "labelOverlap": True, "tickCount": 5, "labelFlush": True}
    scale = {"domain": [0, most], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "title": title, "axis": axis}


def _told(names: Sequence[str]) -> list[dict[str, str]]:
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
    written = json.dumps(spec, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    inside = tag("div", still, class_="still")
    about = {"data_unit": unit, "data_label": label, "data_unknown": unknown or None}
    return tag("div", inside, class_="vega", data_chart=written, **about)


Bar = dict[str, Any]  # l, r: edges of its bin; x, x2: of the bar; y, y2; s: series; n: documents; b: the bin in words


def _stacked(data: Histogram) -> list[Bar]:
    bars = []
    for i, (left, right) in enumerate(_drawn(data)):
        below = 0
        for name, counts in data.counts.items():
            if counts[i]:
                bars.append(_bar(data, i, (left, right), 0.0, name, counts[i]) | {"y": below, "y2": below + counts[i]})
                below += counts[i]
    return bars


def _beside(data: Histogram) -> list[Bar]:
    return [
        _bar(data, i, sides, GAP + NARROW * depth, name, counts[i]) | {"y": 0, "y2": counts[i]}
        for depth, (name, counts) in enumerate(data.counts.items())
        for i, sides in enumerate(_drawn(data))
        if counts[i]
    ]


def _bar(data: Histogram, i: int, sides: tuple[float, float], inset: float, name: str, count: int) -> Bar:
    left, right = sides
    if data.log:
        ratio = right / left
        x, x2 = left * ratio**inset, right / ratio**inset
    else:
        x, x2 = left + (right - left) * inset, right - (right - left) * inset
    place = {"l": left, "r": right, "x": x, "x2": x2}
    return {**{key: float(f"{value:.6g}") for key, value in place.items()}, "s": name, "n": count, "b": data.words(i)}


def _drawn(data: Histogram) -> list[tuple[float, float]]:
    """The sides of the bins on the page: a first bin that begins at 0 has a place on a logarithmic axis too."""
    edges = list(data.edges)
    if data.log and edges[0] <= 0:
        edges[0] = edges[1] * (edges[1] / edges[2] if len(edges) > 2 else 0.5)
    return list(pairwise(edges))


def _spec(
    data: Histogram,
    bars: Sequence[Bar],
    marks: Sequence[tuple[float, str, str]],
    axis: str,
    height: int,
    root: bool,
    counted: str = "documents",
) -> dict[str, Any]:
    drawn = _drawn(data)
    low, high = drawn[0][0], drawn[-1][1]
    x_scale: dict[str, Any] = {"type": "log" if data.log else "linear", "domain": [low, high], "nice": False}
    names = list(data.counts)
    room = max(bar["y2"] for bar in bars) * (1.4 if root else 1.18) if bars else 1  # for labels above the bars
    open_end = data.is_open
    fields = [("b", axis), ("s", ""), ("n", counted)]
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rect", "clip": True, "cursor": "crosshair"},
            "params": [
                {"name": "brush", "select": {"type": "interval", "encodings": ["x"], "on": BRUSH, "zoom": False}},
                {
                    "name": "zoom",
                    "bind": "scales",
                    "select": {"type": "interval", "encodings": ["x"], "on": MOVE, "translate": MOVE, "zoom": WHEEL},
                },
            ],
            "encoding": {
                "x": {
                    "field": "x",
                    "type": "quantitative",
                    "scale": x_scale,
                    "title": f"{axis} (log scale)" if data.log else axis,
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
                    "scale": {"type": "sqrt" if root else "linear", "domain": [0, room], "nice": False},
                    "title": f"{counted} (square-root scale)" if root and height > 140 else counted,
                    "axis": {"labelExpr": "format(datum.value, '~s')", "tickCount": 4, "tickMinStep": 1},
                },
                "y2": {"field": "y2"},
                "color": {
                    "field": "s",
                    "type": "nominal",
                    "legend": None,
                    "scale": {"domain": names, "range": [COLOURS[name] for name in names]},
                },
                "tooltip": [{"field": key, "type": "nominal", "title": title or " "} for key, title in fields],
            },
        }
    ]
    shown = [(value, words, css) for value, words, css in marks if low <= value <= high]
    places = [svg.position(value, low, high, data.log) for value, _, _ in shown]
    lowered = False
    if open_end:
        # The last bin holds all that is larger: its width on the axis says nothing.
        words = f"≥ {short(float(f'{data.edges[-2]:.3g}'))} →"
        ends = [
            place * NARROWEST + (_length(about) if place <= 0.5 else 0) for place, (_, about, _) in zip(places, shown)
        ]
        lowered = NARROWEST - max(ends, default=0.0) < _length(words)
        end: dict[str, Any] = {"v": drawn[-1][1], "t": words}
        layers.append(
            {
                "data": {"values": [end]},
                "mark": {
                    "type": "text",
                    "align": "right",
                    "baseline": "top",
                    "dy": 3 + WORD_HEIGHT * lowered,  # below the words of a mark that is near
                    "dx": -2,
                    "color": "var(--soft)",
                },
                "encoding": {"x": {"field": "v", "type": "quantitative"}, "y": {"value": 0}, "text": {"field": "t"}},
            }
        )
    for row, (value, words, css) in enumerate(shown):
        right = places[row] > 0.5
        colour = "var(--ink)" if css == "bound" else "var(--soft)"
        # A line through words that are not its own would make them unreadable.
        rows = len(shown) + lowered
        below = {"y": {"value": 2 + WORD_HEIGHT * rows}, "y2": {"value": height}} if rows > 1 else {}
        there: dict[str, Any] = {"field": "v", "type": "quantitative"}
        text: dict[str, Any] = {
            "type": "text",
            "align": "right" if right else "left",
            "dx": {"expr": _inside(words, places[row], right)},
            "baseline": "top",
        }
        layers.append(
            {
                "data": {"values": [{"v": value, "t": words}]},
                "layer": [
                    {
                        "mark": {"type": "rule", "color": colour, "strokeDash": [3, 3], "clip": True},
                        "encoding": {"x": there, **below},
                    },
                    {
                        "mark": {**text, "color": colour, "fontWeight": 600 if css == "bound" else 400, "clip": True},
                        "encoding": {"x": there, "y": {"value": 2 + WORD_HEIGHT * row}, "text": {"field": "t"}},
                    },
                ],
            }
        )
    return {"data": {"values": list(bars)}, "height": height, "layer": layers}


def _inside(words: str, place: float, right: bool) -> str:
    """How far the words of a mark are moved, in pixels: beside its line, or over it as far as they would be cut."""
    room = place if right else 1 - place
    over = f"max(0, {_length(words):g} - {room:.4f} * width)"
    return f"{over} - 4" if right else f"4 - {over}"


def _length(words: str) -> float:
    """Of words in a chart, in pixels, about."""
    return WORD_HEIGHT / 2 * len(words)


WORD_HEIGHT = 14  # pixels; a letter is half as wide
NARROWEST = 270  # pixels: a chart on a phone
BRUSH = "[pointerdown[!event.shiftKey], window:pointerup] > window:pointermove!"
MOVE = "[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!"
WHEEL = "wheel![event.shiftKey || event.ctrlKey]"  # without a key the page scrolls
