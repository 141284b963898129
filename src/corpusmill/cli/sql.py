"""corpusmill sql RUN "SELECT …" """

import csv
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Folder, Json, print_json, refuse_unused
from corpusmill.cli.terminal import fits, lines_of, paint, print_table
from corpusmill.errors import InputError
from corpusmill.report.numbers import plural

if TYPE_CHECKING:
    from corpusmill.report.views import QueryResult

MAX_ROWS_SHOWN = 100  # rows in a terminal; --csv and --json print all
MAX_CELL_WIDTH = 60  # characters of a cell


def add_to(app: typer.Typer) -> None:
    app.command(
        "sql", epilog="Example: corpusmill sql runs/demo 'select dropped_by, count(*) from documents group by 1'"
    )(sql)


def sql(
    run: Folder,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="A SELECT; without one, lists the tables.", show_default=False)
    ] = None,
    json: Json = False,
    comma: Annotated[bool, typer.Option("--csv", help="Print comma-separated values instead of a table.")] = False,
) -> None:
    """Query a run in SQL: documents, signals, verdicts, dead letters. Read-only."""
    from corpusmill.report.tables import RunTables
    from corpusmill.report.views import Views
    from corpusmill.report.views import sql as ask

    if json and comma:
        raise InputError("--json and --csv exclude each other: give one of them")
    tables = RunTables(run)
    if query is None:
        refuse_unused("comma", "is for a QUERY, and without one the tables are listed")
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
        print_rows(answer)


def listed(columns: dict[str, dict[str, str]]) -> str:
    """Every table with its columns and their types."""
    parts = []
    for name, types in columns.items():
        lines = lines_of([(f"  {column}", kind) for column, kind in types.items()], left_columns=(0, 1))
        parts.append("\n".join([paint(name, "bold"), *lines]))
    return "\n\n".join(parts)


def print_rows(answer: "QueryResult") -> None:
    """A table; where a line is too narrow for all columns, the rows one below the other."""
    shown = answer.rows[:MAX_ROWS_SHOWN]
    rows = [[cell(value) for value in row] for row in shown]
    numbers = [all(isinstance(row[i], int | float | None) for row in shown) for i in range(len(answer.columns))]
    text_columns = [i for i, is_number in enumerate(numbers) if not is_number]
    if fits(answer.columns, rows, text_columns):
        print_table(answer.columns, rows, left_columns=text_columns)
    else:
        for row in rows:
            print("\n".join(lines_of(list(zip(answer.columns, row)), left_columns=(0, 1))) + "\n")
    if (unlisted := len(answer.rows) - MAX_ROWS_SHOWN) > 0:
        print(f"… and {plural(unlisted, 'more row')}: --csv prints them all")


def cell(value: Any) -> str:
    from corpusmill.report.visible import excerpt, one_line

    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else excerpt(one_line(str(value)), MAX_CELL_WIDTH)
