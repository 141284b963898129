"""corpusmill remove RUN PATTERN …"""

from typing import Annotated

import typer

from corpusmill.cli.add import DryRun, Prepare, ToSource, carry_out, refuse_idle
from corpusmill.cli.common import Folder, Json
from corpusmill.cli.run import Progress, ProgressStyle, Workers


def add_to(app: typer.Typer) -> None:
    app.command("remove", epilog="Example: corpusmill remove runs/web 'crawl/2024-18/*-00017.warc.gz'")(remove)


def remove(
    run: Folder,
    patterns: Annotated[
        list[str],
        typer.Argument(
            metavar="PATTERN", help="Inputs of the run: files, folders or patterns. They need not exist any more."
        ),
    ],
    source: ToSource = None,
    dry_run: DryRun = False,
    prepare: Prepare = False,
    workers: Workers = None,
    progress: Progress = ProgressStyle.AUTO,
    json: Json = False,
) -> None:
    """Remove inputs from a run, and redo what depends on them.

    The outputs are those of a run that never had them. What was read of them stays in the folder's stages.
    """
    refuse_idle(dry_run, prepare)
    from corpusmill.ops import collection, worker
    from corpusmill.store.run_folder import RunFolder

    recipe, folder = worker.of_run(run), RunFolder(run)
    change = collection.removed(recipe, folder, patterns, source)
    carry_out(folder, recipe, change, dry_run, prepare, workers, progress, json)
