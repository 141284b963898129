"""corpusmill check RECIPE"""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.report.numbers import number, size

if TYPE_CHECKING:
    from corpusmill.engine.changes import Preview


def add_to(app: typer.Typer) -> None:
    app.command("check", epilog="Example: corpusmill check recipes/demo.yaml")(check)


def check(
    recipe: Annotated[Path, typer.Argument(help="A recipe in YAML.", show_default=False)],
    settings: Annotated[list[str] | None, typer.Option("--set", help="Change the recipe, as for run.")] = None,
    json: Json = False,
) -> None:
    """Check whether a recipe can run; list its inputs, units and stages. Reads no documents."""
    from corpusmill.engine.changes import preview
    from corpusmill.engine.lower import lower
    from corpusmill.recipe.model import Recipe
    from corpusmill.run_folder import RunFolder

    loaded = Recipe.load(recipe, settings or ())
    plan = lower(loaded)
    plan.check()
    sources = {
        source.source: {"files": len(found.files), "bytes": found.size}
        for source, found in zip(loaded.read, plan.inputs)
    }
    stages = [stage.name for stage in plan.stages]
    workers = loaded.run.workers or os.cpu_count() or 1
    ahead = preview(RunFolder(loaded.folder), plan)
    if json:
        record = {"name": loaded.name, "folder": loaded.folder, "sources": sources, "stages": stages}
        units = {"units": ahead.units, "done": ahead.done, "workers": workers, "finished": ahead.finished}
        print_json(record | units | {"changes": [asdict(change) for change in ahead.changes]})
        return
    print(f"{recipe}: can run")
    for name, size_of in sources.items():
        print(f"  read {name}: {number(size_of['files'])} files, {size(size_of['bytes'])}")
    for info in plan.passes:
        print(f"  {info.stage}: {' → '.join(info.labels) or 'read only, no steps'}")
    print(f"  stages: {' → '.join(stages)}")
    busy = min(workers, ahead.units)
    print(
        f"  units: {number(ahead.units)} of about {size(ahead.text)} of text, for {number(busy)} of {number(workers)} workers"
    )
    print(f"  folder: {loaded.folder}")
    for line in _to_do(ahead):
        print(f"  {line}")


def _to_do(ahead: "Preview") -> Iterator[str]:
    """What a run would do of what there is to do."""
    from corpusmill.engine.changes import in_words

    if ahead.finished:
        yield "to do: nothing, the run is there already"
    elif ahead.done:
        left = ahead.units - ahead.done
        yield f"to do: {number(left)} of {number(ahead.units)} units of pass-1, and what depends on them"
    yield from in_words(ahead.changes)
