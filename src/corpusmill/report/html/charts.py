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
from corpusmill.report.html.markup import Html, tag
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
) -> Html:
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
) -> Html:
    """A chart in which each series has bars of its own, as `svg.overlaid`."""
    still = svg.overlaid(data, label=label, unit=unit, marks=marks, height=height)
    return _chart(still, _spec(data, _beside(data), marks, axis or unit, height, False), unit, label)


@dataclass(frozen=True)
class Row:
    """A row of `bars`.

    parts   (series, value, the value in words), from left to right
    words   to the right above the bar
    href    where a click on the name leads
    """

    name: str
    parts: Sequence[tuple[str, float, str]]
    words: str
    href: str | None = None


def bars(still: Html, rows: Sequence[Row], *, label: str, axis: str, unit: str = "") -> Html:
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
    places: dict[str, Any] = {"type": "band", "domain": list(range(len(rows))), "paddingInner": 0, "paddingOuter": 0}
    y = {"field": "i", "type": "nominal", "scale": places, "axis": None, "sort": None}
    heads = [{"i": i, "c": row.name, "w": row.words, "h": row.href or ""} for i, row in enumerate(rows)]
    above = {"type": "text", "baseline": "bottom", "dy": -1, "fontSize": 12.5}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "height": BAR, "yOffset": BAR - 4, "cornerRadius": 2, "minBandSize": 1},
            "encoding": {
                "y": y,
                "x": {
                    "field": "x",
                    "type": "quantitative",
                    "scale": {"domain": [0, most], "nice": False},
                    "title": axis,
                    "axis": {
                        "labelExpr": f"format(datum.value, '{'~s' if most >= 1000 else '~g'}') + '{unit}'",
                        "labelOverlap": True,
                        "tickCount": 5,
                        "labelFlush": True,
                    },
                },
                "x2": {"field": "x2"},
                "color": {
                    "field": "s",
                    "type": "nominal",
                    "legend": None,
                    "scale": {"domain": names, "range": [COLOURS[name] for name in names]},
                },
                "tooltip": [
                    {"field": "c", "type": "nominal", "title": " "},
                    *({"field": name, "type": "nominal", "title": name} for name in names),
                ],
            },
        },
        {
            "data": {"values": [head for head in heads if head["h"]]},
            "mark": {**above, "align": "left", "color": "var(--kept)"},
            "encoding": {"y": y, "x": {"value": 0}, "text": {"field": "c"}, "href": {"field": "h"}},
        },
        {
            "data": {"values": [head for head in heads if not head["h"]]},
            "mark": {**above, "align": "left", "color": "var(--ink)"},
            "encoding": {"y": y, "x": {"value": 0}, "text": {"field": "c"}},
        },
        {
            "data": {"values": heads},
            "mark": {**above, "align": "right", "color": "var(--soft)"},
            "encoding": {"y": y, "x": {"value": "width"}, "text": {"field": "w"}},
        },
    ]
    if not any(row.href for row in rows):
        layers.pop(1)
    if all(row.href for row in rows):
        layers.pop(-2)
    spec = {"data": {"values": values}, "height": ROW * len(rows), "layer": layers}
    return _chart(still, spec, unit, label)


def _chart(still: Html, spec: Mapping[str, Any], unit: str, label: str, unknown: int = 0) -> Html:
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
        lowered = (1 - max(places, default=0.0)) * NARROWEST < WORD_HEIGHT / 2 * len(words)
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
            "dx": -4 if right else 4,
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


WORD_HEIGHT = 14  # pixels; a letter is half as wide
NARROWEST = 270  # pixels: a chart on a phone
BRUSH = "[pointerdown[!event.shiftKey], window:pointerup] > window:pointermove!"
MOVE = "[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!"
WHEEL = "wheel![event.shiftKey || event.ctrlKey]"  # without a key the page scrolls
