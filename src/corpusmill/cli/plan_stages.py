"""`corpusmill plan` of a file of stages."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpusmill.cli.terminal import heading, print_table
from corpusmill.report.numbers import number

STAGES_HEAD = ("stage", "steps", "from step", "tokens", "rows in a step", "tokens in a row", "packing", "no loss for")


def is_one(path: Path) -> bool:
    """Whether a file has stages for training, and is no recipe; or a run has them."""
    import yaml

    from corpusmill.store.run_folder import TRAINING_RECORD

    if path.is_dir():
        return (path / TRAINING_RECORD).is_file()
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
    for stage, stage_loader, steps in zip(loader.stages, loader.loaders, loader.steps):
        rows = steps * stage.batch
        sources = {
            name: {
                "share": weight,
                "tokens": round(rows * weight * stage_loader.length),
                "there": len(shard_rows) * stage_loader.length,
                "epochs": rows * weight / len(shard_rows),
            }
            for (name, weight), shard_rows in zip(stage.weights.items(), stage_loader.rows)
        }
        indexes = [shard_rows.shards.index for shard_rows in stage_loader.rows]
        stages.append(
            {
                "stage": stage.name,
                "first_step": first,
                "steps": steps,
                "tokens": rows * stage_loader.length,
                "batch": stage.batch,
                "length": stage_loader.length,
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
    rules = {"sentinels": loss.without, "prefix": loss.begin, f"1 of {loss.k} (goldfish)": loss.k}
    return [name for name, is_set in rules.items() if is_set]


def of_recipe(path: Path, settings: Sequence[str], cost: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each stage of a recipe: as `planned`, with the tokens that an estimate says there will be; None where only some
    documents of a source are read, as `where` says."""
    from corpusmill.recipe.model import Recipe
    from corpusmill.recipe.stages import ALL_SOURCES, outline, parts_of

    recipe = Recipe.load(path, settings)
    tokens = {source["source"]: source["tokens"] for source in cost["sources"]}
    tokens[ALL_SOURCES] = sum(count or 0 for count in tokens.values())
    records = []
    for outlined, stage in zip(outline(recipe), recipe.stages):
        sources = {}
        for name, share in outlined.shares.items():
            available = None if stage.where else tokens.get(name)
            epochs = outlined.tokens * share / available if available else None
            drawn = round(outlined.tokens * share)
            sources[name] = {"share": share, "tokens": drawn, "there": available, "epochs": epochs}
        facts = {key: getattr(outlined, key) for key in ("stage", "first_step", "steps", "tokens", "batch", "length")}
        tokenize, _, writer = parts_of(recipe, stage)
        rules = _rules(getattr(tokenize, "loss", None))
        rules += [f"1 of {writer.goldfish.k} (goldfish)"] if writer.goldfish else []
        records.append({**facts, "packing": [outlined.packing], "without_loss": sorted(rules), "sources": sources})
    return records


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
    print_table(STAGES_HEAD, rows, leave_out=(6, 2))
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
