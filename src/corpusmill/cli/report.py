"""corpusmill report RUN"""

import typer

from corpusmill.cli.common import Folder, Json, print_json


def add_to(app: typer.Typer) -> None:
    app.command("report", epilog="Example: corpusmill report runs/demo")(report)


def report(run: Folder, json: Json = False) -> None:
    """Write the report page again, and print its main tables.

    These are the waterfall, duplicates by step, benchmark contamination, the source mixture, time and memory by stage.
    """
    from dataclasses import asdict

    from corpusmill.cli.tables import (
        print_dedup,
        print_leaks,
        print_mixes,
        print_resources,
        print_warnings,
        print_waterfall,
    )
    from corpusmill.report.figures import drops_all
    from corpusmill.report.figures.amounts import amounts
    from corpusmill.report.figures.clusters import clusters
    from corpusmill.report.figures.domains import domains
    from corpusmill.report.figures.duplicates import dedup_steps
    from corpusmill.report.figures.leaks import leaks
    from corpusmill.report.figures.markup import markup, warnings
    from corpusmill.report.figures.mix import mixes
    from corpusmill.report.figures.remaining_duplicates import remaining_duplicates
    from corpusmill.report.figures.resources import resources
    from corpusmill.report.figures.sampled import sampled
    from corpusmill.report.figures.scores import scores
    from corpusmill.report.figures.survival import survival
    from corpusmill.report.figures.texts import texts
    from corpusmill.report.figures.together import MAX_RULE_PAIRS, together
    from corpusmill.report.figures.training import training
    from corpusmill.report.page import write_page
    from corpusmill.report.tables import RunTables

    path = write_page(run)
    tables = RunTables(run)
    flow, contamination, drawn = tables.files.waterfall(), leaks(tables), mixes(tables)
    copies, stages = dedup_steps(tables), resources(tables)
    if json:
        figure = sampled(tables)
        remaining = remaining_duplicates(tables, figure.sample if figure else None)
        print_json(
            {
                "report": str(path),
                **flow.to_json(),
                "funnel": flow.funnel(),
                "amounts": amounts(tables).to_json(),
                "calls": tables.files.calls,
                "texts": {side: entry.to_json() for side, entry in (texts(tables) or {}).items()},
                "sampled": figure.to_json() if figure else None,
                "scores": [score.to_json() for score in scores(tables)],
                "duplicates": [asdict(step) for step in copies],
                "clusters": [step.to_json() for step in clusters(tables)],
                "survival": [step.to_json() for step in survival(tables)],
                "together": [{**asdict(pair), "of_fewer": pair.of_fewer} for pair in together(tables, MAX_RULE_PAIRS)],
                "domains": asdict(domains(tables)),
                "duplicates_left": remaining.to_json() if remaining else None,
                "training": [stage.to_json() for stage in training(tables)],
                "stages": [stage.to_json() for stage in stages],
                "leaks": [asdict(step) for step in contamination],
                "mix": [asdict(mix) for mix in drawn],
                "markup": [asdict(source) for source in markup(tables)],
                "drops_all": [asdict(entry) for entry in drops_all.drops_all(tables)],
            }
        )
    else:
        print_waterfall(flow)
        print_dedup(copies)
        print_leaks(contamination)
        print_mixes(drawn)
        print_resources(stages)
        print_warnings([*drops_all.warnings(tables), *warnings(tables)])
        print(f"\nreport: {path}")
