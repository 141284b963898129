"""corpusmill inputs RUN"""

from dataclasses import asdict
from typing import Annotated

import typer

from corpusmill.cli.common import Folder, Json, aligned, print_json
from corpusmill.report.numbers import number, plural, size


def add_to(app: typer.Typer) -> None:
    app.command("inputs", epilog="Example: corpusmill inputs runs/web --files")(inputs)


def inputs(
    run: Folder,
    files: Annotated[bool, typer.Option("--files", help="List each file, and not each path of the recipe.")] = False,
    json: Json = False,
) -> None:
    """List the inputs of a run by source: size, when each was added, documents read and kept."""
    from corpusmill.report.inputs import by_path, inputs_of

    found = inputs_of(run)
    rows = found if files else by_path(run, found)
    if json:
        print_json({"folder": run, "inputs": [asdict(row) for row in rows]})
        return
    for source in dict.fromkeys(row.source for row in rows):
        of = [row for row in rows if row.source == source]
        cells = [["", "files", "size", "added", "read", "kept"]] + [
            [
                row.path,
                f"{row.files:,}",
                size(row.bytes),
                (row.added or "-")[:10],
                *("-" if count is None else number(count) for count in (row.read, row.kept)),
            ]
            for row in of
        ]
        print(f"{source}: {plural(sum(row.files for row in of), 'file')}, {size(sum(row.bytes for row in of))}")
        print("\n".join(f"  {line}" for line in aligned(cells)))
