"""`corpusmill plan` of a file of stages."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpusmill.cli.terminal import heading, print_table
from corpusmill.report.numbers import number
from corpusmill.store.run_folder import TRAINING

HEAD = ("stage", "steps", "from step", "tokens", "rows in a step", "tokens in a row", "packing", "no loss for")


def is_one(path: Path) -> bool:
    """Whether a file has stages for training, and is no recipe; or a run has them."""
    import yaml

    if path.is_dir():
        return (path / TRAINING).is_file()
    try:
        text = path.read_text("utf-8")
        record = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(record, dict) and "stages" in record and "read" not in record


def planned(path: Path) -> list[dict[str, Any]]:
    """Each stage: its steps, rows, and of each source the share, the tokens and the epochs.

    Raises ShardError if a stage is wrong, or shards cannot be read.
    """
    from corpusmill.loader.stages import StageLoader

    loader = StageLoader(path)
    stages = []
    first = 0
    for stage, one, steps in zip(loader.stages, loader.loaders, loader.steps):
        rows = steps * stage.batch
        sources = {
            name: {
                "share": weight,
                "tokens": round(rows * weight * one.length),
                "there": len(each) * one.length,
                "epochs": rows * weight / len(each),
            }
            for (name, weight), each in zip(stage.weights.items(), one.rows)
        }
        indexes = [each.shards.index for each in one.rows]
        stages.append(
            {
                "stage": stage.name,
                "first_step": first,
                "steps": steps,
                "tokens": rows * one.length,
                "batch": stage.batch,
                "length": one.length,
                "packing": sorted({index.packing for index in indexes}),
                "without_loss": sorted({name for index in indexes for name in _rules(index.loss)}),
                "sources": sources,
            }
        )
        first += steps
    return stages


def _rules(loss: Any) -> list[str]:
    if loss is None:
        return []
    named = {"sentinels": loss.without, "prefix": loss.begin, f"1 of {loss.k} (goldfish)": loss.k}
    return [name for name, there in named.items() if there]


def of_recipe(path: Path, settings: Sequence[str], cost: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each stage of a recipe: as `planned`, with the tokens that an estimate says there will be; None where only some
    documents of a source are read, as `where` says."""
    from corpusmill.recipe.model import Recipe
    from corpusmill.recipe.stages import ALL_SOURCES, outline, parts_of

    recipe = Recipe.load(path, settings)
    tokens = {source["source"]: source["tokens"] for source in cost["sources"]}
    tokens[ALL_SOURCES] = sum(each or 0 for each in tokens.values())
    found = []
    for one, stage in zip(outline(recipe), recipe.stages):
        sources = {}
        for name, share in one.shares.items():
            there = None if stage.where else tokens.get(name)
            epochs = one.tokens * share / there if there else None
            sources[name] = {"share": share, "tokens": round(one.tokens * share), "there": there, "epochs": epochs}
        rest = {name: getattr(one, name) for name in ("stage", "first_step", "steps", "tokens", "batch", "length")}
        tokenize, _, writer = parts_of(recipe, stage)
        rules = _rules(getattr(tokenize, "loss", None))
        rules += [f"1 of {writer.goldfish.k} (goldfish)"] if writer.goldfish else []
        found.append({**rest, "packing": [one.packing], "without_loss": sorted(rules), "sources": sources})
    return found


def show(stages: Sequence[Mapping[str, Any]]) -> None:
    """Print the stages, then the sources of each."""
    rows = [
        [
            stage["stage"],
            number(stage["steps"]),
            number(stage["first_step"]),
            number(stage["tokens"]),
            number(stage["batch"]),
            number(stage["length"]),
            ", ".join(stage["packing"]),
            ", ".join(stage["without_loss"]) or "–",
        ]
        for stage in stages
    ]
    print_table(HEAD, rows, leave_out=(6, 2))
    for stage in stages:
        heading(stage["stage"])
        sources = [
            [
                name,
                f"{source['share']:.1%}",
                number(source["tokens"]),
                "–" if source["there"] is None else number(source["there"]),
                "–" if source["epochs"] is None else f"{source['epochs']:.2f}",
            ]
            for name, source in stage["sources"].items()
        ]
        print_table(("shards", "share", "tokens", "tokens available", "epochs"), sources, leave_out=(1,))
    if "prefix" in stages[-1]["without_loss"] and len(stages) > 1:
        last = stages[-1]["stage"]
        print(f"\nThe last stage, {last}, has prefixes: a model that is to do without them needs a last one without.")
