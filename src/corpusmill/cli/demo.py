"""corpusmill demo"""

from shlex import quote
from typing import Annotated

import typer

from corpusmill.cli.common import Json
from corpusmill.cli.run import run


def add_to(app: typer.Typer) -> None:
    app.command("demo", epilog="Example: corpusmill demo")(demo)


def demo(
    folder: Annotated[
        str | None, typer.Option("-o", "--folder", metavar="FOLDER", help="The run folder, instead of runs/demo.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Worker processes; one per core if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a demo that turns the small crawl in this package into training shards.

    The run is in runs/demo.
    """
    from corpusmill.recipe.shipped import shipped

    run(shipped("demo").path, folder=folder, workers=workers, json=json)
    if not json:
        print(next_steps(folder or "runs/demo"))


def next_steps(folder: str) -> str:
    """What to do after the demo."""
    lines = [
        (f"corpusmill peek {quote(folder)} --dropped all", "dropped documents, with their reasons"),
        ("corpusmill new --list", "recipes that ship; `new` writes one to a file"),
        ("corpusmill new minimal --input 'DATA/*.jsonl.gz'", "a recipe for your own documents"),
    ]
    width = max(len(command) for command, _ in lines)
    return "\n".join(["\nNext:", *(f"  {command:<{width}}  {purpose}" for command, purpose in lines)])
