"""A stage of training, as a recipe has it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corpusmill.errors import RecipeError
from corpusmill.recipe.names import name_of
from corpusmill.system import refused_name
from corpusmill.tokens.budget import amount

STAGE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, kw_only=True)
class SignalBounds:
    """From `min` to `max`, both included; one that is not given bounds nothing."""

    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        if self.min is None and self.max is None:
            raise RecipeError("where: give min, max, or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise RecipeError(f"where: nothing is from {self.min} to {self.max}; min is the smaller one")


@dataclass(frozen=True, kw_only=True)
class TrainingStage:
    """A part of training, with rows of its own: pre-training, annealing, long context.

    Steps follow each other through all stages, and a batch is a function of the seed and the global step; see
    `corpusmill.loader.stages.StageLoader`. Shards that several stages read in the same way are written once.

    tokenize   the step that makes its tokens, of the same tokenizer as that of the recipe's; that one if not given
    pack       the step that makes its rows; that of the recipe if not given
    shards     parameters of the writer `shards`, such as goldfish; those of the recipe's if not given
    """

    name: str  # of the stage, and of the folders that are written for it
    tokens: int | float | str  # budget, as 2000000000 or 2B: as many whole steps as it has room for
    batch: int  # rows in a step of all ranks together
    mix: tuple[tuple[str, float], ...] = ()  # {source: weight}, weights in rows; all sources as they come if empty
    where: tuple[tuple[str, SignalBounds], ...] = ()  # {signal: {min, max}}: only documents within all bounds
    length: int | None = None  # tokens in a row; that of the step that packs if not given
    tokenize: Any = None
    pack: Any = None
    shards: Any = None

    def __post_init__(self) -> None:
        for pairs in ("mix", "where"):
            value = getattr(self, pairs)
            object.__setattr__(self, pairs, tuple(value.items()) if isinstance(value, Mapping) else tuple(value))
        if not STAGE_NAME.fullmatch(self.name) or len(self.name) > 100:
            raise RecipeError(
                f"the name of a stage is that of a folder, which {self.name!r:.120} cannot be; use letters, digits, - "
                "and _"
            )
        if why := refused_name(self.name):
            raise RecipeError(f"the name of a stage is that of a folder, which {self.name!r} cannot be: {why}")
        _ = self.budget  # complain now
        if self.batch < 1:
            raise RecipeError(f"batch is a number of rows from 1, got {self.batch}")
        if self.length is not None and self.length < 1:
            raise RecipeError(f"length is a number of tokens from 1, got {self.length}")
        if not all(0 < weight < math.inf for _, weight in self.mix):
            raise RecipeError(f"mix is {{source: weight}}, with weights above 0; got {dict(self.mix)}")
        if self.length is not None and self.pack is not None:
            raise RecipeError(f"give the length in pack: {name_of(self.pack)}: {{length: {self.length}}}")

    @property
    def budget(self) -> int:
        """`tokens` as a number. Raises RecipeError if it is none."""
        try:
            budget = round(amount(self.tokens))
        except ValueError:
            budget = 0
        if not 0 < budget < 1 << 60:
            raise RecipeError(f"tokens is a number from 1, as 2000000000, 2B or 1.5T; got {self.tokens!r:.60}")
        return budget
