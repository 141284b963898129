"""How long a browser takes to open the report of a run: until its event `load`, from disk, in headless Chromium.

    python -m benchmarks.speed.open_report RUN... [--rounds 5]

RUN is a finished run, as of the recipe that `python -m benchmarks.speed.inspect WORKLOAD --recipe` prints. Each time is
of a new process of the browser, which has nothing in its caches but what the system keeps of files. Needs Playwright
and a Chromium that is installed.
"""

import argparse
import os
import shutil
import time
from pathlib import Path
from statistics import median

from benchmarks.common import Figure, heading, row, table, verdict

OPEN, SIZE = 2.0, 10.0  # s, MB: what is wanted
WIDTHS = (1280, 390)  # pixels


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of finished runs")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    heading(", ".join(run.name for run in options.runs), "benchmarks.speed.open_report")
    table("run", "width", "MB", "median, s", "worst, s", "wanted, s")
    figures = []
    with sync_playwright() as playwright:
        for run in options.runs:
            page_file = (run / "report.html").resolve()
            megabytes = page_file.stat().st_size / 1e6
            figures.append(Figure(f"{run.name}, size", megabytes, "MB", SIZE, "below"))
            for width in WIDTHS:
                times = []
                for _ in range(options.rounds):
                    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                    page = browser.new_page(viewport={"width": width, "height": 900})
                    begun = time.perf_counter()
                    page.goto(page_file.as_uri(), wait_until="load")
                    times.append(time.perf_counter() - begun)
                    browser.close()
                row(run.name, width, f"{megabytes:.2f}", f"{median(times):.2f}", f"{max(times):.2f}", f"< {OPEN:g}")
                figures.append(Figure(f"{run.name}, {width} pixels, worst", max(times), "s", OPEN, "below"))
    print(f"\nLoad: {os.getloadavg()[0]:.1f}.\n")
    return verdict(figures)


if __name__ == "__main__":
    raise SystemExit(main())
