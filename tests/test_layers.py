"""A folder imports only what is below it, and modules import each other without circles."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import corpusmill

PACKAGE = Path(corpusmill.__file__).parent
FOLDERS = (Path(__file__).parent.parent / "docs" / "how-it-works.md").read_text("utf-8").partition("## Folders")[2]
# From the top; parts of one line do not import each other.
LAYERS = [set(line.partition("  ")[0].split()) for line in FOLDERS.split("```")[1].splitlines()[1:]]
ROOMS = {name for layer in LAYERS for name in layer if "." in name}  # folders with lines of their own
FORBIDDEN = [
    ("execute", {"steps", "read", "write", "recipe", "engine"}),  # it knows units, not steps
    ("steps", {"storage", "read", "write", "execute", "recipe", "engine"}),
    ("steps", {"store.tables", "store.run_folder", "store.stage_folder"}),  # they reach files through `unit_io`
    ("loader", {"steps", "recipe", "execute", "read", "write", "text", "models", "store"}),
    ("store", {"execute"}),  # it knows what is where, and runs nothing
]
LOOSE, FLOORS = 9, 16  # modules beside the folders; lines of the list
HEAVY = {"pyarrow", "numba", "duckdb", "typer", "rich", "fastwarc", "resiliparse"}


def name_of(path: Path) -> str:
    """The module's name within corpusmill: "recipe.load"; "recipe" for the package itself."""
    return ".".join(part for part in path.relative_to(PACKAGE).with_suffix("").parts if part != "__init__")


MODULES = {
    name_of(path): path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or path.stem != "__init__"
}


def part_of(module: str) -> str:
    """The line of the list that a module is in: its folder."""
    first, _, rest = module.partition(".")
    inner = f"{first}.{rest.partition('.')[0]}"
    return inner if inner in ROOMS else first


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
        assert other == part or rank(other) > rank(part), f"{module} imports {other}"


@pytest.mark.parametrize("part, others", FORBIDDEN)
def test_prohibitions_hold(part, others):
    for module in MODULES:
        if module.partition(".")[0] == part:
            found = imports(module, for_types=True)
            assert not others & ({name.partition(".")[0] for name in found} | found), module


def test_the_loader_needs_numpy_alone():
    for module, path in MODULES.items():
        if part_of(module) == "loader":
            names = {name.partition(".")[0] for name in imported(ast.parse(path.read_text("utf-8")), True)}
            assert not names & HEAVY, module


def test_modules_import_each_other_without_circles():
    assert circles() == []


def test_every_folder_is_in_the_list_and_few_modules_are_in_none():
    parts = {part_of(module) for module in MODULES}
    assert parts == {name for layer in LAYERS for name in layer}
    assert len([path for path in PACKAGE.glob("*.py") if path.stem != "__init__"]) <= LOOSE
    assert len(LAYERS) <= FLOORS


def circles() -> list[set[str]]:
    """The largest sets of modules that import each other, in functions and for types too, directly or not."""
    reached = {module: reachable(module) for module in MODULES}
    together = {frozenset(other for other in reached[module] if module in reached[other]) for module in MODULES}
    return sorted((set(circle) for circle in together if circle), key=sorted)


def reachable(module: str) -> set[str]:
    """All that importing a module, and running its functions, can import."""
    seen: set[str] = set()
    left = [module]
    while left:
        module = left.pop()
        new = imports(module, for_types=MODULES[module].stem != "__init__") - seen  # a package lists what it exports
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
