"""corpusmill work RUN"""

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from corpusmill.cli.common import Json, Settings, print_json, refuse_unused
from corpusmill.cli.run import Progress, ProgressStyle

LEASE_SECONDS = 60.0  # seconds: as in `ops.worker`, which is imported by the verb that runs


def add_to(app: typer.Typer) -> None:
    app.command("work", epilog="Example: corpusmill work web.yaml --folder s3://bucket/runs/web --index 3 --of 16")(
        work
    )


def work(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A recipe in YAML, or the folder of a run that has one: a path, or a URL.",
            show_default=False,
        ),
    ],
    settings: Settings = None,
    folder: Annotated[
        str | None,
        typer.Option(
            "-o", "--folder", metavar="FOLDER", help="The run folder, instead of run.folder; all workers must reach it."
        ),
    ] = None,
    index: Annotated[
        int | None,
        typer.Option(min=0, metavar="I", help="This worker's number, from 0; workers begin at different units."),
    ] = None,
    worker_count: Annotated[
        int | None, typer.Option("--of", min=1, metavar="N", help="How many workers there are.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--processes", min=1, metavar="N", help="Processes of this worker. [default: one per available processor]"
        ),
    ] = None,
    lease: Annotated[
        float,
        typer.Option(
            min=1.0, metavar="SECONDS", help="Other workers take over units of a worker that was silent for so long."
        ),
    ] = LEASE_SECONDS,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Only plan the run, again if its plan differs; run nothing.")
    ] = False,
    progress: Progress = ProgressStyle.AUTO,
    json: Json = False,
) -> None:
    """Work on a run together with other workers, on any machines, until it is finished."""
    if prepare:
        refuse_unused("index worker_count workers lease progress", "is for workers, and --prepare only plans")
    from corpusmill.execute import warm_start

    is_recipe = run.endswith((".yaml", ".yml")) and "://" not in run
    if is_recipe:
        warm_start.start_for(Path(run), settings or (), in_process=workers == 1)  # it imports while this process does
    from corpusmill.engine.plan import preflight
    from corpusmill.ops import worker

    address = folder if is_recipe else folder or run
    recipe = preflight.load(Path(run), settings or ()) if is_recipe else worker.of_run(run, settings or ())
    if prepare:
        address = worker.prepare(recipe, address)
        advice = f"planned. Now, on every machine:\n  corpusmill work {quote(address)}"
        print_json({"folder": address}) if json else print(advice)
        return
    shown = ProgressStyle.LINES if json and progress is ProgressStyle.AUTO else progress
    result = worker.work(
        recipe, folder=address, index=index, of=worker_count, processes=workers, lease=lease, progress=shown.value
    )
    if json:
        units = {stage: asdict(counts) for stage, counts in result.units.items()}
        print_json({**asdict(result), "units": units})
        return
    if result.nothing:
        print(f"nothing to do: the run is finished ({result.place})")
        return
    count = sum(counts.done_now for counts in result.units.values())
    total = sum(counts.units for counts in result.units.values())
    print(f"the run is finished: {result.place}")
    print(f"  this worker did {count:,} of {total:,} units{', and published the outputs' if result.published else ''}")
    print(f"  corpusmill report {quote(result.place)}")
