"""corpusmill watch RUN"""

import json as json_of
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Folder, aligned

if TYPE_CHECKING:
    from collections.abc import Callable

    from corpusmill.ops.watch import RunSnapshot

EVERY = 2.0  # seconds between two looks
LINES_EVERY = 10.0  # of which are said, where the output is no terminal
QUIET = 120.0  # seconds without any change after which that is said


def add_to(app: typer.Typer) -> None:
    app.command("watch", epilog="Example: corpusmill watch s3://bucket/runs/web")(watch)


def watch(
    run: Folder,
    once: Annotated[bool, typer.Option("--once", help="Look once, print it and end.")] = False,
    every: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Time between two looks, instead of 2 or 10.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, one for each look.")] = False,
) -> None:
    """Watch a run that is at work, from anywhere: all its workers, how far it is, how long it still takes."""
    from corpusmill.ops.watch import Watcher
    from corpusmill.store.run_folder import RunFolder

    watcher = Watcher(RunFolder(run))
    seen = watcher.look()
    live = sys.stdout.isatty() and not json and not once
    if live:
        _in_place(watcher.look, seen, every or EVERY)
        return
    while True:
        print(json_of.dumps(seen.to_json()) if json else "\n".join(lines(seen)), flush=True)
        if once or seen.finished:
            return
        time.sleep(every or LINES_EVERY)
        seen = watcher.look()


def _in_place(look: "Callable[[], RunSnapshot]", seen: "RunSnapshot", every: float) -> None:
    """Draw each look over the one before, until the run is finished."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(Text("\n".join(lines(seen))), console=Console(), auto_refresh=False) as shown:
        while not seen.finished:
            time.sleep(every)
            seen = look()
            shown.update(Text("\n".join(lines(seen))), refresh=True)


def lines(seen: "RunSnapshot") -> list[str]:
    """What there is to say of a run."""
    from corpusmill.ops.watch import DONE, WAITING
    from corpusmill.progress import words
    from corpusmill.report.numbers import number, plural

    done = sum(stage.state == DONE for stage in seen.stages)
    if seen.finished:
        return [f"{seen.name}: finished, {plural(len(seen.stages), 'stage')} ({seen.place})"]
    head = f"{seen.name}: {done} of {plural(len(seen.stages), 'stage')} done, about {words.per_cent(seen.share)}"
    said = [head + (f", {words.left(seen.overall_left)}" if seen.overall_left is not None else "")]
    at = next((stage for stage in seen.stages if stage.stage == seen.stage), None)
    if at is None:
        said.append("  all stages are done: outputs are published, verified and reported")
    elif at.state == WAITING:
        said.append(f"  {at.stage}: is being planned")
    else:
        parts = [f"{number(at.committed)} of {plural(at.units or 0, 'unit')}", f"{number(at.leased)} at work"]
        parts = parts if at.leased or any(worker.stage for worker in seen.workers) else parts[:1]
        parts += [f"{number(at.failed)} FAILED"] if at.failed else []
        if seen.documents_per_second:
            parts.append(f"{number(seen.documents_per_second)} documents/s")
        if seen.tokens_per_second:
            parts.append(f"{number(seen.tokens_per_second)} tokens/s")
        parts += [words.left(seen.left)] if seen.left is not None else []
        said.append(f"  {at.stage}: {', '.join(parts)}")
    if seen.workers:
        rows = [["  worker", "state", "stage", "processes", "since (UTC)"]]
        for worker in seen.workers:
            since = (worker.started or "").replace("T", " ").removesuffix("Z")
            rows.append([f"  {worker.worker}", worker.state, worker.stage or "", str(worker.processes), since])
        said += [line.rstrip() for line in aligned(rows)]
        said += [f"  {worker.worker}: {worker.error}" for worker in seen.workers if worker.error]
    else:
        said.append("  nobody is at work" + (f"; {plural(seen.ended, 'worker')} ended" if seen.ended else ""))
    if seen.quiet > QUIET:
        said.append(f"  nothing has changed for {words.duration(seen.quiet)}")
    return said
