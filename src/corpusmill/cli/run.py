"""corpusmill run RECIPE"""

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from json import dumps
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Json, RecipeFile, Settings, print_json, refuse_unused, say
from corpusmill.cli.terminal import line_width
from corpusmill.report.numbers import number, plural

if TYPE_CHECKING:  # the rest of the mill is imported by the verb that runs, so that help is there at once
    from corpusmill.ops.finished import Run


class ProgressStyle(StrEnum):
    """How far the run is, on stderr."""

    AUTO = "auto"
    BARS = "bars"
    LINES = "lines"
    JSON = "json"
    OFF = "off"


Progress = Annotated[
    ProgressStyle, typer.Option(help="How progress is shown, on stderr: auto is bars in a terminal, lines elsewhere.")
]
RunPlace = Annotated[
    str | None,
    typer.Option("-o", "--folder", metavar="FOLDER", help="The run folder, instead of run.folder: a path, or a URL."),
]
Workers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Worker processes, instead of run.workers.")]
Limit = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Only the first N documents of each source, to try a recipe.")
]
Sample = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="Only a random sample of the documents: 1% or 0.01. Reads all of them."),
]


def add_to(app: typer.Typer) -> None:
    app.command("run", epilog="Example: corpusmill run web.yaml --workers 2")(run)


def run(
    recipe: RecipeFile,
    settings: Settings = None,
    folder: RunPlace = None,
    workers: Workers = None,
    limit: Limit = None,
    sample: Sample = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start over: delete everything in the run folder first.")
    ] = False,
    retry_aside: Annotated[
        bool, typer.Option("--retry-aside", help="Try quarantined records again, which crashed their worker before.")
    ] = False,
    progress: Progress = ProgressStyle.AUTO,
    json: Json = False,
) -> None:
    """Run a recipe; resume if it was interrupted."""
    from corpusmill.execute import warm_start

    if restart:
        refuse_unused("retry_aside", "has nothing to try again where --restart deletes it")
    settings = [*(settings or ()), *limits(limit, sample)]
    if restart or not warm_start.is_probably_finished(recipe, folder):
        warm_start.start_for(recipe, settings)  # it imports while this process does
    from corpusmill.engine.plan import preflight
    from corpusmill.engine.plan.selections import with_selections
    from corpusmill.ops.finish import DamagedOutput
    from corpusmill.ops.runs import run as carry_out
    from corpusmill.store.restart import remove_all
    from corpusmill.store.run_folder import RunFolder

    loaded = preflight.load(recipe, settings, RunFolder(folder) if folder else None)
    address = folder or loaded.folder
    if restart:
        planned = RunFolder(address)
        preflight.ready(with_selections(loaded, planned), planned)  # what is refused must not have removed a run
        remove_all(RunFolder(address))
    if retry_aside and not RunFolder(address).forget_aside():
        say(f"{address}: nothing is set aside here")
    shown = ProgressStyle.LINES if json and progress is ProgressStyle.AUTO else progress
    failed = None
    try:
        result = carry_out(loaded, folder=address, workers=workers, progress=shown.value)
    except DamagedOutput as error:  # everything else of the run is there
        result, failed = error.run, error
    show(result, json)
    if failed:
        raise failed


def show(result: "Run", json: bool, extra: Mapping[str, Any] | None = None) -> None:
    """Print what a run has done.

    extra   added to the JSON object
    """
    from corpusmill.report.figures import drops_all, emptied, lost, split
    from corpusmill.report.figures.amounts import amounts
    from corpusmill.report.figures.markup import markup, warnings
    from corpusmill.report.figures.mix import mixes
    from corpusmill.report.tables import RunTables
    from corpusmill.store.run_folder import RunFolder

    tables = RunTables(result.place)
    drawn = mixes(tables)
    limited = [f"a limited run: {tables.files.limited}"] if tables.files.limited else []
    if json:
        facts = {
            "folder": result.place,
            "limited": tables.files.limited or None,
            "up_to_date": up_to_date(result),
            "seconds": result.seconds,
            "documents_in": result.waterfall.documents_in,
            "documents_out": result.waterfall.documents_out,
            "report": RunFolder(result.place).report,
            "shards": next((str(checked.folder) for checked in result.checked if checked.format == "shards"), None),
            "units": {stage: asdict(counts) for stage, counts in result.units.items()},
            "outputs": [
                {"folder": str(checked.folder), "compared": checked.compared, "problems": list(checked.problems)}
                for checked in result.checked
            ],
            "damaged": list(result.damaged),
            **result.waterfall.to_json(),
            "funnel": result.waterfall.funnel(),
            "amounts": amounts(tables).to_json(),
            "mix": [asdict(mix) for mix in drawn],
            "markup": [asdict(source) for source in markup(tables)],
            "split": [asdict(side) for side in split.split_sides(tables)],
            "emptied": [asdict(entry) for entry in emptied.emptied(tables)],
            "drops_all": [asdict(entry) for entry in drops_all.drops_all(tables)],
            "checked": tables.files.facts("tokens").get("checked", {}),
            **(extra or {}),
        }
        print_json(facts)
    else:
        from corpusmill.cli.tables import print_mixes, print_packing, print_split, print_warnings, print_waterfall
        from corpusmill.report.figures.engine_check import engine_check, in_words

        if up_to_date(result):
            print(f"nothing to do: the run is complete ({result.place})")
        else:
            print_waterfall(result.waterfall)
            print_mixes(drawn)
            print_split(split.split_sides(tables))
            print_packing(result.waterfall, in_words(engine_check(tables)))
        print_warnings(
            [
                *drops_all.warnings(tables),
                *warnings(tables),
                *emptied.warnings(tables),
                *lost.reading_warnings(tables),
                *split.warnings(tables),
                *limited,
            ]
        )
        print(closing(result))


def limits(limit: int | None, sample: str | None) -> list[str]:
    """--limit and --sample as settings of the recipe."""
    options = (("limit", limit), ("sample", sample))
    return [f"run.{name}={value}" for name, value in options if value is not None]


def up_to_date(result: "Run") -> bool:
    """Whether all was done before, by earlier calls."""
    return bool(result.units) and not any(counts.done_now for counts in result.units.values())


def closing(result: "Run") -> str:
    """Where the outputs are, what was verified of each, and how to load a batch."""
    from corpusmill.report.figures.functions import time_in_functions
    from corpusmill.store.run_folder import TRAINING_RECORD, RunFolder

    flow, run = result.waterfall, RunFolder(result.place)
    took = "" if up_to_date(result) else f", in {result.seconds:.1f} s"
    lines = [
        f"\n{plural(flow.documents_in, 'document')} in, {number(flow.documents_out)} out{took}.",
        f"  report    {run.report}",
    ]
    for name, checked in zip(run.outputs(), result.checked):
        address = run.output(name)
        line = f"  {'shards' if name == 'shards' else 'output':<9} {address}"
        joined = f"{line}   ({checked})"
        lines += [joined] if len(joined) <= (line_width() or len(joined)) else [line, f"{'':12}({checked})"]
        if name == "shards" and run.is_local and not checked.problems and checked.tokens:
            # Rows of a stream have the length that the loader is given.
            length = "" if flow.packed else f", seq_len={min(1024, checked.tokens)}"
            opened = f"import corpusmill.loader as l; print(l.open({dumps(address)}{length})"
            lines.append(_load_line(f'{opened}.batch(step=0, batch_size=4)["tokens"])'))
    if not run.outputs():
        lines.append("  output    none: the recipe has no `write:`")
    if run.is_local and (record := run.read(TRAINING_RECORD)):
        names = ", ".join(stage["name"] for stage in record["stages"])
        lines.append(f"  stages    {names}")
        if all(checked.tokens for checked in result.checked if checked.format == "shards"):
            opened = f"from corpusmill.loader.stages import StageLoader; print(StageLoader({dumps(run.place)})"
            lines.append(_load_line(f'{opened}.at(0)["tokens"])'))
    for label, seconds, share in time_in_functions(run):
        lines.append(f"  function  {label} took {share:.0%} of the time of the workers ({seconds:.1f} s)")
    return "\n".join(lines)


def _load_line(code: str) -> str:
    return f"  load      python -c {quote(code)}"
