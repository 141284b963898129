"""A recipe: what to read, what to do with it, what to write. Written once, in Python or in YAML."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpusmill.errors import RecipeError
from corpusmill.recipe.arguments import run_of, sources_of, split_of, stages_of, steps_of, writers_of
from corpusmill.recipe.canaries import Canary, canaries
from corpusmill.recipe.dump import dump
from corpusmill.recipe.fingerprint import recipe_fingerprint
from corpusmill.recipe.load import parse, read_text
from corpusmill.recipe.names import labels, name_of
from corpusmill.recipe.override import Overrides, settings
from corpusmill.recipe.parts import RunSettings, Source, Written, check_instance, check_name, check_seed, same_name
from corpusmill.recipe.rows import Rows
from corpusmill.recipe.selection import ForSources, Selection


@dataclass(frozen=True, kw_only=True, repr=False)
class Recipe:
    """What a run does. Equal recipes do the same.

    name    of the run's folder
    seed    of all random draws, together with the ids of documents
    read    sources; of duplicates, the one from the earlier source is kept. Besides `Source` and `Rows`: documents in
            memory, such as a frame or a list of dicts; {name: documents}; and as in YAML, {"jsonl": "docs/*.jsonl"}
    steps   applied to the documents in this order, as values or as in YAML: "dedup/exact",
            {"filter/gopher_quality": {"min_words": 30}}. One that is `for_sources(step, only=…)` is kept as the step
            itself, and its sources in `selections`
    write   output formats, as values or as in YAML; the run's folder has the kept documents in any case
    run     how to run, as a value or as in YAML; not part of the fingerprint
    selections
            which sources each step applies to; None for all
    canary  strings that are planted, see `recipe.canaries`
    stages  of training, see `recipe.stages`; as values or as in YAML
    split   which documents are kept back for validation, see `recipe.split`; as a value or as in YAML

    written
            the text that it was loaded from; None of one made in Python, and of `dataclasses.replace`

    Any sequence is accepted, and kept as a tuple; one part needs none. Raises RecipeError if a part is invalid. Whether
    the parts fit together is checked by `check_order`.
    """

    read: Any
    steps: Any = ()
    write: Any = ()
    name: str = "recipe"
    seed: int = 0
    run: RunSettings = field(default_factory=RunSettings)
    selections: Sequence[Selection | None] = ()
    canary: Sequence[Canary] = ()
    stages: Any = ()
    split: Any = None
    written: Written | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for section, convert in (
            ("read", sources_of),
            ("steps", steps_of),
            ("write", writers_of),
            ("stages", stages_of),
            ("split", split_of),
            ("run", run_of),
        ):
            object.__setattr__(self, section, convert(getattr(self, section)))
        object.__setattr__(self, "canary", (self.canary,) if isinstance(self.canary, Canary) else tuple(self.canary))
        self._take_selections()
        check_name(self.name)
        check_seed(self.seed)
        if not self.read:
            raise RecipeError("a recipe needs at least one source to read")
        names: set[str] = set()
        for index, source in enumerate(self.read):
            if not isinstance(source, Source | Rows):
                raise RecipeError(f"read[{index}] is not a source; write Source({type(source).__name__}(…), paths)")
            if source.source in names:
                raise RecipeError(f"read[{index}]: {same_name(source.source)}")
            names.add(source.source)
        canaries(self.canary, self.seed, [source.source for source in self.read])
        for section in ("steps", "write"):
            for index, part in enumerate(getattr(self, section)):
                check_instance(part, f"{section}[{index}]")

    def _take_selections(self) -> None:
        selections = tuple(self.selections)
        if not any(selections):
            selections = (None,) * len(self.steps)
        if len(selections) != len(self.steps):
            raise RecipeError(
                f"the recipe has {len(self.steps)} steps, and selections for {len(selections)}; give both again, or "
                f"wrap the steps in for_sources and leave selections empty"
            )
        chosen = [step.selection if isinstance(step, ForSources) else s for step, s in zip(self.steps, selections)]
        plain = [step.step if isinstance(step, ForSources) else step for step in self.steps]
        object.__setattr__(self, "selections", tuple(chosen))
        object.__setattr__(self, "steps", tuple(plain))

    @property
    def folder(self) -> str:
        """The folder of the run: a path, or a URL. A run on some documents has one beside that of the whole run, which
        is not touched: runs/web-limit-1000."""
        folder = self.run.folder or f"runs/{self.name}"
        return folder.rstrip("/") + self.run.limited_name if self.run.limited else folder

    def __repr__(self) -> str:
        sources = ", ".join(source.source for source in self.read)
        steps = " → ".join(labels(self.steps)) or "no steps"
        writers = ", ".join(map(name_of, self.write)) or "the kept documents"
        return f"<Recipe {self.name}: {sources} → {steps} → {writers}>"

    def _repr_html_(self) -> str:
        from corpusmill.display import code

        try:
            return code(f"Recipe {self.name}", self.dump())
        except RecipeError:  # documents in memory are not in YAML
            return code(repr(self), "")

    @classmethod
    def load(cls, path: str | os.PathLike[str], overrides: Overrides = ()) -> "Recipe":
        """The recipe in a YAML file, named for the file if it gives no name.

        overrides   settings like "steps.gopher_quality.min_words=30", one or several; or a mapping of their values,
                    {"steps.gopher_quality.min_words": 30}

        Raises RecipeError with all problems, each with its line.
        """
        return cls._from_text(read_text(path), str(path), overrides, Path(path).stem)

    @classmethod
    def parse(
        cls, text: str, where: str = "<string>", overrides: Overrides = (), *, recorded: bool = False
    ) -> "Recipe":
        """The recipe in a YAML text; `where` names the text in messages. Otherwise as `load`.

        recorded   by a run: names that earlier versions knew are known
        """
        return cls._from_text(text, where, overrides, "recipe", recorded)

    @classmethod
    def _from_text(cls, text: str, where: str, overrides: Overrides, name: str, recorded: bool = False) -> "Recipe":
        recipe = cls(**parse(text, where, overrides, name, recorded)._asdict())
        object.__setattr__(recipe, "written", Written(text, where, tuple(settings(overrides))))
        return recipe

    def dump(self, *, resolved: bool = False) -> str:
        """The recipe in YAML: `Recipe.parse(recipe.dump()) == recipe`.

        resolved   with all values that are used; otherwise without those that are the default
        """
        return dump(self, resolved)

    def fingerprint(self) -> str:
        """64 hexadecimal digits that change with whatever changes the output, code of the steps included."""
        return recipe_fingerprint(self)
