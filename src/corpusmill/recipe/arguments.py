"""What is given to a `Recipe` in Python, in whatever form: values, names as in YAML, documents in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from corpusmill import read
from corpusmill.errors import RecipeError
from corpusmill.recipe import load
from corpusmill.recipe.part_nodes import likely_reader
from corpusmill.recipe.parts import RunSettings, Source, check_instance
from corpusmill.recipe.rows import Rows, is_in_memory
from corpusmill.recipe.selection import ForSources
from corpusmill.recipe.split import Split
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.recipe.tree import Position, Problems, tree_of

PATH_TYPES = (str, PathLike)


def sources_of(value: Any) -> tuple[Any, ...]:
    """Sources. Raises RecipeError with all problems of those that are written as in YAML."""
    if isinstance(value, Source | Rows):
        return (value,)
    problems = Problems()
    if isinstance(value, Mapping):
        sources = [_source_named(name, data, f"read[{name!r}]", problems) for name, data in value.items()]
    elif isinstance(value, PATH_TYPES):
        raise RecipeError(
            f"read: {value!s:.80} is a path; say what it holds, as in "
            f'read={{"{likely_reader(str(value))}": {str(value)!r:.80}}}'
        )
    elif isinstance(value, list | tuple) and not _is_documents(value):
        sources = [_source(item, f"read[{index}]", problems) for index, item in enumerate(value)]
    else:
        sources = [Rows(value)]
    problems.check()
    return tuple(sources)


def _is_documents(values: Sequence[Any]) -> bool:
    """Whether a list is of documents, and not of sources: of dicts that are not written as sources."""
    return bool(values) and all(isinstance(item, Mapping) and not _is_yaml_source(item) for item in values)


def _is_yaml_source(entry: Mapping[Any, Any]) -> bool:
    """Whether a dict is a source as in YAML, {"jsonl": "docs.jsonl"}. {"text": "One."} is a document: to read text
    files, give a mapping of settings, or leave out the list."""
    if len(entry) != 1:
        return False
    ((name, value),) = entry.items()
    if not isinstance(name, str) or not (name in read.names() or ":" in name):
        return False
    return (
        "paths" in value or _has_location(name) if isinstance(value, Mapping) else name != "text" and _are_paths(value)
    )


def _has_location(name: str) -> bool:
    """Whether the reader of this name knows where its collection is, so that a source needs no paths."""
    return name in read.names() and hasattr(read.find(name), "location")


def _are_paths(value: Any) -> bool:
    return isinstance(value, PATH_TYPES) or (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(path, PATH_TYPES) for path in value)
    )


def _source_named(name: Any, data: Any, where: str, problems: Problems) -> Any:
    """A source from a mapping: documents by the name of their source, or paths by the name of their reader."""
    if isinstance(data, Source | Rows):
        return replace(data, source=str(name))
    if _are_paths(data) or (isinstance(data, Mapping) and ("paths" in data or _has_location(str(name)))):
        return load.parse_source({name: data}, where, problems)
    return Rows(data, str(name))


def _source(value: Any, where: str, problems: Problems) -> Any:
    if isinstance(value, Source | Rows):
        return value
    if isinstance(value, Mapping) and _is_yaml_source(value):
        return load.parse_source(value, where, problems)
    if isinstance(value, PATH_TYPES):
        raise RecipeError(
            f"{where} is {value!s:.80}: for a path say what it holds, as in "
            f"{{'{likely_reader(str(value))}': {str(value)!r:.80}}}; "
            "for texts write Rows([…])"
        )
    if is_in_memory(value) and not isinstance(value, type):
        return Rows(value)
    return value  # which `Recipe` refuses


def steps_of(value: Any) -> tuple[Any, ...]:
    """Steps, likewise."""
    return _parts(value, "steps", load.parse_step)


def writers_of(value: Any) -> tuple[Any, ...]:
    """Writers, likewise."""
    return _parts(value, "write", load.parse_writer)


def stages_of(value: Any) -> tuple[TrainingStage, ...]:
    """Stages of training, likewise."""
    return _parts(value, "stages", load.parse_stage)


def split_of(value: Any) -> Split | None:
    """The split, likewise; None: there is none."""
    if value is None or isinstance(value, Split):
        return value
    problems = Problems()
    split = load.parse_split(tree_of(value, Position("split")), problems)
    problems.check()
    return split


def run_of(value: Any) -> RunSettings:
    """The settings of a run, likewise."""
    if isinstance(value, RunSettings):
        return value
    problems = Problems()
    at = Position("run")
    run = load.parse_run(at, tree_of(value, at), problems)
    problems.check()
    return run


def _parts(value: Any, section: str, parse: Callable[[Any, str, Problems], Any]) -> tuple[Any, ...]:
    problems = Problems()
    parts: list[Any] = []
    for index, item in enumerate(value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)):
        where = f"{section}[{index}]"
        if isinstance(item, Mapping) or (isinstance(item, str) and section != "stages"):
            parts.append(parse(item, where, problems))
        elif section == "stages" and not isinstance(item, TrainingStage):
            raise RecipeError(f"{where} is not a stage; write TrainingStage(name=…, tokens=…, batch=…)")
        else:
            if not isinstance(item, ForSources):
                check_instance(item, where)
            parts.append(item)
    problems.check()
    return tuple(parts)
