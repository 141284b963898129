"""Pictures of the pages that people open in a browser: `make screenshots` writes them to build/screenshots.

    python scripts/page_pictures.py [--out build/screenshots] [--only inspect]

The report and the inspector, each view as wide as a desk and as a phone, in light and in dark:
NAME-WIDTH-SCHEME-NN.png, a page in pieces of a screen each, to be looked at. Those that the docs show go to
docs/screenshots as well. Needs Playwright, and a Chromium that is installed (Debian: apt install chromium).
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "screenshots"
COMMAND = [sys.executable, "-m", "corpusmill.cli"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = {"desk": (1280, 900), "phone": (390, 844)}  # pixels
SCHEMES = ("light", "dark")
PIECE = {"desk": 1300, "phone": 1700}  # pixels of height
IN_DOCS = {"report": 960, "inspect-thresholds": 1000}  # view: pixels of height of its picture in the docs
INSPECT = (  # name of the view, its address, what is there once it is shown
    ("documents", "documents", "table.list tbody tr"),
    ("kept", "documents?outcome=kept&sort=tokens", "table.list tbody tr"),
    ("dropped", "documents?reason=gopher_repetition.max_duplicate_lines", "table.list tbody tr"),
    ("duplicate", "documents?reason=minhash.near_copy", "table.list tbody tr"),
    ("thresholds", "thresholds", ".slider"),
    ("trace", "trace", "form"),
    ("review", "review", ".text"),
    ("agreement", "review", ".text"),
)
MOVED = ("gopher_quality.min_words", 30)  # a rule, and how many steps its slider is moved
NAMES = {"report": "report.png", "inspect-thresholds": "inspect.png"}


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screenshots")
    parser.add_argument("--only", default="", help="views whose name begins so")
    parser.add_argument("--run", type=Path, help="a finished run, instead of the demo, which is run for it")
    options = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"there is none of {', '.join(BROWSERS)}")
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = options.run or Path(folder) / "runs" / "demo"
        if options.run is None:
            subprocess.run([*COMMAND, "demo"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        with served(run) as address:
            for width, (wide, high) in WIDTHS.items():
                for scheme in SCHEMES:
                    size = {"width": wide, "height": high}
                    page = chromium.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
                    for name in views(page, run, address, options.only):
                        taken(page, options.out, f"{name}-{width}-{scheme}", PIECE[width])
                        if name in IN_DOCS and (width, scheme) == ("desk", "light"):
                            clip = {"x": 0, "y": 0, "width": wide, "height": IN_DOCS[name]}
                            page.screenshot(path=DOCS / NAMES[name], clip=clip, full_page=True)
                    page.close()
    print(f"{len(list(options.out.iterdir()))} pictures in {options.out}")


@contextmanager
def served(run: Path) -> Iterator[str]:
    """The address of an inspector of a run."""
    run = run.resolve()  # named below its own folders, so that a picture shows no path of this machine
    command = [*COMMAND, "inspect", f"{run.parent.name}/{run.name}", "--no-browser"]
    with subprocess.Popen(command, cwd=run.parents[1], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.terminate()


def views(page: Any, run: Path, address: str, only: str) -> Iterator[str]:
    """The name of each view once the page shows it."""
    if "report".startswith(only) or only.startswith("report"):
        page.goto((run / "report.html").resolve().as_uri())
        whole(page)
        yield "report"
    for name, at, ready in INSPECT:
        if not f"inspect-{name}".startswith(only):
            continue
        page.goto("about:blank")
        page.goto(f"{address}#{at}")
        page.wait_for_selector(ready)
        if name in ("kept", "dropped", "duplicate"):
            page.click("table.list a")
            page.wait_for_selector(".columns")
        if name == "duplicate":
            page.click("text=Compare with the kept document")
            page.wait_for_selector(".columns.even")
        if name == "thresholds":
            move(page, *MOVED)
        if name == "trace":
            page.fill("form[aria-label='A training step'] [name=step]", "0")
            page.keyboard.press("Enter")
            page.wait_for_selector(".piece mark")
        if name == "agreement":
            for number in range(20):
                page.wait_for_selector(f"text={number + 1} of 20")
                page.keyboard.press("kdu"[number % 3])
            page.wait_for_selector("h2")
        yield f"inspect-{name}"


def move(page: Any, rule: str, steps: int) -> None:
    """Move a slider, and wait for the exact counts."""
    page.focus(f'[data-key="{rule}"] input[type=range]')
    for _ in range(abs(steps)):
        page.keyboard.press("ArrowRight" if steps > 0 else "ArrowLeft")
    page.wait_for_selector(".detail pre")
    page.evaluate("scrollTo(0, 0)")


def whole(page: Any) -> None:
    """Open what is folded, and go through the page: charts are drawn when they come into view."""
    page.evaluate("for (const each of document.querySelectorAll('section details')) each.open = false")
    height = page.evaluate("document.documentElement.scrollHeight")
    for y in range(0, height, 400):
        page.evaluate(f"scrollTo(0, {y})")
        page.wait_for_timeout(60)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)


def taken(page: Any, folder: Path, name: str, high: int) -> None:
    """Photograph a whole page, in pieces."""
    wide, height = page.viewport_size["width"], page.evaluate("document.documentElement.scrollHeight")
    for number, y in enumerate(range(0, height, high)):
        clip = {"x": 0, "y": y, "width": wide, "height": min(high, height - y)}
        page.screenshot(path=folder / f"{name}-{number:02d}.png", clip=clip, full_page=True)


if __name__ == "__main__":
    main()
