"""Figures on README and the start pages are those that were measured: RESULTS.md has each of them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README, RESULTS, INSTALL = (
    (ROOT / name).read_text("utf-8") for name in ("README.md", "benchmarks/RESULTS.md", "docs/start/install.md")
)


def between_marks(page: str) -> str:
    """What `make figures` has written into a page."""
    return page.partition("<!-- figures: written by `make figures` -->")[2].partition("<!-- end of figures -->")[0]


def rows(text: str) -> dict[str, list[str]]:
    """The first cell of each row of its tables -> the other cells."""
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    return {cells[0]: cells[1:] for cells in found if cells[0]}


MEASURED = rows(between_marks(RESULTS))


def test_every_speed_of_the_readme_is_a_row_of_the_results():
    said = rows(between_marks(README))
    assert len(said) >= 8
    assert said == {name: MEASURED[name] for name in said}


def test_the_ratio_to_datatrove_is_that_of_its_own_table():
    (name,) = (name for name in rows(between_marks(README)) if "datatrove" in name)
    (ratio,) = (cells[4] for label, cells in MEASURED.items() if label.startswith("datatrove, as it comes"))
    assert MEASURED[name] == [f"{ratio} as long"]
    both = re.findall(r"Both keep ([0-9,]+), only it ([0-9,]+), only ours ([0-9,]+)", between_marks(RESULTS))[1]
    page = " ".join((ROOT / "docs/from/datatrove.md").read_text("utf-8").split())
    assert "both keep {} of 26,577 documents, only datatrove {}, only corpusmill {}".format(*both) in page


def test_what_is_installed_is_what_was_measured():
    said = " ".join(INSTALL.split())
    packages, size, wheel = (MEASURED[name][0] for name in ("packages", "MB in all", "wheel, MB"))
    assert f"`corpusmill[fast]` is {packages} packages, {size} MB on Linux" in said
    assert f"a wheel of {wheel} MB" in said
    sizes = {name.lower(): float(cells[0]) for name, cells in MEASURED.items() if name.endswith(", MB")}
    for names, cells in rows(INSTALL.partition("## What comes with it")[2].partition("## The first run")[0]).items():
        known = [sizes[size] for name in re.split(r", | with ", names) if (size := f"{name.lower()}, mb") in sizes]
        if cells[0].isdigit() and known:
            assert int(cells[0]) == pytest.approx(sum(known), abs=4), names


def test_how_long_the_first_demo_takes_is_what_was_measured():
    (first,) = (cells[0] for name, cells in MEASURED.items() if "where the kernels are compiled first" in name)
    (said,) = re.findall(r"That takes about ([0-9]+) seconds on two fast cores", " ".join(INSTALL.split()))
    assert int(said) == pytest.approx(float(first.removesuffix(" s")), abs=10)


def test_the_first_minute_is_measured_with_the_loop_beside_it():
    for what in ("`pip install` of the compiled wheel", "`make demo` of a fresh clone", "`corpusmill --help`"):
        (cells,) = (cells for name, cells in MEASURED.items() if name.startswith(what))
        seconds, loop, times = map(float, cells)
        assert times == pytest.approx(seconds / loop, rel=0.4)


def test_extraction_is_named_with_what_it_is_measured_on():
    section = RESULTS.partition("## extraction: models that have not seen the pages")[2].partition("\n## ")[0]
    line = next(line for line in README.splitlines() if line.startswith("| [extracts]"))
    for group, where in (("article", "articles"), ("WCXB", "WCXB's pages"), ("older", "eight older benchmarks")):
        cells = section.partition(f"| {group} | all full texts |")[2].split("|")
        blocks, trafilatura = (cell.strip().removeprefix("0") for cell in cells[1:3])
        assert re.search(rf"{blocks} on {where}[^,]*\(trafilatura {trafilatura}\)", line)


def test_the_three_numbers_of_the_first_screen_are_those_that_were_measured():
    first = README.partition("\n## ")[0]
    (faster,) = (cells[0] for name, cells in MEASURED.items() if name.startswith("a pipeline with the same rules"))
    (speed,) = (cells[0] for name, cells in MEASURED.items() if name.startswith("clean, language, all rules"))
    shown = re.findall(r"^\| (.+) times as fast \| (.+) \| (.+) F1 \|$", first, re.MULTILINE)
    line = next(line for line in README.splitlines() if line.startswith("| [extracts]"))  # compared above
    extracted = re.findall(r"(\S+) on WCXB's pages[^(]*\(trafilatura (\S+)\)", line)
    assert [(f"{times} times as long", speed_shown) for times, speed_shown, _ in shown] == [(faster, speed)]
    assert [(f1, re.findall(r"\(trafilatura: (.+?)\)", first)[0]) for *_, f1 in shown] == extracted
