"""corpusmill verify PATH"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.report.numbers import plural, size


def add_to(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: corpusmill verify runs/demo")(verify)


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A run, a folder of its output, or an export.", show_default=False)
    ],
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The tokenizer that made the shards: a name or path. [default: recorded in the shards]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Verify the output of a run or an export.

    Checks sizes, checksums, token ids, BOS and EOS, counts, and the tokenizer's ids for a thousand texts. Exits with 1
    if something is wrong.
    """
    from corpusmill.ops.verify import verify_canaries
    from corpusmill.ops.verify import verify_place as read_back
    from corpusmill.store.run_folder import RunFolder

    checked = []
    for folder in read_back(str(path), tokenizer):
        checked.append(folder)
        if json:
            continue
        for problem in folder.problems:
            print(problem)
        verdict = plural(len(folder.problems), "problem") if folder.problems else "everything verified"
        amount = f"{plural(folder.tokens, 'token')}" if folder.tokens is not None else f"{size(folder.bytes)}"
        amount += f" ({folder.controls})" if folder.controls else ""
        print(f"{folder.folder}: {amount} in {plural(folder.files, 'file')} ({folder.format}), {verdict}")
    problems = [problem for folder in checked for problem in folder.problems]
    canaries = None if problems else verify_canaries(RunFolder(str(path)))
    if canaries:
        problems += canaries.problems
        if not json:
            print("\n".join([*canaries.problems, str(canaries)]))
    if json:
        shards = next((folder for folder in checked if folder.format == "shards"), None)
        folders = [
            {
                "folder": str(folder.folder),
                "format": folder.format,
                "files": folder.files,
                "bytes": folder.bytes,
                "tokens": folder.tokens,
                **(asdict(folder.controls) if folder.controls else {}),
                "problems": list(folder.problems),
            }
            for folder in checked
        ]
        totals = {"shards": str(shards.folder), "tokens": shards.tokens} if shards else {}
        planted = {"canaries": asdict(canaries)} if canaries else {}
        print_json(totals | planted | {"problems": problems, "folders": folders})
    if problems:
        raise typer.Exit(1)
