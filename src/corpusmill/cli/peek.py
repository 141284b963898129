"""corpusmill peek RUN"""

from typing import Annotated, Any

import typer

from corpusmill.cli.common import Folder, Json, open_run, print_json
from corpusmill.errors import InputError

WIDTH = 600  # characters of text shown of each document


def add_to(app: typer.Typer) -> None:
    app.command("peek", epilog="Example: corpusmill peek runs/demo --dropped gopher_quality -n 3")(peek)


def peek(
    run: Folder,
    dropped: Annotated[
        str | None, typer.Option(help="Documents that go: by step, or by step.rule; `all` for any.", show_default=False)
    ] = None,
    dead: Annotated[bool, typer.Option(help="Records and documents that could not be processed.")] = False,
    document: Annotated[str | None, typer.Option("--id", help="The document with this id or url.")] = None,
    count: Annotated[int, typer.Option("-n", min=1, help="How many to show.")] = 5,
    json: Json = False,
) -> None:
    """Show documents of a run: those that stay, those that go and why, those that failed."""
    from corpusmill.report.tables import RunTables

    open_run(run)
    tables = RunTables(run)
    if dead:
        found = tables.dead(count)
    elif dropped:
        found = tables.dropped(None if dropped == "all" else dropped, count)
        if not found:
            raise InputError(
                f'no document was dropped for "{dropped}". Reasons: {", ".join(tables.reasons()) or "none"}.'
            )
    elif document:
        found = tables.document(document)
        if not found:
            raise InputError(f'{run}: no document with the id or url "{document}"')
    else:
        found = tables.kept(count)
    if json:
        print_json(found)
        return
    for entry in found:
        show(entry)
    if not found:
        print("none")


def show(entry: dict[str, Any]) -> None:
    text = entry.pop("text", None)
    for name, value in entry.items():
        if value is not None and not (isinstance(value, float) and value != value):
            print(f"{name}: {value}")
    if text is not None:
        print(f"text: {text[:WIDTH]}{'…' if len(text) > WIDTH else ''}")
    print("---")
