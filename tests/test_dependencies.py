"""What pyproject.toml promises of dependencies is what `make test-lowest` runs on."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TOOLS = {"ruff", "mypy"}  # they check code, and no test imports them


def pinned(name: str) -> dict[str, str]:
    """package -> version, of a file of constraints."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonical(package): version for package, version in pairs}


def canonical(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def lowest(requirements: list[str]) -> dict[str, str]:
    """package -> the lowest version that satisfies its requirement."""
    matches = (re.match(r"([\w.-]+)>=([\d.]+)", requirement) for requirement in requirements)
    return {canonical(match[1]): match[2] for match in matches if match}


def test_the_lowest_versions_that_are_tested_are_those_that_are_promised():
    promised = lowest(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"])
    tested = pinned("constraints-lowest.txt")
    for package in promised.keys() - TOOLS:
        assert re.fullmatch(rf"{re.escape(promised[package])}(\.0|\.\d{{8}})*", tested[package]), package


def test_an_extra_promises_the_same_in_the_environment_for_tests():
    dev = lowest(PROJECT["optional-dependencies"]["dev"])
    for extra, requirements in PROJECT["optional-dependencies"].items():
        assert {name: dev.get(name, low) for name, low in lowest(requirements).items()} == lowest(requirements), extra


def test_every_dependency_has_the_version_that_is_installed_here():
    assert lowest(PROJECT["dependencies"]).keys() <= pinned("constraints.txt").keys()


def test_an_upper_bound_names_the_test_that_shows_the_break():
    for number, line in enumerate((ROOT / "pyproject.toml").read_text("utf-8").splitlines(), 1):
        code, _, comment = line.partition("  # ")
        for bound in re.findall(r'"[\w.-]+(?:\[\w+\])?[^";]*(<[\d.]+)', code):
            named = re.search(rf"{re.escape(bound)}: (tests/\S+\.py)", comment)
            assert named and (ROOT / named[1]).is_file(), f"pyproject.toml:{number}: {bound}"


def test_install_says_why_each_dependency_is_there_and_what_if_it_dies():
    page = (ROOT / "docs" / "start" / "dependencies.md").read_text("utf-8")
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| `")]
    told = {canonical(name) for cells in rows for name in re.findall(r"`([\w.-]+)`", cells[0])}
    optional = PROJECT["optional-dependencies"]
    required = PROJECT["dependencies"] + [line for name in optional if name != "dev" for line in optional[name]]
    assert told == lowest(required).keys()
    assert all(len(cells) == 3 and all(cell.strip() for cell in cells) for cells in rows)
