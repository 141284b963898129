"""Fingerprints: the same work has the same one, and any change to what is done gives another."""

import hashlib
import inspect
import json
import sys
from functools import cache
from types import FunctionType
from typing import Any

from corpusmill.errors import RecipeError
from corpusmill.recipe.names import name_of
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
    names = [source.source for source in recipe.read]
    for step, selection in zip(recipe.steps, recipe.selections):
        chain = step_fingerprint(step, chain)
        chosen = applied(selection, names)
        chain = chain if chosen is None else digest({"only": list(chosen), "upstream": chain})
    limited = {"limited": [recipe.run.limit, recipe.run.share]} if recipe.run.limited else {}
    if recipe.canary:
        chain = digest({"canary": [plain(entry) for entry in recipe.canary], "upstream": chain})
    stages = {"stages": [stage_entry(entry, describe) for entry in recipe.stages]} if recipe.stages else {}
    return digest({"steps": chain, "write": [describe(writer) for writer in recipe.write], **limited, **stages})


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

    Of one made at a prompt or in a notebook, its own source. Raises RecipeError if there is no source.
    """
    return _code_version(value if isinstance(value, type | FunctionType) else type(value))


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
