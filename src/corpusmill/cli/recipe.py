"""corpusmill recipe RUN-OR-RECIPE"""

from pathlib import Path
from typing import Annotated

import typer

from corpusmill.cli.common import Json, print_json

ENDINGS = (".yaml", ".yml")  # of recipes


def add_to(app: typer.Typer) -> None:
    app.command("recipe", epilog="Example: corpusmill recipe runs/demo > again.yaml")(recipe)


def recipe(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The folder of a run, or a recipe in YAML.", show_default=False)
    ],
    original: Annotated[
        bool, typer.Option("--written", help="Print the file as it was written, and its settings as comments.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the recipe of a run or file, with all values filled in.

    The result does not depend on defaults, which may change between versions. A file that extends another recipe is
    printed merged with it.
    """
    from corpusmill.errors import InputError
    from corpusmill.recipe.model import Recipe
    from corpusmill.store.run_folder import RunFolder

    if Path(run).suffix in ENDINGS and not Path(run).is_dir():
        loaded = Recipe.load(run)
        if json:
            text = loaded.written.text if loaded.written else None
            print_json({"resolved": loaded.dump(resolved=True), "written": text, "fingerprint": loaded.fingerprint()})
        else:
            print(Path(run).read_text("utf-8") if original else loaded.dump(resolved=True), end="")
        return
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
