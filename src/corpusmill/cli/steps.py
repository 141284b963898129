"""corpusmill steps [NAME]"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli import completion
from corpusmill.cli.common import Json, print_json
from corpusmill.cli.terminal import folded, lines_of, paint, print_lines, prose, refolded

if TYPE_CHECKING:
    from corpusmill.steps.describe import StepInfo


def add_to(app: typer.Typer) -> None:
    app.command("steps", epilog="Example: corpusmill steps filter/gopher_quality")(steps)


def steps(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="STEP", help="A step to describe in full.", show_default=False, autocompletion=completion.steps
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the steps that a recipe can use, or describe one in full.

    With parameters, defaults and source.
    """
    from corpusmill import steps as registry
    from corpusmill.steps.describe import describe

    infos = [describe(step_name) for step_name in (in_full(name) if name else registry.names())]
    if json:
        print_json({"steps": [asdict(info) for info in infos]})
    elif name:
        print_lines("\n\n".join(map(describe_step, infos)))
    else:
        print("\n\n".join("\n".join(brief(info)) for info in infos))
        print("\nTo describe one in full: corpusmill steps NAME")


def in_full(name: str) -> list[str]:
    """The names of the steps that are called so, with their folders, which may be left out."""
    from corpusmill.steps import names

    called = [step_name for step_name in names() if step_name.rpartition("/")[2] == name]
    return called or [name]


def brief(info: "StepInfo") -> Iterator[str]:
    """Name and first sentence; the parameters with their defaults; the source."""
    first, *others = folded(f"{info.name}: {info.summary}", "", "    ")
    yield first.replace(info.name, paint(info.name, "bold"), 1)
    yield from others
    if info.parameters:
        defaults = (p.name if p.default is None else f"{p.name}={shortened(p.default)}" for p in info.parameters)
        yield from folded("  ".join(defaults), "    ", "    ")
    if info.source:
        yield from folded(f"source: {info.source}", "    ", "      ")


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


def describe_step(info: "StepInfo") -> str:
    """Name, docstring, and a line per parameter: name, type, default, the comment beside it in the code."""
    cells = [(p.name, p.type, "required" if p.default is None else p.default) for p in info.parameters]
    rows = lines_of(cells, left_columns=(0, 1, 2)) if cells else []
    lines = []
    for row, parameter in zip(rows, info.parameters):
        line = f"  {row}  {parameter.note}".rstrip()
        lines += [line] if len(line) <= prose() else [f"  {row}", *folded(parameter.note, "      ")]
    return "\n".join([paint(info.name, "bold"), "", refolded(info.doc), "", *lines]).rstrip()
