"""No module imports itself through others."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import corpusmill

PACKAGE = Path(corpusmill.__file__).parent
FOLDERS = ["loader", "models", "read", "shards", "text", "tokens", "train"]


def name_of(path):
    return ".".join(("corpusmill", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def imported(path, modules):
    """The modules of ours that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_of_a_folder_import_each_other_in_one_direction(folder):
    modules = {name_of(path): path for path in (PACKAGE / folder).rglob("*.py")}
    graph = {name: {*imported(path, modules)} & modules.keys() - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
