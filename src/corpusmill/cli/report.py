"""corpusmill report RUN"""

import typer

from corpusmill.cli.common import Folder, Json, print_json


def add_to(app: typer.Typer) -> None:
    app.command("report", epilog="Example: corpusmill report runs/demo")(report)


def report(run: Folder, json: Json = False) -> None:
    """Write the report page of a run again; print the waterfall, benchmark contamination and source mixture."""
    from dataclasses import asdict

    from corpusmill.cli.tables import print_leaks, print_mixes, print_warnings, print_waterfall
    from corpusmill.report.figures.leaks import leaks
    from corpusmill.report.figures.markup import markup, warnings
    from corpusmill.report.figures.mix import mixes
    from corpusmill.report.page import write_page
    from corpusmill.report.tables import RunTables

    path = write_page(run)
    tables = RunTables(run)
    flow, contamination, drawn = tables.files.waterfall(), leaks(tables), mixes(tables)
    if json:
        print_json(
            {
                "report": str(path),
                **flow.to_json(),
                "leaks": [asdict(step) for step in contamination],
                "mix": [asdict(mix) for mix in drawn],
                "markup": [asdict(source) for source in markup(tables)],
            }
        )
    else:
        print_waterfall(flow)
        print_leaks(contamination)
        print_mixes(drawn)
        print_warnings(warnings(tables))
        print(f"\nreport: {path}")
