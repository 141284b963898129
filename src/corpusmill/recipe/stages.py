"""Training in stages: `stages:` in a recipe. Each has a budget, and its own mixture, row length and tokens.

    stages:
      - {name: pretrain, tokens: 2B, batch: 256, mix: {web: 3, code: 1}}
      - {name: anneal, tokens: 200M, batch: 256, where: {quality.score: {min: 0.8}}}
      - {name: long, tokens: 100M, batch: 32, pack: {pack/best_fit: {length: 16384}}}

A run writes the shards that the stages read, each once, and `training.json`, which `corpusmill.loader.stages` reads.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.recipe.names import labels, name_of, source_names
from corpusmill.recipe.parts import RecipeParts
from corpusmill.recipe.training_stage import SignalBounds, TrainingStage
from corpusmill.steps import Pack, Tokenize
from corpusmill.tokens.budget import steps_of
from corpusmill.write.shards import ShardsWriter

OUTPUT_PREFIX = "output/"  # where folders are, relative to training.json
ALL_SOURCES = "all"  # sources, as they come
STAGE_PARTS = ("tokenize", "pack", "shards")  # of a stage: a step, a step, the parameters of a writer


class Folder(NamedTuple):
    """Shards that stages read.

    name       of the folder of output; the writer `shards` of the recipe has it, if that one writes the same
    source     whose documents they are of; None: of all
    where      signals, and the bounds of the documents
    """

    name: str
    tokenize: Any
    pack: Any | None
    writer: ShardsWriter
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


def plan_reads(recipe: RecipeParts) -> tuple[list[Folder], list[Reads]]:
    """The folders that the stages of a recipe read, the first that names it giving each its name; and what each stage
    reads. A recipe that `check_stages` takes."""
    parts = _parts(recipe)
    folders: dict[tuple[Any, ...], Folder] = {}
    for label, writer in zip(labels(recipe.write), recipe.write):
        if isinstance(writer, ShardsWriter):
            own = Folder(label, parts["tokenize"], parts["pack"], writer, None, ())
            folders.setdefault(own.content, own)
    names = set(labels(recipe.write))
    stage_reads = []
    for stage in recipe.stages:
        tokenize, pack, writer = parts_of(recipe, stage)
        weights: dict[str, float] = {}
        mix: Sequence[tuple[str | None, float]] = stage.mix or ((None, 1.0),)
        for source, weight in mix:
            name = _free_name(stage.name if source is None else f"{stage.name}-{_plain(source)}", names)
            folder = Folder(name, tokenize, pack, writer, source, stage.where)
            stored = folders.setdefault(folder.content, folder)
            names.add(stored.name)
            weights[stored.name] = weight
        stage_reads.append(Reads(stage, weights, stage.length or getattr(pack, "length", None)))
    return list(folders.values()), stage_reads


def new_folders(recipe: RecipeParts) -> list[Folder]:
    """The folders that are written for stages alone."""
    own = set(labels(recipe.write))
    return [folder for folder in plan_reads(recipe)[0] if folder.name not in own]


def parts_of(recipe: RecipeParts, stage: TrainingStage) -> tuple[Any, Any | None, ShardsWriter]:
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
    """The first step that tokenizes, the first that packs, and the writer of shards."""
    return {
        "tokenize": next((step for step in recipe.steps if isinstance(step, Tokenize)), None),
        "pack": next((step for step in recipe.steps if isinstance(step, Pack)), None),
        "shards": next((writer for writer in recipe.write if isinstance(writer, ShardsWriter)), ShardsWriter()),
    }


def _plain(source: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", source).strip("-.") or "source"


def _free_name(name: str, names: set[str]) -> str:
    """A name that differs from all others in more than case: macOS and Windows do not tell that.

    >>> _free_name("long-News", {"long-news", "long-NEWS_2"})
    'long-News_3'
    """
    number, free, taken = 1, name, {other.casefold() for other in names}
    while free.casefold() in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def check_stages(recipe: RecipeParts) -> list[tuple[int, str]]:
    """The number of each stage that cannot be, and why."""
    problems = []
    own = _parts(recipe)
    sources = source_names(recipe.read, recipe.steps)
    names: set[str] = set()
    for number, stage in enumerate(recipe.stages):
        if stage.name.casefold() in names:
            problems.append((number, f'another stage is named "{stage.name}"; give this one a name of its own'))
        names.add(stage.name.casefold())
        for source, _ in stage.mix:
            if source not in sources:
                hint = did_you_mean(source, sources) or "."
                problems.append((number, f'there is no source "{source}"{hint} There are: {", ".join(sources)}.'))
        if own["tokenize"] is None:
            problems.append((number, "a stage is of tokens, and no step makes them; add tokenize/bpe as the last step"))
            continue
        if stage.pack is None and own["pack"] is None and stage.length is None:
            problems.append((number, "no step packs, and the stage has no length of rows; give it length, or pack"))
        pack = stage.pack or own["pack"]
        if stage.length is not None and pack is not None and not recut(pack):
            try:
                replace(pack, length=stage.length)
            except (TypeError, RecipeError) as error:
                problems.append((number, f"length: {name_of(pack)}: {error}"))
    return problems


def stage_entry(stage: TrainingStage, value: Any) -> dict[str, Any]:
    """A stage as nothing but text, numbers, lists and dicts.

    value   says the same of a step or writer
    """
    entry: dict[str, Any] = {}
    for field in dataclasses.fields(TrainingStage):
        setting = getattr(stage, field.name)
        if field.name in STAGE_PARTS:
            entry |= {} if setting is None else {field.name: value(setting)}
        elif field.name == "where":
            entry |= {field.name: {signal: _bounds_entry(bounds) for signal, bounds in setting}} if setting else {}
        elif field.name == "mix":
            entry |= {field.name: dict(setting)} if setting else {}
        elif setting is not None:
            entry[field.name] = setting
    return entry


def _bounds_entry(bounds: SignalBounds) -> dict[str, float]:
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
    stages: list[Scheduled] = []
    first = 0
    for stage in record["stages"] if record else ():
        batch, length = stage["batch"], stage["length"]
        steps = steps_of(stage["tokens"], batch, length)
        total = sum(stage["shards"].values())
        shares = {folder.removeprefix(OUTPUT_PREFIX): weight / total for folder, weight in stage["shards"].items()}
        stages.append(Scheduled(stage["name"], first, steps, steps * batch * length, batch, length, shares))
        first += steps
    return stages


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
        mixture = ", ".join(f"{source} {share:.0%}" for source, share in self.shares.items())
        steps = f"{self.steps:,d} step{'s' * (self.steps != 1)} from {self.first_step:,d} on"
        rows = f"{self.batch:,d} row{'s' * (self.batch != 1)} of {self.length:,d} tokens"
        return f"{self.stage}: {steps}, of {rows}: {mixture}"


def outline(recipe: RecipeParts) -> list[Outline]:
    """The stages of a recipe, in order."""
    outlines = []
    for stage, schedule in zip(recipe.stages, scheduled(training_record(recipe))):
        pack = parts_of(recipe, stage)[1]
        names = [source for source, _ in stage.mix] or [ALL_SOURCES]
        outlines.append(
            Outline(*schedule[:-1], pack.method if pack else "concat", dict(zip(names, schedule.shares.values())))
        )
    return outlines


def training_record(recipe: RecipeParts) -> dict[str, Any] | None:
    """What `training.json` says, as `corpusmill.loader.stages.read_stages` takes it; None of a recipe without
    stages. A recipe that `check_stages` takes."""
    if not recipe.stages:
        return None
    return {
        "stages": [
            {
                "name": stage.stage.name,
                "tokens": stage.stage.budget,
                "shards": {f"{OUTPUT_PREFIX}{folder}": weight for folder, weight in stage.folders.items()},
                "batch": stage.stage.batch,
                "length": stage.length,
            }
            for stage in plan_reads(recipe)[1]
        ]
    }
