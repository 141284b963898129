"""A folder imports only what is below it, and modules import each other without circles."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import corpusmill

PACKAGE = Path(corpusmill.__file__).parent
LAYERS = [  # from the top; parts on one line do not import each other, except for FRIENDS
    {"cli"},
    {"together", "forget"},
    {"estimate", "find", "inspect", "publish", "rights", "trackers"},
    {"runs", "checks", "train", "export"},
    {"collection", "finished", "review", "traced", "watching"},
    {"progress"},
    {"report", "verify", "provenance"},
    {"engine"},
    {"recipe"},
    {"execute", "steps"},
    {"read", "write", "loader", "forgotten"},
    {"shards", "measures"},
    {"keys", "unit_io", "leases"},
    {"run_folder"},
    {"stage_folder", "owned"},
    {"run_records"},
    {"fetched_arrays"},
    {"node_cache"},
    {"models"},
    {"text", "tokens", "units", "sums", "beats"},
    {"captures"},
    {"arrays", "tables", "storage"},
    {"assets", "registry"},
    {"hub", "extras"},
    {"schema", "facts", "errors", "retry", "leftovers", "termination", "display"},
    {"hidden"},
]
FRIENDS = {
    ("tokens", "text"),  # the kernel decorator is in text
    ("units", "unit_io"),  # the contract of a work names what it is given; for types alone
    ("stage_folder", "run_folder"),  # a stage names the run that it is of; for types alone
}
FORBIDDEN = [
    ("execute", {"steps", "read", "write", "recipe", "engine"}),  # it knows units, not steps
    ("steps", {"storage", "tables", "run_folder", "stage_folder", "read", "write", "execute", "recipe", "engine"}),
    ("loader", {"steps", "recipe", "execute", "read", "write", "text", "models", "units"}),
]
HEAVY = {"pyarrow", "numba", "duckdb", "typer", "rich", "fastwarc", "resiliparse"}


def name_of(path: Path) -> str:
    """The module's name within corpusmill: "recipe.load"; "recipe" for the package itself."""
    return ".".join(part for part in path.relative_to(PACKAGE).with_suffix("").parts if part != "__init__")


MODULES = {
    name_of(path): path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or path.stem != "__init__"
}


def part_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def imports(module: str, for_types: bool = False) -> frozenset[str]:
    """The modules of corpusmill that a module imports, anywhere in it.

    for_types   with those imported under `if TYPE_CHECKING:`, which no run imports
    """
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    names = {name.removeprefix("corpusmill.") for name in imported(tree, for_types) if name.startswith("corpusmill.")}
    return frozenset(name if name in MODULES else name.rpartition(".")[0] for name in names) & MODULES.keys() - {module}


def imported(node: ast.AST, for_types: bool) -> Iterator[str]:
    """Everything imported below a node: `from a import b` is "a.b", be that a module or a name in one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif for_types or not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from imported(child, for_types)


def rank(part: str) -> int | None:
    return next((i for i, layer in enumerate(LAYERS) if part in layer), None)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    part = part_of(module)
    assert rank(part) is not None, f"{part} is in no layer"
    for other in map(part_of, imports(module, for_types=True)):
        assert other == part or (part, other) in FRIENDS or rank(other) > rank(part), f"{module} imports {other}"


@pytest.mark.parametrize("part, others", FORBIDDEN)
def test_prohibitions_hold(part, others):
    for module in MODULES:
        if part_of(module) == part:
            assert not others & set(map(part_of, imports(module, for_types=True))), module


def test_the_loader_needs_numpy_alone():
    for module, path in MODULES.items():
        if part_of(module) == "loader":
            names = {name.partition(".")[0] for name in imported(ast.parse(path.read_text("utf-8")), True)}
            assert not names & HEAVY, module


def test_modules_import_each_other_without_circles():
    assert circles() == []


def circles() -> list[set[str]]:
    """The largest sets of modules that import each other, in functions too, directly or not."""
    reached = {module: reachable(module) for module in MODULES}
    together = {frozenset(other for other in reached[module] if module in reached[other]) for module in MODULES}
    return sorted((set(circle) for circle in together if circle), key=sorted)


def reachable(module: str) -> set[str]:
    """All that importing a module, and running its functions, can import."""
    seen: set[str] = set()
    left = [module]
    while left:
        new = imports(left.pop()) - seen
        seen |= new
        left += new
    return seen


def test_modules_with_an_underscore_are_imported_in_their_own_folder_alone():
    found = {
        (module, other)
        for module in MODULES
        for other in imports(module, for_types=True)
        if other.rpartition(".")[2].startswith("_") and MODULES[other].parent != MODULES[module].parent
    }
    assert found == set()
