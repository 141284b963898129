"""corpusmill sql RUN "SELECT …" """

import csv
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Folder, Json, print_json
from corpusmill.errors import InputError

if TYPE_CHECKING:
    from corpusmill.report.views import Answer

SHOWN = 100  # rows in a terminal; --csv and --json print all
WIDE = 60  # characters of a cell


def add_to(app: typer.Typer) -> None:
    app.command(
        "sql", epilog="Example: corpusmill sql runs/demo 'select dropped_by, count(*) from documents group by 1'"
    )(sql)


def sql(
    run: Folder,
    query: Annotated[
        str | None, typer.Argument(help="A SELECT; without one, lists the tables.", show_default=False)
    ] = None,
    json: Json = False,
    comma: Annotated[bool, typer.Option("--csv", help="Print comma-separated values instead of a table.")] = False,
) -> None:
    """Query a run in SQL: documents with all their signals, verdicts, lost records. Read-only."""
    from corpusmill.report.tables import RunTables
    from corpusmill.report.views import Views
    from corpusmill.report.views import sql as ask

    if json and comma:
        raise InputError("--json and --csv exclude each other: give one of them")
    tables = RunTables(run)
    if query is None:
        columns = Views(tables).columns
        print_json({"run": str(run), "tables": columns}) if json else print(listed(columns))
        return
    answer = ask(tables, query)
    if json:
        print_json({"columns": answer.columns, "rows": answer.rows})
    elif comma:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        print(table(answer))


def listed(columns: dict[str, dict[str, str]]) -> str:
    """Every table with its columns and their types."""
    parts = []
    for name, types in columns.items():
        width = max(map(len, types))
        parts.append("\n".join([name, *(f"  {column:<{width}}  {kind}" for column, kind in types.items())]))
    return "\n\n".join(parts)


def table(answer: "Answer") -> str:
    rows = [[cell(value) for value in row] for row in answer.rows[:SHOWN]]
    right = [
        all(isinstance(row[i], int | float | None) for row in answer.rows[:SHOWN]) for i in range(len(answer.columns))
    ]
    widths = [max(map(len, column)) for column in zip(answer.columns, *rows)]
    lines = [
        "  ".join(text.rjust(w) if r else text.ljust(w) for text, w, r in zip(row, widths, right)).rstrip()
        for row in (answer.columns, *rows)
    ]
    if (more := len(answer.rows) - SHOWN) > 0:
        lines.append(f"… and {more:,d} more rows: --csv prints them all")
    return "\n".join(lines)


def cell(value: Any) -> str:
    from corpusmill.report.visible import excerpt, one_line

    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else excerpt(one_line(str(value)), WIDE)
