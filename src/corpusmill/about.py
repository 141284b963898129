"""What the package is: its version, where it is installed, and which of its sources import which."""

import re
from functools import cache
from pathlib import Path

__version__ = "1.0.0rc1"
PACKAGE = Path(__file__).parent
_TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:.*\n(?:(?:[ \t]+.*)?\n)*", re.MULTILINE)
_OURS = re.compile(r"^\s*from (corpusmill[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_OTHERS = re.compile(r"^\s*(?:from (\w+)[\w.]* import |import (\w+))", re.MULTILINE)


@cache
def file_of(module: str) -> Path | None:
    """The source of a module of this package; None of any other, and of the package itself, which imports
    everything."""
    first, *parts = module.split(".")
    if not parts or first != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def imports(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The modules of this package and the top-level names of others that a source imports, wherever in it.

    Imports for types alone are left out. A name that is no module may be among them: it has no file.
    """
    source = _TYPES_ONLY.sub("", path.read_text("utf-8"))
    ours: list[str] = []
    for package, names in _OURS.findall(source):
        ours += [package, *(f"{package}.{name}" for name in re.findall(r"\w+", names))]
    others = {first or second for first, second in _OTHERS.findall(source)} - {PACKAGE.name}
    return tuple(ours), tuple(sorted(others))


@cache
def closure(module: str) -> frozenset[str]:
    """A module of this package and all modules of the package that it imports, directly or not."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = file_of(name)
        if name not in reached and path is not None:
            reached.add(name)
            waiting += imports(path)[0]
    return frozenset(reached)
