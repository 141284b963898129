"""The recipes that ship with the package, by name."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from corpusmill.errors import RecipeError, did_you_mean

FOLDER = Path(__file__).parents[1] / "recipes"
VARIABLE = re.compile(r"\$\{(\w+)(:-[^}]*)?\}")
# The demo's file for each reader, to try a recipe on.
DEMO = {"jsonl": "demo://extra.jsonl.gz", "warc": "demo://pages.warc.gz", "wet": "demo://pages.warc.wet.gz"}


@dataclass(frozen=True)
class Shipped:
    """A recipe that ships.

    text     of the file
    summary  the first sentence of the comment that it begins with
    inputs   variable -> reader: what it reads is left to who uses it
    """

    name: str
    text: str
    summary: str
    inputs: dict[str, str]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.yaml"


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def shipped(name: str) -> Shipped:
    """The recipe of this name. Raises RecipeError if there is none."""
    if name not in names():
        near = did_you_mean(name, names()) or "."
        raise RecipeError(f'no recipe "{name}" ships{near} These do: {", ".join(names())}.')
    text = (FOLDER / f"{name}.yaml").read_text("utf-8")
    comment = " ".join(line.removeprefix("# ") for line in text.partition("\nname:")[0].splitlines())
    summary = re.split(r"(?<=[.?:])\s", comment, maxsplit=1)[0].rstrip(":")
    read = [entry for source in yaml.safe_load(text)["read"] for entry in source.items()]
    found = ((VARIABLE.fullmatch(said["paths"]), reader) for reader, said in read)
    return Shipped(name, text, summary, {match[1]: reader for match, reader in found if match})
