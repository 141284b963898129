"""The charts of the report: what they hold, and in a browser, under the page's own policy. `make web` installs that."""

import json
import re
import shutil
from html import unescape

import pytest

from corpusmill.report.bins import Histogram
from corpusmill.report.html.charts import BarRow, PairRow, bars, histogram, pairs
from corpusmill.report.html.markup import tag
from corpusmill.report.page import write_page
from made_run import made_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def spec_of(chart):
    return json.loads(unescape(re.search('data-chart="([^"]*)"', chart)[1]))


def test_a_chart_holds_its_bins_and_marks_an_open_end():
    data = Histogram((0.0, 1.0, 2.0, 4.0), {"kept": (0, 5, 1), "dropped": (2, 1, 0)}, True, 9.0)
    chart = histogram(data, label="made", unit="words", axis="words per document")
    spec = spec_of(chart)
    bars = spec["data"]["values"]
    assert [(bar["s"], bar["n"], bar["y"], bar["y2"], bar["b"]) for bar in bars] == [
        ("dropped", 2, 0, 2, "0 to 1"),
        ("kept", 5, 0, 5, "1 to 2"),
        ("dropped", 1, 5, 6, "1 to 2"),
        ("kept", 1, 0, 1, "2 or more"),
    ]
    assert bars[0]["l"] == 0.5  # on a logarithmic axis 0 has no place
    assert spec["layer"][0]["encoding"]["x"]["title"] == "words per document (log scale)"
    assert [layer["data"]["values"][0]["t"] for layer in spec["layer"][1:]] == ["≥ 2 →"]
    assert chart.count("<svg") == 1 and "≥ 2 →" in chart.partition("<svg")[2]


def test_what_is_in_no_bin_is_said_beside_the_chart():
    data = Histogram((0.0, 1.0), {"kept": (5,)}, False, 1.0)
    assert "data-unknown" not in histogram(data, label="made", unit="words")
    assert 'data-unknown="7"' in histogram(data, label="made", unit="words", unknown=7)


def test_horizontal_bars_lie_end_to_end_with_their_words_and_links():
    rows = [
        BarRow("first", [("kept", 60, "60"), ("removed", 40, "40")], "60 · 60 %", "#step-first"),
        BarRow("second", [("kept", 60, "60"), ("removed", 0, "0")], "60 · 60 %"),
    ]
    chart = bars(tag("p", "still"), rows, label="made", axis="documents")
    spec = spec_of(chart)
    assert [(bar["c"], bar["s"], bar["x"], bar["x2"], bar["kept"]) for bar in spec["data"]["values"]] == [
        ("first", "kept", 0, 60, "60"),
        ("first", "removed", 60, 100, "60"),
        ("second", "kept", 0, 60, "60"),
    ]
    links, names, words = (layer["data"]["values"] for layer in spec["layer"][1:])
    assert [one["h"] for one in links] == ["#step-first"] and [one["c"] for one in names] == ["second"]
    assert [one["w"] for one in words] == ["60 · 60 %"] * 2
    assert spec["layer"][0]["encoding"]["x"]["title"] == "documents" and "<p>still</p>" in chart


def test_shares_lie_below_each_other_with_their_intervals():
    sides = [("input", 0.25, (0.2, 0.3), "25 % (5 of 20)"), ("output", 0.1, (0.1, 0.1), "10 % (1 of 10)")]
    chart = pairs(tag("p", "still"), [PairRow("fr", sides, "25 % → 10 %")], label="made", axis="share of documents")
    spec = spec_of(chart)
    assert [(one["c"], one["s"], one["n"], one["low"], one["high"]) for one in spec["data"]["values"]] == [
        ("fr", "input", 0.25, 0.2, 0.3),
        ("fr", "output", 0.1, 0.1, 0.1),
    ]
    assert {one["input"] for one in spec["data"]["values"]} == {"25 % (5 of 20)"}
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks == ["bar", "rule", "bar", "rule", "text", "text"]
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, 0.3] and "<p>still</p>" in chart


def test_the_page_in_a_browser(tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; make web does")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    address = f"file://{write_page(shutil.copytree(made_run(), tmp_path / 'run'))}"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for width, scheme in ((1280, "light"), (390, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            troubles: list[str] = []
            page.on("console", lambda message, troubles=troubles: troubles.append(message.text))
            page.on("pageerror", lambda error, troubles=troubles: troubles.append(str(error)))
            page.goto(address)
            chart = page.locator("#lengths .vega").first
            chart.scroll_into_view_if_needed()
            canvas = chart.locator("canvas")
            canvas.wait_for()
            assert not chart.locator(".still").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            box = canvas.bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] - 5, box["y"] + 60, steps=4)
            page.mouse.up()
            sync_api.expect(chart.locator(".selected")).to_contain_text(" kept")
            with page.expect_download() as saved:
                chart.get_by_text("CSV").click()
            assert saved.value.suggested_filename.endswith(".csv")
            page.fill("input.search", "alert(2)")
            sync_api.expect(page.locator("output")).to_contain_text("1 of ")
            if width > 640:
                head = page.locator("#flow th", has_text="documents in")
                head.click()
                assert page.locator("#flow tbody tr td").first.inner_text() == "gopher_quality"
                assert head.get_attribute("aria-sort") == "descending"
            steps = page.locator("#flow .documents canvas")
            steps.scroll_into_view_if_needed()
            steps.click(position={"x": 40, "y": 17})
            sync_api.expect(page).to_have_url(f"{address}#step-gopher_quality")
            bar, field = (page.locator(name).bounding_box() for name in (".bar-top nav", "input.search"))
            assert bar["x"] + bar["width"] <= field["x"] or bar["y"] + bar["height"] <= field["y"]
            page.emulate_media(media="print")
            assert chart.locator(".still").is_visible() and not canvas.is_visible()
            assert troubles == []
        browser.close()
