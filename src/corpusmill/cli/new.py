"""corpusmill new [RECIPE]"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli import completion
from corpusmill.cli.common import say
from corpusmill.cli.recipes import recipes

if TYPE_CHECKING:
    from corpusmill.recipe.shipped import Shipped


def add_to(app: typer.Typer) -> None:
    app.command("new", epilog="Example: corpusmill new web-en web.yaml --input 'crawl/*.warc.gz'")(new)


def new(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="A recipe that ships; without it, they are listed.",
            show_default=False,
            autocompletion=completion.recipes,
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="The file to write; RECIPE.yaml if not given, - prints.", show_default=False
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="PATH",
            help="What to read: a file, a folder, a pattern or a URL. Of a recipe with several sources NAME=PATH, once "
            "per source.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a recipe that ships to a file, to change and to run."""
    if recipe is None:
        recipes()
        return
    from corpusmill.errors import RecipeError
    from corpusmill.recipe.shipped import shipped

    made = shipped(recipe)
    given = assigned(made, inputs or [])
    file = file or f"{made.name}.yaml"
    text = filled(made, given)
    if file == "-":
        print(text, end="")
        return
    text = re.sub(r"^name: .*$", f"name: {json.dumps(Path(file).stem)}", text, count=1, flags=re.MULTILINE)
    try:
        with Path(file).open("w" if force else "x", encoding="utf-8", newline="\n") as out:
            out.write(text)
    except FileExistsError:
        raise RecipeError(f"{file}: exists already. Give another name, or --force to overwrite it.") from None
    except OSError as error:
        raise RecipeError(f"{file}: cannot be written: {error.strerror}") from error
    say(next_steps(made, file, given))


def assigned(recipe: "Shipped", inputs: Sequence[str]) -> dict[str, str]:
    """Variable -> path, of what --input gives. Raises RecipeError for what the recipe has no source for."""
    from corpusmill.errors import RecipeError

    given: dict[str, str] = {}
    for said in inputs:
        name, equals, path = said.partition("=")
        if not equals or name.upper() not in recipe.inputs:
            if len(recipe.inputs) != 1:
                takes = " ".join(f"--input {variable.lower()}=PATH" for variable in recipe.inputs) or "none"
                raise RecipeError(f"--input {said}: {recipe.name} reads {len(recipe.inputs)} inputs. It takes: {takes}")
            (name,), path = recipe.inputs, said
        if name.upper() in given:
            raise RecipeError(
                f"--input {said}: {recipe.name} has one path for this. In the file it may be a list: [PATH, PATH]."
            )
        given[name.upper()] = path
    return given


def filled(recipe: "Shipped", given: Mapping[str, str]) -> str:
    """The recipe's text with paths in place of its variables."""
    from corpusmill.recipe.tree import escape

    text = recipe.text
    for variable, path in given.items():
        text = text.replace(f'"${{{variable}}}"', json.dumps(escape(path), ensure_ascii=False))
    return text


def next_steps(recipe: "Shipped", file: str, given: Mapping[str, str]) -> str:
    """What was written, and two commands to go on with."""

    lines = [f"{file} is written."]
    left = {variable: reader for variable, reader in recipe.inputs.items() if variable not in given}
    if left:
        lines += [f"Put your files in place of ${{{variable}}} ({reader})." for variable, reader in left.items()]
    lines += ["Then:" if left else "Next:", f"  corpusmill check {file}", f"  corpusmill run {file}"]
    return "\n".join(lines)
