"""What is given to a `Recipe` in Python, in whatever form: values, names as in YAML, documents in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from corpusmill import read
from corpusmill.errors import RecipeError
from corpusmill.recipe import load
from corpusmill.recipe.parts import Source, check_made
from corpusmill.recipe.rows import Rows, is_in_memory
from corpusmill.recipe.selection import ForSources
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.recipe.tree import Problems

PATHS = (str, PathLike)


def sources_of(given: Any) -> tuple[Any, ...]:
    """Sources. Raises RecipeError with all problems of those that are written as in YAML."""
    if isinstance(given, Source | Rows):
        return (given,)
    problems = Problems()
    if isinstance(given, Mapping):
        found = [_named(name, data, f"read[{name!r}]", problems) for name, data in given.items()]
    elif isinstance(given, PATHS):
        raise RecipeError(
            f'read: {given!s:.80} is a path; say what it holds, as in read={{"jsonl": {str(given)!r:.80}}}'
        )
    elif isinstance(given, list | tuple) and not _is_documents(given):
        found = [_source(one, f"read[{index}]", problems) for index, one in enumerate(given)]
    else:
        found = [Rows(given)]
    problems.check()
    return tuple(found)


def _is_documents(given: Sequence[Any]) -> bool:
    """Whether a list is of documents, and not of sources: of dicts that are not written as sources."""
    return bool(given) and all(isinstance(one, Mapping) and not _is_written(one) for one in given)


def _is_written(one: Mapping[Any, Any]) -> bool:
    """Whether a dict is a source as in YAML, {"jsonl": "docs.jsonl"}. {"text": "One."} is a document: to read text
    files, give a mapping of settings, or leave out the list."""
    if len(one) != 1:
        return False
    ((name, value),) = one.items()
    if not isinstance(name, str) or not (name in read.names() or ":" in name):
        return False
    return "paths" in value if isinstance(value, Mapping) else name != "text" and _are_paths(value)


def _are_paths(value: Any) -> bool:
    return isinstance(value, PATHS) or (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(path, PATHS) for path in value)
    )


def _named(name: Any, data: Any, where: str, problems: Problems) -> Any:
    """A source from a mapping: documents by the name of their source, or paths by the name of their reader."""
    if isinstance(data, Source | Rows):
        return _renamed(data, str(name))
    if _are_paths(data) or (isinstance(data, Mapping) and "paths" in data):
        return load.source({name: data}, where, problems)
    return Rows(data, str(name))


def _renamed(source: Source | Rows, name: str) -> Source | Rows:
    return replace(source, source=name)


def _source(one: Any, where: str, problems: Problems) -> Any:
    if isinstance(one, Source | Rows):
        return one
    if isinstance(one, Mapping) and _is_written(one):
        return load.source(one, where, problems)
    if isinstance(one, PATHS):
        raise RecipeError(
            f"{where} is {one!s:.80}: for a path say what it holds, as in {{'jsonl': {str(one)!r:.80}}}; "
            "for texts write Rows([…])"
        )
    if is_in_memory(one) and not isinstance(one, type):
        return Rows(one)
    return one  # which `Recipe` refuses


def steps_of(given: Any) -> tuple[Any, ...]:
    """Steps, likewise."""
    return _things(given, "steps", load.step)


def writers_of(given: Any) -> tuple[Any, ...]:
    """Writers, likewise."""
    return _things(given, "write", load.writer)


def stages_of(given: Any) -> tuple[TrainingStage, ...]:
    """Stages of training, likewise: values, or mappings as in YAML."""
    listed = given if isinstance(given, Sequence) else (given,)
    problems = Problems()
    found: list[Any] = []
    for index, one in enumerate(listed):
        if isinstance(one, Mapping):
            found.append(load.stage(one, f"stages[{index}]", problems))
        elif isinstance(one, TrainingStage):
            found.append(one)
        else:
            raise RecipeError(f"stages[{index}] is not a stage; write TrainingStage(name=…, tokens=…, batch=…)")
    problems.check()
    return tuple(found)


def _things(given: Any, section: str, make: Callable[[Any, str, Problems], Any]) -> tuple[Any, ...]:
    listed = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    problems = Problems()
    found: list[Any] = []
    for index, one in enumerate(listed):
        where = f"{section}[{index}]"
        if isinstance(one, str | Mapping):
            found.append(make(one, where, problems))
        else:
            if not isinstance(one, ForSources):
                check_made(one, where)
            found.append(one)
    problems.check()
    return tuple(found)
