"""corpusmill index RUN FOLDER"""

from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json
from corpusmill.report.numbers import number, size


def add_to(app: typer.Typer) -> None:
    app.command("index", epilog="Example: corpusmill index runs/demo indexes/demo --step minhash")(index)


def index(
    run: Folder,
    folder: Annotated[Path, typer.Argument(help="A new folder for the index.", show_default=False)],
    step: Annotated[
        str | None, typer.Option("--step", help="The step to compare with later; if the run has one, that.")
    ] = None,
    json: Json = False,
) -> None:
    """Export the keys of what a run kept, so that later runs can drop copies of it (`against:`), here or elsewhere."""
    from corpusmill.report.index import export

    made = export(run, folder, step)
    if json:
        print_json({"index": str(folder), "step": made.step, "documents": made.documents, "bytes": made.bytes})
    else:
        print(f"{folder}: an index of {number(made.documents)} documents for {made.step}, {size(made.bytes)}")
