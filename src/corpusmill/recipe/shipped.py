"""The recipes that ship with the package, by name."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from corpusmill.about import PACKAGE
from corpusmill.errors import RecipeError, did_you_mean

RECIPES_FOLDER = PACKAGE / "recipes"
SCHEMA_FILE = RECIPES_FOLDER / "schema.json"  # the JSON Schema of recipes, by `corpusmill.recipe.json_schema`
SCHEMA_LINE = "# yaml-language-server: $schema=schema.json\n"  # for editors, of a recipe beside the schema
INPUT_VARIABLE = re.compile(r"\$\{(\w+)(:-[^}]*)?\}")
# The demo's file for each reader, to try a recipe on.
DEMO_FILES = {"jsonl": "demo://extra.jsonl.gz", "warc": "demo://pages.warc.gz", "wet": "demo://pages.warc.wet.gz"}


@dataclass(frozen=True)
class Shipped:
    """A recipe that ships.

    text     of the file, without the line that names its schema
    summary  the first line of its comment
    inputs   variable -> reader: what it reads is left to who uses it
    """

    name: str
    text: str
    summary: str
    inputs: dict[str, str]

    @property
    def path(self) -> Path:
        return RECIPES_FOLDER / f"{self.name}.yaml"


def names() -> list[str]:
    return sorted(path.stem for path in RECIPES_FOLDER.glob("*.yaml"))


@cache
def shipped(name: str) -> Shipped:
    """The recipe of this name. Raises RecipeError if there is none."""
    if name not in names():
        hint = did_you_mean(name, names()) or "."
        raise RecipeError(f'no recipe "{name}" ships{hint} These do: {", ".join(names())}.')
    text = (RECIPES_FOLDER / f"{name}.yaml").read_text("utf-8")
    assert text.startswith(SCHEMA_LINE)
    summary = text.splitlines()[1].removeprefix("# ")
    read = [entry for source in yaml.safe_load(text)["read"] for entry in source.items()]
    matches = ((INPUT_VARIABLE.fullmatch(value["paths"]), reader) for reader, value in read)
    inputs = {match[1]: reader for match, reader in matches if match}
    return Shipped(name, text.removeprefix(SCHEMA_LINE), summary, inputs)
