"""The notebooks run from the first cell to the last, and are stored without results.

Their code is run as it is, without Jupyter: a cell is statements and perhaps a last value, which is displayed by the
methods that Jupyter would call.
"""

import ast
import contextlib
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    notebook = json.loads(path.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    return notebook["cells"]


def run_cell(source: str, names: dict[str, Any], where: str) -> str | None:
    """Run a cell; returns what it displays."""
    tree = ast.parse(source, where)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, where, "exec"), names)
        return None
    del tree.body[-1]
    exec(compile(tree, where, "exec"), names)
    value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    return None if value is None else value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder to open the notebooks in."""
    return tmp_path_factory.mktemp("notebooks")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, checkout, capsys):
    shown = []
    with contextlib.chdir(checkout), warnings.catch_warnings():
        names: dict[str, Any] = {"__name__": "__main__"}
        for number, cell in enumerate(cells(path)):
            if cell["cell_type"] == "code":
                shown.append(run_cell("".join(cell["source"]), names, f"{path.name}, cell {number}"))
    displayed = [text for text in shown if text]
    assert sum(text.startswith("<iframe sandbox") for text in displayed) >= 5
    assert any("&lt;svg" in text for text in displayed), "there is a chart"
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_results(path):
    found = cells(path)
    assert len({cell["id"] for cell in found}) == len(found)
    for cell in found:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            assert not source.lstrip().startswith(("%", "!")), "the test does not know the commands of Jupyter"


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["finished_run", "raw_corpus"]
