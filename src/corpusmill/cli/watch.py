"""corpusmill watch RUN"""

import json as json_of
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Folder, aligned, refuse_unused

if TYPE_CHECKING:
    from collections.abc import Callable

    from corpusmill.ops.watch import RunSnapshot

REDRAW_SECONDS = 2.0  # seconds between two looks
LINE_SECONDS = 10.0  # of which are said, where the output is no terminal
QUIET_SECONDS = 120.0  # seconds without any change after which that is said


def add_to(app: typer.Typer) -> None:
    app.command("watch", epilog="Example: corpusmill watch s3://bucket/runs/web")(watch)


def watch(
    run: Folder,
    once: Annotated[bool, typer.Option("--once", help="Print the state once, and exit.")] = False,
    interval: Annotated[
        float | None,
        typer.Option("--every", min=0.1, metavar="SECONDS", help="Time between two updates, instead of 2 or 10."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line, one per update.")] = False,
) -> None:
    """Watch a run in progress, from anywhere: its workers, how far it is, and the time left."""
    from corpusmill.ops.watch import Watcher
    from corpusmill.store.run_folder import RunFolder

    if once:
        refuse_unused("interval", "is the time between two looks, and --once looks once")
    watcher = Watcher(RunFolder(run))
    snapshot = watcher.look()
    live = sys.stdout.isatty() and not json and not once
    if live:
        _in_place(watcher.look, snapshot, interval or REDRAW_SECONDS)
        return
    while True:
        print(json_of.dumps(snapshot.to_json()) if json else "\n".join(lines(snapshot)), flush=True)
        if once or snapshot.finished:
            return
        time.sleep(interval or LINE_SECONDS)
        snapshot = watcher.look()


def _in_place(look: "Callable[[], RunSnapshot]", snapshot: "RunSnapshot", interval: float) -> None:
    """Draw each look over the one before, until the run is finished."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(Text("\n".join(lines(snapshot))), console=Console(), auto_refresh=False) as shown:
        while not snapshot.finished:
            time.sleep(interval)
            snapshot = look()
            shown.update(Text("\n".join(lines(snapshot))), refresh=True)


def lines(snapshot: "RunSnapshot") -> list[str]:
    """What there is to say of a run."""
    from corpusmill.ops.watch import DONE, WAITING
    from corpusmill.progress import words
    from corpusmill.report.numbers import number, plural

    done_count = sum(stage.state == DONE for stage in snapshot.stages)
    if snapshot.finished:
        return [f"{snapshot.name}: finished, {plural(len(snapshot.stages), 'stage')} ({snapshot.place})"]
    head = f"{snapshot.name}: {done_count} of {plural(len(snapshot.stages), 'stage')} done, "
    head += f"about {words.per_cent(snapshot.share)}"
    output = [head + (f", {words.time_left(snapshot.overall_left)}" if snapshot.overall_left is not None else "")]
    at = next((stage for stage in snapshot.stages if stage.stage == snapshot.stage), None)
    if at is None:
        output.append("  all stages are done: outputs are published, verified and reported")
    elif at.state == WAITING:
        output.append(f"  {at.stage}: is being planned")
    else:
        parts = [f"{number(at.committed)} of {plural(at.units or 0, 'unit')}", f"{number(at.leased)} at work"]
        parts = parts if at.leased or any(worker.stage for worker in snapshot.workers) else parts[:1]
        parts += [f"{number(at.failed)} FAILED"] if at.failed else []
        if snapshot.documents_per_second:
            parts.append(f"{number(snapshot.documents_per_second)} documents/s")
        if snapshot.tokens_per_second:
            parts.append(f"{number(snapshot.tokens_per_second)} tokens/s")
        parts += [words.time_left(snapshot.left)] if snapshot.left is not None else []
        output.append(f"  {at.stage}: {', '.join(parts)}")
    if snapshot.workers:
        rows = [["  worker", "state", "stage", "processes", "since (UTC)"]]
        for worker in snapshot.workers:
            since = (worker.started or "").replace("T", " ").removesuffix("Z")
            rows.append([f"  {worker.worker}", worker.state, worker.stage or "", str(worker.processes), since])
        output += [line.rstrip() for line in aligned(rows)]
        output += [f"  {worker.worker}: {worker.error}" for worker in snapshot.workers if worker.error]
    else:
        output.append("  nobody is at work" + (f"; {plural(snapshot.ended, 'worker')} ended" if snapshot.ended else ""))
    if snapshot.quiet > QUIET_SECONDS:
        output.append(f"  nothing has changed for {words.duration(snapshot.quiet)}")
    return output
