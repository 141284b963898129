"""A folder is a registry: read/jsonl.py holds the class Jsonl, and being there is all that registers it.

Where two packages or folders have a file of one name, the classes have the name of the folder before theirs, or the
kind after it: `DedupUrl` in steps/dedup/url.py, `JsonlReader` in read/jsonl.py.

The names in a recipe are looked up here: `corpusmill.read` and `corpusmill.write` have a file for each format,
`corpusmill.steps` has folders of them. Files whose name begins with "_" are helpers, not entries.
"""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from corpusmill.errors import RecipeError, did_you_mean, raised


def names(package: str, *, nested: bool = False) -> list[str]:
    """The names of all entries of a package, sorted.

    nested   the entries are in the folders of the package, named `folder/file`; files beside the folders are not
             entries

    >>> names("corpusmill.read")[:2]
    ['arrow', 'code']
    """
    if nested:
        return sorted(f"{folder}/{name}" for folder in _members(package, True) for name in names(f"{package}.{folder}"))
    return sorted(_members(package, False))


def find(package: str, name: str, kind: str, *, nested: bool = False, hint: str = "") -> type[Any]:
    """The class of an entry, `filter/gopher_quality` or `jsonl`, or `my.module:MyClass` from outside the package.

    kind   what the entries are, for messages: "step"
    hint   where a message sends the user who asked for an unknown one; if empty, it lists all

    Raises RecipeError if there is none, naming the nearest that exists.
    """
    if ":" in name:
        return _own_class(name, kind)
    known = names(package, nested=nested)
    if name not in known:
        hint = hint or f"There are: {', '.join(known)}."
        raise RecipeError(f'there is no {kind} "{name}"{did_you_mean(name, known) or "."} {hint}')
    module = import_module(f"{package}.{name.replace('/', '.')}")
    folder, _, file = name.rpartition("/")
    plain = _class_name(file)
    for class_name in (_class_name(folder) + plain, plain + _class_name(kind), plain):
        if isinstance(cls := getattr(module, class_name, None), type):
            return cls
    raise AttributeError(f"{module.__name__} has no class {plain}")


@cache
def exported(package: str, *, nested: bool = False, suffix: str = "") -> dict[str, str]:
    """The names by which Python code imports the classes from the package itself -> the entries.

    nested   of two classes of one name, each has the name of its folder before its own: FilterUrl, DedupUrl
    suffix   what they all end in: JsonlReader

    >>> list(exported("corpusmill.read", suffix="Reader"))[:2]
    ['ArrowReader', 'CodeReader']
    """
    entries = names(package, nested=nested)
    plain = [_class_name(entry.rpartition("/")[2]) for entry in entries]
    return {
        (_class_name(entry.partition("/")[0]) if plain.count(name) > 1 else "") + name + suffix: entry
        for entry, name in zip(entries, plain)
    }


def unknown_attribute(package: str, name: str, known: dict[str, str]) -> AttributeError:
    """The error of a package that has no class of this name, with the nearest that it has."""
    return AttributeError(f"module {package!r} has no attribute {name!r}{did_you_mean(name, known)}")


def _class_name(file: str) -> str:
    return "".join(part.title() for part in file.split("_"))


@cache  # asked for hundreds of times while a recipe is read
def _members(package: str, folders: bool) -> list[str]:
    """The files of a package, or its folders."""
    members = pkgutil.iter_modules(import_module(package).__path__)
    return [member.name for member in members if member.ispkg == folders and not member.name.startswith("_")]


def _own_class(name: str, kind: str) -> type[Any]:
    module, _, wanted = name.partition(":")
    try:
        cls = getattr(import_module(module), wanted)
    except (ImportError, AttributeError) as error:
        raise RecipeError(f'cannot import the {kind} "{name}": {error}') from error
    except Exception as error:  # whatever the module does when it is imported
        raise RecipeError(f'cannot import the {kind} "{name}": {raised(error)}') from error
    if isinstance(cls, type):
        return cls
    if callable(cls) and kind == "step":
        raise RecipeError(
            f'"{name}" is a function, not a class. Written `filter/function: {name}` it says which documents to keep, '
            f"written `map/function: {name}` it returns each document's new text."
        )
    raise RecipeError(f'"{name}" is not a class')
