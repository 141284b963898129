"""Training in stages: `stages:` in a recipe. Each has a budget, and its own mixture, row length and tokens.

    stages:
      - {name: pretrain, tokens: 2B, batch: 256, mix: {web: 3, code: 1}}
      - {name: anneal, tokens: 200M, batch: 256, where: {quality.score: {min: 0.8}}}
      - {name: long, tokens: 100M, batch: 32, pack: {pack/best_fit: {length: 16384}}}

A run writes the shards that the stages read, each once, and `training.json`, which `corpusmill.loader.stages` reads.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.recipe.names import labels, name_of
from corpusmill.recipe.parts import RecipeParts
from corpusmill.recipe.training_stage import SignalBounds, TrainingStage
from corpusmill.steps import Pack, Tokenize
from corpusmill.tokens.budget import steps_of
from corpusmill.write.shards import Shards

OUTPUT = "output/"  # where folders are, relative to training.json
ALL = "all"  # sources, as they come
PARTS = ("tokenize", "pack", "shards")  # of a stage: a step, a step, the parameters of a writer


class Folder(NamedTuple):
    """Shards that stages read.

    name       of the folder of output; the writer `shards` of the recipe has it, if that one writes the same
    source     whose documents they are of; None: of all
    where      signals, and the bounds of the documents
    """

    name: str
    tokenize: Any
    pack: Any | None
    writer: Shards
    source: str | None
    where: tuple[tuple[str, SignalBounds], ...]

    @property
    def content(self) -> tuple[Any, ...]:
        """All but the name."""
        return self[1:]


class Reads(NamedTuple):
    """What a stage reads: folders with their weights in rows, and the length of these."""

    stage: TrainingStage
    folders: Mapping[str, float]
    length: int | None


def reads(recipe: RecipeParts) -> tuple[list[Folder], list[Reads]]:
    """The folders that the stages of a recipe read, the first that names it giving each its name; and what each stage
    reads. A recipe that `check_stages` takes."""
    parts = _parts(recipe)
    folders: dict[tuple[Any, ...], Folder] = {}
    for label, writer in zip(labels(recipe.write), recipe.write):
        if isinstance(writer, Shards):
            own = Folder(label, parts["tokenize"], parts["pack"], writer, None, ())
            folders.setdefault(own.content, own)
    there = set(labels(recipe.write))
    found = []
    for stage in recipe.stages:
        tokenize, pack, writer = parts_of(recipe, stage)
        weights: dict[str, float] = {}
        wanted: Sequence[tuple[str | None, float]] = stage.mix or ((None, 1.0),)
        for source, weight in wanted:
            name = _free(stage.name if source is None else f"{stage.name}-{_plain(source)}", there)
            folder = Folder(name, tokenize, pack, writer, source, stage.where)
            kept = folders.setdefault(folder.content, folder)
            there.add(kept.name)
            weights[kept.name] = weight
        found.append(Reads(stage, weights, stage.length or getattr(pack, "length", None)))
    return list(folders.values()), found


def new_folders(recipe: RecipeParts) -> list[Folder]:
    """The folders that are written for stages alone."""
    own = set(labels(recipe.write))
    return [folder for folder in reads(recipe)[0] if folder.name not in own]


def parts_of(recipe: RecipeParts, stage: TrainingStage) -> tuple[Any, Any | None, Shards]:
    """The steps that make the tokens and rows of a stage, and the writer of its shards."""
    own = _parts(recipe)
    pack = own["pack"] if stage.pack is None else stage.pack
    if stage.length is not None and pack is not None and not recut(pack):
        pack = replace(pack, length=stage.length)
    return stage.tokenize or own["tokenize"], pack, stage.shards or own["shards"]


def recut(pack: Any) -> bool:
    """Whether rows of any length can be read of what a step packs."""
    return bool(pack.method == "concat" and pack.split_at is None)


def _parts(recipe: RecipeParts) -> dict[str, Any]:
    kinds: dict[str, tuple[type[Any], Iterable[Any]]] = {
        "tokenize": (Tokenize, recipe.steps),
        "pack": (Pack, recipe.steps),
        "shards": (Shards, recipe.write),
    }
    found = {name: next((one for one in some if isinstance(one, kind)), None) for name, (kind, some) in kinds.items()}
    return found | {"shards": found["shards"] or Shards()}


def _plain(source: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", source).strip("-.") or "source"


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def check_stages(recipe: RecipeParts) -> list[tuple[int, str]]:
    """The number of each stage that cannot be, and why."""
    said = []
    own = _parts(recipe)
    sources = [source.source for source in recipe.read]
    names: set[str] = set()
    for number, stage in enumerate(recipe.stages):
        if stage.name in names:
            said.append((number, f'another stage is named "{stage.name}"; give this one a name of its own'))
        names.add(stage.name)
        for source, _ in stage.mix:
            if source not in sources:
                near = did_you_mean(source, sources) or "."
                said.append((number, f'there is no source "{source}"{near} There are: {", ".join(sources)}.'))
        if own["tokenize"] is None:
            said.append((number, "a stage is of tokens, and no step makes them; add tokenize/bpe as the last step"))
            continue
        if stage.pack is None and own["pack"] is None and stage.length is None:
            said.append((number, "no step packs, and the stage has no length of rows; give it length, or pack"))
        pack = stage.pack or own["pack"]
        if stage.length is not None and pack is not None and not recut(pack):
            try:
                replace(pack, length=stage.length)
            except (TypeError, RecipeError) as error:
                said.append((number, f"length: {name_of(pack)}: {error}"))
    return said


def described(stage: TrainingStage, value: Any) -> dict[str, Any]:
    """A stage as nothing but text, numbers, lists and dicts.

    value   says the same of a step or writer
    """
    said: dict[str, Any] = {}
    for each in dataclasses.fields(TrainingStage):
        given = getattr(stage, each.name)
        if each.name in PARTS:
            said |= {} if given is None else {each.name: value(given)}
        elif each.name == "where":
            said |= {each.name: {signal: _said(one) for signal, one in given}} if given else {}
        elif each.name == "mix":
            said |= {each.name: dict(given)} if given else {}
        elif given is not None:
            said[each.name] = given
    return said


def _said(bounds: SignalBounds) -> dict[str, float]:
    return {name: value for name, value in (("min", bounds.min), ("max", bounds.max)) if value is not None}


class Scheduled(NamedTuple):
    """A stage by what `training.json` says of it.

    first_step   the number of its first step, over all stages
    tokens       of all its steps
    batch        rows in a step of all ranks
    length       tokens in a row
    shares       folder -> its share of the rows
    """

    stage: str
    first_step: int
    steps: int
    tokens: int
    batch: int
    length: int
    shares: Mapping[str, float]


def scheduled(record: Mapping[str, Any] | None) -> list[Scheduled]:
    """The stages of a `training_record`, in order."""
    found: list[Scheduled] = []
    first = 0
    for stage in record["stages"] if record else ():
        batch, length = stage["batch"], stage["length"]
        steps = steps_of(stage["tokens"], batch, length)
        total = sum(stage["shards"].values())
        shares = {folder.removeprefix(OUTPUT): weight / total for folder, weight in stage["shards"].items()}
        found.append(Scheduled(stage["name"], first, steps, steps * batch * length, batch, length, shares))
        first += steps
    return found


class Outline(NamedTuple):
    """A stage as far as its recipe tells: as `Scheduled`, but for these.

    packing   the method
    shares    source -> its share of the rows; "all" where the sources are as they come
    """

    stage: str
    first_step: int
    steps: int
    tokens: int
    batch: int
    length: int
    packing: str
    shares: Mapping[str, float]

    def __str__(self) -> str:
        of = ", ".join(f"{source} {share:.0%}" for source, share in self.shares.items())
        rows = f"{self.batch:,d} row{'s' * (self.batch != 1)} of {self.length:,d} tokens"
        return (
            f"{self.stage}: {self.steps:,d} step{'s' * (self.steps != 1)} from {self.first_step:,d} on, of {rows}: {of}"
        )


def outline(recipe: RecipeParts) -> list[Outline]:
    """The stages of a recipe, in order."""
    found = []
    for stage, one in zip(recipe.stages, scheduled(training_record(recipe))):
        pack = parts_of(recipe, stage)[1]
        names = [source for source, _ in stage.mix] or [ALL]
        found.append(Outline(*one[:-1], pack.method if pack else "concat", dict(zip(names, one.shares.values()))))
    return found


def training_record(recipe: RecipeParts) -> dict[str, Any] | None:
    """What `training.json` says, as `corpusmill.loader.stages.read_stages` takes it; None of a recipe without
    stages. A recipe that `check_stages` takes."""
    if not recipe.stages:
        return None
    return {
        "stages": [
            {
                "name": one.stage.name,
                "tokens": one.stage.budget,
                "shards": {f"{OUTPUT}{folder}": weight for folder, weight in one.folders.items()},
                "batch": one.stage.batch,
                "length": one.length,
            }
            for one in reads(recipe)[1]
        ]
    }
