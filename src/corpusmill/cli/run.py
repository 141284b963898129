"""corpusmill run RECIPE"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from corpusmill import fork_server
from corpusmill.cli.common import Json, print_json, say
from corpusmill.cli.progress import Bars, Plain
from corpusmill.report.numbers import number


def add_to(app: typer.Typer) -> None:
    app.command("run", epilog="Example: corpusmill run recipes/demo.yaml --workers 2")(run)


def run(
    recipe: Annotated[Path, typer.Argument(help="A recipe in YAML.", show_default=False)],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the recipe: --set steps.gopher_quality.min_words=30. May be repeated."),
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="The run folder, instead of run.folder.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes, instead of run.workers.")] = None,
    restart: Annotated[bool, typer.Option(help="Start over: delete everything in the run folder first.")] = False,
    json: Json = False,
) -> None:
    """Run a recipe; resume if it was interrupted."""
    fork_server.start_for(recipe, settings or ())  # it imports while this process does
    from corpusmill.recipe.model import Recipe
    from corpusmill.runs import forget
    from corpusmill.runs import run as carry_out

    loaded = Recipe.load(recipe, settings or ())
    place = folder or loaded.folder
    if restart:
        forget(place)
    watcher = Plain() if json or not sys.stderr.isatty() else Bars()
    with watcher:
        done = carry_out(loaded, folder=place, workers=workers, watcher=watcher)
        problems = verify_output(done.shards, watcher)
        # Imported here, so that the first unit need not wait for it.
        from corpusmill.report.figures.mix import mixes
        from corpusmill.report.page import write_page
        from corpusmill.report.tables import RunTables

        write_page(done.folder)
    tables = RunTables(done.folder)
    drawn = mixes(tables)
    facts = {
        "folder": str(done.folder),
        "seconds": done.seconds,
        "report": str(done.report),
        "shards": str(done.shards) if done.shards else None,
        "problems": problems,
        **done.waterfall.to_json(),
        "mix": [asdict(mix) for mix in drawn],
        "checked": tables.files.facts("tokens").get("checked", {}),
    }
    if json:
        print_json(facts)
    else:
        from corpusmill.cli.tables import print_mixes, print_packing, print_waterfall
        from corpusmill.report.figures.engine_check import engine_check, in_words

        print_waterfall(done.waterfall)
        print_mixes(drawn)
        print_packing(done.waterfall, in_words(engine_check(tables)))
        print(closing(done))
    if problems:
        raise typer.Exit(1)


def verify_output(shards: Path | None, watcher: Any) -> list[str]:
    """Read the training shards back; returns the problems found."""
    if shards is None:
        return []
    from corpusmill.shards import open_shards

    watcher.note("verify: reading the shards back")
    problems = open_shards(shards).verify()
    for problem in problems:
        say(f"error: {problem}")
    return [str(problem) for problem in problems]


def closing(done: Any) -> str:
    """Where the outputs are, and how to load a batch."""
    flow = done.waterfall
    lines = [
        f"\n{number(flow.documents_in)} documents in, {number(flow.documents_out)} out, in {done.seconds:.1f} s.",
        f"  report    {done.report}",
    ]
    if done.shards:
        lines += [
            f"  shards    {done.shards}   (verified)",
            '  load      python -c "import corpusmill.loader as l; '
            f"print(l.open('{done.shards}').batch(step=0, batch_size=4)['tokens'])\"",
        ]
    written = sorted(done.output.iterdir()) if done.output.exists() else []  # a recipe need not write anything
    lines += [f"  output    {path}" for path in written if path != done.shards]
    return "\n".join(lines)
