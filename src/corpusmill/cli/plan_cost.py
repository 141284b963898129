"""corpusmill plan RECIPE: what a run costs and gives, from a sample of its input."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusmill.cli.common import aligned
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, size
from corpusmill.report.numbers import share as share_of


def from_sample(recipe: Path, share: float, workers: int | None, settings: list[str]) -> dict[str, Any]:
    """The estimate as JSON, with the `hours` that so many workers take."""
    from corpusmill.cli.progress import Plain
    from corpusmill.estimate import estimate
    from corpusmill.recipe.model import Recipe

    if not 0 < share <= 1:
        raise InputError(f"--sample is a share above 0 and up to 1, got {share}")
    loaded = Recipe.load(recipe, settings)
    cost = estimate(loaded, share, Plain())
    count = workers or loaded.run.workers or os.cpu_count() or 1
    return {**cost.to_json(), "workers": count, "hours": cost.seconds / count / 3600}


def lines(cost: Mapping[str, Any]) -> list[str]:
    """What a run takes, stage by stage, and what it gives."""
    part = share_of(cost["sample_bytes"], cost["bytes"])
    workers = f"{cost['workers']} worker{'s' * (cost['workers'] > 1)}"
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
    return [
        f"Estimate for all {size(cost['bytes'])} of input, from a sample of {size(cost['sample_bytes'])} ({part}):",
        f"  time    {duration(cost['seconds'] / cost['workers'])} with {workers}",
        f"  disk    {size(cost['disk'])} in the run's folder",
        f"  memory  {size(cost['memory'])} per worker in the sample" if cost["memory"] else "  memory  unknown",
        "",
        *aligned([["stage", "worker time", "disk"], *stages]),
        "",
        *aligned([["source", "input", "documents kept", "tokens"], *sources]),
    ]


def duration(seconds: float) -> str:
    """Time in two units at most.

    >>> duration(0.31), duration(75), duration(9000), duration(200000)
    ('0.3 s', '1 min 15 s', '2 h 30 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for length, name, small, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= length:
            return f"{whole // length} {name} {whole % length // small} {smaller}"
    raise AssertionError
