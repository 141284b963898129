"""The names of steps, readers and writers in a recipe."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from corpusmill import read, steps, write

REGISTRIES = {registry.__name__: registry for registry in (steps, read, write)}


def name_of(part: Any) -> str:
    """The recipe's name for a step, reader or writer, or for its class: `filter/gopher_quality`, `my.module:MyStep`."""
    return _name(part if isinstance(part, type) else type(part))


@cache
def _name(cls: type[Any]) -> str:
    for package, registry in REGISTRIES.items():
        if cls.__module__.startswith(f"{package}."):
            name = cls.__module__.removeprefix(f"{package}.").replace(".", "/")
            if name in registry.names() and registry.find(name) is cls:
                return name
    return f"{cls.__module__}:{cls.__qualname__}"


def source_names(read_parts: Iterable[Any], step_parts: Iterable[Any]) -> list[str]:
    """The sources of the documents of a recipe: those that it reads, and those that its steps make."""
    made = [step.source for step in step_parts if isinstance(step, steps.MakesDocuments)]
    return list(dict.fromkeys([*(source.source for source in read_parts), *made]))


def labels(parts: Iterable[Any]) -> list[str]:
    """A short unique name for each, as used in reports and by `--set`: see `labels_of_names`."""
    return labels_of_names(name_of(part) for part in parts)


def labels_of_names(names: Iterable[str]) -> list[str]:
    """The last part of each name; if it is taken, with the first free number from 2 on.

    >>> labels_of_names(["filter/url", "dedup/minhash", "dedup/url", "my_steps:KeepPoems"])
    ['url', 'minhash', 'url_2', 'keep_poems']
    """
    labels: dict[str, None] = {}
    for name in names:
        label = short = short_name(name)
        number = 2
        while label in labels:
            label = f"{short}_{number}"
            number += 1
        labels[label] = None
    return list(labels)


def remarks(parts: Sequence[Any]) -> list[tuple[str, str]]:
    """(label, remark) of the steps that have something to say before they run, in order."""
    remarking = [(label, step) for label, step in zip(labels(parts), parts) if isinstance(step, steps.Remarks)]
    return [(label, remark) for label, step in remarking for remark in step.remarks]


HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def short_name(name: str) -> str:
    """`gopher_quality` for `filter/gopher_quality`; for a step of your own, its class name in snake case."""
    if ":" in name:
        return HUMP.sub("_", re.split("[:.]", name)[-1]).lower()
    return name.rpartition("/")[2]
