"""corpusmill steps [NAME]"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Json, print_json

if TYPE_CHECKING:
    from corpusmill.steps.describe import StepInfo


def add_to(app: typer.Typer) -> None:
    app.command("steps", epilog="Example: corpusmill steps filter/gopher_quality")(steps)


def steps(
    name: Annotated[str | None, typer.Argument(help="One step, to see its parameters.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """List the steps that a recipe can use, or all about one: parameters, defaults, source."""
    from corpusmill import steps as registry
    from corpusmill.steps.describe import describe

    infos = [describe(each) for each in ([name] if name else registry.names())]
    if json:
        print_json({"steps": [asdict(info) for info in infos]})
    elif name:
        print(one(infos[0]))
    else:
        width = max(len(info.name) for info in infos)
        for info in infos:
            print(f"{info.name:<{width}}  {info.summary}")
        print("\nAll about one: corpusmill steps NAME")


def one(info: "StepInfo") -> str:
    """Name, docstring, and a line a parameter: name, type, default, what stands beside it in the code."""
    cells = [(p.name, p.type, "required" if p.default is None else p.default, p.note) for p in info.parameters]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(3)]
    widths[2] = min(widths[2], 24)  # one long default must not push all notes to the right
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths)), row[3]]).rstrip() for row in cells]
    return "\n".join([info.name, "", info.doc, "", *(f"  {line}" for line in lines)]).rstrip()
