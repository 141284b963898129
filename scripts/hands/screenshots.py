"""Pictures for the docs, of what a user sees: `make screenshots` writes them to docs/screenshots.

Terminals are drawn as SVG; two of them play what happened. The notebook and the site of the docs (`make docs`) are
photographed by Chromium, if there is one; without it their pictures stay as they are. The report and the inspector are
in scripts/page_pictures.py.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from environment import NOTEBOOK, PLACE, ROOT, environment, wheel
from notebook_cells import CELLS, notebook_of
from picture import picture
from recording import frames, recording
from terminal import Prompt, Terminal
from test_2_own_data import LARGE, write_large

PICTURES = ROOT / "docs" / "screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAGE = "https://tramway-news.example/2024/10/moby-dick-chapter-126-the-life-buoy-page-2.html"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    user, notebook = commands("user", ()), commands("notebook", NOTEBOOK)
    with tempfile.TemporaryDirectory() as folder:
        desk = Path(folder)
        env = {**os.environ, "PATH": f"{notebook}:{os.environ['PATH']}"}
        subprocess.run([user / "corpusmill", "warm"], check=True, env=env)
        progress(user / "corpusmill", desk, env)
        demo(user / "corpusmill", desk, env)
        mistakes(user / "corpusmill", desk, env)
        env = {**env, "PATH": f"{user}:{env['PATH']}"}
        killed(desk, env)
        changed(desk, env)
        if browser := next(filter(None, map(shutil.which, BROWSERS)), None):
            executed(notebook, desk, env, browser)
            site = ROOT / "build" / "site" / "index.html"
            if site.exists():
                photograph(browser, site, PICTURES / "docs.png", 1280, 900)
        else:
            print(f"no picture of the notebook and the docs: there is none of {', '.join(BROWSERS)}")


def commands(name: str, packages: tuple[str, ...]) -> Path:
    """The commands of an environment as `make hands` left it, or of a new one."""
    place = PLACE / name / "bin"
    return place if (place / "corpusmill").exists() else environment(name, [f"{wheel()}[fast]", *packages])


def progress(command: Path, desk: Path, env: dict[str, str]) -> None:
    """A run in the middle of its first pass."""
    write_large(desk / "large.jsonl")
    (desk / "large.yaml").write_text(LARGE, "utf-8")
    with Terminal([command, "run", "large.yaml", "--workers", "2"], cwd=desk, env=env, rows=16) as shown:
        shown.wait(lambda: re.search(r"left|remaining", shown.screen()) is not None and "MB/s" in shown.screen())
        write("progress", shown, "corpusmill run large.yaml")


def demo(command: Path, desk: Path, env: dict[str, str]) -> None:
    """What the demo prints."""
    with Terminal([command, "demo"], cwd=desk, env=env, rows=64) as shown:
        assert shown.end() == 0
        write("demo", shown, "corpusmill demo")


def mistakes(command: Path, desk: Path, env: dict[str, str]) -> None:
    """A recipe with several mistakes."""
    (desk / "web.yaml").write_text(
        "read:\n  jsonl: {paths: large.jsonl, text: body}\nsteps:\n  - filter/langauge: {languages: [en]}\n"
        "  - filter/gopher_quality: {min_word: 30}\n  - dedup/minhash: {threshold: 8}\nwrite: [shard]\n",
        "utf-8",
    )
    with Terminal([command, "check", "web.yaml"], cwd=desk, env=env, rows=30) as shown:
        assert shown.end() == 2
        write("mistakes", shown, "corpusmill check web.yaml")


def killed(desk: Path, env: dict[str, str]) -> None:
    """A run that is killed, and goes on."""
    subprocess.run(["corpusmill", "new", "demo", "--force"], check=True, cwd=desk, env=env, capture_output=True)
    shutil.rmtree(desk / "runs" / "demo", ignore_errors=True)
    with Prompt(cwd=desk, env=env, rows=28) as shown:
        shown.type("corpusmill run demo.yaml --workers 1")
        shown.wait(lambda: re.search(r"pass-1.* [1-9]/\d+ units", shown.screen()) is not None)
        shown.kill(signal.SIGKILL)
        shown.done()
        shown.call("# That was kill -9, from elsewhere. The same command again:")
        shown.call("corpusmill run demo.yaml --workers 1")
        assert "1 stage already done" in shown.everything(), "it was too fast to be killed in its second stage"
        play("killed", shown, "A run that is killed and resumed")


def changed(desk: Path, env: dict[str, str]) -> None:
    """Why a page was dropped, what another threshold would keep, and the run with it."""
    with Prompt(cwd=desk, env=env, rows=34) as shown:
        shown.call(f"corpusmill explain runs/demo {PAGE} | grep -E 'outcome|FAIL'")
        shown.call("corpusmill what-if runs/demo --set c4.min_sentences=3")
        shown.call("corpusmill run demo.yaml --set c4.min_sentences=3")
        play("changed", shown, "explain, what-if, and the changed run")


def play(name: str, shown: Prompt, title: str) -> None:
    columns, rows = shown.display.columns, shown.display.lines
    seen = frames(shown.printed, columns, rows, shown.ended)
    (PICTURES / f"{name}.svg").write_text(recording(seen, columns, rows, title), "utf-8")


def write(name: str, shown: Terminal, title: str) -> None:
    (PICTURES / f"{name}.svg").write_text(picture(shown.display, title), "utf-8")


def executed(notebook: Path, desk: Path, env: dict[str, str], browser: str) -> None:
    """A notebook, executed, as a page."""
    (desk / "posts.ipynb").write_text(json.dumps(notebook_of(CELLS)), "utf-8")
    nbconvert = str(notebook / "jupyter-nbconvert")
    subprocess.run([nbconvert, "--to", "html", "--execute", "posts.ipynb"], cwd=desk, env=env, check=True)
    photograph(browser, desk / "posts.html", PICTURES / "notebook.png", 1000, 1300)


def photograph(browser: str, page: Path, to: Path, width: int, height: int) -> None:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}", f"--screenshot={to}"]
    subprocess.run([browser, *flags, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
