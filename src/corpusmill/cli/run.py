"""corpusmill run RECIPE"""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Json, print_json, say
from corpusmill.execute import warm_start
from corpusmill.report.numbers import number, size

if TYPE_CHECKING:  # the rest of the mill is imported by the verb that runs, so that help is there at once
    from corpusmill.runs import Run
    from corpusmill.units import Commit, Stage


def add_to(app: typer.Typer) -> None:
    app.command("run", epilog="Example: corpusmill run recipes/demo.yaml --workers 2")(run)


def run(
    recipe: Annotated[Path, typer.Argument(help="A recipe in YAML.", show_default=False)],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the recipe: --set steps.gopher_quality.min_words=30. May be repeated."),
    ] = None,
    folder: Annotated[
        str | None, typer.Option(help="Where the run keeps everything, instead of run.folder: a path, or a URL.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes at work, instead of run.workers.")] = None,
    restart: Annotated[bool, typer.Option(help="Remove what the folder holds of earlier runs first.")] = False,
    json: Json = False,
) -> None:
    """Do what a recipe says, or go on where an earlier run of it stopped."""
    warm_start.start_for(recipe, settings or ())  # it imports while we do
    from corpusmill.recipe.model import Recipe
    from corpusmill.run_folder import RunFolder
    from corpusmill.runs import run as carry_out

    loaded = Recipe.load(recipe, settings or ())
    place = folder or loaded.folder
    if restart:
        RunFolder(place).forget()
    listener = Plain() if json or not sys.stderr.isatty() else Bars()
    with listener:
        done = carry_out(loaded, folder=place, workers=workers, listener=listener)
    from corpusmill.report.figures.mix import mixes
    from corpusmill.report.tables import RunTables

    tables = RunTables(done.place)
    drawn = mixes(tables)
    if json:
        facts = {
            "folder": done.place,
            "seconds": done.seconds,
            "report": RunFolder(done.place).report,
            "shards": next((str(checked.folder) for checked in done.checked if checked.format == "shards"), None),
            "units": {stage: asdict(counts) for stage, counts in done.units.items()},
            **done.waterfall.to_json(),
            "mix": [asdict(mix) for mix in drawn],
            "checked": tables.files.facts("tokens").get("checked", {}),
        }
        print_json(facts)
    else:
        from corpusmill.cli.tables import print_mixes, print_packing, print_waterfall
        from corpusmill.report.figures.engine_check import engine_check, in_words

        print_waterfall(done.waterfall)
        print_mixes(drawn)
        print_packing(done.waterfall, in_words(engine_check(tables)))
        print(closing(done))


def closing(done: "Run") -> str:
    """Where everything is, and how to load a batch."""
    from corpusmill.run_folder import RunFolder

    flow, run = done.waterfall, RunFolder(done.place)
    lines = [
        f"\n{number(flow.documents_in)} documents in, {number(flow.documents_out)} out, in {done.seconds:.1f} s.",
        f"  report    {run.report}",
    ]
    for name in run.outputs():
        place = run.output(name)
        lines.append(f"  {'shards' if name == 'shards' else 'output':<9} {place}   (verified)")
        if name == "shards" and run.is_local:
            lines.append(
                '  load      python -c "import corpusmill.loader as l; '
                f"print(l.open('{place}').batch(step=0, batch_size=4)['tokens'])\""
            )
    return "\n".join(lines)


def bytes_read(commit: "Commit") -> int:
    """Bytes of input that a unit has read; 0 of a unit that reads what another one wrote."""
    return sum(source.get("bytes", 0) for source in commit.facts.get("read", {}).values())


class Plain:
    """A line a stage and one every few seconds, for logs."""

    EVERY = 5.0  # seconds

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def compiling(self) -> None:
        say("compiling the text kernels for this machine (once, up to a minute) …")

    def stage(self, stage: "Stage", units: int, done: int) -> None:
        self.name, self.units, self.done, self.read, self.before = stage.name, units, 0, 0, done
        self.started = self.told = time.monotonic()
        if done:
            say(f"{stage.name}: {done} of {units} units are done already")

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        self.done += 1
        if self.done <= self.before:  # of an earlier run; these come first
            return
        self.read += bytes_read(commit)
        at = time.monotonic()
        if self.done == self.units or at - self.told >= self.EVERY:
            self.told = at
            rate = f", {size(self.read / max(at - self.started, 1e-9))}/s of input" if self.read else ""
            say(f"{stage.name}: {self.done}/{self.units} units, {at - self.started:.1f} s{rate}")

    def note(self, message: str) -> None:
        say(message)


class Bars:
    """Bars with rate and time left, for a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.progress = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[rate]}"),
            console=Console(stderr=True),
        )
        self.task: Any = None
        self.read = self.before = 0
        self.started = 0.0

    def __enter__(self) -> "Bars":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def compiling(self) -> None:
        self.progress.console.print("compiling the text kernels for this machine (once, up to a minute) …")

    def stage(self, stage: "Stage", units: int, done: int) -> None:
        self.read, self.before, self.started = 0, done, time.monotonic()
        self.task = self.progress.add_task(stage.name, total=units, rate="")

    def commit(self, stage: "Stage", commit: "Commit") -> None:
        if self.before:  # of an earlier run; these come first
            self.before -= 1
        else:
            self.read += bytes_read(commit)
        elapsed = max(time.monotonic() - self.started, 1e-9)
        self.progress.update(self.task, advance=1, rate=f"{size(self.read / elapsed)}/s" if self.read else "")

    def note(self, message: str) -> None:
        self.progress.console.print(message)
