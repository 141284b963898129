"""corpusmill schema"""

import typer


def add_to(app: typer.Typer) -> None:
    app.command("schema", epilog="Example: corpusmill schema > recipe.schema.json")(schema)


def schema() -> None:
    """Print the JSON Schema of recipes, by which editors complete and check them."""
    from corpusmill.recipe.shipped import SCHEMA

    print(SCHEMA.read_text("utf-8"), end="")
