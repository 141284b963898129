"""A folder imports only what stands below it."""

import ast
from pathlib import Path

import pytest

import corpusmill

PACKAGE = Path(corpusmill.__file__).parent
LAYERS = [  # from the top; what stands on one line may not import each other, except where FRIENDS says so
    {"cli"},
    {"estimate"},
    {"runs", "train", "export", "verify"},
    {"report"},
    {"recipe"},
    {"execute", "steps"},
    {"read", "write", "loader"},
    {"shards", "measures"},
    {"keys"},
    {"models"},
    {"text", "tokens", "units", "sums"},
    {"tables", "storage", "memory"},
    {"assets", "registry"},
    {"schema", "facts", "errors", "fork_server"},
]
FRIENDS = {("tokens", "text")}  # the kernel decorator lives in text
FORBIDDEN = [
    ("execute", {"steps", "read", "write", "recipe"}),  # it knows units, not steps
    ("steps", {"storage", "tables", "read", "write", "execute", "recipe"}),  # their only way out is assets
    ("loader", {"steps", "recipe", "execute", "read", "write", "text", "models", "units"}),
]
HEAVY = {"pyarrow", "numba", "duckdb", "typer", "rich", "fastwarc", "resiliparse"}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            yield path, parts[0]


def imported(path):
    """The parts of corpusmill that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("corpusmill.") and name.split(".")[1] != "__version__":
                yield name.split(".")[1]


def rank(part):
    return next((i for i, layer in enumerate(LAYERS) if part in layer), None)


@pytest.mark.parametrize("path, part", list(modules()), ids=lambda value: getattr(value, "stem", str(value)))
def test_imports_point_downwards(path, part):
    assert rank(part) is not None, f"{part} stands in no layer"
    for other in imported(path):
        assert other == part or (part, other) in FRIENDS or rank(other) > rank(part), f"{path} imports {other}"


@pytest.mark.parametrize("part, others", FORBIDDEN)
def test_prohibitions_hold(part, others):
    for path, of in modules():
        if of == part:
            assert not others & set(imported(path)), path


def test_the_loader_needs_numpy_alone():
    for path, part in modules():
        if part == "loader":
            tree = ast.parse(path.read_text("utf-8"))
            names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
            names |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
            assert not names & HEAVY, path
