"""A folder is a registry: read/jsonl.py holds the class JsonlReader, and being there is all that registers it.

Where two folders have a file of one name, the classes have the name of the folder before theirs: `DedupUrl` in
steps/dedup/url.py. The names in a recipe are looked up here: `corpusmill.read` and `corpusmill.write` have a file for
each format, `corpusmill.steps` has folders of them. Files whose name begins with "_" are helpers, not entries.
"""

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from corpusmill.errors import RecipeError, did_you_mean, raised


class Registry:
    """The entries of a package.

    kind     what they are, for messages: "step"
    suffix   what the names of their classes end in: JsonlReader
    nested   they are in the folders of the package, named `folder/file`; files beside the folders are not entries
    hint     where a message sends the user who asked for an unknown one; if empty, it lists all
    advice   name -> what to do instead, for names that are something else
    """

    def __init__(
        self,
        package: str,
        kind: str,
        suffix: str = "",
        *,
        nested: bool = False,
        hint: str = "",
        advice: Mapping[str, str] | None = None,
    ) -> None:
        self.package, self.kind, self.suffix, self.nested, self.hint = package, kind, suffix, nested, hint
        self.advice = advice or {}

    def names(self) -> list[str]:
        """The names of all that ship, as a recipe would write them, sorted."""
        if not self.nested:
            return sorted(_members(self.package, False))
        folders = _members(self.package, True)
        return sorted(f"{folder}/{name}" for folder in folders for name in _members(f"{self.package}.{folder}", False))

    def find(self, name: str) -> type[Any]:
        """The class behind a name in a recipe: `jsonl`, `filter/gopher_quality`, or `my.module:MyClass` of your own.

        Raises RecipeError if there is none, naming the nearest that exists.
        """
        if ":" in name:
            return _own_class(name, self.kind)
        names = self.names()
        if name in self.advice:
            raise RecipeError(f'there is no {self.kind} "{name}". {self.advice[name]}')
        if name not in names:
            hint = self.hint or f"There are: {', '.join(names)}."
            if "." in name:
                hint += " One of your own is written module:Name."
            raise RecipeError(f'there is no {self.kind} "{name}"{did_you_mean(name, names) or "."} {hint}')
        module = import_module(f"{self.package}.{name.replace('/', '.')}")
        cls = getattr(module, self._class_names[name])
        assert isinstance(cls, type)
        return cls

    @cached_property
    def classes(self) -> dict[str, str]:
        """The names of the classes, by which Python code imports them from the package itself -> the entries."""
        return {class_name: entry for entry, class_name in self._class_names.items()}

    @cached_property
    def _class_names(self) -> dict[str, str]:
        """Of two classes of one name, each has the name of its folder before its own: FilterUrl, DedupUrl."""
        entries = self.names()
        files = [entry.rpartition("/")[2] for entry in entries]
        return {
            entry: (_title(entry.partition("/")[0]) if files.count(file) > 1 else "") + _title(file) + self.suffix
            for entry, file in zip(entries, files)
        }

    def importer(self) -> Callable[[str], Any]:
        """A `__getattr__` for the package: a class is imported when it is first used."""

        def import_class(name: str) -> Any:
            if name in self.classes:
                return self.find(self.classes[name])
            near = did_you_mean(name, self.classes)
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}{near}")

        return import_class


def _title(file: str) -> str:
    return "".join(part.title() for part in file.split("_"))


@cache  # asked for hundreds of times while a recipe is read
def _members(package: str, folders: bool) -> list[str]:
    """The files of a package, or its folders."""
    members = pkgutil.iter_modules(import_module(package).__path__)
    return [member.name for member in members if member.ispkg == folders and not member.name.startswith("_")]


def imported(kind: str, name: str) -> Any:
    """What `module:name` names: a class or function of one's own. Raises RecipeError if it cannot be imported."""
    module, _, path = name.partition(":")
    failed = f'cannot import the {kind} "{name}": '
    if module.endswith(".py"):
        raise RecipeError(f"{failed}name the module as Python imports it, {module[:-3].replace('/', '.')}:{path}")
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        absent = error.name is not None and f"{module}.".startswith(f"{error.name}.")
        where = f"; modules are found in the working directory, {Path.cwd()}, and where packages are installed"
        raise RecipeError(f"{failed}{error}{where * absent}") from error
    except Exception as error:  # whatever the module does when it is imported
        raise RecipeError(f"{failed}{raised(error)}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise RecipeError(f'{failed}{module} has no "{part}"{did_you_mean(part, dir(found))}')
        found = getattr(found, part)
    return found


def _own_class(name: str, kind: str) -> type[Any]:
    cls = imported(kind, name)
    if isinstance(cls, type):
        return cls
    if callable(cls) and kind == "step":
        raise RecipeError(
            f'"{name}" is a function, not a class. Written `filter/function: {name}` it says which documents to keep, '
            f"written `map/function: {name}` it returns each document's new text."
        )
    raise RecipeError(f'"{name}" is not a class')
