"""Fingerprints: the same work has the same one, and any change to what is done gives another."""

import hashlib
import inspect
import json
import pickle
import sys
from functools import cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from corpusmill.errors import RecipeError
from corpusmill.recipe.names import name_of, source_names
from corpusmill.recipe.parts import RecipeParts, Source
from corpusmill.recipe.selection import applied
from corpusmill.recipe.stages import stage_entry
from corpusmill.recipe.values import plain
from corpusmill.steps import UsesCode
from corpusmill.storage import name_of as name_of_place


def step_fingerprint(step: Any, upstream: str = "") -> str:
    """SHA-256 of a step's name, its parameters with the defaults, the version of its code, and what comes before it.

    step       a step, reader or writer
    upstream   the fingerprint of what the step works on
    """
    return digest({**describe(step), "upstream": upstream})


def recipe_fingerprint(recipe: RecipeParts) -> str:
    """SHA-256 of what a recipe does: seed, sources, steps in order, writers, and which documents it is limited to.
    Neither its name nor anything else in `run:` counts.

    Sources count with their paths as written, without user, password and signature of URLs; what the files hold is for
    the run to check.
    """
    sources = [
        {
            **describe(s.reader),
            "paths": list(map(name_of_place, s.paths)),
            "source": s.source,
            "part": [s.subset, s.split],
            **_files(s),
        }
        for s in recipe.read
    ]
    chain = digest({"seed": recipe.seed, "read": sources})
    names = source_names(recipe.read, recipe.steps)
    for step, selection in zip(recipe.steps, recipe.selections):
        chain = step_fingerprint(step, chain)
        chosen = applied(selection, names)
        chain = chain if chosen is None else digest({"only": list(chosen), "upstream": chain})
    limited = {"limited": [recipe.run.limit, recipe.run.share]} if recipe.run.limited else {}
    if recipe.canary:
        chain = digest({"canary": [plain(entry) for entry in recipe.canary], "upstream": chain})
    stages = {"stages": [stage_entry(entry, describe) for entry in recipe.stages]} if recipe.stages else {}
    split = {"split": plain(recipe.split)} if recipe.split else {}
    write = [describe(writer) for writer in recipe.write]
    return digest({"steps": chain, "write": write, **limited, **stages, **split})


def _files(source: Source) -> dict[str, Any]:
    """What else chooses and names the files of a source; nothing of most."""
    values = {"root": name_of_place(source.root), "exclude": list(map(name_of_place, source.exclude))}
    return {name: value for name, value in values.items() if value}


def describe(part: Any) -> dict[str, Any]:
    """What a step, reader or writer is: its name, all its parameters, the version of its code."""
    facts = {"name": name_of(part), "parameters": plain(part), "code": code_version(part)}
    return {**facts, "uses": list(map(code_version, part.code))} if isinstance(part, UsesCode) else facts


def digest(value: Any) -> str:
    """SHA-256 of a value of None, bool, int, float, str, list and dict, as 64 hexadecimal digits."""
    # Keys stay in order: tables with an order that means nothing were sorted by `plain`.
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def code_version(value: Any) -> str:
    """SHA-256 of the source of the module that a class, a function, or the class of an object, comes from.

    Of one made at a prompt or in a notebook, its own source, and what that names: functions, classes, values. Of a
    lambda and a function inside another one, also the values that it takes from around it. Raises RecipeError if there
    is no source, or a value cannot be compared with that of another run.
    """
    part = value if isinstance(value, type | FunctionType) else type(value)
    if not isinstance(part, FunctionType) or (_has_file(part) and "<" not in part.__qualname__):
        return _code_version(part)
    return digest(_of_function(part, []))


def _of_function(function: FunctionType, within: list[FunctionType]) -> list[Any]:
    """Code and surroundings of a function.

    within   the functions that it was reached from, which may call each other
    """
    if function in within:
        return [within.index(function)]
    within = [*within, function]
    code = function.__code__
    cells = zip(code.co_freevars, [cell.cell_contents for cell in function.__closure__ or () if _is_set(cell)])
    values = dict(cells) | {"": [function.__defaults__, function.__kwdefaults__]}
    if not _has_file(function):
        values |= {name: function.__globals__[name] for name in _global_names(code) if name in function.__globals__}
    facts = [[name, _of_value(values[name], f"{function.__qualname__}: {name}", within)] for name in sorted(values)]
    return [_code_version(function) if _has_file(function) else "", _of_code(code), facts]


def _of_value(value: Any, name: str, within: list[FunctionType]) -> Any:
    """What is the same where a value is the same."""
    if isinstance(value, FunctionType):
        own = _has_file(value) and "<" not in value.__qualname__
        return code_version(value) if own else _of_function(value, within)
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type):
        if _has_file(value) or value.__module__ != "__main__":
            return f"{value.__module__}.{value.__qualname__}"
        members = sorted(vars(value).items())
        return [[member, _of_value(item, name, within)] for member, item in members if isinstance(item, FunctionType)]
    if isinstance(value, set | frozenset):  # the order of texts in them differs from process to process
        return sorted(json.dumps(_of_value(item, name, within)) for item in value)
    if isinstance(value, dict):
        return [[_of_value(item, name, within) for item in pair] for pair in value.items()]
    if isinstance(value, list | tuple):
        return [_of_value(item, name, within) for item in value]
    try:
        return hashlib.sha256(pickle.dumps(value, protocol=5)).hexdigest()
    except Exception as error:
        raise RecipeError(
            f"{name}: a value of the type {type(value).__name__} cannot be compared with that of another run "
            f"({error}), so that nobody could tell when it changes. Make it inside of the function, or in a module"
        ) from None


def _of_code(code: CodeType) -> list[Any]:
    """Without lines and the names of files: one that is defined again elsewhere is the same."""
    constants = [_of_code(each) if isinstance(each, CodeType) else _constant(each) for each in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names), list(code.co_varnames), list(code.co_freevars)]


def _constant(value: Any) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _global_names(code: CodeType) -> set[str]:
    inner = [_global_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inner)


def _is_set(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _has_file(value: Any) -> bool:
    return bool(getattr(sys.modules.get(value.__module__), "__file__", None))


@cache
def _code_version(cls: type[Any] | FunctionType) -> str:
    module = sys.modules.get(cls.__module__)
    try:
        source = inspect.getsource(module if getattr(module, "__file__", None) else cls)  # type: ignore[arg-type]
    except (OSError, TypeError):
        raise RecipeError(
            f"{cls.__module__}:{cls.__qualname__} has no source, so that a run could not tell when it changes; "
            "put it into a file and import it"
        ) from None
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
