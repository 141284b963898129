"""corpusmill verify PATH"""

from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.report.numbers import number


def add_to(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: corpusmill verify runs/demo")(verify)


def verify(
    path: Annotated[Path, typer.Argument(help="A run, or a folder of training shards.", show_default=False)],
    json: Json = False,
) -> None:
    """Read training shards back and check sizes, checksums, ids, document ends and counts."""
    from corpusmill.shards import open_shards

    folder = path / "output" / "shards" if (path / "output" / "shards").exists() else path
    shards = open_shards(folder)
    problems = [str(problem) for problem in shards.verify()]
    if json:
        print_json({"shards": str(folder), "tokens": len(shards), "problems": problems})
    else:
        for problem in problems:
            print(problem)
        verdict = f"{len(problems)} problems" if problems else "everything is as it was written"
        print(f"{folder}: {number(len(shards))} tokens, {verdict}")
    if problems:
        raise typer.Exit(1)
