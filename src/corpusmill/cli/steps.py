"""corpusmill steps [NAME]"""

from typing import Annotated, Any

import typer

from corpusmill.cli.common import Json, print_json


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
        print_json([info.to_json() for info in infos])
    elif name:
        print(one(infos[0]))
    else:
        width = max(len(info.name) for info in infos)
        for info in infos:
            print(f"{info.name:<{width}}  {info.summary}")
        print("\nAll about one: corpusmill steps NAME")


def one(info: Any) -> str:
    lines = [info.name, "", info.docstring, ""]
    width = max((len(p.name) for p in info.parameters), default=0)
    for p in info.parameters:
        default = "required" if p.required else f"= {p.default!r}"
        note = f"   {p.note}" if p.note else ""
        lines.append(f"  {p.name:<{width}}  {p.type}  {default}{note}")
    return "\n".join(lines)
