"""corpusmill remove RUN PATTERN …"""

from dataclasses import asdict
from typing import Annotated

import typer

from corpusmill.cli.add import DryRun, Prepare, ToSource, carry_out, refuse_idle
from corpusmill.cli.common import Folder, Json, aligned, print_json, refuse_unused
from corpusmill.cli.run import Progress, ProgressStyle, Workers
from corpusmill.errors import InputError
from corpusmill.report.numbers import plural, size


def add_to(app: typer.Typer) -> None:
    app.command("remove", epilog="Example: corpusmill remove runs/web 'crawl/2024-18/*-00017.warc.gz'")(remove)


def remove(
    run: Folder,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="Inputs of the run: files, folders or patterns. They need not exist any more.",
            show_default=False,
        ),
    ] = None,
    source: ToSource = None,
    dry_run: DryRun = False,
    prepare: Prepare = False,
    unused: Annotated[
        bool,
        typer.Option("--unused", help="Instead: delete files that the run, as it is now, does not use."),
    ] = False,
    workers: Workers = None,
    progress: Progress = ProgressStyle.AUTO,
    json: Json = False,
) -> None:
    """Remove inputs from a run, and redo what depends on them; or delete files that it no longer uses.

    The outputs are those of a run that never had the inputs. The run folder still contains what was read from them, and
    results for other thresholds and recipes, which a run with these would use again: --unused --dry-run lists all of
    that with its size, and --unused deletes it.
    """
    if unused:
        if patterns:
            raise InputError("--unused removes what the run does not use, and takes no PATTERN")
        refuse_unused("source prepare workers progress", "is for removing inputs, and --unused removes none")
        _remove_unused(run, dry_run, json)
        return
    if not patterns:
        raise InputError("nothing to remove: name inputs of the run, or give --unused for what it does not use")
    refuse_idle(dry_run, prepare)
    from corpusmill.ops import collection, worker
    from corpusmill.store.run_folder import RunFolder

    recipe, folder = worker.of_run(run), RunFolder(run)
    change = collection.removed(recipe, folder, patterns, source)
    carry_out(folder, recipe, change, dry_run, prepare, workers, progress, json)


def _remove_unused(run: str, dry_run: bool, json: bool) -> None:
    from corpusmill.ops import unused
    from corpusmill.store.run_folder import RunFolder

    folder = RunFolder(run)
    entries = unused.unused(folder) if dry_run else unused.remove_unused(folder)
    if json:
        print_json({"folder": run, "unused": [asdict(entry) for entry in entries], "removed": not dry_run})
        return
    if not entries:
        print("the run uses all that its stages hold")
        return
    rows = [
        [entry.folder, "the stage" if entry.whole else "some units", plural(entry.files, "file"), size(entry.bytes)]
        for entry in entries
    ]
    print("\n".join(aligned(rows)))
    verb = "would be removed" if dry_run else "removed"
    files, freed = sum(entry.files for entry in entries), sum(entry.bytes for entry in entries)
    print(f"{plural(files, 'file')} {verb}: {size(freed)}")
