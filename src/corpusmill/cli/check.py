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
    """Say whether a recipe can run, on what, and in which stages. Reads no document."""
    from corpusmill import checks

    checked = checks.check(recipe, overrides=settings or ())
    folder = checked.recipe.folder
    if json:
        sources = {name: {"files": files, "bytes": total} for name, (files, total) in checked.sources.items()}
        print_json(
            {"name": checked.recipe.name, "folder": str(folder), "sources": sources, "stages": list(checked.stages)}
        )
        return
    print(f"{recipe}: can run")
    for name, (files, total) in checked.sources.items():
        print(f"  read {name}: {number(files)} files, {size(total)}")
    for stage, labels in checked.passes.items():
        print(f"  {stage}: {' → '.join(labels) or 'documents and verdicts'}")
    print(f"  stages: {' → '.join(checked.stages)}")
    print(f"  folder: {folder}")
