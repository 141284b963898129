"""Charts without scripts: what is drawn is what was counted, whatever the names are."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.report.bins import Histogram, octaves
from corpusmill.report.html.svg import bar, histogram, legend, overlaid, position, two_bars
from made_run import HOSTILE


class Elements(HTMLParser):
    """What is drawn: rectangles with their class, lines and words."""

    def __init__(self, text):
        super().__init__()
        self.rects: list[Any] = []
        self.lines: list[Any] = []
        self.words: list[str] = []
        self.titles: list[str] = []
        self._inside: list[Any] = []
        self.feed(text)
        self.close()
        assert not self._inside

    def handle_starttag(self, element, attributes):
        values = dict(attributes)
        if element == "rect":
            self.rects.append((self._inside[-1][1], values))
        elif element == "line":
            self.lines.append(values)
        else:
            self._inside.append((element, values.get("class")))

    def handle_startendtag(self, element, attributes):
        self.handle_starttag(element, attributes)
        assert element in ("rect", "line")

    def handle_endtag(self, element):
        assert self._inside.pop()[0] == element

    def handle_data(self, data):
        if self._inside and self._inside[-1][0] == "title":
            self.titles.append(data)
        elif data.strip():
            self.words.append(data)


def percent(value):
    assert value.endswith("%")
    return float(value[:-1])


counted = st.lists(st.integers(0, 50), min_size=4, max_size=4)


@settings(max_examples=40, deadline=None)
@given(counted, counted, st.booleans(), st.floats(-1, 40))
def test_every_bin_with_documents_is_a_bar_inside_the_chart(kept, dropped, log, bound):
    data = Histogram((0.0, 1.0, 2.0, 4.0, 8.0), {"kept": tuple(kept), "dropped": tuple(dropped)}, log, 8.0)
    drawn = Elements(histogram(data, label="made", unit="words", bound=bound))
    assert len(drawn.rects) == sum(count > 0 for count in (*kept, *dropped))
    for name, rect in drawn.rects:
        assert name in ("kept", "dropped")
        assert 0 <= percent(rect["x"]) <= 100 and percent(rect["x"]) + percent(rect["width"]) <= 100.11
        assert float(rect["height"]) >= 1 and float(rect["y"]) + float(rect["height"]) <= 150.5
    bounds = [line for line in drawn.lines if line.get("class") == "bound"]
    assert len(bounds) == (0 <= bound <= 8)
    assert len(drawn.titles) == 1 + len(drawn.rects)


def test_bars_of_a_bin_are_stacked_and_as_tall_as_their_counts():
    data = Histogram((0.0, 1.0, 2.0), {"kept": (10, 5), "dropped": (10, 0)}, False, 2.0)
    drawn = Elements(histogram(data, label="made", unit="words", height=170))
    (_, first), (_, second), (_, third) = drawn.rects
    assert float(first["height"]) == float(second["height"]) == pytest.approx(66, abs=0.1)
    assert float(second["y"]) == pytest.approx(float(first["y"]) - 66, abs=0.2)
    assert float(third["height"]) == pytest.approx(33, abs=0.1)


def test_on_a_square_root_scale_a_quarter_is_half_as_tall():
    data = Histogram((0.0, 1.0, 2.0), {"kept": (100, 25)}, False, 2.0)
    drawn = Elements(histogram(data, label="made", unit="words", root=True))
    heights = [float(rect["height"]) for _, rect in drawn.rects]
    assert heights[1] == pytest.approx(heights[0] / 2, abs=0.1)


def test_an_open_end_is_named_and_a_closed_one_is_not():
    counts = {"kept": (1, 2)}
    assert "≥ 1 →" in histogram(Histogram((0.0, 1.0, 2.0), counts, False, 9.0), label="made", unit="words")
    assert "→" not in histogram(Histogram((0.0, 1.0, 2.0), counts, False, 2.0), label="made", unit="words")


def test_a_chart_of_nothing_has_no_bars():
    data = Histogram((0.0, 1.0), {"kept": (0,)}, False, 0.0)
    assert Elements(histogram(data, label="made", unit="words")).rects == []
    assert Elements(overlaid(data, label="made", unit="words")).rects == []


def test_series_side_by_side_are_each_as_tall_as_their_count():
    data = Histogram((1.0, 2.0, 4.0), {"input": (8, 4), "output": (4, 0)}, True, 4.0)
    drawn = Elements(overlaid(data, label="made", unit="words", marks=[(2.0, "input mean 2", "mean")]))
    by_name: dict[str, list[tuple[float, float]]] = {}
    for name, rect in drawn.rects:
        by_name.setdefault(name, []).append((float(rect["height"]), percent(rect["width"])))
    (full, wide), (half, _) = by_name["input"]
    ((own, narrow),) = by_name["output"]
    assert half == pytest.approx(full / 2, abs=0.1) and own == pytest.approx(full / 2, abs=0.1)
    assert narrow < wide
    assert "input mean 2" in drawn.words


def test_marks_outside_the_axis_are_left_out():
    data = Histogram((1.0, 2.0, 4.0), {"input": (1, 1)}, True, 4.0)
    drawn = Elements(overlaid(data, label="made", unit="words", marks=[(0.5, "low", "mean"), (9.0, "high", "mean")]))
    assert "low" not in drawn.words and "high" not in drawn.words


def test_the_parts_of_a_bar_lie_end_to_end():
    drawn = Elements(bar([(30, "kept", "30 kept"), (0, "dropped", "none"), (20, "failed", "20 failed")], "made"))
    (_, first), (_, second) = drawn.rects
    assert percent(first["x"]) == 0 and percent(second["x"]) == 30 == percent(first["width"])
    assert drawn.titles == ["30 kept", "20 failed"]


def test_an_interval_of_one_point_has_no_line():
    rows = [(50.0, (40.0, 60.0), "input", "a"), (20.0, (20.0, 20.0), "output", "b")]
    drawn = Elements(two_bars(rows, "made"))
    assert len(drawn.rects) == 2 and len(drawn.lines) == 1
    assert (percent(drawn.lines[0]["x1"]), percent(drawn.lines[0]["x2"])) == (40, 60)


@pytest.mark.parametrize("draw", [bar, legend, histogram, overlaid, two_bars])
def test_hostile_names_are_words(draw):
    data = Histogram((0.0, 1.0), {HOSTILE: (3,)}, False, 1.0)
    text = {
        bar: lambda: bar([(1, HOSTILE, HOSTILE)], HOSTILE),
        legend: lambda: legend({"kept": HOSTILE}),
        histogram: lambda: histogram(data, label=HOSTILE, unit=HOSTILE),
        overlaid: lambda: overlaid(data, label=HOSTILE, unit=HOSTILE, marks=[(0.5, HOSTILE, HOSTILE)]),
        two_bars: lambda: two_bars([(1.0, (0.0, 2.0), HOSTILE, HOSTILE)], HOSTILE),
    }[draw]()
    assert "<script" not in text and "<img" not in text and "</style" not in text and "\x1b" not in text
    assert set(re.findall(r"<(\w+)", text)) <= {"svg", "g", "title", "rect", "line", "text", "p", "span", "i"}


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.floats(0, 1), st.booleans())
def test_a_position_is_between_its_ends(a, b, part, log):
    low, high = min(a, b), max(a, b) + 1
    value = low + (high - low) * part
    at = position(value, low, high, log)
    assert -1e-9 <= at <= 1 + 1e-9
    assert position(low, low, high, log) == 0 and position(high, low, high, log) == pytest.approx(1)


@given(st.integers(0, 2**40))
def test_octaves_reach_past_their_limit(limit):
    edges = octaves(limit)
    assert edges[-1] > limit and all(edge == int(edge) for edge in edges)
    assert list(edges) == sorted(set(edges))
