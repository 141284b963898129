"""corpusmill verify PATH"""

from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.report.numbers import number, size


def add_to(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: corpusmill verify runs/demo")(verify)


def verify(
    path: Annotated[Path, typer.Argument(help="A run, or a folder of its output or of an export.", show_default=False)],
    json: Json = False,
) -> None:
    """Read back what a run or an export wrote, and check sizes, checksums, ids, document ends and counts."""
    from corpusmill.verify import verify_place as read_back

    checked = []
    for folder in read_back(str(path)):
        checked.append(folder)
        if json:
            continue
        for problem in folder.problems:
            print(problem)
        verdict = f"{len(folder.problems)} problems" if folder.problems else "everything is as it was written"
        held = f"{number(folder.tokens)} tokens" if folder.tokens is not None else f"{size(folder.bytes)}"
        print(f"{folder.folder}: {held} in {number(folder.files)} files ({folder.format}), {verdict}")
    problems = [problem for folder in checked for problem in folder.problems]
    if json:
        shards = next((folder for folder in checked if folder.format == "shards"), None)
        folders = [
            {
                "folder": str(folder.folder),
                "format": folder.format,
                "files": folder.files,
                "bytes": folder.bytes,
                "tokens": folder.tokens,
                "problems": list(folder.problems),
            }
            for folder in checked
        ]
        found = {"shards": str(shards.folder), "tokens": shards.tokens} if shards else {}
        print_json(found | {"problems": problems, "folders": folders})
    if problems:
        raise typer.Exit(1)
