"""Charts that one can point at, zoom, select in and save: Vega-Lite specifications with their bins inline, which the
page's script draws in place of the SVG that they hold. On paper, in a notebook and without scripts that SVG stays.

Colours are names of the page's style, `var(--kept)`: the script puts the values of light or dark there.
"""

import json
from collections.abc import Mapping, Sequence
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
}
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
) -> Html:
    """A chart of stacked bars, as `svg.histogram`.

    axis   words below the horizontal axis; `unit` if not given
    """
    still = svg.histogram(data, label=label, unit=unit, bound=bound, height=height, root=root)
    marks = [] if bound is None else [(bound, f"threshold {short(bound)}", "bound")]
    return _chart(still, _spec(data, _stacked(data), marks, axis or unit, height, root), unit, label)


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


def _chart(still: Html, spec: Mapping[str, Any], unit: str, label: str) -> Html:
    written = json.dumps(spec, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    inside = tag("div", still, class_="still")
    return tag("div", inside, class_="vega", data_chart=written, data_unit=unit, data_label=label)


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
) -> dict[str, Any]:
    drawn = _drawn(data)
    low, high = drawn[0][0], drawn[-1][1]
    x_scale: dict[str, Any] = {"type": "log" if data.log else "linear", "domain": [low, high], "nice": False}
    names = list(data.counts)
    room = max(bar["y2"] for bar in bars) * (1.4 if root else 1.18) if bars else 1  # for labels above the bars
    open_end = data.is_open
    fields = [("b", axis), ("s", ""), ("n", "documents")]
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
                    "axis": {"grid": False, "format": "~s" if high >= 1000 else "~g", "labelOverlap": True},
                },
                "x2": {"field": "x2"},
                "y": {
                    "field": "y",
                    "type": "quantitative",
                    "scale": {"type": "sqrt" if root else "linear", "domain": [0, room], "nice": False},
                    "title": "documents (square-root scale)" if root and height > 140 else "documents",
                    "axis": {"labelExpr": "format(datum.value, '~s')", "tickCount": 4},
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
    if open_end:
        # The last bin holds all that is larger: its width on the axis says nothing.
        end: dict[str, Any] = {"v": drawn[-1][1], "t": f"≥ {short(data.edges[-2])} →"}
        layers.append(
            {
                "data": {"values": [end]},
                "mark": {
                    "type": "text",
                    "align": "right",
                    "baseline": "top",
                    "dy": 3,
                    "dx": -2,
                    "color": "var(--soft)",
                },
                "encoding": {"x": {"field": "v", "type": "quantitative"}, "y": {"value": 0}, "text": {"field": "t"}},
            }
        )
    shown = [(value, words, css) for value, words, css in marks if low <= value <= high]
    for row, (value, words, css) in enumerate(shown):
        right = svg.position(value, low, high, data.log) > 0.5
        colour = "var(--ink)" if css == "bound" else "var(--soft)"
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
                        "encoding": {"x": there},
                    },
                    {
                        "mark": {**text, "color": colour, "fontWeight": 600 if css == "bound" else 400, "clip": True},
                        "encoding": {"x": there, "y": {"value": 2 + 14 * row}, "text": {"field": "t"}},
                    },
                ],
            }
        )
    return {"data": {"values": list(bars)}, "height": height, "layer": layers}


BRUSH = "[pointerdown[!event.shiftKey], window:pointerup] > window:pointermove!"
MOVE = "[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!"
WHEEL = "wheel![event.shiftKey || event.ctrlKey]"  # without a key the page scrolls
