"""corpusmill recipes"""

import shutil
import sys
import textwrap

import typer

from corpusmill.cli.common import Json, print_json


def add_to(app: typer.Typer) -> None:
    app.command("recipes", epilog="Example: corpusmill recipes")(recipes)


def recipes(json: Json = False) -> None:
    """List the recipes that ship. `corpusmill new RECIPE` writes one to a file."""
    from corpusmill.recipe.shipped import names, shipped

    all_of_them = [shipped(name) for name in names()]
    if json:
        print_json(
            {"recipes": [{"name": each.name, "summary": each.summary, "inputs": each.inputs} for each in all_of_them]}
        )
        return
    first = max(len(each.name) for each in all_of_them) + 2
    # Lines of a file or a pipe are left whole, for grep.
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for each in all_of_them:
        print(textwrap.fill(f"{each.name:<{first}}{each.summary}", wide, subsequent_indent=" " * first))
    print("\nTo write one to a file: corpusmill new RECIPE")
