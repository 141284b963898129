"""Changes of a recipe that we advise: as values, so that what is said to people and what it does are one thing.

A test makes each of them come up, changes its recipe as it says, and runs that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.recipe.order import gives_pages
from corpusmill.recipe.selection import applied

Name = Literal[
    "strip html",
    "decode entities",
    "find copies",
    "find near copies",
    "compare last",
    "lower the threshold",
    "count tokens",
    "write rows",
    "pack better",
    "redact personal data",
    "redact more kinds",
    "redact more forms",
    "look for benchmarks",
    "drop benchmarks",
    "leave out a domain",
    "tell languages",
    "drop stubs",
    "drop giants",
    "drop shared lines",
]
Do = Literal["add", "set", "move", "replace", "write"]
FINAL_FOLDERS = ("mix", "tokenize", "pack")  # folders of steps before which text is as it will be


@dataclass(frozen=True)
class RecipeChange:
    """A change of a recipe.

    name         which advice it is part of
    do           "add" a step; "set" parameters of one; "move" or "replace" one; "write" in one more format
    step         what is added or written, by its name in a recipe; else the label of the step that changes
    parameters   of what is added, or those that are set; None switches one off
    place        of a step: "first", "last", "above LABEL" or "below LABEL"
    by           the name of what takes its place
    """

    name: Name
    do: Do
    step: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    by: str = ""

    def __str__(self) -> str:
        """
        >>> print(Change("strip html", "add", "clean/html", {"only": ["web"]}, "first"))
        add `clean/html: {only: [web]}` as the first step
        >>> print(Change("redact more kinds", "set", "pii", {"kinds": ["email", "ip"], "key": None}))
        set `kinds: [email, ip]` and `key: null` of pii
        """
        values = [f"{name}: {_yaml(value)}" for name, value in self.parameters.items()]
        position = f"as the {self.place} step" if self.place in ("first", "last") else self.place
        match self.do:
            case "add":
                return f"add {_step(self.step, values)} {position}"
            case "set":
                return f"set {' and '.join(f'`{value}`' for value in values)} of {self.step}"
            case "move":
                return f"move {self.step} {position}"
            case "replace":
                return f"write {_step(self.by, values)} instead of {self.step}"
            case _:
                return f"add `{self.step}` to `write`"

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


def in_words(changes: Sequence[RecipeChange]) -> str:
    return ", ".join(map(str, changes))


def _step(name: str, values: Sequence[str]) -> str:
    return f"`{name}: {{{', '.join(values)}}}`" if values else name


def _yaml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return "null" if value is None else str(value)


def label_of(recipe: Recipe, *names: str, after: int = 0) -> str | None:
    """The label of the first step of one of these names, or of one of these folders ("extract/").

    after   steps that are passed over
    """
    labelled = list(zip(labels(recipe.steps), map(name_of, recipe.steps)))[after:]
    return next((label for label, name in labelled if name in names or f"{name.partition('/')[0]}/" in names), None)


def at_the_end(recipe: Recipe, *before: str) -> str:
    """The place of a step that is to see text as it will be, and to be above steps of these folders."""
    extracted = [at for at, step in enumerate(recipe.steps, 1) if name_of(step).startswith("extract/")]
    first = label_of(recipe, *before, *(f"{folder}/" for folder in FINAL_FOLDERS), after=max(extracted, default=0))
    return f"above {first}" if first else "last"


def before_dedup(recipe: Recipe) -> str:
    """The place of a step after which copies are to be looked for."""
    return at_the_end(recipe, "dedup/")


def without(recipe: Recipe, *names: str) -> list[str]:
    """The sources that no step of these names is for."""
    sources = [source.source for source in recipe.read]
    uncovered = list(sources)
    for step, selection in zip(recipe.steps, recipe.selections):
        if name_of(step) in names:
            covered = applied(selection, sources)
            uncovered = [] if covered is None else [source for source in uncovered if source not in covered]
    return uncovered


def strip_html(recipe: Recipe, sources: Sequence[str]) -> tuple[RecipeChange, ...]:
    """For texts of these sources that hold HTML. None for pages, whose text is extracted, and what is stripped already:
    what is left there are tags that a text shows to its readers. A text passes an extraction as it is."""
    pages = [source.source for source in recipe.read if gives_pages(source.reader)]
    needy = [source for source in without(recipe, "clean/html") if source in sources and source not in pages]
    only = {} if len(needy) == len(recipe.read) else {"only": needy}
    return (RecipeChange("strip html", "add", "clean/html", only, "first"),) if needy else ()
