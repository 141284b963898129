"""corpusmill card RUN"""

from typing import Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json, say
from corpusmill.report.numbers import size


def add_to(app: typer.Typer) -> None:
    app.command("card", epilog="Example: corpusmill card runs/demo --license odc-by --eu-summary")(card)


def card(
    run: Folder,
    license: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the data set, as the Hub names it: odc-by, cc-by-4.0 …")
    ] = None,
    eu_summary: Annotated[
        bool,
        typer.Option(
            "--eu-summary",
            help="Draft the public summary of training content of the EU, with what the run knows. No legal advice.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Write a data card: README.md with a YAML head, and Croissant metadata.

    They are put into the run's folder, which then is a data set that others can load. `push` writes them, too.
    """
    from corpusmill.publish import card as written

    files = written(run, license=license, eu_summary=eu_summary, progress=say)
    if json:
        print_json({"files": {name: place for name, (place, _) in files.items()}})
        return
    for place, length in files.values():
        print(f"{size(length):>9}  {place}")
