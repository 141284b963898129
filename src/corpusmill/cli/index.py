"""corpusmill index RUN FOLDER"""

from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json
from corpusmill.report.numbers import plural, size


def add_to(app: typer.Typer) -> None:
    app.command("index", epilog="Example: corpusmill index runs/demo indexes/demo --dedup minhash")(index)


def index(
    run: Folder,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the index.", show_default=False)],
    step: Annotated[
        str | None,
        typer.Option(
            "--dedup", metavar="STEP", help="The dedup step whose keys to export; required if the run has several."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Export dedup keys, so that later runs drop duplicates of this one.

    Exports the keys of the kept documents. A later recipe names the folder in `against:`.
    """
    from corpusmill.report.index import export

    result = export(run, folder, step)
    if json:
        print_json({"index": str(folder), "step": result.step, "documents": result.documents, "bytes": result.bytes})
    else:
        print(f"{folder}: index of {plural(result.documents, 'document')} for {result.step}, {size(result.bytes)}")
