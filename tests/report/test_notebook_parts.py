"""Frames of a notebook, charts and their specifications, from plain values."""

import json
import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import InputError
from corpusmill.report.bins import Histogram
from corpusmill.report.html.charts import BarRow, PairRow, bars, histogram, overlaid, pairs
from corpusmill.report.html.markup import HtmlText, join, parted, table, tag
from corpusmill.report.notebook import histogram as notebook_histogram
from corpusmill.report.notebook import section
from corpusmill.report.notebook import table as notebook_table
from made_run import HOSTILE, made_run


def spec_of(chart):
    return json.loads(unescape(re.search('data-chart="([^"]*)"', chart)[1]))


counted = st.lists(st.integers(0, 30), min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(counted, counted, st.booleans())
def test_every_document_is_in_one_stacked_bar(kept, dropped, log):
    data = Histogram((0.0, 1.0, 2.0, 4.0), {"kept": tuple(kept), "dropped": tuple(dropped)}, log, 4.0)
    spec = spec_of(histogram(data, label="made", unit="words"))
    drawn = spec["data"]["values"]
    assert sum(bar["n"] for bar in drawn) == sum(kept) + sum(dropped)
    assert all(bar["y2"] - bar["y"] == bar["n"] and bar["x"] == bar["l"] < bar["r"] == bar["x2"] for bar in drawn)
    top = spec["layer"][0]["encoding"]["y"]["scale"]["domain"][1]
    assert top >= max((bar["y2"] for bar in drawn), default=0)
    assert spec["layer"][0]["encoding"]["x"]["scale"]["type"] == ("log" if log else "linear")


@settings(max_examples=40, deadline=None)
@given(counted, counted, st.booleans())
def test_series_side_by_side_begin_at_zero_inside_their_bin(before, after, log):
    data = Histogram((1.0, 2.0, 4.0, 8.0), {"input": tuple(before), "output": tuple(after)}, log, 8.0)
    for bar in spec_of(overlaid(data, label="made", unit="words"))["data"]["values"]:
        assert bar["y"] == 0 and bar["y2"] == bar["n"] and bar["l"] < bar["x"] < bar["x2"] < bar["r"]


def test_a_threshold_is_a_line_with_its_words():
    data = Histogram((0.0, 10.0, 20.0), {"pass": (1, 0), "fail": (0, 2)}, False, 20.0)
    spec = spec_of(histogram(data, label="made", unit="words", bound=10.0, root=True))
    (mark,) = spec["layer"][1:]
    assert mark["data"]["values"] == [{"v": 10.0, "t": "threshold 10"}]
    line, words = mark["layer"]
    assert line["mark"]["color"] == words["mark"]["color"] == "var(--ink)" and words["mark"]["fontWeight"] == 600
    assert spec["layer"][0]["encoding"]["y"]["scale"]["type"] == "sqrt"
    assert spec["layer"][0]["encoding"]["y"]["title"] == "documents (square-root scale)"


def test_the_words_of_marks_are_below_one_another_and_lines_below_all_words():
    data = Histogram((0.0, 10.0, 20.0), {"input": (1, 1)}, False, 20.0)
    marks = [(5.0, "first", "mean"), (6.0, "second", "bound"), (99.0, "outside", "mean")]
    layers = spec_of(overlaid(data, label="made", unit="words", marks=marks))["layer"][1:]
    assert [layer["data"]["values"][0]["t"] for layer in layers] == ["first", "second"]
    heights = [layer["layer"][1]["encoding"]["y"]["value"] for layer in layers]
    assert heights == sorted(set(heights))
    assert all(layer["layer"][0]["encoding"]["y"]["value"] > max(heights) for layer in layers)


def test_ticks_can_be_chosen():
    data = Histogram((1.0, 2.0, 4.0), {"clusters": (1, 1)}, True, 4.0)
    chart = histogram(data, label="made", unit="documents", counted="clusters", ticks=(1.0, 2.0))
    encoding = spec_of(chart)["layer"][0]["encoding"]
    assert encoding["x"]["axis"]["values"] == [1.0, 2.0] and encoding["y"]["title"] == "clusters"


def test_charts_of_nothing_are_charts():
    assert spec_of(bars(tag("p"), [], label="made", axis="documents"))["data"]["values"] == []
    assert spec_of(pairs(tag("p"), [], label="made", axis="share"))["data"]["values"] == []
    empty = Histogram((0.0, 1.0), {"kept": (0,)}, False, 0.0)
    assert spec_of(histogram(empty, label="made", unit="words"))["data"]["values"] == []


def test_hostile_names_stay_words_of_a_chart():
    rows = [BarRow(HOSTILE, [("kept", 1, HOSTILE)], HOSTILE, "#x")]
    chart = bars(tag("p", HOSTILE), rows, label=HOSTILE, axis=HOSTILE)
    assert "<script" not in chart and "<img" not in chart
    assert spec_of(chart)["data"]["values"][0]["kept"].startswith("<script>")
    shares = [PairRow(HOSTILE, [("input", 0.5, (0.4, 0.6), HOSTILE)], HOSTILE)]
    assert "<script" not in pairs(tag("p"), shares, label=HOSTILE, axis="share")


def test_a_frame_holds_a_section_and_no_script():
    frame = section(made_run(), "flow")._repr_html_()
    inside = unescape(re.search('srcdoc="([^"]*)"', frame)[1])
    assert frame.startswith("<iframe sandbox") and "<script" not in inside and "default-src 'none'" in unescape(inside)
    assert "gopher_quality" in inside


@pytest.mark.parametrize("name", ["rights", "training", "mix", "languages"])
def test_a_section_without_anything_says_so(name):
    with pytest.raises(InputError, match=f'nothing under "{name}"'):
        section(made_run(), name)


def test_a_section_that_is_unknown_is_answered_with_the_nearest():
    with pytest.raises(InputError, match='no section "flw"; did you mean "flow"'):
        section(made_run(), "flw")


def test_a_histogram_of_a_notebook_takes_two_series():
    inline = notebook_histogram({"kept": [1, 2, 3], "dropped": [100]}, label="made", unit="words")
    assert "<svg" in inline._repr_html_() or "&lt;svg" in inline._repr_html_()
    with pytest.raises(InputError, match='the series "kept" and "dropped", not other'):
        notebook_histogram({"other": [1]}, label="made", unit="words")
    with pytest.raises(InputError, match="made: there are no values"):
        notebook_histogram({"kept": []}, label="made", unit="words")


def test_a_table_of_a_notebook_shows_what_its_cells_hold():
    inside = unescape(notebook_table(["name", "count"], [[HOSTILE, 1234]])._repr_html_())
    assert "1,234" in inside and "<script>alert" not in inside


@given(st.lists(st.text(max_size=20), max_size=5))
def test_joined_parts_are_their_texts(parts):
    assert unescape(join(parts, "|")) == unescape(join(["|".join(parts)]))
    assert isinstance(join(parts), HtmlText)


def test_an_identifier_can_be_broken_and_is_escaped():
    assert parted("c4.min_words") == "c4.<wbr>min_<wbr>words" and parted("a_") == "a_"
    assert "<script" not in parted("<script>_x")


@pytest.mark.parametrize("columns, css", [(4, "wide"), (5, "wide many")])
def test_a_wide_table_names_its_cells_for_a_phone(columns, css):
    head = [f"head {i}" for i in range(columns)]
    shown = table(head, [["x"] * columns])
    assert f'class="{css}"' in shown and ('data-head="head 1"' in shown) == (columns > 4)
    assert shown.count("<td") == shown.count("<th ") == columns


def test_an_empty_table_has_its_head():
    shown = table(["a"], [])
    assert shown.count("<th ") == 1 and "<td" not in shown


def test_attributes_are_written_as_html_has_them():
    assert (
        tag("a", "x", href="#y", data_x=1, hidden=False, title=None, for_="z")
        == '<a href="#y" data-x="1" for="z">x</a>'
    )
    assert tag("input", checked=True) == "<input checked/>"
