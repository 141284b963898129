"""The figures of README and the start pages: python -m benchmarks.figures --workload DIR --peer PYTHON

What a newcomer meets, measured from a wheel in an environment and a home of its own: packages, megabytes, the first
demo, which compiles the kernels, and the second. Then the figures of benchmarks/quick.py, and the pipeline of
datatrove beside ours, on the slice of the workload. They are written into RESULTS.md and into the tables and sentences
of the pages; tests/test_figures.py says where these differ. It takes fifteen minutes on two cores on which nothing else
runs, and packages are installed from the network.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from benchmarks import quick
from benchmarks.calibration import calibrate
from benchmarks.common import MB, ROOT, Workload, commit, processor
from corpusmill.text import warming

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
BEGIN, END = "<!-- figures: written by `make figures` -->", "<!-- end of figures -->"
FAST = 34  # hundredths of a second
SHOWN = 4.0  # MB of a package that has a row of its own

# Name in quick.py -> what the pages call it.
SPEEDS = {
    "first pass, a crawl": "clean, language, all rules, personal data, keys of copies: 46 MB of text, two workers",
    "whole run, a crawl": "the whole run of them, to verified shards and the report",
    "whole run, no filters": "the same where every document is kept to the end",
    "whole run of 100 documents": "a whole run of 100 documents",
    "near copies, until decided": "near deduplication of the 26,577 documents, JSON Lines to verdicts",
    "tokens, GPT-2, one core": "tokens of GPT-2, one core",
    "loader, all fields, one core": "batches from the page cache, all fields, one core",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", type=Path, required=True)
    options = parser.parse_args()
    workload = Workload.open(options.workload)
    scratch = Path(tempfile.mkdtemp(prefix="corpusmill-"))
    try:
        loop = calibrate()
        installed, sizes, first = newcomer(scratch / "newcomer")
        warming.warm()
        (scratch / "quick").mkdir()
        measured = quick.rounds(workload.slice, scratch / "quick")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    speeds = {
        label: f"{median(reading.value for reading, _ in measured[name]):.3g} {measured[name][0][0].unit}"
        for name, label in SPEEDS.items()
    }
    pipelines = beside_datatrove(options.workload)
    print(pipelines)
    ratio = re.findall(r"\| datatrove, as it comes .*?\| ([0-9.]+) times", pipelines)[0]
    peer = {"a pipeline with the same rules and language model, 46 MB: datatrove 0.10 takes": f"{ratio} times as long"}
    slow = {f"the loop of `benchmarks/calibration.py`, which a fast core does in .{FAST:.0f} s": f"{loop.wall:.2f} s"}
    rows = {**slow, **speeds, **peer, **first}
    said = [
        f"At {commit()}, on {processor()}, {os.cpu_count()} cores. Medians of up to three rounds, the first demo and "
        "datatrove once.\n",
        *table("", rows),
        "",
        *table("installed from the wheel", installed | {f"{name}, MB": f"{size:.0f}" for name, size in sizes.items()}),
        "",
        pipelines,
    ]
    RESULTS.write_text(between(RESULTS.read_text("utf-8"), "\n".join(said)), "utf-8")
    readme = ROOT / "README.md"
    readme.write_text(between(readme.read_text("utf-8"), "\n".join(table("", rows))), "utf-8")
    return 0


def newcomer(scratch: Path) -> tuple[dict[str, str], dict[str, float], dict[str, str]]:
    """What is installed; package -> MB; and how long the first and second demo take."""
    wheels, environment, home = scratch / "wheels", scratch / "environment", scratch / "home"
    home.mkdir(parents=True)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(wheels), str(ROOT)]
    subprocess.run(build, check=True)
    (wheel,) = wheels.iterdir()
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    start = time.monotonic()
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", str(wheel)], check=True)
    took = time.monotonic() - start
    sizes = package_sizes(python)
    variables = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    variables.pop("CORPUSMILL_CACHE", None)
    demo = [str(environment / "bin" / "corpusmill"), "demo"]
    seconds = []
    for folder in ("first", "second"):
        (scratch / folder).mkdir()
        start = time.monotonic()
        subprocess.run(demo, cwd=scratch / folder, env=variables, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.monotonic() - start)
    installed = {
        "wheel, MB": f"{wheel.stat().st_size / MB:.1f}",
        "packages": str(len(sizes)),
        "MB in all": f"{sum(sizes.values()):.0f}",
        "pip install, s": f"{took:.0f}",
    }
    large = {name: size for name, size in sorted(sizes.items(), key=lambda item: -item[1]) if size >= SHOWN}
    first = {
        "`corpusmill demo` on a new machine, where the kernels are compiled first": f"{seconds[0]:.0f} s",
        "`corpusmill demo` from then on": f"{seconds[1]:.0f} s",
    }
    return installed, large, first


def package_sizes(python: str) -> dict[str, float]:
    """package -> MB of its files in an environment, compiled modules included, pip left out."""
    script = """
from importlib.metadata import distributions
from pathlib import Path
for one in distributions():
    paths = {Path(str(one.locate_file(file))) for file in one.files or ()}
    print(one.metadata["Name"], sum(path.stat().st_size for path in paths if path.is_file()))
"""
    done = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True)
    named = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    return {name: int(size) / MB for name, size in named.items() if name not in ("pip", "setuptools")}


def beside_datatrove(workload: Path) -> str:
    """The table and remarks of benchmarks/peers/pipelines.py."""
    command = [sys.executable, "-m", "benchmarks.peers.pipelines", "--workload", str(workload), "datatrove"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # 1: a bar is missed
    _, _, rest = done.stdout.partition("## whole pipelines")
    found, _, _ = f"## whole pipelines{rest}".partition("## What was wanted")
    return found.strip()


def table(heading: str, rows: Mapping[str, str]) -> list[str]:
    return [
        f"| {heading} | |".replace("|  |", "| |"),
        "|---|---:|",
        *(f"| {name} | {value} |" for name, value in rows.items()),
    ]


def between(page: str, text: str) -> str:
    """The page with this text between the marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"a page lacks the marks {BEGIN} and {END}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def figures(page: str) -> dict[str, str]:
    """name -> value of all rows of two cells between the marks."""
    _, _, rest = page.partition(BEGIN)
    text, _, _ = rest.partition(END)
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return {cells[0].strip(): cells[1].strip() for cells in rows if len(cells) == 2 and cells[0].strip()}


if __name__ == "__main__":
    sys.exit(main())
