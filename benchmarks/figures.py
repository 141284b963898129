"""The figures of README and the start pages: python -m benchmarks.figures --workload DIR --peer PYTHON

What a newcomer meets, from the wheels that `make wheel` has left in dist, each in an environment and a home of its own:
packages, megabytes, the first demo with kernels and one that compiles them, `make demo` of a fresh clone, help, check,
100 documents; each with the calibration loop beside it. Then the figures of benchmarks/quick.py, and the pipeline of
datatrove beside ours, on the slice of the workload. They are written into RESULTS.md and into the tables and sentences
of the pages; tests/test_figures.py says where these differ. Times and speeds of README are those of cores that do the
loop in FAST seconds: measured units of the loop, times FAST. It takes half an hour on two cores on which nothing else
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
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from statistics import median

from benchmarks import quick
from benchmarks.calibration import Seconds, calibrate
from benchmarks.common import MB, ROOT, Workload, commit, processor
from benchmarks.speed import startup
from corpusmill.text import warming

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
BEGIN, END = "<!-- figures: written by `make figures` -->", "<!-- end of figures -->"
FAST = 0.34  # seconds of the loop
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
        (scratch / "newcomer").mkdir()
        newcomer = Newcomer(scratch / "newcomer")
        newcomer.measure()
        warming.warm()
        small = small_runs(workload, scratch / "small")
        (scratch / "quick").mkdir()
        measured = quick.rounds(workload.slice, scratch / "quick")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    speeds = {label: on_fast_cores(measured[name]) for name, label in SPEEDS.items()}
    pipelines = beside_datatrove(options.workload)
    print(pipelines)
    ratio = re.findall(r"\| datatrove, as it comes .*?\| ([0-9.]+) times", pipelines)[0]
    peer = {"a pipeline with the same rules and language model, 46 MB: datatrove 0.10 takes": f"{ratio} times as long"}
    rows = {**speeds, **peer, **newcomer.demos}
    said = [
        f"At {commit()}, on {processor()}, {os.cpu_count()} cores. Medians of up to three rounds, the first demo and "
        f"datatrove once. The loop of `benchmarks/calibration.py` took {loop.wall:.2f} s; times and speeds of the "
        f"first table are those of cores that do it in {FAST} s.\n",
        *table("", rows),
        "",
        *table("installed from the wheel", newcomer.installed | large(newcomer.sizes)),
        "",
        "| the first minute | s | s of the loop then | times the loop |",
        "|---|---:|---:|---:|",
        *(
            f"| {what} | {seconds:.1f} | {of_loop:.2f} | {seconds / of_loop:.1f} |"
            for what, seconds, of_loop in newcomer.minute
        ),
        "",
        small,
        "",
        pipelines,
    ]
    RESULTS.write_text(between(RESULTS.read_text("utf-8"), "\n".join(said)), "utf-8")
    readme = ROOT / "README.md"
    readme.write_text(between(readme.read_text("utf-8"), "\n".join(table("", rows))), "utf-8")
    return 0


@dataclass
class Newcomer:
    """What somebody meets who has never run it.

    installed   what is installed, and how much
    sizes       package -> MB
    demos       the demo, where the kernels are compiled first and from then on
    minute      (what was done, wall seconds, wall seconds of the calibration loop just before)
    """

    scratch: Path
    installed: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    demos: dict[str, str] = field(default_factory=dict)
    minute: list[tuple[str, float, float]] = field(default_factory=list)

    def measure(self) -> None:
        wheels = self.scratch / "wheels"
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(wheels), str(ROOT)], check=True
        )
        (pure,), (compiled,) = wheels.iterdir(), (ROOT / "dist").glob("corpusmill-*-cp*.whl")
        python = self._install("compiled", compiled)
        self.sizes = package_sizes(str(python))
        self.installed = {
            "wheel, MB": f"{pure.stat().st_size / MB:.1f}",
            "wheel with kernels, MB": f"{compiled.stat().st_size / MB:.1f}",
            "packages": str(len(self.sizes)),
            "MB in all": f"{sum(self.sizes.values()):.0f}",
        }
        command = str(python.parent / "corpusmill")
        first = self._demo("`corpusmill demo`, kernels in the wheel", command, "compiled")
        again = self._demo("the same again, in another folder", command, "compiled")
        self._timed("`corpusmill --help`", [command, "--help"], "compiled", rounds=3)
        page = ROOT / "src" / "corpusmill" / "data" / "demo" / "pages.warc.gz"
        subprocess.run([command, "new", "web-en", "web.yaml", "--input", str(page)], cwd=self.scratch, check=True)
        self._timed(
            "`corpusmill check` of a recipe for web pages", [command, "check", "web.yaml"], "compiled", rounds=3
        )
        python = self._install("pure", pure)
        compiling = self._demo("`corpusmill demo`, kernels compiled first", str(python.parent / "corpusmill"), "pure")
        self.demos = {
            "`corpusmill demo` on a new machine, from a wheel with kernels": f"{first * FAST:.0f} s",
            "`corpusmill demo` on a new machine, where the kernels are compiled first": f"{compiling * FAST:.0f} s",
            "`corpusmill demo` from then on": f"{again * FAST:.0f} s",
        }
        clone = self.scratch / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        self._timed("`make demo` of a fresh clone, nothing in pip's cache", ["make", "-C", str(clone), "demo"], "clone")

    def _install(self, name: str, wheel: Path) -> Path:
        """The interpreter of a new environment with this wheel."""
        environment = self.scratch / name
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        python = environment / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", f"{wheel}[fast]"]
        self._timed(f"`pip install` of the {name} wheel, nothing in its cache", install, name)
        return python

    def _demo(self, what: str, command: str, home: str) -> float:
        """What a demo takes, in units of the loop."""
        return self._timed(what, [command, "demo", "--folder", f"demo-{len(self.minute)}"], home)

    def _timed(self, what: str, command: list[str], home: str, rounds: int = 1) -> float:
        """Wall seconds of a command with a home of this name, the median of some rounds, in units of the loop."""
        folder = self.scratch / f"home-{home}"
        folder.mkdir(exist_ok=True)
        variables = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
        for name in ("CORPUSMILL_CACHE", "PIP_CACHE_DIR"):
            variables.pop(name, None)
        loop, seconds = calibrate().wall, []
        for _ in range(rounds):
            start = time.monotonic()
            subprocess.run(command, cwd=self.scratch, env=variables, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.monotonic() - start)
        self.minute.append((what, median(seconds), loop))
        return median(seconds) / loop


def on_fast_cores(taken: list[tuple[quick.Reading, Seconds]]) -> str:
    """The figure of these readings on cores that do the loop in FAST seconds."""
    seconds, unit = quick.loops_of(taken) * FAST, taken[0][0].unit
    return f"{seconds if unit == 's' else 1 / seconds:.3g} {unit}"


def large(sizes: Mapping[str, float]) -> dict[str, str]:
    """Rows of the packages that have one."""
    ordered = sorted(sizes.items(), key=lambda item: -item[1])
    return {f"{name}, MB": f"{size:.0f}" for name, size in ordered if size >= SHOWN}


def small_runs(workload: Workload, scratch: Path) -> str:
    """The table of benchmarks/speed/startup.py: whole runs of 100 documents, beside the calibration loop."""
    scratch.mkdir()
    crawl, short = startup.write_input(workload, scratch), scratch / "short.yaml"
    short.write_text(startup.SHORT.format(input=scratch / "docs-0000.jsonl", folder=scratch / "short"), "utf-8")
    with redirect_stdout(StringIO()) as printed:
        startup.whole_runs({"a recipe of seven lines": short, "a crawl": crawl}, 3, scratch / "whole")
    return printed.getvalue().strip()


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
