"""Steps for some sources: which documents of a recipe a step applies to, said beside the step."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from corpusmill.errors import RecipeError, did_you_mean


@dataclass(frozen=True)
class Selection:
    """The sources that a step applies to: `only` these, or all `except_` these.

    Names of sources, or patterns for them (`web-*`; case counts). A single string is one name. Raises RecipeError
    unless one of the two is given.
    """

    only: str | Sequence[str] = ()
    except_: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        for side in ("only", "except_"):
            value = getattr(self, side)
            object.__setattr__(self, side, (value,) if isinstance(value, str) else tuple(value))
        if self.only and self.except_:
            raise RecipeError('takes "only" or "except", not both; name the sources that the step applies to in "only"')
        if not all((*self.only, *self.except_)) or not (self.only or self.except_):
            raise RecipeError('"only" and "except" need the name of a source; leave them out for all sources')

    def to_plain(self) -> dict[str, list[str]]:
        """As a recipe has it: {"only": […]}, or {"except": […]}."""
        return {"only": list(self.only)} if self.only else {"except": list(self.except_)}

    def __str__(self) -> str:
        (key, names), *_ = self.to_plain().items()
        return f"{key} {', '.join(names)}"

    def filter(self, sources: Sequence[str]) -> tuple[str, ...]:
        """Those of the sources that the step applies to, in their order."""
        names = (*self.only, *self.except_)
        is_listed = bool(self.only)
        return tuple(source for source in sources if any(fnmatchcase(source, name) for name in names) == is_listed)

    def problem(self, sources: Sequence[str]) -> str | None:
        """What is wrong with it in a recipe with these sources, and what to do about it; None: nothing."""
        (key, names), *_ = self.to_plain().items()
        for name in names:
            if not any(fnmatchcase(source, name) for source in sources):
                hint = did_you_mean(name, sources) or "."
                has = ", ".join(sources)
                return f'has "{name}" in "{key}", and the recipe has no such source{hint} It has: {has}.'
        if not self.filter(sources):
            return f"applies to no source: {self} leaves none; remove the step"
        return None


@dataclass(frozen=True)
class ForSources:
    """A step with the sources that it applies to, as `for_sources` makes it for the steps of a `Recipe`."""

    step: Any
    selection: Selection


def for_sources(step: Any, *, only: str | Sequence[str] = (), except_: str | Sequence[str] = ()) -> ForSources:
    """The step for documents of some sources; those of others pass it untouched and unmeasured.

    only      names of sources, or patterns for them: `only: [web, wiki]` in YAML
    except_   the step is for all sources but these: `except: code` in YAML

    Raises RecipeError unless one of the two is given. Whether the recipe has these sources is checked with the recipe.
    """
    return ForSources(step, Selection(only, except_))


def applied(selection: Selection | None, sources: Sequence[str]) -> tuple[str, ...] | None:
    """The sources that a step applies to; None where that is all of them, however it is said."""
    chosen = tuple(sources) if selection is None else selection.filter(sources)
    return None if len(chosen) == len(sources) else chosen
