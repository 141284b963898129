"""The inspector in a browser: list, document, slider, review, as a person uses it. `make web` installs what it needs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from made_run import made_run

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; make web does")
pytest.importorskip("starlette", reason="the extra inspect is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = Path(shutil.copytree(made_run(), tmp_path_factory.mktemp("page") / "run"))
    command = [sys.executable, "-m", "corpusmill.cli", "inspect", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_list_document_slider_review(browser, address, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    troubles, asked = [], []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: troubles.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))

    def fits():
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.goto(address)
    page.wait_for_selector("table.list tbody tr")
    fits()
    page.fill("input[name=text]", "alert(2)")  # the hostile document
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("table.list tbody tr")).to_have_count(1)  # a wait for JavaScript would need eval
    page.click("table.list a")
    page.wait_for_selector(".text")
    assert (
        "<script>alert(1)</script>" in page.inner_text(".text")
        and page.query_selector(".text script, .text img") is None
    )
    fits()
    page.goto(f"{address}#thresholds")
    slider = '[data-key="gopher_quality.min_words"]'
    page.focus(f"{slider} input[type=range]")
    page.keyboard.press("Home")
    page.wait_for_selector(".detail pre")
    assert "newly kept" in page.inner_text(".detail") and "exact" in page.inner_text(".counts")
    assert page.query_selector_all(f"{slider} svg rect")
    seen = set()
    for key in ("Home", "ArrowRight", "ArrowRight", "PageUp", "End", "ArrowLeft"):  # the knob is below its line
        page.keyboard.press(key)
        seen.add(page.input_value(f"{slider} input[type=number]"))
        knob = float(page.input_value(f"{slider} input[type=range]")) / 1000
        line = float(page.get_attribute(f"{slider} line.threshold", "x1")) / 300
        assert knob == pytest.approx(line, abs=0.005), key
    assert len(seen) == 6, "keys go from value to value"
    fits()
    with page.expect_download() as saved:
        page.click("text=Save as recipe")
    assert saved.value.suggested_filename == "made.yaml"
    page.goto(f"{address}#trace")
    page.fill("form[aria-label='A training step'] [name=step]", "2")
    page.fill("form[aria-label='A training step'] [name=world]", "2")
    page.keyboard.press("Enter")
    page.wait_for_selector(".piece mark")
    assert page.inner_text(".traced b") == "Step 2, ranks 0 to 1: 16 rows of 64 tokens"
    fits()
    page.click("text=Rows after")
    sync_api.expect(page.locator("[aria-label=Rows] span").first).to_contain_text("Rows 9 to 16 of 16")
    page.click("h1")
    page.keyboard.press("n")
    sync_api.expect(page.locator(".traced b")).to_contain_text("Step 3,")
    own = page.inner_text(".piece mark").removesuffix("<|endoftext|>")
    page.click(".piece h3 a")
    sync_api.expect(page.locator(".text mark").first).to_have_text(own)
    page.click("dd a[href*=token]")  # and back, by the shard that its tokens are in
    sync_api.expect(page.locator(".piece")).to_have_count(1)
    assert page.inner_text(".traced b").startswith("Token ")
    fits()
    page.goto(f"{address}#review")
    page.wait_for_selector("[data-mark=keep]")
    page.keyboard.press("u")
    sync_api.expect(page.locator(".bar span").first).to_contain_text("2 of")
    fits()
    total = int(page.inner_text(".bar span").partition(" of ")[2])
    for number in range(2, total + 1):
        sync_api.expect(page.locator(".bar span").first).to_contain_text(f"{number} of")
        page.keyboard.press("k")
    sync_api.expect(page.locator("table").last).to_contain_text("Recall")
    assert re.search(r"pass-1\s+1 \(0\.\d+ to 1\)", page.locator("table").last.inner_text())  # all were called good
    fits()
    assert troubles == [] and all(url.startswith((address, "blob:")) for url in asked)
    page.close()
