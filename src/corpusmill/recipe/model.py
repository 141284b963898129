"""A recipe: what to read, what to do to it, what to write. Said once, in Python or in YAML."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpusmill.errors import RecipeError
from corpusmill.recipe.dump import dump
from corpusmill.recipe.fingerprint import recipe_fingerprint
from corpusmill.recipe.load import load, parse
from corpusmill.recipe.parts import RunSettings, Source, check_made, check_name, check_seed, same_name


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a run does. Equal recipes do the same.

    name    what the run's folder is called
    seed    what all chance is drawn from, with the documents' ids
    read    sources; where copies compete, the earlier source wins
    steps   what happens to the documents, in order
    write   writers; the run's folder holds the kept documents in any case
    run     how, not what: not part of the fingerprint

    A sequence may be given as any sequence, and is kept as a tuple. Raises RecipeError if a part cannot be one.
    `check_order` tells whether the parts fit together.
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
                raise RecipeError(f"read[{index}] is not a Source; write Source({type(source).__name__}(…), paths)")
            if source.source in taken:
                raise RecipeError(f"read[{index}]: {same_name(source.source)}")
            taken.add(source.source)
        for section in ("steps", "write"):
            for index, thing in enumerate(getattr(self, section)):
                check_made(thing, f"{section}[{index}]")

    @property
    def folder(self) -> Path:
        """Where the run keeps everything."""
        return Path(self.run.folder or f"runs/{self.name}")

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> "Recipe":
        """The recipe in a YAML file, named for the file if it gives no name.

        overrides   settings like "steps.gopher_quality.min_words=30", see `corpusmill.recipe.load.override`

        Raises RecipeError with every problem that was found, each with its line.
        """
        return cls(**load(path, overrides)._asdict())

    @classmethod
    def parse(cls, text: str, where: str = "<string>", overrides: Sequence[str] = ()) -> "Recipe":
        """The recipe in a YAML text; `where` names the text in messages. Otherwise as `load`."""
        return cls(**parse(text, where, overrides)._asdict())

    def dump(self) -> str:
        """The recipe in YAML, without the values that are the default: `Recipe.parse(recipe.dump()) == recipe`."""
        return dump(self)

    def fingerprint(self) -> str:
        """64 hexadecimal digits that change with whatever changes the output, code of the steps included."""
        return recipe_fingerprint(self)
