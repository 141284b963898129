"""corpusmill check RECIPE"""

from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.report.numbers import number, size


def add_to(app: typer.Typer) -> None:
    app.command("check", epilog="Example: corpusmill check recipes/demo.yaml")(check)


def check(
    recipe: Annotated[Path, typer.Argument(help="A recipe in YAML.", show_default=False)],
    settings: Annotated[list[str] | None, typer.Option("--set", help="Change the recipe, as for run.")] = None,
    json: Json = False,
) -> None:
    """Check whether a recipe can run; list its inputs and stages. Reads no documents."""
    from corpusmill.recipe.lower import lower
    from corpusmill.recipe.model import Recipe

    loaded = Recipe.load(recipe, settings or ())
    plan = lower(loaded)
    plan.check()
    sources = {
        source.source: {"files": len(files), "bytes": sum(file.size for file in files)}
        for source, files in zip(loaded.read, plan.inputs)
    }
    stages = [stage.name for stage in plan.stages]
    if json:
        print_json({"name": loaded.name, "folder": str(loaded.folder), "sources": sources, "stages": stages})
        return
    print(f"{recipe}: can run")
    for name, size_of in sources.items():
        print(f"  read {name}: {number(size_of['files'])} files, {size(size_of['bytes'])}")
    for info in plan.passes:
        print(f"  {info.stage}: {' → '.join(info.labels) or 'read only, no steps'}")
    print(f"  stages: {' → '.join(stages)}")
    print(f"  folder: {loaded.folder}")
