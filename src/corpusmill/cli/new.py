"""corpusmill new [RECIPE]"""

import json as json_format
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli import completion
from corpusmill.cli.common import Json, print_json, refuse_unused
from corpusmill.cli.raw import PAGE_READERS, TEXT_READERS, fitting
from corpusmill.errors import InputError

if TYPE_CHECKING:
    from corpusmill.recipe.shipped import Shipped


EXTRACTION = re.compile(r"^  - (extract/\w+).*", re.MULTILINE)  # a step
MAX_FOLDERS = 100  # of a folder of inputs that are looked through


def add_to(app: typer.Typer) -> None:
    app.command("new", epilog="Example: corpusmill new web-en web.yaml --input 'crawl/*.warc.gz'")(new)


def new(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="A recipe in this package; without it, list them.",
            show_default=False,
            autocompletion=completion.recipes,
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="The file to write; - prints it. [default: RECIPE.yaml]", show_default=False
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="PATH",
            help="What to read: a file, a folder, a pattern or a URL. For a recipe with several sources: NAME=PATH, "
            "once per source.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the recipes in this package, as without RECIPE.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of recipes, for completion in editors.")
    ] = False,
    json: Json = False,
) -> None:
    """Write one of the recipes in this package to a file, to edit and run; or list them all."""
    if schema or list_all or recipe is None:
        why = "is for writing a recipe, and this prints " + ("the schema" if schema else "the list of them")
        refuse_unused("inputs force", why)
        if recipe is not None:
            raise InputError(f"{recipe}: {'--schema' if schema else '--list'} takes no recipe")
    if schema:
        from corpusmill.recipe.shipped import SCHEMA_FILE

        print(SCHEMA_FILE.read_text("utf-8"), end="")
        return
    if recipe is None or list_all:
        print_recipes(json)
        return
    from corpusmill.errors import RecipeError
    from corpusmill.recipe.shipped import shipped

    source = shipped(recipe)
    paths = assigned(source, inputs or [])
    file = file or f"{source.name}.yaml"
    readers = fitting_readers(source, paths)
    text = recipe_text(source, paths, source.name if file == "-" else Path(file).stem, readers)
    if file == "-":
        print(text, end="")
        return
    try:
        with Path(file).open("w" if force else "x", encoding="utf-8", newline="\n") as out:
            out.write(text)
    except FileExistsError:
        raise RecipeError(f"{file}: exists already. Give another name, or --force to overwrite it.") from None
    except OSError as error:
        raise RecipeError(f"{file}: cannot be written: {error.strerror}") from error
    if json:
        print_json({"file": file, "missing": missing(source, paths)} | ({"readers": readers} if readers else {}))
    else:
        print(next_steps(source, file, paths, readers))


def print_recipes(as_json: bool) -> None:
    """The recipes that ship, a line or more each."""
    from corpusmill.recipe.shipped import names, shipped

    recipes = [shipped(name) for name in names()]
    if as_json:
        print_json({"recipes": [{"name": r.name, "summary": r.summary, "inputs": r.inputs} for r in recipes]})
        return
    indent = max(len(recipe.name) for recipe in recipes) + 2
    # Lines of a file or a pipe are left whole, for grep.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for recipe in recipes:
        print(textwrap.fill(f"{recipe.name:<{indent}}{recipe.summary}", width, subsequent_indent=" " * indent))
    print("\nTo write one to a file: corpusmill new RECIPE")


def assigned(recipe: "Shipped", inputs: Sequence[str]) -> dict[str, str]:
    """Variable -> path, of what --input gives. Raises RecipeError for what the recipe has no source for."""
    from corpusmill.errors import RecipeError

    paths: dict[str, str] = {}
    for value in inputs:
        name, equals, path = value.partition("=")
        if not equals or name.upper() not in recipe.inputs:
            if len(recipe.inputs) != 1:
                takes = " ".join(f"--input {variable.lower()}=PATH" for variable in recipe.inputs) or "none"
                count = len(recipe.inputs)
                raise RecipeError(f"--input {value}: {recipe.name} reads {count} inputs. It takes: {takes}")
            (name,), path = recipe.inputs, value
        if name.upper() in paths:
            raise RecipeError(
                f"--input {value}: {recipe.name} has one path for this. In the file it may be a list: [PATH, PATH]."
            )
        paths[name.upper()] = path
    return paths


def fitting_readers(recipe: "Shipped", paths: Mapping[str, str]) -> dict[str, str]:
    """Variable -> the reader of its files, by their names, where the recipe has another one.

    Raises RecipeError if the files hold pages, and the recipe has no step that extracts their text.
    """
    from corpusmill.errors import RecipeError
    from corpusmill.recipe.shipped import names, shipped

    readers: dict[str, str] = {}
    for variable, path in paths.items():
        own = recipe.inputs[variable]
        files = [path]
        if Path(path).is_dir():
            files = [name for _, _, inside in islice(os.walk(path), MAX_FOLDERS) for name in inside]
        fits = fitting(files, (own, *TEXT_READERS, *PAGE_READERS))
        if own not in TEXT_READERS + PAGE_READERS or not fits or own in fits:
            continue
        if fits[0] in PAGE_READERS and own not in PAGE_READERS:
            others = [name for name in names() if set(shipped(name).inputs.values()) & set(PAGE_READERS)]
            raise RecipeError(
                f"{path}: pages, which `{fits[0]}` reads, and {recipe.name} extracts no text from pages: it reads "
                f"`{own}`. These extract it: {', '.join(others)}"
            )
        readers[variable] = fits[0]
    return readers


def with_readers(recipe: "Shipped", readers: Mapping[str, str]) -> str:
    """The recipe's text with other readers, and without steps that extract text where no source has pages any more."""
    text = recipe.text
    for variable, reader in readers.items():
        text = text.replace(
            f'- {recipe.inputs[variable]}: {{paths: "${{{variable}}}"', f'- {reader}: {{paths: "${{{variable}}}"'
        )
    used = {**recipe.inputs, **readers}.values()
    if readers and not set(used) & set(PAGE_READERS):
        text = EXTRACTION.sub(
            rf"  # \1 is left out: {' and '.join(sorted(set(readers.values())))} gives text, and no pages.", text
        )
    return text


def recipe_text(recipe: "Shipped", paths: Mapping[str, str], name: str, readers: Mapping[str, str] = {}) -> str:
    """The recipe's text under another name, with paths in place of variables.

    readers   variable -> the reader in place of the recipe's own

    An editor finds the schema by the first line. It names the file in the installed package, which is that of the
    version that runs the recipe: a copy beside the recipe would be out of date after the next update.
    """
    from corpusmill.recipe.shipped import SCHEMA_FILE
    from corpusmill.recipe.tree import escape

    text = with_readers(recipe, readers)
    for variable, path in paths.items():
        text = text.replace(f'"${{{variable}}}"', json_format.dumps(escape(path), ensure_ascii=False))
    plain = re.fullmatch(r"[A-Za-z][\w-]*", name) and name.lower() not in ("null", "true", "false")
    text = text.replace(f"\nname: {recipe.name}\n", f"\nname: {name if plain else json_format.dumps(name)}\n")
    return f"# yaml-language-server: $schema={SCHEMA_FILE.as_posix()}\n{text}"


def missing(recipe: "Shipped", paths: Mapping[str, str]) -> dict[str, str]:
    """Variable -> reader, of the inputs without a path."""
    return {variable: reader for variable, reader in recipe.inputs.items() if variable not in paths}


def next_steps(recipe: "Shipped", file: str, paths: Mapping[str, str], readers: Mapping[str, str] = {}) -> str:
    """What was written, and two commands to go on with."""
    from corpusmill.recipe.shipped import DEMO_FILES

    lines = [f"{file} is written."]
    for variable, reader in readers.items():
        left_out = EXTRACTION.findall(recipe.text) if recipe.inputs[variable] in PAGE_READERS else []
        without = f", without {' and '.join(left_out)}" if left_out and reader not in PAGE_READERS else ""
        lines.append(f"It reads {paths[variable]} by `{reader}` instead of `{recipe.inputs[variable]}`{without}.")
    for variable, reader in missing(recipe, paths).items():
        trial = f", or {DEMO_FILES[reader]} to try it" if reader in DEMO_FILES else ""
        lines.append(f"Put the path of your files ({reader}) in place of ${{{variable}}}{trial}.")
    lines += ["Next:", *(f"  corpusmill {verb} {shlex.quote(file)}" for verb in ("check", "run"))]
    return "\n".join(lines)
