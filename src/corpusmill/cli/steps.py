"""corpusmill steps [NAME]"""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Json, print_json

if TYPE_CHECKING:
    from corpusmill.steps.describe import StepInfo

WIDTH = 120


def add_to(app: typer.Typer) -> None:
    app.command("steps", epilog="Example: corpusmill steps filter/gopher_quality")(steps)


def steps(
    name: Annotated[str | None, typer.Argument(help="A step to describe in full.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """List the steps that a recipe can use, with parameters, defaults and source, or describe one in full."""
    from corpusmill import steps as registry
    from corpusmill.steps.describe import describe

    infos = [describe(each) for each in ([name] if name else registry.names())]
    if json:
        print_json({"steps": [asdict(info) for info in infos]})
    elif name:
        print(one(infos[0]))
    else:
        print("\n\n".join("\n".join(brief(info)) for info in infos))
        print("\nTo describe one in full: corpusmill steps NAME")


def brief(info: "StepInfo") -> Iterator[str]:
    """Name and first sentence; the parameters with their defaults; the source."""
    yield from folded(f"{info.name}: {info.summary}", "", "    ")
    if info.parameters:
        defaults = (p.name if p.default is None else f"{p.name}={shortened(p.default)}" for p in info.parameters)
        yield from folded("  ".join(defaults), "    ", "    ")
    if info.source:
        yield from folded(f"source: {info.source}", "    ", "      ")


def folded(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False)


def shortened(default: str) -> str:
    """A default as a recipe writes it; of a long list, its first entry and length.

    >>> [shortened(default) for default in ("None", "'gpt2'", "()", "('en',)", str(("adult",) * 10))]
    ['null', 'gpt2', '[]', '[en]', '[adult, … 10]']
    """
    if default in ("None", "True", "False"):
        return {"None": "null", "True": "true", "False": "false"}[default]
    if not default.startswith("("):
        return default.strip("'")
    entries = [entry.strip(" '") for entry in default[1:-1].split(",") if entry.strip()]
    return f"[{', '.join(entries)}]" if len(default) <= 24 else f"[{entries[0]}, … {len(entries)}]"


def one(info: "StepInfo") -> str:
    """Name, docstring, and a line per parameter: name, type, default, the comment beside it in the code."""
    cells = [(p.name, p.type, "required" if p.default is None else p.default, p.note) for p in info.parameters]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(3)]
    widths[2] = min(widths[2], 24)  # so that one long default does not push all notes to the right
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths)), row[3]]).rstrip() for row in cells]
    return "\n".join([info.name, "", info.doc, "", *(f"  {line}" for line in lines)]).rstrip()
