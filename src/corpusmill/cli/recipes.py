"""corpusmill recipes"""

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
    width = max(len(each.name) for each in all_of_them)
    for each in all_of_them:
        print(f"{each.name:<{width}}  {each.summary}")
    print("\nTo write one to a file: corpusmill new RECIPE")
