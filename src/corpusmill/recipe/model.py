"""A recipe: what to read, what to do with it, what to write. Written once, in Python or in YAML."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.recipe.names import name_of, short_name

Executor = Literal["serial", "processes"]


@dataclass(frozen=True)
class Source:
    """Where documents come from.

    reader   of the format of the files: read.jsonl.Jsonl(), …
    paths    files, folders or patterns, relative to the working directory; `~/` at the start is the home folder.
             A single string is one path
    source   its name in the run; the reader's name if not given. Names of sources are unique in a recipe
    """

    reader: Any
    paths: Sequence[str]
    source: str = ""

    def __post_init__(self) -> None:
        _check_made(self.reader, "reader")
        paths = (self.paths,) if isinstance(self.paths, str) else tuple(self.paths)
        if not paths or not all(paths):
            raise RecipeError("needs at least one path, and none of them empty")
        if "\0" in self.source:
            raise RecipeError("the name of a source cannot hold a null character")
        object.__setattr__(self, "paths", tuple(home(path) for path in paths))
        object.__setattr__(self, "source", self.source or short_name(name_of(self.reader)))


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How to run; none of it changes the output.

    workers        number of processes; None: one per core
    executor       "processes", or "serial" for everything in this process, for debugging
    folder         of the run and all of its files; None: runs/NAME
    unit_mb        megabytes of input per unit of work
    error_budget   how many records may be bad before the run stops: a share (0.01), or a count (100)
    """

    workers: int | None = None
    executor: Executor = "processes"
    folder: str | None = None
    unit_mb: int = 128
    error_budget: float | int = 0.01

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise RecipeError(f"need workers >= 1, got {self.workers}; leave it out for one per core")
        if self.executor not in get_args(Executor):
            near = did_you_mean(self.executor, get_args(Executor)) or ";"
            raise RecipeError(
                f'there is no executor "{self.executor}"{near} use one of {", ".join(get_args(Executor))}'
            )
        if self.unit_mb < 1:
            raise RecipeError(f"need unit_mb >= 1, got {self.unit_mb}")
        if self.error_budget < 0 or (isinstance(self.error_budget, float) and not self.error_budget <= 1):
            raise RecipeError(
                f"error_budget is a share from 0.0 to 1.0, or a whole number of records, got {self.error_budget}"
            )
        if self.folder is not None:
            if not self.folder:
                raise RecipeError("folder is empty; leave it out for runs/NAME")
            object.__setattr__(self, "folder", home(self.folder))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a run does. Equal recipes do the same.

    name    of the run's folder
    seed    of all random draws, together with the ids of documents
    read    sources; of duplicates, the one from the earlier source is kept
    steps   applied to the documents in this order
    write   output formats; the run's folder has the kept documents in any case
    run     how to run; not part of the fingerprint

    Any sequence is accepted, and kept as a tuple. Raises RecipeError if a part is invalid. Whether the parts fit
    together is checked by `check_order`.
    """

    read: Sequence[Source]
    steps: Sequence[Any] = ()
    write: Sequence[Any] = ()
    name: str = "recipe"
    seed: int = 0
    run: RunSettings = field(default_factory=RunSettings)

    def __post_init__(self) -> None:
        for section in ("read", "steps", "write"):
            object.__setattr__(self, section, tuple(getattr(self, section)))
        check_name(self.name)
        check_seed(self.seed)
        if not self.read:
            raise RecipeError("a recipe needs at least one source to read")
        taken: set[str] = set()
        for index, source in enumerate(self.read):
            if not isinstance(source, Source):
                raise RecipeError(f"read[{index}] is not a source; write Source({type(source).__name__}(…), paths)")
            if source.source in taken:
                raise RecipeError(f"read[{index}]: {same_name(source.source)}")
            taken.add(source.source)
        for section in ("steps", "write"):
            for index, thing in enumerate(getattr(self, section)):
                _check_made(thing, f"{section}[{index}]")

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(self.run.folder or f"runs/{self.name}")

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> "Recipe":
        """The recipe in a YAML file, named for the file if it gives no name.

        overrides   settings like "steps.gopher_quality.min_words=30", see `corpusmill.recipe.load.override`

        Raises RecipeError with all problems, each with its line.
        """
        from corpusmill.recipe.load import load  # it makes recipes, so it imports this module

        return load(path, overrides)

    @classmethod
    def parse(cls, text: str, where: str = "<string>", overrides: Sequence[str] = ()) -> "Recipe":
        """The recipe in a YAML text; `where` names the text in messages. Otherwise as `load`."""
        from corpusmill.recipe.load import parse

        return parse(text, where, overrides)

    def dump(self) -> str:
        """The recipe in YAML, without defaults: `Recipe.parse(recipe.dump()) == recipe`."""
        from corpusmill.recipe.dump import dump

        return dump(self)

    def fingerprint(self) -> str:
        """64 hexadecimal digits that change with everything that changes the output, the code of the steps included."""
        from corpusmill.recipe.fingerprint import recipe_fingerprint

        return recipe_fingerprint(self)


def home(path: str) -> str:
    """The path with `~` or `~/` at its start replaced by the home folder."""
    return str(Path.home()) + path[1:] if path == "~" or path.startswith("~/") else path


def check_name(name: str) -> None:
    if not name or name.startswith(".") or any(c in name for c in "/\\\0") or not name.isprintable():
        raise RecipeError(
            f"the name of a recipe is that of its folder, which {name!r} cannot be; use letters, digits, - and _"
        )


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise RecipeError(f"need a seed from 0 to 2**64 - 1, got {seed}")


def same_name(source: str) -> str:
    return (
        f'another source is named "{source}"; give this one a name of its own, as in {{paths: …, source: {source}_2}}'
    )


def _check_made(thing: Any, what: str) -> None:
    if isinstance(thing, type):
        raise RecipeError(f"{what} is the class {thing.__name__}; it must be an instance: {thing.__name__}()")
    if not dataclasses.is_dataclass(thing):
        hint = "; names are for YAML, see Recipe.parse" if isinstance(thing, str) else ""
        raise RecipeError(f"{what} must be a frozen dataclass, got {thing!r}{hint}")
