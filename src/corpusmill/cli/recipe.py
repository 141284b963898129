"""corpusmill recipe RUN"""

from typing import Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json


def add_to(app: typer.Typer) -> None:
    app.command("recipe", epilog="Example: corpusmill recipe runs/demo > again.yaml")(recipe)


def recipe(
    run: Folder,
    original: Annotated[
        bool, typer.Option("--written", help="Print the file as it was written, and its settings as comments.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the recipe of a run with every value that was used, to run it again with any version."""
    from corpusmill.errors import InputError
    from corpusmill.store.run_folder import RunFolder

    folder = RunFolder(run)
    record = folder.record()
    as_written = record.get("written")
    if json:
        print_json({"resolved": record["recipe"], "written": as_written, "fingerprint": record["fingerprint"]})
        return
    if not original:
        print(record["recipe"], end="")
        return
    if as_written is None:
        raise InputError(f"{run}: its recipe was made in Python, or by an early version; leave out --written")
    for setting in as_written["overrides"]:
        print(f"# --set {setting}")
    print(as_written["text"], end="" if as_written["text"].endswith("\n") else "\n")
