"""corpusmill plan RECIPE: what a run costs and gives, from a sample of its input."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusmill.cli.terminal import print_table
from corpusmill.report.numbers import duration, number, plural, share, size


def from_sample(recipe: Path, sample: str, workers: int | None, settings: list[str]) -> dict[str, Any]:
    """The estimate as JSON, with the `hours` that so many workers take."""
    from corpusmill.estimate import estimate
    from corpusmill.execute import cpus
    from corpusmill.progress import display
    from corpusmill.recipe.model import Recipe
    from corpusmill.recipe.parts import share_of

    share = share_of(sample, "--sample")
    loaded = Recipe.load(recipe, settings)
    with display() as listener:
        cost = estimate(loaded, share, listener)
    count = workers or loaded.run.workers or cpus.usable()
    return {**cost.to_json(), "workers": count, "hours": cost.seconds / count / 3600}


def show(cost: Mapping[str, Any]) -> None:
    """Print what a run takes, stage by stage, and what it gives."""
    part = share(cost["sample_bytes"], cost["bytes"])
    workers = plural(cost["workers"], "worker")
    stages = [[stage["stage"], duration(stage["seconds"]), size(stage["bytes"])] for stage in cost["stages"]]
    sources = [
        [
            source["source"],
            size(source["bytes"]),
            number(source["documents"]),
            number(source["tokens"]) if source["tokens"] else "",
        ]
        for source in cost["sources"]
    ]
    print(f"Estimate for all {size(cost['bytes'])} of input, from a sample of {size(cost['sample_bytes'])} ({part}):")
    print(f"  time    {duration(cost['seconds'] / cost['workers'])} with {workers}")
    print(f"  disk    {size(cost['disk'])} in the run's folder")
    print(f"  memory  {size(cost['memory'])} per worker in the sample" if cost["memory"] else "  memory  unknown")
    print()
    print_table(["stage", "worker time", "disk"], stages)
    print()
    print_table(["source", "input", "documents kept", "tokens"], sources)
